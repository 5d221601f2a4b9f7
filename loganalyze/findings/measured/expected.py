"""What this machine should give: prediction for the run as placed, and for a run that fits the card entirely.

Without a card's name or without any size of the model there is no prediction, and the ratio of the halves must do.
Device memory taken by the run bounds the weights from above, so the rate it gives is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from loganalyze.findings.measured.placement import Placement, on_host
from loganalyze.findings.measured.timing import Timing
from loganalyze.light import dataclass
from loganalyze.model.records import Device, Run
from loganalyze.physics import roofline
from loganalyze.physics.gpu import is_software, recognise
from loganalyze.physics.tables import Gpu, link_gbs
from loganalyze.physics.weights import Weights, estimate, kv_bytes_per_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.findings.measured.gpu_series import GpuFacts

# Bytes of cache a layer takes per token with grouped queries (8 KV heads of 128 in f16): Llama-3, Mistral, Qwen3.
KV_PER_LAYER = 4096


@dataclass(slots=True)
class Expected:
    """``decode``/``prefill``: rates if all weights were on the card; ``placed``: decode with the host part as it is.

    ``bound`` is True where the weights are only known from above (``decode`` is then a lower bound of the real rate).
    ``base_*`` are medians of the user's own runs. ``accepted`` is the mean yield of a speculative step.
    """

    weights: Weights | None = None
    cards: tuple[Gpu, ...] = ()
    decode: roofline.Rate | None = None
    placed: roofline.Rate | None = None
    prefill: roofline.Rate | None = None
    bound: bool = False
    base_read_tps: float | None = None
    base_write_tps: float | None = None
    accepted: float = 1.0
    speculative: bool = False


def measure_expected(
    run: Run, timing: Timing, place: Placement, gpu: GpuFacts | None, baseline: Mapping[str, Any] | None
) -> Expected:
    """Expected rates of ``run``; ``baseline`` is the content of a saved baseline."""
    found = Expected(weights=_weights(run, place, gpu))
    _speculation(found, timing, run)
    _baseline(found, baseline)
    if place.by_choice and place.weights == "host":
        return found
    found.cards = _cards(run, gpu)
    if found.weights is None or not found.cards:
        return found
    found.bound = found.weights.basis.startswith("device memory")
    machine = roofline.Machine(_backend(run, found.cards), found.cards, link_gbs=_link(run))
    kv = _kv_gb(run, timing, found.weights.layers)
    found.decode = roofline.decode(found.weights, machine, kv_gb=kv, accepted=found.accepted)
    if place.host_share:
        found.placed = roofline.decode(
            found.weights, machine, host_share=place.host_share, kv_gb=kv, accepted=found.accepted
        )
    found.prefill = roofline.prefill(
        found.weights, machine, n_new=timing.read_alone_tokens or 512.0, n_ubatch=None,
        host_share=place.host_share or 0.0,
    )  # fmt: skip
    return found


def _weights(run: Run, place: Placement, gpu: GpuFacts | None) -> Weights | None:
    setup = run.setup
    name = " ".join(n for n in (setup.model_name, (setup.model_path or "").replace("\\", "/").rsplit("/", 1)[-1]) if n)
    grown = gpu.total("grown_mib") if gpu else None
    whole = (place.device_mib or 0.0) > 1.0 and place.weights == "device"
    # Excerpts may hold the host's buffer only: layers on the card, but no buffer of theirs.
    torn = (place.layers_on_gpu or 0) > 0 and (place.device_mib or 0.0) <= 1.0
    return estimate(
        name=name or None,
        model_bytes=setup.model_bytes,
        n_params=setup.n_params,
        bpw=setup.bpw,
        quant=setup.quant,
        n_layer=setup.n_layer or (place.layers_total - 1 if place.layers_total and place.layers_total > 1 else None),
        n_expert=setup.n_expert,
        n_expert_used=setup.n_expert_used,
        device_mib=place.device_mib if place.device_mib and place.device_mib > 1 else None,
        host_mib=0.0 if whole else None if torn else place.host_mib,
        grown_mib=grown if place.weights != "host" else None,
    )


def _cards(run: Run, gpu: GpuFacts | None) -> tuple[Gpu, ...]:
    """Cards the run computes on: those that hold model buffers, else those whose memory grows, else all listed."""
    listed = [d for d in run.devices if d.name and not is_software(d.name) and (d.backend or "").upper() != "CPU"]
    holding = {b.device for b in run.memory if b.kind == "model" and b.mib > 1 and not on_host(b.device)}
    chosen = [d for d in listed if d.id in holding] or listed
    found = _recognised(chosen)
    if found or chosen:
        return found
    if gpu is None:
        return ()
    return _recognised([Device(c.name, index=c.index, total_mib=c.total_mib) for c in gpu.used])


def _recognised(devices: list[Device]) -> tuple[Gpu, ...]:
    """Cards of the table, () as soon as one is unknown: a series of cards is as slow as its slowest."""
    # The loader prints free memory only; it tells twins apart as well while nothing else fills the card.
    found = [recognise(d.name, d.total_mib or d.free_mib) for d in devices]
    return tuple(g for g in found if g is not None) if all(found) else ()


def _backend(run: Run, cards: tuple[Gpu, ...]) -> str:
    if run.backend:
        return run.backend
    for device in run.devices:
        if device.backend:
            return device.backend
    return {"NVIDIA": "CUDA", "AMD": "ROCm", "Intel": "SYCL", "Apple": "Metal"}.get(cards[0].vendor, "CUDA")


def _kv_gb(run: Run, timing: Timing, layers: int) -> float:
    setup = run.setup
    per_token = _kv_of_buffers(run)
    if per_token is None:
        per_token = kv_bytes_per_token(
            setup.n_layer, setup.n_embd_k_gqa, setup.n_embd_v_gqa, setup.type_k, setup.type_v
        )
    request = timing.slow_write
    if request is None:
        return 0.0
    if per_token is None:
        per_token = KV_PER_LAYER * layers
    context = (request.prompt_tokens or 0) + (request.cached_tokens or 0) + (request.output_tokens or 0) / 2
    return per_token * context / 1e9


def _kv_of_buffers(run: Run) -> float | None:
    """Bytes of cache a token of context takes, from the buffers: they know windowed layers and quantised caches."""
    mib = sum(b.mib for b in run.memory if b.kind == "kv" and b.detail != "recurrent state")
    return mib * 2**20 / run.setup.n_ctx if mib and run.setup.n_ctx else None


def _link(run: Run) -> float | None:
    for capture in run.captures:
        frame = capture.frame
        if frame is not None and {"pcie_gen", "pcie_width"} <= set(frame.columns):
            generation, width = frame["pcie_gen"].max(), frame["pcie_width"].max()
            if isinstance(generation, int | float) and isinstance(width, int | float):
                return link_gbs(float(generation), float(width))
    return None


def _speculation(found: Expected, timing: Timing, run: Run) -> None:
    drafted = sum(r.draft_tokens or 0 for r in timing.requests)
    accepted = sum(r.draft_accepted or 0 for r in timing.requests)
    written = sum(r.output_tokens or r.eval_tokens or 0 for r in timing.requests if r.draft_tokens)
    found.speculative = drafted > 0 or bool(run.setup.draft_model)
    if drafted and written > accepted:
        found.accepted = max(1.0, min(8.0, written / (written - accepted)))


def _baseline(found: Expected, baseline: Mapping[str, Any] | None) -> None:
    metrics = (baseline or {}).get("metrics")
    if not isinstance(metrics, Mapping):
        return
    for name, field_name in (("reading_tps", "base_read_tps"), ("writing_tps", "base_write_tps")):
        entry = metrics.get(name)
        value = entry.get("median") if isinstance(entry, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9:
            setattr(found, field_name, float(value))

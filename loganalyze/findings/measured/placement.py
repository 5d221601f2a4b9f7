"""Where weights, experts and KV cache live, and whether a GPU was meant to be used.

In order of trust: buffer lines and ``N/M layers``, lines of other engines (``48%/52% CPU/GPU``, device maps), the
decision of ``--fit``, the command line. Logs written since 2026-05 print none of the first by default: nothing known is
``unknown``, never the CPU.
"""

from __future__ import annotations

import re
from functools import lru_cache

from loganalyze.files import base_name
from loganalyze.findings.measured import command
from loganalyze.light import dataclass, field, lazy_pattern
from loganalyze.model.records import Buffer, Device, Event, Evidence, Run
from loganalyze.physics.gpu import is_software
from loganalyze.physics.weights import WHOLE, params_in, told_mib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Where = Literal["device", "split", "host", "unknown"]

_HOST = lazy_pattern(r"^(?:CPU|AMX|BLAS|Host|HBM|KleidiAI|.*_Host\b|.*_Mapped$)", re.IGNORECASE)
_DEVICE_MAPPED = lazy_pattern(r"^(?:Metal|MTL)", re.IGNORECASE)
_COPY = lazy_pattern(r"^CPU_(?:REPACK|AARCH64|KLEIDIAI)", re.IGNORECASE)
_GPU_BACKENDS = ("cuda", "rocm", "hip", "vulkan", "metal", "mtl", "sycl", "opencl", "cann", "musa", "mlx")


@dataclass(slots=True)
class Placement:
    """``weights``: where they are known to be. ``asked`` are GPU layers asked for (-1 all, None not asked).

    ``host_share`` is the part of the weights in host memory where known; ``by_choice`` names the option that keeps the
    run on the CPU; ``gpu_seen`` a card that the log or a capture names; ``ignored`` the event that says none is used.
    """

    weights: Where = "unknown"
    layers_on_gpu: int | None = None
    layers_total: int | None = None
    asked: int | None = None
    host_share: float | None = None
    device_mib: float | None = None
    host_mib: float | None = None
    kv_device_mib: float | None = None
    kv_host_mib: float | None = None
    experts_on_host: str | None = None
    overrides_on_host: str | None = None
    kv_on_host: str | None = None
    by_choice: str | None = None
    gpu_seen: Device | None = None
    ignored: Event | None = None
    unified: bool = False
    proofs: list[Evidence] = field(default_factory=list)
    overflow_layers: int | None = None


def on_host(device: str) -> bool:
    """True for a buffer type of host memory (``CPU``, ``CPU_Mapped``, ``CUDA_Host``); Metal's mapped ones are not."""
    return bool(_HOST.match(device)) and not _DEVICE_MAPPED.match(device)


def measure_placement(run: Run, kv_host_share: float = 0.05) -> Placement:
    """Placement of ``run``; parts without evidence stay unknown."""
    setup = run.setup
    found = Placement(layers_on_gpu=setup.layers_on_gpu, layers_total=setup.layers_total)
    found.asked = command.asked_layers(setup)
    if found.asked == -1 and run.backend == "CPU" and run.facts.get("benchmark") is True:
        # llama-bench prints its default of 99 in builds without a GPU, too.
        found.asked = None
    found.gpu_seen = _gpu(run)
    found.unified = bool(found.gpu_seen and found.gpu_seen.uma) or _is_metal(run)
    found.ignored = next((e for e in run.events if e.kind in ("no_gpu", "gpu_ignored")), None)
    _buffers(found, run)
    _decide(found, run)
    _experts(found, run)
    _cache(found, run, kv_host_share)
    _choice(found, run)
    return found


def line_of(run: Run, *names: str) -> int | None:
    """Line of the first of ``names`` among the run's figures."""
    return next((run.fact_lines[n] for n in names if n in run.fact_lines), None)


def path_of(run: Run) -> str:
    """Path of the run's log."""
    return run.source.path if run.source is not None else run.id.split("#")[0]


@lru_cache(maxsize=64)
def is_gpu_backend(backend: str | None) -> bool:
    """True for the name of a backend that computes on a GPU."""
    return any(word in (backend or "").lower() for word in _GPU_BACKENDS)


def _gpu(run: Run) -> Device | None:
    listed = [d for d in run.devices if is_gpu_backend(d.backend or d.id or "") or (d.backend is None and d.total_mib)]
    captured = [d for c in run.captures if c.kind in ("gpu", "gpu_process") for d in c.devices]
    real = [d for d in [*listed, *captured] if not is_software(d.name) and (d.backend or "").upper() != "CPU"]
    return real[0] if real else None


def _is_metal(run: Run) -> bool:
    names = [run.backend or "", *(d.backend or "" for d in run.devices), *(b.device for b in run.memory)]
    return any(n.lower().startswith(("metal", "mtl", "mlx")) for n in names)


def _buffers(found: Placement, run: Run) -> None:
    model = [b for b in run.memory if b.kind == "model"]
    if model:
        found.device_mib = sum(b.mib for b in model if not on_host(b.device))
        copies = sum(b.mib for b in model if _COPY.match(b.device))
        plain = sum(b.mib for b in model if on_host(b.device) and not _COPY.match(b.device))
        # repacked weights are a second copy of mapped ones
        found.host_mib = max(plain, copies)
    cache = [b for b in run.memory if b.kind == "kv"]
    if cache:
        found.kv_device_mib = sum(b.mib for b in cache if not on_host(b.device))
        found.kv_host_mib = sum(b.mib for b in cache if on_host(b.device))


def _decide(found: Placement, run: Run) -> None:
    on, total = found.layers_on_gpu, found.layers_total
    shares = [e for e in run.events if e.kind == "host_weights"]
    known = [e for e in shares if isinstance(e.data.get("share_pct"), int | float)]
    if on is not None and total:
        found.weights = "device" if on >= total else "host" if on == 0 else "split"
        found.host_share = _share(found, on, total)
        line = line_of(run, "layers_on_gpu", "layers_total", "offloaded")
        found.proofs.append(Evidence(path_of(run), line, f"offloaded {on}/{total} layers to GPU"))
    elif known:
        share = max(float(e.data["share_pct"]) for e in known) / 100
        found.weights = "device" if share <= 0 else "host" if share >= 1 else "split"
        found.host_share = share
    elif shares:
        found.weights = "split"
    elif found.device_mib is not None and found.device_mib > 1:
        found.weights = "split" if _large_host_part(found) else "device"
        if found.weights == "split":
            found.host_share = _mib_share(found)
    elif found.host_mib and _all_of_it(found, run):
        found.weights, found.host_share = "host", 1.0
    elif found.asked == -1 and run.facts.get("benchmark") is True and is_gpu_backend(run.backend):
        # A benchmark puts as many layers on the card as its table says, or fails.
        found.weights = "device"
    if shares and found.weights in ("split", "host"):
        found.proofs += [Evidence(e.source, e.line, e.text) for e in shares[:2]]
    found.proofs += [_proof(b) for b in run.memory if b.kind == "model" and b.mib >= 1][:4]


def _all_of_it(found: Placement, run: Run) -> bool:
    """Whether the buffers in host memory can be the whole model; an excerpt may hold the one of the embeddings only."""
    setup = run.setup
    name = f"{setup.model_name or ''} {base_name(setup.model_path or '')}".strip() or None
    params = setup.n_params / 1e9 if setup.n_params else params_in(name)
    told = told_mib(setup.model_bytes, params, setup.bpw, setup.quant, name)
    if told is not None:
        return (found.host_mib or 0.0) >= WHOLE * told
    return not found.kv_device_mib


def _proof(buffer: Buffer) -> Evidence:
    return Evidence(buffer.source, buffer.line, f"{buffer.device} model buffer size = {buffer.mib:.2f} MiB")


def _large_host_part(found: Placement) -> bool:
    host, device = found.host_mib or 0.0, found.device_mib or 0.0
    return host > 2048 and host > 0.35 * device


def _mib_share(found: Placement) -> float | None:
    both = (found.host_mib or 0.0) + (found.device_mib or 0.0)
    return (found.host_mib or 0.0) / both if both > 0 else None


def _share(found: Placement, on: int, total: int) -> float:
    """Host part of the weights: by layers, or by buffers where they agree better (before b3990 ``CPU`` was the file)."""
    by_layers = 1 - min(on, total) / total
    by_mib = _mib_share(found)
    if by_mib is None or on >= total or on == 0:
        return by_layers
    return by_mib if abs(by_mib - by_layers) < 0.25 else by_layers


def _experts(found: Placement, run: Run) -> None:
    asked = command.experts_asked_on_host(run.setup)
    overflow = run.facts.get("fit_overflow_layers")
    found.overflow_layers = overflow if isinstance(overflow, int) and overflow > 0 else None
    moved = next((e for e in run.events if e.kind == "tensor_override" and _to_host(e)), None)
    moe = bool(run.setup.n_expert)
    heavy = (found.host_mib or 0.0) > max(2048.0, 0.25 * (found.device_mib or 0.0))
    if asked:
        found.experts_on_host = asked
    elif found.overflow_layers and moe:
        found.experts_on_host = f"{found.overflow_layers} layers overflow to system memory"
    elif moved and (moe or "exps" in moved.text):
        found.experts_on_host = moved.text.strip()
    elif moe and heavy and found.layers_on_gpu is not None and found.layers_on_gpu >= (found.layers_total or 0) > 0:
        found.experts_on_host = f"{(found.host_mib or 0.0) / 1024:.1f} GiB of weights in host buffers"
    else:
        found.overrides_on_host = command.other_overrides_to_host(run.setup)
    if found.experts_on_host:
        if moved:
            found.proofs.append(Evidence(moved.source, moved.line, moved.text))
        if found.weights in ("device", "unknown"):
            found.weights = "split"
        share = _mib_share(found)
        if share and share > (found.host_share or 0.0):
            found.host_share = share


def _to_host(event: Event) -> bool:
    buffer = str(event.data.get("buffer") or "")
    return on_host(buffer) if buffer else "CPU" in event.text


def _cache(found: Placement, run: Run, kv_host_share: float) -> None:
    host, device = found.kv_host_mib or 0.0, found.kv_device_mib or 0.0
    if command.kv_kept_on_host(run.setup):
        found.kv_on_host = "the option keeps the KV cache in host memory"
    elif host > 0 and host / (host + device) > kv_host_share and found.weights == "device":
        found.kv_on_host = f"{host:.0f} of {host + device:.0f} MiB of KV cache in host buffers"
    if found.kv_on_host:
        found.proofs += [
            Evidence(b.source, b.line, f"{b.device} KV buffer size = {b.mib:.2f} MiB")
            for b in run.memory
            if b.kind == "kv" and on_host(b.device)
        ][:2]


def _choice(found: Placement, run: Run) -> None:
    """Options that keep the run on the CPU on purpose. ``-ngl 0`` alone still reads prompts on the card."""
    device = command.no_device(run.setup)
    if device:
        found.by_choice = device
    elif found.asked == 0:
        found.by_choice = "0 GPU layers asked for"
    if found.by_choice and found.weights == "unknown":
        found.weights, found.host_share = "host", 1.0

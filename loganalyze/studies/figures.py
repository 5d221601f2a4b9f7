"""The figures and settings of one run that studies compare."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from loganalyze.files import base_name
from loganalyze.findings.measured.middle import median
from loganalyze.model.records import Request, Run

# Metric -> (label, unit, True when more is better). Order is the order of printing.
METRIC_INFO: dict[str, tuple[str, str, bool]] = {
    "total_s": ("total", "s", False),
    "ttft_ms": ("first token", "ms", False),
    "reading_tps": ("reading", "t/s", True),
    "writing_tps": ("writing", "t/s", True),
    "throughput_tps": ("throughput", "t/s", True),
    "vram_peak_mib": ("memory peak", "MiB", False),
}

# Settings of a run in the words used on screen. What a setting drags along (offloaded layers, context a slot) is not
# listed beside it: one change must count once.
SETTING_LABELS: dict[str, str] = {
    "engine": "engine",
    "version": "version",
    "device": "device",
    "model": "model",
    "quant": "quantisation",
    "n_ctx": "context (-c)",
    "n_predict": "output limit (-n)",
    "prompt_tokens": "prompt length",
    "n_batch": "batch (-b)",
    "n_ubatch": "micro-batch (-ub)",
    "n_parallel": "slots (-np)",
    "n_gpu_layers": "GPU layers (-ngl)",
    "n_threads": "threads (-t)",
    "type_k": "KV type (-ctk)",
    "type_v": "KV type (-ctv)",
    "flash_attn": "flash attention (-fa)",
    "kv_offload": "KV offload (-nkvo)",
    "split_mode": "split mode (-sm)",
    "mmap": "mmap",
    "overrides": "tensor overrides (-ot)",
    "draft": "draft model",
    "temperature": "temperature",
}


@dataclass(slots=True)
class Figures:
    """One run: ``metrics`` by the names of METRIC_INFO, ``settings`` by SETTING_LABELS; None where unknown.

    ``n_requests`` counts complete requests; ``cached_tokens`` is their total; ``at_once`` the most in flight together.
    """

    label: str
    metrics: dict[str, float | None]
    settings: dict[str, Any]
    prompt_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    n_requests: int
    at_once: int
    vram_total_mib: float | None = None
    verdict: str | None = None
    cause: str | None = None
    streaming: bool | None = None
    flags: dict[str, str] = field(default_factory=dict)


def figures(run: Run) -> Figures:
    """Figures of ``run``. Rates are total tokens over total time of the requests that have both."""
    requests = [r for r in run.requests if r.complete] or run.requests
    prompt = _rate(requests, "prompt_tokens", "prompt_ms", "prompt_tps")
    writing = _rate(requests, "eval_tokens", "eval_ms", "eval_tps", fallback="output_tokens")
    telemetry = run.judgement.telemetry if run.judgement else {}
    metrics = {
        "total_s": _total_s(run),
        "ttft_ms": _median([r.ttft_ms if r.ttft_ms is not None else r.prompt_ms for r in requests]),
        "reading_tps": prompt,
        "writing_tps": writing,
        "throughput_tps": _throughput(requests),
        "vram_peak_mib": telemetry.get("vram_peak_mib"),
    }
    return Figures(
        label=_label(run),
        metrics=metrics,
        settings=_settings(run, requests),
        prompt_tokens=_median_int([r.prompt_tokens for r in requests]),
        output_tokens=_median_int([r.output_tokens for r in requests]),
        cached_tokens=_sum([r.cached_tokens for r in requests]),
        n_requests=len(requests),
        at_once=_at_once(requests),
        vram_total_mib=telemetry.get("vram_total_mib"),
        verdict=run.judgement.verdict if run.judgement else None,
        cause=run.judgement.cause if run.judgement else None,
        streaming=run.setup.streaming,
        flags=dict(run.setup.flags),
    )


def _label(run: Run) -> str:
    path, _, number = run.id.rpartition("#")
    folder, name = os.path.split(path or run.id)
    short = os.path.join(os.path.basename(folder), name) if folder else name
    return short if number in ("", "1") else f"{short}#{number}"


def _rate(requests: list[Request], tokens: str, ms: str, tps: str, fallback: str | None = None) -> float | None:
    total_tokens = total_ms = 0.0
    for request in requests:
        count = getattr(request, tokens)
        if count is None and fallback:
            count = getattr(request, fallback)
        spent = getattr(request, ms)
        if getattr(request, tps) is None or count is None or not spent:
            continue
        total_tokens += count
        total_ms += spent
    if total_ms:
        return total_tokens / total_ms * 1000
    # Some logs print only rates.
    return _median([getattr(r, tps) for r in requests])


def _total_s(run: Run) -> float | None:
    wall = run.facts.get("wall_s")
    if wall is None:
        wall = next((c.facts["wall_s"] for c in run.captures if c.facts.get("wall_s") is not None), None)
    if wall is not None:
        return float(wall)
    if run.total_ms is not None:
        return run.total_ms / 1000
    timed = [(r.start_s, r.end_s) for r in run.requests if r.start_s is not None and r.end_s is not None]
    if timed and len(timed) == len(run.requests):
        # Requests of a server overlap: the time they take together is the span, not the sum.
        return max(end for _, end in timed) - min(start for start, _ in timed)
    totals = [r.total_ms for r in run.requests if r.total_ms is not None]
    return sum(totals) / 1000 if totals else None


def _throughput(requests: list[Request]) -> float | None:
    """Tokens written by all requests over the time from the first start to the last end."""
    timed = [r for r in requests if r.start_s is not None and r.end_s is not None and r.output_tokens]
    if len(timed) < 2:
        return None
    span = max(r.end_s or 0.0 for r in timed) - min(r.start_s or 0.0 for r in timed)
    return sum(r.output_tokens or 0 for r in timed) / span if span > 0 else None


def _at_once(requests: list[Request]) -> int:
    edges = [
        edge
        for r in requests
        if r.start_s is not None and r.end_s is not None
        for edge in ((r.start_s, 1), (r.end_s, -1))
    ]
    depth = most = 0
    for _, step in sorted(edges):
        depth += step
        most = max(most, depth)
    return most or min(len(requests), 1)


def _settings(run: Run, requests: list[Request]) -> dict[str, Any]:
    setup = run.setup
    devices = sorted({d.name for d in run.devices if d.name}) or sorted(
        {d.name for c in run.captures for d in c.devices if d.name}
    )
    model = base_name(setup.model_path or setup.model_name) or None
    prompt = _median_int([r.prompt_tokens if r.cached_tokens is None else _plus(r) for r in requests])
    return {
        "engine": run.engine,
        "version": run.version,
        "device": ", ".join(devices) or None,
        "model": model,
        "quant": setup.quant,
        "n_ctx": setup.n_ctx,
        "n_predict": setup.n_predict,
        "prompt_tokens": prompt,
        "n_batch": setup.n_batch,
        "n_ubatch": setup.n_ubatch,
        "n_parallel": setup.n_parallel,
        "n_gpu_layers": setup.n_gpu_layers if setup.n_gpu_layers is not None else setup.layers_on_gpu,
        "n_threads": setup.n_threads,
        "type_k": setup.type_k,
        "type_v": setup.type_v,
        "flash_attn": setup.flash_attn,
        "kv_offload": setup.kv_offload,
        "split_mode": setup.split_mode,
        "mmap": setup.mmap,
        "overrides": " ".join(sorted(setup.tensor_overrides)) or None,
        "draft": setup.draft_model,
        "temperature": setup.temperature,
    }


def _plus(request: Request) -> int | None:
    if request.prompt_tokens is None:
        return None
    return request.prompt_tokens + (request.cached_tokens or 0)


def _sum(values: list[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def _median(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    if not known:
        return None
    return median(known)


def _median_int(values: list[int | None]) -> int | None:
    middle = _median([None if v is None else float(v) for v in values])
    return None if middle is None else round(middle)

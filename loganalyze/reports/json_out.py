"""The JSON answer, schema version 1: every field always present, unknown is null, the same bytes for the same input.

`schema_v1.json` beside this module is the published JSON Schema. Text is written in ASCII with escapes, so that
nothing in it can act on a terminal and lone surrogates of undecodable input survive.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from loganalyze.model.records import Clock, Finding, HalfFacts, Judgement, Missing, Request, Run, Setup, Source
from loganalyze.model.report import Report

if TYPE_CHECKING:
    from loganalyze.reports.redact import Redactor

SCHEMA_VERSION = 1
SETUP_KEYS = (
    "n_ctx", "n_batch", "n_ubatch", "n_parallel", "n_gpu_layers", "layers_on_gpu", "layers_total", "n_threads",
    "flash_attn", "n_predict", "model_bytes", "n_params", "command",
)  # fmt: skip
REQUEST_KEYS = (
    "id", "start_s", "prompt_tokens", "cached_tokens", "prompt_ms", "prompt_tps", "output_tokens", "eval_ms",
    "eval_tps", "ttft_ms", "total_ms", "source", "line",
)  # fmt: skip
TELEMETRY_KEYS = ("vram_peak_mib", "vram_total_mib", "vram_peak_pct", "swap_in_max_kib_s", "swap_out_max_kib_s")


def payload(report: Report, redactor: Redactor | None = None) -> dict[str, Any]:
    """The whole answer as plain data in the order of the schema."""
    body = {
        "schema_version": SCHEMA_VERSION,
        "verdict": report.verdict,
        "cause": report.cause,
        "confidence": report.confidence,
        "summary": report.summary,
        "next_step": report.next_step,
        "missing": _missing(report.missing),
        "runs": [run_payload(run) for run in report.runs],
        "sources": [_source(source) for source in report.sources],
    }
    whole: dict[str, Any] = _finite(body)
    return whole if redactor is None else dict(redactor.tree_learned(whole))


def dumps(report: Report, redactor: Redactor | None = None) -> str:
    """JSON text that ends with a newline."""
    return json.dumps(payload(report, redactor), indent=1, allow_nan=False) + "\n"


def render(report: Report, redact: bool = False) -> str:
    """JSON for stdout."""
    return dumps(report, _redactor(redact))


def data(report: Report, redactor: Redactor | None = None) -> bytes:
    """Bytes of a ``.json`` file: the same as on stdout."""
    return dumps(report, redactor).encode()


def run_payload(run: Run) -> dict[str, Any]:
    """One element of ``runs``."""
    judged = run.judgement if run.judgement is not None else Judgement()
    shift = _shift(run)
    return {
        "id": run.id,
        "verdict": judged.verdict,
        "cause": judged.cause,
        "confidence": judged.confidence,
        "summary": judged.summary,
        "next_step": judged.next_step,
        "engine": run.engine,
        "version": run.version,
        "backend": run.backend,
        "devices": [{"name": d.name, "total_mib": d.total_mib, "free_mib": d.free_mib} for d in run.devices],
        "setup": _setup(run.setup),
        "memory": [{"device": b.device, "kind": b.kind, "mib": b.mib} for b in run.memory],
        "load_ms": run.load_ms,
        "total_ms": run.total_ms,
        "requests": [_request(request, shift) for request in run.requests],
        "reading": _half(judged.reading),
        "writing": _half(judged.writing),
        "telemetry": {key: judged.telemetry.get(key) for key in TELEMETRY_KEYS},
        "findings": [_finding(finding) for finding in judged.findings],
    }


def _redactor(redact: bool) -> Redactor | None:
    if not redact:
        return None
    from loganalyze.reports.redact import Redactor

    return Redactor()


def _missing(missing: Iterable[Missing]) -> list[dict[str, Any]]:
    return [{"what": item.what, "record": item.record} for item in missing]


def _setup(setup: Setup) -> dict[str, Any]:
    return {key: getattr(setup, key) for key in SETUP_KEYS}


def _request(request: Request, shift: float) -> dict[str, Any]:
    out = {key: getattr(request, key) for key in REQUEST_KEYS}
    if request.start_s is not None:
        out["start_s"] = request.start_s + shift
    return out


def _shift(run: Run) -> float:
    """Seconds from the source's zero, which ``sources[].clock`` places, to the zero of this run of it."""
    own = run.clock.offset_s
    whole = None if run.source is None else run.source.clock.offset_s
    return 0.0 if own is None or whole is None else own - whole


def _half(half: HalfFacts) -> dict[str, Any]:
    return {
        "share": half.share,
        "tokens": half.tokens,
        "ms": half.ms,
        "tps": half.tps,
        "expected_tps": half.expected_tps,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "cause": finding.cause,
        "verdict": finding.verdict,
        "state": finding.state,
        "value": finding.value,
        "unit": finding.unit,
        "threshold": finding.threshold,
        "explains_s": finding.explains_s,
        "text": finding.text,
        "evidence": [{"source": e.source, "line": e.line, "text": e.text} for e in finding.evidence],
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        "path": source.path,
        "format": source.format,
        "dialect": source.dialect,
        "lines": source.lines,
        "matched": source.matched,
        "unmatched": source.unmatched,
        "clock": _clock(source.clock),
    }


def _clock(clock: Clock) -> dict[str, Any]:
    return {
        "kind": clock.kind,
        "zone": clock.zone,
        "anchor": clock.anchor,
        "offset_s": clock.offset_s,
        "error_s": clock.error_s,
    }


def _finite(value: Any) -> Any:
    """Plain data: what is no number is null, and sums carry no digits that only rounding put there."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value

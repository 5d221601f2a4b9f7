"""One row a run, for Markdown and CSV: the same columns in both."""

from __future__ import annotations

from typing import Any

from loganalyze.model.records import Run
from loganalyze.reports import facts
from loganalyze.reports.json_out import _finite

COLUMNS = (
    "id", "verdict", "cause", "confidence", "summary", "next_step", "engine", "version", "backend", "device", "model",
    "layers_on_gpu", "layers_total", "n_ctx", "requests", "prompt_tokens", "reading_ms", "reading_tps",
    "expected_reading_tps", "reading_share", "output_tokens", "writing_ms", "writing_tps", "expected_writing_tps",
    "writing_share", "load_ms", "total_ms", "vram_peak_mib", "vram_total_mib", "lost_s",
)  # fmt: skip


def row(run: Run) -> dict[str, Any]:
    """Values of ``COLUMNS`` for ``run``; None is unknown."""
    judged = facts.judgement(run)
    reading, writing = judged.reading, judged.writing
    requests = len(run.requests) + int(run.facts.get("folded_requests", 0))
    values = {
        "id": run.id, "verdict": judged.verdict, "cause": judged.cause, "confidence": judged.confidence,
        "summary": judged.summary, "next_step": judged.next_step, "engine": run.engine, "version": run.version,
        "backend": run.backend, "device": ", ".join(facts.devices(run)) or None, "model": facts.model(run),
        "layers_on_gpu": run.setup.layers_on_gpu, "layers_total": run.setup.layers_total, "n_ctx": run.setup.n_ctx,
        "requests": requests, "prompt_tokens": reading.tokens, "reading_ms": reading.ms,
        "reading_tps": reading.tps, "expected_reading_tps": reading.expected_tps, "reading_share": reading.share,
        "output_tokens": writing.tokens, "writing_ms": writing.ms, "writing_tps": writing.tps,
        "expected_writing_tps": writing.expected_tps, "writing_share": writing.share, "load_ms": run.load_ms,
        "total_ms": run.total_ms, "vram_peak_mib": judged.telemetry.get("vram_peak_mib"),
        "vram_total_mib": judged.telemetry.get("vram_total_mib"), "lost_s": judged.lost_s,
    }  # fmt: skip
    return {name: _finite(values[name]) for name in COLUMNS}

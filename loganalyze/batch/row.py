"""The row of a run: typed columns, documented once for CSV, JSONL, Parquet, HTML and the terminal."""

from __future__ import annotations

from typing import Any

from loganalyze.files import base_name
from loganalyze.model.records import Run
from loganalyze.studies.figures import Figures, figures

# name -> (type, meaning). Types: str, int, float. Order is the order of every output.
COLUMNS: dict[str, tuple[str, str]] = {
    "key": ("str", "digest of the files, the analyzer and the options; equal for equal input"),
    "id": ("str", "file#number of the run in it"),
    "file": ("str", "log (or first capture) of the run"),
    "verdict": ("str", "one of the five verdicts; null for a file that cannot be read"),
    "cause": ("str", "cause id"),
    "confidence": ("str", "high, medium or low"),
    "lost_s": ("float", "seconds that fixing the cause would save"),
    "engine": ("str", "engine"),
    "version": ("str", "build or version as printed"),
    "backend": ("str", "compute backend"),
    "model": ("str", "model name or file"),
    "quantisation": ("str", "quantisation as printed"),
    "device": ("str", "device names"),
    "n_devices": ("int", "devices"),
    "n_params": ("int", "parameters"),
    "model_bytes": ("int", "size of the weights"),
    "n_ctx": ("int", "context"),
    "n_batch": ("int", "batch"),
    "n_ubatch": ("int", "micro-batch"),
    "n_parallel": ("int", "slots"),
    "n_gpu_layers": ("int", "GPU layers asked for"),
    "layers_on_gpu": ("int", "layers on the GPU as printed"),
    "layers_total": ("int", "layers as printed"),
    "n_threads": ("int", "threads"),
    "n_predict": ("int", "output limit"),
    "flash_attn": ("str", "flash attention"),
    "type_k": ("str", "type of the K cache"),
    "type_v": ("str", "type of the V cache"),
    "requests": ("int", "complete requests"),
    "prompt_tokens": ("int", "prompt tokens computed, all requests"),
    "cached_tokens": ("int", "prompt tokens taken from a cache, all requests"),
    "output_tokens": ("int", "tokens written, all requests"),
    "reading_share": ("float", "share of request time spent reading, 0 to 1"),
    "reading_tps": ("float", "reading, total tokens over total time"),
    "expected_reading_tps": ("float", "reading expected of this machine"),
    "writing_tps": ("float", "writing, total tokens over total time"),
    "expected_writing_tps": ("float", "writing expected of this machine"),
    "ttft_ms": ("float", "median time to first token"),
    "load_ms": ("float", "load time as printed"),
    "total_s": ("float", "total time"),
    "vram_peak_mib": ("float", "highest device memory in use"),
    "vram_total_mib": ("float", "device memory"),
    "start": ("str", "start of the run, ISO 8601 UTC, where a clock tells"),
    "summary": ("str", "verdict in one sentence"),
    "next_step": ("str", "one thing to try"),
    "error": ("str", "why the file could not be read"),
}

Row = dict[str, Any]


def empty(**known: Any) -> Row:
    """A row with every column, None where not given."""
    return {name: known.get(name) for name in COLUMNS}


def row_of(run: Run, key: str) -> Row:
    """Row of a judged run."""
    told = figures(run)
    judged = run.judgement
    assert judged is not None
    setup = run.setup
    path = run.id.rpartition("#")[0]
    values: Row = empty(
        key=key,
        id=run.id,
        file=path,
        verdict=judged.verdict,
        cause=judged.cause,
        confidence=judged.confidence,
        lost_s=_round(judged.lost_s),
        engine=run.engine,
        version=run.version,
        backend=run.backend,
        model=_model(run),
        quantisation=setup.quant,
        device=told.settings.get("device"),
        n_devices=len(run.devices) or None,
        summary=judged.summary,
        next_step=judged.next_step,
        start=_start(run),
        load_ms=_round(run.load_ms),
        reading_share=_round(judged.reading.share),
        expected_reading_tps=_round(judged.reading.expected_tps),
        expected_writing_tps=_round(judged.writing.expected_tps),
        requests=told.n_requests,
    )
    for name in SETUP:
        values[name] = getattr(setup, name)
    _figures(values, run, told)
    for name, value in values.items():
        if isinstance(value, str) and not value.isascii():
            # Bytes of a file name that are no UTF-8 came as surrogates, which no output format holds.
            values[name] = value.encode("utf-8", "backslashreplace").decode()
    return values


SETUP = (
    "n_params",
    "model_bytes",
    "n_ctx",
    "n_batch",
    "n_ubatch",
    "n_parallel",
    "n_gpu_layers",
    "layers_on_gpu",
    "layers_total",
    "n_threads",
    "n_predict",
    "flash_attn",
    "type_k",
    "type_v",
)


def _figures(values: Row, run: Run, told: Figures) -> None:
    values["prompt_tokens"] = _sum([*(r.prompt_tokens for r in run.requests), run.facts.get("folded_prompt_tokens")])
    values["cached_tokens"] = told.cached_tokens
    values["output_tokens"] = _sum([*(r.output_tokens for r in run.requests), run.facts.get("folded_output_tokens")])
    for name in ("ttft_ms", "total_s", "vram_peak_mib", "reading_tps", "writing_tps"):
        values[name] = _round(told.metrics.get(name))
    values["vram_total_mib"] = _round(told.vram_total_mib)


def _model(run: Run) -> str | None:
    name = run.setup.model_name or run.setup.model_path
    return base_name(name) or None


def _start(run: Run) -> str | None:
    offset = run.clock.offset_s
    # Without wall time the axis is relative: small numbers are no dates (1e8 is 1973).
    if offset is None or not 1e8 < offset < 1e11:
        return None
    from datetime import UTC, datetime

    return datetime.fromtimestamp(offset + (run.start_s or 0.0), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _sum(values: Any) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None

"""Baselines as files: ``baseline -o base.json`` writes one, ``classify --baseline`` reads it."""

from __future__ import annotations

import json
from typing import Any

from loganalyze.errors import LogAnalyzeError
from loganalyze.studies.baseline import Baseline
from loganalyze.studies.figures import METRIC_INFO

KIND = "loganalyze-baseline"
VERSION = 1
MAX_BYTES = 1 << 20


def payload(result: Baseline) -> dict[str, Any]:
    """JSON of a baseline: medians by metric, the settings they hold for, and whether it is usable."""
    return {
        "kind": KIND,
        "schema_version": VERSION,
        "usable": result.usable,
        "reason": result.reason,
        "runs": [r.label for r in result.runs],
        "settings": dict(result.runs[0].settings) if result.runs else {},
        "metrics": {
            s.name: {"median": s.median, "spread_pct": s.spread_pct, "values": s.values} for s in result.spreads
        },
        "prompt_tokens": result.runs[0].prompt_tokens if result.runs else None,
        "output_tokens": result.runs[0].output_tokens if result.runs else None,
    }


def dumps(result: Baseline) -> str:
    """Text of the file."""
    return json.dumps(payload(result), indent=1, sort_keys=True, allow_nan=False) + "\n"


def load(path: str) -> dict[str, Any]:
    """Content of a saved baseline. Raises LogAnalyzeError when it is none, or not usable."""
    remedy = "Make one with: loganalyze baseline RUN RUN RUN -o base.json"
    try:
        with open(path, "rb") as file:
            content = json.loads(file.read(MAX_BYTES + 1))
    except (ValueError, RecursionError):
        raise LogAnalyzeError("not a saved baseline", path=path, remedy=remedy) from None
    if not isinstance(content, dict) or content.get("kind") != KIND or content.get("schema_version") != VERSION:
        raise LogAnalyzeError("not a saved baseline of this version", path=path, remedy=remedy)
    if content.get("usable") is not True:
        raise LogAnalyzeError(f"this baseline is not usable: {content.get('reason')}", path=path, remedy=remedy)
    if not _metrics_ok(content.get("metrics")) or not isinstance(content.get("settings"), dict):
        raise LogAnalyzeError("damaged baseline", path=path, remedy=remedy)
    return content


def _metrics_ok(metrics: Any) -> bool:
    return isinstance(metrics, dict) and all(
        name in METRIC_INFO and isinstance(m, dict) and _positive(m.get("median")) for name, m in metrics.items()
    )


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15

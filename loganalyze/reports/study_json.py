"""JSON, Markdown and CSV of studies: the same facts as the text."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

SCHEMA_VERSION = 1


def payload(kind: str, result: Any) -> dict[str, Any]:
    """Plain data of a study result; not-a-number never occurs, unknown is null."""
    body = asdict(result) if is_dataclass(result) and not isinstance(result, type) else {}
    return {"schema_version": SCHEMA_VERSION, "kind": kind, **body}


def dumps(kind: str, result: Any) -> str:
    """JSON text, byte-identical for the same input."""
    return json.dumps(payload(kind, result), indent=1, allow_nan=False, default=str) + "\n"


def table(kind: str, result: Any) -> tuple[list[str], list[list[Any]]]:
    """Head and rows of the study's table, one row a run."""
    from loganalyze.studies.figures import METRIC_INFO, SETTING_LABELS

    if kind == "sweep":
        runs = [r for level in result.levels for r in level.runs]
    elif kind == "compare":
        runs = [*result.before, *result.after]
    else:
        runs = result.runs
    head = ["run", *METRIC_INFO, "prompt_tokens", "output_tokens", *(n for n in SETTING_LABELS if n != "prompt_tokens")]
    rows = [
        [
            r.label,
            *(r.metrics.get(n) for n in METRIC_INFO),
            r.prompt_tokens,
            r.output_tokens,
            *(r.settings.get(n) for n in SETTING_LABELS if n != "prompt_tokens"),
        ]
        for r in runs
    ]
    return head, rows

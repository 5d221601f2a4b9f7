"""``loganalyze sweep``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import study


def run(values: dict[str, Any]) -> int:
    """Study the one setting that varies."""
    from loganalyze.reports import study_text
    from loganalyze.studies.sweep import sweep

    result = sweep(study.read_runs(values["paths"], values), values["by"])
    return study.finish("sweep", result, study_text.sweep, values)

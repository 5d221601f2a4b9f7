"""``loganalyze baseline``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import study


def run(values: dict[str, Any]) -> int:
    """Judge whether the runs are a usable baseline; ``-o base.json`` saves it."""
    from loganalyze.reports import study_text
    from loganalyze.studies.baseline import baseline

    return study.finish("baseline", baseline(study.read_runs(values["paths"], values)), study_text.baseline, values)

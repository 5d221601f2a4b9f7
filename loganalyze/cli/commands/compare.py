"""``loganalyze compare``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import study
from loganalyze.errors import UsageError


def run(values: dict[str, Any]) -> int:
    """Compare the runs before with the runs after."""
    if not values["before"] or not values["after"]:
        raise UsageError("give runs with --before and with --after", remedy="Better three each, of the same input")
    from loganalyze.reports import study_text
    from loganalyze.studies.compare import compare

    result = compare(study.read_runs(values["before"], values), study.read_runs(values["after"], values))
    return study.finish("compare", result, study_text.comparison, values)

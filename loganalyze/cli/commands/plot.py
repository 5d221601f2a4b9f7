"""``loganalyze plot``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import common
from loganalyze.errors import UsageError

PICTURES = (".png", ".svg")


def run(values: dict[str, Any]) -> int:
    """Read, judge, and draw into the files asked for (default: ``loganalyze.png``)."""
    from loganalyze.api import classify
    from loganalyze.cli.commands.classify import write

    outputs = values["output"] or ("loganalyze.png",)
    for name in outputs:
        if not name.lower().endswith(PICTURES):
            raise UsageError(f"-o {name}: plot writes .png and .svg")
    report = classify(values["paths"], common.options_of(values))
    common.tell_unreadable(report.sources)
    write(report, {**values, "output": outputs})
    return common.status_of(report, None)

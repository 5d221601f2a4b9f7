"""``loganalyze report``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import common
from loganalyze.errors import UsageError


def run(values: dict[str, Any]) -> int:
    """Read, judge, and write the reports asked for (default: Markdown on stdout)."""
    if values["redact"] and values["no_redact"]:
        raise UsageError("--redact and --no-redact exclude each other")
    from loganalyze.api import classify
    from loganalyze.cli.commands.classify import write

    report = classify(values["paths"], common.options_of(values))
    common.tell_unreadable(report.sources)
    if values["output"]:
        write(report, values)
    else:
        from loganalyze.reports import issue_md

        common.out(issue_md.render(report, redact=not values["no_redact"]))
    return common.status_of(report, None)

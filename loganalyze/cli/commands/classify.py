"""``loganalyze classify``."""

from __future__ import annotations

from loganalyze.cli import common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(values: dict[str, Any]) -> int:
    """Read, judge, print, and write the outputs asked for."""
    common.check_fail_on(values["fail_on"])
    paths = common.require_input(values)
    width = common.width_of(values)
    from loganalyze.api import classify

    report = classify(paths, common.options_of(values))
    common.tell_unreadable(report.sources)
    common.out(_render(report, values, width))
    if values["output"]:
        write(report, values)
    return common.status_of(report, values["fail_on"])


def _render(report: Any, values: dict[str, Any], width: int) -> str:
    from importlib import import_module

    from loganalyze.reports import RENDERERS

    module = import_module(RENDERERS[values["format"]])
    if values["redact"] and values["format"] != "text":
        return str(module.render(report, redact=True))
    if values["format"] != "text":
        return str(module.render(report))
    return str(module.render(report, width=width, colour=common.colour_of(values), ascii=common.ascii_only()))


def write(report: Any, values: dict[str, Any]) -> None:
    """Write the files named with ``-o`` and say so on stderr."""
    from loganalyze.reports.write import write_outputs

    redact = True if values.get("redact") else False if values.get("no_redact") else None
    for line in write_outputs(report, values["output"], force=values["force"], redact=redact):
        common.say(line)

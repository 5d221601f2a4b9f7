"""``loganalyze timeline``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import common
from loganalyze.errors import UsageError


def run(values: dict[str, Any]) -> int:
    """Show the aligned sources, or write the aligned table."""
    from loganalyze.api import nothing, read
    from loganalyze.timeline.export import export
    from loganalyze.timeline.view import view

    step = _step(values["step"])
    reading = read(values["paths"], common.options_of(values))
    if not reading.runs and not reading.captures:
        raise nothing(reading)
    unreadable = common.tell_unreadable(reading.sources)
    if not values["output"]:
        common.out(view(reading, width=common.width_of(values), ascii_only=common.ascii_only()))
    for name in values["output"]:
        export(reading, name, step_s=step, force=values["force"])
        common.say(f"Wrote {name}")
    return 2 if unreadable else 0


def _step(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 86400:
        raise UsageError(f"--step {text}: give seconds between 0.001 and 86400")
    return value

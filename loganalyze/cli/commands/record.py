"""``loganalyze record -- COMMAND``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from loganalyze.cli import common
from loganalyze.errors import UsageError


def run(values: dict[str, Any]) -> int:
    """Record, then classify what was recorded."""
    from importlib import import_module

    from loganalyze.cli.fast import defaults
    from loganalyze.cli.spec import command
    from loganalyze.recorder import collectors, record

    interval = _interval(values["interval"])
    folder = Path(values["output"] or time.strftime("loganalyze-%Y%m%d-%H%M%S"))
    tools = ", ".join(collectors(interval)) or "no capture tool found: only the log"
    common.say(f"Recording into {folder} ({tools})")
    status = record(list(values["paths"]), folder, interval, None if sys.stdout is None else sys.stdout.buffer)
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    common.say(f"The command {how}. Again later: loganalyze classify {folder}")
    spec = command("classify")
    assert spec is not None
    shown = {k: values[k] for k in ("color", "width")}
    return int(
        import_module("loganalyze.cli.commands.classify").run({**defaults(spec), **shown, "paths": (str(folder),)})
    )


def _interval(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 3600:
        raise UsageError(f"--interval {text}: give seconds between 0.1 and 3600")
    return value

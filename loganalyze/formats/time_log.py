"""``time`` output inside a log: sets ``run.facts`` (see ``time_facts``), ``run.exit_status``, and a ``killed`` event.

Its lines come from standard error and may stand anywhere in the log, mostly at its end.
"""

from __future__ import annotations

from loganalyze.formats.base import LogState
from loganalyze.formats.time_facts import RULES, facts_of, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler
    from loganalyze.scan.line import Line

NAME = "time"
GRAMMARS = ("time",)


def handlers(state: LogState) -> dict[str, Handler]:
    """A handler for each line shape of ``grammars/time.lark``."""
    names = [name for name in RULES if not name.startswith(("posix_user", "posix_sys", "timeformat"))]
    return {f"time.{name}": _handler(state, name) for name in names}


def _handler(state: LogState, rule: str) -> Handler:
    def handle(fields: Fields, line: Line) -> None:
        run = state.run
        facts = merge(run.facts, facts_of(rule, fields))
        run.fact_lines.update(dict.fromkeys(facts, line.number))
        if "exit_status" in facts:
            run.exit_status = facts["exit_status"]
        if "signal" in facts:
            state.event("killed", line, signal=facts["signal"])

    return handle

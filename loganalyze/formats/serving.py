"""What the interval lines of serving engines have in common: totals over requests and windows, never single requests."""

from __future__ import annotations

from loganalyze.formats.base import LogState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.scan.line import Line


def interval(
    state: LogState,
    line: Line,
    *,
    prompt_tps: float | None = None,
    gen_tps: float | None = None,
    running: int | None = None,
    waiting: int | None = None,
    usage_pct: float | None = None,
    **more: object,
) -> None:
    """Record one statistics line: a throughput event, and a queue event while requests wait."""
    known = {k: v for k, v in more.items() if v is not None}
    state.event(
        "throughput",
        line,
        prompt_tps=prompt_tps,
        gen_tps=gen_tps,
        running=running,
        waiting=waiting,
        kv_usage_pct=usage_pct,
        **known,
    )
    if waiting:
        state.event("queue", line, running=running, waiting=waiting, usage_pct=usage_pct)


def fact(state: LogState, line: Line, name: str, value: object) -> None:
    """Set a fact of the run with its line, unless the value is unknown."""
    if value is not None:
        state.run.facts[name] = value
        state.run.fact_lines[name] = line.number

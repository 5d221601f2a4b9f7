"""Timeline: clocks, anchors, and alignment of all sources on one axis.

``align`` places what was read. The aligned table is in ``table``, its files in ``export``, its text view in ``view``.
"""

from __future__ import annotations

from loganalyze.model.records import Capture, Clock, Reading, Run, Source
from loganalyze.options import is_named

__all__ = ["MODES", "align"]

MODES = ("auto", "one", "folder", "stem")
"""Ways of grouping, as ``group`` tells."""
ZERO = "zero of the axis"


def align(
    runs: list[Run],
    captures: list[Capture],
    *,
    tz: str | None = None,
    starts: dict[str, str] | None = None,
    group: str = "auto",
) -> Reading:
    """Put ``runs`` and ``captures`` on one axis, in place, and join them.

    Runs get phases and the times of their requests; every clock gets ``offset_s``, ``anchor`` and ``error_s`` where
    it can be placed and a note where it cannot; captures whose stamps go back are cut into segments; rows placed by
    their number get ``t_s``. ``tz``: zone of stamps without one (default: a neighbour's, else this machine's).
    ``starts``: path or file name -> time of the zero of that file. ``group``: one of ``MODES``, see module ``group``.

    Raises LogAnalyzeError for a zone or start that cannot be read.
    """
    from loganalyze.timeline.phases import fill_phases

    _check(tz, group)
    for run in runs:
        fill_phases(run)
    if not captures and not starts and len(runs) == 1 and runs[0].clock.first_epoch_s is None:
        return _alone(runs[0])
    whole = _split(captures)
    _apply_starts(runs, whole, starts or {}, tz)
    return _align(runs, whole, tz, group)


def _align(runs: list[Run], captures: list[Capture], tz: str | None, mode: str) -> Reading:
    from loganalyze.timeline.attach import attach
    from loganalyze.timeline.axis import align_group
    from loganalyze.timeline.group import group

    groups, told = group(runs, captures, mode)
    for members in groups:
        align_group(members, tz)
    reading = Reading(runs=list(runs), grouping=told)
    attach(reading, groups)
    _report_clocks(runs, captures)
    sources = [*(r.source for r in runs), *(c.source for c in captures)]
    reading.sources = list({id(s): s for s in sources if s is not None}.values())
    return reading


def _alone(run: Run) -> Reading:
    """The usual case, a log without captures, for which nothing else need be loaded."""
    if run.clock.offset_s is None and (run.phases or run.start_s is not None):
        run.clock.offset_s, run.clock.anchor, run.clock.error_s = 0.0, ZERO, 0.0
    _report_clocks([run], [])
    return Reading(runs=[run], sources=[run.source] if run.source else [], grouping="one log")


def _check(tz: str | None, group: str) -> None:
    if tz is not None:
        from loganalyze.timeline.zones import check_zone

        check_zone(tz)
    if group not in MODES:
        from loganalyze.errors import LogAnalyzeError

        raise LogAnalyzeError(f"unknown grouping {group}", remedy="Use one of: " + ", ".join(MODES))


def _split(captures: list[Capture]) -> list[Capture]:
    if not captures:
        return []
    from loganalyze.timeline.segments import split

    return [part for capture in captures for part in split(capture)]


def _apply_starts(runs: list[Run], captures: list[Capture], starts: dict[str, str], tz: str | None) -> None:
    if not starts:
        return
    from loganalyze.errors import LogAnalyzeError
    from loganalyze.timeline.clocks import settle
    from loganalyze.timeline.place import interval_of
    from loganalyze.timeline.zones import stamp_epoch

    for name, text in starts.items():
        epoch, _ = stamp_epoch(text, tz)
        found = [c for c in captures if _named(c.source, name)]
        clocks: list[Clock] = [r.clock for r in runs if _named(r.source, name)][:1] + [c.clock for c in found][:1]
        if not clocks:
            raise LogAnalyzeError(
                f"--start {name}: nothing in it to place", remedy="Name a file with a run or a capture"
            )
        for capture in found:
            if capture.clock.kind == "none":
                capture.clock.kind, capture.clock.interval_s = "interval", interval_of(capture)
        for clock in clocks:
            settle(clock, epoch, "start given", 0.0)


def _named(source: Source | None, name: str) -> bool:
    return source is not None and is_named(source.path, name)


def _report_clocks(runs: list[Run], captures: list[Capture]) -> None:
    """``Source.clock`` is what outputs show: that of the first run or segment of the source."""
    seen: set[int] = set()
    items: list[Run | Capture] = [*runs, *captures]
    for item in items:
        source = item.source
        if source is None or id(source) in seen:
            continue
        seen.add(id(source))
        source.clock = item.clock

"""Captures to runs: by group, and inside a group by overlap in time."""

from __future__ import annotations

from loganalyze.model.records import Capture, Reading, Run
from loganalyze.timeline.axis import span_of, wall_of
from loganalyze.timeline.clocks import finite
from loganalyze.timeline.group import Group

# Captures begun or ended this long beside a run still show what came before and after it.
BESIDE_S = 5.0


def attach(reading: Reading, groups: list[Group]) -> None:
    """Fill ``Run.captures`` and, with what remains, ``Reading.captures``."""
    for members in groups:
        runs = members.runs or (reading.runs if members.label == "shared" else [])
        for capture in members.captures:
            owners = _owners(capture, runs)
            for run in owners:
                run.captures.append(capture)
            if not owners:
                reading.captures.append(capture)


def _owners(capture: Capture, runs: list[Run]) -> list[Run]:
    if not runs:
        return []
    if capture.kind == "time":
        return [_timed_run(capture, runs)]
    span = _span(capture)
    if len(runs) == 1 and runs[0].source is not None and runs[0].source is capture.source:
        # Pasted into one text: its clock, if any, says less than that.
        return runs
    if len(runs) == 1:
        mine = span_of(runs[0])
        if span is not None and mine is not None and not _overlap(span, mine):
            capture.notes.append("shows another time than the run it was given with")
            return []
        return runs
    if span is None:
        # A capture that cannot be placed still tells what the machine has when there is one process to tell it of.
        same = [r for r in runs if r.source is capture.source]
        return same[-1:]
    return [r for r in runs if (mine := span_of(r)) is not None and _overlap(span, mine)]


def _timed_run(capture: Capture, runs: list[Run]) -> Run:
    """The run that a ``time`` report is about: the last one in its file before it, else the one it fits best."""
    same = [r for r in runs if r.source is capture.source]
    first = min(capture.fact_lines.values(), default=None)
    if same and first is not None:
        before = [r for r in same if r.first_line is not None and r.first_line <= first]
        return (before or same)[-1]
    wall = finite(capture.facts.get("wall_s"))
    fitting = [r for r in runs if wall_of(r, [capture]) is not None]
    if wall is None or not fitting:
        return runs[-1]
    return min(fitting, key=lambda r: wall - ((r.end_s or 0.0) - (r.start_s or 0.0)))


def _span(capture: Capture) -> tuple[float, float] | None:
    frame, offset = capture.frame, capture.clock.offset_s
    if frame is None or offset is None or not frame.height:
        return None
    first, last = finite(frame["t_s"].min()), finite(frame["t_s"].max())
    return None if first is None or last is None else (offset + first, offset + last)


def _overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] <= b[1] + BESIDE_S and a[1] >= b[0] - BESIDE_S

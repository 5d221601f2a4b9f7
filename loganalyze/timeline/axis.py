"""One group on one axis: every anchor in order of trust, then the signal, then what can still be told."""

from __future__ import annotations

from loganalyze.model.records import Capture, Phase, Run
from loganalyze.timeline import ZERO
from loganalyze.timeline.client import offset_from_client
from loganalyze.timeline.clocks import Timed, files_trusted, finite, place_stamped, settle, timed
from loganalyze.timeline.group import Group
from loganalyze.timeline.phases import LAID_OUT, request_seconds

# Errors of places told by file times: writes are buffered for a second or two, and programs linger after the last.
FILE_ERROR_S = 3.0


def align_group(members: Group, tz: str | None) -> None:
    """Place everything in ``members`` that can be placed; clocks say how, and why not."""
    if members.captures:
        from loganalyze.timeline.cards import tell_apart

        tell_apart(members.runs, members.captures)
    items = [timed(r) for r in members.runs] + [timed(c) for c in members.captures]
    place_stamped(items, tz)
    _place_by_client(members.runs)
    trusted = files_trusted(items)
    _use_wall_time(members)
    _place_runs(members)
    if trusted:
        _place_by_file([timed(r) for r in members.runs])
    _zero(members)
    _place_loose(members, trusted)
    for capture in members.captures:
        fill_times(capture)


def wall_of(run: Run, captures: list[Capture]) -> float | None:
    """Whole length of the process, from a ``time`` capture that fits ``run``."""
    known = [finite(c.facts.get("wall_s")) for c in captures if c.kind == "time"]
    length = (run.end_s or 0.0) - (run.start_s or 0.0)
    fitting = [w for w in known if w is not None and w >= length * 0.98]
    return min(fitting) if fitting else None


def _use_wall_time(members: Group) -> None:
    """A log that tells no times, of a process whose whole length was measured: all of it was an attempt to load."""
    wall = [w for c in members.captures if c.kind == "time" and (w := finite(c.facts.get("wall_s")))]
    if len(members.runs) != 1 or len(wall) != 1:
        return
    run = members.runs[0]
    if run.phases or run.requests or run.start_s is not None or run.clock.kind != "none":
        return
    run.start_s, run.end_s = 0.0, wall[0]
    run.facts["times"] = LAID_OUT
    run.phases = [Phase("load", 0.0, wall[0], None, run.source.path if run.source else None)]


def _place_by_client(runs: list[Run]) -> None:
    """Runs seen by a client that notes wall times get its clock."""
    clients = [r for r in runs if r.clock.offset_s is not None and r.clock.kind == "absolute"]
    for run in runs:
        if run.clock.offset_s is not None or run.clock.kind != "relative":
            continue
        for client in clients:
            found = offset_from_client(run, client) if client.source is not run.source else None
            if found is None or client.clock.offset_s is None:
                continue
            offset, error, count = found
            name = timed(client).name
            noun = "request" if count == 1 else "requests"
            settle(run.clock, client.clock.offset_s + offset, f"{count} {noun} in {name}", error)
            run.facts["client"] = client.id
            client.facts["client_of"] = run.id
            break


def _framed(captures: list[Capture]) -> list[Capture]:
    return [c for c in captures if c.frame is not None and c.frame.height >= 2]


def _placed(captures: list[Capture]) -> list[Capture]:
    return [c for c in _framed(captures) if c.clock.offset_s is not None]


def _place_runs(members: Group) -> None:
    """Runs without wall time onto the captures that have one, in order of the log."""
    captures = _placed(members.captures)
    if not captures:
        return
    from loganalyze.timeline.place import place_run

    several = len({id(r) for r in members.runs if r.clock.offset_s is None and r.phases}) > 1
    after: float | None = None
    path = None
    for run in members.runs:
        if run.source is not None and run.source.path != path:
            # Runs of one log follow each other; those of two logs need not.
            after, path = None, run.source.path
        if run.clock.offset_s is None and run.phases:
            place_run(
                run,
                captures,
                wall_of(run, members.captures),
                after if after is not None or not several else float("-inf"),
            )
        if run.clock.offset_s is not None and run.end_s is not None:
            after = max(after or float("-inf"), run.clock.offset_s + run.end_s)


def _place_by_file(items: list[Timed]) -> None:
    """The last write of a log is its last line."""
    for t in items:
        if t.clock.offset_s is None and t.source is not None and t.source.mtime_s is not None and t.last_s is not None:
            settle(t.clock, t.source.mtime_s - t.last_s, "file time", FILE_ERROR_S)


def _zero(members: Group) -> None:
    """Without any wall time the axis counts from the start of the first run that has times."""
    if any(c.clock.offset_s is not None for c in _framed(members.captures)):
        return
    if any(r.clock.offset_s is not None for r in members.runs):
        return
    run = next((r for r in members.runs if r.phases or r.start_s is not None), None)
    if run is not None:
        settle(run.clock, 0.0, ZERO, 0.0)


def _place_loose(members: Group, trusted: bool | None) -> None:
    loose = [c for c in _framed(members.captures) if c.clock.offset_s is None]
    if not loose:
        return
    from loganalyze.timeline.place import place_captures

    run = _longest([r for r in members.runs if r.clock.offset_s is not None])
    placed = _placed(members.captures)
    if run is not None:
        expected = _expected(run, loose) if trusted is not False else {}
        loose = place_captures(run, loose, placed, wall_of(run, members.captures), expected)
    if loose and placed:
        from loganalyze.timeline.twins import place_by_twin

        loose = place_by_twin(loose, placed)
    for capture in loose:
        _by_last_write(capture, run, trusted)


def _longest(runs: list[Run]) -> Run | None:
    return max(runs, key=lambda r: (r.end_s or 0.0) - (r.start_s or 0.0), default=None)


def _expected(run: Run, loose: list[Capture]) -> dict[int, tuple[float, float]]:
    """Where file times put the first rows on the run's clock, and how far that may be off."""
    from loganalyze.timeline.place import interval_of

    written = run.source.mtime_s if run.source else None
    if written is None or run.end_s is None:
        return {}
    found = {}
    for capture in loose:
        mtime = capture.source.mtime_s
        if mtime is None or abs(mtime - written) > 24 * 3600 or capture.frame is None:
            continue
        length = (finite(capture.frame["row"].max()) or 0.0) * interval_of(capture)
        found[id(capture)] = (run.end_s + (mtime - written) - length, FILE_ERROR_S)
    return found


def _by_last_write(capture: Capture, run: Run | None, trusted: bool | None) -> None:
    """Last resort: the file's time is that of the last row."""
    from loganalyze.timeline.place import interval_of

    if trusted is not True or capture.source.mtime_s is None or capture.frame is None:
        return
    if run is not None and (run.clock.offset_s or 0.0) < 1e8:
        return
    step = interval_of(capture)
    length = (finite(capture.frame["row"].max()) or 0.0) * step
    if capture.clock.interval_s is None:
        capture.clock.interval_s = step
        capture.clock.notes.append(f"the interval is not stated: {step:g} s assumed")
        capture.clock.kind = "interval"
    settle(capture.clock, capture.source.mtime_s - length, "file time", FILE_ERROR_S + step)


def fill_times(capture: Capture) -> None:
    """Give the rows of a capture placed by number of row their times."""
    frame, clock = capture.frame, capture.clock
    if frame is not None and clock.interval_s is None and clock.kind in ("absolute", "relative"):
        from loganalyze.timeline.place import measured_interval

        measured = measured_interval(capture)
        clock.interval_s = None if measured is None else round(measured, 4)
    if frame is None or clock.interval_s is None or clock.kind not in ("interval", "none"):
        return
    if not frame.height or frame["t_s"].null_count() < frame.height:
        return
    import polars as pl

    capture.frame = frame.with_columns(t_s=pl.col("row").cast(pl.Float64) * clock.interval_s)


def span_of(run: Run) -> tuple[float, float] | None:
    """Span of a placed run on the axis."""
    if run.clock.offset_s is None:
        return None
    times = [t for p in run.phases for t in (p.start_s, p.end_s)]
    times += [t for t in (run.start_s, run.end_s) if t is not None]
    if not times:
        lengths = [s for s in (request_seconds(r) for r in run.requests) if s is not None]
        times = [0.0, sum(lengths)] if lengths else []
    return (run.clock.offset_s + min(times), run.clock.offset_s + max(times)) if times else None

"""From gathered dmon rows to a capture: clock, ticks, types and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loganalyze.formats.capture import wrapper_times
from loganalyze.formats.nvidia_dmon_columns import Table
from loganalyze.formats.nvidia_ticks import ticks
from loganalyze.model.records import Capture, Clock

if TYPE_CHECKING:
    import polars as pl

    from loganalyze.formats.capture import Segment

DEFAULT_INTERVAL_S = 1.0
_FLOATS = ("power_w",)


def finish(table: Table, segment: Segment) -> Capture | None:
    """Capture of one table, or None when no row was read."""
    import polars as pl

    if not table.frames:
        return None
    frame = pl.concat(table.frames, how="diagonal", rechunk=False)
    table.frames.clear()
    if not frame["line"].is_sorted():
        frame = frame.sort("line")
    facts: dict[str, Any] = {}
    clock, t_s = dmon_clock(frame, segment, facts)
    frame = frame.drop("_day", "_s", strict=False).with_columns(t_s.alias("t_s"))
    if "device" not in frame.columns:
        frame = frame.with_columns(device=pl.lit(None, dtype=pl.Int32))
    frame = frame.with_columns(ticks(frame), *[pl.col(c).cast(pl.Float32) for c in _FLOATS if c in frame.columns])
    lead = ["t_s", "row", "line", "device"]
    frame = frame.select(*lead, *[c for c in frame.columns if c not in lead])
    notes = list(table.notes)
    notes += [f"{n} x - in {c}" for c in frame.columns[4:] if (n := frame[c].null_count())]
    if not table.named:
        notes.append("no names line: columns told by their units")
    return Capture(
        kind="gpu",
        format="nvidia_dmon",
        source=segment.source,
        frame=frame,
        facts=facts,
        clock=clock,
        dialect="csv" if table.csv else "text",
        segment=segment.number,
        notes=notes,
    )


def dmon_clock(frame: pl.DataFrame, segment: Segment, facts: dict[str, Any]) -> tuple[Clock, pl.Series]:
    """Clock of dmon or pmon rows from ``_day`` (YYYYMMDD) and ``_s`` (seconds of the day), the wrapper, or the interval.

    A time without a date makes a relative clock; ``facts["first_time_of_day_s"]`` tells where its zero lies in a day.
    """
    import polars as pl

    nothing = pl.Series("t_s", [None] * len(frame), dtype=pl.Float64)
    if "_s" in frame.columns and "_day" in frame.columns:
        epoch = _midnights(frame["_day"]) + frame["_s"].cast(pl.Int64)
        known = epoch.drop_nulls()
        if len(known):
            zero = int(known[0])
            clock = Clock("absolute", first_epoch_s=float(zero), resolution_s=1.0, interval_s=segment.interval_s)
            return clock, (epoch - zero).cast(pl.Float64)
    if "_s" in frame.columns:
        seconds = frame["_s"].cast(pl.Int64)
        # A fall by more than half a day is midnight, a smaller one a clock set back.
        nights = (seconds.diff() < -43200).fill_null(False).cast(pl.Int64).cum_sum()
        facts["first_time_of_day_s"] = float(seconds[0])
        clock = Clock("relative", resolution_s=1.0, interval_s=segment.interval_s, notes=["time of day without a date"])
        return clock, (seconds + nights * 86400 - int(seconds[0])).cast(pl.Float64)
    outer = wrapper_times(segment, frame["line"].to_list()) if segment.stamps is not None else None
    if outer is not None:
        return outer[0], pl.Series("t_s", outer[1], dtype=pl.Float64)
    facts["default_interval_s"] = DEFAULT_INTERVAL_S
    if "_day" in frame.columns:
        facts["date"] = str(frame["_day"][0])
    return Clock("interval" if segment.interval_s else "none", interval_s=segment.interval_s), nothing


def _midnights(day: pl.Series) -> pl.Series:
    """Epoch seconds of the days ``YYYYMMDD``, null where there is no such day; each run of one day is parsed once."""
    import polars as pl

    changed = (day != day.shift(1)).fill_null(True)
    dates = day.filter(changed).cast(pl.String).str.to_date("%Y%m%d", strict=False)
    return (dates.cast(pl.Int64) * 86400).gather(changed.cast(pl.UInt32).cum_sum() - 1)

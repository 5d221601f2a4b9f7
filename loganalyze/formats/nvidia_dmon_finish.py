"""From gathered dmon rows to a capture: clock, ticks, types and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loganalyze.formats.capture import wrapper_times
from loganalyze.formats.matrix import stacked
from loganalyze.formats.nvidia_dmon_columns import Table
from loganalyze.formats.nvidia_ticks import ticks
from loganalyze.model.records import Capture, Clock

if TYPE_CHECKING:
    import polars as pl

    from loganalyze.formats.capture import Segment

DEFAULT_INTERVAL_S = 1.0


def finish(table: Table, segment: Segment) -> Capture | None:
    """Capture of one table, or None when no row was read."""
    import polars as pl

    if not table.frames:
        return None
    frame = stacked(table.frames)
    if not frame["line"].is_sorted():
        frame = frame.sort("line")
    facts: dict[str, Any] = {}
    clock, t_s = dmon_clock(frame, table, segment, facts)
    device = frame["device"] if "device" in frame.columns else pl.repeat(None, frame.height, dtype=pl.Int32, eager=True)
    known = {"t_s": t_s, "line": frame["line"], "device": device}
    metrics = [c for c in frame.get_columns() if c.name not in (*known, "_day", "_s")]
    row = ticks(device, t_s)
    frame = pl.DataFrame([known["t_s"].alias("t_s"), row, known["line"], device.alias("device"), *metrics])
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


def dmon_clock(frame: pl.DataFrame, table: Table, segment: Segment, facts: dict[str, Any]) -> tuple[Clock, pl.Series]:
    """Clock and ``t_s`` of dmon rows: from their stamps, the wrapper, or the interval.

    A time without a date makes a relative clock; ``facts["first_time_of_day_s"]`` tells where its zero lies in a day.
    """
    import polars as pl

    if table.zero_s is not None:
        # The first row may have been read after others.
        first = float(frame["t_s"].drop_nulls()[0])
        zero = table.zero_s + first
        clock = Clock("absolute", first_epoch_s=zero, resolution_s=1.0, interval_s=segment.interval_s)
        return clock, frame["t_s"] - first if first else frame["t_s"]
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
    nothing = pl.repeat(None, len(frame), dtype=pl.Float64, eager=True)
    return Clock("interval" if segment.interval_s else "none", interval_s=segment.interval_s), nothing

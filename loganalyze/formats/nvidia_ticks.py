"""From gathered rows to captures: cards, ticks, clock and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loganalyze.formats.capture import wrapper_times
from loganalyze.formats.matrix import stacked
from loganalyze.formats.nvidia_interleave import cards_by_gaps, cards_by_levels
from loganalyze.formats.nvidia_types import IDENTITY, TIME, Series
from loganalyze.model.records import Capture, Clock, Device
from loganalyze.numerals import is_whole

if TYPE_CHECKING:
    import polars as pl

    from loganalyze.formats.capture import Segment


def finish(series: Series, segment: Segment) -> Capture | None:
    """Capture of one series, or None when no row was read."""
    import polars as pl

    if not series.frames:
        if series.headers:
            segment.source.notes.append("header without rows")
        return None
    frame = _join_flags(stacked(series.frames))
    notes = [*series.notes, *_missing_notes(series)]
    frame, names = _cards(frame, series, notes)
    clock, t_s = _clock(frame, series, segment)
    row = ticks(frame["device"], t_s)
    metrics = [c for c in frame.get_columns() if c.name not in ("t_s", "line", "device")]
    frame = pl.DataFrame([t_s.alias("t_s"), row, frame["line"], frame["device"], *metrics])
    if series.headers > 1:
        notes.append(f"header printed {series.headers} times")
    return Capture(
        kind="gpu",
        format="nvidia_smi_csv",
        source=segment.source,
        frame=frame,
        devices=[Device(name, index=i, source=segment.source.path) for i, name in sorted(names.items())],
        clock=clock,
        dialect="csv" if series.headers else "csv,noheader",
        segment=segment.number,
        notes=notes,
    )


def _join_flags(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    groups: dict[str, list[str]] = {}
    for name in frame.columns:
        if "@" in name:
            groups.setdefault(name.split("@")[0], []).append(name)
    if not groups:
        return frame
    joined = [pl.max_horizontal(columns).alias(metric) for metric, columns in groups.items()]
    return frame.with_columns(joined).drop([c for columns in groups.values() for c in columns])


def _missing_notes(series: Series) -> list[str]:
    label = {TIME: "timestamp"}
    return [
        f"{count} x {token or 'empty'} in {label.get(metric, metric)}"
        for (metric, token), count in sorted(series.missing.items())
    ]


def _cards(frame: pl.DataFrame, series: Series, notes: list[str]) -> tuple[pl.DataFrame, dict[int, str]]:
    """Add or fill ``device`` and name the cards."""
    import polars as pl

    if "device" in frame.columns:
        return frame, {int(k): v for k, v in series.names.items() if is_whole(k)}
    if IDENTITY in frame.columns:
        ids = frame[IDENTITY].unique(maintain_order=True).drop_nulls().to_list()
        by_name = all(i == series.names.get(i) for i in ids)
        if len(ids) > 1 or not by_name:
            number = pl.col(IDENTITY).replace_strict(ids, list(range(len(ids))), return_dtype=pl.Int32)
            frame = frame.with_columns(device=number).drop(IDENTITY)
            return frame, {i: series.names[x] for i, x in enumerate(ids) if x in series.names}
        frame = frame.drop(IDENTITY)
    count, how = _unlabelled(frame)
    order = pl.int_range(0, len(frame), dtype=pl.Int32, eager=True) % count
    if count > 1:
        notes.append(f"no index column: {count} cards told apart by {how}")
    only = next(iter(series.names.values()), None)
    return frame.with_columns(device=order), dict.fromkeys(range(count), only) if only else {}


def _unlabelled(frame: pl.DataFrame) -> tuple[int, str]:
    import polars as pl

    if "t_s" in frame.columns:
        return cards_by_gaps((frame["t_s"] * 1000).round().cast(pl.Int64)), "gaps between stamps"
    return cards_by_levels(frame), "their interleaved levels"


def _clock(frame: pl.DataFrame, series: Series, segment: Segment) -> tuple[Clock, pl.Series]:
    """Clock and ``t_s`` of the rows: their own stamps, else the wrapper's, else the interval asked for, else none."""
    import polars as pl

    if series.zero_ms is not None:
        zero = series.zero_ms / 1000
        clock = Clock("absolute", first_epoch_s=zero, resolution_s=0.001, interval_s=segment.interval_s)
        zone = _outer_zone(segment, frame, zero)
        if zone is not None:
            clock.zone, clock.anchor = zone
        return clock, frame["t_s"]
    outer = wrapper_times(segment, frame["line"].to_list()) if segment.stamps is not None else None
    if outer is not None:
        return outer[0], pl.Series(outer[1], dtype=pl.Float64)
    clock = Clock("interval" if segment.interval_s else "none", interval_s=segment.interval_s)
    return clock, pl.repeat(None, frame.height, dtype=pl.Float64, eager=True)


def _outer_zone(segment: Segment, frame: pl.DataFrame, first: float) -> tuple[str, str] | None:
    """Zone of unmarked stamps from a wrapper's stamp with a zone on the same line: the nearest quarter hour."""
    outer = segment.stamp_clock
    if outer is None or outer.kind != "absolute" or outer.zone is None:
        return None
    stamp = segment.stamp(int(frame["line"][0]))
    if stamp is None:
        return None
    quarters = round((first - stamp) / 900)
    # A wrapper reads the line at once; more than a minute off a quarter hour is another clock.
    if abs(first - stamp - quarters * 900) > 60 or abs(quarters) > 56:
        return None
    if quarters == 0 and outer.zone == "UTC":
        return "UTC", "zone of the wrapper's stamp"
    sign, minutes = ("-" if quarters < 0 else "+"), abs(quarters) * 15
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}", "zone of the wrapper's stamp"


def ticks(device: pl.Series, t_s: pl.Series) -> pl.Series:
    """0-based tick of each row: another begins when the card number does not rise, or after half an interval."""
    import polars as pl

    if device.min() == device.max() and device.null_count() in (0, len(device)):
        return pl.int_range(0, len(device), dtype=pl.UInt32, eager=True).alias("row")
    begins = (device <= device.shift(1)).fill_null(False)
    if t_s.null_count() == 0:
        steps = t_s.filter(device == device.drop_nulls()[0]).diff().drop_nulls()
        typical = steps.median()
        if isinstance(typical, float) and typical > 0:
            begins = begins | (t_s.diff() > typical / 2).fill_null(False)
    return begins.cum_sum().cast(pl.UInt32).alias("row")

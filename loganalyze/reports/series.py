"""Telemetry of a run as few enough points to draw, on the common axis, with every extreme kept.

Down-sampling keeps the lowest and the highest value of each slice of the axis, so a spike of one sample stays at its
place and height whatever the number of samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loganalyze.model.records import Capture, Clock, Run

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Rows worked on at a time, and samples held before they are folded into slices of the axis.
SLICE, FOLD = 1 << 18, 1 << 18
BINS = 900
"""Slices of the axis: one a pixel of the drawn panel, which is about 830 px wide."""


@dataclass(slots=True)
class Series:
    """One metric of one device. ``lo`` and ``hi`` are equal where a slice holds one sample; NaN breaks the line."""

    metric: str
    device: int | None
    t: Floats
    lo: Floats
    hi: Floats
    samples: int

    @property
    def peak(self) -> float:
        """Highest value, 0 when there is none."""
        return float(np.nanmax(self.hi)) if len(self.hi) and not np.isnan(self.hi).all() else 0.0

    @property
    def level(self) -> float:
        """Last known value; meant for limits, which do not move."""
        known = self.hi[~np.isnan(self.hi)]
        return float(known[-1]) if len(known) else 0.0


class Envelope:
    """Samples within ``t0..t1``, few as they are, many as the lowest and the highest value of each slice of the axis."""

    def __init__(self, t0: float, t1: float, bins: int = BINS) -> None:
        self._ends, self._bins = (t0, t1), bins
        self._pieces: list[tuple[Floats, Floats]] = []
        self._held = 0
        self._folded: tuple[Floats, Floats] | None = None
        self.samples = 0

    def add(self, t: Floats, v: Floats) -> None:
        """Take samples in any order; unknown values are left out."""
        self.samples += len(t)
        keep = ~np.isnan(v) & (t >= self._ends[0]) & (t <= self._ends[1])
        if not keep.all():
            t, v = t[keep], v[keep]
        self._pieces.append((t, v))
        self._held += len(t)
        if self._held > FOLD:
            self._fold()

    def _joined(self) -> tuple[Floats, Floats]:
        """What is held, by time."""
        t, v = (np.concatenate([piece[i] for piece in self._pieces]) for i in (0, 1))
        if (np.diff(t) < 0).any():
            order = np.argsort(t, kind="stable")
            t, v = t[order], v[order]
        return t, v

    def _fold(self) -> None:
        if self._folded is None:
            self._folded = (np.full(self._bins, np.inf), np.full(self._bins, -np.inf))
        t, v = self._joined()
        self._pieces, self._held = [], 0
        at = np.searchsorted(t, np.linspace(*self._ends, self._bins + 1))
        at[-1] = len(t)
        filled = np.flatnonzero(at[1:] > at[:-1])
        if len(filled):
            lo, hi = self._folded
            lo[filled] = np.minimum(lo[filled], np.minimum.reduceat(v, at[filled]))
            hi[filled] = np.maximum(hi[filled], np.maximum.reduceat(v, at[filled]))

    def points(self) -> tuple[Floats, Floats, Floats]:
        """``(t, lo, hi)``, at most ``2 * bins`` of them.

        Slices without samples are left out, and a NaN is put into gaps of more than five usual distances, so that a
        pause in recording is not drawn as a line.
        """
        if not self._pieces and self._folded is None:
            nothing = np.empty(0)
            return nothing, nothing, nothing
        if self._folded is None and self._held <= 2 * self._bins:
            t, v = self._joined()
            return _gaps(t, v, v)
        if self._pieces:
            self._fold()
        assert self._folded is not None
        lo, hi = self._folded
        edges = np.linspace(*self._ends, self._bins + 1)
        filled = lo <= hi
        return _gaps(((edges[1:] + edges[:-1]) / 2)[filled], lo[filled], hi[filled])


def envelope(t: Floats, v: Floats, t0: float, t1: float, bins: int = BINS) -> tuple[Floats, Floats, Floats]:
    """Points of an ``Envelope`` of these samples."""
    found = Envelope(t0, t1, bins)
    found.add(t, v)
    return found.points()


def placed(clock: Clock, origin: float | None) -> float | None:
    """Seconds to add to a source's own times to get seconds since ``origin``; None when it cannot be placed."""
    if clock.offset_s is None:
        return 0.0 if origin is None else None
    return clock.offset_s - (origin or 0.0)


def telemetry(run: Run, metrics: Iterable[str], origin: float | None, t0: float, t1: float) -> dict[str, list[Series]]:
    """Series of each metric that was captured, one a device, from the capture whose clock is known best."""
    out: dict[str, list[Series]] = {}
    for metric in metrics:
        holders = [c for c in run.captures if _holds(c, metric) and placed(c.clock, origin) is not None]
        if not holders:
            continue
        best = min(holders, key=lambda c: (c.clock.error_s is None, c.clock.error_s or 0.0))
        same = [c for c in holders if c.source is best.source]
        found = _series(same, metric, origin, t0, t1)
        if found:
            out[metric] = found
    return out


def span(run: Run, origin: float | None) -> tuple[float, float] | None:
    """First and last second of the run's captures on the axis, None without placed captures."""
    ends = []
    for capture in run.captures:
        shift = placed(capture.clock, origin)
        if shift is None or capture.frame is None or capture.frame.is_empty():
            continue
        for rows in _slices(capture):
            times = _times(capture, rows)
            known = times[~np.isnan(times)]
            if len(known):
                ends += [float(known.min()) + shift, float(known.max()) + shift]
    return (min(ends), max(ends)) if ends else None


def _holds(capture: Capture, metric: str) -> bool:
    frame = capture.frame
    if capture.kind not in ("gpu", "host") or frame is None or metric not in frame.columns:
        return False
    return frame[metric].null_count() < frame.height


def _series(captures: list[Capture], metric: str, origin: float | None, t0: float, t1: float) -> list[Series]:
    found: dict[int | None, Envelope] = {}
    for capture in captures:
        shift = placed(capture.clock, origin) or 0.0
        for number, rows in enumerate(_slices(capture)):
            times, values = _times(capture, rows) + shift, _column(rows, metric)
            good = ~np.isnan(times)
            if capture.first_row_since_boot and not number:
                good[:1] = False
            for device, chosen in _devices(rows):
                mine = good if chosen is None else good & chosen
                found.setdefault(device, Envelope(t0, t1)).add(times[mine], values[mine])
    out = []
    for device, envelope_of in sorted(found.items(), key=lambda item: (item[0] is None, item[0] or 0)):
        at, lo, hi = envelope_of.points()
        if len(at):
            out.append(Series(metric, device, at, lo, hi, envelope_of.samples))
    return out


def _slices(capture: Capture) -> Iterator[pl.DataFrame]:
    """The rows of a capture, not too many at a time: curves are drawn one by one, in 64-bit floats."""
    assert capture.frame is not None
    return capture.frame.iter_slices(SLICE)


def _devices(rows: pl.DataFrame) -> list[tuple[int | None, NDArray[np.bool_] | None]]:
    if "device" not in rows.columns:
        return [(None, None)]
    column = rows["device"].fill_null(0)
    found = column.unique().sort().to_list()
    if len(found) == 1:
        return [(int(found[0]), None)]
    return [(int(device), (column == device).to_numpy()) for device in found]


def _times(capture: Capture, rows: pl.DataFrame) -> Floats:
    """Seconds of ``rows`` on the capture's own clock: stamps, else row number times the interval."""
    whole = capture.frame
    assert whole is not None
    if "t_s" in whole.columns and whole["t_s"].null_count() < whole.height:
        return _column(rows, "t_s")
    if capture.clock.interval_s is None or "row" not in whole.columns:
        return np.full(rows.height, np.nan)
    return _column(rows, "row") * capture.clock.interval_s


def _column(rows: pl.DataFrame, name: str) -> Floats:
    import polars as pl

    values = rows[name].cast(pl.Float64, strict=False).to_numpy()
    return np.where(np.isfinite(values), values, np.nan)


def _gaps(t: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats, Floats]:
    if len(t) < 3:
        return t, lo, hi
    steps = np.diff(t)
    forward = steps[steps > 0]  # stamps of whole seconds repeat when samples come faster
    wide = np.flatnonzero(steps > (5 * float(np.median(forward)) if len(forward) else np.inf)) + 1
    if not len(wide):
        return t, lo, hi
    middle = (t[wide - 1] + t[wide]) / 2
    nan = np.full(len(wide), np.nan)
    return np.insert(t, wide, middle), np.insert(lo, wide, nan), np.insert(hi, wide, nan)  # type: ignore[arg-type,unused-ignore]

"""Telemetry of a run as few enough points to draw, on the common axis, with every extreme kept.

Down-sampling keeps the lowest and the highest value of each slice of the axis, so a spike of one sample stays at its
place and height whatever the number of samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loganalyze.model.records import Capture, Clock, Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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
        import numpy as np

        return float(np.nanmax(self.hi)) if len(self.hi) and not np.isnan(self.hi).all() else 0.0

    @property
    def level(self) -> float:
        """Last known value; meant for limits, which do not move."""
        import numpy as np

        known = self.hi[~np.isnan(self.hi)]
        return float(known[-1]) if len(known) else 0.0


def envelope(t: Floats, v: Floats, t0: float, t1: float, bins: int = BINS) -> tuple[Floats, Floats, Floats]:
    """``(t, lo, hi)`` of the samples within ``t0..t1``. ``t`` ascends. At most ``2 * bins`` points come back.

    Few samples come back as they are. Slices without samples are left out, and a NaN is put into gaps of more than
    five usual distances, so that a pause in recording is not drawn as a line.
    """
    import numpy as np

    first, last = np.searchsorted(t, t0, side="left"), np.searchsorted(t, t1, side="right")
    t, v = t[first:last], v[first:last]
    known = ~np.isnan(v)
    if not known.all():
        t, v = t[known], v[known]
    if len(t) <= 2 * bins:
        return _gaps(t, v, v)
    edges = np.linspace(t0, t1, bins + 1)
    at = np.searchsorted(t, edges)
    at[-1] = len(t)
    filled = at[1:] > at[:-1]
    starts = at[:-1][filled]
    centres = ((edges[1:] + edges[:-1]) / 2)[filled]
    return _gaps(centres, np.minimum.reduceat(v, starts), np.maximum.reduceat(v, starts))


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
        times = _times(capture)
        if len(times):
            ends += [float(times.min()) + shift, float(times.max()) + shift]
    return (min(ends), max(ends)) if ends else None


def _holds(capture: Capture, metric: str) -> bool:
    frame = capture.frame
    if capture.kind not in ("gpu", "host") or frame is None or metric not in frame.columns:
        return False
    return frame[metric].null_count() < frame.height


def _series(captures: list[Capture], metric: str, origin: float | None, t0: float, t1: float) -> list[Series]:
    import numpy as np

    parts: dict[int | None, list[tuple[Floats, Floats]]] = {}
    for capture in captures:
        assert capture.frame is not None
        shift = placed(capture.clock, origin) or 0.0
        times, values = _times(capture) + shift, _column(capture, metric)
        for device, chosen in _devices(capture):
            t, v = (times, values) if chosen is None else (times[chosen], values[chosen])
            good = ~np.isnan(t)
            if capture.first_row_since_boot and len(good):
                good[0] = False
            parts.setdefault(device, []).append((t[good], v[good]))
    out = []
    for device, pieces in sorted(parts.items(), key=lambda item: (item[0] is None, item[0] or 0)):
        t, v = np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])
        if len(t) > 1 and (np.diff(t) < 0).any():
            order = np.argsort(t, kind="stable")
            t, v = t[order], v[order]
        at, lo, hi = envelope(t, v, t0, t1)
        if len(at):
            out.append(Series(metric, device, at, lo, hi, len(t)))
    return out


def _devices(capture: Capture) -> list[tuple[int | None, NDArray[np.bool_] | None]]:
    import numpy as np

    assert capture.frame is not None
    if "device" not in capture.frame.columns:
        return [(None, None)]
    column = capture.frame["device"].fill_null(0).to_numpy()
    found = np.unique(column)
    if len(found) == 1:
        return [(int(found[0]), None)]
    return [(int(device), column == device) for device in found]


def _times(capture: Capture) -> Floats:
    """Seconds on the capture's own clock: its stamps, else row number times the interval."""
    import numpy as np

    frame = capture.frame
    assert frame is not None
    if "t_s" in frame.columns and frame["t_s"].null_count() < frame.height:
        return _column(capture, "t_s")
    if capture.clock.interval_s is None or "row" not in frame.columns:
        return np.full(frame.height, np.nan)
    return _column(capture, "row") * capture.clock.interval_s


def _column(capture: Capture, name: str) -> Floats:
    import numpy as np
    import polars as pl

    assert capture.frame is not None
    values = capture.frame[name].cast(pl.Float64, strict=False).to_numpy()
    return np.where(np.isfinite(values), values, np.nan)


def _gaps(t: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats, Floats]:
    import numpy as np

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

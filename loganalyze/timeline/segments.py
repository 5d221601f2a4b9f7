"""Stamps that do not run forward: captures are cut where a clock went back or jumped, and it is said.

Rows keep their order and none is lost: each ends up in one segment. Stamps so shuffled that cutting would leave crumbs
are sorted by time instead.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from loganalyze.light import replace
from loganalyze.model.records import Capture

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

# More cuts than this in one capture are disorder, not a clock that was set.
MAX_CUTS = 12
HOUR_S = 3600.0
# A pause of this many intervals, and of this many seconds, is no slow sample.
GAP_INTERVALS, GAP_S = 20.0, 60.0
SLICE = 1 << 18


def split(capture: Capture) -> list[Capture]:
    """``capture`` itself, or its parts when its stamps run backwards or jump; ``clock.notes`` of each part says why."""
    import numpy as np

    frame = capture.frame
    if frame is None or frame.height < 2 or capture.clock.kind == "none":
        return [capture]
    times = frame["t_s"].cast(float).to_numpy()
    if not np.isfinite(times).any():
        return [capture]
    filled = _filled(times)
    tolerance = max(capture.clock.resolution_s or 0.0, 0.05)
    back, longest = _steps(filled, tolerance)
    if len(back) > MAX_CUTS:
        return [_sorted(capture, filled, len(back))]
    jumps = _gaps(filled, frame["row"].cast(float).to_numpy()) if longest > GAP_S else back[:0]
    cuts = sorted({int(i) for i in back} | {int(i) for i in jumps[:MAX_CUTS]})
    return _parts(capture, filled, cuts) if cuts else [capture]


def _steps(times: Array, tolerance: float) -> tuple[Array, float]:
    """Positions of stamps that lie before their forerunner, and the longest step; in slices, for captures are long."""
    import numpy as np

    found, longest = [], 0.0
    for begin in range(0, len(times) - 1, SLICE):
        step = np.diff(times[begin : begin + SLICE + 1])
        found.append(np.flatnonzero(step < -tolerance) + begin + 1)
        longest = max(longest, float(step.max()))
    return np.concatenate(found), longest


def _filled(times: Array) -> Array:
    """Times with unknown ones replaced by the last known (the first known in front)."""
    import numpy as np

    known = np.isfinite(times)
    if known.all():
        return times
    index = np.where(known, np.arange(len(times)), -1)
    index = np.maximum.accumulate(index)
    index[index < 0] = int(np.argmax(known))
    return np.asarray(times[index])


def _gaps(times: Array, rows: Array) -> Array:
    """Positions after a pause that is far longer than the usual step between ticks."""
    import numpy as np

    step = np.diff(times)
    ticks = np.maximum(np.diff(rows), 1.0)
    forward = step[(step > 0) & (np.diff(rows) != 0)]
    if len(forward) < 3:
        return np.array([], dtype=int)
    usual = float(np.median(forward))
    return np.flatnonzero(step / ticks > max(GAP_INTERVALS * usual, GAP_S)) + 1


def _sorted(capture: Capture, times: Array, cuts: int) -> Capture:
    import numpy as np
    import polars as pl

    assert capture.frame is not None
    order = np.argsort(times, kind="stable")
    first = float(times[order[0]])
    frame = capture.frame[order].with_columns(t_s=pl.col("t_s").cast(pl.Float64) - first)
    capture.frame = frame
    if capture.clock.first_epoch_s is not None:
        capture.clock.first_epoch_s += first
    capture.clock.notes.append(f"stamps run backwards {cuts} times: rows were sorted by time")
    return capture


def _parts(capture: Capture, times: Array, cuts: list[int]) -> list[Capture]:
    edges = [0, *cuts, len(times)]
    parts = []
    summer_time = 0.0
    for number, (begin, end) in enumerate(pairwise(edges)):
        note = None
        if number:
            step = float(times[begin] - times[begin - 1])
            note, shift = _reason(step, capture, begin)
            summer_time += shift
        parts.append(_part(capture, begin, end, float(times[begin]), number, note, summer_time))
    return parts


def _reason(step: float, capture: Capture, begin: int) -> tuple[str, float]:
    """Words for a jump of ``step`` seconds, and what to add to later stamps so that time goes on."""
    assert capture.frame is not None
    line = capture.frame["line"][begin] if "line" in capture.frame.columns else begin
    local = capture.clock.kind == "absolute" and capture.clock.zone is None
    if local and -HOUR_S - 1 <= step <= -HOUR_S + 120:
        return f"line {line}: the clock went back by an hour, taken as the end of summer time", HOUR_S
    if step < 0:
        return f"line {line}: the clock went back by {-step:.3g} s; a new segment begins", 0.0
    if local and HOUR_S <= step <= HOUR_S + 120:
        return f"line {line}: the clock went on by an hour: a pause, or the start of summer time", 0.0
    return f"line {line}: a gap of {step:.3g} s (suspended, or the capture was stopped); a new segment begins", 0.0


def _part(capture: Capture, begin: int, end: int, first: float, number: int, note: str | None, shift: float) -> Capture:
    import polars as pl

    assert capture.frame is not None
    clock = copy(capture.clock)
    clock.notes = [*capture.clock.notes, *([note] if note else [])]
    if clock.first_epoch_s is not None:
        clock.first_epoch_s += first + shift
    elif clock.kind == "relative":
        first = 0.0
    frame = capture.frame.slice(begin, end - begin).with_columns(t_s=pl.col("t_s").cast(pl.Float64) - first)
    part = replace(capture, frame=frame, clock=clock, segment=capture.segment + number, notes=list(capture.notes))
    part.first_row_since_boot = capture.first_row_since_boot and number == 0
    return part

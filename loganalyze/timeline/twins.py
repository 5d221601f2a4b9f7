"""Captures of the same thing, one with stamps and one without: their curves are the same, so one places the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loganalyze.model.records import Capture
from loganalyze.timeline.clocks import settle

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

# Curves of one thing agree to this correlation when they are laid right.
LEAST = 0.9
# A place must beat those further than two rows away by this much.
LEAD = 0.05


def place_by_twin(loose: list[Capture], placed: list[Capture]) -> list[Capture]:
    """Place captures by a stamped capture of the same metric; returns those that could not be."""
    return [capture for capture in loose if not any(_place(capture, other) for other in placed)]


def _place(capture: Capture, other: Capture) -> bool:
    import numpy as np

    from loganalyze.timeline.curves import curves
    from loganalyze.timeline.place import interval_of

    step = interval_of(capture)
    mine = {c.kind.name: c for c in curves(capture, step)}
    theirs = {c.kind.name: c for c in curves(other, interval_of(other))}
    for name in mine.keys() & theirs.keys():
        a, b = mine[name], theirs[name]
        if len(a.t) < 8 or len(b.t) < 8:
            continue
        offsets = np.arange(b.t[0] - a.t[-1], b.t[-1] - a.t[0], max(step / 4, (b.t[-1] + a.t[-1]) / 4000))
        if len(offsets) < 2:
            continue
        score = np.array([_correlation(a.t + o, a.y, b.t, b.y) for o in offsets])
        best = int(np.argmax(score))
        far = np.abs(offsets - offsets[best]) > 2 * step
        if score[best] < LEAST or (far.any() and score[far].max() > score[best] - LEAD):
            continue
        assert other.clock.offset_s is not None
        name_of_other = other.source.path.replace("\\", "/").rsplit("/", 1)[-1]
        if capture.clock.interval_s is None:
            capture.clock.interval_s, capture.clock.kind = step, "interval"
            capture.clock.notes.append(f"the interval is not stated: {step:g} s assumed")
        error = step + (other.clock.error_s or 0.0)
        settle(capture.clock, other.clock.offset_s + float(offsets[best]), f"same curve as {name_of_other}", error)
        return True
    return False


def _correlation(t: Array, y: Array, other_t: Array, other_y: Array) -> float:
    """Correlation over the time that both cover; 0 when that is less than half of the shorter."""
    import numpy as np

    inside = (t >= other_t[0]) & (t <= other_t[-1])
    if inside.sum() < max(6, min(len(t), len(other_t)) // 2):
        return 0.0
    a, b = y[inside], np.interp(t[inside], other_t, other_y)
    if a.std() < 0.05 or b.std() < 0.05:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])

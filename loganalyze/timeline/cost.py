"""Costs of offsets between a run's shape and the curves of a capture.

Zones are constant, so running sums per level make the cost of an offset a matter of a few look-ups, whatever the number
of rows: all rows at the level of the last zone, and for each bound between two zones what the rows in front of it change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from loganalyze.timeline.curves import Curve
from loganalyze.timeline.shape import Level, Shape, Zone, lingering

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

# Nats against a process that outlives a log which does not tell its end.
LINGERS = 3.0
# Nats more against a place where rows see nothing of the run but its lingering, which explains anything.
UNSEEN = 15.0
# Parts of the distance of offsets to which bounds are rounded for a rough cost.
RASTER = 4


@dataclass(slots=True)
class Change:
    """Bounds between the same two levels, and what such a bound adds by the number of rows in front of it."""

    bounds: Array
    adds: Array


@dataclass(slots=True)
class Terms:
    """Changes of one curve: ``shared`` by both readings of the run's end, and those of each with its constant."""

    curve: Curve
    shared: list[Change]
    ended: tuple[list[Change], float]
    stayed: tuple[list[Change], float] | None


class Costs:
    """Cost of each offset: log time = curve time + offset.

    Where nothing says that the process ended with its log, each offset counts the better of both readings.
    """

    def __init__(self, curves: list[Curve], shape: Shape) -> None:
        self._shape = shape
        self._begin = min(float(c.t[0]) for c in curves)
        self._end = max(float(c.t[-1]) for c in curves)
        self._terms = [_terms(curve, shape) for curve in curves]

    def __call__(self, offsets: Array, *, roughly: bool = False) -> Array:
        """Costs. ``roughly``: of equally spaced offsets, good to a fraction of their distance, at a part of the work."""
        import numpy as np

        sums = _rough_sums if roughly else _sums
        ended, stayed = np.zeros(len(offsets)), np.zeros(len(offsets))
        for terms in self._terms:
            curve = terms.curve
            shared = sums(curve, terms.shared, offsets)
            ended += curve.weight * (shared + sums(curve, terms.ended[0], offsets) + terms.ended[1])
            if terms.stayed is not None:
                stayed += curve.weight * (shared + sums(curve, terms.stayed[0], offsets) + terms.stayed[1])
        if self._shape.ended:
            return ended
        return np.minimum(ended, stayed + LINGERS + UNSEEN * self.uncovered(offsets))

    def uncovered(self, offsets: Array) -> Array:
        """0 where the rows see as much of the run as they can, 1 where they see nothing of it."""
        import numpy as np

        shape, begin, end = self._shape, self._begin, self._end
        seen = np.minimum(end + offsets, shape.end) - np.maximum(begin + offsets, shape.start)
        most = max(min(end - begin, shape.end - shape.start), 1e-3)
        return np.asarray(1.0 - np.clip(seen / most, 0.0, 1.0))


def _terms(curve: Curve, shape: Shape) -> Terms:
    zones = _ordered(curve.kind.zones(shape, curve.window, curve.slack))
    if shape.ended:
        return Terms(curve, [], (_changes(curve, zones), _whole(curve, zones)), None)
    other = _ordered(curve.kind.zones(lingering(shape), curve.window, curve.slack))
    common = next((i for i, (a, b) in enumerate(zip(zones, other, strict=False)) if a != b), len(zones))
    return Terms(
        curve,
        _changes(curve, zones[:common]),
        (_changes(curve, zones[common - 1 :]), _whole(curve, zones)),
        (_changes(curve, other[common - 1 :]), _whole(curve, other)),
    )


def _ordered(zones: list[Zone]) -> list[Zone]:
    """Zones with ascending starts; one that starts before its forerunner is cut to nothing."""
    ordered: list[Zone] = []
    reached = float("-inf")
    for start, level in zones:
        reached = max(start, reached)
        ordered.append((reached, level))
    return ordered


def _changes(curve: Curve, zones: list[Zone]) -> list[Change]:
    import numpy as np

    found: dict[tuple[int, int], tuple[Level, Level, list[float]]] = {}
    for (_, before), (start, after) in pairwise(zones):
        if before is not after:
            found.setdefault((id(before), id(after)), (before, after, []))[2].append(start)
    return [Change(np.array(at), _running_sum(curve, a) - _running_sum(curve, b)) for a, b, at in found.values()]


def _whole(curve: Curve, zones: list[Zone]) -> float:
    """All rows at the level of the last zone."""
    return float(_running_sum(curve, zones[-1][1])[-1])


def _running_sum(curve: Curve, level: Level) -> Array:
    import numpy as np

    if level in curve.sums:
        return curve.sums[level]
    away = np.maximum(level.lo - curve.y, curve.y - level.hi).clip(0.0)
    cost = np.minimum(0.5 * (away / max(level.sigma, curve.sigma)) ** 2, level.cap) + level.base
    curve.sums[level] = np.concatenate([[0.0], np.cumsum(cost)])
    return curve.sums[level]


def _sums(curve: Curve, changes: list[Change], offsets: Array) -> Array:
    """What ``changes`` add at each offset."""
    import numpy as np

    total = np.zeros(len(offsets))
    for change in changes:
        total += change.adds.take(curve.index(change.bounds, offsets), mode="clip").sum(axis=0)
    return total


def _rough_sums(curve: Curve, changes: list[Change], offsets: Array) -> Array:
    """``_sums`` with every bound moved to the next mark of a raster, so that rows are looked up once for all of them.

    ``offsets`` ascend by equal steps.
    """
    import numpy as np

    total = np.zeros(len(offsets))
    if not changes:
        return total
    width = (offsets[-1] - offsets[0]) / (len(offsets) - 1) / RASTER
    low, high = min(float(c.bounds.min()) for c in changes), max(float(c.bounds.max()) for c in changes)
    stretch = RASTER * (len(offsets) - 1) + 1
    marks = low + width * np.arange(stretch + int((high - low) / width) + 1)
    rows = curve.index(marks, offsets[-1:])[:, 0]
    for change in changes:
        adds = change.adds.take(rows, mode="clip")
        for at in np.rint((change.bounds - low) / width).astype(int).tolist():
            total += adds[at : at + stretch : RASTER]
    return total[::-1]

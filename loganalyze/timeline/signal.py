"""Alignment by the signal itself: slide a run's shape along a capture's curves and weigh every offset.

The cost of an offset is the negative log likelihood of all rows under the zones they fall in. Zones are constant, so
running sums per level make the cost of an offset a matter of a few look-ups, whatever the number of rows. The answer
is the mean of the resulting distribution, its error covers 98 % of it, and a distribution that is too wide or has
another peak is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loganalyze.timeline.curves import Curve
from loganalyze.timeline.shape import Level, Shape, Zone, lingering

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

# Rows of one curve are not independent, so the sum of their log likelihoods overstates what they know.
TEMPER = 0.7
# Offsets tried at first, and offsets looked at closely.
COARSE, FINE = 5000, 3000
# Coarse offsets that are looked at closely in any case: between two of them the best may hide.
KEPT = 40
# Nothing here samples more often.
LEAST_STEP_S = 1e-3
# What is this much less likely than the best (in nats) is left out.
DEPTH = 12.0
# Nats against a place at which the capture shows nothing of the run it was given with.
UNCOVERED = 5.0
# Nats against what cannot be.
NEVER = 1e4
# A place must explain this share of what any place leaves unexplained, unless that is next to nothing.
EXPLAINED, NOTHING = 0.5, 3.0
# The most that an expected offset (file times) counts.
PRIOR = 4.0
# Nats against a process that outlives a log which does not tell its end.
LINGERS = 3.0
# Nats more against a place where rows see nothing of the run but its lingering, which explains anything.
UNSEEN = 15.0
# Places whose costs differ by less are those of like runs in a row.
ALIKE = 4.0
# Captures of the same length begin within this share of an interval of each other, or (floor of the weight) do not.
TOGETHER, APART = 0.35, 0.02


@dataclass(slots=True)
class Fit:
    """Place of the curves' zero on the run's clock: ``offset_s`` +- ``error_s``; ``refused`` says why there is none."""

    offset_s: float | None = None
    error_s: float | None = None
    refused: str | None = None
    names: list[str] = field(default_factory=list)
    cost: float = 0.0
    """Cost of the best offset, in nats: what of the curves it leaves unexplained."""
    offsets: Array | None = None
    weights: Array | None = None


def costs(curves: list[Curve], shape: Shape, offsets: Array) -> Array:
    """Cost of each offset: log time = curve time + offset.

    Where nothing says that the process ended with its log, each offset counts the better of both readings.
    """
    import numpy as np

    total = _sum_of_costs(curves, shape, offsets)
    if shape.ended:
        return total
    stayed = _sum_of_costs(curves, lingering(shape), offsets) + LINGERS
    return np.minimum(total, stayed + UNSEEN * _uncovered(curves, shape, offsets))


def _uncovered(curves: list[Curve], shape: Shape, offsets: Array) -> Array:
    """0 where the rows see as much of the run as they can, 1 where they see nothing of it."""
    import numpy as np

    begin, end = min(float(c.t[0]) for c in curves), max(float(c.t[-1]) for c in curves)
    seen = np.minimum(end + offsets, shape.end) - np.maximum(begin + offsets, shape.start)
    most = max(min(end - begin, shape.end - shape.start), 1e-3)
    return np.asarray(1.0 - np.clip(seen / most, 0.0, 1.0))


def _sum_of_costs(curves: list[Curve], shape: Shape, offsets: Array) -> Array:
    import numpy as np

    total = np.zeros(len(offsets))
    for curve in curves:
        zones = _ordered(curve.kind.zones(shape, curve.window, curve.slack))
        total += curve.weight * _curve_costs(curve, zones, offsets)
    return total


def _ordered(zones: list[Zone]) -> list[Zone]:
    """Zones with ascending starts; one that starts before its forerunner is cut to nothing."""
    ordered: list[Zone] = []
    reached = float("-inf")
    for start, level in zones:
        reached = max(start, reached)
        ordered.append((reached, level))
    return ordered


def _curve_costs(curve: Curve, zones: list[Zone], offsets: Array) -> Array:
    import numpy as np

    sums = {level: _running_sum(curve, level) for level in {level for _, level in zones}}
    bounds = np.array([start for start, _ in zones])
    first = np.searchsorted(curve.t, bounds[:, None] - offsets[None, :], side="left")
    last = np.vstack([first[1:], np.full((1, len(offsets)), len(curve.t))])
    total = np.zeros(len(offsets))
    for i, (_, level) in enumerate(zones):
        total += sums[level][last[i]] - sums[level][first[i]]
    return total


def _running_sum(curve: Curve, level: Level) -> Array:
    import numpy as np

    away = np.maximum(level.lo - curve.y, curve.y - level.hi).clip(0.0)
    cost = np.minimum(0.5 * (away / max(level.sigma, curve.sigma)) ** 2, level.cap) + level.base
    return np.concatenate([[0.0], np.cumsum(cost)])


def fit(
    curves: list[Curve],
    shape: Shape,
    step_s: float,
    prior: tuple[float, float] | None = None,
    earliest_s: float | None = None,
    around: tuple[float, float] | None = None,
) -> Fit:
    """Place ``curves`` on the clock of ``shape``.

    ``step_s`` is the sample interval, which bounds what can be told. ``prior`` is an expected offset and its spread,
    where another clock tells one. ``earliest_s``: the run starts no earlier than this on the clock of the curves; of
    several places that fit, the first is then meant. ``around``: an offset and how far from it to look.
    """
    import numpy as np

    if not curves:
        return Fit(refused="its curves show no change")
    step_s = max(step_s, LEAST_STEP_S)
    low = min(shape.start, 0.0) - max(float(c.t[-1]) for c in curves) - step_s
    high = max(shape.gone, shape.end) - min(float(c.t[0]) for c in curves) + step_s
    if around is not None:
        low, high = max(low, around[0] - around[1]), min(high, around[0] + around[1])
    if not (np.isfinite(low) and np.isfinite(high)):
        return Fit(refused="its times are not numbers")
    coarse = np.linspace(low, high, max(16, min(COARSE, int((high - low) / step_s * 3))))
    limit = None if earliest_s is None else shape.start - earliest_s + step_s / 2
    first = _weighed(curves, shape, coarse, prior, limit)
    grid = _finer(coarse, first)
    cost = _weighed(curves, shape, grid, prior, limit)
    if limit is not None:
        cost = _first_place(grid, cost, max(4 * step_s, 2.0))
    found = _answer(grid, cost, curves, step_s)
    usual = first[first < NEVER]
    if found.offset_s is not None and found.cost > NOTHING and found.cost > EXPLAINED * float(np.median(usual)):
        found.offset_s = found.error_s = None
        found.refused = "its curves do not look like the run anywhere"
    return found


def _first_place(grid: Array, cost: Array, apart_s: float) -> Array:
    """Of places that fit about as well, keep the earliest on the curves' clock, which is the highest offset."""
    import numpy as np

    good = np.sort(grid[cost <= cost.min() + ALIKE])[::-1]
    gaps = np.flatnonzero(good[:-1] - good[1:] > apart_s)
    last = good[gaps[0]] if len(gaps) else good[-1]
    return np.where(grid >= last - apart_s / 2, cost, cost + NEVER)


def _finer(coarse: Array, cost: Array) -> Array:
    """Offsets close to those that cost little."""
    import numpy as np

    width = float(coarse[1] - coarse[0])
    deep = np.sort(cost)[min(KEPT, len(cost) - 1)]
    near = coarse[cost <= max(float(cost.min()) + DEPTH, float(deep))]
    halves = np.round(np.concatenate([near, near - width / 2, near + width / 2]) / width * 2)
    seeds = np.unique(halves) * (width / 2)
    parts = max(1, min(12, FINE // max(1, len(seeds))))
    return np.asarray((seeds[:, None] + np.arange(parts)[None, :] * (width / 2 / parts)).ravel())


def _weighed(
    curves: list[Curve], shape: Shape, offsets: Array, prior: tuple[float, float] | None, limit: float | None
) -> Array:
    import numpy as np

    cost = TEMPER * costs(curves, shape, offsets)
    # Captures are mostly begun before the run and ended after it: what they leave out of it makes a place less likely.
    unseen = _uncovered(curves, shape, offsets)
    cost = cost + UNCOVERED * unseen + NEVER * (unseen > 0.85)
    if prior is not None:
        cost = cost + np.minimum(0.5 * ((offsets - prior[0]) / prior[1]) ** 2, PRIOR)
    if limit is not None:
        cost = cost + NEVER * (offsets > limit)
    return np.asarray(cost)


def _answer(grid: Array, cost: Array, curves: list[Curve], step_s: float) -> Fit:
    import numpy as np

    grid, unique = np.unique(grid, return_index=True)
    cost = cost[unique]
    # The grid is finer in some places than in others: each offset stands for the stretch up to its neighbours.
    share = np.gradient(grid) if len(grid) > 1 else np.ones(1)
    share = np.minimum(share, np.median(share) * 2)
    weight = np.exp(-(cost - cost.min())) * share
    names = list(dict.fromkeys(c.kind.name for c in curves))
    found = Fit(names=names, cost=float(cost.min()), offsets=grid, weights=weight)
    return _judged(found, step_s)


def _judged(found: Fit, step_s: float) -> Fit:
    """Mean and error of the distribution, or why it tells nothing."""
    import numpy as np

    assert found.offsets is not None
    assert found.weights is not None
    grid, weight = found.offsets, found.weights / found.weights.sum()
    reached = np.cumsum(weight)
    low = grid[int(np.searchsorted(reached, 0.01))]
    high = grid[min(int(np.searchsorted(reached, 0.99)), len(grid) - 1)]
    mean = float((grid * weight).sum())
    # Half the distance covers it only when the mean lies in the middle.
    error = max(float(high) - mean, mean - float(low))
    if error > max(2.0 * step_s, 2.0):
        found.refused = f"the match is not distinct: offsets from {low:.1f} to {high:.1f} s fit about as well"
        found.offset_s = found.error_s = None
    else:
        found.offset_s, found.error_s, found.refused = mean, error, None
    return found


def evidence(found: Fit) -> float:
    """Log of how well any place fits, which may be compared between intervals of the same capture."""
    if found.weights is None:
        return float("-inf")
    return float(-found.cost + _log(float(found.weights.sum())))


def _log(value: float) -> float:
    from math import log

    return log(value) if value > 0 else float("-inf")


def agree(own: Fit, others: list[Fit], known: list[float], step_s: float) -> Fit:
    """``own`` sharpened by captures that were begun and ended with it: ``others``, and ``known`` offsets.

    Each says where this capture begins, give or take TOGETHER of an interval, unless it was begun apart after all.
    """
    import numpy as np

    if own.offsets is None or own.weights is None:
        if not known:
            return own
        offsets = np.linspace(min(known) - 2 * step_s, max(known) + 2 * step_s, 400)
        own = Fit(refused=own.refused, names=["length of its neighbours"], offsets=offsets, weights=np.ones(400))
    assert own.offsets is not None
    assert own.weights is not None
    spread = TOGETHER * step_s
    weights = own.weights / own.weights.sum()
    for other in others:
        if other.offsets is not None and other.weights is not None:
            weights = weights * _smeared(own.offsets, other, spread)
    for offset in known:
        weights = weights * (APART + np.exp(-0.5 * ((own.offsets - offset) / spread) ** 2))
    names = own.names if own.refused is None else [*own.names, "captures of the same length"]
    merged = Fit(names=list(dict.fromkeys(names)), cost=own.cost, offsets=own.offsets, weights=weights)
    return _judged(merged, step_s)


def _smeared(at: Array, other: Fit, spread: float) -> Array:
    """Distribution of ``other`` blurred by ``spread``, read at the offsets ``at``."""
    import numpy as np

    assert other.offsets is not None
    assert other.weights is not None
    bins = np.linspace(other.offsets[0] - 4 * spread, other.offsets[-1] + 4 * spread, 800)
    mass, _ = np.histogram(other.offsets, bins=bins, weights=other.weights / other.weights.sum())
    centres = (bins[1:] + bins[:-1]) / 2
    width = float(centres[1] - centres[0])
    reach = int(np.ceil(3 * spread / width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * width / spread) ** 2)
    blurred = np.convolve(mass, kernel, mode="full")[reach : reach + len(mass)]
    return np.asarray(APART + np.interp(at, centres, blurred, left=0.0, right=0.0))

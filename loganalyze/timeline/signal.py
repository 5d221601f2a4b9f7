"""Alignment by the signal itself: slide a run's shape along a capture's curves and weigh every offset.

The cost of an offset is the negative log likelihood of all rows under the zones they fall in, see ``cost``. The answer
is the mean of the resulting distribution, its error covers 98 % of it, and a distribution that is too wide or has
another peak is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loganalyze.timeline.cost import Costs
from loganalyze.timeline.curves import Curve
from loganalyze.timeline.posterior import Fit, judged
from loganalyze.timeline.shape import Shape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

# Rows of one curve are not independent, so the sum of their log likelihoods overstates what they know.
TEMPER = 0.7
# Offsets tried at first, and offsets looked at closely.
COARSE, FINE = 4000, 2500
# Coarse offsets overstate the least cost by up to 7 % (runs of one hour); beyond this factor they cannot beat another.
HOPELESS = 1.25
# Places within a nat that are this many times farther apart than one place may be wide.
PLATEAU = 10.0
# Coarse offsets that are looked at closely in any case: between two of them the best may hide.
KEPT = 40
# Steepest changes of a curve that are tried on each change of the run, and rounds of looking closer.
EDGES, MOST_ROUNDS = 40, 6
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
# Places whose costs differ by less are those of like runs in a row.
ALIKE = 4.0


def fit(
    curves: list[Curve],
    shape: Shape,
    step_s: float,
    prior: tuple[float, float] | None = None,
    earliest_s: float | None = None,
    around: tuple[float, float] | None = None,
    beat: float | None = None,
) -> Fit:
    """Place ``curves`` on the clock of ``shape``.

    ``step_s`` is the sample interval, which bounds what can be told. ``prior`` is an expected offset and its spread,
    where another clock tells one. ``earliest_s``: the run starts no earlier than this on the clock of the curves; of
    several places that fit, the first is then meant. ``around``: an offset and how far from it to look. ``beat``: a cost
    that must be beaten by a distinct place; what cannot be is given up early.
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
    many = len(coarse) >= COARSE
    costs = Costs(curves, shape)
    first = _weighed(costs, coarse, prior, limit, roughly=many)
    usual = first[first < NEVER]
    if not len(usual):
        return Fit(refused="its curves and the run cannot meet")
    grid, cost, width = coarse, first, (high - low) / max(len(coarse) - 1, 1)
    if many:
        # Too coarse for the run to show: offsets that bring edges of both together are tried, too.
        edges = edge_offsets(curves, shape)
        edges = np.unique(edges[(edges >= low) & (edges <= high)])
        grid = np.concatenate([grid, edges])
        cost = np.concatenate([cost, _weighed(costs, edges, prior, limit)])
        if beat is not None:
            near = grid[cost <= cost.min() + 1.0]
            if float(cost.min()) > HOPELESS * beat + UNCOVERED:
                return Fit(refused="it explains less than another interval")
            if float(near.max() - near.min()) > PLATEAU * max(width, 2.0 * step_s, 2.0):
                return Fit(refused="the match is not distinct")
    for _ in range(MOST_ROUNDS):
        grid, width = _finer(grid, cost, width, step_s / 6 if many else 0.0)
        cost = _weighed(costs, grid, prior, limit)
        # So many places left mean that none stands out, however closely they are looked at.
        if width <= step_s / 6 or len(grid) > FINE:
            break
    if limit is not None:
        cost = _first_place(grid, cost, max(4 * step_s, 2.0))
    found = _answer(grid, cost, curves, step_s)
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


def edge_offsets(curves: list[Curve], shape: Shape) -> Array:
    """Offsets at which a steep change of a curve falls on a change that the run makes."""
    import numpy as np

    rises = [shape.start, shape.ready or shape.start, *(a for a, _ in shape.active[:3])]
    falls = [shape.end, *(b for _, b in shape.active[:3])]
    found = []
    for curve in curves:
        change = np.diff(curve.y)
        middle = (curve.t[1:] + curve.t[:-1]) / 2
        for signed, marks in ((change, rises), (-change, falls)):
            steep = np.argpartition(-signed, EDGES)[:EDGES] if len(signed) > EDGES else np.arange(len(signed))
            steep = steep[signed[steep] > 0.2]
            found += [mark - middle[steep] for mark in marks]
    return np.concatenate(found) if found else np.array([])


def _finer(grid: Array, cost: Array, width: float, enough: float) -> tuple[Array, float]:
    """Offsets close to those of ``grid`` (``width`` apart or less) that cost little, and how far apart they are.

    They need not be closer than ``enough``.
    """
    import numpy as np

    deep = np.sort(cost)[min(KEPT, len(cost) - 1)]
    near = grid[cost <= max(float(cost.min()) + DEPTH, float(deep))]
    halves = np.round(np.concatenate([near, near - width / 2, near + width / 2]) / width * 2)
    seeds = np.unique(halves) * (width / 2)
    most = 12 if enough <= 0 else max(1, int(np.ceil(width / 2 / enough)))
    parts = max(1, min(12, most, FINE // max(1, len(seeds))))
    finer = width / 2 / parts
    return np.asarray((seeds[:, None] + np.arange(parts)[None, :] * finer).ravel()), finer


def _weighed(
    costs: Costs, offsets: Array, prior: tuple[float, float] | None, limit: float | None, *, roughly: bool = False
) -> Array:
    import numpy as np

    cost = TEMPER * costs(offsets, roughly=roughly)
    # Captures are mostly begun before the run and ended after it: what they leave out of it makes a place less likely.
    unseen = costs.uncovered(offsets)
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
    return judged(found, step_s)

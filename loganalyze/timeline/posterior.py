"""What the costs of all offsets add up to: a place with its error, or a refusal; and captures that sharpen each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

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


def judged(found: Fit, step_s: float) -> Fit:
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
    total = float(found.weights.sum())
    return -found.cost + log(total) if total > 0 else float("-inf")


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
    return judged(merged, step_s)


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

"""Spread of repeated figures, robust trends, and intervals: small samples, no distribution assumed."""

from __future__ import annotations

import random

from loganalyze.findings.measured.middle import median

# 2 000 resamples put the 95 % bounds of a ratio of medians of three within about 1 % of the exact ones.
RESAMPLES = 2000


def spread_pct(values: list[float]) -> float:
    """(largest - smallest) / median, in per cent."""
    middle = median(values)
    return (max(values) - min(values)) / middle * 100 if middle else 0.0


def theil_sen(points: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Slope and intercept of the robust line through ``points``; None when all x are equal."""
    slopes = [(y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1 :] if x1 != x2]
    if not slopes:
        return None
    slope = median(slopes)
    return slope, median([y - slope * x for x, y in points])


def agreement(points: list[tuple[float, float]]) -> float:
    """Kendall's tau-a over pairs with different x: 1 all rise, -1 all fall, 0 no order."""
    score = pairs = 0
    for i, (x1, y1) in enumerate(points):
        for x2, y2 in points[i + 1 :]:
            if x1 != x2:
                pairs += 1
                rise = (y2 - y1) * (x2 - x1)
                score += (rise > 0) - (rise < 0)
    return score / pairs if pairs else 0.0


def ratio_interval(before: list[float], after: list[float]) -> tuple[float, float, float]:
    """Ratio of medians after/before with a 95 % bootstrap interval; the interval is the ratio for single runs.

    Deterministic: the same figures give the same interval.
    """
    ratio = median(after) / median(before)
    if len(before) < 2 and len(after) < 2:
        return ratio, ratio, ratio
    dice = random.Random(20261201)
    ratios = sorted(
        median([dice.choice(after) for _ in after]) / median([dice.choice(before) for _ in before])
        for _ in range(RESAMPLES)
    )
    return ratio, ratios[int(RESAMPLES * 0.025)], ratios[int(RESAMPLES * 0.975) - 1]

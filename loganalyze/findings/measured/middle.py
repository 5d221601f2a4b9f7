"""The median, without the standard library's module for it, which takes longer to import than a log takes to judge."""

from __future__ import annotations

from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """Median of at least one value."""
    known = sorted(values)
    half = len(known) // 2
    return known[half] if len(known) % 2 else (known[half - 1] + known[half]) / 2

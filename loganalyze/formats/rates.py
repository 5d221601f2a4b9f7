"""Counters since boot to rates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from loganalyze.formats.capture import Segment


def record_times(segment: Segment, lines: Sequence[int]) -> list[float | None]:
    """Seconds of records at ``lines``: the wrapper's stamps, else position x the known interval, else None."""
    times = [segment.stamp(n) for n in lines]
    if any(t is not None for t in times) or segment.interval_s is None:
        return times
    return [i * segment.interval_s for i in range(len(lines))]


def rates(values: Sequence[float | None], times: Sequence[float | None], scale: float = 1.0) -> list[float | None]:
    """Growth per second of a counter. The first is None, and so is any without both times, or after a reset."""
    found: list[float | None] = []
    last_value, last_time = None, None
    for value, time in zip(values, times, strict=True):
        rate = None
        if value is not None and time is not None:
            if last_value is not None and last_time is not None and time > last_time and value >= last_value:
                rate = (value - last_value) * scale / (time - last_time)
            last_value, last_time = value, time
        found.append(rate)
    return found


def growth(values: Sequence[float | None]) -> float | None:
    """How much a counter grew from its first to its last value; None when it was reset or seen once."""
    seen = [v for v in values if v is not None]
    if len(seen) < 2 or any(b < a for a, b in pairwise(seen)):
        return None
    return seen[-1] - seen[0]

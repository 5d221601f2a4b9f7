"""Times counted in buckets of one percent: quantiles of any number of them in bounded memory."""

from __future__ import annotations

from math import exp, log

_STEP = log(1.01)
_LEAST_MS = 1e-3


def bucket(ms: float) -> int:
    """Number of the bucket of a time; times below a microsecond share one."""
    return round(log(max(ms, _LEAST_MS)) / _STEP)


def bucket_ms(number: int) -> float:
    """The middle of a bucket, at most half a percent from every time in it."""
    return exp(number * _STEP)

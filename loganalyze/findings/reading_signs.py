"""Signs shared by the reading causes: whether reading is felt and whether its rate is normal."""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds

# Half of the predicted reading rate: read_27b_ub16 reaches 0.37 with batches of 16, healthy runs 0.65 and more.
NORMAL_PART = 0.5


def unfinished(facts: Facts) -> bool:
    """The log ends while the first prompt is being read: all the time seen is reading."""
    timing = facts.timing
    return bool(timing.requests) and timing.incomplete == len(timing.requests) and timing.writing.ms is None


def share_of_time(facts: Facts) -> float | None:
    """Part of the request time that reading takes, 0..1."""
    if facts.timing.reading.share is None and facts.timing.reading.ms is not None and unfinished(facts):
        return 1.0
    return facts.timing.reading.share


def dominates(facts: Facts, limits: Thresholds) -> bool:
    """Reading takes most of the request time."""
    share = share_of_time(facts)
    return share is not None and share >= limits.half_share


def first_token_s(facts: Facts) -> float | None:
    """The longest reading of a prompt; where only first tokens are timed, the longest wait for one.

    A client's first-token time holds the wait for a free slot, which is no reading.
    """
    slowest = facts.timing.slow_read
    ms = slowest.prompt_ms if slowest is not None else facts.timing.ttft_max_ms
    return None if ms is None else ms / 1000


def still_reading(facts: Facts) -> bool:
    """Progress lines show that the prompt was not done; an excerpt without the writing line shows nothing."""
    last = [r.samples[-1].progress for r in facts.timing.requests if r.samples and r.samples[-1].half == "reading"]
    return any(progress is not None and progress < 1 for progress in last)


def felt(facts: Facts, limits: Thresholds, seconds: float) -> bool:
    """Reading dominates and the first token is later than ``seconds``. Benchmarks choose their prompts themselves."""
    if facts.benchmark:
        return False
    first = first_token_s(facts)
    return dominates(facts, limits) and first is not None and first >= seconds


def rate_normal(facts: Facts, limits: Thresholds) -> bool | None:
    """Reading is as fast as the user's own runs, the prediction, or the ratio to writing say it should be."""
    rate = facts.reading_tps
    if rate is None:
        return None
    base = facts.expected.base_read_tps
    if base is not None:
        return rate >= limits.baseline_healthy_ratio * base
    predicted = facts.expected.prefill
    if predicted is not None and rate >= NORMAL_PART * predicted.tps:
        return True
    if facts.timing.ratio is not None and facts.place.weights != "host":
        if facts.timing.ratio * facts.expected.accepted >= 2 * limits.ratio_low:
            # Beside slow writing the ratio shows only that both halves may be slow; against the prediction it shows nothing.
            slow = facts.place.weights != "device" and (facts.writing_tps or 0.0) < limits.writing_steady_tps
            against = predicted is not None and not signs.old_build(facts)
            return None if slow or against else True
        return None if facts.timing.ratio >= limits.ratio_low else False
    return None


def lost_reading(facts: Facts, expected_tps: float | None) -> float | None:
    """Seconds of reading above those at ``expected_tps``."""
    rate, ms = facts.timing.reading.tps, facts.timing.reading.ms
    if not expected_tps or not rate or ms is None or rate >= expected_tps:
        return None
    return ms / 1000 * (1 - rate / expected_tps)

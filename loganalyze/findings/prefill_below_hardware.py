"""Reading is far slower than this card, or the user's own runs, with everything in device memory.

Data, in order: the user's baseline, the prediction (compute bound), the reading rate of requests that ran alone.
Algorithm: critical when the rate is far below and the wait for the first token is felt. The prediction is weak (a factor
of three between kernels), so only extremes count.
Thresholds: ``prefill_abnormal_ratio``, ``baseline_abnormal_ratio``, ``rate_min_prompt_tokens``.
Known false positives: prompts of one or two batches, flash attention off with a long prompt, quantised KV without it.
"""

from __future__ import annotations

from loganalyze.findings import reading_signs, signs
from loganalyze.findings.answers import clear, finding, prompt_line, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "prefill_below_hardware"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when reading is abnormally slow and felt."""
    rate, expected = facts.reading_tps, facts.reading_expected
    if rate is None:
        return clear(CAUSE, "no prompt long enough to judge the reading rate")
    if expected is None:
        return clear(CAUSE, "no expectation of the reading rate")
    own = facts.expected.base_read_tps is not None
    threshold = limits.baseline_abnormal_ratio if own else limits.prefill_abnormal_ratio
    ratio = rate / expected
    if facts.expected.bound and not own and signs.host_computes(facts, limits) is True:
        return clear(CAUSE, "the processor does a part of the work; what is on the card says nothing")
    if ratio >= threshold:
        return clear(CAUSE, f"reading at {tps(rate)}, {ratio * 100:.0f} % of expected", value=ratio, unit="ratio",
                     threshold=threshold)  # fmt: skip
    first, share = reading_signs.first_token_s(facts) or 0.0, facts.timing.reading.share or 0.0
    felt = share >= limits.half_share / 2 and first >= limits.ttft_long_unproven_s / 2
    return finding(
        CAUSE, "critical" if felt or own else "warning",
        f"reading at {tps(rate)}, {ratio * 100:.0f} % of the {tps(expected)} " + ("of your own runs" if own else "expected"),
        value=ratio, unit="ratio", threshold=threshold, explains_s=reading_signs.lost_reading(facts, expected),
        evidence=prompt_line(facts.timing.slow_read), confidence="high" if own else "medium",
    )  # fmt: skip

"""Reading is far slower than this card, or the user's own runs, with everything in device memory.

Data, in order: the user's baseline, the prediction (compute bound), the reading rate of requests that ran alone.
Algorithm: critical when the rate is far below and the wait for the first token is felt. The prediction is weak (a factor
of three between kernels), so only extremes count. Without one, reading that is hardly faster than writing, or slower than
comfortable reading, is a suspicion: a processor, too, reads a batch faster than it writes.
Thresholds: ``prefill_abnormal_ratio``, ``baseline_abnormal_ratio``, ``rate_min_prompt_tokens``, ``ratio_broken``,
``writing_steady_tps``, ``short_prompt_tokens``.
Known false positives: prompts of one or two batches, flash attention off with a long prompt, quantised KV without it.
"""

from __future__ import annotations

from loganalyze.findings import reading_signs, signs
from loganalyze.findings.answers import clear, finding, prompt_line, span_s, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "prefill_below_hardware"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when reading is abnormally slow and felt."""
    rate, expected = facts.reading_tps, facts.reading_expected
    if expected is None and (broken := _hardly_faster(facts, limits) or _crawling(facts, limits)) is not None:
        return broken
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
    felt = facts.benchmark or (share >= limits.half_share / 2 and first >= limits.ttft_long_unproven_s / 2)
    return finding(
        CAUSE, "critical" if felt or own else "warning",
        f"reading at {tps(rate)}, {ratio * 100:.0f} % of the {tps(expected)} " + ("of your own runs" if own else "expected"),
        value=ratio, unit="ratio", threshold=threshold, explains_s=reading_signs.lost_reading(facts, expected),
        evidence=prompt_line(facts.timing.slow_read), confidence="high" if own else "medium",
    )  # fmt: skip


def _hardly_faster(facts: Facts, limits: Thresholds) -> Finding | None:
    """Critical where the prompt takes the time and is read as slowly as the answer is written."""
    request = facts.timing.slow_read
    if request is None or facts.timing.streams_max > 1 or facts.place.weights == "host" or facts.gpu_meant is False:
        return None
    reading, writing = facts.timing.reading.tps, facts.timing.writing.tps
    if not reading or not writing or (request.prompt_tokens or 0) < limits.short_prompt_tokens:
        return None
    ratio = reading / writing
    if ratio >= limits.ratio_broken or not reading_signs.felt(facts, limits, limits.ttft_long_unproven_s):
        return None
    return finding(
        CAUSE, "critical", f"reading at {tps(reading)} is {ratio:.1f} times as fast as writing: prompts are not computed "
        "in batches as they should", value=ratio, unit="times", threshold=limits.ratio_broken, confidence="low",
        explains_s=(facts.timing.reading.ms or 0.0) / 1000 * (1 - ratio / limits.ratio_low),
        evidence=prompt_line(request),
    )  # fmt: skip


def _crawling(facts: Facts, limits: Thresholds) -> Finding | None:
    """Critical where a prompt of some length takes its time at a rate that no card and few processors are bound to."""
    request, rate = facts.timing.slow_read, facts.timing.reading.tps
    if request is None or rate is None or facts.place.weights == "host" or facts.gpu_meant is False:
        return None
    enough = (request.prompt_tokens or 0) >= limits.short_prompt_tokens
    alone = facts.timing.streams_max == 1
    # With writing slower still the whole machine crawls.
    if (facts.timing.writing.tps or rate) < rate:
        return None
    if not enough or not alone or rate >= limits.writing_steady_tps:
        return None
    if not reading_signs.felt(facts, limits, limits.ttft_long_unproven_s):
        return None
    return finding(
        CAUSE, "critical", f"reading {request.prompt_tokens:,} tokens takes {span_s((request.prompt_ms or 0.0) / 1000)}: "
        f"{tps(rate)} is slower than processors read", value=rate, unit="tps", threshold=limits.writing_steady_tps,
        confidence="low", explains_s=(request.prompt_ms or 0.0) / 1000 * (1 - rate / limits.writing_steady_tps),
        evidence=prompt_line(request),
    )  # fmt: skip

"""The answer is long, or the machine's full speed is slower than reading; the rate itself is normal.

Data, in order: writing share of request time, the longest answer, the rate against what is expected.
Algorithm: critical when writing takes most of the time and an answer is long in seconds and tokens at a normal rate, or
the rate is proven to be the machine's own and still slower than a person reads.
Thresholds: ``half_share``, ``writing_long_s``, ``writing_long_tokens``, ``writing_slow_tps``.
Known false positives: batch jobs nobody waits for.
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding, span_s, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "long_output"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when the length of the answer is what one waits for."""
    timing, rate = facts.timing, facts.writing_tps
    share, ms, tokens = timing.writing.share, timing.write_max_ms, timing.output_max
    if ms is None or rate is None or tokens is None:
        return clear(CAUSE, "no writing time")
    seconds = ms / 1000
    dominates = share is None or share >= limits.half_share
    long = (
        not facts.benchmark
        and seconds >= limits.writing_long_s
        and tokens >= limits.writing_long_tokens
        and not facts.changes
    )
    slow = rate < limits.writing_slow_tps and signs.proven_fast(facts, limits) is True and seconds >= 5
    text = f"writing {tokens:,} tokens takes {span_s(seconds)} at {tps(rate)}"
    if not dominates or not (long or slow):
        return clear(CAUSE, text, value=seconds, unit="s", threshold=limits.writing_long_s)
    if signs.abnormal(facts, limits):
        return clear(CAUSE, text + ", which is not the machine's rate")
    if slow and not long:
        text += ": all that this machine gives, but slower than a person reads"
    return finding(
        CAUSE, "critical", text, value=seconds, unit="s", threshold=limits.writing_long_s,
        explains_s=max(seconds - limits.writing_long_s, 0.1 * seconds),
        evidence=eval_line(timing.slow_write),
        confidence="high" if signs.proven_fast(facts, limits) else "medium",
    )  # fmt: skip

"""The prompt is long; its rate is what the machine gives.

Data, in order: reading share of request time, time to the first token, computed tokens, the reading rate.
Algorithm: critical when reading takes most of the time and the first token is late. Where nothing shows that the rate is
normal, a shorter wait counts already and the confidence is lower.
Thresholds: ``half_share``, ``ttft_long_s``, ``ttft_long_unproven_s``.
Known false positives: a queue in front of the request counted as first-token time.
"""

from __future__ import annotations

from loganalyze.findings import reading_signs
from loganalyze.findings.answers import clear, finding, of_event, prompt_line, span_s
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding, State

CAUSE = "long_prompt"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when a long prompt is what one waits for."""
    if facts.timing.reading_windows is not None:
        return _queue(facts, limits)
    share, first = reading_signs.share_of_time(facts), reading_signs.first_token_s(facts)
    if share is None or first is None:
        return clear(CAUSE, "no reading time")
    normal = reading_signs.rate_normal(facts, limits)
    threshold = limits.ttft_long_s if normal else limits.ttft_long_unproven_s
    tokens = facts.timing.slow_read.prompt_tokens if facts.timing.slow_read else None
    what = f"{tokens:,} tokens" if tokens is not None else "the prompt"
    text = f"reading {what} takes {span_s(first)}, {share * 100:.0f} % of request time"
    if reading_signs.unfinished(facts):
        read = f"{what} of " if tokens is not None else ""
        text = f"{span_s(first)} went into {read}a prompt that was still being read when the log ends"
        if not reading_signs.still_reading(facts):
            text = f"reading {what} takes {span_s(first)}; the log does not say how long writing took"
    if not reading_signs.felt(facts, limits, threshold):
        return clear(CAUSE, text, value=first, unit="s", threshold=threshold)
    return finding(
        CAUSE, "critical", text + (", at a normal rate" if normal else ""), value=first, unit="s", threshold=threshold,
        explains_s=max(first - threshold, 0.1 * first), evidence=prompt_line(facts.timing.slow_read),
        confidence="high" if normal else "medium" if normal is None else "low",
    )  # fmt: skip


def _queue(facts: Facts, limits: Thresholds) -> Finding:
    """Interval lines: prompts fill the windows, at the highest rate seen, while requests wait for their first token."""
    share = facts.timing.reading_windows or 0.0
    text = (
        f"prompts take about {share * 100:.0f} % of the time while up to {facts.timing.waiting_max:.0f} requests wait"
    )
    state: State = "critical" if share >= limits.half_share else "clear"
    lines = [e for e in facts.events.get("throughput", ()) if e.data.get("waiting")]
    return finding(CAUSE, state, text, value=share, unit="share", threshold=limits.half_share, confidence="medium",
                   evidence=[of_event(event) for event in lines[:3]])  # fmt: skip

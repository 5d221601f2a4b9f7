"""Prompts are computed on the processor, or weights stream to the card for every batch.

Data, in order: placement, reading rate over writing rate of requests that ran alone, with enough new tokens.
Algorithm: on a discrete card reading is 16 to 179 times as fast as writing; below 5 the prompt was not computed there.
Critical when that is so and reading is felt. A run on the CPU by choice whose time goes into reading is the same cause.
Thresholds: ``ratio_low``, ``ratio_min_tokens``, ``half_share``, ``ttft_long_unproven_s``.
Known false positives: short prompts, speculative decoding (divided out), another request on the card (left out),
unified memory (5 to 13 is normal there).
"""

from __future__ import annotations

from loganalyze.findings import reading_signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, prompt_line
from loganalyze.findings.facts import Facts
from loganalyze.findings.record import load
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "prefill_on_host"
UNIFIED_PART = 0.6
"""Share of ``ratio_low`` that is still normal on unified memory (Metal from 5 on, M1 Max 70B 8, iGPUs lower)."""


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when the prompt half runs at the pace of the host."""
    place, ratio = facts.place, facts.timing.ratio
    evidence = prompt_line(facts.timing.slow_read) + eval_line(facts.timing.slow_write)
    if place.weights == "host" or facts.gpu_meant is False:
        if reading_signs.felt(facts, limits, limits.ttft_long_unproven_s):
            return finding(CAUSE, "critical", "prompts are computed on the processor", evidence=evidence,
                           explains_s=(facts.timing.reading.ms or 0.0) / 1000, confidence="medium")  # fmt: skip
        return clear(CAUSE, "the processor reads prompts, which is not what takes the time")
    if ratio is None:
        return clear(CAUSE, "no prompt long enough to compare reading with writing")
    threshold = limits.ratio_low * (UNIFIED_PART if place.unified or _shared_memory(facts) else 1.0)
    ratio *= facts.expected.accepted
    if ratio >= threshold:
        return clear(CAUSE, f"reading is {ratio:.0f} times as fast as writing", value=ratio, unit="times",
                     threshold=threshold, evidence=evidence)  # fmt: skip
    if facts.gpu_meant is None:
        return cant_tell(
            CAUSE, f"reading is only {ratio:.1f} times as fast as writing; no line names a GPU", load(facts)
        )
    first = reading_signs.first_token_s(facts) or 0.0
    share = facts.timing.reading.share or 0.0
    felt = facts.benchmark or (share >= limits.half_share / 2 and first >= limits.ttft_long_unproven_s / 2)
    return finding(
        CAUSE, "critical" if felt else "warning",
        f"reading is only {ratio:.1f} times as fast as writing: prompts are not computed on the card", value=ratio,
        unit="times", threshold=threshold, evidence=evidence, confidence="medium",
        explains_s=(facts.timing.reading.ms or 0.0) / 1000 * (1 - ratio / (3 * threshold)),
    )  # fmt: skip


def _shared_memory(facts: Facts) -> bool:
    return any(card.unified for card in facts.expected.cards) or any(d.uma for d in facts.run.devices)

"""How sure a verdict is. ``high`` is meant to be right in 98 of 100 labelled runs; ``benchmarks/confidence.py`` counts.

A finding brings its own level (a line that says so is high, signs are medium, a suspicion is low); it is lowered when
what could contradict it was not recorded, and never raised.
"""

from __future__ import annotations

from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Confidence, Finding

LEVELS: tuple[Confidence, ...] = ("low", "medium", "high")


def confidence_of(facts: Facts, main: Finding, findings: list[Finding], limits: Thresholds) -> Confidence:
    """Level of the verdict that ``main`` gives."""
    if facts.run.engine == "unknown":
        # Words and stamps of a log that no format describes never carry a firm verdict.
        return "low"
    level = LEVELS.index(main.confidence)
    if main.verdict == "inconclusive":
        return main.confidence
    if main.verdict in ("slow reading", "slow writing"):
        level = min(level, _memory_seen(facts, findings))
    if main.verdict == "healthy":
        level = min(level, _healthy(facts, findings, limits))
    return LEVELS[level]


def _memory_seen(facts: Facts, findings: list[Finding]) -> int:
    """Memory comes first: with no word on placement a slow half stays at medium."""
    known = facts.place.weights != "unknown" or facts.gpu is not None or facts.decode_ratio is not None
    return 2 if known else 1


def _healthy(facts: Facts, findings: list[Finding], limits: Thresholds) -> int:
    tokens = facts.timing.writing.tokens
    if tokens is not None and tokens < limits.rate_min_output_tokens:
        return 0
    rate, expected = facts.reading_tps, facts.expected.prefill
    if rate is not None and expected is not None and not facts.expected.bound and rate < expected.low:
        return 1
    suspicions = [f for f in findings if f.state == "warning" and f.verdict == "swapping"]
    return 1 if suspicions and facts.decode_ratio is None else 2

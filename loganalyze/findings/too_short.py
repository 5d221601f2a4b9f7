"""Too little to judge: too few tokens, or only the closing lines of a log.

Data: read and written tokens, placement, expectation.
Algorithm: critical (the verdict is then inconclusive) when few tokens were written and the prompt was short. The verdict
falls back on this cause, too, when rates exist but neither load lines nor captures say what they should be.
Thresholds: ``short_output_tokens``, ``short_prompt_tokens``.
Known false positives: very slow runs that were cut short; captures of the host tell those apart.
"""

from __future__ import annotations

from loganalyze.findings.answers import clear, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.record import load
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "too_short"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when nothing was long enough."""
    if facts.failed:
        return clear(CAUSE, "no rate at all")
    written, read = facts.timing.writing.tokens, facts.timing.reading.tokens
    short_out = written is not None and written < limits.short_output_tokens
    short_in = read is None or read < limits.short_prompt_tokens
    if short_out and short_in:
        return finding(CAUSE, "critical", f"only {written} tokens were written", value=float(written or 0), unit="tokens",
                       threshold=float(limits.short_output_tokens), record=load(facts))  # fmt: skip
    return clear(CAUSE, "enough tokens")

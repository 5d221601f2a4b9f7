"""Writing slows down as the context grows: every token reads the whole cache.

Data, in order: a gradual decline of the rate inside a request, the length of the context.
Algorithm: critical when the rate declines gradually over a long context and writing takes most of the time and is felt.
Thresholds: ``decline_ratio``, ``context_long_tokens``, ``writing_long_s``, ``writing_steady_tps``.
Known false positives: slow heating of the card (clocks tell), a sliding-window model with a long prompt.
"""

from __future__ import annotations

from loganalyze.findings.answers import clear, eval_line, finding, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "long_context"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when the growing context is what slows writing."""
    context = facts.timing.context_max
    decline = next((c for c in facts.changes if not c.sudden), None)
    if decline is None:
        return clear(CAUSE, "the rate does not decline with the context")
    text = f"writing declines from {tps(decline.before)} to {tps(decline.after)} as the context grows"
    long = context is not None and context >= limits.context_long_tokens
    share = facts.timing.writing.share
    seconds = (facts.timing.write_max_ms or 0.0) / 1000
    felt = (share is None or share >= limits.half_share) and (
        seconds >= limits.writing_long_s or decline.after < limits.writing_steady_tps
    )
    return finding(
        CAUSE, "critical" if long and felt else "warning", text + (f" to {context:,} tokens" if context else ""),
        value=decline.ratio, unit="ratio", threshold=limits.decline_ratio, explains_s=decline.lost_s, confidence="medium",
        evidence=[Evidence(decline.source, decline.line, f"{decline.after:.3g} t/s"),
                  *eval_line(facts.timing.slow_write)],
    )  # fmt: skip

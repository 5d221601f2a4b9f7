"""Speculative decoding costs more than it brings.

Data, in order: drafted and accepted tokens of the requests, the rate against what plain decoding should give.
Algorithm: critical when few drafted tokens are accepted and the rate is not above that of plain decoding; a warning when
acceptance is low but the rate is fine.
Thresholds: ``acceptance_low``.
Known false positives: acceptance of one odd request; drafts of an n-gram cache that cost nothing.
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "speculation_ineffective"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when drafts are mostly thrown away."""
    drafting = [r for r in facts.timing.requests if r.draft_tokens]
    drafted = sum(r.draft_tokens or 0 for r in drafting)
    if drafted < 20:
        return clear(CAUSE, "no speculative decoding")
    share = sum(r.draft_accepted or 0 for r in drafting) / drafted
    if share >= limits.acceptance_low:
        return clear(CAUSE, f"{share * 100:.0f} % of drafted tokens are accepted", value=share, unit="share",
                     threshold=limits.acceptance_low)  # fmt: skip
    fast = signs.proven_fast(facts, limits) is True
    slow = drafting[0]
    ms = facts.timing.writing.ms
    line = slow.lines.get("draft", slow.line)
    text = f"only {share * 100:.0f} % of {drafted} drafted tokens are accepted"
    return finding(
        CAUSE, "warning" if fast else "critical", text, value=share, unit="share", threshold=limits.acceptance_low,
        explains_s=ms / 1000 * 0.3 if ms and not fast else None, confidence="medium",
        evidence=[Evidence(slow.source, line, text), *eval_line(slow)],
    )  # fmt: skip

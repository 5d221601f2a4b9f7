"""The log holds no timing of any request.

Data: requests, engine interval lines.
Algorithm: critical (the verdict is then inconclusive) when neither half has a rate and the run did not fail.
Thresholds: none.
Known false positives: rates that are none (a fully cached prompt, one token).
"""

from __future__ import annotations

from loganalyze.findings.answers import clear, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.record import timings
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "no_timings"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when there is no rate."""
    if not facts.failed:
        return clear(CAUSE, "there are rates")
    if facts.timing.end_to_end_only:
        return finding(CAUSE, "critical", "the only rate covers prompt and answer together", record=timings(facts))
    return finding(CAUSE, "critical", "the log holds no prompt or writing rate", record=timings(facts))

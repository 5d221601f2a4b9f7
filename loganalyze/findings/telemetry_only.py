"""There are captures, but no log of the run they belong to.

Data: captures, requests, events.
Algorithm: critical (the verdict is then inconclusive) when nothing but captures was given. Paging is judged before.
Thresholds: none.
Known false positives: a log that was not recognised.
"""

from __future__ import annotations

from loganalyze.findings.answers import clear, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.record import timings
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "telemetry_only"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when only telemetry is there."""
    run = facts.run
    log = run.requests or run.events or run.memory or run.engine or run.setup.command
    if log or not run.captures or not facts.failed:
        return clear(CAUSE, "there is a log")
    return finding(CAUSE, "critical", "telemetry without the log of the run: no rate to judge", record=timings(facts))

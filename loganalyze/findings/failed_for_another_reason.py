"""The run failed, and not for lack of memory.

Data, in order: failed loads, error lines, exit status, a run that never answered.
Algorithm: critical (the verdict is then inconclusive) when the run gave no rate and a line or the exit status says that
it failed. Memory failures are judged before.
Thresholds: none.
Known false positives: an error line of a client in a log that ends before the first answer.
"""

from __future__ import annotations

from loganalyze.findings.answers import clear, finding, of_event
from loganalyze.findings.facts import Facts
from loganalyze.findings.record import timings
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "failed_for_another_reason"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when the run failed."""
    if not facts.failed:
        return clear(CAUSE, "the run answered")
    event = facts.event("load_failed", "error", "cancelled")
    status = facts.process.exit_status
    if event is not None:
        return finding(CAUSE, "critical", f"the run failed: {event.text.strip()[:160]}", evidence=[of_event(event)],
                       confidence="high" if event.kind == "load_failed" else "medium", record=timings(facts))  # fmt: skip
    if status not in (None, 0):
        return finding(CAUSE, "critical", f"the run ended with exit status {status}",
                       evidence=[Evidence(facts.process.source or facts.source, None, f"exit status {status}")],
                       record=timings(facts))  # fmt: skip
    return clear(CAUSE, "no line says that the run failed")

"""Requests share the card, so each one is slower than it would be alone.

Data, in order: overlapping start and end times, slots, running requests of engine interval lines.
Algorithm: several requests at once are normal, and all of them together are faster than one. Critical only when each is
then slower than comfortable reading, or takes long, though the card itself is fast; else a warning at most.
Thresholds: ``streams_shared``, ``writing_steady_tps``, ``writing_long_s``.
Known false positives: start times laid out from durations (left out), requests that wait rather than run.
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding, many, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "shared_by_requests"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when sharing makes each answer slow."""
    streams, rate = facts.timing.streams, facts.timing.writing.tps
    if facts.timing.streams_max <= 1:
        waited = facts.timing.waited
        return clear(CAUSE, "requests run one at a time" + (f"; {waited} waited their turn" if waited else ""))
    if streams is None or streams < limits.streams_shared or rate is None:
        return clear(CAUSE, "requests hardly overlap" if streams is not None else "start times are unknown",
                     value=streams, unit="requests", threshold=limits.streams_shared)  # fmt: skip
    seconds = (facts.timing.write_max_ms or 0.0) / 1000
    alone = facts.decode_expected
    card_fast = signs.abnormal(facts, limits) is not True and (alone is None or alone > 1.5 * rate)
    felt = rate < limits.writing_steady_tps or (seconds >= limits.writing_long_s and bool(facts.changes))
    together = f"{tps(rate)} each, {tps(rate * streams)} together"
    return finding(
        CAUSE, "critical" if felt and card_fast else "warning", f"{many(streams)} requests share the card: {together}",
        value=streams, unit="requests", threshold=limits.streams_shared, evidence=eval_line(facts.timing.slow_write),
        explains_s=(facts.timing.writing.ms or 0.0) / 1000 * (1 - 1 / streams) if felt and card_fast else None,
        confidence="medium",
    )  # fmt: skip

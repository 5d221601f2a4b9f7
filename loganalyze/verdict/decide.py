"""From facts and findings to a judgement."""

from __future__ import annotations

import math

from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Confidence, Finding, Judgement
from loganalyze.verdict import advice, lacking, order, sentences, telemetry
from loganalyze.verdict.confidence import confidence_of

RULED_OUT_MAX = 6


def decide(facts: Facts, findings: list[Finding], limits: Thresholds) -> Judgement:
    """The judgement that ``findings`` give. Order: memory, halves, healthy, then why nothing can be said."""
    main = _main(facts, findings)
    findings = [f for f in findings if f is main or f.state != "critical" or f.verdict != "inconclusive"]
    judged = Judgement(verdict=main.verdict, cause=main.cause, findings=findings)
    judged.reading, judged.writing = facts.timing.reading, facts.timing.writing
    judged.telemetry = telemetry.figures(facts)
    judged.confidence = confidence_of(facts, main, findings, limits)
    judged.missing = lacking.missing(facts, main, findings)
    judged.summary = sentences.summary(facts, main)
    judged.next_step = advice.next_step(facts, main, limits)
    judged.ruled_out = ruled_out(main, findings)
    judged.lost_s = _lost(facts, main)
    judged.marks = telemetry.marks(facts, main)
    return judged


def _main(facts: Facts, findings: list[Finding]) -> Finding:
    decisive = order.chosen([f for f in findings if f.verdict != "inconclusive"])
    if decisive is not None:
        return decisive
    healthy = next(f for f in findings if f.cause == "as_expected")
    if healthy.state == "clear":
        return healthy
    nothing = next((f for f in findings if f.verdict == "inconclusive" and f.state == "critical"), None)
    if nothing is not None:
        return nothing
    return _undecided(facts, healthy)


def _undecided(facts: Facts, healthy: Finding) -> Finding:
    """Rates, but nothing that says what they should be: too little of the run was recorded."""
    confidence: Confidence = "medium"
    return Finding(
        "too_short", "inconclusive", "critical", text=healthy.text, confidence=confidence, record=healthy.record
    )


def ruled_out(main: Finding, findings: list[Finding]) -> list[str]:
    """Why the usual suspects are not it, causes with figures first."""
    if main.verdict == "inconclusive" and main.cause != "too_short":
        return []
    cleared = [f for f in findings if f.state == "clear" and f.text and f.cause not in (main.cause, "as_expected")]
    weighty = [f for f in cleared if f.verdict != "inconclusive" and (f.value is not None or f.verdict == "swapping")]
    ordered = sorted(weighty, key=lambda f: (f.value is None, order.RANK[f.cause]))
    return [f"{f.cause.replace('_', ' ')}: {f.text}" for f in ordered[:RULED_OUT_MAX]]


def _lost(facts: Facts, main: Finding) -> float | None:
    if main.verdict == "healthy":
        return 0.0
    if main.verdict == "inconclusive":
        return None
    if main.explains_s is not None and math.isfinite(main.explains_s):
        return round(main.explains_s, 3)
    ends = [facts.process.wall_s, None if facts.timing.request_ms is None else facts.timing.request_ms / 1000]
    return (
        next((round(e, 3) for e in ends if e is not None and math.isfinite(e)), None)
        if main.cause not in ("device_oom",)
        else None
    )

"""The run is on the CPU by choice, or the machine has no GPU.

Data, in order: ``-dev none``, ``-ngl 0``, empty ``CUDA_VISIBLE_DEVICES``, a CPU backend without any card.
Algorithm: critical when the choice stands on the command line (a card would be faster), or no card exists and writing is
slower than comfortable reading. Without the choice a machine that has a card is judged as fallback.
Thresholds: ``writing_steady_tps``.
Known false positives: none; small models on a CPU can be fast enough, then the run is healthy.
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding, prompt_line, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "cpu_only"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when writing goes at the pace of the processor, as was asked for."""
    place, rate = facts.place, facts.writing_tps
    if place.by_choice and place.weights in ("host", "unknown"):
        if facts.timing.writing.tps is None and facts.timing.reading.tps is None:
            return clear(CAUSE, f"the CPU by choice ({place.by_choice}), no rate to judge")
        return _made(facts, f"the CPU computes by choice ({place.by_choice})", "high")
    if place.weights in ("device", "split") or facts.gpu_meant:
        return clear(CAUSE, "a GPU is in use or meant to be")
    backend = (facts.run.backend or "").upper()
    no_card = backend == "CPU" or place.weights == "host" or place.ignored is not None
    if no_card and rate is not None and rate < limits.writing_steady_tps:
        return _made(facts, "no GPU takes part: the CPU computes", "medium")
    if no_card:
        return clear(CAUSE, "the CPU computes and is fast enough")
    return clear(CAUSE, "nothing says that the CPU computes")


def _made(facts: Facts, text: str, confidence: str) -> Finding:
    rate = facts.writing_tps
    at = f", writing at {tps(rate)}" if rate is not None else ""
    command = [Evidence(facts.source, facts.run.fact_lines.get("command"), facts.run.setup.command)] \
        if facts.run.setup.command and facts.place.by_choice else []  # fmt: skip
    return finding(
        CAUSE, "critical", text + at, value=rate, unit="tps", explains_s=signs.lost_seconds(facts)
        or (facts.timing.writing.ms or 0.0) / 1000 or None, confidence=confidence,
        evidence=command + eval_line(facts.timing.slow_write) + prompt_line(facts.timing.slow_read),
    )  # fmt: skip

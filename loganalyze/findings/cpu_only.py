"""The run is on the CPU by choice, or the machine has no GPU.

Data, in order: ``-dev none``, ``-ngl 0``, empty ``CUDA_VISIBLE_DEVICES``, a CPU backend without any card.
Algorithm: critical when the choice stands on the command line (a card would be faster), or no card exists and writing is
slower than comfortable reading. Without the choice a machine that has a card is judged as fallback.
Thresholds: ``writing_steady_tps``.
Known false positives: none; small models on a CPU can be fast enough, then the run is healthy.
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, prompt_line, tps
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
        if _suspicious(facts, limits):
            return cant_tell(CAUSE, "the CPU computes by choice, but this slowly only when memory runs out",
                             record.memory(facts))  # fmt: skip
        watched = facts.host is not None and facts.host.swap_in_max_kib_s is not None
        sure = watched or (rate is not None and rate >= limits.writing_slow_tps)
        return _made(facts, f"the CPU computes by choice ({place.by_choice})", "high" if sure else "medium")
    if place.weights in ("device", "split") or facts.gpu_meant:
        return clear(CAUSE, "a GPU is in use or meant to be")
    backend = (facts.run.backend or "").upper()
    no_card = backend == "CPU" or place.weights == "host" or place.ignored is not None
    if no_card and rate is not None and rate < limits.writing_steady_tps:
        if _suspicious(facts, limits):
            return cant_tell(CAUSE, "the CPU computes, but this slowly only when memory runs out or others use it",
                             record.memory(facts))  # fmt: skip
        return _made(facts, "no GPU takes part: the CPU computes", "medium")
    if no_card:
        return clear(CAUSE, "the CPU computes and is fast enough")
    return clear(CAUSE, "nothing says that the CPU computes")


def _suspicious(facts: Facts, limits: Thresholds) -> bool:
    """Slower than memory explains, and nobody watched the host: memory comes first."""
    rate, weights = facts.writing_tps, facts.expected.weights
    watched = facts.host is not None and facts.host.swap_in_max_kib_s is not None
    if watched or rate is None or rate >= limits.cpu_doubt_tps:
        return False
    known = weights is not None and not weights.basis.startswith("device memory")
    return not known or (weights is not None and weights.active_gb * rate < 2 * limits.implied_gbs_low)


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

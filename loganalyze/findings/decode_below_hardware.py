"""Writing is far slower than this card, or the user's own runs, and nothing found explains it.

Data, in order: the user's baseline, the prediction for this card and model, the writing rate of requests alone.
Algorithm: critical below the lower limit and outside the error band; a warning in between (old builds, power limits, old
cards explain it). Below 20 tokens or with speculation nothing is judged.
Where nothing tells what to expect, a rate below the pace of a person is a suspicion, as long as memory does not come to
mind first.
Thresholds: ``decode_abnormal_ratio``, ``decode_healthy_ratio``, ``baseline_abnormal_ratio``, ``rate_min_output_tokens``,
``writing_slow_tps``, ``cpu_doubt_tps``, ``half_share``.
Known false positives: a variant of the card with less bandwidth under the same name, low-bit formats on old cards,
a model size guessed from its name.
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Confidence, Finding

CAUSE = "decode_below_hardware"
FAR_BELOW = 0.2
"""So far below paging and spill come to mind first; without captures of card and host they are not ruled out."""


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when writing is abnormally slow."""
    ratio, rate, expected = facts.decode_ratio, facts.writing_tps, facts.decode_expected
    if rate is None or not signs.enough_output(facts, limits):
        return clear(CAUSE, "too few written tokens to judge the rate")
    if ratio is None or expected is None:
        if _felt(facts, limits, rate):
            return _unproven(facts, limits, rate)
        return cant_tell(CAUSE, "the card or the model size is unknown: no expected rate", record.deciding(facts))
    own = facts.expected.base_write_tps is not None
    healthy = limits.baseline_healthy_ratio if own else limits.decode_healthy_ratio
    of = "of your own runs" if own else "expected of this card and model"
    text = f"writing at {tps(rate)}, {ratio * 100:.0f} % of the {tps(expected)} {of}"
    if ratio >= healthy:
        return clear(CAUSE, text, value=ratio, unit="ratio", threshold=healthy)
    slow = signs.abnormal(facts, limits)
    if facts.expected.bound and not own and signs.host_computes(facts, limits) is True:
        return clear(CAUSE, "the processor does a part of the work; what is on the card says nothing")
    if slow and not own and facts.gpu is None and facts.place.weights == "unknown" and facts.llama_like:
        return cant_tell(CAUSE, text + "; whether all layers are on the card is not known", record.load(facts))
    unwatched = facts.gpu is None or facts.host is None or facts.host.swap_in_max_kib_s is None
    doubtful = facts.expected.bound or (ratio < FAR_BELOW and unwatched)
    confidence: Confidence = "high" if own else "low" if doubtful else "medium"
    return finding(
        CAUSE, "critical" if slow else "warning", text, value=ratio, unit="ratio",
        threshold=limits.baseline_abnormal_ratio if own else limits.decode_abnormal_ratio,
        explains_s=signs.lost_seconds(facts) if slow else None, evidence=eval_line(facts.timing.slow_write),
        confidence=confidence, gain=f"about {tps(expected)}" if slow else None,
    )  # fmt: skip


def _felt(facts: Facts, limits: Thresholds, rate: float) -> bool:
    """Most of the time goes into writing that is slower than reading along, yet not as slow as from swap or disk."""
    share, ms = facts.timing.writing.share, facts.timing.writing.ms
    dominates = (share is None or share >= limits.half_share) and not facts.benchmark
    return dominates and (ms or 0.0) >= 5000 and limits.cpu_doubt_tps <= rate < limits.writing_slow_tps


def _unproven(facts: Facts, limits: Thresholds, rate: float) -> Finding:
    """No expectation, but slower than anyone reads: most cards write any model that fits faster."""
    return finding(
        CAUSE, "critical", f"writing at {tps(rate)} is slower than a person reads; what this machine should give is not "
        "known", value=rate, unit="tps", threshold=limits.writing_slow_tps, confidence="low",
        explains_s=(facts.timing.writing.ms or 0.0) / 1000 * (1 - rate / limits.writing_slow_tps),
        evidence=eval_line(facts.timing.slow_write), record=record.deciding(facts),
    )  # fmt: skip

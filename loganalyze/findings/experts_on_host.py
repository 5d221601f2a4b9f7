"""The experts of a mixture run from host memory, though every layer counts as offloaded.

Data, in order: ``--n-cpu-moe``, ``--cpu-moe``, ``-ot ...exps...=CPU``, override lines, layers that overflow in ``--fit``,
large host buffers with N = M.
Algorithm: critical when experts are in host memory; a warning where the rate is still as expected.
Thresholds: ``decode_healthy_ratio``.
Known false positives: none seen; placing experts on the host is often the best a small card can do, so the advice is
about how many layers of experts and the micro-batch.
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.partial_offload import gain
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "experts_on_host"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when experts in host memory set the pace."""
    where = facts.place.experts_on_host or facts.place.overrides_on_host
    if where is None:
        return clear(CAUSE, "no experts or tensors were moved to host memory")
    mild = signs.proven_fast(facts, limits) is True and not facts.expected.bound
    share = facts.place.host_share
    what = "experts" if facts.place.experts_on_host else "tensors"
    return finding(
        CAUSE, "warning" if mild else "critical", f"{what} are kept in host memory: {where}", value=share,
        unit="share" if share is not None else None, explains_s=_lost(facts), confidence="high", gain=gain(facts),
        evidence=facts.place.proofs[:4] + eval_line(facts.timing.slow_write),
    )  # fmt: skip


def _lost(facts: Facts) -> float | None:
    lost = signs.lost_seconds(facts)
    return lost if lost is not None else (None if facts.timing.writing.ms is None else facts.timing.writing.ms / 2000)

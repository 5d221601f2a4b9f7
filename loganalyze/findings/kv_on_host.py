"""The KV cache is in host memory while the weights are on the card.

Data, in order: ``-nkvo`` / ``--no-kv-offload``, KV buffer lines of host memory with N = M.
Algorithm: critical when the cache is kept on the host; a warning where the rate is as expected (a short context).
Thresholds: ``kv_host_share``.
Known false positives: the host part of a model with layers on the host belongs to those layers (partial offload).
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "kv_on_host"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when attention reads its cache from host memory."""
    place = facts.place
    if place.kv_on_host is None or place.weights == "host":
        return clear(CAUSE, "the KV cache is not kept in host memory")
    host = place.kv_host_mib or 0.0
    mild = signs.proven_fast(facts, limits) is True
    lost = signs.lost_seconds(facts)
    return finding(
        CAUSE, "warning" if mild else "critical", f"the KV cache is in host memory: {place.kv_on_host}",
        value=host or None, unit="mib" if host else None,
        explains_s=lost if lost is not None else (facts.timing.writing.ms or 0.0) / 2000 or None,
        evidence=[e for e in place.proofs if "KV" in e.text][:2] + eval_line(facts.timing.slow_write), confidence="high",
    )  # fmt: skip

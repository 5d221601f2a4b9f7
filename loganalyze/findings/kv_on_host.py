"""The KV cache is in host memory while the weights are on the card.

Data, in order: ``-nkvo`` / ``--no-kv-offload``, KV buffer lines of host memory with N = M.
Algorithm: critical when the cache is kept on the host; a warning where the rate is as expected (a short context), or so
low that reading the cache cannot be what takes the time.
Thresholds: ``kv_host_share``, ``cpu_doubt_tps``, ``implied_gbs_low``.
Known false positives: the host part of a model with layers on the host belongs to those layers (partial offload).
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "kv_on_host"
TIMES = 10
"""The cache is read once a token, and the other work of a token rarely takes ten times as long as the slow part."""


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when attention reads its cache from host memory."""
    place = facts.place
    if place.kv_on_host is None or place.weights == "host":
        return clear(CAUSE, "the KV cache is not kept in host memory")
    host = place.kv_host_mib or 0.0
    mild = signs.proven_fast(facts, limits) is True or _too_slow(facts, limits, host)
    lost = signs.lost_seconds(facts)
    return finding(
        CAUSE, "warning" if mild else "critical", f"the KV cache is in host memory: {place.kv_on_host}",
        value=host or None, unit="mib" if host else None,
        explains_s=lost if lost is not None else (facts.timing.writing.ms or 0.0) / 2000 or None,
        evidence=[e for e in place.proofs if "KV" in e.text][:2] + eval_line(facts.timing.slow_write), confidence="high",
    )  # fmt: skip


def _too_slow(facts: Facts, limits: Thresholds, host_mib: float) -> bool:
    """A token takes many times as long as reading the whole cache from the slowest memory there is."""
    rate = facts.writing_tps
    if not rate or not host_mib or rate >= limits.cpu_doubt_tps:
        return False
    return 1 / rate > TIMES * host_mib * 2**20 / (limits.implied_gbs_low * 1e9)

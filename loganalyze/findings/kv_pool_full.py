"""The KV pool of a serving engine is full: requests wait, or are thrown out and read again.

Data, in order: preemption and retraction lines, ``failed to find free space in the KV cache``, interval lines with high
usage and waiting requests.
Algorithm: critical when requests were preempted, or the cache had no room, or two interval lines show a full pool with
requests waiting. ``Swapped: 0 reqs`` and a high usage without a queue are normal.
Thresholds: ``kv_pool_pct``, ``preempted_min``.
Known false positives: a burst at start-up; a queue caused by the request limit rather than the pool.
"""

from __future__ import annotations

from loganalyze.findings.answers import clear, finding, of_event
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Event, Finding

CAUSE = "kv_pool_full"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when work is repeated or held back for lack of cache."""
    preempted = facts.events.get("preempted", [])
    count = sum(_count(e) for e in preempted)
    if count >= limits.preempted_min:
        whose = "1 request was" if count == 1 else f"{count} requests were"
        return finding(
            CAUSE, "critical", f"{whose} preempted for lack of KV cache: what was read is read again",
            value=float(count), unit="requests", threshold=float(limits.preempted_min), confidence="high",
            evidence=[of_event(e) for e in preempted[:3]], explains_s=_half(facts),
        )  # fmt: skip
    full = facts.events.get("kv_full", [])
    if full:
        return finding(
            CAUSE, "critical", f"the KV cache had no room {len(full)} times", value=float(len(full)), unit="times",
            evidence=[of_event(e) for e in full[:3]], explains_s=_half(facts), confidence="high",
        )  # fmt: skip
    crowded = [e for e in facts.events.get("throughput", []) + facts.events.get("queue", []) if _crowded(e, limits)]
    if len(crowded) >= 2:
        usage = max(_usage(e) for e in crowded)
        return finding(
            CAUSE, "critical", f"the KV pool is {usage:.0f} % full while requests wait", value=usage, unit="pct",
            threshold=limits.kv_pool_pct, evidence=[of_event(e) for e in crowded[:3]], confidence="medium",
            explains_s=_half(facts),
        )  # fmt: skip
    return clear(CAUSE, "no request waited for KV cache")


def _count(event: Event) -> int:
    n = event.data.get("n")
    return n if isinstance(n, int) and not isinstance(n, bool) and n >= 0 else 1


def _usage(event: Event) -> float:
    for key in ("kv_usage_pct", "usage_pct"):
        value = event.data.get(key)
        if isinstance(value, int | float):
            return float(value)
    return 0.0


def _crowded(event: Event, limits: Thresholds) -> bool:
    waiting = event.data.get("waiting")
    return isinstance(waiting, int | float) and waiting > 0 and _usage(event) >= limits.kv_pool_pct


def _half(facts: Facts) -> float | None:
    return None if facts.timing.request_ms is None else facts.timing.request_ms / 2000

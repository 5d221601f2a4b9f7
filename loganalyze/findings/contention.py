"""Another process computes on the same card or processor.

Data, in order: sudden drops of the writing rate inside a request that ran alone, the run queue of the processors where
they compute, device memory and load of others, the load of the card before the run.
Algorithm: critical when the rate drops in a step while the card stays busy, clocks hold, nothing pages and the card is
not full; when the processors compute, are full, and twice as many threads as there are processors want to run, most of
them not the run's own; or when the whole run is far below the card's rate and the card was busy before it began.
Thresholds: ``drop_ratio``, ``drop_min_samples``, ``queue_per_cpu``, ``decode_abnormal_ratio``.
Known false positives: throttling without clock figures, a paused machine, a step by a change of the context's cache.
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, gib, gpu_line, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured.changes import Change
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "contention"
BUSY_PCT = 50.0
FULL_PCT = 95.0


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when something else takes the card away."""
    drop = next((c for c in facts.changes if c.sudden), None)
    if drop is not None and (facts.timing.streams is None or facts.timing.streams < limits.streams_shared):
        return _dropped(facts, drop, limits)
    return _processors(facts, limits) or _from_the_start(facts, limits)


def _processors(facts: Facts, limits: Thresholds) -> Finding | None:
    """Critical when others' threads fill the processors that compute."""
    host, threads, total = facts.host, facts.run.setup.n_threads, facts.run.setup.n_threads_total
    if host is None or host.running is None or not threads or not total or not signs.on_processors(facts):
        return None
    if threads > total:
        # Its own threads fill the queue, see too_many_threads.
        return None
    others = host.running - threads
    # A container may show fewer processors than the machine has; its queue then is no sign, but the load of all is.
    full = (host.cpu_pct or 0.0) >= FULL_PCT and (host.answering or signs.mostly_answering(facts))
    if not full or host.running < limits.queue_per_cpu * total or others < total / 2:
        return None
    ms = (facts.timing.writing.ms or 0.0) / 1000
    rate = f", writing at {tps(facts.writing_tps)}" if facts.writing_tps else ""
    return finding(
        CAUSE, "critical", f"other programs take the processors: {host.running:.0f} threads want to run on {total}, "
        f"{threads} of them the run's own{rate}", value=host.running / total, unit="times", threshold=limits.queue_per_cpu,
        explains_s=ms * (1 - total / host.running) or None, confidence="high" if host.answering else "medium",
        evidence=[Evidence(host.source, None, f"r {host.running:.0f} (median), processors {host.cpu_pct:.0f} % busy"),
                  *eval_line(facts.timing.slow_write)],
    )  # fmt: skip


def _dropped(facts: Facts, drop: Change, limits: Thresholds) -> Finding:
    text = f"writing drops from {tps(drop.before)} to {tps(drop.after)} inside a run: something else takes the card"
    evidence = [Evidence(drop.source, drop.line, f"{drop.after:.3g} t/s, before {drop.before:.3g} t/s")]
    if drop.last_line != drop.line:
        evidence.append(Evidence(drop.source, drop.last_line, "the last slow window"))
    others = _others(facts, limits)
    evidence += gpu_line(facts, others) if others else []
    busy = facts.gpu is not None and (facts.gpu.total("util_pct") or 0.0) >= BUSY_PCT
    felt = drop.lost_s >= 1.0 or drop.lost_s >= 0.2 * (facts.timing.request_ms or 0.0) / 1000
    return finding(
        CAUSE, "critical" if felt else "warning", text, value=drop.ratio, unit="ratio", threshold=limits.drop_ratio,
        explains_s=drop.lost_s, evidence=evidence, confidence="high" if busy or others else "medium",
        record=None if facts.gpu else record.gpu(facts),
    )  # fmt: skip


def _from_the_start(facts: Facts, limits: Thresholds) -> Finding:
    slow, gpu = signs.abnormal(facts, limits), facts.gpu
    if slow is None:
        return clear(CAUSE, "the writing rate does not drop inside a run")
    if not slow:
        return clear(CAUSE, "the writing rate is steady and not far below the card's")
    before = max((c.util_before_pct or 0.0 for c in gpu.used), default=0.0) if gpu else 0.0
    util = (gpu.total("util_pct") or 0.0) if gpu else 0.0
    if before >= BUSY_PCT and util >= BUSY_PCT and signs.host_computes(facts, limits) is not True:
        evidence = gpu_line(facts, f"GPU load {before:.0f} % before the run took its memory")
        return finding(CAUSE, "critical", "the card was busy before the run began: another process computes on it",
                       value=before, unit="pct", threshold=BUSY_PCT, explains_s=signs.lost_seconds(facts),
                       evidence=evidence, confidence="medium")  # fmt: skip
    if gpu is None:
        return cant_tell(CAUSE, "no record of who uses the card", record.gpu(facts))
    return clear(CAUSE, "no other process is seen computing")


def _others(facts: Facts, limits: Thresholds) -> str | None:
    gpu = facts.gpu
    if gpu is None:
        return None
    if gpu.foreign:
        name, mib = gpu.foreign[0]
        return f"{name} holds {gib(mib)} of the card"
    held = signs.foreign_mib(facts, limits)
    return f"another process holds {gib(held)}" if held is not None else None

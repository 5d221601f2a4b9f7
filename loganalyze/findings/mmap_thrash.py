"""Mapped weights are read from disk again and again.

Data, in order: block input while answering (vmstat ``bi`` beyond what swap explains), major faults, waiting for input,
load time against the size of the model.
Algorithm: critical when the host reads tens of megabytes a second from disk while requests are answered, swap does not
explain it, and the run is slow or processes wait. A slow load alone is a warning: it costs once, not per token. Without
a record of the host: threads that compute alone and yet mostly wait, or spend their time in the kernel, at a rate that
memory does not explain.
Thresholds: ``block_in_kib_s``, ``major_faults_s``, ``cpu_wait_pct``, ``load_rate_mib_s``,
``cpu_doubt_tps``.
Known false positives: another program reading; a first answer that warms the cache; load rows when clocks are unknown.
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, host_line
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured.placement import line_of
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "mmap_thrash"
# Runs on the processor keep 0.75 and more of their threads computing (cpu_8b, kernel 0.05 of it); swap_nommap_8b_4 and
# thrash_mmap_8b_2 0.12, with 0.86 of that again in the kernel.
BUSY_PART = 0.4
KERNEL_PART = 0.4
IDLE_PART = 0.2


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when weights are read from disk while the run answers."""
    host = facts.host
    slow_load = _slow_load(facts, limits)
    if host is None or (host.block_in_median_kib_s is None and host.major_faults_s is None):
        return (
            _waiting(facts, limits)
            or slow_load
            or cant_tell(CAUSE, "no record of disk reads during the run", record.memory(facts))
        )
    read = (host.block_in_median_kib_s or 0.0) - (host.swap_in_mean_kib_s or 0.0)
    faults = host.major_faults_s or 0.0
    placed = host.answering or signs.mostly_answering(facts)
    busy = placed and (read >= limits.block_in_kib_s or faults >= limits.major_faults_s)
    if not busy or signs.paging(facts, limits):
        return slow_load or clear(CAUSE, "weights are not read from disk while answering")
    waiting = (host.cpu_wait_pct or 0.0) >= limits.cpu_wait_pct or (host.blocked or 0.0) >= 1
    harmless = signs.proven_fast(facts, limits) is True or not waiting
    by_faults = read < limits.block_in_kib_s
    told = [f"{read / 1024:.0f} MiB/s"] if host.block_in_median_kib_s is not None else []
    told += [f"{faults:.0f} major faults a second"] if host.major_faults_s is not None else []
    return finding(
        CAUSE, "warning" if harmless else "critical", f"mapped weights are read from disk while answering: {', '.join(told)}",
        value=faults if by_faults else read, unit="per second" if by_faults else "KiB/s",
        threshold=limits.major_faults_s if by_faults else limits.block_in_kib_s,
        explains_s=signs.lost_seconds(facts) or (facts.timing.request_ms or 0.0) / 1000 or None,
        evidence=host_line(facts, f"block input {read / 1024:.0f} MiB/s") + eval_line(facts.timing.slow_write),
        confidence="high" if host.answering else "medium",
    )  # fmt: skip


def _waiting(facts: Facts, limits: Thresholds) -> Finding | None:
    """``time`` of a run on the processor whose threads do anything but compute."""
    process, threads, rate = facts.process, facts.run.setup.n_threads, facts.writing_tps
    alone = facts.place.weights == "host" or facts.gpu_meant is False or facts.run.backend == "CPU"
    if not alone or not threads or threads < 2 or process.cores is None or rate is None or rate >= limits.cpu_doubt_tps:
        return None
    kernel = process.system_cores or 0.0
    busy = process.cores / threads
    paging = kernel >= KERNEL_PART * process.cores and busy <= BUSY_PART
    if not paging and busy + kernel / threads > IDLE_PART:
        return None
    what = "spend their time in the kernel, as when pages are fetched" if paging else "mostly wait, as for a disk"
    return finding(
        CAUSE, "critical", f"{threads} threads compute alone, but {what}: {process.cores:.2g} cores in the program, "
        f"{kernel:.2g} in the kernel", value=busy, unit="share", threshold=BUSY_PART if paging else IDLE_PART,
        explains_s=(facts.timing.request_ms or 0.0) / 1000 or None, confidence="medium",
        evidence=[Evidence(process.source or facts.source, None, f"user time over wall time = {process.cores:.2g}"),
                  *eval_line(facts.timing.slow_write)], record=record.memory(facts),
    )  # fmt: skip


def _slow_load(facts: Facts, limits: Thresholds) -> Finding | None:
    weights, load = facts.expected.weights, facts.run.load_ms
    if weights is None or load is None or load < 20_000 or weights.basis.startswith("device memory"):
        return None
    rate = weights.total_mib / load * 1000
    if rate >= limits.load_rate_mib_s:
        return None
    line = line_of(facts.run, "load_ms", "load")
    return finding(
        CAUSE, "warning", f"loading took {load / 1000:.0f} s, {rate:.0f} MiB/s: a file reading problem, once per start",
        value=rate, unit="MiB/s", threshold=limits.load_rate_mib_s,
        evidence=[Evidence(facts.source, line, f"load time {load / 1000:.1f} s")],
    )  # fmt: skip

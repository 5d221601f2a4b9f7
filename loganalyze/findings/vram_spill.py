"""Device memory overflows into host memory without a line in the log (Windows driver fallback, unified memory on WSL2).

Data, in order: shared GPU memory (Windows counters), planned buffers against the card's memory, load of the card and of
its memory controller while writing, PCIe traffic while writing.
Algorithm: critical when shared memory grew and the run is slow, or the plan exceeds the card, or a full card is busy
while its memory controller and the processor idle. There is no log line for it, so without counters it stays suspected.
Thresholds: ``spill_mib``, ``vram_full_pct``, ``spill_gpu_util_pct``, ``spill_mem_util_pct``, ``pcie_busy_mb_s``.
Known false positives: a browser's shared memory; layers on the host (their traffic looks alike, and outranks this).
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, gib, gpu_line
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured.placement import on_host
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Confidence, Evidence, Finding
from loganalyze.physics.gpu import largest_mib

CAUSE = "vram_spill"
DESKTOP_MIB = 512.0
"""Windows keeps 0.5 to 1.5 GB of a card for the desktop, a CUDA context takes 0.3 to 0.6 GB."""


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when weights or cache cross the bus for every token."""
    if facts.reserves or facts.place.weights == "host":
        return clear(
            CAUSE, "the engine keeps to the memory it reserved" if facts.reserves else "no weights on the card"
        )
    gpu, slow = facts.gpu, signs.abnormal(facts, limits)
    grown = gpu.shared_grown_mib if gpu else None
    fast = signs.proven_fast(facts, limits)
    if grown is not None and grown >= limits.spill_mib:
        evidence = gpu_line(facts, f"shared GPU memory grew by {gib(grown)}")
        return _made(facts, fast is True, f"{gib(grown)} spilled into shared GPU memory", grown, limits.spill_mib, evidence,
                     "high" if slow else "medium")  # fmt: skip
    over = _overcommitted(facts)
    if over is not None and fast is not True:
        planned, total, evidence = over
        return _made(facts, slow is False and not _felt(facts, limits),
                     f"{gib(planned)} are planned on a card of {gib(total)}: the rest spills into host memory", planned,
                     total, evidence, "high" if slow else "medium")  # fmt: skip
    tight = _tight(facts)
    if tight is not None and slow and gpu is None and not facts.failed:
        planned, have, evidence = tight
        return _made(facts, False, f"{gib(planned)} are planned with {gib(have)} free, and writing is far below the card's "
                     "rate: a spill into host memory is suspected", planned, have, evidence, "low")  # fmt: skip
    if _streams(facts, limits) and slow:
        return _made(facts, False, "the full card is busy, but its memory and the processor idle: data cross the bus",
                     None, None, gpu_line(facts, _activity(facts)), "medium")  # fmt: skip
    if fast:
        return clear(CAUSE, "the rate is that of data on the card")
    if gpu is not None and signs.card_full(facts, limits) is False:
        return clear(CAUSE, "the card has memory left")
    return cant_tell(CAUSE, "no record of device and shared memory during the run", record.gpu(facts))


def _made(facts: Facts, mild: bool, text: str, value: float | None, threshold: float | None, evidence: list[Evidence],
          confidence: Confidence) -> Finding:  # fmt: skip
    lost = signs.lost_seconds(facts)
    return finding(
        CAUSE, "warning" if mild else "critical", text, value=value, unit="mib" if value is not None else None,
        threshold=threshold, explains_s=lost, evidence=evidence + eval_line(facts.timing.slow_write),
        confidence=confidence,
    )  # fmt: skip


def _overcommitted(facts: Facts) -> tuple[float, float, list[Evidence]] | None:
    """Planned buffers of a device, and its memory, where the plan is larger. Unified memory has no such limit."""
    if facts.place.unified or facts.failed:
        return None
    for device in facts.run.devices:
        buffers = [b for b in facts.run.memory if b.device == device.id and not on_host(b.device)]
        planned, total = sum(b.mib for b in buffers), device.total_mib or largest_mib(device.name)
        if total and planned > total:
            return (
                planned,
                total,
                [Evidence(b.source, b.line, f"{b.device} {b.kind} {b.mib:.0f} MiB") for b in buffers[:3]],
            )
    return None


def _tight(facts: Facts) -> tuple[float, float, list[Evidence]] | None:
    """Planned buffers of a device that leave nothing of what was free, less what a desktop and the driver take."""
    if facts.place.unified:
        return None
    for device in facts.run.devices:
        buffers = [b for b in facts.run.memory if b.device == device.id and not on_host(b.device)]
        planned, have = sum(b.mib for b in buffers), device.free_mib or device.total_mib or largest_mib(device.name)
        if have and planned > have - DESKTOP_MIB:
            return (
                planned,
                have,
                [Evidence(b.source, b.line, f"{b.device} {b.kind} {b.mib:.0f} MiB") for b in buffers[:3]],
            )
    return None


def _felt(facts: Facts, limits: Thresholds) -> bool:
    rate = facts.writing_tps
    return rate is not None and rate < limits.writing_steady_tps


def _streams(facts: Facts, limits: Thresholds) -> bool:
    gpu = facts.gpu
    if gpu is None or signs.card_full(facts, limits) is not True or signs.host_computes(facts, limits) is True:
        return False
    util, memory, link = gpu.total("util_pct"), gpu.total("mem_util_pct"), gpu.total("pcie_rx_mb_s")
    if link is not None and link >= limits.pcie_busy_mb_s:
        return True
    return (
        util is not None
        and memory is not None
        and util >= limits.spill_gpu_util_pct
        and memory <= limits.spill_mem_util_pct
    )


def _activity(facts: Facts) -> str:
    gpu = facts.gpu
    parts = [("load", "util_pct", "%"), ("memory controller", "mem_util_pct", "%"), ("PCIe in", "pcie_rx_mb_s", "MB/s")]
    known = [f"{name} {value:.0f} {unit}" for name, key, unit in parts if gpu and (value := gpu.total(key)) is not None]
    return ", ".join(known) + " while writing"

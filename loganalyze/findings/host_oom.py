"""Killed for memory, or an allocation in host memory failed.

Data, in order: kernel lines (``Out of memory: Killed process``, systemd-oomd), the shell's ``Killed``, exit status 137,
signal 9, failed host allocations, host memory left.
Algorithm: a kernel line naming an inference process, or any kernel line of a run that never answered, is critical. A
kill without a kernel line is critical where the run did not finish, or host memory was nearly gone.
Thresholds: ``ram_low_share``.
Known false positives: ``kill -9`` by hand, a supervisor's timeout, a container limit (host memory is then free).
"""

from __future__ import annotations

import re

from loganalyze.findings.answers import cant_tell, clear, finding, gib, host_line, of_event
from loganalyze.findings.facts import Facts
from loganalyze.findings.record import KERNEL_LOG
from loganalyze.findings.thresholds import Thresholds
from loganalyze.light import lazy_pattern
from loganalyze.model.records import Evidence, Finding

CAUSE = "host_oom"
_OURS = lazy_pattern(
    r"llama|ollama|python|vllm|sglang|kobold|lm.?studio|mlx|gguf|text-gen|tabby|server|main", re.IGNORECASE
)

_HOST_MEMORY = lazy_pattern(r"system memory|ggml_aligned_malloc|\bCPU buffer|mmap failed", re.IGNORECASE)


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when memory ended the run."""
    kernel = facts.process.kernel
    if kernel is not None and (_OURS.search(str(kernel.data.get("process") or kernel.text)) or facts.failed):
        rss = kernel.data.get("rss_mib")
        size = f" at {gib(float(rss))}" if isinstance(rss, int | float) else ""
        name = kernel.data.get("process") or "the process"
        return finding(
            CAUSE, "critical", f"the kernel killed {name}{size}: host memory ran out", value=rss, unit="mib",
            evidence=[of_event(kernel)], confidence="high",
        )  # fmt: skip
    failed = _host_allocation(facts)
    if failed is not None:
        return failed
    return _killed(facts, limits)


def _host_allocation(facts: Facts) -> Finding | None:
    for event in facts.events.get("alloc_failed", []):
        in_host = event.data.get("host") is True or _HOST_MEMORY.search(event.text) is not None
        if in_host and event.data.get("recovered") is not True and facts.failed:
            mib = event.data.get("mib")
            size = f" of {gib(float(mib))}" if isinstance(mib, int | float) else ""
            return finding(
                CAUSE, "critical", f"an allocation{size} in host memory failed", value=mib, unit="mib",
                evidence=[of_event(event)], confidence="high",
            )  # fmt: skip
    return None


def _killed(facts: Facts, limits: Thresholds) -> Finding:
    process = facts.process
    killed = process.killed is not None or process.exit_status == 137 or process.signal in (9, "9", "KILL", "SIGKILL")
    if not killed:
        if process.kernel is not None:
            return finding(CAUSE, "warning", "the kernel killed another process for memory",
                           evidence=[of_event(process.kernel)])  # fmt: skip
        return clear(CAUSE, "not killed")
    low = _ram_low(facts, limits)
    unfinished = facts.failed or facts.timing.incomplete > 0
    if not unfinished and low is not True:
        return cant_tell(CAUSE, "the process was killed after it had answered; by what is open", KERNEL_LOG)
    evidence = [of_event(process.killed)] if process.killed else [Evidence(process.source or facts.source, None,
                                                                          "exit status 137 (SIGKILL)")]  # fmt: skip
    if low and facts.host and facts.host.ram_available_min_mib is not None:
        evidence += host_line(facts, f"{gib(facts.host.ram_available_min_mib)} of host memory left")
    when = "while loading" if facts.failed else "while answering"
    return finding(
        CAUSE, "critical", f"the process was killed {when}, as the kernel does when host memory runs out",
        evidence=evidence, confidence="high" if low else "medium", record=KERNEL_LOG,
    )  # fmt: skip


def _ram_low(facts: Facts, limits: Thresholds) -> bool | None:
    host = facts.host
    if host is None or host.ram_available_min_mib is None or not host.ram_total_mib:
        return None
    return host.ram_available_min_mib < limits.ram_low_share * host.ram_total_mib

"""An allocation in device memory failed and the run did not get over it.

Data, in order: ``alloc_failed`` events (device, size, whether a retry worked), fatal load lines that speak of memory
(llama.cpp, torch, vLLM, SGLang), device memory held by other processes before the run.
Algorithm: critical when an allocation failed and no request completed after it; a warning when the run went on (retry
with a smaller batch or without pipeline parallelism, another attempt of Ollama).
Thresholds: ``vram_foreign_share`` for naming another process.
Known false positives: a failed probe of an optional buffer, pinned host memory (harmless, and not counted here).
"""

from __future__ import annotations

import re

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, finding, gib, gpu_line, of_event
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.light import lazy_pattern
from loganalyze.model.records import Event, Finding

CAUSE = "device_oom"
_MEMORY = lazy_pattern(
    r"out of (?:device )?memory|outofdevicememory|outofmemory|insufficient memory|not enough (?:free )?(?:v?ram|memory)"
    r"|(?:unable|failed) to allocate|allocat\w{1,12} failed|cudamalloc|hipmalloc|no available memory"
    r"|larger than the available|less than desired gpu memory|does not fit|can't allocate|requires more (?:system )?memory"
    r"|memory allocation of size",
    re.IGNORECASE,
)
_HOST = lazy_pattern(r"system memory|ggml_aligned_malloc|\bCPU buffer|mmap failed|pinned", re.IGNORECASE)


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when device memory ran out and stayed so."""
    failures = [e for e in _failures(facts) if not _got_over(e, facts)]
    if not failures:
        retried = facts.event("alloc_failed", "alloc_retry")
        if retried is not None:
            return finding(
                CAUSE, "warning", "an allocation failed first and the retry worked", evidence=[of_event(retried)]
            )
        return clear(CAUSE, "no allocation failed")
    sized = next((e for e in failures if isinstance(e.data.get("mib"), int | float)), failures[0])
    mib, device = sized.data.get("mib"), sized.data.get("device")
    what = f"{gib(float(mib))}" if isinstance(mib, int | float) else "memory"
    where = f" on {device}" if device is not None else ""
    text = f"asking for {what}{where} failed: device memory is too small for model, cache and buffers"
    evidence = [of_event(e) for e in failures[:3]]
    foreign = signs.foreign_mib(facts, limits)
    free = None
    if foreign is not None and facts.gpu and facts.gpu.fullest and facts.gpu.fullest.total_mib:
        free = facts.gpu.fullest.total_mib - foreign
        text = (
            f"asking for {what}{where} failed: another process already held {gib(foreign)} of "
            f"{gib(facts.gpu.fullest.total_mib)}"
        )
        evidence += gpu_line(facts, f"{foreign:.0f} MiB in use before the run")
    return finding(
        CAUSE, "critical", text, value=mib, unit="mib" if mib is not None else None, threshold=free, evidence=evidence,
        confidence="high" if any(e.kind == "alloc_failed" for e in failures) else "medium",
    )  # fmt: skip


def _failures(facts: Facts) -> list[Event]:
    found = [
        e for e in facts.events.get("alloc_failed", []) if e.data.get("host") is not True and not _HOST.search(e.text)
    ]
    for kind in ("load_failed", "error"):
        found += [e for e in facts.events.get(kind, []) if _MEMORY.search(e.text) and not _HOST.search(e.text)]
    return found


def _got_over(event: Event, facts: Facts) -> bool:
    """True when the event says so, or a request completed after it."""
    if event.data.get("recovered") is True:
        return True
    if event.data.get("recovered") is False and facts.failed:
        return False
    return any(
        r.complete and r.source == event.source and r.line > event.line and (r.eval_ms or r.eval_tps)
        for r in facts.timing.requests
    )

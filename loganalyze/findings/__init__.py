"""Findings: one module per cause, each with ``find(facts, limits) -> Finding``.

A module's docstring is its contract: data in order of priority, algorithm, thresholds, known false positives. Every
finding answers critical, warning, clear or can't-tell. A new cause is one new module and one name in ``CAUSES``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loganalyze.findings.facts import Facts
    from loganalyze.findings.thresholds import Thresholds
    from loganalyze.model.records import Finding

CAUSES = (
    "host_oom", "device_oom", "host_paging", "mmap_thrash", "cpu_fallback", "partial_offload", "experts_on_host",
    "kv_on_host", "vram_spill", "vram_saturation", "kv_pool_full",
    "small_batch", "prompt_reprocessed", "prefill_on_host", "prefill_below_hardware", "long_prompt",
    "cpu_only", "contention", "throttled", "too_many_threads", "sampling_overhead", "speculation_ineffective",
    "long_context", "shared_by_requests", "decode_below_hardware", "long_output",
    "as_expected",
    "failed_for_another_reason", "telemetry_only", "no_timings", "too_short",
)  # fmt: skip
"""Memory first, then reading, writing, healthy, and what says that nothing can be said."""


def find_all(facts: Facts, limits: Thresholds) -> list[Finding]:
    """The answer of every cause, in the order of ``CAUSES``."""
    return [find(facts, limits) for find in _finders()]


@cache
def _finders() -> tuple[Callable[[Facts, Thresholds], Finding], ...]:
    return tuple(import_module(f"loganalyze.findings.{name}").find for name in CAUSES)

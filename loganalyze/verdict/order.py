"""Which finding decides: priority of causes, and which causes are symptoms of which.

Memory first, then the halves. A symptom is listed under its cause, never chosen beside it.
"""

from __future__ import annotations

from loganalyze.findings import CAUSES
from loganalyze.model.records import Finding

# What each cause explains: with the key critical, the values are its symptoms.
EXPLAINS: dict[str, frozenset[str]] = {
    "host_oom": frozenset({"host_paging", "mmap_thrash", "partial_offload", "cpu_only", "decode_below_hardware"}),
    "device_oom": frozenset({"vram_saturation", "vram_spill", "partial_offload"}),
    "host_paging": frozenset({"mmap_thrash", "cpu_only", "partial_offload", "cpu_fallback", "experts_on_host"}),
    "mmap_thrash": frozenset({"cpu_only", "partial_offload", "experts_on_host", "cpu_fallback"}),
    "cpu_fallback": frozenset({"partial_offload", "kv_on_host", "cpu_only"}),
    "partial_offload": frozenset({"kv_on_host", "vram_saturation", "vram_spill"}),
    "experts_on_host": frozenset({"partial_offload", "vram_saturation", "vram_spill"}),
    "kv_on_host": frozenset({"vram_saturation"}),
    "vram_spill": frozenset({"vram_saturation"}),
    "small_batch": frozenset({"long_prompt", "prefill_below_hardware", "prefill_on_host", "prompt_reprocessed"}),
    "prompt_reprocessed": frozenset({"long_prompt"}),
    "prefill_on_host": frozenset({"long_prompt", "prefill_below_hardware"}),
    "prefill_below_hardware": frozenset({"long_prompt"}),
    "too_many_threads": frozenset({"cpu_only"}),
    "throttled": frozenset({"contention", "decode_below_hardware"}),
    "contention": frozenset({"decode_below_hardware", "long_context", "long_output", "cpu_only"}),
    "sampling_overhead": frozenset({"decode_below_hardware", "long_output"}),
    "speculation_ineffective": frozenset({"decode_below_hardware"}),
    "long_context": frozenset({"decode_below_hardware", "long_output"}),
    "shared_by_requests": frozenset({"long_output", "contention"}),
}
RANK = {name: index for index, name in enumerate(CAUSES)}
SLOW_HALVES = ("slow reading", "slow writing")


def chosen(findings: list[Finding]) -> Finding | None:
    """The critical finding that decides, None when there is none."""
    critical = [f for f in findings if f.state == "critical"]
    if not critical:
        return None
    symptoms = {name for f in critical for name in EXPLAINS.get(f.cause, frozenset())}
    causes = [f for f in critical if f.cause not in symptoms] or critical
    memory = [f for f in causes if f.verdict == "swapping"]
    if memory:
        return min(memory, key=_memory_rank)
    halves = [f for f in causes if f.verdict in SLOW_HALVES]
    if halves:
        return _dearest_half(halves)
    return min(causes, key=lambda f: RANK[f.cause])


def _memory_rank(finding: Finding) -> tuple[bool, int]:
    """Suspicions come after what lines or captures show."""
    return finding.confidence == "low", RANK[finding.cause]


def _dearest_half(findings: list[Finding]) -> Finding:
    """The half whose findings explain more seconds; inside it the order of causes."""
    cost: dict[str, float] = {}
    for finding in findings:
        cost[finding.verdict] = max(cost.get(finding.verdict, 0.0), finding.explains_s or 0.0)
    verdict = max(cost, key=lambda v: cost[v])
    return min((f for f in findings if f.verdict == verdict), key=lambda f: RANK[f.cause])

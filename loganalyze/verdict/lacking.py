"""What a verdict could not see, each with the command that would record it, the deciding one first."""

from __future__ import annotations

from loganalyze.findings import record
from loganalyze.findings.facts import Facts
from loganalyze.model.records import Finding, Missing

MAX = 4


def missing(facts: Facts, main: Finding, findings: list[Finding]) -> list[Missing]:
    """At most ``MAX`` gaps. A verdict that rests on lines of the log lacks little; an inconclusive one says all."""
    found: list[Missing] = []
    if main.verdict == "inconclusive" and main.record and facts.failed:
        found.append(Missing("the timing lines of a request", main.record))
    sure = main.confidence == "high" and main.verdict != "healthy"
    if not facts.failed or main.verdict == "inconclusive":
        found += _gaps(facts, main)
    if main.record and all(m.record != main.record for m in found):
        found.insert(0, Missing(_what(main), main.record))
    return found[: 2 if sure else MAX]


def _gaps(facts: Facts, main: Finding) -> list[Missing]:
    gaps: list[Missing] = []
    host_first = facts.place.weights in ("host", "split") or facts.gpu_meant is False
    placement = facts.place.weights == "unknown" and facts.llama_like and facts.place.asked != -1
    device = facts.gpu is None and facts.gpu_meant is not False
    host = facts.host is None or facts.host.swap_in_max_kib_s is None
    if host and host_first:
        gaps.append(Missing("paging of the host while it answers", record.memory(facts)))
    if placement and facts.gpu_meant is not False and main.cause != "partial_offload":
        gaps.append(Missing("the load lines that tell how many layers are on the GPU", record.load(facts)))
    if device:
        gaps.append(Missing("device memory and load while it answers", record.gpu(facts)))
    if host and not host_first:
        gaps.append(Missing("paging of the host while it answers", record.memory(facts)))
    return gaps


def _what(main: Finding) -> str:
    return {
        "host_oom": "the kernel's word on who was killed",
        "partial_offload": "the load lines that tell how many layers are on the GPU",
        "contention": "who else uses the card",
        "host_paging": "paging of the host while it answers",
        "too_short": "what decides",
    }.get(main.cause, "what would confirm it")

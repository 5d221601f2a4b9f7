"""Building blocks of findings: the four states, evidence, and commands to record what is missing."""

from __future__ import annotations

from loganalyze.findings.facts import Facts
from loganalyze.model.records import Event, Evidence, Finding, Request, State, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERDICT_OF: dict[str, Verdict] = {
    **dict.fromkeys(
        ("device_oom", "partial_offload", "experts_on_host", "kv_on_host", "cpu_fallback", "vram_saturation",
         "vram_spill", "host_paging", "mmap_thrash", "host_oom", "kv_pool_full"), "swapping"),
    **dict.fromkeys(("long_prompt", "small_batch", "prompt_reprocessed", "prefill_on_host", "prefill_below_hardware"),
                    "slow reading"),
    **dict.fromkeys(
        ("long_output", "decode_below_hardware", "contention", "throttled", "cpu_only", "long_context",
         "sampling_overhead", "speculation_ineffective", "shared_by_requests", "too_many_threads"), "slow writing"),
    "as_expected": "healthy",
    **dict.fromkeys(("no_timings", "telemetry_only", "failed_for_another_reason", "too_short"), "inconclusive"),
}  # fmt: skip


def finding(cause: str, state: State, text: str, **more: Any) -> Finding:
    """A finding of ``cause``; ``margin`` follows from value and threshold where not given."""
    made = Finding(cause, VERDICT_OF[cause], state, text=text, **more)
    if made.margin is None and made.value is not None and made.threshold:
        made.margin = abs(made.value - made.threshold) / abs(made.threshold)
    return made


def clear(cause: str, text: str, **more: Any) -> Finding:
    """The cause is ruled out; ``text`` says why."""
    return finding(cause, "clear", text, **more)


def cant_tell(cause: str, text: str, record: str | None = None) -> Finding:
    """Nothing decides; ``record`` is the command that would."""
    return finding(cause, "cant_tell", text, record=record)


def of_event(event: Event) -> Evidence:
    """The line of an event."""
    return Evidence(event.source, event.line, event.text.strip())


def eval_line(request: Request | None) -> list[Evidence]:
    """The writing figures of a request."""
    if request is None or request.eval_ms is None:
        return []
    tokens = request.eval_tokens if request.eval_tokens is not None else request.output_tokens
    rate = f", {request.eval_tps:.4g} t/s" if request.eval_tps is not None else ""
    count = f" for {tokens} tokens" if tokens is not None else ""
    line = request.lines.get("eval", request.line)
    return [Evidence(request.source, line, f"writing {request.eval_ms / 1000:.2f} s{count}{rate}")]


def prompt_line(request: Request | None) -> list[Evidence]:
    """The reading figures of a request."""
    if request is None or request.prompt_ms is None:
        return []
    rate = f", {request.prompt_tps:.4g} t/s" if request.prompt_tps is not None else ""
    count = f" for {request.prompt_tokens} tokens" if request.prompt_tokens is not None else ""
    line = request.lines.get("prompt", request.line)
    return [Evidence(request.source, line, f"reading {request.prompt_ms / 1000:.2f} s{count}{rate}")]


def gpu_line(facts: Facts, text: str) -> list[Evidence]:
    """A statement about the device capture, over its window."""
    if facts.gpu is None:
        return []
    span = facts.gpu.span or (None, None)
    return [Evidence(facts.gpu.source, None, text, span[0], span[1])]


def host_line(facts: Facts, text: str) -> list[Evidence]:
    """A statement about the host capture, over its window."""
    if facts.host is None:
        return []
    span = facts.host.span or (None, None)
    return [Evidence(facts.host.source, None, text, span[0], span[1])]


def gib(mib: float) -> str:
    """MiB as people read it."""
    return f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib:.0f} MiB"


def tps(rate: float) -> str:
    """A rate with about three figures."""
    return f"{rate:.0f} t/s" if rate >= 100 else f"{rate:.3g} t/s"


def many(number: float) -> str:
    """A mean number of things: whole where it is whole or large."""
    return f"{number:,.0f}" if number >= 10 or abs(number - round(number)) < 0.05 else f"{number:.1f}"


def span_s(seconds: float) -> str:
    """A duration with about three figures."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.0f} min"

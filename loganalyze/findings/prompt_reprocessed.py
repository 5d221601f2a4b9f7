"""Prompts that were read before are read again instead of being taken from the cache.

Data, in order: ``forcing full prompt re-processing``, context shifts and truncated prompts, growing prompts of one slot
without cached tokens.
Algorithm: critical when many tokens are read again and reading takes most of the time. The line alone says little:
sometimes it is 98 tokens, sometimes 100,000.
Thresholds: ``reprocess_tokens``, ``half_share``, ``ttft_long_unproven_s``.
Known false positives: unrelated prompts of similar length (they are not read again, they are new).
"""

from __future__ import annotations

from itertools import pairwise

from loganalyze.findings import reading_signs
from loganalyze.findings.answers import clear, finding, of_event, prompt_line
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Event, Finding, Request

CAUSE = "prompt_reprocessed"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when re-reading is what takes the time."""
    events = facts.events.get("reprocess", [])
    tokens = _known_tokens(events) or _tokens_after(events, facts)
    repeated = _repeated(facts, limits)
    if not events and len(repeated) < 2:
        return clear(CAUSE, "no prompt is read again")
    again = max(tokens, sum(r.prompt_tokens or 0 for r in repeated))
    seconds = sum((r.prompt_ms or 0.0) for r in repeated) / 1000 or _seconds(facts, tokens)
    felt = reading_signs.felt(facts, limits, limits.ttft_long_unproven_s) and again >= limits.reprocess_tokens
    evidence = [of_event(e) for e in events[:2]] + [line for r in repeated[:2] for line in prompt_line(r)]
    return finding(
        CAUSE, "critical" if felt else "warning", f"{again:,} prompt tokens are read again instead of being reused",
        value=float(again), unit="tokens", threshold=float(limits.reprocess_tokens), explains_s=seconds if felt else None,
        evidence=evidence, confidence="high" if events else "medium",
    )  # fmt: skip


def _known_tokens(events: list[Event]) -> int:
    return sum(int(n) for e in events if isinstance(n := e.data.get("tokens"), int | float) and n > 0)


def _tokens_after(events: list[Event], facts: Facts) -> int:
    """Prompt tokens of the requests that end after such a line: they are what was read again."""
    total = 0
    for event in events:
        later = [
            r for r in facts.timing.requests if r.source == event.source and r.lines.get("prompt", r.line) > event.line
        ]
        nearest = min(later, key=lambda r: r.lines.get("prompt", r.line), default=None)
        total += (nearest.prompt_tokens or 0) if nearest else 0
    return total


def _repeated(facts: Facts, limits: Thresholds) -> list[Request]:
    """Requests that grew out of the one before on their slot, with next to nothing cached."""
    slots: dict[int | None, list[Request]] = {}
    for request in facts.timing.requests:
        slots.setdefault(request.slot, []).append(request)
    found = []
    for requests in slots.values():
        for before, after in pairwise(requests):
            if after.cached_tokens is None or not before.prompt_tokens or not after.prompt_tokens:
                continue
            whole = before.prompt_tokens + (before.cached_tokens or 0) + (before.output_tokens or 0)
            grew = whole <= after.prompt_tokens + after.cached_tokens <= 1.5 * whole
            if (
                grew
                and after.prompt_tokens >= limits.reprocess_tokens
                and after.cached_tokens < 0.1 * after.prompt_tokens
            ):
                found.append(after)
    return found


def _seconds(facts: Facts, tokens: int) -> float | None:
    rate = facts.timing.reading.tps
    return tokens / rate if rate and tokens else None

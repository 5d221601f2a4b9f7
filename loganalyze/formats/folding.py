"""Very long runs: requests and events of the middle are summed up, so that memory is bounded whatever the log's size.

A run keeps its first ``KEEP_FIRST`` requests, the last ones, and of those between the ``SLOWEST`` of each half; the others
go into its facts, totals exact: ``folded_requests``, ``folded_incomplete``, sums of fields (``folded_prompt_tokens``,
``folded_cached_tokens``, ``folded_prompt_ms``, ``folded_output_tokens``, ``folded_eval_ms``, ``folded_total_ms``), tokens
and milliseconds of the requests that give a rate (``folded_read_tokens``, ``folded_read_ms``, ``folded_written_tokens``,
``folded_written_ms``), and ``folded_first_token`` (``{bucket: requests}``, buckets of one percent, see ``model.buckets``);
``folded_from_s`` and ``folded_to_s`` bound their times.
Of the events the first ones of each kind and the last ones of all are kept: ``folded_events``.
"""

from __future__ import annotations

from loganalyze.model.buckets import bucket
from loganalyze.model.records import Event, Request, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Requests kept one by one (about 1 KB each with what later rooms make of them).
MAX_REQUESTS = 8_000
KEEP_FIRST = 2_000
FOLD = 2_000
SLOWEST = 50
# There are some thirty kinds of events, so what is kept of them is always less than this.
# Runs kept from the start and from the end of a source; a server that is started again and again fails each time alike.
KEEP_RUNS = 1_000
# A process that wrote nothing for so many lines is over.
OVER_LINES = 1_000
# Of a run among many that all together have too many.
LEAST_KEPT = 30
MAX_EVENTS = 8_000
KEEP_EVENTS = 150
KEEP_LAST_EVENTS = 1_000
_SUMS = ("prompt_tokens", "cached_tokens", "prompt_ms", "output_tokens", "eval_ms", "total_ms")


def middle(runs: list[Run], line: int) -> list[Run]:
    """The runs between the first and the last ``KEEP_RUNS`` that were over long before ``line``."""
    return [run for run in runs[KEEP_RUNS:-KEEP_RUNS] if (run.last_line or 0) < line - OVER_LINES]


def fold(run: Run) -> None:
    """Take requests out of the middle of ``run`` and add their sums to its facts."""
    _fold(run, KEEP_FIRST, KEEP_FIRST + FOLD + 2 * SLOWEST, SLOWEST)


def shrink(runs: list[Run]) -> None:
    """Keep fewer requests of each of many runs of one source, when all together are too many."""
    if sum(len(run.requests) for run in runs) < 2 * MAX_REQUESTS:
        return
    limit = max(LEAST_KEPT, MAX_REQUESTS // len(runs))
    for run in runs:
        if len(run.requests) > limit:
            third = limit // 3
            _fold(run, third, len(run.requests) - third, third // 2)


def _fold(run: Run, start: int, end: int, slowest: int) -> None:
    """Sum up the requests from ``start`` to ``end``, but for the ``slowest`` ones of each half."""
    middle = run.requests[start:end]
    kept = _slowest(middle, slowest)
    gone = [request for request in middle if id(request) not in kept]
    run.requests[start:end] = [request for request in middle if id(request) in kept]
    facts = run.facts
    _add(run, "requests", len(gone))
    _add(run, "incomplete", sum(not request.complete for request in gone))
    for name in _SUMS:
        values = [value for request in gone if (value := getattr(request, name)) is not None]
        if values:
            _add(run, name, sum(values))
    _widen(facts, [at for request in gone for at in (request.start_s, request.end_s) if at is not None])
    firsts: dict[int, int] = facts.setdefault("folded_first_token", {})
    for request in gone:
        _add_rates(run, request)
        first = request.ttft_ms if request.ttft_ms is not None else request.prompt_ms
        if first is not None:
            number = bucket(first)
            firsts[number] = firsts.get(number, 0) + 1


def _widen(facts: dict[str, Any], times: list[float]) -> None:
    """Stretch the range of the requests that are not kept."""
    if times:
        facts["folded_from_s"] = min(times) if "folded_from_s" not in facts else min(facts["folded_from_s"], *times)
        facts["folded_to_s"] = max(times) if "folded_to_s" not in facts else max(facts["folded_to_s"], *times)


def _slowest(requests: list[Request], count: int) -> set[int]:
    """Ids of those that took longest to read and to write."""
    reads = sorted(requests, key=lambda request: -(request.prompt_ms or 0.0))[:count]
    writes = sorted(requests, key=lambda request: -(request.eval_ms or 0.0))[:count]
    return {id(request) for request in (*reads, *writes)}


def _add(run: Run, name: str, value: float) -> None:
    run.facts[f"folded_{name}"] = run.facts.get(f"folded_{name}", 0) + value


def _add_rates(run: Run, request: Request) -> None:
    """What makes a rate: two tokens or more in a time."""
    tokens, ms = request.prompt_tokens, request.prompt_ms
    if tokens is not None and tokens >= 2 and ms is not None and ms > 0:
        _add(run, "read_tokens", tokens)
        _add(run, "read_ms", ms)
    tokens = request.eval_tokens if request.eval_tokens is not None else request.output_tokens
    ms = request.eval_ms
    if tokens is not None and tokens >= 2 and ms is not None and ms > 0 and not request.end_to_end_tps:
        _add(run, "written_tokens", tokens)
        _add(run, "written_ms", ms)


def fold_events(run: Run) -> None:
    """Take events out of the middle of ``run``: all but the first ``KEEP_EVENTS`` of each kind and the last ones."""
    keep: list[Event] = []
    counts: dict[str, int] = {}
    late = len(run.events) - KEEP_LAST_EVENTS
    for place, event in enumerate(run.events):
        counts[event.kind] = counts.get(event.kind, 0) + 1
        if counts[event.kind] <= KEEP_EVENTS or place >= late:
            keep.append(event)
    _add(run, "events", len(run.events) - len(keep))
    run.events = keep

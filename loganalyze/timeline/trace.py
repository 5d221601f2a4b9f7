"""Trace Event JSON, which Perfetto and chrome://tracing open: phases and requests as slices, metrics as counters.

One process a run with a track of phases, one track for each lane of requests, marks for events; captures are another
process with a counter for each metric and device. Times are microseconds from the earliest moment; ``otherData`` tells
that moment in epoch seconds where the axis is wall time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from loganalyze.model.records import Capture, Reading, Run
from loganalyze.timeline.table import (
    bounds,
    is_wall_time,
    metrics_of,
    placed_captures,
    placed_runs,
    without_boot_averages,
)

PHASES_TRACK, FIRST_LANE = 1, 10


def trace_parts(what: Reading | Run) -> Iterator[str]:
    """Pieces of the JSON text, in order."""
    span = bounds(what)
    zero = span[0] if span else 0.0
    other = {"zero_epoch_s": zero} if is_wall_time(what) else {"zero": "start of the first run"}
    yield '{"displayTimeUnit":"ms","otherData":' + json.dumps(other) + ',"traceEvents":[\n'
    mark = ""
    for event in _events(what, zero):
        yield mark + json.dumps(event)
        mark = ",\n"
    yield "\n]}\n"


def _events(what: Reading | Run, zero: float) -> Iterator[dict[str, Any]]:
    runs = placed_runs(what)
    for pid, run in enumerate(runs, 1):
        yield from _run_events(run, pid, zero)
    for pid, capture in enumerate(placed_captures(what), len(runs) + 1):
        yield _name(pid, "process_name", capture.source.path)
        yield from _counters(capture, pid, zero)


def _name(pid: int, kind: str, text: str, tid: int = 0) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": {"name": text}}


def _us(seconds: float) -> int:
    """Whole microseconds: rounded ends of slices nest and meet as the ends themselves do."""
    return round(seconds * 1e6)


def _run_events(run: Run, pid: int, zero: float) -> Iterator[dict[str, Any]]:
    shift = (run.clock.offset_s or 0.0) - zero
    yield _name(pid, "process_name", run.id)
    yield _name(pid, "thread_name", "phases", PHASES_TRACK)
    for phase, lane in _in_lanes([(p.start_s, p.end_s, p) for p in run.phases if p.kind in ("load", "idle")]):
        yield _slice(pid, PHASES_TRACK + lane, phase.kind, _us(phase.start_s + shift), _us(phase.end_s + shift), {})
    known = [(r.start_s, r.end_s, r) for r in run.requests if r.start_s is not None and r.end_s is not None]
    phases: dict[str | None, list[Any]] = {}
    for phase in run.phases:
        phases.setdefault(phase.request, []).append(phase)
    lanes = 0
    for request, lane in _in_lanes(known):
        lanes = max(lanes, lane + 1)
        tid = FIRST_LANE + lane
        figures = {
            k: getattr(request, k)
            for k in ("prompt_tokens", "prompt_tps", "output_tokens", "eval_tps", "ttft_ms", "source", "line")
            if getattr(request, k) is not None
        }
        begin, end = _us(request.start_s + shift), _us(request.end_s + shift)
        yield _slice(pid, tid, f"request {request.id}", begin, end, figures)
        for phase in sorted(phases.get(request.id, []), key=lambda p: p.start_s):
            # Sums of lengths stray by a rounding: viewers drop slices that cross their neighbour or outlast the request.
            begin = min(max(begin, _us(phase.start_s + shift)), end)
            until = max(begin, min(end, _us(phase.end_s + shift)))
            yield _slice(pid, tid, phase.kind, begin, until, {})
            begin = until
    for lane in range(lanes):
        yield _name(pid, "thread_name", f"requests {lane + 1}", FIRST_LANE + lane)
    for event in run.events:
        if event.t_s is not None:
            yield {
                "ph": "i", "s": "p", "pid": pid, "tid": PHASES_TRACK, "name": event.kind, "ts": _us(event.t_s + shift),
                "args": {"text": event.text[:500], "source": event.source, "line": event.line},
            }  # fmt: skip


def _in_lanes(spans: list[tuple[float, float, Any]]) -> Iterator[tuple[Any, int]]:
    """Items with the first lane that is free when they begin, for slices of one track must not cross."""
    free: list[float] = []
    for start, end, item in sorted(spans, key=lambda s: (s[0], -s[1])):
        lane = next((i for i, until in enumerate(free) if until <= start), len(free))
        if lane == len(free):
            free.append(end)
        free[lane] = end
        yield item, lane


def _slice(pid: int, tid: int, name: str, begin: int, end: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": begin, "dur": max(0, end - begin), "args": args}


def _counters(capture: Capture, pid: int, zero: float) -> Iterator[dict[str, Any]]:
    """Counter samples; a value that stays is told once and again just before it changes."""
    frame = without_boot_averages(capture)
    shift = (capture.clock.offset_s or 0.0) - zero
    groups = [(None, frame)]
    if "device" in frame.columns:
        groups = [(d, g) for (d,), g in frame.group_by("device", maintain_order=True)]
    for device, part in groups:
        times = part["t_s"].to_list()
        for metric in metrics_of(part):
            name = metric if device is None or len(groups) == 1 else f"{metric}[{device}]"
            last: tuple[float, float] | None = None
            held = False
            for t, value in zip(times, part[metric].to_list(), strict=True):
                if t is None or value is None or value != value:
                    continue
                if last is not None and value == last[1]:
                    last, held = (t, value), True
                    continue
                if last is not None and held:
                    yield _count(pid, name, last[0] + shift, last[1])
                yield _count(pid, name, t + shift, value)
                last, held = (t, value), False
            if last is not None and held:
                yield _count(pid, name, last[0] + shift, last[1])


def _count(pid: int, name: str, time: float, value: float) -> dict[str, Any]:
    return {"ph": "C", "pid": pid, "name": name, "ts": _us(time), "args": {"value": round(float(value), 3)}}

"""From what a log tells about times to phases (load, reading, writing, idle) and the start and end of each request.

A run may carry stamps (requests with ``start_s``/``end_s``, ``run.start_s``/``run.end_s``), or only durations. Where
stamps are absent the known durations are laid end to end from 0, in the order the program did the work; such a run
gets ``facts["times"] == "laid out"`` and its times are good for lengths, not for moments.
"""

from __future__ import annotations

from loganalyze.model.records import Phase, Request, Run

LAID_OUT = "laid out"
# Time that llama.cpp programs spend before the first load line (process start, driver context). Runs on one and two
# H200 cards printed the first load line 0.01 to 0.55 s after their start.
STARTUP_S = 0.4
# Own stamps that begin later than this after the process: the head of the log is missing.
LATE_S = 30.0
# Below this a gap between phases is bookkeeping, not waiting.
MIN_IDLE_S = 0.05


def fill_phases(run: Run) -> None:
    """Give every request of ``run`` a start and end where they follow from the figures, and ``run`` its phases.

    Phases that a reader already gave are kept. Requests without any time stay without phases.
    """
    if run.phases:
        return
    if _has_stamps(run):
        _complete_from_stamps(run)
    else:
        _lay_out(run)
    phases = [phase for request in run.requests for phase in _request_phases(request, run)]
    load = _load_phase(run)
    run.phases = sorted([*load, *phases, *_idle(load + phases, run)], key=lambda p: (p.start_s, p.end_s))


def _has_stamps(run: Run) -> bool:
    stamped = any(r.start_s is not None or r.end_s is not None for r in run.requests)
    return stamped or (run.clock.kind in ("relative", "absolute") and run.start_s is not None)


def seconds(ms: float | None) -> float | None:
    """Finite, non-negative milliseconds as seconds."""
    if ms is None or not 0 <= ms < 1e12:
        return None
    return ms / 1000


def request_seconds(request: Request) -> float | None:
    """Length of a request: its total, else the sum of its halves."""
    total = seconds(request.total_ms)
    if total is not None and total > 0:
        return total
    halves = [s for s in (seconds(request.prompt_ms), seconds(request.eval_ms)) if s is not None]
    return sum(halves) if halves else None


def _complete_from_stamps(run: Run) -> None:
    # A program that prints its figures once, at exit: the last stamp ends the only request.
    if len(run.requests) == 1 and run.requests[0].start_s is None and run.requests[0].end_s is None:
        run.requests[0].end_s = run.end_s
    for request in run.requests:
        if request.start_s is not None and request.end_s is not None and request.end_s < request.start_s:
            # A clock set back meanwhile: the end is the nearer to the figures printed with it.
            request.start_s = None
        halves = [s for s in (seconds(request.prompt_ms), seconds(request.eval_ms)) if s is not None]
        length = sum(halves) if halves else request_seconds(request)
        total = _fitting_total(request, run)
        length = total if total is not None else length
        if request.end_s is not None and request.start_s is None and length is not None:
            request.start_s = min(_not_before(request.end_s - length, run.start_s), request.end_s)
        elif request.start_s is not None and request.end_s is None and length is not None:
            request.end_s = request.start_s + length


def _fitting_total(request: Request, run: Run) -> float | None:
    """Total of a request unless it spans more than the request (load, user's thinking time)."""
    total = seconds(request.total_ms)
    work = sum(s for s in (seconds(request.prompt_ms), seconds(request.eval_ms)) if s is not None)
    if total is None or work <= 0 or total < work:
        return None
    return total if total <= work * 1.25 + 0.25 else None


def _not_before(value: float, floor: float | None) -> float:
    return value if floor is None else max(value, floor)


def _request_phases(request: Request, run: Run) -> list[Phase]:
    start, end = request.start_s, request.end_s
    if start is None or end is None or end < start:
        return []
    prompt, write = seconds(request.prompt_ms), seconds(request.eval_ms)
    if prompt is None and write is None:
        first = seconds(request.ttft_ms)
        if first is None:
            return [Phase("writing", start, end, request.id, request.source)] if request.samples else []
        prompt = first
    # Halves are counted from the end when a stamp closes the request: what precedes them was waiting in a queue.
    split = end - write if write is not None else start + (prompt or 0.0)
    split = min(max(split, start), end)
    begin = start if prompt is None else min(max(split - prompt, start), split)
    if run.facts.get("times") == LAID_OUT or _is_only_summary(request, run):
        begin, split = start, min(start + (prompt or 0.0), end)
    found = []
    if split > begin:
        found.append(Phase("reading", begin, split, request.id, request.source))
    if end > split:
        found.append(Phase("writing", split, end, request.id, request.source))
    return found


def _is_only_summary(request: Request, run: Run) -> bool:
    """Figures of a whole process: what its total holds beside the halves (sampling) is spread over the writing."""
    return len(run.requests) == 1 and request.slot is None and request.total_ms is not None


def _load_phase(run: Run) -> list[Phase]:
    source = run.source.path if run.source else None
    first = min((r.start_s for r in run.requests if r.start_s is not None), default=None)
    length = seconds(run.load_ms)
    if run.facts.get("times") == LAID_OUT:
        begin = STARTUP_S
        end = first if first is not None else (begin + length if length is not None else None)
    elif not _tells_load(run):
        return []
    else:
        begin = run.start_s if run.start_s is not None else 0.0
        end = begin + length if length is not None else (first if first is not None else run.end_s)
        if first is not None and end is not None:
            end = min(end, first)
    if end is None or end <= begin:
        return []
    return [Phase("load", begin, end, None, source)]


def _tells_load(run: Run) -> bool:
    """False for a log that begins in the middle of a run, so that its first lines are no loading."""
    if run.load_ms is not None or run.memory or run.setup.model_path is not None or run.version is not None:
        return True
    return run.clock.kind == "relative" and (run.start_s or 0.0) < LATE_S


def _idle(busy: list[Phase], run: Run) -> list[Phase]:
    """Gaps between the given phases, but for those where requests were at work that are kept as sums only."""
    gaps: list[Phase] = []
    first, last = run.facts.get("folded_from_s", float("inf")), run.facts.get("folded_to_s", float("-inf"))
    reached: float | None = None
    for phase in sorted(busy, key=lambda p: p.start_s):
        if (
            reached is not None
            and phase.start_s - reached > MIN_IDLE_S
            and not (first < phase.start_s and reached < last)
        ):
            gaps.append(Phase("idle", reached, phase.start_s, None, phase.source))
        reached = phase.end_s if reached is None else max(reached, phase.end_s)
    return gaps


def _lay_out(run: Run) -> None:
    """Durations end to end: start-up, load, then each request; those of several slots in the order of their lines."""
    lengths = [_work_seconds(r, run) for r in run.requests]
    if seconds(run.load_ms) is None and not any(lengths):
        return
    run.facts["times"] = LAID_OUT
    base = STARTUP_S + pure_load_s(run)
    done: list[tuple[int, int | None, float]] = []
    for at in sorted(range(len(lengths)), key=lambda i: _last_line(run.requests[i])):
        request, length = run.requests[at], lengths[at]
        if length is None:
            continue
        begun = _first_line(request)
        # Begun after all requests that ended above its first line; without such a line, after those of its slot.
        before = [end for line, slot, end in done if (line < begun if begun is not None else slot == request.slot)]
        request.start_s = max(before, default=base)
        request.end_s = request.start_s + length
        done.append((_last_line(request), request.slot, request.end_s))
    run.start_s, run.end_s = 0.0, max([base, *(end for _, _, end in done)])


def delay(run: Run, load_s: float) -> None:
    """Put ``load_s`` seconds of loading before all that was laid out."""
    for request in run.requests:
        if request.start_s is not None and request.end_s is not None:
            request.start_s += load_s
            request.end_s += load_s
    for phase in run.phases:
        phase.start_s += load_s
        phase.end_s += load_s
    if run.end_s is not None:
        run.end_s += load_s
    if load_s > 0:
        source = run.source.path if run.source else None
        run.phases.insert(0, Phase("load", STARTUP_S, STARTUP_S + load_s, None, source))


def _work_seconds(request: Request, run: Run) -> float | None:
    total = _fitting_total(request, run)
    work = [s for s in (seconds(request.prompt_ms), seconds(request.eval_ms)) if s is not None]
    return total if total is not None else (sum(work) if work else request_seconds(request))


def _last_line(request: Request) -> int:
    return max([request.line, *request.lines.values()])


def _first_line(request: Request) -> int | None:
    """Line at which a request was begun; None when only its closing lines are known."""
    first = min(request.lines.values(), default=request.line)
    if request.slot is None:
        return request.line
    return request.line if request.line < first else None


def pure_load_s(run: Run) -> float:
    """Seconds of loading before the first request.

    ``load time`` of llama.cpp runs until the end of the first evaluation. Since warm-up runs exist that is before the
    first prompt and outside ``total time``; without warm-up it includes the first prompt, and ``total time`` includes
    it. The total tells which: what it holds beside the halves and the sampling is either nothing, the load, or the
    load less the prompt.
    """
    load = seconds(run.load_ms)
    if load is None:
        return 0.0
    request = run.requests[0] if run.requests else None
    prompt = seconds(request.prompt_ms) if request else None
    total = seconds(request.total_ms) if request else None
    if request is None or not prompt or total is None or load < prompt:
        return load
    known = prompt + (seconds(request.eval_ms) or 0.0) + (seconds(request.sampling_ms) or 0.0)
    rest = total - known
    choices = {"outside": 0.0, "inside": load, "with prompt": load - prompt}
    nearest = min(choices, key=lambda name: abs(rest - choices[name]))
    return load - prompt if nearest == "with prompt" and choices[nearest] < 0.9 * load else load

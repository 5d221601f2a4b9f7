"""The common axis of a picture: its zero in words, its range, stretches of work on it, and the marks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from loganalyze.model.records import Phase, Request, Run
from loganalyze.reports import series, units

EPOCH = 1e9
"""Offsets from here on are wall time (2001 and later); smaller ones count from a zero that the sources share."""


@dataclass(slots=True)
class Stretch:
    """Reading, writing, load or idle time of a request, in seconds on the drawn axis; ``tps`` where it is a rate."""

    kind: str
    start: float
    end: float
    lane: int | None = None
    request: str | None = None
    tps: float | None = None
    tokens: int | None = None


@dataclass(slots=True)
class Axis:
    """Range ``t0..t1`` in seconds after ``origin`` (a point on the common axis, None when nothing shares one)."""

    origin: float | None
    t0: float
    t1: float
    shift: float | None
    """Seconds from the log's own zero to the drawn axis, None when the log cannot be placed beside its captures."""
    title: str

    @property
    def span(self) -> float:
        """Seconds drawn."""
        return self.t1 - self.t0


def axis_of(run: Run) -> Axis | None:
    """The axis of ``run``, None when neither log nor captures carry a usable clock."""
    clocks = [run.clock, *(capture.clock for capture in run.captures)]
    known = [clock.offset_s for clock in clocks if clock.offset_s is not None]
    own = run.clock.offset_s
    origin = own + (run.start_s or 0.0) if own is not None else min(known) if known else None
    shift = series.placed(run.clock, origin)
    if shift is None and not known:
        return None
    ends = _log_ends(run, shift)
    captured = series.span(run, origin)
    if captured is not None:
        ends += list(captured) if shift is None or not ends else _near(captured, ends)
    if len(ends) < 2 or max(ends) - min(ends) <= 0:
        return None
    t0, t1 = min(ends), max(ends)
    pad = 0.01 * (t1 - t0)
    return Axis(origin, t0 - pad, t1 + pad, shift if _has_times(run) else None, _title(run, origin))


def stretches(run: Run, axis: Axis) -> list[Stretch]:
    """Phases of the run on the axis, by start; from its requests where the timeline made none."""
    if axis.shift is None:
        return []
    requests = {request.id: request for request in run.requests}
    found = run.phases or _phases(run)
    out = []
    for phase in found:
        request = requests.get(phase.request or "")
        half = None if request is None else _half(phase.kind, request)
        out.append(
            Stretch(
                phase.kind, phase.start_s + axis.shift, phase.end_s + axis.shift,
                None if request is None else request.slot, phase.request,
                None if half is None else half[0], None if half is None else half[1],
            )
        )  # fmt: skip
    return sorted((s for s in out if s.end >= s.start), key=lambda s: (s.start, s.end))


def lanes(found: list[Stretch]) -> list[list[Stretch]]:
    """Requests beside each other where they overlap: by slot when the log names it, else the first free lane."""
    whole: dict[str, list[Stretch]] = {}
    for stretch in found:
        if stretch.request is not None:
            whole.setdefault(stretch.request, []).append(stretch)
    slots = {group[0].lane for group in whole.values()}
    if whole and None not in slots:
        numbers = sorted(slot for slot in slots if slot is not None)
        out: list[list[Stretch]] = [[] for _ in numbers]
        for group in whole.values():
            out[numbers.index(group[0].lane or 0)] += group
        return out
    out = []
    ends: list[float] = []
    for group in sorted(whole.values(), key=lambda g: g[0].start):
        lane = next((i for i, end in enumerate(ends) if end <= group[0].start + 1e-6), len(ends))
        if lane == len(ends):
            out.append([])
            ends.append(0.0)
        out[lane] += group
        ends[lane] = group[-1].end
    return out


def clock_error(run: Run, axis: Axis) -> tuple[float, str] | None:
    """Largest clock error against the log and the source that has it, when it is over 1 % of the drawn span."""
    own = run.clock.error_s or 0.0
    worst = [(own + (c.clock.error_s or 0.0), c.source.path) for c in run.captures if c.clock.offset_s is not None]
    if not worst or not _has_times(run):
        return None
    error, path = max(worst)
    return (error, path) if error > 0.01 * axis.span else None


def unplaced(run: Run, axis: Axis | None) -> list[str]:
    """What could not be put on the axis, in words."""
    out = []
    if axis is not None and axis.shift is None and run.requests:
        out.append("the log carries no clock that could be tied to the captures: its phases are not drawn")
    drawable = [c for c in run.captures if c.kind in ("gpu", "host") and c.frame is not None]
    lost = [base(c.source.path) for c in drawable if axis is None or series.placed(c.clock, axis.origin) is None]
    if lost:
        out.append("without a usable clock, not drawn: " + ", ".join(sorted(set(lost))))
    return out


def _half(kind: str, request: Request) -> tuple[float | None, int | None] | None:
    if kind == "reading":
        return request.prompt_tps, request.prompt_tokens
    if kind == "writing" and not request.end_to_end_tps:
        return request.eval_tps, request.eval_tokens or request.output_tokens
    return None


def _half_start(request: Request, half: str) -> float | None:
    if request.start_s is None or half == "reading":
        return request.start_s
    return request.start_s + (request.prompt_ms or 0.0) / 1000


def _phases(run: Run) -> list[Phase]:
    out = []
    for request in run.requests:
        if request.start_s is None:
            continue
        at = request.start_s
        for kind, length in (("reading", request.prompt_ms), ("writing", request.eval_ms)):
            if length is not None:
                out.append(Phase("reading" if kind == "reading" else "writing", at, at + length / 1000, request.id))
                at += length / 1000
    return out


def _has_times(run: Run) -> bool:
    return bool(run.phases) or any(request.start_s is not None for request in run.requests)


def _log_ends(run: Run, shift: float | None) -> list[float]:
    if shift is None or not _has_times(run):
        return []
    found = run.phases or _phases(run)
    ends = [t for phase in found for t in (phase.start_s, phase.end_s)]
    ends += [t for t in (run.start_s, run.end_s) if t is not None]
    return [t + shift for t in ends]


def _near(captured: tuple[float, float], ends: list[float]) -> list[float]:
    """Captures that ran for hours around a short run must not squeeze it: a fifth of its length on each side stays."""
    room = max(2.0, 0.2 * (max(ends) - min(ends)))
    low, high = max(captured[0], min(ends) - room), min(captured[1], max(ends) + room)
    return [low, high] if low < high else []


def _title(run: Run, origin: float | None) -> str:
    if run.clock.offset_s is not None and _has_times(run):
        name = run.source.path if run.source is not None else run.id
        words = f"seconds since the start of {base(name)}"
    else:
        words = "seconds" if origin is None else "seconds since the first sample"
    if origin is None or origin < EPOCH or origin > 4e9:
        return words
    return f"{words} at {datetime.fromtimestamp(origin, UTC):%Y-%m-%d %H:%M:%S} UTC"


def base(path: str) -> str:
    """The last part of a path of any system."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def error_text(error: tuple[float, str]) -> str:
    """``clocks agree within ± 1.0 s (vmstat.txt)``."""
    return f"clocks agree within ± {units.seconds(error[0])} ({base(error[1])})"


def sampled(run: Run, axis: Axis) -> list[Stretch]:
    """Progress and rate lines of requests as stretches with the rate of their own window."""
    if axis.shift is None:
        return []
    out = []
    for request in run.requests:
        before: dict[str, tuple[float, int | None]] = {}
        for sample in request.samples:
            if sample.t_s is None:
                continue
            start = before.get(sample.half, (_half_start(request, sample.half), 0))
            tps = sample.window_tps
            if start[0] is not None and tps is None and sample.t_s > start[0] and None not in (sample.tokens, start[1]):
                tps = ((sample.tokens or 0) - (start[1] or 0)) / (sample.t_s - start[0])
            if start[0] is not None and tps is not None and tps > 0 and sample.t_s >= start[0]:
                out.append(
                    Stretch(sample.half, start[0] + axis.shift, sample.t_s + axis.shift, request.slot, request.id, tps)
                )
            before[sample.half] = (sample.t_s, sample.tokens)
    return out

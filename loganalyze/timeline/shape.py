"""What a run must look like in a curve: stretches of log time, and the levels each kind of curve may show in them.

A *zone* is a stretch of log time with a *level*: the range a curve scaled to 0..1 should keep to, how far it may stray
(``sigma``) and the most that one row may cost (``cap``). Costs are negative log likelihoods.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from loganalyze.model.records import Run
from loganalyze.timeline.phases import LAID_OUT, STARTUP_S

# More stretches than this say nothing more about the offset and cost time.
MAX_ACTIVE = 60
# Seconds between the last line and the end of the process: 0.1 to 0.7 on H200 cards.
EXIT_S = 0.75
# Share of the run's memory in use while it loads (buffers are taken early, filled afterwards) and while it exits
# (freed at once).
RISE = (0.8, 0.9, 0.95, 1.0, 1.0)
FALL = (0.2, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Level:
    """Range ``lo``..``hi`` of a scaled curve, spread ``sigma`` beyond it, highest cost ``cap`` of one row."""

    lo: float
    hi: float
    sigma: float = 0.08
    cap: float = 4.5
    base: float = 0.0
    """Cost of every row: what explains anything explains nothing."""


OUT = Level(0.0, 0.03)
QUIET = Level(0.0, 0.15, 0.12)
FREE = Level(0.0, 1.0)
FULL = Level(0.7, 1.0, 0.12)
STAYED = Level(0.0, 1.0, base=0.3)
ACTIVE = Level(0.15, 1.0, 0.08)
IDLE = Level(0.0, 0.4, 0.15, 2.0)


@dataclass(slots=True)
class Shape:
    """Times of a run on its own clock: process start, model ready, work, last line, and how sure the edges are."""

    start: float
    ready: float | None
    active: list[tuple[float, float]] = field(default_factory=list)
    end: float = 0.0
    gone: float = 0.0
    """When the process is gone at the latest."""
    slack: float = 0.0
    load: float | None = None
    """When loading began."""
    begun: bool = True
    """False when the log begins in the middle of the process's life."""
    ended: bool = True
    """False when nothing says that the process ended with its log: servers stay, logs are cut."""


Zone = tuple[float, Level]
"""A zone begins at the time given and reaches to the next one."""


def shape_of(run: Run, wall_s: float | None = None) -> Shape | None:
    """Shape of ``run`` from its phases; None when it has none. ``wall_s``: the process's whole length, if measured."""
    if not run.phases:
        return None
    loads = [p for p in run.phases if p.kind == "load"]
    work = sorted((p.start_s, p.end_s) for p in run.phases if p.kind in ("reading", "writing"))
    end = max([p.end_s for p in run.phases] + ([run.end_s] if run.end_s is not None else []))
    first = min(p.start_s for p in run.phases)
    # Own clocks of programs start with the process; stamps of a wrapper with its first line.
    own = run.clock.kind in ("relative", "none") and bool(loads)
    start = min(0.0 if own else first - 0.2, first)
    shape = Shape(start=start, ready=None, active=_merged(work), end=end, gone=end + EXIT_S, begun=bool(loads))
    if loads:
        shape.load = loads[0].start_s
        shape.ready = work[0][0] if work else loads[-1].end_s
    elif work:
        shape.ready = work[0][0]
    shape.ended = _ended(run)
    if run.facts.get("times") == LAID_OUT:
        shape.slack = STARTUP_S
    if wall_s is not None and end - start < wall_s < end - start + 30:
        shape.gone, shape.ended = start + wall_s + 0.15, True
        if run.facts.get("times") == LAID_OUT:
            _spread(shape, wall_s)
    return shape


def _ended(run: Run) -> bool:
    """True when the log tells the end of the process: its summary, its status, its death."""
    if run.exit_status is not None or any(e.kind in ("exit", "killed", "load_failed") for e in run.events):
        return True
    return len(run.requests) == 1 and run.requests[0].slot is None and run.load_ms is not None


def lingering(shape: Shape) -> Shape:
    """``shape`` of a process that lives on after the last line of its log, for how long is unknown."""
    return replace(shape, gone=float("inf"), ended=True)


def _spread(shape: Shape, wall_s: float) -> None:
    """Laid-out times are moved so that what the process spent beside them is half start-up and half exit."""
    rest = wall_s - (shape.end - shape.start)
    move = rest / 2
    shape.slack = max(0.2, min(move, 0.5))
    shape.active = [(a + move, b + move) for a, b in shape.active]
    shape.end += move
    shape.ready = None if shape.ready is None else shape.ready + move
    shape.load = None if shape.load is None else shape.load + move


def _merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for a, b in spans:
        if merged and a <= merged[-1][1] + 1e-9:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        else:
            merged.append((a, b))
    return _fewer(merged, MAX_ACTIVE)


def _fewer(spans: list[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """Join across the smallest gaps until at most ``most`` spans are left."""
    if len(spans) <= most:
        return spans
    gaps = sorted(range(len(spans) - 1), key=lambda i: spans[i + 1][0] - spans[i][1])
    joined = set(gaps[: len(spans) - most])
    result = [spans[0]]
    for i, span in enumerate(spans[1:]):
        if i in joined:
            result[-1] = (result[-1][0], span[1])
        else:
            result.append(span)
    return result


def memory_zones(shape: Shape, window: float, slack: float) -> list[Zone]:
    """Memory of the run: none before it, rising while it loads, held, gone soon after the last line."""
    soft = slack + shape.slack
    zones: list[Zone] = [(float("-inf"), OUT if shape.begun else FREE), (shape.start - slack, FREE)]
    if shape.ready is not None:
        begun = shape.start if shape.load is None else min(shape.load, shape.ready)
        zones += _course(shape.start - slack, begun, (0.0,))
        zones += _course(begun, shape.ready, RISE)
        zones += [(shape.ready + soft + 0.1, FULL)]
    if shape.gone == float("inf"):
        return [*zones, (max(shape.end - soft, zones[-1][0]), STAYED)]
    zones += [(max(shape.end - soft, zones[-1][0]), FREE)]
    zones += _course(shape.end, max(shape.gone, shape.end + 0.1), FALL)
    zones += [(max(shape.gone, shape.end) + slack, OUT)]
    return zones


def _course(start: float, end: float, levels: tuple[float, ...]) -> list[Zone]:
    """A change whose course is only roughly known: the mildest of preferences, in equal steps."""
    width = max(end - start, 0.0) / len(levels)
    return [(start + i * width, Level(max(y - 0.15, 0.0), min(y + 0.15, 1.0), 0.5, 1.5)) for i, y in enumerate(levels)]


def activity_zones(shape: Shape, window: float, slack: float) -> list[Zone]:
    """Use of a processor: quiet outside the run, anything while it loads, busy while it reads or writes.

    A row tells of the ``window`` seconds before it, so edges blur by that much.
    """
    soft = slack + shape.slack
    zones: list[Zone] = [(float("-inf"), QUIET if shape.begun else IDLE), (shape.start - slack, FREE)]
    for a, b in shape.active:
        if zones[-1][1] is FREE and len(zones) > 2 and a - soft > zones[-1][0] + window:
            zones.append((zones[-1][0] + window, IDLE))
            zones.append((a - soft, FREE))
        if b - soft > a + window + soft:
            zones.append((a + window + soft, ACTIVE))
            zones.append((b - soft, FREE))
    last = max(shape.end + window + soft, zones[-1][0])
    if shape.gone == float("inf"):
        return [*zones, (last, STAYED)]
    return [*zones, (max(last, shape.gone + window), QUIET)]


def inside_zones(shape: Shape, window: float, slack: float) -> list[Zone]:
    """Traffic that only the run makes: nothing outside it, anything within."""
    stays = shape.gone == float("inf")
    return [
        (float("-inf"), QUIET if shape.begun else FREE),
        (shape.start - slack, FREE),
        (max(shape.end if stays else shape.gone, shape.end) + window + slack + shape.slack, STAYED if stays else QUIET),
    ]

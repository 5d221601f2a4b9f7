"""Alignment by the signal, applied: runs without wall time onto placed captures, captures without clock onto runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from loganalyze.model.records import Capture, Run
from loganalyze.timeline.clocks import settle
from loganalyze.timeline.curves import Curve, curves
from loganalyze.timeline.phases import LAID_OUT, STARTUP_S, delay
from loganalyze.timeline.posterior import Fit, agree, evidence
from loganalyze.timeline.shape import Shape, shape_of
from loganalyze.timeline.signal import fit

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

# Seconds between rows where a tool does not say: what people type for vmstat, dmon and nvidia-smi nearly always.
USUAL_S = 1.0
# Other intervals in use, with the nats that they must be better by.
OTHERS = {2.0: 6.0, 5.0: 6.0, 0.5: 6.0, 10.0: 7.0, 0.1: 7.0, 0.2: 7.0}
# Loops sleep between samples, so that a second lasts 1.003 to 1.012 s; it shows only in long captures.
DRIFTS = (1.0, 1.002, 1.004, 1.006, 1.009, 1.012)
DRIFT_ROWS = 300
# Nats that a fit may cost, and that another must be better by.
POOR = 3.0
# A drift that is this much worse than a smaller one leads away from the truth.
AWAY = 30.0
# Lengths of load that are tried where a log tells none.
LOADS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0, 60.0, 90.0)
# Captures whose lengths differ by no more intervals than this were begun and ended together.
SAME_LENGTH = 1.5


@dataclass(slots=True)
class Trial:
    """One capture against a run: its interval, its curves and their place."""

    capture: Capture
    interval_s: float
    fit: Fit
    scale: float = 1.0

    @property
    def rows(self) -> int:
        frame = self.capture.frame
        return 0 if frame is None or not frame.height else int(frame["row"].max()) + 1  # type: ignore[arg-type]


def interval_of(capture: Capture) -> float:
    """Seconds between ticks: stated, measured from stamps, or the usual."""
    if capture.clock.interval_s:
        return capture.clock.interval_s
    return measured_interval(capture) or USUAL_S


def measured_interval(capture: Capture) -> float | None:
    """Mean time between ticks by the stamps; None without them."""
    frame = capture.frame
    if frame is None or frame.height < 2:
        return None
    row, t_s = frame["row"], frame["t_s"]
    known = t_s.is_finite()
    if not known.all(ignore_nulls=False):
        row, t_s = row.filter(known), t_s.filter(known)
    if len(t_s) < 2:
        return None
    rows = int(row.max()) - int(row.min())  # type: ignore[arg-type]
    span = float(t_s.max()) - float(t_s.min())  # type: ignore[arg-type]
    return span / rows if rows > 0 and span > 0 else None


def place_run(run: Run, captures: list[Capture], wall_s: float | None, after_s: float | None = None) -> bool:
    """Place ``run`` by all ``captures``, which are placed. ``after_s``: the run started no earlier than that."""
    shape = shape_of(run, wall_s)
    if shape is None or not captures:
        return False
    base = min(c.clock.offset_s for c in captures if c.clock.offset_s is not None)
    found: list[Curve] = []
    for capture in captures:
        found += _moved(capture, base, run)
    if not found:
        return False
    step = min(interval_of(c) for c in captures)
    earliest = None if after_s is None else after_s - base
    if earliest is not None:
        found = [later for curve in found if (later := _from(curve, earliest)) is not None]
    shape = _with_load(run, shape, found, step, wall_s)
    result = fit(found, shape, step, earliest_s=earliest)
    if result.offset_s is None:
        run.clock.notes.append(f"not placed by its captures: {result.refused}")
        return False
    error = (
        max(result.error_s or 0.0, step / 2)
        + (run.clock.error_s or 0.0)
        + min(c.clock.error_s or 0.0 for c in captures)
    )
    settle(run.clock, base - result.offset_s, "signal: " + ", ".join(result.names), error)
    return True


def _telling(capture: Capture) -> int:
    """How much a capture tells of loading: memory and use together tell when it ended."""
    columns = capture.frame.columns if capture.frame is not None else []
    return sum(name in columns for name in ("vram_used_mib", "gpu_util_pct", "power_w"))


def load_unknown(run: Run) -> bool:
    """True when only the lengths of requests are known, and not how long the program loaded before them."""
    laid_out = run.facts.get("times") == LAID_OUT
    return laid_out and run.load_ms is None and not any(p.kind == "load" for p in run.phases)


def _with_load(run: Run, shape: Shape, found: list[Curve], step_s: float, wall_s: float | None) -> Shape:
    """``shape``, after ``run`` got the length of load that fits the curves, if it has none."""
    if not load_unknown(run) or not found:
        return shape
    import numpy as np

    # A capture begun before the run saw all of its load; short loads are likelier than long ones.
    longest = max(float(c.t[-1] - c.t[0]) for c in found)
    lengths = np.array([n for n in LOADS if n <= max(longest - shape.end + shape.start, 1.0)])
    told = np.array([evidence(fit(found, _loaded_for(shape, float(n)), step_s)) for n in lengths])
    weights = np.exp(told - told.max()) * np.gradient(lengths) / (1.0 + lengths)
    weights /= weights.sum()
    length = float((weights * lengths).sum())
    spread = float(np.sqrt((weights * (lengths - length) ** 2).sum()))
    delay(run, length)
    run.clock.error_s = (run.clock.error_s or 0.0) + 2 * spread
    run.clock.notes.append(f"the log does not tell how long it loaded: {length:.1f} s found by matching its captures")
    return replace(_loaded_for(shape, length), ended=shape.ended)


def _loaded_for(shape: Shape, length: float) -> Shape:
    """``shape`` with ``length`` seconds of load before its work. Its end is taken as known: else any length fits."""
    return replace(
        shape,
        load=STARTUP_S,
        ready=(shape.ready or STARTUP_S) + length,
        active=[(a + length, b + length) for a, b in shape.active],
        end=shape.end + length,
        gone=shape.gone + length,
        ended=True,
    )


def _from(curve: Curve, start_s: float) -> Curve | None:
    """``curve`` without the rows before ``start_s``, which tell of earlier runs."""
    keep = curve.t >= start_s
    return replace(curve, t=curve.t[keep], y=curve.y[keep], sums={}, _regular=None) if keep.sum() >= 2 else None


def _moved(capture: Capture, base: float, run: Run) -> list[Curve]:
    """Curves in seconds from ``base``. Whole-second stamps are floors: their middle is meant, give or take half."""
    assert capture.clock.offset_s is not None
    rounding = capture.clock.resolution_s or 0.0
    rounding = rounding if rounding >= 0.1 else 0.0
    found = curves(capture, interval_of(capture), run)
    for curve in found:
        curve.t = curve.t + (capture.clock.offset_s - base + rounding / 2)
        curve.slack = rounding / 2
    return found


def place_captures(
    run: Run,
    loose: list[Capture],
    placed: list[Capture],
    wall_s: float | None,
    expected: dict[int, tuple[float, float]],
) -> list[Capture]:
    """Place the ``loose`` captures on ``run``'s clock and return those that could not be.

    ``placed`` captures help where they were begun and ended together with a loose one. ``expected``: ``id(capture)`` ->
    offset on the run's clock and its spread, from file times.
    """
    shape = shape_of(run, wall_s)
    if shape is None or run.clock.offset_s is None:
        return loose
    if load_unknown(run):
        best = max(loose, key=_telling)
        step = interval_of(best)
        shape = _with_load(run, shape, curves(best, step, run), step, wall_s)
    trials = [_try(c, shape, run, expected.get(id(c))) for c in loose]
    _agree(trials, placed, run)
    left = []
    for trial in trials:
        if trial.fit.offset_s is None:
            trial.capture.clock.notes.append(f"not placed by the signal: {trial.fit.refused}")
            left.append(trial.capture)
        else:
            _settle_trial(trial, run)
    return left


def _try(capture: Capture, shape: Shape, run: Run, prior: tuple[float, float] | None) -> Trial:
    stated = capture.clock.interval_s or measured_interval(capture)
    interval = stated or USUAL_S
    best = Trial(capture, interval, fit(curves(capture, interval, run), shape, interval, prior))
    if stated is None and _unexplained(best.fit):
        best = _other_interval(best, shape, run, prior)
    if best.rows >= DRIFT_ROWS and best.fit.cost > POOR and measured_interval(capture) is None:
        best = _drifting(best, shape, run, prior)
    return best


def _unexplained(found: Fit) -> bool:
    """True when no place fits. Several places that fit are no reason to doubt the interval."""
    return found.offsets is not None and found.cost > POOR


def _other_interval(usual: Trial, shape: Shape, run: Run, prior: tuple[float, float] | None) -> Trial:
    best, best_evidence = usual, evidence(usual.fit)
    for interval, handicap in OTHERS.items():
        found = fit(curves(usual.capture, interval, run), shape, interval, prior, beat=best.fit.cost)
        told = evidence(found) - handicap
        sharp = found.error_s is not None and found.error_s <= max(interval, 1.5)
        if sharp and told > best_evidence:
            best, best_evidence = Trial(usual.capture, interval, found), told
    return best


def _drifting(steady: Trial, shape: Shape, run: Run, prior: tuple[float, float] | None) -> Trial:
    best, best_evidence = steady, evidence(steady.fit) + POOR
    near = _peak(steady, (DRIFTS[-1] - 1) * steady.rows * steady.interval_s + 5 * steady.interval_s)
    for scale in DRIFTS[1:]:
        drifted = curves(steady.capture, steady.interval_s, run, scale)
        found = fit(drifted, shape, steady.interval_s, prior, around=near)
        told = evidence(found)
        if found.offset_s is not None and told > best_evidence:
            best, best_evidence = Trial(steady.capture, steady.interval_s, found, scale), told
        elif told < best_evidence - AWAY:
            break
    return best


def _peak(trial: Trial, reach: float) -> tuple[float, float] | None:
    """The most likely offset, as far as rows can have drifted from it."""
    found = trial.fit
    if found.offsets is None or found.weights is None:
        return None
    return float(found.offsets[int(found.weights.argmax())]), reach


def _agree(trials: list[Trial], placed: list[Capture], run: Run) -> None:
    """Captures of the same length, begun and ended together, sharpen each other."""
    assert run.clock.offset_s is not None
    fixed = []
    for capture in placed:
        span, offset = measured_interval(capture), capture.clock.offset_s
        if span is not None and offset is not None and capture.frame is not None:
            rounding = capture.clock.resolution_s or 0.0
            length = span * int(capture.frame["row"].max())  # type: ignore[arg-type]
            fixed.append((length, offset + rounding / 2 - run.clock.offset_s))
    own = [t.fit for t in trials]
    for i, trial in enumerate(trials):
        length = (trial.rows - 1) * trial.interval_s
        reach = SAME_LENGTH * trial.interval_s
        others = [
            own[j]
            for j, other in enumerate(trials)
            if j != i and abs((other.rows - 1) * other.interval_s - length) <= reach
        ]
        known = [offset for span, offset in fixed if abs(span - length) <= reach]
        if others or known:
            trial.fit = agree(own[i], others, known, trial.interval_s)


def _settle_trial(trial: Trial, run: Run) -> None:
    clock = trial.capture.clock
    assert run.clock.offset_s is not None
    assert trial.fit.offset_s is not None
    if clock.interval_s is None and measured_interval(trial.capture) is None:
        clock.interval_s = trial.interval_s * trial.scale
        told = "assumed" if trial.interval_s == USUAL_S else "found by matching the run"
        clock.notes.append(f"the interval is not stated: {clock.interval_s:g} s {told}")
        if trial.scale != 1.0:
            clock.notes.append(f"rows come {100 * (trial.scale - 1):.1f} % late: the clock drifts")
        clock.kind = "interval"
    # A row tells of a moment within its interval and loops run late, so no match is better than that.
    error = max(trial.fit.error_s or 0.0, 1.25 * trial.interval_s) + (run.clock.error_s or 0.0)
    anchor = "signal: " + ", ".join(trial.fit.names)
    settle(clock, run.clock.offset_s + trial.fit.offset_s, anchor, error)

"""Rate changes inside a request and between requests.

From ``tg_3s`` windows where printed (2026-07 on), else from differences of the running count; engine interval lines
with the same number of requests do too. A step is one sudden change; a decline is gradual, as a growing context makes.
"""

from __future__ import annotations

from loganalyze.findings.measured.middle import median
from loganalyze.findings.measured.timing import Timing, written
from loganalyze.findings.thresholds import Thresholds
from loganalyze.light import dataclass
from loganalyze.model.records import RateSample, Request, Run


@dataclass(slots=True)
class Change:
    """``before`` and ``after`` in t/s. ``sudden`` is False for a gradual decline. ``lost_s`` is time above the old rate.

    ``t0_s``/``t1_s`` bound the slow stretch on the run's clock. ``recovers`` says that the rate came back.
    """

    request: str
    before: float
    after: float
    sudden: bool
    lost_s: float
    source: str
    line: int
    last_line: int
    t0_s: float | None = None
    t1_s: float | None = None
    recovers: bool = False

    @property
    def ratio(self) -> float:
        return self.after / self.before


@dataclass(slots=True)
class Window:
    """A stretch of one request: seconds, tokens and the line that told it."""

    seconds: float
    tps: float
    t_s: float | None
    tokens: int | None
    source: str
    line: int


def measure_changes(run: Run, timing: Timing, limits: Thresholds) -> list[Change]:
    """Changes of the writing rate, largest loss first."""
    found = []
    for request in run.requests:
        change = _inside(request, limits)
        if change is not None:
            found.append(change)
    if not found and len(run.requests) >= 4 and timing.streams_max == 1:
        between = _between(run.requests, limits)
        found += [between] if between else []
    if not run.requests:
        engine = _interval_windows(run)
        change = _split("all", engine, limits)
        found += [change] if change else []
    return sorted(found, key=lambda c: -c.lost_s)


def windows(request: Request, half: str = "writing") -> list[Window]:
    """Windows of ``request`` in time order: printed windows, else differences of running figures."""
    samples = [s for s in request.samples if s.half == half]
    out, before = [], (0.0, 0)
    for sample in samples:
        at = _progress(sample)
        if sample.window_tps is not None and sample.window_tps > 0:
            span = at[0] - before[0] if at and at[0] > before[0] else 3.0
            out.append(Window(span, sample.window_tps, sample.t_s, sample.tokens, sample.source, sample.line))
        elif at and at[0] > before[0] + 0.2 and at[1] > before[1]:
            rate = (at[1] - before[1]) / (at[0] - before[0])
            out.append(Window(at[0] - before[0], rate, sample.t_s, sample.tokens, sample.source, sample.line))
        before = at or before
    tail = _tail(request, before, half)
    return out + ([tail] if tail else [])


def _tail(request: Request, before: tuple[float, int], half: str) -> Window | None:
    """From the last sample to the end of writing: the closing lines tell it."""
    pair = written(request)
    if half != "writing" or pair is None or before[1] == 0:
        return None
    seconds, tokens = pair[1] / 1000 - before[0], pair[0] - before[1]
    if seconds < 1.0 or tokens < 1:
        return None
    return Window(seconds, tokens / seconds, request.end_s, pair[0], request.source,
                  request.lines.get("eval", request.line))  # fmt: skip


def _progress(sample: RateSample) -> tuple[float, int] | None:
    """Seconds and tokens since the request began to write."""
    if sample.tokens is None or not sample.tps or sample.tps <= 0:
        return None
    return sample.tokens / sample.tps, sample.tokens


def _inside(request: Request, limits: Thresholds) -> Change | None:
    return _split(request.id, windows(request), limits)


def _split(name: str, found: list[Window], limits: Thresholds) -> Change | None:
    """The split that separates fast from slow best, None when all windows are alike."""
    if len(found) < limits.drop_min_samples:
        return None
    rates = [w.tps for w in found]
    best: tuple[float, int] | None = None
    for cut in range(1, len(rates)):
        before, after = median(rates[:cut]), median(rates[cut:])
        score = (before - after) * min(cut, len(rates) - cut, 3)
        if before > after > 0 and (best is None or score > best[0]):
            best = (score, cut)
    if best is None:
        return None
    cut = best[1]
    before = median(rates[:cut])
    # the first slow window may stand before the best cut: take every window from the first one below the level on
    level = before * (1 + limits.drop_ratio) / 2
    slow = [i for i in range(1, len(rates)) if rates[i] < level]
    if not slow:
        return None
    after = median(rates[i] for i in slow)
    steps = [rates[i] / rates[i - 1] for i in range(1, len(rates))]
    sudden = min(steps) <= limits.drop_ratio or (min(steps) < 0.8 and after / before < limits.drop_ratio)
    if after / before > (limits.drop_ratio if sudden else limits.decline_ratio):
        return None
    lost = sum(found[i].seconds * (1 - rates[i] / before) for i in slow)
    first, last = found[slow[0]], found[slow[-1]]
    start = None if first.t_s is None else first.t_s - first.seconds
    return Change(
        name, before, after, sudden, lost, first.source, first.line, last.line, start, last.t_s,
        recovers=slow[-1] < len(rates) - 1,
    )  # fmt: skip


def _between(requests: list[Request], limits: Thresholds) -> Change | None:
    """Requests much slower than the rest, none of them sharing the card."""
    rated = [(r, p[0] / p[1] * 1000) for r in requests if (p := written(r)) and p[0] >= limits.rate_min_output_tokens]
    if len(rated) < 4:
        return None
    usual = median(rate for _, rate in rated)
    slow = [(r, rate) for r, rate in rated if rate < limits.outlier_ratio * usual]
    if not slow or len(slow) > len(rated) / 2:
        return None
    lost = sum((r.eval_ms or 0) / 1000 * (1 - rate / usual) for r, rate in slow)
    first, last = slow[0][0], slow[-1][0]
    return Change(
        first.id, usual, median(rate for _, rate in slow), True, lost, first.source, first.lines.get("eval", first.line),
        last.lines.get("eval", last.line), first.start_s, last.end_s, recovers=last is not rated[-1][0],
    )  # fmt: skip


def _interval_windows(run: Run) -> list[Window]:
    """Engine lines with as many requests as the line before: their sums can be compared."""
    out: list[Window] = []
    last = None
    for event in run.events:
        if event.kind != "throughput":
            continue
        gen, running, prompt = (event.data.get(k) for k in ("gen_tps", "running", "prompt_tps"))
        same = running == last and running
        last = running
        if same and isinstance(gen, int | float) and gen > 0 and not (prompt and prompt > 0):
            out.append(Window(10.0, float(gen), event.t_s, None, event.source, event.line))
    return out[1:]

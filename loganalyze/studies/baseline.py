"""Baseline: do runs of one fixed input agree closely enough to measure changes against?

Field-guide step 1: one fixed prompt, quantisation and output limit, nothing else on the card, three runs. Runs far
apart mean warm-up, cache or background load, which must go first; runs close together are a usable baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from loganalyze.findings.measured.middle import median
from loganalyze.model.records import Run
from loganalyze.studies.differences import differing
from loganalyze.studies.figures import METRIC_INFO, SETTING_LABELS, Figures, figures
from loganalyze.studies.spread import spread_pct

# Spread up to which runs count as one. The baselines base_8b and b6173_8b (H200, 8B) spread by 0.7 and 1.7 % in writing, by
# 23 and 7 % in total time, most of which is loading there, and by 1.7 and 25 % in the first token of a short prompt.
SPREAD_LIMIT_PCT = {"total_s": 25.0, "ttft_ms": 30.0, "reading_tps": 30.0, "writing_tps": 10.0, "vram_peak_mib": 5.0}
# A first token below this is not felt, and of short prompts it repeats badly: b6173_8b r1 to r3 read 230 tokens in 86 to 113 ms.
TTFT_FLOOR_MS = 500.0
MIN_RUNS = 3


@dataclass(slots=True)
class MetricSpread:
    """One figure over the runs."""

    name: str
    values: list[float | None]
    median: float
    spread_pct: float
    limit_pct: float
    ok: bool


@dataclass(slots=True)
class Baseline:
    """``usable`` with ``reason`` (one sentence) and ``advice``; ``refused`` when the runs are not of one input."""

    runs: list[Figures]
    usable: bool
    reason: str
    advice: str
    spreads: list[MetricSpread] = field(default_factory=list)
    differences: dict[str, list[Any]] = field(default_factory=dict)
    odd_run: int | None = None
    refused: bool = False


def baseline(runs: list[Run]) -> Baseline:
    """Judge whether ``runs`` are a usable baseline."""
    measured = [figures(run) for run in runs]
    differences = differing(measured)
    differences.update(_unequal_work(measured))
    if differences:
        return _refuse(measured, differences)
    spreads = _spreads(measured)
    if not any(s.name in ("total_s", "writing_tps", "reading_tps") for s in spreads):
        return Baseline(measured, False, "the runs hold no times", "Keep the log of each run.", refused=True)
    bad = [s for s in spreads if not s.ok]
    if not bad:
        return _accept(measured, spreads)
    odd = _odd_run(measured, bad)
    return _reject(measured, spreads, bad, odd)


def _unequal_work(runs: list[Figures]) -> dict[str, list[Any]]:
    """Work that differs although no setting does: answers of other length, prompts served from a cache."""
    found: dict[str, list[Any]] = {}
    outputs = [r.output_tokens for r in runs]
    known = [v for v in outputs if v is not None]
    if known and max(known) - min(known) > max(4, 0.02 * max(known)):
        found["output_tokens"] = list(outputs)
    cached = [r.cached_tokens for r in runs]
    if len({bool(c) for c in cached if c is not None}) > 1:
        found["cached_tokens"] = list(cached)
    counts = [r.n_requests for r in runs]
    if len(set(counts)) > 1:
        found["requests"] = list(counts)
    return found


LABELS = {
    **SETTING_LABELS,
    "output_tokens": "tokens written",
    "cached_tokens": "tokens from a cache",
    "requests": "requests",
}


def _refuse(runs: list[Figures], differences: dict[str, list[Any]]) -> Baseline:
    names = [LABELS.get(name, name) for name in differences]
    if list(differences) == ["cached_tokens"]:
        reason = "some runs took their prompt from a cache"
        advice = "Restart the server before each run, or send a prompt it has not seen, so that all runs read the whole prompt."
    elif list(differences) == ["output_tokens"]:
        reason = "the answers differ in length"
        advice = (
            "Fix the output limit and use greedy sampling (--temp 0 -n N --ignore-eos), then take three runs again."
        )
    else:
        reason = "the runs are not of one input and setting: they differ in " + _join(names)
        advice = "Keep everything fixed for a baseline. To study one setting, use: loganalyze sweep RUN..."
    return Baseline(runs, False, reason, advice, differences=differences, refused=True)


def _spreads(runs: list[Figures]) -> list[MetricSpread]:
    found = []
    for name in METRIC_INFO:
        values = [r.metrics.get(name) for r in runs]
        known = [v for v in values if v is not None]
        if len(known) < 2 or name not in SPREAD_LIMIT_PCT:
            continue
        spread, limit = spread_pct(known), SPREAD_LIMIT_PCT[name]
        ok = spread <= limit or (name in ("ttft_ms", "reading_tps") and _short_prompt(runs))
        found.append(MetricSpread(name, values, median(known), spread, limit, ok))
    return found


def _short_prompt(runs: list[Figures]) -> bool:
    times = [t for r in runs if (t := r.metrics.get("ttft_ms")) is not None]
    return bool(times) and max(times) < TTFT_FLOOR_MS


def _accept(runs: list[Figures], spreads: list[MetricSpread]) -> Baseline:
    shown = max((s for s in spreads), key=lambda s: s.spread_pct)
    label = METRIC_INFO[shown.name][0]
    reason = f"{len(runs)} runs agree; the widest spread is {shown.spread_pct:.0f} % ({label})"
    if len(runs) < MIN_RUNS:
        advice = f"Take {MIN_RUNS - len(runs)} more: fewer than three runs cannot show a warm-up or a drift."
        return Baseline(runs, False, f"only {len(runs)} run{'s' if len(runs) > 1 else ''}", advice, spreads)
    advice = "Change one thing at a time and take three runs of the same input after each change."
    return Baseline(runs, True, reason, advice, spreads)


def _odd_run(runs: list[Figures], bad: list[MetricSpread]) -> int | None:
    """The one run without which every bad figure agrees, if there is exactly one such run and enough runs remain."""
    if len(runs) < MIN_RUNS:
        return None
    odd = [
        index
        for index in range(len(runs))
        if all(
            _spread_without(s, index) <= s.limit_pct / 2 or _spread_without(s, index) < s.spread_pct / 4 for s in bad
        )
        and all(_spread_without(s, index) <= s.limit_pct for s in bad)
    ]
    return odd[0] if len(odd) == 1 else None


def _spread_without(figure: MetricSpread, index: int) -> float:
    rest = [v for i, v in enumerate(figure.values) if i != index and v is not None]
    return spread_pct(rest) if len(rest) > 1 else float("inf")


def _reject(runs: list[Figures], spreads: list[MetricSpread], bad: list[MetricSpread], odd: int | None) -> Baseline:
    worst = max(bad, key=lambda s: s.spread_pct / s.limit_pct)
    what = f"{METRIC_INFO[worst.name][0]} spreads by {worst.spread_pct:.0f} % (limit {worst.limit_pct:.0f} %)"
    if odd == 0 and _slower(worst, 0):
        reason = f"the first run differs: {what}; it looks like a warm-up run (cold file cache, first use of the card)"
        advice = "Drop the first run and take one more."
    elif odd is not None:
        reason = f"run {odd + 1} ({runs[odd].label}) stands apart: {what}; something else was using the machine"
        advice = "Stop background load (nvidia-smi shows who is on the card), then repeat that run."
    elif _drifts(worst):
        better = METRIC_INFO[worst.name][2]
        down = _last(worst) < _first(worst)
        word = "slower" if down == better else "faster"
        cause = "heat or a filling cache" if word == "slower" else "a warming file cache"
        reason = f"each run is {word} than the one before: {what}; this points to {cause}"
        advice = "Let the machine settle (wait between runs, warm the file cache once), then take three runs again."
    else:
        reason = f"the runs do not agree: {what}; warm-up, cache or background load"
        advice = "Remove what disturbs them (other programs on the card, other requests), then take three runs again."
    return Baseline(runs, False, reason, advice, spreads, odd_run=odd)


def _known(figure: MetricSpread) -> list[float]:
    return [v for v in figure.values if v is not None]


def _first(figure: MetricSpread) -> float:
    return _known(figure)[0]


def _last(figure: MetricSpread) -> float:
    return _known(figure)[-1]


def _slower(figure: MetricSpread, index: int) -> bool:
    value = figure.values[index]
    if value is None:
        return False
    return value < figure.median if METRIC_INFO[figure.name][2] else value > figure.median


def _drifts(figure: MetricSpread) -> bool:
    known = _known(figure)
    steps = [b - a for a, b in pairwise(known)]
    return len(known) >= MIN_RUNS and (all(s > 0 for s in steps) or all(s < 0 for s in steps))


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]

"""Sweep: runs in which one setting varies. Finds it, fits each figure against it, and answers as the field guide does."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from loganalyze.errors import LogAnalyzeError
from loganalyze.findings.measured.middle import median
from loganalyze.model.records import Confidence, Run
from loganalyze.studies.differences import differing
from loganalyze.studies.figures import METRIC_INFO, SETTING_LABELS, Figures, figures
from loganalyze.studies.spread import agreement, spread_pct, theil_sen

# A change smaller than this is none: repeats of one setting (ctx*_r1 and _r2, base_8b, b6173_8b) differ by up to 2 % in
# writing on an idle machine; people measure on busier ones.
NO_EFFECT_PCT = 10.0
# First-token times and total times of short runs repeat less well: by up to 25 and 23 % there (loading is in the total).
NOISY_PCT = {"ttft_ms": 25.0, "total_s": 25.0, "reading_tps": 20.0, "vram_peak_mib": 3.0}
# A last step that adds less than this share of the whole gain is past the point where more still helps.
SATURATED_SHARE = 0.1
# The card counts as at its limit from here on.
VRAM_FULL_PCT = 95.0
TEXT_SETTINGS = (
    "quant",
    "type_k",
    "type_v",
    "flash_attn",
    "model",
    "engine",
    "version",
    "device",
    "split_mode",
    "overrides",
)


@dataclass(slots=True)
class Level:
    """All runs with one value of the setting; ``metrics`` are medians."""

    value: Any
    x: float
    runs: list[Figures]
    metrics: dict[str, float | None]


@dataclass(slots=True)
class Effect:
    """What the setting does to one figure between its smallest and largest value."""

    name: str
    change_pct: float
    noise_pct: float
    direction: str
    """``rises``, ``falls`` or ``flat``."""
    tau: float
    slope: float | None
    saturates_at: Any = None


@dataclass(slots=True)
class Sweep:
    """Answer of a sweep. ``answer`` is one sentence, ``advice`` one step."""

    setting: str
    label: str
    levels: list[Level]
    effects: dict[str, Effect]
    answer: str
    advice: str
    confidence: Confidence
    notes: list[str] = field(default_factory=list)


def sweep(runs: list[Run], setting: str | None = None) -> Sweep:
    """Study ``runs``. Raises LogAnalyzeError when no setting or more than one varies."""
    measured = [figures(run) for run in runs]
    if len(measured) < 2:
        raise LogAnalyzeError("a sweep needs at least two runs", remedy="Give one run, better three, for each value")
    name = _varying(measured, setting)
    levels = _levels(measured, name)
    effects = {m: e for m in METRIC_INFO if (e := _effect(m, levels)) is not None}
    from loganalyze.studies.answers import answer

    result = Sweep(name, SETTING_LABELS[name], levels, effects, "", "", _confidence(levels))
    result.answer, result.advice = answer(result)
    result.notes = _notes(result)
    return result


def _varying(runs: list[Figures], wanted: str | None) -> str:
    found = differing(runs)
    if wanted is not None:
        matches = [n for n in SETTING_LABELS if wanted.lower() in (n, SETTING_LABELS[n].lower())] or [
            n for n, label in SETTING_LABELS.items() if f"({wanted}" in label or label.startswith(wanted)
        ]
        if not matches:
            raise LogAnalyzeError(f"no setting is called {wanted}", remedy="Choose from: " + ", ".join(SETTING_LABELS))
        if matches[0] not in found:
            raise LogAnalyzeError(f"{SETTING_LABELS[matches[0]]} does not vary between these runs")
        found = {n: v for n, v in found.items() if n == matches[0] or n not in SETTING_LABELS}
    if "prompt_tokens" in found and "n_predict" not in found and len(found) == 1:
        return "prompt_tokens"
    if not found:
        raise LogAnalyzeError(
            "no setting varies between these runs",
            remedy="To check that like runs agree, use: loganalyze baseline RUN...",
        )
    if len(found) > 1:
        named = " and ".join(f"{SETTING_LABELS.get(n, n)} ({_values(v)})" for n, v in found.items())
        raise LogAnalyzeError(
            f"{len(found)} settings vary: {named}",
            remedy="Change one thing at a time, or leave out the runs that differ twice",
        )
    return next(iter(found))


def _values(values: list[Any]) -> str:
    known = list(dict.fromkeys("unknown" if v is None else str(v) for v in values))
    return ", ".join(known[:4]) + (", ..." if len(known) > 4 else "")


def _levels(runs: list[Figures], name: str) -> list[Level]:
    groups: dict[str, list[Figures]] = {}
    for run in runs:
        value = run.settings.get(name)
        if value is not None:
            groups.setdefault(_level_key(name, value), []).append(run)
    levels = []
    for index, members in enumerate(groups.values()):
        value = members[0].settings[name]
        x = float(value) if isinstance(value, int | float) and name not in TEXT_SETTINGS else float(index)
        metrics = {m: _level_median([r.metrics.get(m) for r in members]) for m in METRIC_INFO}
        levels.append(Level(value, x, members, metrics))
    return sorted(levels, key=lambda level: level.x)


def _level_key(name: str, value: Any) -> str:
    # One prompt file gives counts that differ by a token or two.
    return str(round(math.log(max(value, 1)) / math.log(1.03))) if name == "prompt_tokens" else str(value)


def _level_median(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return median(known) if known else None


def _effect(name: str, levels: list[Level]) -> Effect | None:
    points = [(level.x, y) for level in levels if (y := level.metrics[name]) is not None]
    if len(points) < 2 or not points[0][1]:
        return None
    every = [(level.x, y) for level in levels for r in level.runs if (y := r.metrics.get(name)) is not None]
    noise = _noise_pct(name, levels)
    change = (points[-1][1] - points[0][1]) / points[0][1] * 100
    # A middle value can carry the effect alone: an optimum in between is an effect too.
    swing = max(y for _, y in points) / min(y for _, y in points) * 100 - 100 if min(y for _, y in points) > 0 else 0.0
    limit = max(NOISY_PCT.get(name, NO_EFFECT_PCT), 1.5 * noise)
    line = theil_sen(every)
    if swing <= limit:
        direction = "flat"
    elif abs(change) <= limit / 2:
        direction = "peaks" if max(points, key=lambda p: p[1]) not in (points[0], points[-1]) else "dips"
    else:
        direction = "rises" if change > 0 else "falls"
    effect = Effect(name, change, noise, direction, agreement(points), line[0] if line else None)
    if direction in ("rises", "falls") and len(points) > 2:
        effect.saturates_at = _saturation(points, levels)
    return effect


def _noise_pct(name: str, levels: list[Level]) -> float:
    spreads = [
        spread_pct(known)
        for level in levels
        if len(known := [v for r in level.runs if (v := r.metrics.get(name)) is not None]) > 1
    ]
    return median(spreads) if spreads else 0.0


def _saturation(points: list[tuple[float, float]], levels: list[Level]) -> Any:
    whole = points[-1][1] - points[0][1]
    for index in range(1, len(points) - 1):
        if abs(points[-1][1] - points[index][1]) < SATURATED_SHARE * abs(whole):
            return next(level.value for level in levels if level.x == points[index][0])
    return None


def _confidence(levels: list[Level]) -> Confidence:
    fewest = min(len(level.runs) for level in levels)
    if len(levels) >= 3 and fewest >= 3:
        return "high"
    return "medium" if len(levels) >= 3 or fewest >= 2 else "low"


def _notes(result: Sweep) -> list[str]:
    notes = []
    fewest = min(len(level.runs) for level in result.levels)
    if fewest < 3:
        notes.append(f"{fewest} run{'s' if fewest > 1 else ''} at some values: three at each would make this firmer")
    for effect in result.effects.values():
        if effect.saturates_at is not None:
            notes.append(f"{METRIC_INFO[effect.name][0]} changes little beyond {effect.saturates_at}")
    return notes


def vram_full(result: Sweep) -> bool | None:
    """Whether the card was at its limit at the largest value; None when no capture tells."""
    shares = [
        peak / r.vram_total_mib * 100
        for r in result.levels[-1].runs
        if (peak := r.metrics.get("vram_peak_mib")) is not None and r.vram_total_mib
    ]
    return max(shares) >= VRAM_FULL_PCT if shares else None

"""Before against after one change: preconditions first, then figures with intervals, then one of five answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from loganalyze.errors import LogAnalyzeError
from loganalyze.findings.measured.middle import median
from loganalyze.model.records import Confidence, Run
from loganalyze.studies.differences import differing, same_tokens
from loganalyze.studies.figures import METRIC_INFO, SETTING_LABELS, Figures, figures
from loganalyze.studies.spread import ratio_interval

Outcome = Literal[
    "hit the bottleneck",
    "traded capacity for throughput",
    "faster but long context still slow",
    "slower",
    "within noise",
    "not comparable",
    "engine change is worth a try",
    "engine change will not help",
    "batch or context before engine",
]

# Changes below this are noise even when single runs cannot show their spread (see studies.sweep.NO_EFFECT_PCT).
NOISE_PCT = {
    "total_s": 15.0,
    "ttft_ms": 15.0,
    "reading_tps": 15.0,
    "writing_tps": 7.0,
    "throughput_tps": 10.0,
    "vram_peak_mib": 3.0,
}
# From here on a prompt is long enough for reading to be felt and judged (ROOFLINE section 4: short prompts prove nothing).
LONG_PROMPT = 1000
# A first token after more than this many ms is felt as waiting.
FELT_TTFT_MS = 2000.0


@dataclass(slots=True)
class Change:
    """One figure: medians before and after, ratio with its 95 % interval, and whether it is better, worse or same."""

    name: str
    before: float
    after: float
    ratio: float
    low: float
    high: float
    word: Literal["better", "worse", "same"]


@dataclass(slots=True)
class Comparison:
    """Answer of a comparison; ``changed`` are the settings that differ, ``blocked`` why figures do not compare."""

    before: list[Figures]
    after: list[Figures]
    outcome: Outcome
    answer: str
    advice: str
    confidence: Confidence
    changes: list[Change] = field(default_factory=list)
    changed: dict[str, list[Any]] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def compare(before: list[Run], after: list[Run]) -> Comparison:
    """Compare two sets of runs. Raises LogAnalyzeError when one side is empty."""
    if not before or not after:
        raise LogAnalyzeError(
            "nothing to compare", remedy="Give runs with --before and with --after, better three each"
        )
    a, b = [figures(r) for r in before], [figures(r) for r in after]
    changed = differing([_typical(a), _typical(b)])
    engines = {f.settings["engine"] for f in a} != {f.settings["engine"] for f in b}
    blocked = _preconditions(a, b, changed, engines)
    changes = [c for name in METRIC_INFO if (c := _change(name, a, b)) is not None]
    confidence: Confidence = "high" if min(len(a), len(b)) >= 3 else "medium" if min(len(a), len(b)) == 2 else "low"
    result = Comparison(a, b, "within noise", "", "", confidence, changes, changed, blocked)
    result.notes = _notes(result, engines)
    if blocked:
        result.outcome = "not comparable"
        result.answer = "Not comparable, because " + "; ".join(blocked) + "."
        result.advice = "Fix these, then take three runs on each side again."
    elif not changes:
        result.outcome = "not comparable"
        result.answer = "Not comparable, because the two sides have no figure in common."
        result.advice = "Keep the log of each run (and nvidia-smi beside it)."
    elif engines:
        from loganalyze.studies.engines import judge

        judge(result)
    else:
        _judge(result)
    return result


def _typical(side: list[Figures]) -> Figures:
    """The run of a side whose writing rate is the median: its settings stand for the side."""
    return sorted(side, key=lambda f: f.metrics["writing_tps"] or 0.0)[len(side) // 2]


def _preconditions(a: list[Figures], b: list[Figures], changed: dict[str, list[Any]], engines: bool) -> list[str]:
    blocked: list[str] = []
    for side, word in ((a, "before"), (b, "after")):
        inner = [SETTING_LABELS[n] for n in differing(side)]
        if inner:
            blocked.append(f"the runs {word} differ among themselves in " + ", ".join(inner))
    if "temperature" in changed and 0.0 in changed["temperature"]:
        blocked.append("one side samples greedily and the other does not")
    prompts = _pair(a, b, "prompt_tokens")
    # Tokenizers differ between engines and models: the same text may count 20 % more or fewer tokens.
    slack = engines or "model" in changed
    if prompts and not same_tokens(*prompts) and not (slack and max(prompts) <= 1.3 * min(prompts)):
        blocked.append(f"the prompts differ ({prompts[0]:.0f} and {prompts[1]:.0f} tokens)")
    cached = _pair(a, b, "cached_tokens")
    if cached and bool(cached[0]) != bool(cached[1]):
        blocked.append("one side took its prompt from a cache")
    outputs = _pair(a, b, "output_tokens")
    if outputs and max(outputs) > 1.5 * min(outputs) + 8:
        blocked.append(f"the answers differ in length ({outputs[0]:.0f} and {outputs[1]:.0f} tokens)")
    counts = _pair(a, b, "n_requests")
    if counts and counts[0] != counts[1] and 1 in counts:
        blocked.append("one side is a single request and the other several")
    streams = {f.streaming for f in (*a, *b)} - {None}
    if len(streams) > 1:
        blocked.append("one side streams and the other does not")
    return blocked


def _pair(a: list[Figures], b: list[Figures], name: str) -> tuple[float, float] | None:
    left = [float(v) for f in a if (v := getattr(f, name)) is not None]
    right = [float(v) for f in b if (v := getattr(f, name)) is not None]
    return (median(left), median(right)) if left and right else None


def _change(name: str, a: list[Figures], b: list[Figures]) -> Change | None:
    before = [v for f in a if (v := f.metrics.get(name)) is not None and v > 0]
    after = [v for f in b if (v := f.metrics.get(name)) is not None and v > 0]
    if not before or not after:
        return None
    ratio, low, high = ratio_interval(before, after)
    limit = NOISE_PCT[name] / 100
    more_is_better = METRIC_INFO[name][2]
    word: Literal["better", "worse", "same"] = "same"
    if ratio > 1 + limit and low > 1:
        word = "better" if more_is_better else "worse"
    elif ratio < 1 / (1 + limit) and high < 1:
        word = "worse" if more_is_better else "better"
    return Change(name, median(before), median(after), ratio, low, high, word)


def change_of(result: Comparison, name: str) -> Change | None:
    """The change of one figure, if both sides have it."""
    return next((c for c in result.changes if c.name == name), None)


def words(change: Change) -> str:
    """``writing 8.1 -> 38.2 t/s (x4.72)``."""
    label, unit, _ = METRIC_INFO[change.name]
    return f"{label} {number(change.before)} -> {number(change.after)} {unit} (x{change.ratio:.2f})"


def number(value: float) -> str:
    """Three significant figures, thousands separated."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _judge(result: Comparison) -> None:
    speed = [c for c in result.changes if c.name in ("ttft_ms", "reading_tps", "writing_tps", "throughput_tps")]
    speed = speed or [c for c in result.changes if c.name == "total_s"]
    better, worse = [c for c in speed if c.word == "better"], [c for c in speed if c.word == "worse"]
    memory = change_of(result, "vram_peak_mib")
    less_memory = memory is not None and memory.word == "better"
    listed = "; ".join(words(c) for c in (*better, *worse))
    if worse and less_memory and not better:
        _set(result, "traded capacity for throughput", f"Less memory but slower: {listed}.", _TRADE)
    elif better and _long_context_still_slow(result):
        _set(
            result,
            "faster but long context still slow",
            f"Faster, but the long prompt is still read slowly: {listed}.",
            _STILL,
        )
    elif better and not worse:
        _set(result, "hit the bottleneck", f"The change hit the bottleneck: {listed}.", _KEEP)
    elif worse and not better:
        _set(result, "slower", f"Slower: {listed}.", _moved(result) or "Take the change back.")
    elif better and worse:
        _set(result, "traded capacity for throughput", f"One half gained, the other lost: {listed}.", _HALVES)
    elif less_memory and memory is not None:
        _set(
            result,
            "within noise",
            f"Speed is unchanged; memory fell: {words(memory)}.",
            "Keep it if the memory is needed.",
        )
    else:
        shown = "; ".join(words(c) for c in speed[:3])
        _set(
            result,
            "within noise",
            f"No difference beyond noise: {shown}.",
            "This was not the bottleneck; change something else.",
        )


_KEEP = "Keep it, and take three runs of the same input before the next change."
_TRADE = "Keep it only if you need the memory; otherwise take it back."
_STILL = "Keep it and cut the context next: shorter history, fewer passages, or a prompt cache."
_HALVES = "Decide by what you wait for: the first token or the whole answer."


def _set(result: Comparison, outcome: Outcome, text: str, advice: str) -> None:
    result.outcome, result.answer, result.advice = outcome, text, advice


def _long_context_still_slow(result: Comparison) -> bool:
    prompts = [f.prompt_tokens for f in result.after if f.prompt_tokens is not None]
    first = change_of(result, "ttft_ms")
    reading = change_of(result, "reading_tps")
    return bool(
        prompts
        and median([float(p) for p in prompts]) >= LONG_PROMPT
        and first is not None
        and first.word != "better"
        and first.after >= FELT_TTFT_MS
        and (reading is None or reading.word != "better")
    )


def _moved(result: Comparison) -> str | None:
    """A slower run with other placement of the model is no regression of the program."""
    layers = result.changed.get("n_gpu_layers")
    causes = [{f.cause for f in side} for side in (result.before, result.after)]
    spilled = {"partial_offload", "cpu_fallback", "experts_on_host", "kv_on_host", "vram_spill"} & (
        causes[1] - causes[0]
    )
    if layers or spilled:
        return "Memory placement changed, so this is no regression of the program: bring the layers back to the card first."
    if "version" in result.changed:
        return "Placement and settings are the same and only the version changed: a regression worth reporting."
    return None


def _notes(result: Comparison, engines: bool) -> list[str]:
    notes = []
    if result.confidence == "low":
        notes.append("one run on a side cannot show its spread: take three of each")
    others = [n for n in result.changed if not (engines and n in ("engine", "version", "model", "quant"))]
    if len(others) > 1:
        notes.append("more than one setting changed: " + ", ".join(SETTING_LABELS[n] for n in others))
    elif not result.changed:
        notes.append("no setting is known to differ between the two sides")
    notes.append("whether the answers stayed the same is not in these files: compare the texts")
    return notes

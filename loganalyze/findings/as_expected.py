"""Positive evidence that both halves run as fast as this machine allows.

Data, in order: the user's own baseline, the prediction for this card and model, the ratio of the halves together with
known placement, the rates alone.
Algorithm: clear (that is, healthy) when the writing rate is as expected, or in the band that old builds and fixed costs
explain with the card busy or all layers on it; without an expectation when reading is far faster than writing, writing
is faster than anyone reads, and nothing says that a part is on the host. Else can't-tell.
Thresholds: ``decode_healthy_ratio``, ``baseline_healthy_ratio``, ``ratio_low``, ``ratio_card``,
``writing_fast_tps``.
Known false positives: a small model partly on the host and still fast, in a log without load lines.
"""

from __future__ import annotations

from loganalyze.findings import reading_signs, record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, prompt_line, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Confidence, Finding

CAUSE = "as_expected"
DOUBT = 2.5
"""Times ``writing_fast_tps`` a run must reach where the command asks for some layers only and no line says how many."""


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Clear when the run is shown to be healthy."""
    reason = _reason(facts, limits)
    if reason is None:
        return cant_tell(CAUSE, _lacking(facts, limits), _decides(facts, limits))
    text, confidence = reason
    evidence = eval_line(facts.timing.slow_write) + prompt_line(facts.timing.slow_read) + facts.place.proofs[:1]
    return clear(CAUSE, text, value=facts.decode_ratio, unit="ratio" if facts.decode_ratio is not None else None,
                 threshold=limits.decode_healthy_ratio, evidence=evidence, confidence=confidence)  # fmt: skip


def _reason(facts: Facts, limits: Thresholds) -> tuple[str, Confidence] | None:
    rate = facts.writing_tps
    if rate is None or not signs.enough_output(facts, limits):
        return _reading_only(facts, limits) if rate is None else _few_tokens(facts, limits)
    ratio = facts.decode_ratio
    if ratio is not None and facts.decode_expected is not None:
        return _against_expected(facts, limits, ratio)
    return _without_expectation(facts, limits, rate)


def _against_expected(facts: Facts, limits: Thresholds, ratio: float) -> tuple[str, Confidence] | None:
    own = facts.expected.base_write_tps is not None
    what = "your own runs" if own else "what this card and model should give"
    rate = facts.writing_tps or 0.0
    together = "" if facts.timing.alone_tps is not None else " a request, all of them together,"
    text = f"writing at {tps(rate)}{together} is {ratio * 100:.0f} % of {what}"
    if facts.expected.bound and not own and ratio >= 1 and facts.decode_expected is not None:
        # The memory a run takes bounds its weights from above, hence the rate from below: a share of it means nothing.
        least = tps(facts.decode_expected)
        summed = f" a request, {tps(ratio * facts.decode_expected)} together," if together else ""
        text = f"writing at {tps(rate)}{summed} is above the {least} that a model of this much memory gives at least"
    if ratio > limits.decode_too_fast_ratio and not own and not facts.expected.bound:
        return text + "; it is faster than predicted, so the card or the model is another than the log says", "medium"
    if signs.proven_fast(facts, limits):
        return text, "medium" if facts.expected.bound and _doubtful(facts) else "high"
    if signs.abnormal(facts, limits) is not False:
        return None
    on_card = facts.place.weights == "device" or signs.gpu_idle(facts, limits) is False or facts.place.asked == -1
    if not on_card and rate < limits.writing_fast_tps:
        return None
    sure = facts.place.weights == "device" or signs.gpu_idle(facts, limits) is False
    if ratio < limits.decode_abnormal_ratio:
        return (text + ", which the age of the build explains", "medium") if signs.old_build(facts) else None
    return text + ", inside the band of older builds and fixed costs", "high" if sure and ratio >= 0.6 else "medium"


def _without_expectation(facts: Facts, limits: Thresholds, rate: float) -> tuple[str, Confidence] | None:
    ratio = facts.timing.ratio
    busy = signs.gpu_idle(facts, limits) is False and signs.host_computes(facts, limits) is not True
    on_card = facts.place.weights == "device" or busy or facts.place.asked == -1
    if facts.place.weights == "host" or facts.gpu_meant is False:
        fast = rate >= limits.writing_steady_tps
        return (f"writing at {tps(rate)} on the processor is faster than a person reads", "medium") if fast else None
    if ratio is not None and ratio < limits.ratio_low * (0.6 if facts.place.unified else 1.0):
        return None
    if _doubtful(facts) and rate < DOUBT * limits.writing_fast_tps:
        return None
    if on_card and rate >= limits.writing_slow_tps:
        text = f"all layers are on the card and writing goes at {tps(rate)}"
        if ratio is not None:
            text += f", reading {ratio:.0f} times as fast"
        return text, "medium" if facts.place.weights == "device" or rate >= limits.writing_fast_tps else "low"
    if rate >= limits.writing_fast_tps and ratio is not None:
        # Between a processor's ratio and a card's: mixtures with their experts on the host read 7 times as fast (moe_ncmoe).
        if ratio < limits.ratio_card and rate < DOUBT * limits.writing_fast_tps:
            return None
        return f"reading is {ratio:.0f} times as fast as writing, as on a card, and writing at {tps(rate)}", "medium"
    if rate >= limits.writing_fast_tps:
        return f"writing at {tps(rate)} is far faster than a person reads", "low"
    return None


def _reading_only(facts: Facts, limits: Thresholds) -> tuple[str, Confidence] | None:
    """Runs that only read (benchmarks, embeddings): judged by the reading rate."""
    if facts.reading_tps is None or reading_signs.rate_normal(facts, limits) is not True:
        return None
    # An excerpt may lack the lines that tell of writing; a benchmark tells which half it runs.
    return f"reading at {tps(facts.reading_tps)} is what this card gives", "medium" if facts.benchmark else "low"


def _few_tokens(facts: Facts, limits: Thresholds) -> tuple[str, Confidence] | None:
    tokens, rate = facts.timing.writing.tokens or 0, facts.writing_tps or 0.0
    if tokens < limits.short_output_tokens or signs.proven_fast(facts, limits) is not True:
        return None
    return f"writing at {tps(rate)} over {tokens} tokens is what this card gives", "low"


def _doubtful(facts: Facts) -> bool:
    """Some layers asked for, and neither a line nor the size of the model says whether these are all."""
    place, weights = facts.place, facts.expected.weights
    if place.weights != "unknown" or place.asked is None or place.asked <= 0:
        return False
    if weights is None or facts.expected.bound:
        return True
    # People type the number of layers plus one; where that number is a guess, one layer more or less proves nothing.
    return place.asked <= weights.layers - (0 if weights.layers_known else 1)


def _crawls(facts: Facts, limits: Thresholds) -> bool:
    """Slower than any memory explains in models of common size."""
    rate = facts.writing_tps
    return rate is not None and rate < limits.cpu_doubt_tps and facts.timing.streams_max == 1


def _lacking(facts: Facts, limits: Thresholds) -> str:
    if facts.writing_tps is None:
        return "no writing rate"
    if facts.decode_ratio is not None and facts.decode_ratio < 1:
        return f"writing is at {facts.decode_ratio * 100:.0f} % of what this card should give"
    if _crawls(facts, limits):
        return (
            "nothing recorded shows why: so slow a rate makes one think of swap, of a disk, or of far too many threads"
        )
    return "neither the load lines nor a capture tell what this machine should give"


def _decides(facts: Facts, limits: Thresholds) -> str:
    """The command whose output would settle it."""
    if _crawls(facts, limits) and facts.host is None:
        return record.memory(facts)
    return record.deciding(facts)

"""Engine against engine on the same request, in the order of the field guide: sampling and template, input tokens,
first token, decode speed. Preconditions were checked by ``loganalyze.studies.compare``."""

from __future__ import annotations

from loganalyze.studies.compare import Comparison, change_of, number, words
from loganalyze.studies.differences import same_tokens
from loganalyze.studies.figures import Figures

# Decode speeds this close are equal: field guide B5, "near equal -> decode is the limit".
NEAR_EQUAL = 1.15
# A first-token gap this large is looked at before the engine: field guide B5.
LARGE_TTFT_GAP = 1.5


def judge(result: Comparison) -> None:
    """Fill outcome, answer and advice of a comparison of two engines."""
    left, right = _name(result.before), _name(result.after)
    _token_note(result, left, right)
    writing, first, total = (change_of(result, n) for n in ("writing_tps", "ttft_ms", "throughput_tps"))
    if writing is None:
        result.outcome = "not comparable"
        result.answer = (
            f"Not comparable, because the decode speed of {left if not _has(result.before) else right} is unknown."
        )
        result.advice = "Record a response with usage and times, or the server log, for the same request."
        return
    near = 1 / NEAR_EQUAL <= writing.ratio <= NEAR_EQUAL
    gap = first is not None and max(first.ratio, 1 / first.ratio) >= LARGE_TTFT_GAP
    if near and gap and first is not None:
        result.outcome = "batch or context before engine"
        result.answer = (
            f"{left} and {right} write alike ({words(writing)}) but differ in the first token ({words(first)})."
        )
        result.advice = "Look at prompt batch, micro-batch and context of the slower one before changing the engine."
    elif near:
        result.outcome = "engine change will not help"
        result.answer = f"{left} and {right} write alike ({words(writing)}): decoding on this card is the limit."
        result.advice = "Stay, and take one step lower quantisation or a shorter answer."
        if total is not None and total.word == "better":
            result.answer += f" {right} serves several requests better ({words(total)})."
            result.advice = f"With several users {right} is worth a try; for one request it changes nothing."
    else:
        faster = right if writing.ratio > 1 else left
        result.outcome = "engine change is worth a try"
        result.answer = (
            f"{faster} writes {number(max(writing.ratio, 1 / writing.ratio))} times as fast ({words(writing)})."
        )
        result.advice = (
            f"The limit of the other is decode or scheduler: an engine change to {faster} is worth a try; "
            "repeat two or three times."
        )


def _has(side: list[Figures]) -> bool:
    return any(f.metrics.get("writing_tps") is not None for f in side)


def _name(side: list[Figures]) -> str:
    return str(side[0].settings.get("engine") or "the unknown engine")


def _token_note(result: Comparison, left: str, right: str) -> None:
    pairs = [(a.prompt_tokens, b.prompt_tokens) for a, b in zip(result.before, result.after, strict=False)]
    for a, b in pairs:
        if a is not None and b is not None and not same_tokens(a, b):
            result.notes.insert(0, f"tokenizers differ: the same text is {a} tokens for {left} and {b} for {right}")
            return

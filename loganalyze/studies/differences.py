"""Which settings differ between runs, and what that means for comparing them."""

from __future__ import annotations

from typing import Any

from loganalyze.studies.figures import Figures

# Prompt counts of one text differ by a few tokens between templates and builds (BOS, date lines); beyond this the
# prompts are not the same. n*/ctx* sweeps of one prompt file differ by 0.
SAME_TOKENS_PCT = 2.0
SAME_TOKENS = 4


def same_tokens(a: float, b: float) -> bool:
    """Whether two token counts stand for one text."""
    return abs(a - b) <= max(SAME_TOKENS, SAME_TOKENS_PCT / 100 * max(a, b))


def differing(runs: list[Figures]) -> dict[str, list[Any]]:
    """Setting -> its value in each run, for every setting that has two known different values."""
    found: dict[str, list[Any]] = {}
    for name in runs[0].settings if runs else ():
        values = [r.settings.get(name) for r in runs]
        if name == "mmap" or _alike(name, values):
            continue
        found[name] = values
    return _without_echoes(found)


def _alike(name: str, values: list[Any]) -> bool:
    known = [v for v in values if v is not None]
    if name == "prompt_tokens":
        return not known or same_tokens(min(known), max(known))
    return len({str(v) for v in known}) < 2


def _without_echoes(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Drop what only follows from another difference: -ctk and -ctv set together, the model of a quantisation."""
    if "type_k" in found and "type_v" in found and found["type_k"] == found["type_v"]:
        del found["type_v"]
    if "quant" in found and "model" in found:
        del found["model"]
    # The micro-batch is cut to the batch when only -b is lowered.
    if "n_batch" in found and "n_ubatch" in found and _capped(found["n_batch"], found["n_ubatch"]):
        del found["n_ubatch"]
    return found


def _capped(batch: list[Any], ubatch: list[Any]) -> bool:
    pairs = [(b, u) for b, u in zip(batch, ubatch, strict=True) if b is not None and u is not None]
    largest = max((u for _, u in pairs), default=0)
    return bool(pairs) and all(u == min(b, largest) for b, u in pairs)

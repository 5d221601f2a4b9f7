"""Names of quantisations: from file names, from ftype texts."""

from __future__ import annotations

import re

from loganalyze.light import lazy_pattern

_IN_FILE = lazy_pattern(
    r"(?<![A-Za-z0-9])(I?Q\d(?:_[A-Z0-9]{1,4}){0,6}|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|FP?16|FP?32)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
# Mixtures whose ftype text does not spell the option's name.
_MIXES = {"IQ3_S mix": "IQ3_M", "IQ2_S mix": "IQ2_M", "MXFP4 MoE": "MXFP4_MOE"}
_SIZES = {"Small": "S", "Medium": "M", "Large": "L"}


def quant_of_file(path: str) -> str | None:
    """``Q4_K_M`` of ``/models/Qwen3-8B-Q4_K_M.gguf`` or of a repository with tag ``org/Name-GGUF:Q4_K_M``."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    found = _IN_FILE.findall(name)
    if not found:
        return None
    quant = str(found[-1]).upper()
    return {"FP16": "F16", "FP32": "F32"}.get(quant, quant)


def ftype_name(text: str) -> str:
    """``Q4_K_M`` of ``mostly Q4_K - Medium (guessed)``; texts it does not know come back without their additions."""
    name = text.strip().removesuffix("(guessed)").strip()
    name = name.removeprefix("mostly ").removeprefix("all ")
    head, _, tail = name.partition(" - ")
    if head in _MIXES:
        return _MIXES[head]
    if head == "Q2_K" and tail == "Medium":
        return "Q2_K"
    size = _SIZES.get(tail.split(" ", 1)[0])
    return f"{head}_{size}" if size else head

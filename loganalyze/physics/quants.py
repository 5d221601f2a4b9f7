"""Bits per weight by quantisation name.

Whole-file figures (Llama-3 70B, file bits over parameters); small models run a little higher because embedding and
output weigh more. ``UD-``/``XL`` files differ by up to 15 %, so a printed size always comes first.
"""

from __future__ import annotations

import re

from loganalyze.light import lazy_pattern

BITS: dict[str, float] = {
    "F32": 32.0, "F16": 16.0, "BF16": 16.0, "FP16": 16.0, "FP32": 32.0, "FP8": 8.0, "INT8": 8.0, "W8A8": 8.0,
    "Q8_0": 8.5, "Q8": 8.5, "Q6_K": 6.56, "Q5_K_M": 5.66, "Q5_K_S": 5.52, "Q5_K": 5.66, "Q5_0": 5.5, "Q5_1": 6.0,
    "Q4_K_M": 4.82, "Q4_K_S": 4.6, "Q4_K_XL": 4.9, "Q4_K": 4.82, "Q4_0": 4.55, "Q4_1": 5.0, "IQ4_NL": 4.54,
    "IQ4_XS": 4.3, "Q3_K_L": 4.21, "Q3_K_M": 3.89, "Q3_K_S": 3.51, "Q3_K_XL": 4.1, "Q3_K": 3.89, "IQ3_M": 3.62,
    "IQ3_S": 3.51, "IQ3_XS": 3.32, "IQ3_XXS": 3.11, "Q2_K_S": 2.77, "Q2_K_XL": 3.1, "Q2_K": 2.99, "IQ2_M": 2.73,
    "IQ2_S": 2.52, "IQ2_XS": 2.4, "IQ2_XXS": 2.17, "IQ1_M": 1.9, "IQ1_S": 1.74, "TQ2_0": 2.06, "TQ1_0": 1.69,
    "MXFP4": 4.5, "NVFP4": 4.5, "AWQ": 4.25, "GPTQ": 4.25, "NF4": 4.5, "BNB4": 4.5, "4BIT": 4.5, "8BIT": 8.5,
}  # fmt: skip
_NAMES = sorted(BITS, key=len, reverse=True)
_QUANT = lazy_pattern(
    r"(?<![A-Za-z0-9])(" + "|".join(re.escape(n) for n in _NAMES) + r")(?![A-Za-z0-9])", re.IGNORECASE
)

# Bytes a value of a KV cache takes, block scales included.
KV_BYTES: dict[str, float] = {
    "f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 1.0625, "q5_1": 0.75, "q5_0": 0.6875, "q4_1": 0.625, "q4_0": 0.5625,
    "iq4_nl": 0.5625, "fp8": 1.0,
}  # fmt: skip


def quant_in(text: str | None) -> str | None:
    """The quantisation named inside ``text`` (a file name, a type line), upper case, or None."""
    match = _QUANT.search((text or "").replace("-", " ").replace(".", " "))
    return match.group(1).upper() if match else None


def bits_of(quant: str | None) -> float | None:
    """Bits per weight of a quantisation name, None when unknown."""
    name = quant_in(quant)
    return BITS[name] if name else None

"""When a rate printed by an engine is one."""

from __future__ import annotations

# Highest prefill/decode ratio among 149 public points is 179 (ROOFLINE section 4, CUDA 16 to 179): a prompt rate above
# this multiple of the writing rate counts cached tokens as read.
MAX_PREFILL_RATIO = 250.0


def plausible_prompt_tps(prompt_tps: float | None, eval_tps: float | None) -> float | None:
    """``prompt_tps`` unless it counts cached tokens (impossibly fast beside ``eval_tps``) or is no number."""
    if prompt_tps is None or not 0 < prompt_tps < 1e7:
        return None
    if eval_tps and prompt_tps > MAX_PREFILL_RATIO * eval_tps:
        return None
    return prompt_tps


def rate(tokens: float | None, ms: float | None) -> float | None:
    """Tokens per second, or None where it would not be a rate: one token or less, no time."""
    if tokens is None or ms is None or tokens <= 1 or ms <= 0:
        return None
    return tokens / ms * 1000


def elapsed_ms(start_s: float | None, end_s: float | None) -> float | None:
    """Milliseconds between two stamps; None where one is missing, or where the clock was set back between them."""
    if start_s is None or end_s is None or end_s < start_s:
        return None
    return (end_s - start_s) * 1000

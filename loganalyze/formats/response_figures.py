"""Figures of one response object of any engine: llama.cpp ``timings``, ``usage``, Ollama API, SGLang, LM Studio ``stats``.

What each field counts is told in ``responses``.
"""

from __future__ import annotations

from typing import Any

from loganalyze.formats.engine_rates import plausible_prompt_tps, rate
from loganalyze.formats.ollama import api_request
from loganalyze.model.records import Request


def engine_of(record: dict[str, Any]) -> str | None:
    """Engine by its own fields."""
    if "timings" in record:
        return "llama.cpp"
    if "eval_count" in record or "prompt_eval_count" in record:
        return "ollama"
    if "meta_info" in record:
        return "sglang"
    if "stats" in record:
        return "lm studio"
    return None


def fill(request: Request, record: dict[str, Any]) -> bool:
    """Fill ``request`` from a response object of any engine. False when it tells no figures."""
    if "timings" in record and isinstance(record["timings"], dict):
        return _timings(request, record["timings"], record)
    if record.get("eval_count") is not None or record.get("prompt_eval_count") is not None:
        if record.get("done") is False:
            return False
        api_request(request, {k: v for k, v in record.items() if number(v) is not None})
        return True
    meta = record.get("meta_info")
    if isinstance(meta, dict) and number(meta.get("completion_tokens")) is not None:
        return _usage(request, meta)
    stats, usage = record.get("stats"), record.get("usage")
    told = isinstance(usage, dict) and _usage(request, usage)
    if isinstance(stats, dict) and stats:
        told = _stats(request, stats) or told
    return told


def _timings(request: Request, timings: dict[str, Any], record: dict[str, Any]) -> bool:
    prompt, prompt_ms = whole(timings.get("prompt_n")), number(timings.get("prompt_ms"))
    written, eval_ms = whole(timings.get("predicted_n")), number(timings.get("predicted_ms"))
    if prompt is None and written is None:
        return False
    printed = number(timings.get("prompt_per_second"))
    if prompt and prompt_ms and printed and abs(prompt / prompt_ms * 1000 - printed) > 0.05 * printed + 0.1:
        # b796-b975: the count is that of the answer; the rate is right.
        prompt = round(printed * prompt_ms / 1000) or None
    request.prompt_tokens, request.prompt_ms = prompt, prompt_ms
    request.prompt_tps = rate(prompt, prompt_ms)
    request.cached_tokens = whole(timings.get("cache_n"))
    request.output_tokens = request.eval_tokens = written
    request.eval_ms = eval_ms
    request.eval_tps = rate(written, eval_ms)
    told = number(timings.get("predicted_per_second"))
    if request.eval_tps and told and written and abs(told / request.eval_tps * written - (written - 1)) < 0.1:
        # Newer builds leave the first token, whose time is the prompt's, out of the rate.
        request.eval_tokens, request.eval_tps = written - 1, told
    request.ttft_ms = prompt_ms
    request.draft_tokens, request.draft_accepted = whole(timings.get("draft_n")), whole(timings.get("draft_n_accepted"))
    if prompt_ms is not None and eval_ms is not None:
        request.total_ms = prompt_ms + eval_ms
    if isinstance(record.get("truncated"), bool):
        request.truncated = record["truncated"]
    return True


def _usage(request: Request, usage: dict[str, Any]) -> bool:
    prompt, written = whole(usage.get("prompt_tokens")), whole(usage.get("completion_tokens"))
    if prompt is None and written is None:
        return False
    details = usage.get("prompt_tokens_details")
    cached = whole(details.get("cached_tokens")) if isinstance(details, dict) else whole(usage.get("cached_tokens"))
    request.prompt_tokens = (
        prompt - cached if prompt is not None and cached is not None and cached <= prompt else prompt
    )
    request.cached_tokens, request.output_tokens = cached, written
    latency = number(usage.get("e2e_latency")) or number(usage.get("total_time"))
    request.total_ms = None if latency is None else latency * 1000
    prompt_s, written_s = number(usage.get("prompt_time")), number(usage.get("completion_time"))
    if prompt_s is not None:
        request.prompt_ms = request.ttft_ms = prompt_s * 1000
        request.prompt_tps = rate(request.prompt_tokens, request.prompt_ms)
    if written_s is not None:
        request.eval_tokens, request.eval_ms = written, written_s * 1000
        request.eval_tps = rate(written, request.eval_ms)
    return True


def _stats(request: Request, stats: dict[str, Any]) -> bool:
    def pick(*names: str) -> float | None:
        return next((v for n in names if (v := number(stats.get(n))) is not None), None)

    tps = pick("tokens_per_second", "tokensPerSecond")
    first = pick("time_to_first_token", "time_to_first_token_seconds", "timeToFirstTokenSec")
    if tps is None and first is None:
        return False
    written = pick("total_output_tokens", "predictedTokensCount")
    prompt = pick("input_tokens", "promptTokensCount")
    if written is not None:
        request.output_tokens = int(written)
    if prompt is not None:
        request.prompt_tokens = int(prompt)
    request.eval_tps = tps if tps else None
    generation = pick("generation_time")
    if generation is not None:
        request.eval_ms = generation * 1000
        request.eval_tokens = request.output_tokens
    elif tps and request.output_tokens:
        request.eval_ms = request.output_tokens / tps * 1000
        request.eval_tokens = request.output_tokens
    if first is not None:
        request.ttft_ms = request.prompt_ms = first * 1000
        request.prompt_tps = plausible_prompt_tps(rate(request.prompt_tokens, request.prompt_ms), request.eval_tps)
    return True


def number(value: Any) -> float | None:
    """A finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        return None
    return float(value)


def whole(value: Any) -> int | None:
    """The whole part of a number, None for anything else."""
    found = number(value)
    return None if found is None else int(found)

"""Figures of a request as llama.cpp prints them, and which of them are no figures.

A rate is none when it is inf or nan, when one token or none was counted (a cached prompt), or when no time was taken
(0.00 ms: timings switched off, or nothing evaluated). A count is never made up: see each function.
"""

from __future__ import annotations

from math import isfinite

from loganalyze.model.records import RateSample, Request

# Progress lines kept per request; more are thinned out evenly, which keeps the first and the course.
MAX_SAMPLES = 256
# No run of a local model comes near this; a larger number is a wrapped or damaged one.
MAX_TOKENS = 10**12


def time_ms(value: float | None) -> float | None:
    """A printed time, or None when it is none (nan, negative: the server subtracted a stamp it never took)."""
    return value if value is not None and isfinite(value) and value >= 0 else None


def count(value: int | None) -> int | None:
    """A printed number of tokens, or None when it cannot be one."""
    return value if value is not None and 0 <= value <= MAX_TOKENS else None


def rate(tps: float | None, tokens: int | None, ms: float | None) -> float | None:
    """A printed rate, or None when it is none."""
    if tps is None or not isfinite(tps) or tps <= 0 or (tokens is not None and tokens <= 1):
        return None
    return None if ms is not None and not ms > 0 else tps


def set_prompt(request: Request, ms: float | None, tokens: int | None, tps: float | None, line: int) -> None:
    """The prompt half: ``tokens`` computed now, cached ones left out."""
    ms, tokens = time_ms(ms), count(tokens)
    request.prompt_tokens = tokens
    request.prompt_ms = ms if ms or tokens is None or tokens <= 1 else None
    request.prompt_tps = rate(tps, tokens, ms)
    request.ttft_ms = ms or None
    request.lines["prompt"] = line


def set_eval(request: Request, ms: float | None, tokens: int | None, tps: float | None, line: int) -> None:
    """The writing half of a server: ``tokens`` written, the first of which came out of the prompt.

    ``eval_tokens`` is what the printed rate was divided by: builds of 2026 leave the first token out.
    """
    ms, tokens = time_ms(ms), count(tokens)
    request.output_tokens = tokens
    request.eval_ms = ms
    request.eval_tps = rate(tps, tokens, ms)
    request.eval_tokens = tokens
    if request.eval_tps and ms and tokens:
        counted = request.eval_tps * ms / 1000
        request.eval_tokens = tokens - 1 if abs(counted - (tokens - 1)) < abs(counted - tokens) else tokens
    request.lines["eval"] = line


def set_runs(request: Request, ms: float | None, runs: int, tps: float | None, line: int) -> None:
    """The writing half of a command line tool: ``runs`` decode calls.

    One more token than runs was written, for the first comes out of the prompt's batch; not so when the prompt's
    last token had to be decoded alone because all others were cached. The count is forced to 1 where nothing ran.
    """
    ms = time_ms(ms)
    request.lines["eval"] = line
    if count(runs) is None:
        return
    if ms == 0 and runs <= 1:
        request.eval_ms, request.eval_tokens = 0.0, 0
        return
    cached = request.prompt_ms is not None and request.prompt_ms == 0
    request.eval_tokens = runs
    request.output_tokens = runs if cached else runs + 1
    request.eval_ms = ms or None
    request.eval_tps = rate(tps, runs, ms)


def add_sample(request: Request, sample: RateSample) -> None:
    """Add a progress line."""
    sample.tokens = count(sample.tokens)
    request.samples.append(sample)
    if len(request.samples) > MAX_SAMPLES:
        del request.samples[1::2]


def set_end(request: Request, total_ms: float | None, t_s: float | None, line: int) -> None:
    """The total line of a server: the request is complete."""
    request.total_ms = time_ms(total_ms)
    request.lines["total"] = line
    request.complete = True
    if t_s is not None:
        if request.end_s is None:
            request.end_s = t_s
        if request.start_s is None and request.total_ms is not None:
            request.start_s = round(t_s - request.total_ms / 1000, 6)


def fill_aborted(request: Request) -> None:
    """What the last progress lines say of a request that never printed its timings."""
    for sample in request.samples:
        if sample.half == "reading" and sample.tps and sample.tokens:
            request.prompt_tokens, request.prompt_tps = sample.tokens, sample.tps
            request.prompt_ms = sample.tokens / sample.tps * 1000
            request.lines["prompt"] = sample.line
        elif sample.half == "writing" and sample.tps and sample.tokens:
            request.output_tokens = request.eval_tokens = sample.tokens
            request.eval_tps = sample.tps
            request.eval_ms = sample.tokens / sample.tps * 1000
            request.lines["eval"] = sample.line

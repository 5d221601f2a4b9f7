"""Times, tokens and rates of the two halves. Rates are total tokens over total time, never means of rates.

Requests that ran beside others are slower than the machine is; rates of the requests that ran alone are kept apart.
Serving engines without requests (vLLM, SGLang) give interval lines: their sums are divided by the requests running.
"""

from __future__ import annotations

from itertools import pairwise

from loganalyze.findings.measured.middle import median
from loganalyze.findings.thresholds import Thresholds
from loganalyze.light import dataclass, field
from loganalyze.model.buckets import bucket, bucket_ms
from loganalyze.model.records import HalfFacts, Request, Run

LAID_OUT = "laid out"
# Requests that start within this time of another's end had been waiting for it.
BACK_TO_BACK_S = 0.15
# No program prints less; below it a rate overflows.
LEAST_MS = 1e-6
# Thirty years: longer, or without end, is damage.
MOST_MS = 1e12
# Windows with a queue before their mix of reading and writing says anything.
MIN_QUEUED = 3


@dataclass(slots=True)
class Timing:
    """``alone_tps`` and ``read_alone_tps`` come from requests without company; ``streams`` is the mean number at work.

    ``streams_max`` bounds the company where start times are unknown. ``ratio`` is reading over writing rate.
    ``slow_read`` and ``slow_write`` are the requests that spent longest in each half.
    """

    reading: HalfFacts = field(default_factory=HalfFacts)
    writing: HalfFacts = field(default_factory=HalfFacts)
    requests: list[Request] = field(default_factory=list)
    request_ms: float | None = None
    ttft_max_ms: float | None = None
    ttft_median_ms: float | None = None
    write_max_ms: float | None = None
    output_max: int | None = None
    prompt_max: int | None = None
    context_max: int | None = None
    alone_tps: float | None = None
    read_alone_tps: float | None = None
    read_alone_tokens: float | None = None
    ratio: float | None = None
    streams: float | None = None
    streams_max: int = 1
    waited: int = 0
    slow_read: Request | None = None
    slow_write: Request | None = None
    interval_lines: int = 0
    reading_windows: float | None = None
    """Part of the windows' time that prompts take while others wait, from interval lines of a serving engine."""
    waiting_max: float = 0.0
    cached_tokens: int | None = None
    incomplete: int = 0
    end_to_end_only: bool = False


def measure_timing(run: Run, limits: Thresholds) -> Timing:
    """Timing of ``run``; every figure is None where the log does not carry it."""
    found = Timing(requests=list(run.requests))
    requests = run.requests
    found.incomplete = sum(not r.complete for r in requests) + int(run.facts.get("folded_incomplete", 0))
    _halves(found, requests, run)
    _company(found, run)
    alone = _alone(requests, run) if found.streams_max > 1 else list(requests)
    _alone_rates(found, alone, limits)
    _felt(found, requests, run)
    if found.writing.tps is None and found.reading.tps is None:
        _intervals(found, run)
    return found


def written(request: Request) -> tuple[int, float] | None:
    """Tokens and milliseconds of writing, None when they give no rate."""
    if request.end_to_end_tps:
        return None
    tokens = request.eval_tokens if request.eval_tokens is not None else request.output_tokens
    ms = request.eval_ms
    if ms is None and tokens and request.eval_tps:
        ms = tokens / request.eval_tps * 1000
    return (tokens, ms) if tokens and tokens >= 2 and ms is not None and LEAST_MS <= ms < MOST_MS else None


def read(request: Request) -> tuple[int, float] | None:
    """Computed prompt tokens and milliseconds of reading, None when they give no rate."""
    tokens, ms = request.prompt_tokens, request.prompt_ms
    if ms is None and tokens and request.prompt_tps:
        ms = tokens / request.prompt_tps * 1000
    return (tokens, ms) if tokens and tokens >= 2 and ms is not None and LEAST_MS <= ms < MOST_MS else None


def _half(pairs: list[tuple[int, float]]) -> HalfFacts:
    if not pairs:
        return HalfFacts()
    tokens, ms = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    return HalfFacts(tokens=tokens, ms=ms, tps=tokens / ms * 1000)


def _folded(run: Run, name: str) -> float | None:
    """A sum over the requests of a very long run that are not kept one by one (``formats.folding``)."""
    value = run.facts.get(f"folded_{name}")
    return value if isinstance(value, int | float) else None


def _folded_pair(run: Run, half: str) -> list[tuple[int, float]]:
    tokens, ms = _folded(run, f"{half}_tokens"), _folded(run, f"{half}_ms")
    return [(int(tokens), ms)] if tokens and ms else []


def _halves(found: Timing, requests: list[Request], run: Run) -> None:
    found.reading = _half([p for r in requests if (p := read(r))] + _folded_pair(run, "read"))
    found.writing = _half([p for r in requests if (p := written(r))] + _folded_pair(run, "written"))
    prompt_ms = _total([*(r.prompt_ms for r in requests), _folded(run, "prompt_ms")])
    eval_ms = _total([*(r.eval_ms for r in requests if not r.end_to_end_tps), _folded(run, "eval_ms")])
    if found.reading.ms is None:
        found.reading.ms = prompt_ms
    if found.writing.ms is None:
        found.writing.ms = eval_ms
    if found.reading.tps is None:
        found.reading.tps = _only([r.prompt_tps for r in requests if r.prompt_tokens is None])
    if found.writing.tps is None:
        found.writing.tps = _only([r.eval_tps for r in requests if written(r) is None and r.eval_tokens is None
                                   and r.output_tokens is None and not r.end_to_end_tps])  # fmt: skip
    both = (found.reading.ms or 0) + (found.writing.ms or 0)
    if both > 0 and found.reading.ms is not None and found.writing.ms is not None:
        found.reading.share, found.writing.share = found.reading.ms / both, found.writing.ms / both
    totals = _total([*(r.total_ms for r in requests), _folded(run, "total_ms")])
    found.request_ms = both if both > 0 else totals
    found.cached_tokens = _total_int([*(r.cached_tokens for r in requests), _folded(run, "cached_tokens")])
    found.end_to_end_only = bool(requests) and all(r.end_to_end_tps for r in requests)


def _only(rates: list[float | None]) -> float | None:
    """Rates without tokens cannot be summed: the middle one stands for them."""
    known = [rate for rate in rates if rate is not None and rate > 0]
    return median(known) if known else None


def _total(values: object) -> float | None:
    known = [v for v in values if v is not None and abs(v) < MOST_MS]  # type: ignore[attr-defined]
    return float(sum(known)) if known else None


def _total_int(values: object) -> int | None:
    total = _total(values)
    return None if total is None else int(total)


def span(request: Request) -> tuple[float, float] | None:
    """Start and end of a request on its source's clock."""
    start, end = request.start_s, request.end_s
    if start is None:
        return None
    if end is None:
        ms = request.total_ms or (request.prompt_ms or 0) + (request.eval_ms or 0)
        end = start + ms / 1000 if ms else None
    return None if end is None or end < start else (start, end)


def _company(found: Timing, run: Run) -> None:
    slots = {r.slot for r in run.requests if r.slot is not None}
    most = min(len(slots) or 1, len(run.requests) or 1)
    spans = sorted(s for r in run.requests if (s := span(r)))
    if run.facts.get("times") == LAID_OUT or len(spans) < len(run.requests) or not spans:
        found.streams_max = max(1, most)
        found.streams = 1.0 if found.streams_max == 1 and run.requests else None
        return
    worked = sum(end - start for start, end in spans)
    covered, reached = 0.0, spans[0][0]
    for start, end in spans:
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    found.streams = worked / covered if covered > 0 else 1.0
    overlapping = any(b[0] < a[1] - 0.02 * (a[1] - a[0]) for a, b in pairwise(spans))
    found.streams_max = max(most, 2) if overlapping else 1
    found.waited = sum(-0.05 <= b[0] - a[1] <= BACK_TO_BACK_S for a, b in pairwise(sorted(spans, key=lambda s: s[1])))


def _alone(requests: list[Request], run: Run) -> list[Request]:
    """Requests during which no other one ran for more than a twentieth of their time."""
    placed = sorted(((s, r) for r in requests if (s := span(r))), key=lambda item: item[0])
    if run.facts.get("times") == LAID_OUT:
        return []
    kept, reached = [], float("-inf")
    for index, ((start, end), request) in enumerate(placed):
        slack = 0.05 * (end - start)
        nxt = placed[index + 1][0][0] if index + 1 < len(placed) else float("inf")
        if reached <= start + slack and nxt >= end - slack:
            kept.append(request)
        reached = max(reached, end)
    return kept


def _alone_rates(found: Timing, alone: list[Request], limits: Thresholds) -> None:
    pairs = [p for r in alone if (p := written(r))]
    enough = [p for p in pairs if p[0] >= limits.rate_min_output_tokens]
    found.alone_tps = _half(enough or pairs).tps
    if found.alone_tps is None and found.streams_max == 1:
        found.alone_tps = found.writing.tps
    reads = [p for r in alone if (p := read(r)) and p[0] >= limits.rate_min_prompt_tokens]
    half = _half(reads)
    found.read_alone_tps = half.tps
    found.read_alone_tokens = half.tokens / len(reads) if half.tokens is not None else None
    if not reads and found.reading.tokens is None and found.streams_max == 1:
        found.read_alone_tps = found.reading.tps
    long_reads = _half([p for p in reads if p[0] >= limits.ratio_min_tokens]).tps
    if found.reading.tokens is None and found.reading.tps is not None:
        long_reads = found.reading.tps
    if long_reads is not None and found.alone_tps:
        found.ratio = long_reads / found.alone_tps


def _median_first(firsts: list[float], run: Run) -> float:
    """The middle time to the first token; of a very long run to one percent, as its requests are counted in buckets."""
    folded = run.facts.get("folded_first_token")
    if not isinstance(folded, dict) or not folded:
        return median(firsts)
    counts = dict(folded)
    for first in firsts:
        number = bucket(first)
        counts[number] = counts.get(number, 0) + 1
    rest = sum(counts.values()) / 2
    for number in sorted(counts):
        rest -= counts[number]
        if rest <= 0:
            break
    return bucket_ms(number)


def _felt(found: Timing, requests: list[Request], run: Run) -> None:
    firsts = [f for r in requests if (f := r.ttft_ms if r.ttft_ms is not None else r.prompt_ms) is not None]
    if firsts:
        found.ttft_max_ms, found.ttft_median_ms = max(firsts), _median_first(firsts, run)
    reads = [r for r in requests if r.prompt_ms is not None]
    writes = [r for r in requests if r.eval_ms is not None]
    found.slow_read = max(reads, key=lambda r: r.prompt_ms or 0, default=None)
    found.slow_write = max(writes, key=lambda r: r.eval_ms or 0, default=None)
    found.write_max_ms = found.slow_write.eval_ms if found.slow_write else None
    outputs = [n for r in requests if (n := r.output_tokens if r.output_tokens is not None else r.eval_tokens)]
    found.output_max = max(outputs, default=None)
    found.prompt_max = max((r.prompt_tokens for r in requests if r.prompt_tokens is not None), default=None)
    contexts = [
        r.n_ctx_used or (r.prompt_tokens or 0) + (r.cached_tokens or 0) + (r.output_tokens or 0) for r in requests
    ]
    found.context_max = max((c for c in contexts if c), default=None)


def _intervals(found: Timing, run: Run) -> None:
    """Rates from interval lines: the steady ones, per stream; a window that holds a pause or a prompt is too low."""
    lines = [e for e in run.events if e.kind == "throughput"]
    found.interval_lines = len(lines)
    streams, sums, prompts = [], [], []
    queued: list[float] = []
    sums_tps: list[float] = []
    for event in lines:
        gen, running, prompt = (_real(event.data.get(k)) for k in ("gen_tps", "running", "prompt_tps"))
        if gen and running and not (prompt and prompt > gen):
            sums_tps.append(gen)
            streams.append(gen / running)
            sums.append(running)
        if prompt:
            prompts.append(prompt)
        waiting = _real(event.data.get("waiting"))
        if waiting:
            queued.append(prompt or 0.0)
            found.waiting_max = max(found.waiting_max, waiting)
    if len(queued) >= MIN_QUEUED and prompts:
        found.reading_windows = sum(queued) / len(queued) / max(prompts)
    if streams:
        # the upper half: lines after a pause or with a prompt inside are too low, none is too high
        found.writing.tps = found.alone_tps = sorted(streams)[(len(streams) * 3) // 4]
        found.streams = sum(sums) / len(sums)
        found.streams_max = max(1, round(max(sums)))
    if prompts and max(prompts) > max(sums_tps, default=0.0):
        # A window that writes more than it reads spreads a short prompt over its length.
        found.reading.tps = max(prompts)


def _real(value: object) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12 else None
    )

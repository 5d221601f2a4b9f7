"""Blocks of servers of 2023-06 to 2023-10 (b694-b1412), which printed sums over the process after every request.

Most builds reset the timings at each request. Those that did not are known by a first total that holds the load and by
sums that never fall; their requests are the differences of neighbouring blocks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import LogState
    from loganalyze.model.records import Request

_SUMS = ("prompt_tokens", "prompt_ms", "eval_tokens", "eval_ms", "total_ms")
# A total that was reset holds its halves, the sampler and some per cent more; one that was not, the load as well.
LOAD_SHARE = 0.5


class Cumulative:
    """Sums of the last block of each run."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self._last: dict[str, tuple[float, ...] | None] = {}

    def block(self, request: Request) -> None:
        """A block is complete: make it a difference where it is a sum."""
        run = self.state.run
        if not run.facts.get("server"):
            return
        values = [getattr(request, name) for name in _SUMS]
        if any(v is None for v in values):
            self._last[run.id] = None
            return
        sums = tuple(float(v) for v in values)
        first = run.id not in self._last
        before = self._last.get(run.id)
        if first:
            self._last[run.id] = sums if self._holds_load(request, run.load_ms) else None
            return
        if before is None or any(now < then for now, then in zip(sums, before, strict=True)):
            self._last[run.id] = None
            return
        self._last[run.id] = sums
        run.facts["cumulative"] = True
        self._subtract(request, before)

    @staticmethod
    def _holds_load(request: Request, load_ms: float | None) -> bool:
        if load_ms is None or request.total_ms is None:
            return False
        prompt = request.prompt_ms or 0
        rest = request.total_ms - prompt - (request.eval_ms or 0) - (request.sampling_ms or 0)
        return load_ms > prompt and rest >= LOAD_SHARE * (load_ms - prompt)

    @staticmethod
    def _subtract(request: Request, before: tuple[float, ...]) -> None:
        prompt_tokens, prompt_ms, runs, eval_ms, _ = before
        request.prompt_tokens = int((request.prompt_tokens or 0) - prompt_tokens)
        request.prompt_ms = (request.prompt_ms or 0) - prompt_ms
        request.ttft_ms = request.prompt_ms or None
        request.prompt_tps = _rate(request.prompt_tokens, request.prompt_ms)
        request.eval_tokens = int((request.eval_tokens or 0) - runs)
        request.eval_ms = (request.eval_ms or 0) - eval_ms
        request.output_tokens = request.eval_tokens + 1
        request.eval_tps = _rate(request.eval_tokens, request.eval_ms)
        # The total also holds the pause before the request.
        request.total_ms = request.prompt_ms + request.eval_ms
        if request.end_s is not None:
            request.start_s = round(request.end_s - request.total_ms / 1000, 6)


def _rate(tokens: int, ms: float) -> float | None:
    return tokens / ms * 1000 if tokens > 1 and ms > 0 else None

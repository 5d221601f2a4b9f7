"""Times that the events of a stamped stream tell of a request which tells none itself."""

from __future__ import annotations

from loganalyze.formats.engine_rates import elapsed_ms, rate
from loganalyze.model.records import Request


class Stream:
    """Times of one stream's events: the first of all, the first and the last with text."""

    def __init__(self) -> None:
        self.start_s: float | None = None
        self.first_s: float | None = None
        self.last_s: float | None = None

    def see(self, stamp: float | None, text: bool) -> None:
        """Note an event."""
        if stamp is None:
            return
        self.start_s = stamp if self.start_s is None else self.start_s
        if text:
            self.first_s = stamp if self.first_s is None else self.first_s
            self.last_s = stamp

    def time(self, request: Request) -> None:
        """Give a request that tells no times of its own those of its events; its token counts stay."""
        first, last, start = self.first_s, self.last_s, self.start_s
        total = elapsed_ms(start, last)
        if request.eval_ms is not None or first is None or last is None or start is None or total is None:
            return
        request.start_s, request.end_s = start, last
        request.total_ms = total
        if first > start:
            request.ttft_ms = request.prompt_ms = (first - start) * 1000
            request.prompt_tps = rate(request.prompt_tokens, request.prompt_ms)
        count = request.output_tokens
        if count is not None and count > 1 and last > first:
            request.eval_tokens, request.eval_ms = count - 1, (last - first) * 1000
            request.eval_tps = rate(request.eval_tokens, request.eval_ms)

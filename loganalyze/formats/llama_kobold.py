"""koboldcpp: one line per answer, in seconds. Its load log is llama.cpp's.

``Process`` divides by the tokens read now, the kept prefix left out. Counts are known from the progress lines (2023 on)
and, for what was written, from ``Amt`` (2024-07 on). A rate printed as ms/T only is turned into tokens per second.
"""

from __future__ import annotations

from loganalyze.formats.llama_books import Books
from loganalyze.formats.llama_figures import rate, time_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

ENGINE = "koboldcpp"


class Kobold:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.books = Books.of(state)
        self._prompt_tokens: int | None = None
        self._output_tokens: int | None = None
        self._draft: tuple[int, int] | None = None

    def answer(self, f: Fields, line: Line) -> None:
        run = self.books.identify(ENGINE, own_process=True)
        self.state.dialect(ENGINE)
        request = self.state.request(line, end_s=line.t_s, n_ctx_used=f.get("n_ctx_used"))
        request.prompt_tokens = self._prompt_tokens
        request.output_tokens = request.eval_tokens = f.get("output_tokens", self._output_tokens)
        request.prompt_ms, request.eval_ms = _ms(f["prompt_s"]), _ms(f["eval_s"])
        if request.prompt_ms is not None:
            request.ttft_ms = round(request.prompt_ms + (_ms(f.get("init_s", 0)) or 0), 3) or None
        request.prompt_tps = rate(_tps(f, "prompt"), request.prompt_tokens, request.prompt_ms)
        request.eval_tps = rate(_tps(f, "eval"), request.output_tokens, request.eval_ms)
        request.total_ms = _ms(f["total_s"])
        if request.end_s is not None:
            request.start_s = request.end_s - f["total_s"]
        if self._draft is not None:
            request.draft_accepted = self._draft[0]
            request.draft_tokens = sum(self._draft)
        request.lines = dict.fromkeys(("prompt", "eval", "total"), line.number)
        if run.setup.n_ctx is None:
            run.setup.n_ctx = f.get("n_ctx")
        self._prompt_tokens = self._output_tokens = self._draft = None

    def reading(self, f: Fields, line: Line) -> None:
        self.books.identify(ENGINE, own_process=True)
        self._prompt_tokens = f["prompt_tokens"] if f["done_tokens"] >= f["prompt_tokens"] else f["done_tokens"]
        self._output_tokens = f.get("output_tokens")

    def writing(self, f: Fields, line: Line) -> None:
        self.books.identify(ENGINE, own_process=True)
        self._output_tokens = f["output_tokens"]

    def shift(self, f: Fields, line: Line) -> None:
        self.state.event("context_shift", line, n_discard=f["n_discard"])

    def draft(self, f: Fields, line: Line) -> None:
        self._draft = (f["draft_accepted"], f["draft_failed"])

    def slow(self, f: Fields, line: Line) -> None:
        self.state.event("slow_hint", line)

    def banner(self, f: Fields, line: Line) -> None:
        run = self.state.opening("kobold")
        run.engine, run.version = ENGINE, f["version"]


def _ms(seconds: float) -> float | None:
    return time_ms(round(seconds * 1000, 3))


def _tps(f: Fields, half: str) -> float | None:
    tps: float | None = f.get(f"{half}_tps")
    per_token = f.get(f"{half}_ms_per_token")
    return 1000 / per_token if tps is None and per_token else tps


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of koboldcpp's rules."""
    kobold = Kobold(state)
    return {
        "llama_timings.kobold": kobold.answer,
        "llama_timings.kobold_prompt": kobold.reading,
        "llama_timings.kobold_generating": kobold.writing,
        "llama_timings.kobold_shift": kobold.shift,
        "llama_timings.kobold_draft": kobold.draft,
        "llama_timings.kobold_slow": kobold.slow,
        "llama_timings.kobold_banner": kobold.banner,
    }

"""The server of b1413-b2258 (2023-10 to 2024-02): free text on stderr, no slot beside the numbers."""

from __future__ import annotations

from loganalyze.formats.llama_books import Books

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

DIALECT = "server_text"


class Text:
    """Handlers of one source; ``llama_timings`` calls the last three for ``print_timings:`` lines."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.books = Books.of(state)

    def slot(self, f: Fields, line: Line) -> None:
        setup = self.books.server().setup
        setup.n_ctx_slot = f["n_ctx_slot"]
        setup.n_parallel = max(setup.n_parallel or 0, f["slot"] + 1)

    def launch(self, f: Fields, line: Line) -> None:
        self.books.slots().launch(f["slot"], f["task"], line)

    def cache(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.get(f["slot"], -1, line).cached_tokens = f["cached_tokens"]

    def kept(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.kept(slots.get(f["slot"], -1, line), f["p0"])

    def released(self, f: Fields, line: Line) -> None:
        self.books.slots().claim(f["slot"], f["n_ctx_used"], line)

    def up(self, f: Fields, line: Line) -> None:
        self.books.server()

    def error(self, f: Fields, line: Line) -> None:
        self.state.event("error", line, task=f["task"])

    def prompt(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        self.state.dialect(DIALECT)
        slots.prompt(slots.nameless("prompt", line), f["prompt_ms"], f["prompt_tokens"], f.get("tps"), line)

    def eval(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        self.state.dialect(DIALECT)
        slots.eval(slots.nameless("eval", line), f["eval_ms"], f["eval_runs"], f.get("tps"), line)

    def total(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.total(slots.nameless("total", line), f["total_ms"], line)


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of the ``text_`` rules."""
    text = Text(state)
    return {
        "llama_server.text_slot": text.slot,
        "llama_server.text_launch": text.launch,
        "llama_server.text_cache": text.cache,
        "llama_server.text_kept": text.kept,
        "llama_server.text_released": text.released,
        "llama_server.text_idle": text.up,
        "llama_server.text_error": text.error,
    }

"""llama-server (and ik_llama.cpp, llamafile): requests of every age, see ``grammars/llama_server.lark``.

``Run.load_ms`` runs from the line that names the model to ``model loaded`` where lines have stamps.
A request begins with its launch line and ends with its total line; without one it is not ``complete`` and carries what
its last progress lines said. ``ttft_ms`` is the prompt time: how long it waited for a slot is not printed.
Facts: ``server`` (True), ``prompt_cache_mib`` (host prompt cache, largest seen), ``prompt_cache_limit_mib``,
``requests_http`` (answered POST requests), ``http_errors``.
"""

from __future__ import annotations

from loganalyze.formats import llama_kv, llama_text
from loganalyze.formats.llama_books import Books
from loganalyze.model.records import RateSample

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

NAME = "llama_cpp"
GRAMMARS = ("llama_server",)


class Server:
    """Handlers of slot and server lines (b3761 on)."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.books = Books.of(state)
        self.path = state.source.path
        self._loading: dict[str, float] = {}

    # ---- timings

    def slot_header(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.header = slots.get(f["slot"], f["task"], line)

    def block_prompt(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        self.state.dialect("server_slot")
        slots.prompt(slots.of_numbers("prompt", line), f["prompt_ms"], f["prompt_tokens"], f.get("tps"), line)

    def block_eval(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        self.state.dialect("server_slot")
        slots.eval(slots.of_numbers("eval", line), f["eval_ms"], f["output_tokens"], f.get("tps"), line)

    def block_total(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.total(slots.of_numbers("total", line), f["total_ms"], line)

    def block_graphs(self, f: Fields, line: Line) -> None:
        last = self.books.slots().last
        if last is not None:
            last.graphs_reused = f["graphs_reused"]

    def block_draft(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        request = slots.header or slots.last
        if request is not None:
            slots.draft(request, f["draft_accepted"], f["draft_tokens"], line)

    def slot_prompt(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        self.state.dialect("server_slot")
        slots.prompt(slots.get(f["slot"], f["task"], line), f["prompt_ms"], f["prompt_tokens"], f.get("tps"), line)

    def slot_eval(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        self.state.dialect("server_slot")
        slots.eval(slots.get(f["slot"], f["task"], line), f["eval_ms"], f["output_tokens"], f.get("tps"), line)

    def slot_total(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.total(slots.get(f["slot"], f["task"], line), f["total_ms"], line)

    def slot_graphs(self, f: Fields, line: Line) -> None:
        self.books.slots().get(f["slot"], f["task"], line).graphs_reused = f["graphs_reused"]

    def slot_draft(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.draft(slots.get(f["slot"], f["task"], line), f["draft_accepted"], f["draft_tokens"], line)

    def slot_reading(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        tokens, seconds = f["prompt_tokens"], f["prompt_s"]
        tps = f["tps"] if seconds > 0 and 0 < f["tps"] < float("inf") else None
        sample = RateSample("reading", line.t_s, tokens, tps, None, f["progress"], self.path, line.number)
        slots.sample(slots.get(f["slot"], f["task"], line), sample)

    def slot_writing(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        tps, window = _finite(f["tps"]), _finite(f.get("window_tps"))
        sample = RateSample("writing", line.t_s, f["output_tokens"], tps, window, None, self.path, line.number)
        slots.sample(slots.get(f["slot"], f["task"], line), sample)

    # ---- life of a request

    def slot_launch(self, f: Fields, line: Line) -> None:
        self.books.slots().launch(f["slot"], f["task"], line)

    def slot_release(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        truncated = f["truncated"] in ("1", "true")
        slots.release(slots.get(f["slot"], f["task"], line), f["n_ctx_used"], truncated, line)
        if truncated:
            self.state.event("truncated", line, slot=f["slot"], task=f["task"], n_ctx_used=f["n_ctx_used"])

    def slot_kept(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.kept(slots.get(f["slot"], f["task"], line), f["p0"])

    def slot_progress(self, f: Fields, line: Line) -> None:
        slots = self.books.slots()
        slots.reading(slots.get(f["slot"], f["task"], line), f["position"], f["progress"], line)

    def slot_new_prompt(self, f: Fields, line: Line) -> None:
        self.books.slots().get(f["slot"], f["task"], line)
        self.state.run.setup.n_ctx_slot = f["n_ctx_slot"]

    def slot_new(self, f: Fields, line: Line) -> None:
        self.state.run.setup.n_ctx_slot = f["n_ctx_slot"]

    def slot_reuse(self, f: Fields, line: Line) -> None:
        self.state.event("cache_reuse", line, tokens=f["reused_tokens"], slot=f["slot"], task=f["task"])

    def shifted(self, f: Fields, line: Line) -> None:
        """Context shift (the event itself is of ``llama_limits``)."""
        if "slot" in f:
            self.books.slots().shifted.add(f["slot"])

    def truncated(self, f: Fields, line: Line) -> None:
        """Input truncated (the event itself is of ``llama_limits``)."""
        slots = self.books.slots()
        slots.get(f["slot"], f["task"], line).truncated = True
        slots.shifted.add(f["slot"])

    # ---- server

    def server_slots(self, f: Fields, line: Line) -> None:
        setup = self.books.server().setup
        setup.n_parallel = f["n_slots"]
        setup.n_ctx_slot = f.get("n_ctx_slot", setup.n_ctx_slot)

    def loading(self, f: Fields, line: Line) -> None:
        """The server begins to load (the line itself is of ``llama_load``)."""
        if line.t_s is not None:
            self._loading[self.state.run.id] = line.t_s

    def server_loaded(self, f: Fields, line: Line) -> None:
        """No load time is printed; the stamps tell it."""
        run = self.books.server()
        begun = self._loading.pop(run.id, None)
        if run.load_ms is None and begun is not None and line.t_s is not None and line.t_s >= begun:
            run.load_ms = round((line.t_s - begun) * 1000, 3)
            run.fact_lines["load_ms"] = line.number

    def server_up(self, f: Fields, line: Line) -> None:
        self.books.server()

    def server_exit(self, f: Fields, line: Line) -> None:
        self.state.close_run()

    def request(self, f: Fields, line: Line) -> None:
        self.books.answered(f["method"], int(f["status"]), line)

    def cancel(self, f: Fields, line: Line) -> None:
        self.state.event("cancelled", line, task=f["task"])

    def cache_limit(self, f: Fields, line: Line) -> None:
        if "limit_mib" in f:
            self.books.fact("prompt_cache_limit_mib", f["limit_mib"], line)

    def cache_state(self, f: Fields, line: Line) -> None:
        if f["cache_mib"] > self.state.run.facts.get("prompt_cache_mib", -1):
            self.books.fact("prompt_cache_mib", f["cache_mib"], line)

    def sleep(self, f: Fields, line: Line) -> None:
        self.state.event("sleep", line)

    def evicted(self, f: Fields, line: Line) -> None:
        self.state.event("evicted", line, model=f["model_name"])

    def ik(self, f: Fields, line: Line) -> None:
        self.books.identify("ik_llama.cpp")
        self.books.server()


def _finite(value: float | None) -> float | None:
    return value if value is not None and 0 < value < float("inf") else None


_SAME = {
    "slot_progress_past": "slot_progress",
    "server_listening": "server_up",
    "server_listening_old": "server_up",
    "server_idle": "server_up",
    "sleep_begin": "sleep",
    "sleep_end": "sleep",
    "router_evict": "evicted",
    "ik_prompt_cache": "ik",
    "ik_cache": "ik",
}
_NAMES = (
    *("slot_header", "block_prompt", "block_eval", "block_total", "block_graphs", "block_draft"),
    *("slot_prompt", "slot_eval", "slot_total", "slot_graphs", "slot_draft", "slot_reading", "slot_writing"),
    *("slot_launch", "slot_release", "slot_kept", "slot_progress", "slot_new_prompt", "slot_new", "slot_reuse"),
    *("server_slots", "server_loaded", "server_exit", "request", "cancel", "cache_limit", "cache_state"),
)


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_server``, and of lines of other grammars that concern a request."""
    server = Server(state)
    found: dict[str, Any] = {f"llama_server.{name}": getattr(server, name) for name in _NAMES}
    found |= {f"llama_server.{rule}": getattr(server, name) for rule, name in _SAME.items()}
    found |= llama_kv.handlers(state) | llama_text.handlers(state)
    found |= {"llama_limits.context_shift": server.shifted, "llama_limits.truncated": server.truncated}
    found |= {"llama_load.server_model": server.loading}
    return found

"""Server lines of b2259-b3760 (2024), ik_llama.cpp to 2026-01 and llamafile: ``LEVEL [func] message | key=value``.

The extras hold the text's numbers unrounded, so they are preferred. ``timestamp`` is whole epoch seconds. Names were
``slot_id`` and ``task_id`` to b2356, ``id_slot`` and ``id_task`` since.
"""

from __future__ import annotations

from loganalyze.formats.llama_blocks import Loads
from loganalyze.formats.llama_books import Books
from loganalyze.formats.llama_pairs import parse_pairs
from loganalyze.model.records import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

# llama.cpp left this shape on 2024-09-15; after some weeks to update, only its relatives print it.
AFTER_UPSTREAM = 1733000000
# llama.cpp left the names slot_id and task_id on 2024-03-07; llamafile kept them.
AFTER_SLOT_ID = 1717200000


class Pairs:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.books = Books.of(state)

    def _read(self, f: Fields, line: Line) -> dict[str, Any]:
        pairs = parse_pairs(f.get("pairs"))
        stamp = pairs.get("timestamp")
        if isinstance(stamp, int):
            self.state.stamp(line, float(stamp), "UTC")
            self._relative(pairs, stamp)
        self.books.server()
        return pairs

    def _relative(self, pairs: dict[str, Any], stamp: int) -> None:
        if "slot_id" in pairs and stamp > AFTER_SLOT_ID:
            self.books.identify("llamafile")
        elif "id_slot" in pairs and stamp > AFTER_UPSTREAM:
            self.books.identify("ik_llama.cpp")

    def _request(self, pairs: dict[str, Any], line: Line) -> Request | None:
        slot = pairs.get("id_slot", pairs.get("slot_id"))
        task = pairs.get("id_task", pairs.get("task_id", -1))
        return self.books.slots().get(slot, task, line) if isinstance(slot, int) and isinstance(task, int) else None

    def _dialect(self) -> None:
        self.state.dialect("server_json" if self.state.was_json else "server_kv")

    def prompt(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        slots = self.books.slots()
        request = self._request(pairs, line) or slots.of_numbers("prompt", line)
        tokens = pairs.get("n_prompt_tokens_processed", pairs.get("num_prompt_tokens_processed"))
        ms = _number(pairs.get("t_prompt_processing"), f["prompt_ms"])
        tps = _number(pairs.get("n_tokens_second"), f.get("tps"))
        slots.prompt(request, ms, _count(tokens, f["prompt_tokens"]), tps, line)
        self._dialect()

    def eval(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        slots = self.books.slots()
        request = self._request(pairs, line) or slots.of_numbers("eval", line)
        ms = _number(pairs.get("t_token_generation"), f["eval_ms"])
        tps = _number(pairs.get("n_tokens_second"), f.get("tps"))
        slots.eval(request, ms, _count(pairs.get("n_decoded"), f["output_tokens"]), tps, line)
        self._dialect()

    def total(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        slots = self.books.slots()
        request = self._request(pairs, line) or slots.of_numbers("total", line)
        slots.total(request, _number(pairs.get("t_total"), f["total_ms"]), line)

    def launch(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        slot = pairs.get("id_slot", pairs.get("slot_id"))
        task = pairs.get("id_task", pairs.get("task_id", -1))
        if isinstance(slot, int) and isinstance(task, int):
            self.books.slots().launch(slot, task, line)

    def kept(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        request, tokens = self._request(pairs, line), pairs.get("p0")
        if request is not None and isinstance(tokens, int):
            self.books.slots().kept(request, tokens)

    def released(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        request = self._request(pairs, line)
        if request is None:
            return
        used = pairs.get("n_past", pairs.get("n_cache_tokens"))
        truncated = pairs.get("truncated")
        self.books.slots().release(request, used, truncated if isinstance(truncated, bool) else None, line)
        if isinstance(pairs.get("n_ctx"), int):
            self.state.run.setup.n_ctx = self.state.run.setup.n_ctx or pairs["n_ctx"]
        if truncated is True:
            self.state.event("truncated", line, slot=request.slot, task=request.task, n_ctx_used=used)

    def shift(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        request = self._request(pairs, line)
        if request is not None and request.slot is not None:
            self.books.slots().shifted.add(request.slot)
        data = {k: pairs[k] for k in ("n_left", "n_discard") if k in pairs}
        self.state.event("context_shift", line, **data)

    def progress(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        request = self._request(pairs, line)
        if request is not None and isinstance(pairs.get("progress"), int | float):
            self.books.slots().reading(request, int(pairs.get("n_past") or 0), float(pairs["progress"]), line)

    def http(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        if isinstance(pairs.get("status"), int):
            self.books.answered(str(pairs.get("method")), pairs["status"], line)

    def build(self, f: Fields, line: Line) -> None:
        Loads.of(self.state).mark("server_build")
        pairs = self._read(f, line)
        if isinstance(pairs.get("build"), int) and pairs["build"] > 0:
            self.state.run.version = f"b{pairs['build']}"

    def system(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        setup = self.state.run.setup
        setup.n_threads = pairs.get("n_threads", setup.n_threads)
        setup.n_threads_total = pairs.get("total_threads", setup.n_threads_total)
        if "n_threads" in pairs:
            self.state.run.fact_lines["n_threads"] = line.number

    def slots(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        self.state.run.setup.n_parallel = pairs.get("n_slots", self.state.run.setup.n_parallel)

    def new_slot(self, f: Fields, line: Line) -> None:
        pairs = self._read(f, line)
        self.state.run.setup.n_ctx_slot = pairs.get("n_ctx_slot", self.state.run.setup.n_ctx_slot)

    def other(self, f: Fields, line: Line) -> None:
        self._read(f, line)


def _number(value: Any, printed: Any) -> Any:
    """The extra where it is a number, else what the text says."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else printed


def _count(value: Any, printed: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else printed


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of the ``kv_`` rules."""
    pairs = Pairs(state)
    return {
        "llama_server.kv_prompt": pairs.prompt,
        "llama_server.kv_eval": pairs.eval,
        "llama_server.kv_total": pairs.total,
        "llama_server.kv_launch": pairs.launch,
        "llama_server.kv_kept": pairs.kept,
        "llama_server.kv_released": pairs.released,
        "llama_server.kv_shift": pairs.shift,
        "llama_server.kv_progress": pairs.progress,
        "llama_server.kv_request": pairs.http,
        "llama_server.kv_build": pairs.build,
        "llama_server.kv_system": pairs.system,
        "llama_server.kv_slots": pairs.slots,
        "llama_server.kv_new_slot": pairs.new_slot,
        "llama_server.kv_other": pairs.other,
    }

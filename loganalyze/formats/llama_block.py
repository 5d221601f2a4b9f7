"""The timing block of a command line tool, line by line, and where one block ends and the next begins.

Lines of a block come in one order in every build, so a line that is not further on begins another block.
"""

from __future__ import annotations

from math import isfinite

from loganalyze.formats.llama_books import Books
from loganalyze.formats.llama_cumulative import Cumulative
from loganalyze.formats.llama_figures import rate, set_prompt, set_runs, time_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import LogState
    from loganalyze.model.records import Request, Run
    from loganalyze.scan.line import Line

# ``sample`` stands before ``load`` since b3681 and behind it before; it is held until its block is known.
ORDER = {"predict": 3, "prompt": 4, "eval": 5, "total": 6, "unaccounted": 7, "graphs": 8}
# Totals that exceed their halves by more than this factor hold something else: the load, or a user who types.
IDLE_FACTOR = 1.5


class Blocks:
    """Blocks of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.books = Books.of(state)
        self.cumulative = Cumulative(state)
        self.prefix: tuple[int | None, int | None] | None = None
        """Cached and remaining tokens that llama-cpp-python announced for the next block."""
        self.role = ""
        """``draft`` or ``target`` inside the blocks of a speculative run."""
        self.spec: Request | None = None
        """Request of a speculative run: the block's halves are not its own."""
        self.simple: Request | None = None
        """Request of a tool that printed one figure and may print its block next."""
        self._run: Run | None = None
        self._request: Request | None = None
        self._rank = 0
        self._held: list[tuple[str, dict[str, Any], int]] = []

    def _sync(self) -> None:
        run = self.state.run
        if run is not self._run:
            self._run, self._request, self._rank = run, None, 0
            self.role, self.spec, self.simple = "", None, None

    def fact(self, name: str, value: Any, line: Line) -> None:
        """Set a fact of the current run."""
        self.books.fact(name, value, line)

    # ---- lines of a block

    def load(self, ms: float, line: Line) -> None:
        """Another load time is another process, unless it is that of a draft model."""
        self._sync()
        run, value = self.state.run, time_ms(ms)
        if self.role == "draft":
            self.fact("draft_load_ms", value, line)
            return
        if run.load_ms is not None and value != run.load_ms and run.requests:
            held = self._held
            self.state.start_run()
            self._sync()
            self._held = held
        self._request, self._rank = None, 0
        self.books.name_engine()
        self.state.run.load_ms = value
        self.state.run.fact_lines["load_ms"] = line.number

    def hold(self, kind: str, data: dict[str, Any], line: Line) -> None:
        """A line of the sampler: before or behind the load line of its block."""
        self._sync()
        if self._rank >= ORDER["total"]:
            self._request, self._rank = None, 0
        self._held.append((kind, data, line.number))

    def begin_spec(self, request: Request) -> None:
        """``request`` is a speculative run's: what blocks follow are of its draft and target models."""
        self._sync()
        self.spec, self._request, self._rank, self.role = request, None, 0, ""

    def begin_simple(self, request: Request) -> None:
        """``request`` has one figure so far; a block that follows is its own."""
        self._sync()
        self.simple, self._request, self._rank = request, None, 0

    def take(self, label: str, line: Line) -> Request:
        """The request that a line with ``label`` belongs to."""
        self._sync()
        rank = ORDER[label]
        if self._request is None or rank <= self._rank:
            self._request = self._begin(line)
        self._rank = rank
        return self._request

    def _begin(self, line: Line) -> Request:
        self.books.name_engine()
        request = self.spec or self.simple
        self.simple = None
        if request is None:
            request = self.state.request(line, complete=False)
        elif request is not self.spec:
            request.end_to_end_tps = False
        if self.prefix is not None:
            request.cached_tokens, self.prefix = self.prefix[0], None
        for kind, data, number in self._held:
            if kind == "sample":
                request.sampling_ms = time_ms(data["ms"])
                request.lines["sample"] = number
            else:
                self.state.run.facts |= {"samplers_ms": data["ms"], "samplers_tokens": data["tokens"]}
                self.state.run.fact_lines |= {"samplers_ms": number, "samplers_tokens": number}
        self._held = []
        return request

    def _aside(self) -> str:
        """Prefix of the facts that take the halves of this block; empty when they are the request's."""
        self._sync()
        if self.role == "draft":
            return "draft"
        return "target" if self.spec is not None else ""

    def prompt(self, ms: float, tokens: int, tps: float | None, line: Line) -> None:
        """``prompt eval``: everything decoded in batches of more than one token."""
        if tps is None and ms > 0:
            tps = 1000 * tokens / ms
        aside = self._aside()
        if aside:
            self._put_aside(
                aside, {"prompt_ms": ms, "prompt_tokens": tokens, "prompt_tps": rate(tps, tokens, ms)}, line
            )
            return
        request = self.take("prompt", line)
        set_prompt(request, ms, tokens, tps, line.number)

    def eval(self, ms: float, runs: int, tps: float | None, line: Line) -> None:
        """``eval``: everything decoded one token at a time."""
        if tps is None and ms > 0:
            tps = 1000 * runs / ms
        aside = self._aside()
        if aside:
            self._put_aside(aside, {"eval_ms": ms, "eval_runs": runs, "eval_tps": rate(tps, runs, ms)}, line)
            return
        request = self.take("eval", line)
        set_runs(request, ms, runs, tps, line.number)
        request.complete = True

    def _put_aside(self, prefix: str, values: dict[str, Any], line: Line) -> None:
        for name, value in values.items():
            self.fact(f"{prefix}_{name}", value, line)

    def total(self, ms: float, tokens: int | None, line: Line) -> None:
        """The total, since the context was made or its timings reset."""
        self._sync()
        if self.role == "draft":
            self._put_aside("draft", {"total_ms": ms, "total_tokens": tokens}, line)
            return
        request = self.take("total", line)
        request.total_ms = time_ms(ms)
        request.lines["total"] = line.number
        request.complete = True
        run = self.state.run
        run.total_ms = request.total_ms
        if tokens is not None:
            self.fact("total_tokens", tokens, line)
        if "prompt" not in request.lines and "eval" in request.lines and self.spec is None:
            # b144-b194 print no prompt line: eval covers the prompt.
            request.end_to_end_tps = True
        self._place(request, line.t_s)
        self.cumulative.block(request)

    def _place(self, request: Request, t_s: float | None) -> None:
        if t_s is None:
            return
        request.end_s = t_s
        halves = (request.prompt_ms or 0) + (request.eval_ms or 0)
        if request.total_ms is not None and request.total_ms <= IDLE_FACTOR * halves:
            request.start_s = round(t_s - request.total_ms / 1000, 6)
        elif halves and not self.state.run.facts.get("interactive"):
            request.start_s = round(t_s - halves / 1000, 6)

    def unaccounted(self, ms: float, pct: float, line: Line) -> None:
        """Total less all that was measured."""
        self.take("unaccounted", line).unaccounted_ms = ms if isfinite(ms) else None
        self.fact("unaccounted_pct", pct, line)

    def graphs(self, count: int, line: Line) -> None:
        """Graphs reused since the context was made."""
        self._sync()
        if self.role == "draft":
            self.fact("draft_graphs_reused", count, line)
            return
        self.take("graphs", line).graphs_reused = count

    def rates(self, prompt_tps: float, eval_tps: float, line: Line) -> None:
        """Two rates without counts."""
        self.books.name_engine()
        request = self.state.request(line, end_s=line.t_s)
        request.prompt_tps = rate(prompt_tps, None, None)
        request.eval_tps = rate(eval_tps, None, None)
        request.lines = {"prompt": line.number, "eval": line.number}

"""Requests of one llama-server run while it is read: which slot works on what.

Slots print interleaved, builds to b9209 print the numbers without saying whose they are, those to b6722 print the
release before them, and the server of 2023 names no slot at all in them. ``Slots`` puts them together.
"""

from __future__ import annotations

from loganalyze.formats.llama_figures import add_sample, fill_aborted, set_end, set_eval, set_prompt
from loganalyze.model.records import RateSample, Request, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import LogState
    from loganalyze.scan.line import Line


class Slots:
    """Requests of ``run``. ``released`` and ``shifted`` tell which open requests cannot be used to count the cache."""

    def __init__(self, state: LogState, run: Run) -> None:
        self.state = state
        self.run = run
        self.open: dict[int, Request] = {}
        self.header: Request | None = None
        self.unclaimed: list[Request] = []
        self.shifted: set[int] = set()
        self.speculates = False
        self.last: Request | None = None

    # ---- which request

    def launch(self, slot: int, task: int, line: Line) -> Request:
        """A slot takes up a task; what it worked on before without an end was aborted."""
        request = self.open.get(slot)
        if request is not None and request.task == task and not request.complete:
            return request
        request = self._new(slot, task, line)
        request.start_s = line.t_s
        return request

    def get(self, slot: int, task: int, line: Line) -> Request:
        """The request of ``task``; a new one when the log begins inside it."""
        request = self.open.get(slot)
        if request is not None and (request.task == task or task < 0):
            return request
        return self._new(slot, task, line)

    def _new(self, slot: int, task: int, line: Line) -> Request:
        before = self.open.get(slot)
        if before is not None and not before.complete:
            fill_aborted(before)
        request = self.state.request(line, slot=slot, task=task, complete=False)
        self.open[slot] = request
        self.shifted.discard(slot)
        return request

    def of_numbers(self, label: str, line: Line) -> Request:
        """Whose are numbers without a name: the header's, else a request of their own."""
        request = self.header
        if request is None or label in request.lines or (label != "total" and "total" in request.lines):
            request = self.header = self.state.request(line, complete=False)
        return request

    # ---- figures

    def prompt(self, request: Request, ms: float, tokens: int, tps: float | None, line: Line) -> None:
        set_prompt(request, ms, tokens, tps, line.number)

    def eval(self, request: Request, ms: float, tokens: int, tps: float | None, line: Line) -> None:
        set_eval(request, ms, tokens, tps, line.number)

    def total(self, request: Request, ms: float, line: Line) -> None:
        set_end(request, ms, line.t_s, line.number)
        self.last = request
        self._settle(request)

    def draft(self, request: Request, accepted: int, drafted: int, line: Line) -> None:
        request.draft_tokens, request.draft_accepted = drafted, accepted
        request.lines["draft"] = line.number
        self.speculates = True

    def release(self, request: Request, used: int | None, truncated: bool | None, line: Line) -> None:
        """The slot is free; ``used`` tokens stay in its cache. Printed before or after the numbers."""
        request.n_ctx_used = used
        request.truncated = truncated
        request.lines["release"] = line.number
        if line.t_s is not None:
            request.end_s = line.t_s
        self._settle(request)

    def kept(self, request: Request, tokens: int) -> None:
        """The first such line of a request tells what was cached, later ones how far reading is."""
        if request.cached_tokens is None and not request.samples and "prompt" not in request.lines:
            request.cached_tokens = tokens

    def reading(self, request: Request, position: int, progress: float, line: Line) -> None:
        """Position in the whole prompt, cached tokens included."""
        done = position - request.cached_tokens if request.cached_tokens is not None else None
        self.sample(
            request, RateSample("reading", line.t_s, done, None, None, progress, line_source(self), line.number)
        )

    def sample(self, request: Request, sample: RateSample) -> None:
        add_sample(request, sample)

    def _settle(self, request: Request) -> None:
        """Cached = what is in the cache at the end, less what was read and written (the last token stays out)."""
        used, read, written = request.n_ctx_used, request.prompt_tokens, request.output_tokens
        if request.cached_tokens is not None or used is None or read is None or written is None:
            return
        if request.truncated or self.speculates or request.slot in self.shifted:
            return
        cached = used - read - written + 1
        if cached >= 0:
            request.cached_tokens = cached

    # ---- the server of 2023

    def nameless(self, label: str, line: Line) -> Request:
        """Numbers of some slot: of the only one at work, else of one that is released soon."""
        busy = [r for r in self.open.values() if not r.complete]
        last = self.unclaimed[-1] if self.unclaimed else None
        if last is not None and label not in last.lines and "total" not in last.lines:
            return last
        if len(busy) == 1 and not self.unclaimed and label not in busy[0].lines:
            return busy[0]
        request = Request(id="", source=self.state.source.path, line=line.number, complete=False)
        self.unclaimed.append(request)
        return request

    def claim(self, slot: int, used: int, line: Line) -> None:
        """``slot`` was released: numbers that still have no owner are its own, oldest first."""
        request = self.open.get(slot)
        if request is None:
            request = self._new(slot, -1, line)
        if not request.complete and self.unclaimed:
            _adopt(request, self.unclaimed.pop(0))
        self.release(request, used, request.truncated, line)

    # ---- end

    def finish(self) -> None:
        """End of the log: numbers nobody claimed are requests, open requests were cut off."""
        for request in self.unclaimed:
            request.id = self.state.next_id(self.run)
            self.run.requests.append(request)
        self.unclaimed = []
        for request in self.open.values():
            if not request.complete:
                fill_aborted(request)


def line_source(slots: Slots) -> str:
    """Path of the source, for samples."""
    return slots.state.source.path


_OWN = ("id", "line", "slot", "task", "start_s", "cached_tokens")


def _adopt(request: Request, numbers: Request) -> None:
    for name in Request.__slots__:
        if name not in _OWN:
            value = getattr(numbers, name)
            if value is not None:
                setattr(request, name, value)

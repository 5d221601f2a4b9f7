"""What the handlers of llama.cpp's timings share: the slots of each run, and facts of a server run."""

from __future__ import annotations

from loganalyze.formats.llama_slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import LogState
    from loganalyze.model.records import Run
    from loganalyze.scan.line import Line


class Books:
    """One of each source; see ``of``."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self._slots: dict[str, Slots] = {}
        self._last: Slots | None = None
        state.at_end(self.finish)

    @classmethod
    def of(cls, state: LogState) -> Books:
        """The one instance of ``state``."""
        return state.part(cls)

    def slots(self) -> Slots:
        """Slots of the current run."""
        run = self.state.run
        last = self._last
        if last is not None and last.run is run:
            return last
        found = self._slots.get(run.id)
        if found is None:
            found = self._slots[run.id] = Slots(self.state, run)
            self.name_engine()
            run.facts["server"] = True
        self._last = found
        return found

    def server(self) -> Run:
        """The current run, which is one of a server."""
        run = self.state.run
        run.facts["server"] = True
        self.name_engine()
        return run

    def name_engine(self, engine: str = "llama.cpp") -> None:
        """Name the engine unless it is known."""
        if self.state.run.engine is None:
            self.state.run.engine = engine

    def identify(self, engine: str, *, own_process: bool = False) -> Run:
        """A line that only ``engine`` prints: its run, another one when the run at hand is of another relative.

        ``own_process``: the engine prints none of llama.cpp's timings, so a run that has some is another process.
        """
        run = self.state.run
        named = run.engine not in (None, "llama.cpp", engine)
        if run.requests and run.engine != engine and (named or own_process):
            run = self.state.start_run()
        run.engine = engine
        return run

    def fact(self, name: str, value: Any, line: Line) -> None:
        """Set a fact of the current run with its line."""
        run = self.state.run
        run.facts[name] = value
        run.fact_lines[name] = line.number

    def answered(self, method: str, status: int, line: Line) -> None:
        """A request line of the HTTP server."""
        run = self.server()
        if method == "POST":
            run.facts["requests_http"] = run.facts.get("requests_http", 0) + 1
        if status >= 400 and status != 503:
            run.facts["http_errors"] = run.facts.get("http_errors", 0) + 1
            run.fact_lines.setdefault("http_errors", line.number)

    def finish(self) -> None:
        """End of the source."""
        for slots in self._slots.values():
            slots.finish()

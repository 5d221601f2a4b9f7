"""What every log format builds on: the state of one source while it is read, and the contract of a format module.

A log format is a module with

* ``NAME``: format name shown in ``sources[].format`` (``llama_cpp``, ``vllm``, ...);
* ``GRAMMARS``: names of the grammars it owns, in order of precedence;
* ``handlers(state) -> dict[str, Handler]``: ``"grammar.rule"`` -> function taking ``(fields, line)``.

Several formats may share one text (Ollama prints llama.cpp's lines), so all handlers share one ``LogState``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loganalyze.model.records import Event, Request, Run, Source

if TYPE_CHECKING:
    from loganalyze.scan.line import Line

Fields = dict[str, Any]
Handler = Callable[[Fields, "Line"], None]


class LogState:
    """Runs being read from one source. ``run`` is the run the current line belongs to."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.runs: list[Run] = []
        self._current: dict[Any, Run] = {}
        self._key: Any = None

    def at(self, line: Line) -> None:
        """Make ``line`` current: interleaved processes (another pid, port or container) have a run each."""
        wrap = line.wrap
        self._key = (wrap.host, wrap.process, wrap.pid, wrap.port, wrap.container) if wrap is not None else None

    @property
    def run(self) -> Run:
        """The current run, started on first use."""
        run = self._current.get(self._key)
        return run if run is not None else self.start_run()

    def start_run(self) -> Run:
        """Begin another run in the current process (a new build line, a new load, a restarted clock)."""
        run = Run(id=f"{self.source.path}#{len(self.runs) + 1}", source=self.source)
        self.runs.append(run)
        self._current[self._key] = run
        return run

    def event(self, kind: str, line: Line, **data: Any) -> Event:
        """Record an event of the current run (``kind`` from ``EVENT_KINDS``)."""
        event = Event(kind, line.str, self.source.path, line.number, line.t_s, data)
        self.run.events.append(event)
        return event

    def request(self, line: Line, **fields: Any) -> Request:
        """Add a request to the current run."""
        run = self.run
        request = Request(id=str(len(run.requests) + 1), source=self.source.path, line=line.number, **fields)
        run.requests.append(request)
        return request

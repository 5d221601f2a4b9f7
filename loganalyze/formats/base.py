"""What every log format builds on: the state of one source while it is read, and the contract of a format module.

A log format is a module with

* ``NAME``: format name shown in ``sources[].format`` (``llama_cpp``, ``vllm``, ...);
* ``GRAMMARS``: names of the grammars it owns, in order of precedence;
* ``handlers(state) -> dict[str, Handler]``: ``"grammar.rule"`` -> function taking ``(fields, line)``. A rule without a
  handler is read and counted, and says nothing. Called when the first line comes that it has a handler for.

Several formats may share one text (Ollama prints llama.cpp's lines), so all handlers share one ``LogState``.
``line.t_s`` that handlers see is on the run's own clock: the log's stamps since the start of the process where it has
such, else seconds since the first wall-clock stamp of the source.
"""

from __future__ import annotations

from collections.abc import Callable

from loganalyze.formats import folding
from loganalyze.formats.folding import MAX_EVENTS, MAX_REQUESTS, fold, fold_events
from loganalyze.formats.log_end import settle
from loganalyze.model.records import Event, Request, Run, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from loganalyze.scan.line import Line
    from loganalyze.scan.lines import Scanner

    Fields = dict[str, Any]
    Handler = Callable[[Fields, Line], None]
    T = TypeVar("T")


# Threads write stamps up to some milliseconds out of order; a clock that falls back further is that of another process.
RESTART_DROP_S = 2.0
OUT_OF_ORDER_S = 0.05
# Processes that write into one file at once take turns within so many lines; one silent for longer is over.
LANE_LINES = 100
# A wall clock that falls back further than any correction of it is that of another log pasted behind.
WALL_DROP_S = 3600.0
# Requests that may be under way at once: servers are rarely given more slots.
SLOTS = 64
# A step of local time that is the end of summer time, with up to two minutes between the lines.
WINTER_S = (-3601.0, -3480.0)
# Pairs of inner and outer time kept for the median; more do not make it better.
MAX_ANCHORS = 2000
_HOSTS = (("ollama", "ollama"), ("llama-", "llama.cpp"))


class Stream:
    """One process inside a source: its current run and where its clock is."""

    __slots__ = (
        "anchors",
        "closed",
        "fell",
        "first_line",
        "first_s",
        "last_line",
        "marks",
        "run",
        "t_s",
        "wall_s",
        "zone",
    )

    def __init__(self) -> None:
        self.run: Run | None = None
        self.first_line: int | None = None
        self.last_line = 0
        self.first_s: float | None = None
        self.t_s: float | None = None
        self.marks: set[str] = set()
        self.closed = False
        self.fell = False
        self.anchors: list[float] = []
        self.zone: str | None = None
        self.wall_s: float | None = None


class LogState:
    """Runs being read from one source. ``run`` is the run the current line belongs to."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.runs: list[Run] = []
        self.before = b""
        """Text glued in front of the record that is being handled (``anywhere`` rules)."""
        self.scanner: Scanner | None = None
        """Set by the reader; ``scanner.take_while`` hands out rows that only a head line announces."""
        self.was_json = False
        """The line that is being handled was a JSON object of the server."""
        self.dialects: dict[str, int] = {}
        self._streams: dict[Any, Stream] = {}
        self._lanes: dict[Any, list[Stream]] = {}
        self._key: Any = None
        self._stream = self._first_stream(None)
        self._line: Line | None = None
        self._zero: float | None = None
        self._zone: str | None = None
        self._made = 0
        self._started = self._left_out = 0
        self._own: dict[int, dict[str, Any]] = {}
        self._local_s: float | None = None
        self._winter_s = 0.0
        self._finishers: list[Callable[[], None]] = []
        self._parts: dict[Any, Any] = {}

    def at(self, line: Line) -> None:
        """Make ``line`` current: interleaved processes (another pid, port or container) have a run each."""
        wrap = line.wrap
        key = None if wrap is None else (wrap.host, wrap.process, wrap.pid, wrap.port, wrap.container)
        if key != self._key:
            self._key = key
            self._stream = self._streams.get(key) or self._first_stream(key)
        self._line = line
        stream = self._stream
        t_s, epoch = line.t_s, line.epoch_s
        if t_s is not None:
            last = stream.t_s
            if last is not None and (last - t_s > RESTART_DROP_S or len(self._lanes[key]) > 1):
                stream = self._stream = self._streams[key] = self._lane(key, t_s, line.number)
            stream.t_s = t_s
            if epoch is not None and len(stream.anchors) < MAX_ANCHORS:
                stream.anchors.append(epoch - t_s)
                stream.zone = line.zone
        elif epoch is not None:
            self.stamp(line, epoch, line.zone)
        stream.last_line = line.number
        if stream.first_line is None:
            stream.first_line, stream.first_s = line.number, line.t_s

    def _first_stream(self, key: Any) -> Stream:
        stream = self._streams[key] = Stream()
        self._lanes[key] = [stream]
        return stream

    def _lane(self, key: Any, t_s: float, number: int) -> Stream:
        """The process whose clock ``t_s`` continues: the nearest one still at work, else a new one."""
        lanes = self._lanes[key]
        found: Stream | None = None
        for lane in lanes:
            if lane.t_s is None or lane.closed or number - lane.last_line > LANE_LINES:
                continue
            if t_s >= lane.t_s - OUT_OF_ORDER_S and (found is None or found.t_s is None or lane.t_s > found.t_s):
                found = lane
        if found is not None:
            return found
        current = self._streams[key]
        if current.t_s is not None and current.t_s - t_s <= RESTART_DROP_S:
            return current
        lanes.append(Stream())
        return lanes[-1]

    def done(self, line: Line) -> None:
        """``line`` has been handled: it belongs to the run that is current now."""
        run = self._stream.run
        if run is not None:
            self._touch(run, line)

    def stamp(self, line: Line, epoch_s: float, zone: str | None) -> None:
        """Give ``line`` wall-clock time told inside its message (``timestamp=1712750031``), unless it has a time."""
        stream = self._stream
        if zone is None:
            epoch_s = self._without_summer(epoch_s)
        last = stream.wall_s
        if last is not None and last - epoch_s > WALL_DROP_S and stream.run is not None and stream.run.requests:
            # Not here and now: the clock may be set back while requests are under way.
            stream.fell = True
        stream.wall_s = epoch_s
        if self._zero is None:
            self._zero, self._zone = epoch_s, zone
        if line.t_s is None:
            line.t_s = epoch_s - self._zero

    def _without_summer(self, epoch_s: float) -> float:
        """Local time that goes on where the end of summer time set it back by an hour."""
        step = 0.0 if self._local_s is None else epoch_s - self._local_s
        self._local_s = epoch_s
        if WINTER_S[0] <= step <= WINTER_S[1]:
            self._winter_s += WALL_DROP_S
        return epoch_s + self._winter_s

    @staticmethod
    def _touch(run: Run, line: Line) -> None:
        run.last_line = line.number
        t_s = line.t_s
        if t_s is not None:
            if run.start_s is None or t_s < run.start_s:
                run.start_s = t_s
            if run.end_s is None or t_s > run.end_s:
                run.end_s = t_s

    @property
    def run(self) -> Run:
        """The current run, started on first use."""
        run = self._stream.run
        return run if run is not None else self.start_run()

    def start_run(self) -> Run:
        """Begin another run in the current process (a new build line, a new load, a restarted clock)."""
        stream = self._stream
        first = stream.run is None
        if not first:
            self._settle_clock(stream)
        if self._made >= folding.MAX_REQUESTS:
            # Not at each start: a log of very many starts would be gone through again for each of them.
            self._made = 0
            folding.shrink(self.runs)
        if len(self.runs) >= 3 * folding.KEEP_RUNS:
            self._leave_out()
        self._started += 1
        run = Run(id=f"{self.source.path}#{self._started}", source=self.source)
        run.engine = self._host_engine()
        self.runs.append(run)
        stream.run = run
        stream.marks = set()
        stream.closed = stream.fell = False
        if self._line is not None:
            run.first_line = (first and stream.first_line) or self._line.number
            run.start_s = stream.first_s if first else None
            self._touch(run, self._line)
        return run

    def own(self) -> dict[str, Any]:
        """What formats remember of the current run while the source is read, by names of their own."""
        return self._own.setdefault(id(self.run), {})

    def _leave_out(self) -> None:
        """Forget runs from the middle of very many, but for those that may still be at work."""
        gone = {id(run) for run in folding.middle(self.runs, self._line.number if self._line is not None else 0)}
        self._left_out += len(gone)
        self.runs[:] = [run for run in self.runs if id(run) not in gone]
        for run in gone:
            self._own.pop(run, None)
        for key, lanes in list(self._lanes.items()):
            lanes[:] = [lane for lane in lanes if id(lane.run) not in gone or lane is self._stream]
            if not lanes:
                del self._lanes[key], self._streams[key]
            elif self._streams[key] not in lanes:
                self._streams[key] = lanes[-1]

    def _host_engine(self) -> str | None:
        """The engine whose log this is by the name of its process or container: Ollama's runner prints llama.cpp's lines."""
        if self._key is None:
            return None
        _, process, _, _, container = self._key
        names = [name for name in (process, container) if name]
        return next((engine for start, engine in _HOSTS for name in names if name.startswith(start)), None)

    def opening(self, mark: str) -> Run:
        """The run that a line of the start-up belongs to: a new one when the current run is over or met ``mark`` before.

        ``mark`` names a line that a process prints once (``build``, ``devices``, ``server``).
        """
        stream = self._stream
        if stream.run is None or stream.closed or mark in stream.marks:
            self.start_run()
        stream.marks.add(mark)
        return self.run

    def close_run(self) -> None:
        """The current process has printed its last words: whatever starts up next is another run."""
        self._stream.closed = True

    def event(self, kind: str, line: Line, **data: Any) -> Event:
        """Record an event of the current run (``kind`` from ``EVENT_KINDS``)."""
        event = Event(kind, line.str, self.source.path, line.number, line.t_s, data)
        run = self.run
        run.events.append(event)
        if len(run.events) > MAX_EVENTS:
            fold_events(run)
        return event

    def request(self, line: Line, **fields: Any) -> Request:
        """Add a request to the current run. Those in the middle of a very long run are summed up (``folding``)."""
        if self._stream.fell and all(r.complete for r in self.run.requests[-SLOTS:]):
            self.start_run()
        self._made += 1
        run = self.run
        request = Request(id=self.next_id(run), source=self.source.path, line=line.number, **fields)
        run.requests.append(request)
        return request

    @staticmethod
    def next_id(run: Run) -> str:
        """Id of the next request of ``run``: its ordinal."""
        if len(run.requests) >= MAX_REQUESTS:
            fold(run)
        return str(len(run.requests) + int(run.facts.get("folded_requests", 0)) + 1)

    def part(self, kind: Callable[[LogState], T]) -> T:
        """The one ``kind(state)`` of this source, made on first use: what several formats share."""
        found: T | None = self._parts.get(kind)
        if found is None:
            found = self._parts[kind] = kind(self)
        return found

    def dialect(self, name: str) -> None:
        """Count a timing line of dialect ``name``; the most frequent becomes ``Source.dialect``."""
        self.dialects[name] = self.dialects.get(name, 0) + 1

    def at_end(self, finish: Callable[[], None]) -> None:
        """Call ``finish`` when the source has been read."""
        self._finishers.append(finish)

    def finish(self) -> list[Run]:
        """End of the source: all runs that say anything, clocks settled."""
        if self._left_out:
            self._leave_out()
            kept = folding.KEEP_RUNS
            self.source.notes.append(
                f"{self._left_out} starts from the middle are left out; the first and the last {kept} are kept"
            )
        settle(self.runs)
        for finish in self._finishers:
            finish()
        for lanes in self._lanes.values():
            for stream in lanes:
                self._settle_clock(stream)
        if self.dialects:
            self.source.dialect = max(self.dialects, key=lambda name: self.dialects[name])
        return self.runs

    def _settle_clock(self, stream: Stream) -> None:
        run = stream.run
        if run is None or run.clock.kind != "none" or run.start_s is None:
            return
        clock = run.clock
        if stream.t_s is not None:
            clock.kind = "relative"
            clock.anchor = "time since the start of the process"
            clock.resolution_s = 1e-6
            if stream.anchors:
                middle = sorted(stream.anchors)
                clock.first_epoch_s = middle[len(middle) // 2]
                clock.zone = stream.zone
                clock.error_s = round(middle[-1] - middle[0], 6)
        elif self._zero is not None:
            clock.kind = "absolute"
            clock.first_epoch_s, clock.zone = self._zero, self._zone
        stream.anchors = []


_LISTENING: dict[Any, list[tuple[str, str]]] = {}


def listening(reader: object, grammar: str, cut: str, start: str = "") -> dict[str, Handler]:
    """Handlers that are methods of ``reader`` named like rules of ``grammar``: ``cut`` and the name of the rule.

    With ``start`` only those whose rule begins with it.
    """
    kind = type(reader)
    names = _LISTENING.get(kind)
    if names is None:
        prefix = cut + start
        names = [(f"{grammar}.{name[len(cut) :]}", name) for name in dir(kind) if name.startswith(prefix)]
        _LISTENING[kind] = names
    return {rule: getattr(reader, name) for rule, name in names}

"""Read one log: candidate lines -> rules -> handlers -> runs."""

from __future__ import annotations

from importlib import import_module

from loganalyze.formats import log_index
from loganalyze.formats.base import LogState
from loganalyze.formats.embedded import HEADS, Embedded
from loganalyze.formats.llama_pairs import json_as_text
from loganalyze.formats.repair import repaired
from loganalyze.grammar import Matcher
from loganalyze.model.records import Capture, Run, Setup, Source
from loganalyze.scan import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Handler
    from loganalyze.grammar import Match, Rule
    from loganalyze.scan.line import Line

MAX_UNREAD = 50
UNREAD_CHARS = 500
# What a handler meets when a line has the shape of a rule and figures that cannot be (a count of 60 digits).
_BAD_FIGURES = (KeyError, ValueError, OverflowError, ZeroDivisionError, TypeError)
_SAYS_LITTLE = frozenset({"server"})


class LogFormats:
    """Matcher and listeners of ``LOG_FORMATS``, made once."""

    _loaded: LogFormats | None = None

    def __init__(self) -> None:
        self.owner = log_index.OWNERS
        self.matcher = Matcher(log_index.OWNERS, log_index)
        self.literals = (*self.matcher.literals, *HEADS)
        self.listeners = log_index.LISTENERS
        """Modules that have a handler for a rule, each loaded when the first such line comes."""

    @classmethod
    def load(cls) -> LogFormats:
        """The one instance."""
        if cls._loaded is None:
            cls._loaded = cls()
        return cls._loaded


def read_log(opened: Any, source: Source, captures: list[Capture] | None = None) -> list[Run]:
    """Runs in ``opened``; fills the counts, rule hits, examples, dialect and format of ``source``.

    ``captures`` gets those that are pasted into the log.
    """
    formats = LogFormats.load()
    reader = _Reader(formats, source)
    scanner = scan(opened, formats.literals)
    reader.state.scanner = scanner
    reader.read(scanner)
    if captures is not None:
        captures += reader.embedded.captures()
    runs = _telling(reader.state.finish(), source)
    source.unmatched = min(reader.unmatched, scanner.delivered)
    source.matched = scanner.delivered - source.unmatched
    source.skipped = source.lines - scanner.delivered
    _format(source, formats, runs)
    return runs


class _Reader:
    def __init__(self, formats: LogFormats, source: Source) -> None:
        self.matcher = formats.matcher
        self.source = source
        self.state = LogState(source)
        self._listeners = formats.listeners
        self._handlers: dict[str, dict[str, Handler]] = {}
        self.embedded = Embedded(source)
        self.unmatched = 0
        self._table: dict[Rule, list[Any]] = {}
        self._pending: Line | None = None
        self._taken = 0
        self._bad = 0

    def read(self, lines: Any) -> None:
        """All lines. A physical line is matched when a rule took it or one of its pieces."""
        match_line, take, state = self.matcher.match, self._take, self.state
        for line in lines:
            if line.text[:1] == b"{":
                self._from_json(line)
            match = match_line(line.text)
            if match is None:
                self._unread(line)
            else:
                take(match, line)
            state.was_json = False
        self._settle(None)
        self._end()

    def _from_json(self, line: Line) -> None:
        text = json_as_text(line.text)
        if text is not None:
            line.text = text
            self.state.was_json = True

    def _take(self, match: Match, line: Line) -> None:
        if self._pending is not None:
            self._settle(line)
        self._taken = line.number
        rule, state, before = match.rule, self.state, match.before
        entry = self._table.get(rule)
        if entry is None:
            entry = self._table[rule] = [0, self._handlers_of(rule.full)]
        entry[0] += 1
        state.at(line)
        if before:
            self._glued(before, line)
        state.before = before
        for handler in entry[1]:
            try:
                handler(match.fields, line)
            except _BAD_FIGURES:
                self._bad += 1
        state.done(line)

    def _handlers_of(self, rule: str) -> list[Handler]:
        """Handlers of ``rule``, one of each module that listens to it."""
        names = self._listeners.get(rule, ())
        for name in names:
            if name not in self._handlers:
                self._load(name)
        return [self._handlers[name][rule] for name in names]

    def _load(self, name: str) -> None:
        self._handlers[name] = import_module(f"loganalyze.formats.{name}").handlers(self.state)

    def _glued(self, before: bytes, line: Line) -> None:
        """Text in front of a record: most often what the model wrote, at times another record."""
        match = self.matcher.match(before.rstrip())
        if match is not None:
            self._take(match, line)

    def _unread(self, line: Line) -> None:
        for text in repaired(line.text):
            match = self.matcher.match(text)
            if match is not None:
                self._take(match, line)
                return
        scanner = self.state.scanner
        if scanner is not None and self.embedded.take(line, scanner):
            self._settle(line)
            self._taken = line.number
            return
        self._settle(line)
        if line.number != self._taken:
            self._pending = line

    def _settle(self, line: Line | None) -> None:
        """Count the pending line once nothing else of its physical line can be read."""
        pending = self._pending
        if pending is None or (line is not None and line.number == pending.number):
            if line is not None:
                self._pending = None
            return
        self._pending = None
        self.unmatched += 1
        if len(self.source.unread) < MAX_UNREAD:
            self.source.unread.append((pending.number, pending.str[:UNREAD_CHARS]))

    def _end(self) -> None:
        self.source.rule_hits = {rule.full: entry[0] for rule, entry in self._table.items()}
        if self._bad:
            self.source.notes.append(f"{self._bad} lines have figures that cannot be; they were left out")


def _telling(runs: list[Run], source: Source) -> list[Run]:
    """Runs that say something, numbered anew; the first one if none does."""
    kept = [run for run in runs if _says_something(run)] or runs[:1]
    for number, run in enumerate(kept, 1):
        run.id = f"{source.path}#{number}"
    folded = sum(int(run.facts.get("folded_requests", 0)) for run in kept)
    if folded:
        source.notes.append(
            f"{folded} requests from the middle of long runs are kept as sums only; the slowest are kept whole"
        )
    events = sum(int(run.facts.get("folded_events", 0)) for run in kept)
    if events:
        source.notes.append(f"{events} events from the middle of long runs were left out")
    return kept


def _says_something(run: Run) -> bool:
    if run.requests or run.events or run.devices or run.memory or run.captures or run.version:
        return True
    return run.load_ms is not None or run.setup != Setup() or bool(run.facts.keys() - _SAYS_LITTLE)


def _format(source: Source, formats: LogFormats, runs: list[Run]) -> None:
    """The format most lines are of; only a format that made a run counts."""
    if not runs:
        return
    if (source.wrapper or "").startswith("lmstudio"):
        # Its stamps frame the lines of the llama.cpp inside.
        for run in runs:
            run.engine = "lm studio" if run.engine in (None, "llama.cpp") else run.engine
    counts: dict[str, int] = {}
    for full, count in source.rule_hits.items():
        name = formats.owner[full.partition(".")[0]]
        counts[name] = counts.get(name, 0) + count
    if counts:
        source.format = max(counts, key=lambda name: counts[name])
        if source.format == "llama_cpp":
            # Lines of loading and failing that its relatives print as well: without a name it is the original.
            for run in runs:
                run.engine = run.engine or "llama.cpp"

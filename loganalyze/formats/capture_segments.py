"""Cut a text into segments of capture formats, line by line. Imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module

from loganalyze.formats.capture import Segment
from loganalyze.formats.capture_stamps import stamp_line
from loganalyze.model.records import Clock, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.capture import CaptureFormat
    from loganalyze.grammar import Matcher

MAX_UNREAD = 50
# A segment does not go on behind more foreign lines than this.
MAX_GAP = 200

_TOOL = (
    rb"(?:nvidia-smi|vmstat|vm_stat|free|swapon|cat|grep|sar|sadf|pidstat|iostat|mpstat|dstat|dool|top|time|watch"
    rb"|rocm-smi|amd-smi|gpustat|nvtop|tegrastats|while|date|uptime|python3?|ollama|\./llama-\S+)"
)
PROMPT = re.compile(
    rb"^[ \t]*(?:[^\s$#>%]{0,200}+[ \t]?[^\s$#>%]{0,200}+[$#>%]|PS [^>]{0,200}>)[ \t]+(?:sudo[ \t]+)?("
    + _TOOL
    + rb"\b.*)$"
)
TITLE = re.compile(rb"^[ \t]*Every ([0-9]+(?:[.,][0-9]+)?)s: (.*)$")
_FENCE = re.compile(rb"^[ \t]*(?:```|~~~)")
_INTERVAL = (
    re.compile(rb"\bwatch\b.*?-n[ =]?([0-9.]+)"),
    re.compile(rb"\bnvidia-smi\b.*?--loop-ms[ =]([0-9]+)(?P<ms>)"),
    re.compile(rb"\bnvidia-smi\b.*? -lms[ =]?([0-9]+)(?P<ms>)"),
    re.compile(rb"\bnvidia-smi\b.*? (?:-l[ =]?|--loop[ =])([0-9]+)"),
    re.compile(rb"\bnvidia-smi\b.*?\b[dp]mon\b.*? (?:-d[ =]?|--delay[ =])([0-9]+)"),
    re.compile(rb"\bfree\b.*? (?:-s[ =]?|--seconds[ =])([0-9.]+)"),
    re.compile(rb"\b(?:vmstat|vm_stat|dool|dstat|sar|iostat|pidstat|mpstat)\b(?: -\S+(?: [kKmM]\b)?){0,20} ([0-9]+)\b"),
)


@cache
def capture_formats() -> tuple[CaptureFormat, ...]:
    """The capture modules, in the order in which they are asked."""
    from loganalyze.formats import CAPTURE_FORMATS

    return tuple(_module(name) for name in CAPTURE_FORMATS)


def _module(name: str) -> Any:
    return import_module(f"loganalyze.formats.{name}")


def interval_of(command: bytes) -> float | None:
    """Seconds between samples that a command line asks for, or None."""
    for pattern in _INTERVAL:
        found = pattern.search(command)
        if found:
            try:
                value = float(found.group(1))
            except ValueError:
                return None
            return value / 1000 if "ms" in pattern.groupindex else value
    return None


@cache
def _hints() -> tuple[re.Pattern[bytes], tuple[tuple[CaptureFormat, re.Pattern[bytes]], ...]]:
    """A pattern of all hints, and the formats that have one with their own."""
    hints = [(f, re.compile(f.HINT)) for f in capture_formats() if hasattr(f, "HINT")]
    return re.compile(b"|".join(hint.pattern for _, hint in hints)), tuple(hints)


@cache
def _rules() -> Matcher:
    """The rules of all capture grammars: a text that none takes costs one look, not one a format."""
    from loganalyze.grammar import Matcher

    asked = (f for f in capture_formats() if not hasattr(f, "HINT_ALONE"))
    return Matcher(dict.fromkeys(grammar for f in asked for grammar in f.GRAMMARS))


def format_of(line: bytes) -> CaptureFormat | None:
    """The first format that ``line`` starts."""
    bare = line.strip()
    rules = _rules()
    if rules.match(line) is not None or (bare != line and rules.match(bare) is not None):
        return next((f for f in capture_formats() if f.starts(line)), None)
    every, hints = _hints()
    if every.match(line) is None:
        return None
    return next((f for f, hint in hints if hint.match(line) is not None and f.starts(line)), None)


class Segmenter:
    """Feeds on lines, yields ``(format, segment)`` pairs, counts on ``source``.

    A line goes to the open segment if it belongs there, else to the format it starts; else it is a prompt, a title or
    a lone date (which stamps what follows), else it is unmatched and the open segment goes on behind it.
    """

    def __init__(self, source: Source, start_number: int = 0) -> None:
        self.source = source
        self.done: list[tuple[CaptureFormat, Segment]] = []
        self._format: CaptureFormat | None = None
        self._lines: list[bytes] = []
        self._stamps: list[float | None] = []
        self._first = 1
        self._last_taken = 0
        self._number = start_number
        self._command: bytes | None = None
        self._interval: float | None = None
        self._outer: Clock | None = None
        self._stamp: float | None = None
        self._stamp_clock: Clock | None = None

    def feed(self, number: int, line: bytes, stamp: float | None = None, clock: Clock | None = None) -> None:
        """Take one line. ``stamp`` is the wrapper's time of it on ``clock``."""
        self.source.lines += 1
        if clock is not None:
            self._stamp_clock = clock
        stamp = stamp if stamp is not None else self._stamp
        if not line.strip():
            self.source.skipped += 1
            self._keep(b"", stamp)
        elif self._format is not None and self._belongs(line):
            self._take(number, line, stamp)
        else:
            self._other(number, line, stamp)

    def feed_all(self, number: int, lines: list[bytes]) -> None:
        """Take consecutive lines, the first of which is ``number``; rows of the open segment go in together."""
        at = 0
        while at < len(lines):
            end = self._run_end(lines, at)
            if end > at:
                self._lines += lines[at:end]
                self._stamps += [self._stamp] * (end - at)
                self._last_taken = number + end - 1
                self.source.lines += end - at
                self.source.matched += end - at
            if end < len(lines):
                self.feed(number + end, lines[end])
            at = end + 1

    def _run_end(self, lines: list[bytes], at: int) -> int:
        """End of the run of lines from ``at`` on that belong to the open segment whatever stands around them."""
        if self._format is None or hasattr(self._format, "tail_belongs"):
            return at
        belongs = self._format.belongs
        while at < len(lines) and lines[at].strip() and belongs(lines[at]):
            at += 1
        return at

    def gap(self, count: int) -> None:
        """Leave ``count`` lines out that somebody else reads; an open segment keeps its numbers true."""
        if count > MAX_GAP:
            self._close(False)
        for _ in range(count if self._format is not None else 0):
            self._keep(b"", None)

    def finish(self, cut: bool = False) -> list[tuple[CaptureFormat, Segment]]:
        """End the text; ``cut`` when its last line has no line end. Returns all segments in order."""
        at_end = bool(self._lines) and self._last_taken == self._first + len(self._lines) - 1
        self._close(cut and at_end)
        return self.done

    def _belongs(self, line: bytes) -> bool:
        tail = getattr(self._format, "tail_belongs", None)
        if tail is not None:
            return bool(tail(line, self._lines))
        return self._format is not None and self._format.belongs(line)

    def _other(self, number: int, line: bytes, stamp: float | None) -> None:
        found = format_of(line)
        if found is not None:
            self._close(False)
            self._format, self._first = found, number
            self._take(number, line, stamp)
            return
        self._keep(b"", stamp)
        if self._command_line(line) or _FENCE.match(line) or self._date(line):
            self.source.skipped += 1
            return
        unmatched(self.source, number, line)

    def _command_line(self, line: bytes) -> bool:
        title = TITLE.match(line)
        prompt = None if title else PROMPT.match(line)
        if title:
            self._interval = float(title.group(1).replace(b",", b"."))
            self._command = title.group(2)
        elif prompt:
            self._close(False)
            self._command = prompt.group(1)
            self._interval = interval_of(self._command)
        return bool(title or prompt)

    def _date(self, line: bytes) -> bool:
        found = stamp_line(line)
        if found is None:
            return False
        self._stamp = found.epoch_s
        self._stamp_clock = Clock("absolute", zone=found.zone, resolution_s=found.resolution_s, anchor="date line")
        return True

    def _keep(self, line: bytes, stamp: float | None) -> None:
        if self._format is not None:
            self._lines.append(line)
            self._stamps.append(stamp)

    def _take(self, number: int, line: bytes, stamp: float | None) -> None:
        self._keep(line, stamp)
        self._last_taken = number
        self.source.matched += 1

    def _close(self, cut: bool) -> None:
        if self._format is not None:
            keep = self._last_taken - self._first + 1
            lines, stamps = self._lines[:keep], self._stamps[:keep]
            segment = Segment(
                self.source,
                self._first,
                b"\n".join(lines) + (b"" if cut else b"\n"),
                last_line_cut=cut,
                stamps=stamps if any(s is not None for s in stamps) else None,
                stamp_clock=self._stamp_clock,
                interval_s=self._interval,
                command=self._command.decode("utf-8", "replace") if self._command else None,
                number=self._number,
            )
            self.done.append((self._format, segment))
            self._number += 1
            self._command = self._interval = None
        self._format, self._lines, self._stamps = None, [], []


def unmatched(source: Source, number: int, line: bytes) -> None:
    """Count a line that no format took and keep it as an example."""
    source.unmatched += 1
    if len(source.unread) < MAX_UNREAD:
        source.unread.append((number, line[:500].decode("utf-8", "replace")))


def share_of_captures(lines: Iterable[bytes]) -> tuple[str | None, float]:
    """Name of the first format met in ``lines`` and the share of lines (blank ones aside) that captures take."""
    source = Source(path="")
    segmenter = Segmenter(source)
    segmenter.feed_all(1, list(lines))
    pairs: Any = segmenter.finish()
    content = source.matched + source.unmatched
    return (pairs[0][0].NAME, source.matched / content) if pairs and content else (None, 0.0)

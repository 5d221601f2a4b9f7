"""Cut out the lines that matter, count all of them, and let a reader take the lines that follow."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice

from loganalyze.scan.block_reader import BlockReader
from loganalyze.scan.clean import pieces
from loganalyze.scan.find import for_large, make_finder
from loganalyze.scan.joiner import Joiner
from loganalyze.scan.limits import LINE_BYTES
from loganalyze.scan.line import Line
from loganalyze.scan.modes import modes_of
from loganalyze.scan.screen import first_frame, is_screen
from loganalyze.scan.source import Opened
from loganalyze.scan.unwrap import LM_LITERALS, Unwrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.scan.find import Finder

_LF = 10
SCREEN_NOTE = "drawn on a screen (watch, top): only full frames were read, updates were left out"
# Blocks with fewer finds are not searched for control bytes as a whole.
DENSE_STARTS = 256
# Before 3.13 ``count`` looks at one byte at a time, and making a list of lines is quicker where these are long.
COUNT_BY_SPLITTING = sys.version_info < (3, 13)
LONG_LINE_BYTES = 70
SPLIT_BYTES = 2048
# From here on numpy, which takes 0.1 s to import, pays for itself.
LARGE_BYTES = 24 << 20
LARGE_COUNT_BYTES = 1024
_NBSP = (b"\xc2\xa0", b"\xe2\x80\xaf")


class Scanner:
    """Iterator of the lines of ``opened`` that hold a literal (of all lines without ``finder``), each unwrapped.

    ``delivered`` counts the physical lines handed out, by iterating and by the ``raw`` methods. ``opened.source`` gets
    ``lines``, ``wrapper`` and notes at the end of the source.
    """

    def __init__(self, opened: Opened, finder: Finder | None, unwrapper: Unwrapper) -> None:
        self.source = opened.source
        self.delivered = 0
        self._reader = BlockReader(opened, len(opened.head) + 1) if opened.whole else BlockReader(opened)
        self._finder = finder
        self._unwrapper = unwrapper
        self._every = finder is None or unwrapper.modes.every_line
        self._joiner = Joiner() if unwrapper.modes.jsonl else None
        self._skip = self._joiner is not None and finder is not None and finder.in_json
        self._nbsp = unwrapper.modes.nbsp
        self._buffer, self._view, self._end = self._reader.buffer, self._reader.view, 0
        self._starts: list[int] = []
        self._pos = 0
        self._newlines = 0
        self._last_number = 0
        self._moved = False
        self._odd = True
        self._long_lines = COUNT_BY_SPLITTING and opened.head.count(_LF) * LONG_LINE_BYTES < len(opened.head)
        self._count_large: Callable[[memoryview], int] | None = None
        self._until_large = LARGE_BYTES
        self._cut_pieces = 0
        self._queue: deque[Line] = deque()
        self._lines = self._all() if self._every else self._candidates()

    def __iter__(self) -> Iterator[Line]:
        return self._lines

    def __next__(self) -> Line:
        return next(self._lines)

    def peek_raw(self) -> Line | None:
        """The next line, whatever it holds, without taking it; None at the end."""
        while not self._queue:
            if not self._fetch():
                return None
        return self._queue[0]

    def next_raw(self) -> Line | None:
        """Take the next line, whatever it holds; None at the end."""
        line = self.peek_raw()
        if line is not None:
            self._queue.popleft()
            self._deliver(line.number)
        return line

    def take_while(self, keep: Callable[[Line], bool]) -> list[Line]:
        """Take the following lines while ``keep`` says so; the first it refuses stays."""
        taken: list[Line] = []
        while (line := self.peek_raw()) is not None and keep(line):
            self._queue.popleft()
            self._deliver(line.number)
            taken.append(line)
        return taken

    def drain(self) -> None:
        """Read to the end, so that ``source.lines`` is right, without handing out more lines."""
        self._queue.clear()
        while self._load():
            pass

    def _deliver(self, number: int) -> None:
        if number != self._last_number:
            self._last_number = number
            self.delivered += 1

    def _load(self) -> bool:
        """Count the rest of the present block and go to the next; False at the end."""
        reader = self._reader
        if self._pos < self._end:
            self._newlines += self._count(self._pos, self._end)
        self._moved = True
        self._pos = self._end = 0
        self._starts = []
        if not reader.next():
            self._close()
            return False
        self._buffer, self._view, self._end = reader.buffer, reader.view, reader.end
        if self._nbsp:
            self._replace_blanks()
        if not self._every and self._finder is not None:
            if self._until_large >= 0:
                self._grow()
            self._starts = self._finder.starts(self._buffer, self._view, self._end)
            self._odd = len(self._starts) < DENSE_STARTS or self._end > LINE_BYTES or self._has_controls()
        return True

    def _grow(self) -> None:
        """Once so much was read that they earn back their start, take the finder and the counter for large texts."""
        self._until_large -= self._end
        if self._until_large < 0 and self._finder is not None:
            found = for_large(self._finder, bytes(self._view[: self._end]))
            if found is not self._finder:
                from loganalyze.scan.words import count_lines

                self._finder, self._count_large = found, count_lines

    def _count(self, start: int, end: int) -> int:
        """Line ends in a part of the block."""
        if self._count_large is not None and end - start >= LARGE_COUNT_BYTES:
            return self._count_large(self._view[start:end])
        if end - start < SPLIT_BYTES or not self._long_lines:
            return self._buffer.count(_LF, start, end)
        return len(BytesIO(self._view[start:end]).readlines()) - (self._buffer[end - 1] != _LF)

    def _has_controls(self) -> bool:
        """A byte in the block that makes a line need cleaning."""
        return any(self._buffer.find(control, 0, self._end) >= 0 for control in (27, 13, 0, 8))

    def _replace_blanks(self) -> None:
        """No-break spaces, which pasting through a web page leaves, to blanks."""
        data = self._buffer[: self._end]
        for space in _NBSP:
            data = data.replace(space, b" ")
        self._buffer, self._view, self._end = data, memoryview(data), len(data)

    def _close(self) -> None:
        source = self.source
        source.lines = self._newlines + (0 if self._reader.ended_line else 1)
        source.wrapper = self._unwrapper.wrapper()
        cuts = self._cut_pieces + self._reader.cuts
        if cuts:
            note = f"{cuts} lines longer than {LINE_BYTES >> 20} MiB were cut there"
            if note not in source.notes:
                source.notes.append(note)

    def _candidates(self) -> Iterator[Line]:
        """Lines around the places where a literal was found."""
        unwrap = self._unwrapper.line
        while True:
            while self._queue:
                line = self._queue.popleft()
                if self._finder is None or self._finder.holds(line.text):
                    self._deliver(line.number)
                    yield line
            self._moved = False
            buffer, view, end, pos, newlines = self._buffer, self._view, self._end, self._pos, self._newlines
            odd, count = self._odd, self._count
            for start in islice(self._starts, bisect_left(self._starts, pos), None):
                if start < pos:
                    continue
                line_at = buffer.rfind(_LF, pos, start) + 1 or pos
                line_end = buffer.find(_LF, start, end)
                if line_at > pos:
                    newlines += count(pos, line_at)
                number = newlines + 1
                if line_end < 0:
                    pos = line_end = end
                else:
                    pos = line_end + 1
                    newlines = number
                self._pos, self._newlines = pos, newlines
                raw = bytes(view[line_at:line_end]).rstrip()
                if odd and (27 in raw or 13 in raw or 0 in raw or 8 in raw or len(raw) > LINE_BYTES):
                    self._push(number, raw)
                    break
                found = unwrap(number, raw)
                if found is None:
                    self._queue.extend(self._unwrapper.extra)
                    break
                if number != self._last_number:
                    self._last_number = number
                    self.delivered += 1
                yield found
                if self._moved or self._queue:
                    break
            else:
                if not self._load():
                    return

    def _all(self) -> Iterator[Line]:
        """Every line, or of every line those that hold a literal when lines depend on all before them."""
        while True:
            while self._queue:
                line = self._queue.popleft()
                if self._finder is None or self._finder.holds(line.text):
                    self._deliver(line.number)
                    yield line
            if not self._fetch(skip=self._skip):
                return

    def _fetch(self, skip: bool = False) -> bool:
        """Put the next physical line (perhaps as several, perhaps as none) on the queue; False at the end.

        ``skip`` leaves out JSON messages without a literal before they are parsed.
        """
        while self._pos >= self._end:
            if not self._load():
                return self._last_joined()
        self._moved = True
        line_end = self._buffer.find(_LF, self._pos, self._end)
        stop = line_end if line_end >= 0 else self._end
        raw = bytes(self._view[self._pos : stop]).rstrip()
        number = self._newlines + 1
        if line_end >= 0:
            self._pos, self._newlines = line_end + 1, number
        else:
            self._pos = self._end
        if self._joiner is None:
            self._push(number, raw)
            return True
        for first, joined in self._joiner.feed(number, raw):
            if not skip or (self._finder is not None and self._finder.holds(joined)):
                self._push(first, joined)
        return True

    def _last_joined(self) -> bool:
        for number, joined in self._joiner.flush() if self._joiner is not None else ():
            self._push(number, joined)
        return bool(self._queue)

    def _frame(self, raw: bytes) -> list[bytes]:
        if SCREEN_NOTE not in self.source.notes:
            self.source.notes.append(SCREEN_NOTE)
        return first_frame(raw)

    def _push(self, number: int, raw: bytes) -> None:
        """Queue what one physical line (right-stripped) holds."""
        if not (27 in raw or 13 in raw or 0 in raw or 8 in raw) and len(raw) <= LINE_BYTES:
            line = self._unwrapper.line(number, raw)
            if line is None:
                self._queue.extend(self._unwrapper.extra)
            else:
                self._queue.append(line)
            return
        if len(raw) > LINE_BYTES:
            self._cut_pieces += sum(1 for part in raw.split(b"\r") if len(part) > LINE_BYTES)
        for text in pieces(raw) if not is_screen(raw) else self._frame(raw):
            line = self._unwrapper.line(number, text)
            if line is None:
                self._queue.extend(self._unwrapper.extra)
            else:
                self._queue.append(line)


def scan(source: Opened, literals: Sequence[bytes]) -> Scanner:
    """Lines of ``source`` that hold one of ``literals`` (case-sensitive, 3 bytes or more each)."""
    unwrapper = _unwrapper(source)
    extra = LM_LITERALS if unwrapper.modes.lmstudio else ()
    return Scanner(source, make_finder((*literals, *extra), small=source.whole), unwrapper)


def all_lines(source: Opened) -> Scanner:
    """Every line of ``source``, blank ones too."""
    return Scanner(source, None, _unwrapper(source))


def has_prefixes(text: bytes, lines: Iterable[bytes]) -> bool:
    """Whether a wrapper stands in front of one of ``lines`` of ``text`` and tells a time or a process.

    True also where the lines alone cannot tell.
    """
    modes = modes_of(text, True)
    if modes.every_line or modes.nbsp:
        return True
    unwrap = Unwrapper(modes).line
    for number, raw in enumerate(lines, 1):
        if 27 in raw or 13 in raw or 0 in raw or 8 in raw:
            return True
        line = unwrap(number, raw.rstrip())
        if line is None or line.wrap is not None or line.stamp is not None:
            return True
    return False


def blocks(source: Opened) -> Iterator[bytes]:
    """Decoded text in pieces that end at line ends (the last perhaps not), wrappers and escapes kept.

    Inside lines of more than ``LINE_BYTES`` a piece may end at a carriage return, or where the line is cut.
    """
    reader = BlockReader(source)
    while reader.next():
        yield bytes(reader.view[: reader.end])


def _unwrapper(source: Opened) -> Unwrapper:
    return Unwrapper(modes_of(source.head, source.whole), source.source.mtime_s)

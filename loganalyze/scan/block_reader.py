"""Blocks of whole lines in one reused buffer. Memory stays bounded whatever the length of lines."""

from __future__ import annotations

from loganalyze.scan.limits import LINE_BYTES, READ_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Filler(Protocol):
        """See ``Opened.fill``."""

        def fill(self, buffer: bytearray, view: memoryview, at: int, room: int) -> int: ...


class BlockReader:
    """Steps through a source: ``buffer[:end]`` is the present block, ``view`` a view of the buffer.

    A block ends with a line end, except the last of the source and blocks inside a line longer than ``LINE_BYTES``:
    those end behind a carriage return, or behind the first ``LINE_BYTES`` of a piece whose rest is dropped (``cuts``
    counts these). ``ended_line`` tells whether the text so far ends with a line end.
    """

    def __init__(self, source: Filler, size: int = LINE_BYTES + 2 * READ_BYTES) -> None:
        """``size`` of the buffer; less than the usual where the source is known to be shorter."""
        self.buffer = bytearray(size)
        self.view = memoryview(self.buffer)
        self.end = 0
        self.cuts = 0
        self.ended_line = True
        self._source = source
        self._filled = 0
        self._dropping = False

    def next(self) -> bool:
        """Go to the next block; False at the end."""
        filled = self._filled - self.end
        if filled:
            # Both slices may overlap, which is why the source is copied.
            self.view[:filled] = bytes(self.view[self.end : self._filled])
        if self._dropping:
            filled = self._drop()
        while True:
            if filled > LINE_BYTES and self._break_line(filled):
                return True
            count = self._source.fill(self.buffer, self.view, filled, READ_BYTES)
            if not count:
                self._filled = self.end = filled
                self.ended_line = filled > 0 and self.buffer[filled - 1] == 10 if filled else self.ended_line
                return filled > 0
            newline = self.buffer.rfind(b"\n", filled, filled + count)
            filled += count
            if newline >= 0:
                self._set(newline + 1, filled)
                return True

    def _set(self, end: int, filled: int) -> None:
        self.end, self._filled = end, filled
        self.ended_line = self.buffer[end - 1] == 10

    def _break_line(self, filled: int) -> bool:
        """End a block inside a long line: behind its last carriage return, else after the part that is kept."""
        returned = self.buffer.rfind(b"\r", 0, filled)
        if returned >= 0:
            self._set(returned + 1, filled)
            return True
        self._dropping = True
        self.cuts += 1
        self._set(LINE_BYTES, LINE_BYTES)
        return True

    def _drop(self) -> int:
        """Leave out the rest of a piece. Returns how many bytes from its end on lie at the start of the buffer."""
        while True:
            count = self._source.fill(self.buffer, self.view, 0, READ_BYTES)
            found = [at for at in (self.buffer.find(b"\n", 0, count), self.buffer.find(b"\r", 0, count)) if at >= 0]
            if count and not found:
                continue
            self._dropping = False
            if not count:
                return 0
            start = min(found)
            self.view[: count - start] = bytes(self.view[start:count])
            return count - start

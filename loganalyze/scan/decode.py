"""UTF-16 to UTF-8 on the way, also where the encoding changes in the middle of a text; other bytes pass as they are.

PowerShell 5.1 writes UTF-16LE, ``cmd`` and most tools write bytes, and appending with one to a file of the other makes
one file of two encodings. Both changes are looked for at line starts only, in a window of ``WINDOW_BYTES``, so that
the result does not depend on how the bytes arrive.
"""

from __future__ import annotations

import codecs

from loganalyze.light import lazy_pattern
from loganalyze.scan.limits import WINDOW_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.scan.packed import Raw

_LE, _BE = "utf-16-le", "utf-16-be"
_BOMS = {b"\xff\xfe": _LE, b"\xfe\xff": _BE}
_NEWLINE = {_LE: b"\n\0", _BE: b"\0\n"}
# After a line end, two bytes that are text in ASCII and one (rare) character in UTF-16.
_SUSPECT = {
    _LE: lazy_pattern(rb"\n\x00(?=[\t\r\n\x20-\x7e][\t\r\n\x20-\x7e])"),
    _BE: lazy_pattern(rb"\x00\n(?=[\t\r\n\x20-\x7e][\t\r\n\x20-\x7e])"),
}
_ASCII = bytes([9, 10, 13, *range(32, 127)])


def utf16_order(start: bytes) -> str | None:
    """``utf-16-le`` or ``utf-16-be`` if a line that starts with these bytes is UTF-16, else None."""
    bom = _BOMS.get(start[:2])
    if bom is not None:
        return bom
    units = len(start) // 2
    low, high = start[0 : units * 2 : 2].count(0), start[1 : units * 2 : 2].count(0)
    # Half of a Chinese line may be without NULs; in a very short text one NUL proves little.
    enough = max((units + 3) // 4, min(3, units))
    if units < 2:
        return None
    if high >= enough and not low:
        return _LE
    return _BE if low >= enough and not high else None


class Decoder:
    """Reads ``raw`` and gives bytes in which every line is UTF-8, cp1252 or whatever else has no NULs in it."""

    def __init__(self, raw: Raw, begin: bytes = b"", ended: bool = False) -> None:
        """``begin`` was already read from ``raw``; ``ended``: and it is all there is."""
        self.seen: list[str] = []
        self._raw = raw
        self._ended = ended
        self._order: str | None = None
        self._fresh = True
        self._line_start = True
        self._carry = b""
        self._unit = codecs.getincrementaldecoder(_LE)("replace")
        self._pending = bytearray()
        self._input = bytearray()
        if begin.startswith(b"\xef\xbb\xbf"):
            self._see("utf-8-sig")
            begin = begin[3:]
        if begin:
            self._take(begin, ended)

    def fill(self, buffer: bytearray, view: memoryview, at: int, room: int) -> int:
        """Put up to ``room`` (at least 4 windows) decoded bytes at ``buffer[at:]``; 0 at the end. ``view`` is of it."""
        while True:
            if self._pending:
                return self._serve(view, at, room)
            if self._ended:
                return 0
            if self._order is None:
                count = self._pass(buffer, view, at, room)
                if count:
                    return count
            else:
                self._transcode(room)

    def _serve(self, view: memoryview, at: int, room: int) -> int:
        count = min(room, len(self._pending))
        view[at : at + count] = self._pending[:count]
        del self._pending[:count]
        return count

    def _see(self, name: str) -> None:
        if name not in self.seen:
            self.seen.append(name)

    def _pass(self, buffer: bytearray, view: memoryview, at: int, room: int) -> int:
        """Bytes mode: read in place; anything unusual goes the slow way through ``_pending``."""
        kept = len(self._carry)
        if kept:
            view[at : at + kept] = self._carry
        count = self._raw.readinto(view[at + kept : at + room])
        end = at + kept + count
        if not count or self._fresh or buffer.find(0, at, end) >= 0:
            self._carry = b""
            self._ended = not count
            self._take(bytes(view[at:end]), not count)
            return 0
        start = self._judged(buffer, at, end)
        self._carry = bytes(view[start:end])
        if start > at:
            self._line_start = buffer[start - 1] == 10
        return start - at

    def _judged(self, data: bytes | bytearray, at: int, end: int) -> int:
        """Where a line starts that is too short yet to judge; ``end`` when there is none."""
        start = data.rfind(b"\n", max(at, end - WINDOW_BYTES), end)
        if start >= 0:
            return start + 1
        return at if self._line_start and end - at < WINDOW_BYTES else end

    def _take(self, data: bytes, final: bool) -> None:
        """Feed ``data`` in the present mode; a change of mode feeds the rest in the new one."""
        while data:
            if self._order is not None:
                data = self._take_units(data, final)
                continue
            cut = len(data) if final else self._judged(data, 0, len(data))
            self._carry = data[cut:]
            data = self._take_bytes(data[:cut])
        if final and self._order:
            self._pending += self._unit.decode(self._carry, True).encode("utf-8", "replace")
            self._carry = b""

    def _take_bytes(self, data: bytes) -> bytes:
        """Bytes until a line that is UTF-16; returns the rest from there."""
        place = 0
        while place < len(data):
            found = self._next_suspect(data, place)
            if found is None:
                break
            start, after = found
            order = utf16_order(data[start : start + WINDOW_BYTES])
            if order is not None:
                self._emit(data[place:start])
                self._switch(order)
                rest = data[start:] + self._carry
                self._carry = b""
                return rest
            self._emit(data[place:after])
            place = after
        self._emit(data[place:])
        return b""

    def _next_suspect(self, data: bytes, place: int) -> tuple[int, int] | None:
        """Start of the next line with a NUL in its first window, and the start of the line after it.

        The very first line is also suspect when it begins with a byte order mark.
        """
        if self._fresh and data[:2] in _BOMS:
            return 0, (data.find(b"\n") + 1) or len(data)
        while True:
            nul = data.find(0, place)
            if nul < 0:
                return None
            start = data.rfind(b"\n", place, nul) + 1 or place
            after = (data.find(b"\n", nul) + 1) or len(data)
            if nul - start < WINDOW_BYTES and (start or self._line_start):
                return start, after
            place = after

    def _emit(self, data: bytes) -> None:
        if data:
            self._see("utf-8")
            self._pending += data
            self._fresh = False
            self._line_start = data.endswith(b"\n")

    def _switch(self, order: str | None) -> None:
        self._order = order
        self._fresh = False
        self._line_start = True
        if order is not None:
            self._see(order)
            self._unit = codecs.getincrementaldecoder(order)("replace")

    def _transcode(self, room: int) -> None:
        if len(self._input) < room:
            self._input = bytearray(room)
        count = self._raw.readinto(memoryview(self._input)[:room])
        data, self._carry = self._carry + self._input[:count], b""
        self._ended = not count
        self._take(bytes(data), not count)

    def _take_units(self, data: bytes, final: bool) -> bytes:
        """Decode until the mode changes and return the rest; else keep what cannot be judged yet in ``_carry``."""
        place = 0
        while len(data) - place >= 2:
            if self._line_start:
                window = data[place : place + WINDOW_BYTES]
                if len(window) < WINDOW_BYTES and not final:
                    break
                if _is_ascii(window):
                    self._switch(None)
                    return data[place:]
                bom = _BOMS.get(window[:2])
                if bom is not None:
                    self._switch(bom)
                    place += 2
            place = self._decode_line(data, place)
        self._carry = data[place:]
        return b""

    def _decode_line(self, data: bytes, place: int) -> int:
        """Decode up to the next line start that needs a look, or all; returns where it stopped."""
        order = self._order or _LE
        end = place + ((len(data) - place) & ~1)
        for found in _SUSPECT[order].finditer(data, place):
            if not (found.start() - place) % 2:
                end = found.end()
                break
        self._pending += self._unit.decode(data[place:end]).encode("utf-8", "replace")
        self._line_start = data[end - 2 : end] == _NEWLINE[order]
        return end


def _is_ascii(window: bytes) -> bool:
    """ASCII text glued behind UTF-16: mostly printable and, unlike UTF-16 text of a log, without any NUL."""
    odd = len(window.translate(None, _ASCII))
    return len(window) > 1 and 0 not in window and odd * 10 <= len(window)

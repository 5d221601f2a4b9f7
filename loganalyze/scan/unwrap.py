"""Peel the wrappers off a line, however they are stacked, and keep what they tell."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from loganalyze.scan.line import Line, Wrap
from loganalyze.scan.wrappers import FAMILIES
from loganalyze.scan.wrappers.llama import parse_stamp
from loganalyze.scan.wrappers.readers import READERS
from loganalyze.scan.wrappers.stamps import iso_epoch
from loganalyze.scan.wrappers.told import LEVELS, Context, Lazy, Modes, Peel, Told

# Kubernetes in compose in journald in a mail: real stacks have up to five.
MAX_DEPTH = 10
# Distinct processes remembered; each line of a process shares one ``Wrap``.
MAX_WRAPS = 1024
_BLANKS = b" \t"
_LM_HEADER = Lazy(
    rb"([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) {1,2}\[(DEBUG|INFO|WARN|WARNING|ERROR)\]$"
)
LM_LITERALS = (b" [DEBUG]", b" [INFO]", b" [WARN", b" [ERROR]")
_BOLD = Lazy(rb"\*\*(?=[0-9.])|(?<=[0-9%])\*\*")
_LETTERS = {ord(letter): letter for letter in "IWED"}


@cache
def _table() -> tuple[tuple[Peel, ...], ...]:
    """Peels to try, by first byte."""
    table: list[list[Peel]] = [[] for _ in range(256)]
    for family in FAMILIES:
        for firsts, peel in import_module(f"loganalyze.scan.wrappers.{family}").PEELS:
            for first in firsts:
                table[first].append(peel)
    return tuple(tuple(peels) for peels in table)


class Unwrapper:
    """Unwraps the lines of one source. ``line`` is the only thing to call; ``kinds`` counts wrappers met."""

    def __init__(self, modes: Modes | None = None, mtime_s: float | None = None) -> None:
        self.modes = modes or Modes()
        self.extra: list[Line] = []
        """Lines of the last call that gave None: those inside one message, or none at all for a header."""
        self.kinds: dict[tuple[str, ...], int] = {}
        self.plain_stamps = 0
        self._context = Context(self.modes, mtime_s)
        self._table = _table()
        self._wraps: dict[tuple[object, ...], Wrap] = {}
        self._header: tuple[float, str, str] | None = None
        self._quick = not (self.modes.bold or self.modes.lmstudio or self.modes.editor or self.modes.diff)

    def line(self, number: int, text: bytes) -> Line | None:
        """The line of ``text`` (cleaned, right-stripped); None when ``extra`` holds several or no lines."""
        if self._quick and text:
            # The shape of nearly every line of current llama.cpp: "0.38.239.664 I slot ...".
            if text[14:15] == b" " and (letter := _LETTERS.get(text[13])) is not None:
                found = parse_stamp(text)
                if found is not None and found[1] == 13:
                    self.plain_stamps += 1
                    return Line(number, text[15:], found[0], letter)
            elif not self._table[text[0]] and text[0] not in READERS and text[-1] != 96 and text[0] not in _BLANKS:
                return Line(number, text)
        return self._slow(number, text)

    def wrapper(self) -> str | None:
        """Name of the most common stack of wrappers, outermost first (``journald+router+llama``)."""
        kinds = dict(self.kinds)
        kinds[("llama",)] = kinds.get(("llama",), 0) + self.plain_stamps
        best = max(kinds, key=lambda kind: kinds[kind])
        return "+".join(best) if kinds[best] else None

    def _slow(self, number: int, text: bytes) -> Line | None:
        if self.modes.lmstudio and self._is_header(text):
            self.extra = []
            return None
        if self.modes.bold:
            text = _BOLD.sub(b"", text)
        told = Told(self._context)
        rest = self._peel(text, told)
        if rest[-1:] == b"`":
            rest = _without_fence(rest)
        if b"\n" in rest or b"\r" in rest:
            self.extra = self._several(number, rest, told)
            return None
        return self._finish(number, rest.rstrip(), told)

    def _peel(self, text: bytes, told: Told) -> bytes:
        """Take off wrapper after wrapper. Blanks in front go only where a wrapper is behind them."""
        table = self._table
        for _ in range(MAX_DEPTH):
            core = text.lstrip(_BLANKS) if text[:1] in (b" ", b"\t") else text
            if not core:
                return text
            for peel in table[core[0]]:
                rest = peel(core, told)
                if rest is not None:
                    break
            else:
                break
            text = rest
            if told.last or not text:
                break
        return text

    def _finish(self, number: int, text: bytes, told: Told) -> Line:
        reader = READERS.get(text[0]) if text else None
        if reader is not None:
            reader(text, told)
        if self._header is not None and told.stamp is None:
            told.epoch_s, told.stamp, level = self._header
            told.level = told.level or level
        if told.kinds:
            kinds = tuple(told.kinds)
            self.kinds[kinds] = self.kinds.get(kinds, 0) + 1
        return Line(number, text, told.t_s, told.level, self._wrap(told), told.epoch_s, told.zone, told.stamp, told.tag)

    def _several(self, number: int, text: bytes, told: Told) -> list[Line]:
        """One line each for the lines inside a message."""
        lines: list[Line] = []
        for piece in text.rstrip(b"\r\n").replace(b"\r", b"\n").split(b"\n"):
            inner = Told(self._context)
            for name in Told.__slots__:
                if name not in ("context", "kinds", "last"):
                    setattr(inner, name, getattr(told, name, None))
            inner.kinds = list(told.kinds)
            lines.append(self._finish(number, self._peel(piece.rstrip(), inner).rstrip(), inner))
        return lines

    def _wrap(self, told: Told) -> Wrap | None:
        key = (told.host, told.process, told.pid, told.port, told.container)
        if key == (None, None, None, None, None):
            return None
        wrap = self._wraps.get(key)
        if wrap is None:
            if len(self._wraps) >= MAX_WRAPS:
                self._wraps.clear()
            wrap = self._wraps[key] = Wrap(tuple(told.kinds), *key)
        return wrap

    def _is_header(self, text: bytes) -> bool:
        """LM Studio's line of stamp and level, which speaks of the lines behind it."""
        found = _LM_HEADER.match(text) if text[-1:] == b"]" else None
        parts = iso_epoch(found[1], found[2], None, None) if found else None
        if not found or parts is None:
            return False
        self._header = (parts[0], (found[1] + b" " + found[2]).decode(), LEVELS[found[3]])
        self.kinds[("lmstudio",)] = self.kinds.get(("lmstudio",), 0) + 1
        return True


def _without_fence(text: bytes) -> bytes:
    """Backticks glued to the last word; a fence of its own and a pair of backticks in the line stay."""
    bare = text.rstrip(b"`")
    if not bare.strip() or (bare.count(b"`") % 2 and not text.endswith(b"```")):
        return text
    return bare

"""Peel the wrappers off a line, however they are stacked, and keep what they tell."""

from __future__ import annotations

from loganalyze.scan.firsts import CAPITAL, DIGIT, OTHER, WORD, Prefix, first_classes, is_plain, peel_table
from loganalyze.scan.line import Line, Wrap
from loganalyze.scan.wrappers.llama import parse_stamp
from loganalyze.scan.wrappers.readers import READERS
from loganalyze.scan.wrappers.stamps import ISO_STAMP, iso_epoch
from loganalyze.scan.wrappers.told import LEVELS, Context, Lazy, Modes, Told

# Kubernetes in compose in journald in a mail: real stacks have up to five.
MAX_DEPTH = 10
# Distinct processes remembered; each line of a process shares one ``Wrap``.
MAX_WRAPS = 1024
_BLANKS = b" \t"
_NAMED = (DIGIT, WORD, CAPITAL)
_LM_HEADER = Lazy(
    rb"([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) {1,2}\[(DEBUG|INFO|WARN|WARNING|ERROR)\]$"
)
LM_LITERALS = (b" [DEBUG]", b" [INFO]", b" [WARN", b" [ERROR]")
_BOLD = Lazy(rb"\*\*(?=[0-9.])|(?<=[0-9%])\*\*")
_LETTERS = {letter.encode() + b" ": letter for letter in "IWED"}


# Prefixes remembered; a journal has one for each process and second.
MAX_PREFIXES = 512


class Unwrapper:
    """Unwraps the lines of one source. ``line`` is the only thing to call; ``kinds`` counts wrappers met."""

    def __init__(self, modes: Modes | None = None, mtime_s: float | None = None) -> None:
        self.modes = modes or Modes()
        self.extra: list[Line] = []
        """Lines of the last call that gave None: those inside one message, or none at all for a header."""
        self.kinds: dict[tuple[str, ...], int] = {}
        self.plain_stamps = 0
        self._context = Context(self.modes, mtime_s)
        self._named = self.modes.compose
        self._table = peel_table()
        self._classes = first_classes()
        self._prefixes: dict[bytes, Prefix] = {}
        self._wraps: dict[tuple[object, ...], Wrap] = {}
        self._header: tuple[float | None, str, str] | None = None
        if self.modes.abroad:
            self.line = self._translated  # type: ignore[method-assign]
        self._quick = not (
            self.modes.bold
            or self.modes.lmstudio
            or self.modes.editor
            or self.modes.diff
            or self.modes.bullets
            or self.modes.every_line
        )

    def line(self, number: int, text: bytes) -> Line | None:
        """The line of ``text`` (cleaned, right-stripped); None when ``extra`` holds several or no lines."""
        if self._quick and text:
            kind = self._classes[text[0]]
            if kind == DIGIT:
                found = parse_stamp(text)
                if found is not None:
                    at = found[1]
                    letter = _LETTERS.get(text[at : at + 2])
                    if letter is not None and text[-1] != 96:
                        self.plain_stamps += 1
                        return Line(number, text[at + 2 :], found[0], letter)
            elif text[-1] != 96 and not self._named and is_plain(text, kind):
                return Line(number, text)
            elif kind == OTHER and not self._named and text[0] == 32 and text[-1] != 96:
                core = text.lstrip(_BLANKS)
                if is_plain(core, self._classes[core[0]]):
                    return Line(number, text)
            line = self._contained(number, text, kind) if kind in _NAMED else None
            if line is None and (prefix := self._prefix(text)) is not None:
                line = self._behind(number, text[prefix[0] :], prefix[1])
            if line is not None:
                return line
        return self._slow(number, text)

    def _translated(self, number: int, text: bytes) -> Line | None:
        """``line`` for a journal with months in another language."""
        from loganalyze.scan.wrappers.abroad import in_english

        return Unwrapper.line(self, number, in_english(text))

    def _prefix(self, text: bytes) -> tuple[int, Prefix] | None:
        """End of the wrappers up to ``process[pid]: `` (and the router's port), and what they tell."""
        end = text.find(b"]: ", 12, 160) + 3
        if end < 3:
            return None
        if text[end : end + 1] == b"[":
            port = text.find(b"] ", end + 4, end + 9)
            end = port + 2 if port > 0 else end
        known = self._known(text[:end])
        return None if known is None else (end, known)

    def _known(self, head: bytes) -> Prefix | None:
        """What ``head`` tells if it is wrappers to its end."""
        known = self._prefixes.get(head)
        if known is None:
            told = Told(self._context)
            if head and self._peel(head + b"x", told) != b"x":
                return None
            if len(self._prefixes) >= MAX_PREFIXES:
                self._forget()
            known = self._prefixes[head] = Prefix(told, self._wrap(told))
        return known

    def _forget(self) -> None:
        """Drop the prefixes, keep their counts."""
        for prefix in self._prefixes.values():
            for kinds, count in prefix.counts():
                if count and kinds:
                    self.kinds[kinds] = self.kinds.get(kinds, 0) + count
        self._prefixes.clear()

    def _contained(self, number: int, text: bytes, kind: int) -> Line | None:
        """``llama-1  | 2024-05-01T12:34:56.789012345Z 0.00.035.064 I ...``, with or without the container's name."""
        bar = text.find(b"| ", 2, 64) + 2 if kind != DIGIT else 0
        if bar == 1 or text[bar + 10 : bar + 11] != b"T":
            return None
        end = text.find(b"Z ", bar + 19, bar + 31) + 2
        found = parse_stamp(text[end : end + 24]) if end > 1 else None
        stamp = ISO_STAMP.match(text, bar) if found is not None else None
        prefix = self._known(text[:bar]) if stamp is not None and stamp.end() == end - 1 else None
        if found is None or stamp is None or prefix is None or text[-1] == 96 or prefix.told.stamp is not None:
            return None
        at = end + found[1]
        letter = _LETTERS.get(text[at : at + 2])
        parts = iso_epoch(*stamp.groups())
        if letter is None or parts is None:
            return None
        prefix.docker += 1
        return Line(
            number,
            text[at + 2 :],
            found[0],
            letter,
            prefix.wrap,
            parts[0],
            parts[1],
            stamp[0].decode(),
            prefix.told.tag,
        )

    def _behind(self, number: int, rest: bytes, prefix: Prefix) -> Line | None:
        """The line behind a known prefix, when it is llama.cpp's or plain."""
        if not rest or rest[-1] == 96:
            return None
        told = prefix.told
        kind = self._classes[rest[0]]
        if kind == DIGIT:
            found = parse_stamp(rest)
            letter = _LETTERS.get(rest[found[1] : found[1] + 2]) if found is not None else None
            if found is None or letter is None:
                return None
            prefix.llama += 1
            return Line(
                number,
                rest[found[1] + 2 :],
                found[0],
                letter,
                prefix.wrap,
                told.epoch_s,
                told.zone,
                told.stamp,
                told.tag,
            )
        if self._named or not is_plain(rest, kind):
            return None
        prefix.plain += 1
        return Line(number, rest, told.t_s, told.level, prefix.wrap, told.epoch_s, told.zone, told.stamp, told.tag)

    def wrapper(self) -> str | None:
        """Name of the most common stack of wrappers, outermost first (``journald+router+llama``)."""
        self._forget()
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
        if reader is not None and not told.last:
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
                    setattr(inner, name, getattr(told, name))
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
    """Backticks glued to the last word go; a fence of its own, a pair in the line and PowerShell's lone one stay."""
    bare = text.rstrip(b"`")
    if text.endswith(b" `") or not bare.strip() or (bare.count(b"`") % 2 and not text.endswith(b"```")):
        return text
    return bare

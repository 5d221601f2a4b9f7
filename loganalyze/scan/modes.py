"""Decide from the first lines of a source which ambiguous wrappers it has. One line alone could be anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter

from loganalyze.scan.wrappers.bare import CLOCK, EPOCH, SECONDS
from loganalyze.scan.wrappers.container import COMPOSE
from loganalyze.scan.wrappers.told import Lazy, Modes

HEAD_LINES = 400
_NBSP = (b"\xc2\xa0", b"\xe2\x80\xaf")
_EDITOR = Lazy(rb"([0-9]{1,7})(?:: | ?\| ?|\t|:$|\|$)")
_LEVEL = Lazy(rb"[IWED] +\S")
_LM_HEADER = Lazy(rb"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} {1,2}\[[A-Z]{4,7}\]\r?$", 8)
_BULLET = Lazy(rb"[-*] +\S")
_DIFF_HEADS = (b"diff ", b"index ", b"--- ", b"+++ ", b"@@", b"\\ No newline")
# A date of a journal whose month none of C's is; what it names is looked up only then.
_FOREIGN = Lazy(
    rb"(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) )\S{2,10} {1,2}[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
)
_ESCAPES = Lazy(rb"\x1b\[[0-?]*[ -/]*[@-~]")


@lru_cache(maxsize=2)
def modes_of(head: bytes, whole: bool = False) -> Modes:
    """Modes of a source that begins with ``head``; ``whole`` when nothing follows (else its last line is left out)."""
    modes = Modes()
    if any(space in head for space in _NBSP):
        modes.nbsp = True
        for space in _NBSP:
            head = head.replace(space, b" ")
    modes.bold = b"**" in head
    modes.jsonl = head.lstrip().startswith(b'{"type":') or b'\n{"type":"log"' in head
    modes.lmstudio = (b"]\n" in head or b"]\r" in head or head.endswith(b"]")) and bool(_LM_HEADER.search(head))
    lines = _lines(head, whole)
    if lines and b"]: " in lines[-1][:120] and _FOREIGN.match(lines[-1]):
        from loganalyze.scan.wrappers.abroad import is_abroad

        modes.abroad = is_abroad(lines)
    if len(lines) >= 2:
        _stamps(modes, lines)
        _marks(modes, lines)
    return modes


def _lines(head: bytes, whole: bool) -> list[bytes]:
    """Non-blank lines without indentation, escapes and quote marks."""
    lines = head.split(b"\n", HEAD_LINES)
    if not whole or len(lines) > HEAD_LINES:
        lines.pop()
    if b"\x1b" in head:
        lines = [_ESCAPES.sub(b"", line) for line in lines]
    lines = list(filter(None, map(bytes.strip, lines)))
    if _firsts(lines).count(b">") * 2 > len(lines):
        lines = [text for line in lines if line.startswith(b">") and (text := line.lstrip(b"> "))]
    return lines


def _firsts(lines: list[bytes]) -> bytes:
    """The first byte of each line."""
    return bytes(map(itemgetter(0), lines))


def _all(lines: list[bytes], fits: Callable[[bytes], object], share: float = 0.95) -> bool:
    """The first line and nearly all others fit: a wrapper is put on every line, headers too."""
    return bool(fits(lines[0])) and sum(1 for line in lines if fits(line)) >= share * len(lines)


def _stamps(modes: Modes, lines: list[bytes]) -> None:
    if _all(lines, lambda line: EPOCH.match(line) and b" " in line[:22]):
        modes.epoch = True
    elif _all(lines, SECONDS.match):
        modes.seconds = True
        values = [float(line.split(b" ", 1)[0]) for line in lines if SECONDS.match(line)]
        modes.interval = any(b < a for a, b in pairwise(values))
    elif lines[0].startswith(b"00:00:0") and _all(lines, CLOCK.match):
        values_text = [line[:8] for line in lines if CLOCK.match(line)]
        modes.clock = values_text == sorted(values_text)


def _marks(modes: Modes, lines: list[bytes]) -> None:
    # What lines begin with rules most marks out before any line is looked at closely.
    firsts = _firsts(lines)
    modes.editor = _count(firsts, b"0123456789") * 10 >= len(lines) * 9 and _numbered(lines)
    modes.diff = _count(firsts, b"+-") >= 2 and _is_diff(lines)
    if _count(firsts, b"IWED") * 2 > len(lines):
        modes.levels = sum(1 for line in lines if _LEVEL.match(line)) * 2 > len(lines)
    if not modes.diff and _count(firsts, b"-*") * 2 >= len(lines):
        bullets = sum(1 for line in lines if _BULLET.match(line))
        modes.bullets = bullets >= 2 and bullets * 2 >= len(lines)
    found = [m for line in lines if b"|" in line and (m := COMPOSE.match(line))]
    if len(found) >= 3 and len(found) * 5 >= len(lines) * 4:
        # Names repeat and their bars stand in one column; the first cells of a table differ.
        names, ends = {m[1] for m in found}, {m.string.index(b"|") for m in found}
        modes.compose = len(ends) == 1 and (len(names) * 3 <= len(found) or len(names) == 1)


def _count(firsts: bytes, wanted: bytes) -> int:
    return len(firsts) - len(firsts.translate(None, wanted))


def _numbered(lines: list[bytes]) -> bool:
    numbers: list[int] = []
    for seen, line in enumerate(lines, 1):
        found = _EDITOR.match(line)
        if found:
            numbers.append(int(found[1]))
        elif (seen - len(numbers)) * 10 > len(lines):
            return False
    if len(numbers) < 3:
        return False
    # Blank lines were left out, so a step may be a little more than one.
    steps = [b - a for a, b in pairwise(numbers)]
    return all(0 < step <= 8 for step in steps) and steps.count(1) * 2 >= len(steps)


def _is_diff(lines: list[bytes]) -> bool:
    body = [line for line in lines if not line.startswith(_DIFF_HEADS)]
    marked = sum(1 for line in body if line[:1] in (b"+", b"-") and line[1:2] != b"-")
    if marked < 2:
        return False
    return any(line.startswith(b"@@") for line in lines) or (
        len(body) >= 3 and marked == len(body) and _plus_only(body)
    )


def _plus_only(body: list[bytes]) -> bool:
    """All lines added or removed: not a list (all ``- ``)."""
    return any(line.startswith(b"+") for line in body)

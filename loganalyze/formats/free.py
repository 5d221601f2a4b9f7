"""``free``: procps-ng (``-b -k -m -g -h --si -w -l -t -v -L -s``, translations), BusyBox, toybox, and the layout of
procps up to 3.3.9 with its ``-/+ buffers/cache`` row.

One row a block. Units are printed only by ``-h``; else they follow from the command line or the size of ``total``.
``ram_used_mib`` is as printed: up to 3.3.x without cache, since 4.0.1 total less available. No clock of its own.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows
from loganalyze.formats.sizes import BYTE, GIB, KIB, MIB, has_suffix, size_mib, unit_of
from loganalyze.grammar.match import Match, Matcher
from loganalyze.model.records import Capture, CaptureKind
from loganalyze.numerals import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "free"
KIND: CaptureKind = "host"
GRAMMARS = ("free",)

AMOUNTS = ("total", "used", "free", "shared", "fifth", "sixth", "seventh")
_SWAP = {"swap", "échange", "交换", "подкачка", "intercambio", "wymiana", "växling", "обмін"}
_OTHER = {"low", "high", "total", "comm", "niedrig", "hoch", "gesamt", "bas", "haut", "低", "高", "总量"}
_OLD = {"cached", "cachés", "gecacht", "buffers"}
_OPTIONS = re.compile(r"free\b((?: +\S+)*)")
_FLAGS = {"b": BYTE, "k": KIB, "m": MIB, "g": GIB}
_LONG = {"--bytes": BYTE, "--kibi": KIB, "--mebi": MIB, "--gibi": GIB, "--tebi": 2.0**20, "--kilo": 1000 / 2**20,
         "--mega": 1e6 / 2**20, "--giga": 1e9 / 2**20, "--tera": 1e12 / 2**20}  # fmt: skip
# procps 3.3.17 widened its heading by one blank; older ones, BusyBox and toybox print "G" for 1024-based sizes.
WIDE_HEADING = 15
_LONGEST = 300


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def _match(line: bytes) -> Match | None:
    return _matcher().match(line) if len(line) <= _LONGEST else None


def starts(line: bytes) -> bool:
    found = _match(line)
    if found is None:
        return False
    return found.rule.name in ("names", "line") or (found.rule.name == "row" and "sixth" in found.fields)


def belongs(line: bytes) -> bool:
    return _match(line) is not None


class _Block:
    """One print of the table, as text."""

    def __init__(self, number: int, amounts: list[str], heading: _Heading | None) -> None:
        self.line = number
        self.amounts = amounts
        self.heading = heading
        self.swap: list[str] = []
        self.adjusted: list[str] = []
        self.cut = False


class _Heading:
    """A line of column names."""

    def __init__(self, line: bytes, fields: dict[str, Any]) -> None:
        text = line.decode("utf-8", "replace")
        self.ends = [_width(text[: m.end()]) for m in re.finditer(r"\S+", text)]
        self.indent = -1 if line[:1] == b"\t" else len(text) - len(text.lstrip())
        self.count = len(self.ends)
        last = str(fields.get("sixth_name", fields["fifth_name"])).lower()
        self.old = self.count < 7 and (last in _OLD or self.count == 5)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def parse(segment: Segment) -> list[Capture]:
    """One capture; a block whose memory row is cut is left out and said."""
    notes: list[str] = []
    blocks, rows = _blocks(segment, notes)
    unit, name = _unit(segment, blocks)
    rows += [_row(block, unit) for block in blocks]
    made = capture_from_rows(NAME, KIND, segment, rows, dialect=_dialect(blocks))
    if made is None:
        return []
    if any(has_suffix(a) for b in blocks[:1] for a in b.amounts):
        notes.append("sizes are rounded (free -h): changes below their last digit do not show")
    elif blocks:
        made.facts["memory_unit"] = name
    for key in ("ram_total_mib", "swap_total_mib"):
        value = next((r[key] for r in rows if r.get(key) is not None), None)
        if value is not None:
            made.facts[key] = value
            made.fact_lines[key] = rows[0]["line"]
    made.notes += notes
    return [made]


def _blocks(segment: Segment, notes: list[str]) -> tuple[list[_Block], list[dict[str, Any]]]:
    blocks: list[_Block] = []
    short: list[dict[str, Any]] = []
    heading: _Heading | None = None
    last, number, line = "", 0, b""
    for number, line in segment.lines():
        found = _match(line)
        if found is None:
            if line.strip():
                segment.reject(number, line)
            continue
        last = found.rule.name
        if last == "names":
            heading = _Heading(line, found.fields)
        elif last == "line":
            short.append(_short_row(number, found.fields))
        elif last == "adjusted":
            if blocks:
                blocks[-1].adjusted = [found.fields["used"], found.fields["free"]]
        else:
            _take_row(segment, blocks, number, line, found.fields, heading)
    if segment.last_line_cut and (short if last == "line" else last == "row" and blocks):
        _doubt(segment, blocks, short, line, last, notes)
    return blocks, short


def _take_row(
    segment: Segment, blocks: list[_Block], number: int, line: bytes, fields: dict[str, Any], heading: _Heading | None
) -> None:
    amounts = [fields[n] for n in AMOUNTS if n in fields]
    label = str(fields["label"]).rstrip(":：.").lower()
    if len(amounts) >= 5:
        blocks.append(_Block(number, amounts, heading))
    elif not blocks:
        segment.reject(number, line)
    elif len(amounts) == 3 and not blocks[-1].swap and (label in _SWAP or label not in _OTHER):
        blocks[-1].swap = amounts
    elif len(amounts) != 3:
        segment.reject(number, line)


def _doubt(
    segment: Segment, blocks: list[_Block], short: list[dict[str, Any]], line: bytes, last: str, notes: list[str]
) -> None:
    """A last line without a line end may have lost digits: its last cell counts only if it ends at its heading."""
    if last == "line":
        if len(line.rstrip()) == len(line):
            short[-1]["ram_free_mib"] = None
            notes.append("the last line has no line end and may be cut; its last figure is left out")
        return
    block = blocks[-1]
    cells = block.swap or block.amounts
    heading = block.heading
    text = line.decode("utf-8", "replace").rstrip()
    if heading is not None and len(cells) <= heading.count and _width(text) == heading.ends[len(cells) - 1]:
        return
    if not block.swap and heading is not None and len(cells) < heading.count:
        blocks.pop()
        notes.append("the last block is cut in its memory row and left out")
        return
    cells.pop()
    notes.append("the last line has no line end and may be cut; its last figure is left out")


def _short_row(number: int, fields: dict[str, Any]) -> dict[str, Any]:
    """``free -L``: KiB, one line a sample."""
    pairs = {"swap_used_mib": "swap_used", "ram_cache_mib": "cache", "ram_used_mib": "used", "ram_free_mib": "free"}
    return {"line": number} | {metric: size_mib(fields[key], KIB) for metric, key in pairs.items()}


def _unit(segment: Segment, blocks: list[_Block]) -> tuple[float, str]:
    """MiB of one unit of bare figures, and its name."""
    said = _said_unit(segment.command)
    if said is not None:
        return said, "as the command line says"
    if not blocks:
        return KIB, "KiB"
    figures = [float(a) for b in blocks[:50] for a in (*b.amounts, *b.swap) if is_whole(a, 18)]
    first = blocks[0].amounts
    shared = float(first[3]) if len(first) > 3 and is_whole(first[3], 18) else None
    return unit_of(float(first[0]), figures, shared) if is_whole(first[0], 18) else (BYTE, "B")


def _said_unit(command: str | None) -> float | None:
    found = _OPTIONS.search(command) if command else None
    if found is None:
        return None
    words = found[1].split()
    unit = None
    for word in words:
        if word in _LONG:
            unit = _LONG[word]
        elif word[:1] == "-" and word[:2] != "--":
            unit = next((_FLAGS[c] for c in word if c in _FLAGS), unit)
    return None if "--si" in words else unit


def _row(block: _Block, unit: float) -> dict[str, Any]:
    heading = block.heading
    decimal = heading is None or heading.indent >= WIDE_HEADING
    cells = [size_mib(a, unit, decimal=decimal) for a in block.amounts] + [None] * 7
    swap = [size_mib(a, unit, decimal=decimal) for a in block.swap] + [None] * 3
    row: dict[str, Any] = {"line": block.line, "ram_total_mib": cells[0], "ram_used_mib": cells[1]}
    row["ram_free_mib"] = cells[2]
    wide = heading.count == 7 if heading is not None else len(block.amounts) == 7
    if wide:
        row["ram_cache_mib"], row["ram_available_mib"] = _sum(cells[4], cells[5]), cells[6]
    elif block.adjusted or (heading is not None and heading.old):
        row["ram_used_mib"] = size_mib(block.adjusted[0], unit) if block.adjusted else None
        row["ram_cache_mib"] = _sum(cells[4], cells[5]) if len(block.amounts) > 5 else None
    else:
        row["ram_cache_mib"], row["ram_available_mib"] = cells[4], cells[5]
    row["swap_total_mib"], row["swap_used_mib"], row["swap_free_mib"] = swap[:3]
    return row


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def _dialect(blocks: list[_Block]) -> str:
    if not blocks:
        return "free -L"
    block = blocks[0]
    name = "free -h" if any(has_suffix(a) for a in block.amounts) else "free"
    if block.adjusted or (block.heading is not None and block.heading.old):
        return name + " (old layout)"
    return name

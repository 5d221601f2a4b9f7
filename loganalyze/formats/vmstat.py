"""``vmstat``: procps-ng 3.x and 4.x (``-a -t -w -S``, ``gu`` since 4.0.4), translations, toybox.

Rows are split on blanks and paired with the last name line, never cut at its columns: values may be wider than them
(always since 4.0.5). Memory columns are KiB unless ``-S`` was given, which nothing in the text says: see
``vmstat_capture``. The first row of every start of the program holds averages since boot (``first_row_since_boot``).
vmstat 4.0.0 to 4.0.2 (Debian 12) never refreshes its memory columns: they are null after the first row, and a note says so.
Time: none, or ``-t``: local time of the end of each interval, with the zone's abbreviation in the name line.
"""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture import Segment
from loganalyze.grammar.match import Matcher
from loganalyze.light import dataclass
from loganalyze.model.records import Capture, CaptureKind

NAME = "vmstat"
KIND: CaptureKind = "host"
GRAMMARS = ("vmstat",)
BULK = True
COUNTS = True

_ROW = re.compile(rb"[ \t]*(?:\d{1,19}[ \t]+){14,23}\d[\d:\- \tA-Za-z]*\Z")
_ACTIVE = ("inact", "inakt", "inakt.", "inac", "inativ", "inativo", "inactivo")
# No name line is longer: 24 names, wide columns and a zone take 170 bytes.
_LONGEST = 400


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


@dataclass(frozen=True, slots=True)
class Layout:
    """Column names of a name line, memory columns under their English names, and its zone."""

    names: tuple[str, ...]
    zone: str | None


def layout_of(line: bytes) -> Layout | None:
    """The layout a name line states, or None when ``line`` is none."""
    if b"bo " not in line or len(line) > _LONGEST:
        return None
    found = _matcher().match(line)
    if found is None or found.rule.name != "names":
        return None
    memory = ("inact", "active") if found.fields["third"].lower() in _ACTIVE else ("buff", "cache")
    more = [name for key, name in (("steal", "st"), ("guest", "gu")) if key in found.fields]
    names = ("r", "b", "swpd", "free", *memory, "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", *more)
    return Layout(names, found.fields.get("zone"))


def is_title(line: bytes) -> bool:
    """True for the line of group names above the name line."""
    if b"procs" not in line[:12] or len(line) > _LONGEST:
        return False
    found = _matcher().match(line)
    return found is not None and found.rule.name == "title"


def is_row(line: bytes) -> bool:
    """True for a line that looks like a whole row."""
    return _ROW.match(line) is not None


def starts(line: bytes) -> bool:
    return is_title(line) or layout_of(line) is not None


def belongs(line: bytes) -> bool:
    return is_row(line) or starts(line)


def parse(segment: Segment) -> list[Capture]:
    """One capture a start of the program."""
    from loganalyze.formats.vmstat_capture import captures
    from loganalyze.formats.vmstat_rows import RowReader

    return captures(segment, RowReader(segment).read(segment.blocks()))

"""``dstat`` 0.7 and 0.8, ``dool`` 1: ``--output`` CSV and the screen text, in a file or through ``script``.

Columns are known by group and name (``used`` stands under memory and again under swap). CSV values are bytes; screen
values carry ``B k M G`` (1024). Times have no year: the CSV preamble gives it, with the zone; screen text has neither.
``epoch`` (``-T``) is absolute. The first row holds averages since boot. A restart appends a preamble: another capture.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows
from loganalyze.formats.sizes import BYTE, size_mib
from loganalyze.formats.zones import offset_seconds, zone_offset
from loganalyze.grammar.match import Matcher
from loganalyze.light import dataclass, field
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "dool"
KIND: CaptureKind = "host"
GRAMMARS = ("dool",)

_PREAMBLE = re.compile(rb'"(?:Author|Host|Cmdline):"')
_CSV_NAMES = re.compile(rb'"[^"]{0,40}"(?:,"[^"]{0,40}"){1,100},?\Z')
_CSV_ROW = re.compile(rb'"?[A-Za-z0-9][A-Za-z0-9:. -]{0,30}"?(?:,-?[0-9.eE+-]{0,30}){1,100}\Z')
_CLOCK = re.compile(r"(?:(\d{1,2})-(\d{1,2})|([A-Z][a-z]{2})-(\d{1,2})) (\d{2}):(\d{2}):(\d{2})\Z")
_DATE = re.compile(rb'"Date:","(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) \d{2}:\d{2}:\d{2} ?([A-Z]{2,5}|[+-]\d{2,4})?"')
_BARS = re.compile(r"[|│┼┤├:]")
_SCREEN_NAMES = re.compile(r"\s*[a-z#1][a-z0-9 #|│:]{3,300}+\s*\Z")
_CELL = re.compile(r"\d{1,12}(?:\.\d{1,6})?[BkMGT]?|-|missed|\d{1,2}-\d{1,2}|[A-Z][a-z]{2}-\d{1,2}|\d{2}:\d{2}:\d{2}")
_MONTHS = {
    m: i for i, m in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1)
}
_LONGEST = 4000
_CPU = ("total cpu usage", "total usage", "cpu usage", "total")
# (groups, name, metric, kind): kinds are percent, size (bytes), rate (bytes/s), count
COLUMNS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (_CPU, "usr", "cpu_user_pct", "count"), (_CPU, "sys", "cpu_system_pct", "count"),
    (_CPU, "idl", "cpu_idle_pct", "count"), (_CPU, "wai", "cpu_wait_pct", "count"),
    (_CPU, "stl", "cpu_steal_pct", "count"), (("memory usage",), "used", "ram_used_mib", "size"),
    (("memory usage",), "free", "ram_free_mib", "size"), (("memory usage",), "avai", "ram_available_mib", "size"),
    (("memory usage",), "cach", "ram_cache_mib", "size"), (("swap",), "used", "swap_used_mib", "size"),
    (("swap",), "free", "swap_free_mib", "size"), (("paging",), "in", "swap_in_kib_s", "rate"),
    (("paging",), "out", "swap_out_kib_s", "rate"), (("dsk/total",), "read", "block_in_kib_s", "rate"),
    (("dsk/total",), "writ", "block_out_kib_s", "rate"), (("procs",), "run", "procs_running", "count"),
    (("procs",), "blk", "procs_blocked", "count"), (("system",), "int", "interrupts_s", "count"),
    (("system",), "csw", "context_switches_s", "count"),
)  # fmt: skip


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def _rule(line: bytes) -> str:
    found = _matcher().match(line.strip()) if 0 < len(line) <= _LONGEST else None
    return found.rule.name if found is not None else ""


def starts(line: bytes) -> bool:
    return _rule(line) in ("csv_title", "csv_groups", "screen_groups")


def belongs(line: bytes) -> bool:
    if len(line) > _LONGEST:
        return False
    if _PREAMBLE.match(line) or _CSV_NAMES.match(line) or _CSV_ROW.match(line) or starts(line):
        return True
    text = line.decode("utf-8", "replace")
    return bool(_SCREEN_NAMES.match(text)) or _screen_cells(text) is not None


@dataclass(slots=True)
class _Part:
    """Rows of one start of the program."""

    csv: bool
    year: int | None = None
    zone: str | None = None
    keys: list[tuple[str, str]] = field(default_factory=list)
    rows: list[tuple[int, dict[tuple[str, str], str]]] = field(default_factory=list)


def parse(segment: Segment) -> list[Capture]:
    """One capture a start of the program."""
    parts: list[_Part] = []
    groups: list[str] = []
    for number, raw in segment.lines():
        line = raw.strip()
        rule = _rule(line) if line else ""
        if rule == "csv_title" or not parts:
            parts.append(_Part(csv=rule != "screen_groups"))
            groups = []
        part = parts[-1]
        if rule in ("csv_groups", "screen_groups"):
            text = line.decode("utf-8", "replace")
            groups = [g.strip('"') for g in text.split(",")] if rule == "csv_groups" else [text]
            part.csv, keep = rule == "csv_groups", part.keys if rule == "screen_groups" else []
            part.keys = keep
        elif line and rule != "csv_title" and not _preamble(part, line) and not _data(part, groups, number, line):
            segment.reject(number, raw)
    made = [_capture(segment, part) for part in parts]
    found = [m for m in made if m is not None]
    if found and segment.last_line_cut:
        _drop_last(found)
    return found


def _preamble(part: _Part, line: bytes) -> bool:
    if not _PREAMBLE.match(line):
        return False
    date = _DATE.search(line)
    if date:
        part.year, part.zone = int(date[3]), date[4].decode() if date[4] else None
    return True


def _data(part: _Part, groups: list[str], number: int, line: bytes) -> bool:
    text = line.decode("utf-8", "replace")
    if part.csv:
        if _CSV_NAMES.match(line) and groups:
            part.keys = _csv_keys(groups, [n.strip('"') for n in text.split(",")])
            return True
        cells = text.split(",")
        good = bool(part.keys) and _CSV_ROW.match(line) is not None and len(cells) == len(part.keys)
    else:
        if _SCREEN_NAMES.match(text) and groups:
            part.keys = _screen_keys(groups[0], text)
            return True
        found = _screen_cells(text)
        good, cells = bool(part.keys) and found is not None and len(found) == len(part.keys), found or []
    if good:
        part.rows.append((number, dict(zip(part.keys, (c.strip('"') for c in cells), strict=True))))
    return good


def _csv_keys(groups: list[str], names: list[str]) -> list[tuple[str, str]]:
    """A group name stands over its first column only."""
    keys, group = [], ""
    for at, name in enumerate(names):
        group = groups[at] if at < len(groups) and groups[at] else group
        keys.append((group, name))
    return keys


def _screen_keys(line: str, names: str) -> list[tuple[str, str]]:
    """Groups of the screen are parted by blanks or corners, the names below them by bars."""
    groups = [g.strip("-┄").replace("-", " ").replace("┄", " ") for g in re.split(r"[ ┬]+", line.strip())]
    keys: list[tuple[str, str]] = []
    for at, part in enumerate(_BARS.split(names)):
        keys += [(groups[at] if at < len(groups) else "", name) for name in part.split()]
    return keys


def _screen_cells(text: str) -> list[str] | None:
    """Cells of a screen row; date and time are one."""
    words = re.sub(r"[|│]", " ", text).split()
    if len(words) < 2 or not all(_CELL.fullmatch(w) for w in words):
        return None
    if len(words) > 1 and ":" in words[1] and "-" in words[0]:
        words[:2] = [words[0] + " " + words[1]]
    return words


def _capture(segment: Segment, part: _Part) -> Capture | None:
    rows = [_row(number, cells) for number, cells in part.rows]
    if not any(set(r) - {"line"} for r in rows):
        return None
    zone, note = zone_offset(part.zone) if part.zone else (None, None)
    guessed = part.year is None and segment.source.mtime_s is not None
    if guessed and segment.source.mtime_s is not None:
        part.year = datetime.fromtimestamp(segment.source.mtime_s, UTC).year
    times = _times(part, offset_seconds(zone))
    epoch = any(name == "epoch" for _, name in part.keys)
    resolution = 0.001 if epoch else 1.0
    made = capture_from_rows(
        NAME, KIND, segment, rows, times=times, zone="UTC" if epoch else zone, resolution_s=resolution,
        dialect="csv" if part.csv else "screen",
    )  # fmt: skip
    if made is not None:
        made.first_row_since_boot = True
        if note and not epoch:
            made.notes.append(note)
        if any(name == "time" for _, name in part.keys) and (guessed or part.year is None):
            made.notes.append("times without a year: " + ("taken from the file's time" if guessed else "not used"))
    return made


def _row(number: int, found: dict[tuple[str, str], str]) -> dict[str, Any]:
    row: dict[str, Any] = {"line": number}
    for groups, name, metric, kind in COLUMNS:
        text = next((found[g, name] for g in groups if (g, name) in found), None)
        if text is not None:
            row[metric] = _value(text, kind)
    if ("memory usage", "buff") in found and "ram_cache_mib" in row:
        buffers = _value(found["memory usage", "buff"], "size")
        row["ram_cache_mib"] = (
            None if buffers is None or row["ram_cache_mib"] is None else row["ram_cache_mib"] + buffers
        )
    free, used = row.get("swap_free_mib"), row.get("swap_used_mib")
    if free is not None and used is not None:
        row["swap_total_mib"] = free + used
    return row


def _value(text: str, kind: str) -> float | None:
    if kind == "count":
        try:
            return float(text) if abs(float(text)) < float("inf") else None
        except ValueError:
            scaled = size_mib(text, None)  # "12k" interrupts count 1024 to the k
            return None if scaled is None else scaled * 2**20
    size = size_mib(text, BYTE) if "e" not in text.lower() else None
    return None if size is None else size * 1024 if kind == "rate" else size


def _times(part: _Part, east: int) -> list[float | None]:
    for key in part.keys:
        if key[1] == "epoch":
            return [_epoch(cells.get(key, "")) for _, cells in part.rows]
        if key[1] == "time" and part.year is not None:
            return _dated([cells.get(key, "") for _, cells in part.rows], part.year, east)
    return [None] * len(part.rows)


def _epoch(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1e11 else None


def _dated(texts: list[str], year: int, east: int) -> list[float | None]:
    """Times without a year, in order from ``year`` on: a month that falls is the next year."""
    times: list[float | None] = []
    last = 0
    for text in texts:
        found = _CLOCK.match(text)
        month = (int(found[2]) if found[2] else _MONTHS.get(found[3], 0)) if found else 0
        year += month < last and last == 12
        last = month or last
        times.append(_moment(year, month, found, east) if found else None)
    return times


def _moment(year: int, month: int, found: re.Match[str], east: int) -> float | None:
    day, hour, minute, second = (int(found[i]) for i in (1 if found[1] else 4, 5, 6, 7))
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp() - east
    except ValueError:
        return None


def _drop_last(found: list[Capture]) -> None:
    """A last row without a line end may have lost digits."""
    frame = found[-1].frame
    if frame is not None and frame.height:
        found[-1].frame = frame.head(frame.height - 1)
        found[-1].notes.append("the last line has no line end and may be cut; it is left out")

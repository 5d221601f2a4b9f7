"""sysstat 10 to 12 as text: ``sar`` (-r -S -W -B -u -q -w -d, ``--human``), ``mpstat``, ``pidstat``, ``iostat``.

One capture a table; ``iostat``'s CPU and device tables share one. Rows are sums over disks and the row ``all`` of CPUs;
``pidstat`` gives a row a process. Average rows are left out. Times are local and stand for the end of an interval; the
date is in the banner, in the order of the locale; without it the clock is relative. ``iostat`` begins with averages
since boot unless ``-y`` was given.
"""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows, frame_of
from loganalyze.formats.zones import offset_seconds
from loganalyze.grammar.match import Matcher
from loganalyze.model.records import Capture, CaptureKind, Clock
from loganalyze.numerals import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "sysstat"
KIND: CaptureKind = "host"
GRAMMARS = ("sysstat",)

_STARTS = ("banner", "names", "process_names", "cpu_names", "device_names", "restart")
_INSIDE = re.compile(
    rb"\s*\S{1,80}(?:\s+(?:all|[0-9.,%kKMGTBi-]{1,24}))(?:\s+[0-9.,%kKMGTBi-]{1,24}){1,40}(?:\s+\S[^\n]*)?\Z"
)
_STAMP = re.compile(rb"\s*\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T]\d{2}:\d{2}:\d{2}(?: [AP]M|[+-]\d{2}:?\d{2})?\s*\Z")
_TIMED = re.compile(rb"\s*(?:\d{2}:\d{2}:\d{2}(?: [AP]M)?|\d{9,11})\s+(?:all|\d)[^\n]*\Z")
_LONGEST = 1000
_NO_FIRST = re.compile(r"iostat\b(?: -\S+| \d+){0,20}? -[a-xzA-Z]*y")
# Devices whose traffic is counted again below them, or never reaches a disk.
_LAYERED = re.compile(r"loop|zram|ram|dm-|md")


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def starts(line: bytes) -> bool:
    if len(line) > _LONGEST:
        return False
    found = _matcher().match(line)
    return found is not None and found.rule.name in _STARTS


def belongs(line: bytes) -> bool:
    if len(line) > _LONGEST:
        return False
    return bool(_TIMED.match(line) or _INSIDE.match(line) or _STAMP.match(line)) or starts(line)


def parse(segment: Segment) -> list[Capture]:
    """One capture a table, in order of appearance."""
    from loganalyze.formats.sysstat_tables import Tables

    reader = Tables(segment)
    tables = reader.read()
    _drop_cut(segment, reader, tables)
    made: list[Capture | None] = []
    system = [t for t in tables if t.style in ("cpu", "device")]
    if system:
        made.append(_iostat(segment, system, reader))
    made += [_process(segment, t, reader) for t in tables if t.style == "process"]
    made += [_sar(segment, t, reader) for t in tables if t.style == "sar"]
    return [capture for capture in made if capture is not None]


def _drop_cut(segment: Segment, reader: Any, tables: list[Any]) -> None:
    """A last row without a line end may have lost digits of its last cell: that cell is unknown."""
    if segment.last_line_cut and reader.last is not None:
        for table in tables:
            if table.rows and table.rows[-1] is reader.last:
                table.rows[-1].cells.pop(table.names[-1], None)


def _iostat(segment: Segment, tables: list[Any], reader: Any) -> Capture | None:
    from loganalyze.formats.sysstat_columns import metrics

    ticks: dict[int, dict[str, Any]] = {}
    stamps: dict[int, Any] = {}
    for table in tables:
        for row in table.rows:
            tick = ticks.setdefault(row.tick, {"line": row.line, "row": row.tick})
            stamps.setdefault(row.tick, row)
            if table.style == "device" and _LAYERED.match(row.cells.get("Device", "")):
                continue
            _add(tick, metrics(row.cells))
    order = sorted(ticks)
    made = _timed(segment, [ticks[t] for t in order], [stamps[t] for t in order], reader, "iostat")
    if made is not None:
        made.first_row_since_boot = not (segment.command and _NO_FIRST.search(segment.command))
    return made


def _sar(segment: Segment, table: Any, reader: Any) -> Capture | None:
    """Rows of a time are one: the disks summed, of the CPUs the row ``all``."""
    from loganalyze.formats.sysstat_columns import metrics

    rows: list[dict[str, Any]] = []
    stamps: list[Any] = []
    for row in table.rows:
        if row.cells.get("CPU", "all") != "all":
            continue
        if not stamps or stamps[-1].tick != row.tick:
            rows.append({"line": row.line})
            stamps.append(row)
        if not _LAYERED.match(row.cells.get("DEV", "")):
            _add(rows[-1], metrics(row.cells))
    return _timed(segment, rows, stamps, reader, "mpstat" if "%usr" in table.names else "sar")


def _add(row: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        before = row.get(name)
        row[name] = value if before is None else before if value is None else before + value


def _process(segment: Segment, table: Any, reader: Any) -> Capture | None:
    from loganalyze.formats.sysstat_columns import metrics, number

    rows: list[dict[str, Any]] = []
    first = table.rows[0].tick
    for row in table.rows:
        pid = number(row.cells.get("PID", ""))
        made: dict[str, Any] = {"line": row.line, "row": row.tick - first}
        made["pid"] = None if pid is None else int(pid)
        made["process"] = row.cells.get("Command")
        rows.append(made | metrics(row.cells, process=True))
    made_capture = _timed(segment, rows, table.rows, reader, "pidstat")
    if made_capture is not None:
        made_capture.kind = "host_process"
    return made_capture


def _timed(
    segment: Segment, rows: list[dict[str, Any]], stamps: list[Any], reader: Any, dialect: str
) -> Capture | None:
    from loganalyze.formats.sysstat_clock import day_epoch, time_of_day, unwrapped

    if not rows or not any(set(r) - {"line", "row", "pid", "process"} for r in rows):
        return None
    notes: list[str] = []
    zone = stamps[0].zone
    if stamps[0].time and is_whole(stamps[0].time):
        times: list[float | None] = [float(s.time) if s.time and is_whole(s.time) else None for s in stamps]
        zone = "UTC"
    else:
        clocks = unwrapped([time_of_day(s.time) if s.time else None for s in stamps])
        day, note = day_epoch(stamps[0].date or "", half_day_clock=reader.half_day)
        if note:
            notes.append(note)
        if day is None and any(c is not None for c in clocks):
            return _undated(segment, rows, clocks, dialect)
        shift = (day or 0.0) - offset_seconds(zone)
        times = [None if c is None else shift + c for c in clocks]
    made = capture_from_rows(NAME, KIND, segment, rows, times=times, zone=zone, resolution_s=1.0, dialect=dialect)
    if made is not None:
        made.notes += notes
    return made


def _undated(segment: Segment, rows: list[dict[str, Any]], clocks: list[float | None], dialect: str) -> Capture:
    """Times of day without a date: seconds since the first row."""
    first = next(c for c in clocks if c is not None)
    frame = frame_of(rows, [None if c is None else c - first for c in clocks])
    clock = Clock("relative", resolution_s=1.0, notes=["times of day without a date"])
    return Capture(KIND, NAME, segment.source, frame=frame, clock=clock, dialect=dialect, segment=segment.number)

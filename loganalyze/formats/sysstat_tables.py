"""sysstat text to tables: every row with the names above it, its time and its tick."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from loganalyze.formats.capture import Segment
from loganalyze.formats.sizes import size_mib
from loganalyze.formats.sysstat_columns import RATES, SIZES, number

BANNER = re.compile(r"Linux \S{1,100} \(\S{1,100}\)\s+(\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4})\s")
_TIMED = re.compile(r"(\d{2}:\d{2}:\d{2}(?: [AP]M)?|\d{9,11})\s+(\S[^\n]*)\Z")
_STAMP = re.compile(r"(\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4})[ T](\d{2}:\d{2}:\d{2}(?: [AP]M)?)(?:([+-]\d{2}):?(\d{2}))?\Z")
_KEYS = frozenset({"CPU", "DEV", "IFACE", "UID", "USER", "PID", "TTY"})
_KNOWN = _KEYS | RATES.keys() | SIZES.keys() | {"tps", "proc/s", "MHz", "TIME"}


@dataclass(slots=True)
class Row:
    """One printed row. ``time`` is the time of day or epoch text, ``date`` the date in force."""

    line: int
    tick: int
    time: str | None
    date: str | None
    zone: str | None
    cells: dict[str, str]


@dataclass(slots=True)
class Table:
    """Rows under one set of names. ``style``: ``sar``, ``process``, ``cpu``, ``device``."""

    style: str
    names: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    tops: list[int] = field(default_factory=list)


class Tables:
    """Reads the lines of a segment; ``tables`` in order of appearance."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.tables: list[Table] = []
        self.half_day = False
        self.last: Row | None = None
        self._table: Table | None = None
        self._date: str | None = None
        self._zone: str | None = None
        self._time: str | None = None
        self._tick = -1
        self._fresh = False

    def read(self) -> list[Table]:
        for number_, raw in self.segment.lines():
            line = raw.decode("utf-8", "replace").strip()
            self.last = None
            if line and not self._take(number_, line):
                self.segment.reject(number_, raw)
        return [t for t in self.tables if t.rows]

    def _take(self, number_: int, line: str) -> bool:
        banner, stamp = BANNER.match(line), _STAMP.match(line)
        if banner:
            self._date, self._table, self._zone, self._time = banner[1], None, None, None
            return True
        if stamp:
            self._date, self._time = stamp[1], stamp[2]
            self._zone = f"{stamp[3]}:{stamp[4]}" if stamp[3] else None
            self._next_tick()
            return True
        if line.startswith("avg-cpu:"):
            self._next_tick()
            return self._names("cpu", line.split()[1:], number_)
        if line.startswith("Device"):
            return self._device_names(line, number_)
        if line.startswith("# Time"):
            return self._names("process", line.split()[2:], number_)
        timed = _TIMED.match(line)
        return self._timed(number_, timed[1], timed[2]) if timed else self._plain(number_, line)

    def _device_names(self, line: str, number_: int) -> bool:
        if self._tick < 0 or (self._table is not None and self._table.style == "device"):
            self._fresh = False
            self._next_tick()
        names = line.replace("Device:", "Device ").split()
        return self._names("device", names, number_)

    def _next_tick(self) -> None:
        """A stamp opens a tick; the table behind it does not open another."""
        if not self._fresh:
            self._tick += 1
        self._fresh = True

    def _names(self, style: str, names: list[str], number_: int) -> bool:
        key = tuple(names)
        found = next((t for t in self.tables if t.style == style and t.names == key), None)
        if found is None:
            found = Table(style, key)
            self.tables.append(found)
        found.tops.append(number_)
        self._table = found
        return True

    def _timed(self, number_: int, time: str, rest: str) -> bool:
        self.half_day |= time.endswith("M")
        words = rest.split()
        if words[:2] == ["LINUX", "RESTART"]:
            self._table = None
            return True
        if not _KNOWN.isdisjoint(words) and number(words[0]) is None and words[0] != "all":
            return self._names("process" if "PID" in words else "sar", words, number_)
        table = self._table
        if table is None or table.style not in ("sar", "process") or len(words) < len(table.names):
            return False
        if table.style == "sar" and len(words) != len(table.names):
            return False
        if time != self._time:
            self._tick, self._time = self._tick + 1, time
        last = len(table.names) - 1
        cells = dict(zip(table.names, [*words[:last], " ".join(words[last:])], strict=True))
        return self._row(number_, cells)

    def _plain(self, number_: int, line: str) -> bool:
        words = line.split()
        table = self._table
        if table is None:
            return False
        if words[0].endswith(":") and table.style in ("sar", "process"):
            return True  # averages, in any language
        if table.style == "cpu" and len(words) == len(table.names) and all(number(w) is not None for w in words):
            self._fresh = False
            return self._row(number_, dict(zip(table.names, words, strict=True)))
        if table.style == "device" and len(words) == len(table.names) and all(_figure(w) for w in words[1:]):
            self._fresh = False
            return self._row(number_, dict(zip(table.names, words, strict=True)))
        return False

    def _row(self, number_: int, cells: dict[str, str]) -> bool:
        assert self._table is not None
        self.last = Row(number_, self._tick, self._time, self._date, self._zone, cells)
        self._table.rows.append(self.last)
        return True


def _figure(text: str) -> bool:
    return number(text) is not None or size_mib(text, None) is not None

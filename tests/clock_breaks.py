"""Wall clocks that people set: lines of a log or rows of a capture stamped by a clock that breaks in the middle.

A break is a change of summer time, of zone, a clock set back or on, a suspended machine, a year that cannot be, or a
leap second. ``Wall`` says what the clock showed; the functions print it as a tool would.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

START = 1796075512.4
"""Epoch of the first stamp: 2026-11-30 21:51:52 UTC."""
YEARS = ("0000", "0001", "1601", "1969", "1970", "2038", "9999")
KINDS = ("summer", "winter", "back", "on", "suspend", "zone", "year", "leap")


@dataclass(frozen=True)
class Wall:
    """One look at the clock: ``epoch_s`` as it is set, the zone in minutes east, and what a broken clock shows instead."""

    epoch_s: float
    zone_min: int = 0
    year: str | None = None
    leap: bool = False

    @property
    def local(self) -> datetime:
        return datetime.fromtimestamp(self.epoch_s, timezone(timedelta(minutes=self.zone_min)))

    def printed(self, pattern: str) -> str:
        """The clock by a pattern of ``strftime``, with the false year or second in it."""
        if self.leap:
            pattern = pattern.replace("%S", "60")
        if self.year is not None:
            pattern = pattern.replace("%Y", self.year)
        return self.local.strftime(pattern)

    @property
    def utc(self) -> Wall:
        return Wall(self.epoch_s, 0, self.year, self.leap)


class Clock(list[Wall]):
    """Looks at a clock; shown as its breaks alone."""

    def __repr__(self) -> str:
        changed = [i for i in range(len(self)) if i == 0 or self._key(i) != self._key(i - 1)]
        return f"Clock({', '.join(f'{i}: {self[i]}' for i in changed)})"

    def _key(self, at: int) -> tuple[object, ...]:
        step = self[1].epoch_s - self[0].epoch_s
        shift = self[at].epoch_s - self[0].epoch_s - at * step
        return round(shift, 3), self[at].zone_min, self[at].year, self[at].leap


@st.composite
def walls(draw: st.DrawFn, count: int, step_s: float, kinds: tuple[str, ...] = KINDS) -> Clock:
    """``count`` looks at a clock, ``step_s`` apart, with one to four breaks."""
    breaks = draw(st.lists(st.tuples(st.integers(2, count - 1), st.sampled_from(kinds)), min_size=1, max_size=4))
    zone, shift = draw(st.sampled_from((0, 60, 120, -480, 345))), 0.0
    year = None
    found = Clock()
    for i in range(count):
        leap = False
        for _, kind in (b for b in breaks if b[0] == i):
            if kind in ("summer", "winter"):
                zone = max(-720, min(840, zone + (60 if kind == "summer" else -60)))
            elif kind == "zone":
                zone = draw(st.integers(-48, 56)) * 15
            elif kind == "year":
                year = draw(st.sampled_from((*YEARS, None)))
            elif kind == "leap":
                leap = True
            else:
                shift += (-1 if kind == "back" else 1) * draw(
                    st.one_of(st.floats(0.2, 30), st.floats(30, 7200), st.floats(7200, 4e7))
                )
        found.append(Wall(START + i * step_s + shift, zone, year, leap))
    return found


def offset(wall: Wall, colon: str = "") -> str:
    """``+0100``."""
    minutes = abs(wall.zone_min)
    return f"{'-' if wall.zone_min < 0 else '+'}{minutes // 60:02d}{colon}{minutes % 60:02d}"


def docker(wall: Wall, text: str) -> str:
    return wall.utc.printed("%Y-%m-%dT%H:%M:%S.%f000Z ") + text


def compose(wall: Wall, text: str) -> str:
    return "llama-1  | " + docker(wall, text)


def kubectl(wall: Wall, text: str) -> str:
    return wall.printed("%Y-%m-%dT%H:%M:%S.%f000") + offset(wall, ":") + " " + text


def journald(wall: Wall, text: str) -> str:
    return wall.printed("%b %d %H:%M:%S ") + "host llama-server[812]: " + text


def journald_iso(wall: Wall, text: str) -> str:
    return wall.printed("%Y-%m-%dT%H:%M:%S") + offset(wall) + " host llama-server[812]: " + text


def ts(wall: Wall, text: str) -> str:
    return wall.printed("%b %d %H:%M:%S ") + text


def ts_epoch(wall: Wall, text: str) -> str:
    return f"{wall.epoch_s:.6f} {text}"


def json_file(wall: Wall, text: str) -> str:
    import json

    stamp = wall.utc.printed("%Y-%m-%dT%H:%M:%S.%f000Z")
    return json.dumps({"log": text + "\n", "stream": "stderr", "time": stamp})


WRAPPERS = {f.__name__: f for f in (docker, compose, kubectl, journald, journald_iso, ts, ts_epoch, json_file)}


def steady(count: int, step_s: float) -> list[Wall]:
    """A clock without breaks."""
    return [Wall(datetime.fromtimestamp(START + i * step_s, UTC).timestamp()) for i in range(count)]


def smi_csv(clock: list[Wall]) -> str:
    head = "timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%], power.draw [W]"
    rows = [
        f"{w.printed('%Y/%m/%d %H:%M:%S')}.{int(w.epoch_s * 1000) % 1000:03d}, 0, {i + 1} MiB, 143771 MiB, "
        f"{'[N/A]' if i % 7 == 3 else f'{i % 100} %'}, {70 + i % 9}.50 W"
        for i, w in enumerate(clock)
    ]
    return "\n".join([head, *rows, ""])


def dmon(clock: list[Wall], date: bool = True) -> str:
    head = [
        "#Date        Time         gpu    pwr  gtemp     fb     sm",
        "#YYYYMMDD    HH:MM:SS     Idx      W      C     MB      %",
    ]
    if not date:
        head = ["#Time         gpu    pwr  gtemp     fb     sm", "#HH:MM:SS     Idx      W      C     MB      %"]
    rows = [
        f" {w.printed('%Y%m%d    %H:%M:%S' if date else '%H:%M:%S')}       0     {79 + i % 9}     38 {i + 1:6d} "
        f"{'-' if i % 7 == 3 else i % 100:>6}"
        for i, w in enumerate(clock)
    ]
    return "\n".join([*head, *rows, ""])


def dmon_time(clock: list[Wall]) -> str:
    return dmon(clock, date=False)


NAMES = {0: "UTC", 60: "CET", 120: "CEST", -480: "PST"}


def vmstat(clock: list[Wall]) -> str:
    lines = []
    for i, w in enumerate(clock):
        if i % 21 == 0:
            lines.append(
                "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu------- -----timestamp-----"
            )
            zone = NAMES.get(w.zone_min, offset(w)[:3])
            lines.append(
                f" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu {zone:>19}"
            )
        lines.append(
            f" 6  0      0 {99157568 - i}  28560 30723452    0    0  {5042 + i} 121602 3868    0 {i % 50}  4 40  0  0  0"
            f" {w.printed('%Y-%m-%d %H:%M:%S')}"
        )
    return "\n".join([*lines, ""])


def free_dated(clock: list[Wall]) -> str:
    head = "               total        used        free      shared  buff/cache   available"
    return "".join(
        f"{w.printed('%a %b %d %H:%M:%S UTC %Y')}\n{head}\nMem:           24105        {1000 + i}       22000"
        f"          10        1105       22500\nSwap:              0           0           0\n"
        for i, w in enumerate(clock)
    )


CAPTURES = {f.__name__: f for f in (smi_csv, dmon, dmon_time, vmstat, free_dated)}

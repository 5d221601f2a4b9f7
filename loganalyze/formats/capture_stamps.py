"""Lines that hold nothing but a date, as loops print them between blocks: ``date``, ``date +%s``, ``date -Is``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from loganalyze.light import dataclass

_EPOCH = re.compile(rb"^\s*(1[0-9]{9})(?:[.,]([0-9]{1,9}))?\s*$")
_ISO = re.compile(
    rb"^\s*([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,9}))?"
    rb"\s*(Z|UTC|[+-][0-9]{2}:?[0-9]{2})?\s*$"
)
_MONTHS = {m: i for i, m in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_DATE = re.compile(
    rb"^\s*(?:[A-Z][a-z]{2}) ([A-Z][a-z]{2}) {1,2}([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})( AM| PM)?"
    rb"( [A-Z]{2,5}| [+-][0-9]{2,4})? ([0-9]{4})\s*$"
)


@dataclass(slots=True)
class Stamp:
    """``epoch_s`` read as UTC when ``zone`` is None."""

    epoch_s: float
    zone: str | None
    resolution_s: float


def stamp_line(line: bytes) -> Stamp | None:
    """The time that makes up all of ``line``, or None."""
    found = _EPOCH.match(line)
    if found:
        fraction = found.group(2) or b""
        return Stamp(float(found.group(1)) + _fraction(fraction), "UTC", _resolution(fraction))
    found = _ISO.match(line)
    return _iso(found) if found else ctime_line(line)


def ctime_line(line: bytes) -> Stamp | None:
    """``Wed May  1 12:34:56 2024`` (C library, no zone), or ``date`` with a zone abbreviation or 12-hour clock."""
    found = _DATE.match(line)
    month = _MONTHS.get(found.group(1)) if found else None
    if found is None or month is None:
        return None
    hour = int(found.group(3))
    if found.group(6):
        hour = hour % 12 + (12 if found.group(6) == b" PM" else 0)
    try:
        minute, second = int(found.group(4)), int(found.group(5))
        when = _moment(int(found.group(8)), month, int(found.group(2)), hour, minute, second)
    except ValueError:
        return None
    zone = found.group(7).strip().decode() if found.group(7) else None
    return _zoned(when, zone, 0.0, 1.0)


def _iso(found: re.Match[bytes]) -> Stamp | None:
    try:
        when = _moment(*map(int, found.groups()[:6]))
    except ValueError:
        return None
    zone = found.group(8).decode() if found.group(8) else None
    fraction = found.group(7) or b""
    return _zoned(when, zone, _fraction(fraction), _resolution(fraction))


def _moment(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime:
    """A date read as UTC; 60 is a leap second. Raises ValueError where there is no such date."""
    extra = second == 60
    return datetime(year, month, day, hour, minute, second - extra, tzinfo=UTC) + timedelta(seconds=extra)


def _zoned(when: datetime, zone: str | None, fraction: float, resolution: float) -> Stamp:
    """An offset moves the time to UTC; an abbreviation is passed on unread, for several zones share each."""
    if zone in ("Z", "UTC", "GMT"):
        return Stamp(when.timestamp() + fraction, "UTC", resolution)
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        offset = -shift if zone[0] == "-" else shift
        if abs(offset) < timedelta(hours=24):
            when = when.replace(tzinfo=timezone(offset))
            return Stamp(when.timestamp() + fraction, f"{zone[0]}{digits[:2]}:{digits[2:]}", resolution)
    return Stamp(when.timestamp() + fraction, zone, resolution)


def _fraction(digits: bytes) -> float:
    return int(digits) / 10 ** len(digits) if digits else 0.0


def _resolution(digits: bytes) -> float:
    return 10.0 ** -len(digits)

"""Dates and times inside stamps, without the cost of importing ``datetime``."""

from __future__ import annotations

from loganalyze.scan.wrappers.told import Lazy

DAY_S = 86_400
# A leap year that stands for the year 0.
YEAR_0 = 2000
MONTHS = {m: i for i, m in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# Abbreviations that say the offset by themselves; the others are kept as printed for the timeline to judge.
_UTC_NAMES = (b"Z", b"UTC", b"GMT")

ISO = (
    rb"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,9}))?"
    rb" ?(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?"
)
ISO_STAMP = Lazy(ISO + rb"(?=[ \t])")

# Logs repeat their dates and times: both are looked up by their text.
_days: dict[tuple[int, int, int], int | None] = {}
_dates: dict[bytes, int | None] = {}
_clocks: dict[bytes, int | None] = {}


def day_number(year: int, month: int, day: int) -> int | None:
    """Days from 1970-01-01 to a date of the Gregorian calendar; None for a date that is none."""
    key = (year, month, day)
    if key not in _days:
        if len(_days) > 4096:
            _days.clear()
        _days[key] = _count_days(year, month, day)
    return _days[key]


def _count_days(year: int, month: int, day: int) -> int | None:
    if not (1 <= month <= 12 and 1 <= day <= _LENGTHS[month - 1] and year >= 1):
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month == 2 and day == 29 and not leap:
        return None
    before = sum(_LENGTHS[: month - 1]) - (1 if month > 2 and not leap else 0)
    past = year - 1
    return past * 365 + past // 4 - past // 100 + past // 400 + before + day - 719_163


def seconds_of(clock: bytes) -> int | None:
    """Seconds of ``HH:MM:SS``; None when out of range (60 is a leap second)."""
    try:
        return _clocks[clock]
    except KeyError:
        pass
    hours, minutes, seconds = int(clock[:2]), int(clock[3:5]), int(clock[6:8])
    good = hours < 24 and minutes < 60 and seconds <= 60
    if len(_clocks) > 4096:
        _clocks.clear()
    _clocks[clock] = found = hours * 3600 + minutes * 60 + seconds if good else None
    return found


def fraction_of(digits: bytes | None) -> float:
    """``b"25"`` -> 0.25."""
    return int(digits) / 10 ** len(digits) if digits else 0.0


def zone_of(text: bytes | None) -> tuple[str | None, int]:
    """Name and offset in seconds of a zone as printed: ``"UTC"``, ``"-05:00"``, ``"EST"`` (offset 0) or None."""
    if not text:
        return None, 0
    if text in _UTC_NAMES:
        return "UTC", 0
    if text[:1] not in b"+-":
        return text.decode("ascii", "replace"), 0
    digits = text[1:].replace(b":", b"").ljust(4, b"0")
    offset = int(digits[:2]) * 3600 + int(digits[2:4]) * 60
    name = (text[:1] + digits[:2] + b":" + digits[2:4]).decode()
    if not offset:
        return "UTC", 0
    return name, -offset if text[:1] == b"-" else offset


def iso_epoch(
    date: bytes, clock: bytes, fraction: bytes | None, zone: bytes | None
) -> tuple[float | None, str | None] | None:
    """Epoch seconds and zone of the parts that ``ISO`` finds; None when they are no date.

    The seconds are None in the year 0, which a clock that was never set may show: a stamp that tells no time.
    """
    try:
        day = _dates[date]
    except KeyError:
        if len(_dates) > 4096:
            _dates.clear()
        day = _dates[date] = day_number(int(date[:4]), int(date[5:7]), int(date[8:10]))
    second = seconds_of(clock)
    if second is None or (day is None and day_number(YEAR_0, int(date[5:7]), int(date[8:10])) is None):
        return None
    name, offset = zone_of(zone)
    if day is None:
        return (None, name) if date.startswith(b"0000") else None
    return day * DAY_S + second - offset + fraction_of(fraction), name


def yearless_epoch(month: int, day: int, clock: bytes, fraction: bytes | None, mtime_s: float | None) -> float | None:
    """Epoch of a stamp without a year: the latest one that is not after the file's last write by more than a day."""
    second = seconds_of(clock)
    if mtime_s is None or second is None:
        return None
    year = 1970 + int(mtime_s // (365.2425 * DAY_S))
    for candidate in (year + 1, year, year - 1):
        number = day_number(candidate, month, day)
        # A day of grace: the stamp is local, the file's time is not.
        if number is not None and number * DAY_S + second <= mtime_s + DAY_S:
            return number * DAY_S + second + fraction_of(fraction)
    return None

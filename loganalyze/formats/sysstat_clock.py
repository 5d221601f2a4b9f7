"""Times of sysstat text: a date in the banner whose order depends on the locale, times of day in the rows."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATE = re.compile(r"(\d{1,4})([/.-])(\d{1,2})[/.-](\d{1,4})\Z")
_TIME = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?: ([AP])M)?\Z")
DAY_S = 86400.0


def day_epoch(text: str, *, half_day_clock: bool) -> tuple[float | None, str | None]:
    """Epoch of the midnight of a printed date (read as UTC), and a note when its order is a guess."""
    found = _DATE.match(text)
    if found is None:
        return None, None
    a, mark, b, c = found[1], found[2], int(found[3]), found[4]
    if len(a) == 4:
        return _epoch(int(a), b, int(c)), None
    first, year = int(a), int(c) + (2000 if len(c) <= 2 else 0)
    if mark == "." or first > 12:
        return _epoch(year, b, first), None
    # The C locale prints two digits of the year and the month first, en_US with it a 12-hour clock; a 24-hour clock
    # with a whole year is another locale, and those print the day first.
    month_first = b > 12 or half_day_clock or len(c) <= 2
    note = None if b > 12 or first == b else f"date {text} is read as {'month/day' if month_first else 'day/month'}"
    return (_epoch(year, first, b) if month_first else _epoch(year, b, first)), note


def _epoch(year: int, month: int, day: int) -> float | None:
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def time_of_day(text: str) -> float | None:
    """Seconds after midnight of ``22:02:35`` or ``10:02:35 PM``."""
    found = _TIME.match(text)
    if found is None:
        return None
    hour = int(found[1])
    if found[4]:
        hour = hour % 12 + (12 if found[4] == "P" else 0)
    return hour * 3600.0 + int(found[2]) * 60 + int(found[3])


def unwrapped(times: list[float | None]) -> list[float | None]:
    """Times of day in order as seconds after the first midnight: a fall by more than 12 hours is the next day."""
    day, last = 0.0, None
    found: list[float | None] = []
    for time in times:
        if time is not None:
            if last is not None and last - time > DAY_S / 2:
                day += DAY_S
            last = time
        found.append(None if time is None else day + time)
    return found

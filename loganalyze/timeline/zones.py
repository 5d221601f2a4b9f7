"""Zones of stamps: names and offsets to seconds, and the zone of stamps that carry none."""

from __future__ import annotations

import re

from loganalyze.errors import LogAnalyzeError

QUARTER_S = 900
# Zones in use reach from -12:00 to +14:00.
WEST_S, EAST_S = -12 * 3600, 14 * 3600
_NUMERIC = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?\Z")


def zone_seconds(zone: str, epoch_s: float) -> int | None:
    """Seconds east of UTC that ``zone`` has at ``epoch_s`` (read as local time); None when the name is unknown."""
    if zone.upper() in ("UTC", "GMT", "Z"):
        return 0
    numeric = _NUMERIC.match(zone)
    if numeric:
        seconds = int(numeric[2]) * 3600 + int(numeric[3] or 0) * 60
        return -seconds if numeric[1] == "-" else seconds
    return _named_seconds(zone, epoch_s)


def _named_seconds(zone: str, epoch_s: float) -> int | None:
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    from loganalyze.formats.zones import zone_offset

    short, _ = zone_offset(zone)
    if short is not None:
        return zone_seconds(short, epoch_s)
    try:
        local = datetime.fromtimestamp(epoch_s, UTC).replace(tzinfo=ZoneInfo(zone))
    except (KeyError, ValueError, OSError, OverflowError):
        return None
    shift = local.utcoffset()
    return None if shift is None else int(shift.total_seconds())


def check_zone(zone: str) -> str:
    """``zone`` if it can be used. Raises LogAnalyzeError otherwise."""
    if zone_seconds(zone, 0.0) is None:
        raise LogAnalyzeError(f"unknown zone {zone}", remedy="Write an offset (+02:00) or a name (Europe/Berlin)")
    return zone


def machine_seconds(epoch_s: float) -> int:
    """Seconds east of UTC that this machine's zone has at ``epoch_s``, read as local time."""
    import time

    try:
        shift = time.localtime(epoch_s).tm_gmtoff
        return int(time.localtime(epoch_s - shift).tm_gmtoff)
    except (OverflowError, OSError, ValueError):
        return 0


def offset_text(seconds: float) -> str:
    """``+02:00`` of 7200."""
    minutes = round(abs(seconds) / 60)
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def stamp_epoch(text: str, zone: str | None = None) -> tuple[float, bool]:
    """Epoch seconds of a stamp a user typed, and whether it carried its zone.

    Takes epoch seconds, or an ISO date and time with or without zone; ``zone`` applies to the latter (default: this
    machine's). Raises LogAnalyzeError for anything else.
    """
    from datetime import UTC, datetime

    text = text.strip()
    try:
        value = float(text)
    except ValueError:
        pass
    else:
        if 0 < value < 1e11:
            return value, True
    try:
        when = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        raise LogAnalyzeError(
            f"not a time: {text[:60]}", remedy="Write 2026-11-30T21:51:52+01:00 or epoch seconds"
        ) from None
    if when.tzinfo is not None:
        return when.timestamp(), True
    local = when.replace(tzinfo=UTC).timestamp()
    east = zone_seconds(zone, local) if zone else machine_seconds(local)
    return local - (east or 0), False


def shifts() -> list[int]:
    """Whole quarters of an hour that two clocks of one run may differ by, the smallest first."""
    widest = (EAST_S - WEST_S) // QUARTER_S
    quarters = sorted(range(-widest, widest + 1), key=lambda n: (n % 4 != 0, abs(n), n))
    return [n * QUARTER_S for n in quarters]

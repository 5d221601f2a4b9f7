"""Zone abbreviations as ``date``, ``vmstat -t`` and dool print them, as offsets where only one meaning is in use."""

from __future__ import annotations

import re

_OFFSETS = {
    "UTC": "UTC", "GMT": "UTC", "Z": "UTC", "UCT": "UTC", "WET": "+00:00", "WEST": "+01:00",
    "BST": "+01:00", "CET": "+01:00", "CEST": "+02:00", "MEZ": "+01:00", "MESZ": "+02:00", "EET": "+02:00",
    "EEST": "+03:00", "MSK": "+03:00", "SAST": "+02:00", "CAT": "+02:00", "EAT": "+03:00", "WAT": "+01:00",
    "PKT": "+05:00", "WIB": "+07:00", "HKT": "+08:00", "AWST": "+08:00", "WITA": "+08:00", "JST": "+09:00",
    "KST": "+09:00", "WIT": "+09:00", "ACST": "+09:30", "ACDT": "+10:30", "AEST": "+10:00", "AEDT": "+11:00",
    "NZST": "+12:00", "NZDT": "+13:00", "NST": "-03:30", "NDT": "-02:30", "AST": "-04:00", "ADT": "-03:00",
    "EST": "-05:00", "EDT": "-04:00", "MST": "-07:00", "MDT": "-06:00", "PDT": "-07:00", "AKST": "-09:00",
    "AKDT": "-08:00", "HST": "-10:00",
}  # fmt: skip
_AMBIGUOUS = {
    "CST": "-06:00 in North America, +08:00 in China and Taiwan",
    "CDT": "-05:00 in North America, -04:00 in Cuba",
    "IST": "+05:30 in India, +02:00 in Israel, +01:00 in Ireland",
    "PST": "-08:00 in North America, +08:00 in the Philippines",
}
_NUMERIC = re.compile(r"([+-])(\d{2}):?(\d{2})?\Z")


def zone_offset(text: str) -> tuple[str | None, str | None]:
    """``(offset, note)`` of a printed zone: ``+HH:MM`` or ``UTC`` when it has one meaning, else None and a note that says why."""
    numeric = _NUMERIC.match(text)
    if numeric:
        sign, hours, minutes = numeric.groups()
        return f"{sign}{hours}:{minutes or '00'}", None
    offset = _OFFSETS.get(text.upper())
    if offset is not None:
        return offset, None
    meanings = _AMBIGUOUS.get(text.upper())
    if meanings:
        return None, f"zone {text} is ambiguous ({meanings}); times are read as unmarked local time"
    return None, f"zone {text[:12]} is not known; times are read as unmarked local time"


def offset_seconds(zone: str | None) -> int:
    """Seconds east of UTC of ``+HH:MM``; 0 for ``UTC`` and None."""
    if not zone:
        return 0
    numeric = _NUMERIC.match(zone)
    if not numeric:
        return 0
    seconds = int(numeric[2]) * 3600 + int(numeric[3] or 0) * 60
    return -seconds if numeric[1] == "-" else seconds

"""Dates in front: ``ts``, journald's short formats, docker and kubectl, Python's logging; and syslog's host and process."""

from __future__ import annotations

from loganalyze.scan.wrappers.stamps import ISO_STAMP, MONTHS, iso_epoch, yearless_epoch
from loganalyze.scan.wrappers.told import LEVELS, Lazy, Told

_MONTH = Lazy(
    rb"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ([ 0-3]?[0-9]) ([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(?: |$)"
)
_FULL = Lazy(
    rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    rb" ([A-Z]{2,5}|[+-][0-9]{2,4}) "
)
_SYSLOG = Lazy(rb"([^\s:\[\]]{1,64}) ([^\s\[\]]{1,64})\[([0-9]{1,10})\]:(?: |$)")
# Without a process id, ``slot print_timing: `` would look the same: ask for a name that no function has, or a known host.
_SYSLOG_BARE = Lazy(rb"([^\s:\[\]]{1,64}) ([^\s:\[\]]{1,64}):(?: |$)")
_LEVEL = Lazy(rb"\[(DEBUG|INFO|WARN|WARNING|ERROR)\](?: |$)")
_UNITS = (b".service", b".scope", b".slice", b".socket", b".mount", b".timer")


def syslog_tail(text: bytes, at: int, told: Told) -> bytes | None:
    """The message behind ``host process[pid]: `` at ``text[at:]``; None when that is not there."""
    found = _SYSLOG.match(text, at)
    if found:
        told.pid = int(found[3])
        told.context.hosts.add(found[1])
    else:
        found = _SYSLOG_BARE.match(text, at)
        if not found or not _is_process(found[1], found[2], told.context.hosts):
            return None
    told.host = found[1].decode("utf-8", "replace")
    told.process = found[2].decode("utf-8", "replace")
    told.kinds.append("journald")
    return text[found.end() :]


def _is_process(host: bytes, name: bytes, hosts: set[bytes]) -> bool:
    return name == b"kernel" or name.endswith(_UNITS) or host in hosts


def peel_iso(text: bytes, told: Told) -> bytes | None:
    """``2026-11-30T17:04:17-0500 ``, ``2024-05-01 14:34:56,789 `` and the like, before a message on the same line."""
    found = ISO_STAMP.match(text)
    parts = iso_epoch(*found.groups()) if found else None
    if not found or parts is None:
        return None
    rest = syslog_tail(text, found.end() + 1, told)
    if rest is None:
        rest = text[found.end() + 1 :]
        told.kinds.append(_kind(found[0], found[4]))
        rest = _level(rest, told)
    told.wall(*parts, found[0])
    return rest


def _kind(stamp: bytes, zone: bytes | None) -> str:
    if stamp[10:11] == b"T" and zone == b"Z":
        return "docker"
    return "python" if b"," in stamp else "stamp"


def _level(rest: bytes, told: Told) -> bytes:
    """``[DEBUG] `` of LM Studio behind its stamp."""
    found = _LEVEL.match(rest.lstrip(b" ")) if b"[" in rest[:4] else None
    if not found:
        return rest
    told.level = LEVELS[found[1]]
    return rest.lstrip(b" ")[found.end() :]


def peel_month(text: bytes, told: Told) -> bytes | None:
    """``Nov 30 17:04:16 `` of ``ts`` and journald (short, short-precise): no year."""
    found = _MONTH.match(text)
    if not found:
        return None
    epoch = yearless_epoch(MONTHS[found[1]], int(found[2]), found[3], found[4], told.context.mtime_s)
    rest = syslog_tail(text, found.end(), told)
    if rest is None:
        rest = text[found.end() :]
        told.kinds.append("ts")
    told.wall(epoch, None, found[0].rstrip())
    return rest


def peel_full(text: bytes, told: Told) -> bytes | None:
    """``Mon 2026-11-30 17:02:35 EST host process[pid]: `` of short-full and with-unit."""
    found = _FULL.match(text)
    parts = iso_epoch(*found.groups()) if found else None
    if not found or parts is None:
        return None
    rest = syslog_tail(text, found.end(), told)
    if rest is not None:
        told.wall(*parts, found[0].rstrip())
    return rest


PEELS = ((b"0123456789", peel_iso), (b"JFMASOND", peel_month), (b"MTWFS", peel_full))

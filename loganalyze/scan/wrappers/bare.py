"""Stamps that are bare numbers or times of day; taken only where every line of the source's head has one."""

from __future__ import annotations

from loganalyze.scan.wrappers.stamped import syslog_tail
from loganalyze.scan.wrappers.stamps import fraction_of, seconds_of
from loganalyze.scan.wrappers.told import Lazy, Told

EPOCH = Lazy(rb"([0-9]{9,10})(?:\.([0-9]{1,9}))? ?")
SECONDS = Lazy(rb"([0-9]{1,8})\.([0-9]{6})(?: |$)")
CLOCK = Lazy(rb"([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(?: |$)")
_UNIX_JOURNAL = Lazy(rb"([0-9]{9,10})\.([0-9]{6}) ")


def peel_unix_journal(text: bytes, told: Told) -> bytes | None:
    """``1796076155.123456 host process[pid]: `` of ``journalctl -o short-unix``: clear in itself."""
    found = _UNIX_JOURNAL.match(text)
    rest = syslog_tail(text, found.end(), told) if found else None
    if found and rest is not None:
        told.wall(int(found[1]) + fraction_of(found[2]), "UTC", found[0].strip())
    return rest


def peel_epoch(text: bytes, told: Told) -> bytes | None:
    """``1796076260.027217 `` of ``ts %s`` and ``ts %.s``."""
    found = EPOCH.match(text) if told.context.modes.epoch else None
    if not found:
        return None
    told.kinds.append("ts")
    told.wall(int(found[1]) + fraction_of(found[2]), "UTC", found[0].strip())
    return text[found.end() :]


def peel_relative(text: bytes, told: Told) -> bytes | None:
    """``0.308104 `` and ``00:00:01 `` of ``ts -s``; of ``ts -i`` the sum so far."""
    modes = told.context.modes
    found = SECONDS.match(text) if modes.seconds else CLOCK.match(text) if modes.clock else None
    if not found:
        return None
    whole = int(found[1]) if modes.seconds else seconds_of(found[1])
    if whole is None:
        return None
    told.t_s = whole + fraction_of(found[2])
    if modes.interval:
        told.context.elapsed_s += told.t_s
        told.t_s = told.context.elapsed_s
    told.kinds.append("ts -i" if modes.interval else "ts -s")
    return text[found.end() :]


_DIGITS = b"0123456789"
PEELS = ((_DIGITS, peel_unix_journal), (_DIGITS, peel_epoch), (_DIGITS, peel_relative))

"""Things in square brackets or parentheses in front of a line."""

from __future__ import annotations

from loganalyze.scan.wrappers.stamped import syslog_tail
from loganalyze.scan.wrappers.stamps import DAY_S, ISO, MONTHS, day_number, fraction_of, iso_epoch, seconds_of
from loganalyze.scan.wrappers.told import LEVELS, Lazy, Told

_ISO = Lazy(rb"\[" + ISO + rb"( [^\]\[]{1,64})?\](?:\[([A-Z]{4,8})\](?:\[([^\]]{1,200})\])?)?(?: |$)")
_UNIX = Lazy(rb"\[([0-9]{10})\](?: |$)")
# The router pads to five; the kernel's table of processes, padded to seven, must stay.
_PORT = Lazy(rb"\[([0-9]{4,7}| [0-9]{4})\](?: |$)")
_POD = Lazy(rb"\[(pod/[^\]\s]{1,400})\](?: |$)")
_BOOT = Lazy(rb"\[ *([0-9]{1,10})\.([0-9]{6})\](?: |$)")
_CTIME = Lazy(
    rb"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) ([ 0-3][0-9]) ([0-9]{2}:[0-9]{2}:[0-9]{2}) ([0-9]{4})\](?: |$)"
)
_NAME = Lazy(rb"\[([A-Za-z][\w./-]{0,40})\] (?=[0-9]+\.[0-9]{2}\.[0-9]{3}\.[0-9]{3} |time=|[0-9]{4}-[0-9]{2}-)")
_TAG = Lazy(rb"\(([^()]{0,100}\b(?:pid|rank)=[0-9][^()]{0,100})\)(?: |$)")


def peel_iso(text: bytes, told: Told) -> bytes | None:
    """``[2024-12-20 11:02:33 TP0] `` (SGLang, ``ts``), ``[2026-02-08 17:59:26][INFO][model] `` (LM Studio)."""
    found = _ISO.match(text)
    parts = iso_epoch(*found.groups()[:4]) if found else None
    if not found or parts is None:
        return None
    told.wall(*parts, found[0][1 : found[0].index(b"]")])
    tag = found[7] or found[5]
    if tag:
        told.tag = tag.strip().decode("utf-8", "replace")
    if found[6]:
        told.level = LEVELS.get(found[6])
    told.kinds.append("lmstudio" if found[6] else "stamp")
    return text[found.end() :]


def peel_number(text: bytes, told: Told) -> bytes | None:
    """``[1697000000] `` (old log files), ``[42027] `` (router; some tools print their process id so)."""
    found = _UNIX.match(text)
    if found:
        told.wall(float(found[1]), "UTC", found[1])
        told.kinds.append("unix")
        return text[found.end() :]
    found = _PORT.match(text)
    if not found:
        return None
    told.port = int(found[1])
    told.kinds.append("router")
    return text[found.end() :]


def peel_boot(text: bytes, told: Told) -> bytes | None:
    """``[   90.000000] `` of dmesg and short-monotonic: seconds since boot."""
    found = _BOOT.match(text)
    if not found:
        return None
    told.t_s = int(found[1]) + fraction_of(found[2])
    rest = syslog_tail(text, found.end(), told)
    if rest is None:
        rest = text[found.end() :]
        told.kinds.append("dmesg")
    return rest


def peel_ctime(text: bytes, told: Told) -> bytes | None:
    """``[Wed May  1 14:34:56 2024] `` of ``dmesg -T``."""
    found = _CTIME.match(text)
    month = MONTHS.get(found[1]) if found else None
    day = day_number(int(found[4]), month, int(found[2])) if found and month else None
    second = seconds_of(found[3]) if found else None
    if not found or day is None or second is None:
        return None
    told.wall(float(day * DAY_S + second), None, found[0].strip(b"[] "))
    told.kinds.append("dmesg")
    return text[found.end() :]


def peel_name(text: bytes, told: Told) -> bytes | None:
    """``[pod/name/container] `` of kubectl; any ``[NAME] `` in front of a stamp."""
    found = _POD.match(text)
    if found:
        told.container = found[1].decode("utf-8", "replace")
        told.kinds.append("kubectl")
        return text[found.end() :]
    found = _NAME.match(text)
    if not found:
        return None
    told.tag = found[1].decode("utf-8", "replace")
    told.kinds.append("tag")
    return text[found.end() :]


def peel_rank(text: bytes, told: Told) -> bytes | None:
    """``(EngineCore_DP0 pid=1) ``, ``(RayWorker rank=0 pid=7) `` of vLLM and Ray."""
    found = _TAG.match(text)
    if not found:
        return None
    told.tag = found[1].decode("utf-8", "replace")
    told.kinds.append("tag")
    return text[found.end() :]


PEELS = (
    (b"[", peel_iso),
    (b"[", peel_number),
    (b"[", peel_boot),
    (b"[", peel_ctime),
    (b"[", peel_name),
    (b"(", peel_rank),
)

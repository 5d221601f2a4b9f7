"""Objects that hold one line each: llama.cpp's ``--log-jsonl``, journald's and docker's JSON, LM Studio's stream."""

from __future__ import annotations

from loganalyze.scan.wrappers.stamps import ISO_STAMP, iso_epoch
from loganalyze.scan.wrappers.told import LEVELS, Told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PRIORITY = ("E", "E", "E", "E", "W", "I", "I", "D")
_KINDS = (
    (b'"type":"log"', "jsonl"),
    (b'"__REALTIME_TIMESTAMP"', "journald_json"),
    (b'"stream":"std', "docker_json"),
    (b'"server.log"', "lmstudio_json"),
)


def load(text: bytes) -> dict[str, Any] | None:
    """The object that is all of ``text``; None for anything else, damaged or too deep."""
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def peel_object(text: bytes, told: Told) -> bytes | None:
    """The message of a known kind of object; it may hold several lines. Other objects stay as they are."""
    compact = text[:4096].replace(b'": ', b'":')
    kind = next((kind for mark, kind in _KINDS if mark in compact or mark in text), None)
    if kind is None or not text.endswith(b"}"):
        return None
    found = load(text)
    message = _READERS[kind](found, told) if found is not None else None
    if message is None:
        return None
    told.kinds.append(kind)
    return message


def _jsonl(found: dict[str, Any], told: Told) -> bytes | None:
    message = found.get("msg")
    if found.get("type") != "log" or not isinstance(message, str):
        return None
    time = found.get("time")
    if isinstance(time, int | float) and abs(time) < 1e18:
        told.t_s = time / 1e6
    told.level = LEVELS.get(str(found.get("level")).encode("utf-8", "replace"), told.level)
    told.last = True
    return message.encode("utf-8", "replace")


def _journald(found: dict[str, Any], told: Told) -> bytes | None:
    message = found.get("MESSAGE")
    if isinstance(message, list) and all(isinstance(b, int) and 0 <= b < 256 for b in message):
        text = bytes(message)
    elif isinstance(message, str):
        text = message.encode("utf-8", "replace")
    else:
        return None
    micros = _int(found.get("__REALTIME_TIMESTAMP"))
    if micros is not None:
        told.wall(micros / 1e6, "UTC", str(micros).encode())
    told.host = _text(found.get("_HOSTNAME"))
    told.process = _text(found.get("SYSLOG_IDENTIFIER") or found.get("_COMM"))
    told.pid = _int(found.get("_PID") or found.get("SYSLOG_PID"))
    priority = _int(found.get("PRIORITY"))
    if priority is not None and priority < len(_PRIORITY):
        told.level = _PRIORITY[priority]
    return text


def _docker(found: dict[str, Any], told: Told) -> bytes | None:
    message, time = found.get("log"), found.get("time")
    if not isinstance(message, str):
        return None
    if isinstance(time, str):
        stamp = time.encode("ascii", "replace")
        match = ISO_STAMP.match(stamp + b" ")
        parts = iso_epoch(*match.groups()) if match else None
        if parts:
            told.wall(*parts, stamp)
    return message.encode("utf-8", "replace")


def _lmstudio(found: dict[str, Any], told: Told) -> bytes | None:
    data, time = found.get("data"), found.get("timestamp")
    content = data.get("content") if isinstance(data, dict) and data.get("type") == "server.log" else None
    if not isinstance(content, str):
        return None
    if isinstance(time, int | float) and abs(time) < 1e15:
        told.wall(time / 1e3, "UTC", str(time).encode())
    return content.encode("utf-8", "replace")


def _int(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_READERS = {"jsonl": _jsonl, "journald_json": _journald, "docker_json": _docker, "lmstudio_json": _lmstudio}
PEELS = ((b"{", peel_object),)

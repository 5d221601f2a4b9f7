"""Lines whose own head tells the time and is needed by the formats: the text stays, the time is noted."""

from __future__ import annotations

from loganalyze.scan.wrappers.stamps import DAY_S, day_number, iso_epoch, seconds_of, yearless_epoch
from loganalyze.scan.wrappers.told import LEVELS, Lazy, Told

_SLOG = Lazy(
    rb'time="?([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})?"?'
    rb"(?: level=([A-Za-z]+))?"
)
_VLLM = Lazy(
    rb"(INFO|WARNING|ERROR|DEBUG|CRITICAL) ([01][0-9])-([0-3][0-9]) ([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))? "
)
_GO = Lazy(
    rb"(?:\[GIN\] )?([0-9]{4})/([0-9]{2})/([0-9]{2}) (?:- )?([0-9]{2}:[0-9]{2}:[0-9]{2})(?= \||(?:\.[0-9]{6})? [\w.]+\.go:)"
)
_JSON_TIME = Lazy(rb'"timestamp": ?([0-9]{10})\b')
_JSON_LEVEL = Lazy(rb'"level": ?"([A-Za-z]+)"')


def read_slog(text: bytes, told: Told) -> None:
    """``time=2024-09-02T18:11:05.120+02:00 level=INFO source=... msg=...`` (Ollama)."""
    found = _SLOG.match(text)
    parts = iso_epoch(*found.groups()[:4]) if found else None
    if found and parts is not None:
        told.wall(*parts, found[0][5 : found.end(4) if found[4] else None].strip(b'"').split(b" ")[0])
        told.level = LEVELS.get((found[5] or b"").upper(), told.level)
        told.kinds.append("slog")


def read_vllm(text: bytes, told: Told) -> None:
    """``INFO 01-15 10:22:33 metrics.py:467] `` (vLLM): no year."""
    found = _VLLM.match(text)
    if found:
        epoch = yearless_epoch(int(found[2]), int(found[3]), found[4], found[5], told.context.mtime_s)
        told.wall(epoch, None, found[0][len(found[1]) :].strip())
        told.level = LEVELS[found[1]]
        told.kinds.append("vllm")


def read_go(text: bytes, told: Told) -> None:
    """``2024/01/11 12:00:00 routes.go:930: `` and ``[GIN] 2024/05/01 - 14:34:56 |``."""
    found = _GO.match(text)
    if not found:
        return
    day, second = day_number(int(found[1]), int(found[2]), int(found[3])), seconds_of(found[4])
    if day is not None and second is not None:
        told.wall(float(day * DAY_S + second), None, found[0].removeprefix(b"[GIN] "))
        told.kinds.append("go")


def read_json(text: bytes, told: Told) -> None:
    """``{"timestamp":1712750031,"level":"INFO",...}`` of old llama.cpp servers."""
    found = _JSON_TIME.search(text, 0, 400)
    if found:
        told.wall(float(found[1]), "UTC", found[1])
        level = _JSON_LEVEL.search(text, 0, 400)
        told.level = LEVELS.get(level[1].upper(), told.level) if level else told.level
        told.kinds.append("json")


READERS = {
    ord("t"): read_slog,
    ord("{"): read_json,
    ord("2"): read_go,
    ord("["): read_go,
    **dict.fromkeys(b"IWEDC", read_vllm),
}

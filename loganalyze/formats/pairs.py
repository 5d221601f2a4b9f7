"""Tails of ``key: value, key: value`` and ``key=value`` that come in any order."""

from __future__ import annotations

import re

from loganalyze.light import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIZE = lazy_pattern(r"(-?(?<!\d)\d+(?:\.\d+)?) ?([KMGT]i?B|B|bytes)\b")
# Ollama and torch print binary sizes with binary names; decimal names stand for decimal sizes (`ollama ps`).
_MIB = {
    "B": 1 / 2**20,
    "bytes": 1 / 2**20,
    "KiB": 1 / 1024,
    "MiB": 1.0,
    "GiB": 1024.0,
    "TiB": 1024.0**2,
    "KB": 1e3 / 2**20,
    "MB": 1e6 / 2**20,
    "GB": 1e9 / 2**20,
    "TB": 1e12 / 2**20,
}
_KEY_VALUE = lazy_pattern(r'(?<![\w.])([A-Za-z_][\w.]*)=("(?:[^"\\]|\\.)*"|[^\s]*)')
_DURATION = lazy_pattern(r"(?<!\d)(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def colon_pairs(text: str, separator: str = ", ") -> dict[str, str]:
    """``a: 1, b: 2`` -> ``{"a": "1", "b": "2"}``; pieces without a colon are left out."""
    pairs: dict[str, str] = {}
    for piece in text.split(separator):
        key, colon, value = piece.partition(":")
        if colon:
            pairs[key.strip()] = value.strip().rstrip(".,")
    return pairs


def equal_pairs(text: str) -> dict[str, str]:
    """``a=1 b="two words"`` -> ``{"a": "1", "b": "two words"}``."""
    return {
        key: value[1:-1].replace('\\"', '"') if value[:1] == '"' else value for key, value in _KEY_VALUE.findall(text)
    }


def number(text: Any) -> float | None:
    """Leading number of ``text`` (``37.2%``, ``4 reqs``), or None; inf and nan are no numbers."""
    found = re.match(r"\s*(-?\d{1,30}(?:\.\d{1,30})?)", str(text)) if text is not None else None
    return float(found.group(1)) if found else None


def integer(text: Any) -> int | None:
    """Leading whole number of ``text``."""
    value = number(text)
    return None if value is None else int(value)


def mib(text: str | None) -> float | None:
    """``5.6 GiB``, ``411.0 MiB``, ``24 GB``, ``0 B`` -> MiB."""
    found = _SIZE.search(text) if text else None
    return float(found.group(1)) * _MIB[found.group(2)] if found else None


def mib_list(text: str | None) -> list[float]:
    """``[23.2 GiB 11.4 GiB]`` -> MiB each."""
    return [float(value) * _MIB[unit] for value, unit in _SIZE.findall(text or "")]


def size_mib(value: float | None, unit: str | None) -> float | None:
    """MiB of a value and its unit; what exceeds 10 TiB is a wrapped negative and unknown."""
    if value is None or unit not in _MIB:
        return None
    size = value * _MIB[unit]
    return size if 0 <= size <= 10 * 1024**2 else None


def duration_s(text: str) -> float | None:
    """Go duration (``1m2s``, ``847.9µs``) in seconds."""
    parts = _DURATION.findall(text)
    return sum(float(value) * _SECONDS[unit] for value, unit in parts) if parts else None

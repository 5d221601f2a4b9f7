"""Numbers as people read them. Every function takes None for unknown and says so in words."""

from __future__ import annotations

import math

UNKNOWN = "unknown"


def number(value: float | None, digits: int = 3) -> str:
    """``value`` with about ``digits`` significant figures and no exponent."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole >= digits:
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"
    if abs(value) >= 1:
        return f"{value:.{digits - whole}f}"
    return f"{value:.{min(6, digits - 1 - math.floor(math.log10(abs(value))))}f}".rstrip("0").rstrip(".") or "0"


def rate(value: float | None) -> str:
    """Tokens a second."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{number(value)} t/s"


def seconds(value: float | None) -> str:
    """A duration: ``93 ms``, ``2.35 s``, ``13 min 31 s``, ``2 h 05 min``."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0 s"
    if abs(value) < 1:
        return f"{number(value * 1000)} ms"
    if abs(value) < 120:
        return f"{number(value)} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 120:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def milliseconds(value: float | None) -> str:
    """A duration given in milliseconds."""
    return UNKNOWN if value is None else seconds(value / 1000)


def mib(value: float | None) -> str:
    """Memory given in MiB."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{number(value)} MiB" if abs(value) < 1024 else f"{number(value / 1024)} GiB"


def percent(share: float | None) -> str:
    """A share of 0..1."""
    if share is None or not math.isfinite(share):
        return UNKNOWN
    scaled = share * 100
    return f"{scaled:.0f} %" if scaled >= 10 or scaled == 0 else f"{scaled:.1f} %"


def count(value: int | None, noun: str) -> str:
    """``1 token``, ``2 tokens``, ``unknown tokens``."""
    if value is None:
        return f"{UNKNOWN} {noun}s"
    return f"{number(value)} {noun}" + ("" if value == 1 else "s")


def quantity(value: float | None, unit: str | None) -> str:
    """A finding's value in its own unit (``pct`` of 0..100, ``mib``, ``s``, ``ms``, ``tps``, or any word)."""
    if value is None:
        return UNKNOWN
    known = {"mib": mib, "s": seconds, "ms": milliseconds, "tps": rate, "t/s": rate}
    if unit is not None and unit.lower() in known:
        return known[unit.lower()](value)
    if unit in ("pct", "%"):
        return f"{number(value)} %"
    if unit in ("share", "fraction", "ratio"):
        return percent(value)
    return number(value) + (f" {unit}" if unit else "")

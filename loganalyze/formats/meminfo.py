"""``/proc/meminfo`` and ``/proc/vmstat``, whole or grepped, once or in a loop, with or without lines of ``date``.

``kB`` is KiB. ``pswpin``, ``pswpout`` and ``pgmajfault`` count since boot (pages of 4 KiB unless the memory figures
prove larger ones), ``pgpgin`` and ``pgpgout`` are KiB; they become rates where the time between two prints is known.
Without it ``facts`` tell the growth: ``swapped_in_mib``, ``swapped_out_mib``, ``major_faults``.
"""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows
from loganalyze.formats.keyed import KeyedBlock, keyed_blocks
from loganalyze.formats.rates import growth, rates, record_times
from loganalyze.grammar.match import Matcher
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "meminfo"
KIND: CaptureKind = "host"
GRAMMARS = ("proc",)

_LINE = re.compile(
    rb"\s*(?:/proc/(?:meminfo|vmstat):)?([A-Za-z][A-Za-z0-9_]{2,39}(?:\([a-z]{4}\))?)(:?)\s+(\d{1,20})(?: kB)?\s*\Z"
)
_LEVELS = {"MemTotal": "ram_total_mib", "MemFree": "ram_free_mib", "MemAvailable": "ram_available_mib",
           "SwapTotal": "swap_total_mib", "SwapFree": "swap_free_mib"}  # fmt: skip
_CACHE = ("Buffers", "Cached")
_SPARE = {"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp"}
# Figures needed before their common factor is taken for the page size.
PAGE_FIGURES = 8


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def _pair(line: bytes) -> tuple[str, float] | None:
    found = _LINE.match(line) if len(line) < 120 else None
    if found is None:
        return None
    name = found[1].decode()
    memory = bool(found[2])
    if memory != (line.rstrip().endswith(b"kB") or name in _SPARE):
        return None
    return name, float(found[3])


def starts(line: bytes) -> bool:
    found = _matcher().match(line) if len(line) < 120 else None
    return found is not None and found.rule.name in ("memory", "counter")


def belongs(line: bytes) -> bool:
    return _pair(line) is not None


def parse(segment: Segment) -> list[Capture]:
    """One capture; a row a print."""
    blocks = keyed_blocks(segment, _pair)
    blocks = [b for b in blocks if b.values]
    times = record_times(segment, [b.line for b in blocks])
    page_kib = _page_kib(blocks)
    rows = [_levels(b) for b in blocks]
    for column, values, scale in _counters(blocks, page_kib):
        for row, rate in zip(rows, rates(values, times, scale), strict=True):
            row[column] = rate
    made = capture_from_rows(NAME, KIND, segment, rows)
    if made is None:
        return []
    _facts(made, blocks, page_kib)
    return [made]


def _levels(block: KeyedBlock) -> dict[str, Any]:
    values = block.values
    row: dict[str, Any] = {"line": block.line}
    row |= {metric: values[name] / 1024 for name, metric in _LEVELS.items() if name in values}
    if "Cached" in values:
        row["ram_cache_mib"] = sum(values.get(n, 0.0) for n in _CACHE) / 1024
    if "MemTotal" in values and "MemAvailable" in values:
        row["ram_used_mib"] = (values["MemTotal"] - values["MemAvailable"]) / 1024
    if "SwapTotal" in values and "SwapFree" in values:
        row["swap_used_mib"] = (values["SwapTotal"] - values["SwapFree"]) / 1024
    return row


def _counters(blocks: list[KeyedBlock], page_kib: int) -> list[tuple[str, list[float | None], float]]:
    """``(metric, values, factor)`` of the counters that are there."""
    wanted = (
        ("pswpin", "swap_in_kib_s", float(page_kib)),
        ("pswpout", "swap_out_kib_s", float(page_kib)),
        ("pgpgin", "block_in_kib_s", 1.0),
        ("pgpgout", "block_out_kib_s", 1.0),
        ("pgmajfault", "major_faults_s", 1.0),
    )
    found = [(metric, _values(blocks, name), scale) for name, metric, scale in wanted]
    return [(m, v, s) for m, v, s in found if any(x is not None for x in v)]


def _values(blocks: list[KeyedBlock], name: str) -> list[float | None]:
    return [b.values.get(name) for b in blocks]


def _page_kib(blocks: list[KeyedBlock]) -> int:
    """KiB of a page: 4, or the larger power of two that all memory figures are multiples of (16 or 64 on some ARM)."""
    names = ("MemFree", "Buffers", "Cached", "AnonPages", "Mapped", "Shmem", "Dirty", "Active", "Inactive", "Slab")
    figures = [b.values[n] for b in blocks for n in names if b.values.get(n)]
    if len(figures) < PAGE_FIGURES:
        return 4
    return next((size for size in (64, 16) if all(f % size == 0 for f in figures)), 4)


def _facts(made: Capture, blocks: list[KeyedBlock], page_kib: int) -> None:
    mib = page_kib / 1024
    pairs = (("swapped_in_mib", "pswpin", mib), ("swapped_out_mib", "pswpout", mib), ("major_faults", "pgmajfault", 1))
    for fact, name, scale in pairs:
        grown = growth(_values(blocks, name))
        if grown is not None:
            made.facts[fact] = grown * scale
            made.fact_lines[fact] = blocks[-1].line
    for name, fact in (("MemTotal", "ram_total_mib"), ("SwapTotal", "swap_total_mib")):
        total = next((b for b in blocks if name in b.values), None)
        if total is not None:
            made.facts[fact] = total.values[name] / 1024
            made.fact_lines[fact] = total.line

"""``vmstat -s``: one-shot list of memory sizes and counters since boot (procps-ng 3.3 and 4.x, ``-S``).

Repeated prints give rates where the time between them is known; ``facts`` hold the memory totals.
"""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows
from loganalyze.formats.keyed import KeyedBlock, keyed_blocks
from loganalyze.formats.rates import growth, rates, record_times
from loganalyze.formats.sizes import GIB, KIB, MIB
from loganalyze.grammar.match import Matcher
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "vmstat_s"
KIND: CaptureKind = "host"
GRAMMARS = ("vmstat",)

_LINE = re.compile(rb"\s*(\d{1,20}) ([A-Za-z][A-Za-z0-9 -]{3,40}+)\s*\Z")
_KNOWN = re.compile(rb"ticks|pages|memory|swap|interrupts|context|boot|forks|paged", re.IGNORECASE)
_UNIT = {"K": KIB, "k": 1000 / 2**20, "M": MIB, "m": 1e6 / 2**20, "G": GIB}
_LEVELS = {"total memory": "ram_total_mib", "used memory": "ram_used_mib", "free memory": "ram_free_mib",
           "total swap": "swap_total_mib", "used swap": "swap_used_mib", "free swap": "swap_free_mib"}  # fmt: skip
PAGE_KIB = 4.0


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def _pair(line: bytes) -> tuple[str, float] | None:
    found = _LINE.match(line) if len(line) < 80 and _KNOWN.search(line) else None
    if found is None:
        return None
    name, value = found[2].decode(), float(found[1])
    unit = _UNIT.get(name[0]) if name[1:2] == " " else None
    if unit is not None:
        return name[2:], value * unit
    return name, value


def starts(line: bytes) -> bool:
    found = _matcher().match(line) if len(line) < 80 else None
    return found is not None and found.rule.name == "summary"


def belongs(line: bytes) -> bool:
    return _pair(line) is not None


def parse(segment: Segment) -> list[Capture]:
    """One capture; a row a print."""
    blocks = keyed_blocks(segment, _pair)
    times = record_times(segment, [b.line for b in blocks])
    rows: list[dict[str, Any]] = [_levels(b) for b in blocks]
    for name, metric in (("pages swapped in", "swap_in_kib_s"), ("pages swapped out", "swap_out_kib_s")):
        for row, rate in zip(rows, rates([b.values.get(name) for b in blocks], times, PAGE_KIB), strict=True):
            row[metric] = rate
    made = capture_from_rows(NAME, KIND, segment, rows)
    if made is None:
        return []
    for key in ("ram_total_mib", "swap_total_mib"):
        if rows[0].get(key) is not None:
            made.facts[key] = rows[0][key]
            made.fact_lines[key] = rows[0]["line"]
    for name, fact in (("pages swapped in", "swapped_in_mib"), ("pages swapped out", "swapped_out_mib")):
        grown = growth([b.values.get(name) for b in blocks])
        if grown is not None:
            made.facts[fact] = grown * PAGE_KIB / 1024
            made.fact_lines[fact] = blocks[-1].line
    return [made]


def _levels(block: KeyedBlock) -> dict[str, Any]:
    values = block.values
    row: dict[str, Any] = {"line": block.line}
    row |= {metric: values[name] for name, metric in _LEVELS.items() if name in values}
    # "swap cache" is what procps calls its page cache here.
    if "buffer memory" in values and "swap cache" in values:
        row["ram_cache_mib"] = values["buffer memory"] + values["swap cache"]
    return row

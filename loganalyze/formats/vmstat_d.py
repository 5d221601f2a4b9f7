"""``vmstat -d``: totals of every disk since boot (sectors of 512 bytes). Rates where the interval is known."""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows
from loganalyze.formats.rates import growth, rates, record_times
from loganalyze.grammar.match import Matcher
from loganalyze.model.records import Capture, CaptureKind

NAME = "vmstat_d"
KIND: CaptureKind = "host"
GRAMMARS = ("vmstat",)

_ROW = re.compile(rb"(\S{2,32})((?:\s+\d{1,19}){10})\s*\Z")
_NAMES = re.compile(rb"\s*total\s+merged\s+sectors\s+ms\s+total\s+merged\s+sectors\s+ms\s+cur\s+sec\s*\Z")
# Devices whose traffic is counted again below them, or never reaches a disk.
_LAYERED = re.compile(rb"loop|zram|ram|dm-|md")
SECTOR_KIB = 0.5


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def starts(line: bytes) -> bool:
    found = _matcher().match(line) if line.startswith(b"disk-") and len(line) < 200 else None
    return found is not None and found.rule.name == "disks"


def belongs(line: bytes) -> bool:
    return bool(_ROW.match(line) or _NAMES.match(line)) or starts(line)


def parse(segment: Segment) -> list[Capture]:
    """One capture; a row a print, summed over the disks."""
    prints: list[dict[bytes, tuple[float, float]]] = []
    lines: list[int] = []
    for number, line in segment.lines():
        found = _ROW.match(line)
        if found is None:
            if line.strip() and not belongs(line):
                segment.reject(number, line)
            continue
        if not prints or found[1] in prints[-1]:
            prints.append({})
            lines.append(number)
        cells = found[2].split()
        prints[-1][found[1]] = (float(cells[2]), float(cells[6]))
    if not prints:
        return []
    read, written = ([_sum(devices, i) for devices in prints] for i in (0, 1))
    times = record_times(segment, lines)
    pairs = zip(lines, rates(read, times, SECTOR_KIB), rates(written, times, SECTOR_KIB), strict=True)
    made = capture_from_rows(
        NAME, KIND, segment, [{"line": n, "block_in_kib_s": i, "block_out_kib_s": o} for n, i, o in pairs]
    )
    if made is None:
        return []
    for fact, values in (("disk_read_mib", read), ("disk_written_mib", written)):
        grown = growth(values)
        if grown is not None:
            made.facts[fact] = grown * SECTOR_KIB / 1024
            made.fact_lines[fact] = lines[-1]
    return [made]


def _sum(devices: dict[bytes, tuple[float, float]], which: int) -> float | None:
    sectors = [v[which] for name, v in devices.items() if not _LAYERED.match(name)]
    return sum(sectors) if sectors else None

"""``swapon --show`` (also ``--bytes``, ``--noheadings``), ``swapon -s`` and ``/proc/swaps``.

One row a print, summed over the devices. Sizes with a suffix count 1024; ``/proc/swaps`` and ``swapon -s`` print KiB,
``--bytes`` bytes. A heading without devices says that there is no swap. ``swapon --show`` without swap prints nothing.
"""

from __future__ import annotations

from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows
from loganalyze.formats.sizes import BYTE, BYTES_ABOVE, KIB, has_suffix, size_mib
from loganalyze.grammar.match import Match, Matcher
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "swapon"
KIND: CaptureKind = "host"
GRAMMARS = ("proc",)


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def _match(line: bytes) -> Match | None:
    found = _matcher().match(line) if len(line) < 400 else None
    return found if found is not None and found.rule.name in ("swapon", "swaps", "swap_device") else None


def starts(line: bytes) -> bool:
    return _match(line) is not None


def belongs(line: bytes) -> bool:
    return _match(line) is not None


def parse(segment: Segment) -> list[Capture]:
    """One capture; a row a print."""
    prints: list[dict[str, tuple[float | None, float | None]]] = []
    lines: list[int] = []
    heading = ""
    for number, line in segment.lines():
        found = _match(line)
        if found is None:
            if line.strip():
                segment.reject(number, line)
            continue
        device = found.rule.name == "swap_device"
        if not device or not prints or found.fields["path"] in prints[-1]:
            prints.append({})
            lines.append(number)
        if device:
            prints[-1][found.fields["path"]] = _sizes(found.fields, heading)
        else:
            heading = found.rule.name
    rows = [{"line": n, **_total(devices)} for n, devices in zip(lines, prints, strict=True)]
    made = capture_from_rows(NAME, KIND, segment, rows)
    return [made] if made is not None else []


def _sizes(fields: dict[str, Any], heading: str) -> tuple[float | None, float | None]:
    plain = KIB if heading == "swaps" else BYTE
    if not heading and not has_suffix(fields["size"]) and float(fields["size"].replace(",", ".")) < BYTES_ABOVE:
        plain = KIB
    return size_mib(fields["size"], plain), size_mib(fields["used"], plain)


def _total(devices: dict[str, tuple[float | None, float | None]]) -> dict[str, float | None]:
    sizes = [size for size, _ in devices.values() if size is not None]
    used = [part for _, part in devices.values() if part is not None]
    if len(sizes) < len(devices) or len(used) < len(devices):
        return {"swap_total_mib": None, "swap_used_mib": None, "swap_free_mib": None}
    return {"swap_total_mib": sum(sizes), "swap_used_mib": sum(used), "swap_free_mib": sum(sizes) - sum(used)}

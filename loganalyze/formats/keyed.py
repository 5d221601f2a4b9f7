"""Texts of ``name value`` lines printed again and again: a name that comes again begins the next block."""

from __future__ import annotations

from collections.abc import Callable

from loganalyze.formats.capture import Segment
from loganalyze.light import dataclass, field


@dataclass(slots=True)
class KeyedBlock:
    """One print: values by name, and the line of the first."""

    line: int
    values: dict[str, float] = field(default_factory=dict)


def keyed_blocks(segment: Segment, pair: Callable[[bytes], tuple[str, float] | None]) -> list[KeyedBlock]:
    """Blocks of a segment. ``pair`` reads one line; lines that it does not know are given back.

    A last value without a line end may have lost digits and is left out.
    """
    blocks: list[KeyedBlock] = []
    name = ""
    for number, line in segment.lines():
        found = pair(line)
        if found is None:
            if line.strip():
                segment.reject(number, line)
            name = ""
            continue
        name, value = found
        if not blocks or name in blocks[-1].values:
            blocks.append(KeyedBlock(number))
        blocks[-1].values[name] = value
    if segment.last_line_cut and name and blocks:
        blocks[-1].values.pop(name, None)
    return blocks

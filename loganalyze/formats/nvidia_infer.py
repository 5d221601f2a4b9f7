"""Which column is what in an ``nvidia-smi`` CSV without a header. Refuses instead of guessing.

Units settle most columns. Bare numbers are settled only where one reading is left: card sizes come in known amounts,
watts have two decimals, clocks move in steps above 300, an index cycles 0..k-1. Swapped used and free memory would turn a
verdict round, so a column with two readings is dropped and named in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from loganalyze.formats.nvidia_fields import Field

# MiB totals that drivers report for cards of 4 GiB up; compared within 2 % because ECC and reserves move them.
CARD_MIB = (
    *(4096, 5059, 6144, 8192, 10240, 11264, 12288, 15360, 16384, 20475, 23028, 24564, 32607, 40960, 46068, 49140),
    *(65536, 81559, 97887, 143771, 184320, 294912),
)
SAMPLE_ROWS = 2000

_UNIT = re.compile(r"^-?[0-9]+(?:\.[0-9]+)? ?(MiB|%|W|MHz)$")
_STAMP = re.compile(r"^[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:]{8}\.[0-9]{3}$")
_SHAPES = (
    ("timestamp", _STAMP),
    ("uuid", re.compile(r"^(?:GPU|MIG)-[0-9a-f]{8}-.*$")),
    ("pci.bus_id", re.compile(r"^[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]$")),
    ("pstate", re.compile(r"^P[0-9]{1,2}$")),
    ("clocks_event_reasons.active", re.compile(r"^0x[0-9A-Fa-f]{16}$")),
)
_NUMBER = re.compile(r"^-?[0-9]+(\.[0-9]+)?$")


@dataclass(slots=True)
class Column:
    """Cells of one column in the sample: ``unit`` if most carry one, ``values`` in row order (None = missing)."""

    at: int
    unit: str | None = None
    shape: str | None = None
    values: list[float | None] = field(default_factory=list)
    decimals: bool = False

    @property
    def known(self) -> list[float]:
        return [v for v in self.values if v is not None]

    @property
    def constant(self) -> bool:
        return len(set(self.known)) == 1

    @property
    def top(self) -> float:
        return max(self.known, default=0.0)


def infer(rows: Sequence[Sequence[str]]) -> tuple[list[Field], list[str]]:
    """Fields of every column of ``rows`` (stripped cells, equal lengths) and notes; undecided columns are ``?``."""
    columns = [_column(i, [r[i] for r in rows]) for i in range(len(rows[0]))]
    names: dict[int, str] = {c.at: c.shape for c in columns if c.shape}
    notes: list[str] = []
    free = [c for c in columns if c.at not in names and c.known]
    _index(free, names)
    _by_unit(free, names)
    _bare(free, names)
    _memory([c for c in free if c.unit == "MiB"], free, names, notes)
    for c in free:
        if c.at not in names:
            notes.append(f"column {c.at + 1} could be more than one field and is left out; name the columns to use it")
    units = {c.at: c.unit for c in columns}
    return [Field(names.get(i, "?"), units.get(i)) for i in range(len(columns))], notes


def _column(at: int, cells: list[str]) -> Column:
    column = Column(at)
    present = [c for c in cells if c and not c.startswith("[") and c not in ("N/A", "ERR!")]
    for name, shape in _SHAPES:
        if present and all(shape.match(c) for c in present):
            column.shape = name
            return column
    units = {m.group(1) for c in present if (m := _UNIT.match(c))}
    bare = [c for c in present if _NUMBER.match(c)]
    if len(units) == 1:
        column.unit = units.pop()
    elif len(bare) < len(present):
        column.shape = "active" if all(c in ("Active", "Not Active") for c in present) and present else "name"
        return column
    column.decimals = bool(present) and all("." in c for c in present)
    column.values = [_value(c) for c in cells]
    return column


def _value(cell: str) -> float | None:
    number = cell.split(" ")[0].removesuffix("MiB").removesuffix("MHz").removesuffix("%").removesuffix("W")
    return float(number) if _NUMBER.match(number) else None


def _index(free: list[Column], names: dict[int, str]) -> None:
    """An index stands among the first columns and cycles 0..k-1, or is all 0 right behind the stamp."""
    for c in free:
        if c.unit or c.decimals or c.at > 3 or not 0 <= c.top <= 15:
            continue
        values = c.known
        size = int(c.top) + 1
        cycles = all(int(v) == (int(values[0]) + i) % size for i, v in enumerate(values))
        if cycles and values[0] == 0 and (size > 1 or c.at == 0 or names.get(c.at - 1) == "timestamp"):
            # One lone zero column in front may be memory of an idle card only if it were MiB; units tell that above.
            if size == 1 and not any(o.unit for o in free):
                continue
            names[c.at] = "index"
            return


def _by_unit(free: list[Column], names: dict[int, str]) -> None:
    _percent([c for c in free if c.unit == "%"], names)
    _two([c for c in free if c.unit == "W"], names, "power.draw", "power.limit")
    _two([c for c in free if c.unit == "MHz"], names, "clocks.current.sm", "clocks.current.memory")


def _percent(columns: list[Column], names: dict[int, str]) -> None:
    if len(columns) == 1:
        names[columns[0].at] = "utilization.gpu"
    elif len(columns) == 2:
        a, b = columns
        pairs = [(x, y) for x, y in zip(a.values, b.values, strict=True) if x is not None and y is not None]
        ahead = sum(x >= y for x, y in pairs)
        behind = sum(y >= x for x, y in pairs)
        # A kernel that reads memory runs, so gpu >= memory; 90 % leaves room for windows of unequal length.
        if ahead * 10 >= len(pairs) * 9:
            names[a.at], names[b.at] = "utilization.gpu", "utilization.memory"
        elif behind * 10 >= len(pairs) * 9:
            names[a.at], names[b.at] = "utilization.memory", "utilization.gpu"


def _two(columns: list[Column], names: dict[int, str], moving: str, fixed: str) -> None:
    if len(columns) == 1:
        names[columns[0].at] = moving
    elif len(columns) == 2 and columns[0].constant != columns[1].constant:
        for c in columns:
            names[c.at] = fixed if c.constant else moving


def _bare(free: list[Column], names: dict[int, str]) -> None:
    """Numbers without a unit. Sets ``unit`` of the columns it takes for memory."""
    with_units = any(c.unit for c in free)
    rest = [c for c in free if c.at not in names and c.unit is None]
    watts = [c for c in rest if c.decimals]
    if not with_units:
        _two(watts, names, "power.draw", "power.limit")
        for c in rest:
            if c.at not in names and (_card_size(c) or _memory_like(c)):
                c.unit = "MiB"
    small = [c for c in rest if c.at not in names and c.unit is None and not c.decimals and c.top <= 110]
    warm = [c for c in small if _temperature(c)]
    busy = [c for c in small if _utilization(c)]
    if len(warm) == 1:
        names[warm[0].at] = "temperature.gpu"
    if not with_units and len(busy) <= 2:
        _percent(busy, names)


def _card_size(c: Column) -> bool:
    return c.constant and any(abs(c.top - mib) <= 0.02 * mib for mib in CARD_MIB)


def _memory_like(c: Column) -> bool:
    # No SM clock passes 3500 MHz and no board draws 3500 W; memory clocks (up to 14001) hold a few fixed steps.
    return not c.decimals and c.top > 3500 and (len(set(c.known)) > 4 or not c.constant or len(c.known) < 4)


def _utilization(c: Column) -> bool:
    values = c.known
    # Cards slow down before 96 °C, so a number above is no temperature; below 15 neither under a roof.
    return max(values) <= 100 and (max(values) >= 96 or (min(values) <= 15 and not c.constant))


def _temperature(c: Column) -> bool:
    values = c.known
    steps = [abs(b - a) for a, b in pairwise(values)]
    return len(values) >= 4 and min(values) >= 20 and max(values) <= 95 and max(steps) <= 6 and not c.constant


def _memory(columns: list[Column], free: list[Column], names: dict[int, str], notes: list[str]) -> None:
    if not columns:
        return
    total = next((c for c in columns if _card_size(c) and all(c.top >= o.top for o in columns)), None)
    if total is None and len(columns) > 1:
        big = max(columns, key=lambda c: c.top)
        total = big if big.constant and all(big.top > o.top for o in columns if o is not big) else None
    if total is not None and len(columns) > 1:
        names[total.at] = "memory.total"
        columns = [c for c in columns if c is not total]
    if len(columns) == 1:
        _used_or_free(columns[0], total, free, names, notes)
    elif len(columns) == 2:
        _pair(columns, free, names, notes)


def _pair(columns: list[Column], free: list[Column], names: dict[int, str], notes: list[str]) -> None:
    a, b = columns
    sums = [x + y for x, y in zip(a.values, b.values, strict=True) if x is not None and y is not None]
    if not sums or max(sums) - min(sums) > 0.01 * max(sums):
        return
    rising = [_rises_with_load(c, free, names) for c in columns]
    if rising == [True, False] or rising == [False, True]:
        used, other = (a, b) if rising[0] else (b, a)
        names[used.at], names[other.at] = "memory.used", "memory.free"
    else:
        notes.append("two columns add up to the card's memory, but which is used and which free is not told")


def _used_or_free(c: Column, total: Column | None, free: list[Column], names: dict[int, str], notes: list[str]) -> None:
    """A lone amount is the memory used, unless it falls when the card gets busy."""
    if _rises_with_load(c, free, names) is False:
        notes.append(f"column {c.at + 1} is an amount of memory that falls under load: read as free memory")
        names[c.at] = "memory.free"
    else:
        names[c.at] = "memory.used"


def _rises_with_load(c: Column, free: list[Column], names: dict[int, str]) -> bool | None:
    """True or False when the amount differs by half of its range between idle and busy rows; None when it does not."""
    load = next((o for o in free if names.get(o.at) == "utilization.gpu"), None)
    if load is None or c.constant:
        return None
    pairs = [(v, u) for v, u in zip(c.values, load.values, strict=True) if v is not None and u is not None]
    idle = [v for v, u in pairs if u <= 5]
    busy = [v for v, u in pairs if u >= 50]
    if not idle or not busy:
        return None
    step = sum(busy) / len(busy) - sum(idle) / len(idle)
    if abs(step) < 0.5 * (max(c.known) - min(c.known)):
        return None
    return step > 0

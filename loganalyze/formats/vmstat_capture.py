"""Rows of ``vmstat`` to captures: starts of the program, the unit of ``-S``, frozen memory columns, clock."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import polars as pl

from loganalyze.formats.capture import Segment, wrapper_times
from loganalyze.formats.matrix import stacked
from loganalyze.formats.vmstat_rows import STAMPED, Part, RowReader
from loganalyze.formats.zones import offset_seconds, zone_offset
from loganalyze.model.records import Capture, Clock

_UNIT_OPTION = re.compile(r"vmstat\b(?: -\S+| \d+){0,20}? -[a-zA-Z]*S ?([kKmM])\b")
_NO_FIRST = re.compile(r"vmstat\b(?: -\S+| \d+){0,20}? (?:-[a-xzA-Z]*y|--no-first)")
# MiB in one unit of ``-S``: k 1000, K 1024 (default), m 1000^2, M 1024^2 bytes.
UNITS = {"k": 1000 / 2**20, "K": 1 / 1024, "m": 1e6 / 2**20, "M": 1.0}
# A name line comes again after 21 rows when the output is no terminal (24 lines less 3), else after the terminal's
# height less 3; a terminal of fewer than 13 lines is not expected.
REPEAT_ROWS = 21
FEWEST_REPEAT_ROWS = 10
# KiB figures are multiples of a 4 KiB page; of other units a quarter is by chance.
PAGED_SHARE = 0.5
# MiB: in sum less than 1 Mi (1 TiB), buffers less than 4 Ki (4 GiB), swap less than 1 Mi.
MIB_BELOW = 1 << 20
BUFFERS_MIB_BELOW = 1 << 12
# Rows without any change of memory, while interrupts change, that prove the columns frozen (vmstat 4.0.0 to 4.0.2).
FROZEN_ROWS = 5
# Rows worked on at a time where a whole column would be copied.
SLICE = 1 << 18
MEMORY = ("swpd", "free", "buff", "cache", "inact", "active")
RENAMED = {
    "r": "procs_running", "b": "procs_blocked", "bi": "block_in_kib_s", "bo": "block_out_kib_s",
    "in": "interrupts_s", "cs": "context_switches_s", "us": "cpu_user_pct", "sy": "cpu_system_pct",
    "id": "cpu_idle_pct", "wa": "cpu_wait_pct", "st": "cpu_steal_pct",
}  # fmt: skip


def captures(segment: Segment, reader: RowReader) -> list[Capture]:
    """One capture a start of the program, in order."""
    parts = _joined(reader.parts)
    made: list[Capture] = []
    for before, part in zip([None, *parts], parts, strict=False):
        found = [_capture(segment, run) for run in _starts(part)]
        if before is not None and _goes_on(before, part):
            zones = f"{before.layout.zone or 'none'} to {part.layout.zone or 'none'}"
            found[0].clock.notes.append(f"line {part.headers[0]}: the zone changes from {zones}; a new segment begins")
            found[0].first_row_since_boot = False
        made += found
    if made and segment.last_line_cut:
        _doubt_last_cell(made[-1], reader)
    return made


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbouring parts of one layout as one (blocks of a large text)."""
    groups: list[list[Part]] = []
    for part in parts:
        if groups and groups[-1][-1].layout == part.layout and groups[-1][-1].frame.columns == part.frame.columns:
            groups[-1].append(part)
        else:
            groups.append([part])
    return [
        Part(g[0].layout, stacked([p.frame for p in g]), [n for p in g for n in p.headers], g[0].zero_s) for g in groups
    ]


def _goes_on(before: Part, part: Part) -> bool:
    """Whether ``part`` is the same program under another zone: its name line comes in its turn."""
    if before.layout.names != part.layout.names or not before.headers or not part.headers:
        return False
    turn = _turn([b - a - 2 for a, b in pairwise(before.headers)])
    return part.headers[0] - before.headers[-1] - 2 in (turn or REPEAT_ROWS, REPEAT_ROWS)


def _starts(part: Part) -> list[Part]:
    """``part`` cut where the program was started again: a name line that comes out of its turn."""
    lines, restarts = part.headers, []
    gaps = [b - a - 2 for a, b in pairwise(lines)]
    turn = _turn(gaps)
    restarts = [line for line, gap in zip(lines[1:], gaps, strict=True) if gap != turn]
    if not restarts:
        return [part]
    cuts = part.frame["line"].search_sorted(pl.Series(restarts, dtype=pl.Int64)).to_list()
    edges = [0, *cuts, part.frame.height]
    return [Part(part.layout, part.frame[a:b], zero_s=part.zero_s) for a, b in pairwise(edges) if b > a]


def _turn(gaps: list[int]) -> int:
    """Rows between repeated name lines of one program; 0 when each name line is a start."""
    if REPEAT_ROWS in gaps:
        return REPEAT_ROWS
    first = gaps[0] if gaps else 0
    return first if first >= FEWEST_REPEAT_ROWS and all(g == first for g in gaps) else 0


def _capture(segment: Segment, part: Part) -> Capture:
    notes: list[str] = []
    frame = part.frame
    unit = _unit(segment, frame, notes)
    frozen = _frozen(frame)
    if frozen:
        notes.append(
            "the memory columns never change while interrupts do (vmstat 4.0.0 to 4.0.2): unknown after the first row"
        )
    clock, t_s, zone = _clock(segment, part, notes)
    made = Capture(
        kind="host",
        format="vmstat",
        source=segment.source,
        frame=_frame(frame, unit, frozen, t_s),
        clock=clock,
        dialect=_dialect(part, unit),
        segment=segment.number,
        first_row_since_boot=not (segment.command and _NO_FIRST.search(segment.command)),
        notes=notes,
    )
    if zone:
        made.facts["zone_abbreviation"] = zone
    made.facts["memory_unit"] = unit
    return made


def _dialect(part: Part, unit: str) -> str:
    options = (" -a" if "active" in part.layout.names else "") + (" -t" if "t_s" in part.frame.columns else "")
    return (
        ("procps 4.0.4+" if "gu" in part.layout.names else "vmstat") + options + (f" -S {unit}" if unit != "K" else "")
    )


def _unit(segment: Segment, frame: pl.DataFrame, notes: list[str]) -> str:
    """The unit of the memory and swap columns: from the command line, else from the figures' size and grain."""
    said = _UNIT_OPTION.search(segment.command) if segment.command else None
    unit = said.group(1) if said else _guess_unit(frame)
    if unit == "M":
        notes.append("memory and swap are MiB (-S M, told by size and grain): swap traffic below 1 MiB/s shows as 0")
    elif unit == "k" and not said:
        notes.append("memory and swap are thousands of bytes (-S k, told by their grain)")
    return unit


def _guess_unit(frame: pl.DataFrame) -> str:
    columns = [c for c in MEMORY if c in frame.columns]
    amounts = [pl.col(c).cast(pl.Int64) for c in columns if c != "swpd"]
    largest = max(part.select(pl.sum_horizontal(amounts).max()).item() for part in frame.iter_slices(SLICE))
    figures = frame.select(pl.col(columns).head(10_000)).unpivot()["value"]
    figures = figures.filter(figures != 0)
    paged: Any = (figures % 4 == 0).mean()
    if figures.is_empty() or paged >= PAGED_SHARE:
        return "K"
    if largest >= MIB_BELOW:
        return "k"
    swapped: Any = frame["swpd"].max()
    buffers: Any = frame["buff"].max() if "buff" in columns else 0
    return "M" if swapped < MIB_BELOW and buffers < BUFFERS_MIB_BELOW else "K"


def _frozen(frame: pl.DataFrame) -> bool:
    if frame.height < FROZEN_ROWS:
        return False
    memory = [c for c in MEMORY if c in frame.columns]
    still = frame.select(pl.all_horizontal(pl.col(memory).min() == pl.col(memory).max())).item()
    moving = frame.select(pl.any_horizontal([pl.col(c).min() != pl.col(c).max() for c in ("bi", "in", "cs")])).item()
    # With -S M small changes hide in the rounding, so only fine-grained figures prove it.
    return bool(still and moving and frame["free"][0] >= MIB_BELOW // 16)


def _clock(segment: Segment, part: Part, notes: list[str]) -> tuple[Clock, pl.Series, str | None]:
    frame = part.frame
    if "t_s" in frame.columns:
        zone, note = zone_offset(part.layout.zone) if part.layout.zone else (None, None)
        if note:
            notes.append(note)
        t_s = frame["t_s"]
        first = float(t_s[0])
        clock = Clock("absolute", zone=zone, resolution_s=1.0, interval_s=segment.interval_s)
        clock.first_epoch_s = part.zero_s + first - offset_seconds(zone)
        return clock, t_s - first if first else t_s, part.layout.zone
    outer = wrapper_times(segment, frame["line"].to_list()) if segment.stamps is not None else None
    if outer is not None:
        return outer[0], pl.Series("t_s", outer[1], dtype=pl.Float64), None
    nothing = pl.repeat(None, frame.height, dtype=pl.Float64, eager=True)
    return Clock("interval" if segment.interval_s else "none", interval_s=segment.interval_s), nothing, None


def _frame(frame: pl.DataFrame, unit: str, frozen: bool, t_s: pl.Series) -> pl.DataFrame:
    """Columns of a capture; ``frame`` is used up."""
    mib = UNITS[unit]
    memory = {"swap_used_mib": ["swpd"], "ram_free_mib": ["free"]}
    if "cache" in frame.columns:
        memory["ram_cache_mib"] = ["buff", "cache"]
    columns = [t_s.alias("t_s"), pl.int_range(frame.height, dtype=pl.UInt32, eager=True).alias("row"), frame["line"]]
    for name, parts in memory.items():
        # Taken out, so that the figures as printed and the amounts are not both held.
        amount = _scaled([frame.drop_in_place(p) for p in parts], mib)
        if frozen:
            amount = amount.head(1).extend(pl.repeat(None, frame.height - 1, dtype=amount.dtype, eager=True))
        columns.append(amount.alias(name))
    for name, part in (("swap_in_kib_s", "si"), ("swap_out_kib_s", "so")):
        columns.append((frame[part] if unit == "K" else _scaled([frame[part]], mib * 1024)).alias(name))
    # toybox prints 0 for interrupts it does not count; it is also the one without a steal column.
    blank = "in" if "st" not in frame.columns and frame["in"].max() == 0 else ""
    columns += [frame[c].alias(n) for c, n in RENAMED.items() if c in frame.columns and c != blank]
    return pl.DataFrame(columns)


def _scaled(parts: list[pl.Series], factor: float) -> pl.Series:
    """Sum of whole numbers times ``factor``: 32-bit floats where these hold every value, else 64-bit ones.

    Works piece by piece and lets go of each; ``parts`` is used up.
    """
    pieces = [part.get_chunks()[::-1] for part in parts]
    if len({tuple(map(len, p)) for p in pieces}) > 1:
        pieces = [[part.rechunk()] for part in parts]
    parts.clear()
    made: list[pl.Series] = []
    while pieces[0]:
        total = pieces[0].pop().cast(pl.Int64)
        for other in pieces[1:]:
            total = total + other.pop().cast(pl.Int64)
        total = total * factor
        short = total.cast(pl.Float32)
        made.append(short if (short.cast(pl.Float64) == total).all() else total)
    wide = any(p.dtype == pl.Float64 for p in made)
    return pl.concat([p.cast(pl.Float64) if wide else p for p in made], rechunk=False)


def _doubt_last_cell(capture: Capture, reader: RowReader) -> None:
    """Without a line end the last cell may have lost digits.

    A stamp that is not whole takes its row with it; another cell is null unless the row fills its columns.
    """
    frame = capture.frame
    if frame is None or not frame.height:
        return
    if " -t" in (capture.dialect or ""):
        if not STAMPED.search(reader.last_row):
            capture.frame = frame.head(frame.height - 1)
            capture.notes.append("the last line is cut in its stamp and left out")
        return
    if len(reader.last_row) == reader.width:
        return
    capture.notes.append("the last line has no line end and may be cut; its last figure is left out")
    name = next((n for n in ("cpu_steal_pct", "cpu_wait_pct") if n in frame.columns), None)
    if name and "4.0.4+" not in (capture.dialect or ""):
        last = pl.int_range(frame.height) == frame.height - 1
        capture.frame = frame.with_columns(pl.when(~last).then(pl.col(name)).alias(name))

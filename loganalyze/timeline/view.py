"""The timeline as text: at most 24 lines, one a curve, phases above them and the clocks of all sources below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loganalyze.inert import terminal
from loganalyze.model.records import Capture, Clock, Reading, Run
from loganalyze.timeline.axis import span_of
from loganalyze.timeline.table import (
    bounds,
    captures_of,
    is_wall_time,
    placed_captures,
    placed_runs,
    runs_of,
    without_boot_averages,
)

if TYPE_CHECKING:
    import polars as pl

MAX_LINES = 24
LABEL = 18
_BLOCKS, _ASCII = "▁▂▃▄▅▆▇█", "_.-=+*%@"
_LETTERS = {"idle": ".", "load": "L", "writing": "W", "reading": "R"}
# Shown first, as far as there is room.
_SHOWN = (
    ("vram_used_mib", "GPU memory", "MiB"),
    ("gpu_util_pct", "GPU use", "%"),
    ("power_w", "power", "W"),
    ("sm_mhz", "SM clock", "MHz"),
    ("swap_in_kib_s", "swap in", "KiB/s"),
    ("swap_out_kib_s", "swap out", "KiB/s"),
    ("block_in_kib_s", "block in", "KiB/s"),
    ("cpu_user_pct", "CPU user", "%"),
    ("cpu_wait_pct", "CPU wait", "%"),
    ("pcie_rx_mb_s", "PCIe rx", "MB/s"),
    ("ram_available_mib", "RAM available", "MiB"),
    ("swap_used_mib", "swap used", "MiB"),
    ("temp_c", "temperature", "C"),
)


@dataclass(slots=True)
class _Axis:
    start: float
    end: float
    cells: int

    def cell(self, time: float) -> int:
        width = max(self.end - self.start, 1e-9)
        return min(max(int((time - self.start) / width * self.cells), 0), self.cells - 1)


def view(what: Reading | Run, *, width: int = 80, ascii_only: bool = False) -> str:
    """Text of at most ``MAX_LINES`` lines and ``width`` columns. ``ascii_only`` for terminals without UTF-8."""
    width = max(width, 48)
    span = bounds(what)
    if span is None:
        return "\n".join(["nothing has times", *_clocks(what, width, MAX_LINES - 1)]) + "\n"
    axis = _Axis(span[0], span[1], width - LABEL - 17)
    clocks = _clocks(what, width, 8)
    head = [_head(what, axis, width)]
    head += [line for run in _longest(placed_runs(what), 4) if (line := _phase_line(run, axis, width))]
    curves = _curves(what, axis, ascii_only, MAX_LINES - len(head) - len(clocks))
    return "\n".join(line.rstrip()[:width] for line in [*head, *curves, *clocks]) + "\n"


def _head(what: Reading | Run, axis: _Axis, width: int) -> str:
    start = _utc(axis.start) if is_wall_time(what) else f"{axis.start:.1f} s"
    text = f"{start} +{axis.end - axis.start:.1f} s"
    return f"{text}   L load  R reading  W writing  . idle"[:width]


def _utc(epoch_s: float) -> str:
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"{epoch_s:.0f} s"


def _longest(runs: list[Run], most: int) -> list[Run]:
    placed = [(span[1] - span[0], i) for i, run in enumerate(runs) if (span := span_of(run)) is not None]
    keep = {i for _, i in sorted(placed, reverse=True)[:most]}
    return [run for i, run in enumerate(runs) if i in keep]


def _phase_line(run: Run, axis: _Axis, width: int) -> str | None:
    if run.clock.offset_s is None or not run.phases:
        return None
    cells = [" "] * axis.cells
    # Later kinds win: a cell that holds any reading shows it, since it is the shortest.
    for kind, letter in _LETTERS.items():
        for phase in run.phases:
            if phase.kind == kind:
                first, last = (axis.cell(run.clock.offset_s + t) for t in (phase.start_s, phase.end_s))
                cells[first : last + 1] = [letter] * (last - first + 1)
    name = terminal(run.id.replace("\\", "/").rsplit("/", 1)[-1])
    return f"{name[: LABEL - 1]:<{LABEL}}{''.join(cells)}"


def _curves(what: Reading | Run, axis: _Axis, ascii_only: bool, room: int) -> list[str]:
    placed = placed_captures(what)
    lines: list[str] = []
    for metric, label, unit in _SHOWN:
        for device, parts in _devices(placed, metric):
            if len(lines) >= room:
                return lines
            line = _curve(parts, metric, axis, ascii_only)
            if line is None:
                continue
            cells, peak = line
            name = label if device is None else f"{label} {device}"
            lines.append(f"{name:<{LABEL}}{cells} {peak:,.0f} {unit}")
    return lines


def _devices(placed: list[Capture], metric: str) -> list[tuple[int | None, list[tuple[Capture, pl.DataFrame]]]]:
    """The best capture of ``metric`` for each device: the one with most rows."""
    best: dict[int | None, list[tuple[Capture, pl.DataFrame]]] = {}
    for capture in sorted(placed, key=lambda c: -(c.frame.height if c.frame is not None else 0)):
        frame = without_boot_averages(capture)
        if metric not in frame.columns or frame[metric].null_count() == frame.height:
            continue
        devices = frame["device"].unique().sort().to_list() if "device" in frame.columns else [None]
        for device in devices[:8]:
            part = frame if device is None else frame.filter(frame["device"] == device)
            if not best.get(device) or best[device][0][0].source is capture.source:
                best.setdefault(device, []).append((capture, part))
    if len(best) == 1:
        return [(None, next(iter(best.values())))]
    return sorted(best.items(), key=lambda item: -1 if item[0] is None else item[0])


def _curve(
    parts: list[tuple[Capture, pl.DataFrame]], metric: str, axis: _Axis, ascii_only: bool
) -> tuple[str, float] | None:
    """Highest value of each cell as a bar, and the peak; None where the metric stays at 0."""
    import polars as pl

    tops: list[float | None] = [None] * axis.cells
    scale = axis.cells / max(axis.end - axis.start, 1e-9)
    for capture, part in parts:
        at = ((pl.col("t_s").cast(pl.Float64) + (capture.clock.offset_s or 0.0) - axis.start) * scale).floor()
        rows = part.select(at.clip(0, axis.cells - 1).alias("at"), pl.col(metric).cast(pl.Float64).alias("value"))
        rows = rows.filter(pl.col("at").is_finite() & pl.col("value").is_finite())
        for cell, value in rows.group_by("at").agg(pl.col("value").max()).rows():
            before = tops[int(cell)]
            tops[int(cell)] = value if before is None else max(before, value)
    known = [v for v in tops if v is not None]
    if not known or max(known) <= 0:
        return None
    peak, ramp = max(known), _ASCII if ascii_only else _BLOCKS
    held = _held(tops)
    return "".join(" " if v is None else ramp[round(max(v, 0.0) / peak * (len(ramp) - 1))] for v in held), peak


def _held(tops: list[float | None]) -> list[float | None]:
    """Cells between two samples repeat the earlier one."""
    last = max((i for i, v in enumerate(tops) if v is not None), default=-1)
    held: list[float | None] = []
    for i, value in enumerate(tops):
        held.append(value if value is not None or not held or i > last else held[-1])
    return held


def _clocks(what: Reading | Run, width: int, most: int) -> list[str]:
    rows: dict[str, Clock] = {}
    for run in runs_of(what):
        rows.setdefault(run.source.path if run.source else run.id, run.clock)
    for capture in captures_of(what):
        if capture.frame is not None:
            rows.setdefault(capture.source.path, capture.clock)
    lines = [_clock_line(path, clock) for path, clock in rows.items()]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"and {len(lines) - most + 1} more sources"]
    return [line[:width] for line in lines]


def _clock_line(path: str, clock: Clock) -> str:
    name = terminal(path.replace("\\", "/").rsplit("/", 1)[-1])[: LABEL - 1]
    if clock.offset_s is None:
        why = clock.notes[-1] if clock.notes else "no clock and nothing to match"
        return f"{name:<{LABEL}}not on the axis: {terminal(why)}"
    error = "" if not clock.error_s else f" +-{clock.error_s:.2g} s"
    return f"{name:<{LABEL}}{terminal(clock.anchor or clock.kind)}{error}"

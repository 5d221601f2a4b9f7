"""Columns of dmon and pmon from their header lines, or from the unit line alone (``csv,noheader``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

# Header name -> (frame column, is a number with decimals).
METRICS: dict[str, str] = {
    "gpu": "device",
    "pwr": "power_w",
    "gtemp": "temp_c",
    "temp": "temp_c",
    "mtemp": "temp_mem_c",
    "sm": "gpu_util_pct",
    "mem": "mem_util_pct",
    "mclk": "mem_mhz",
    "pclk": "sm_mhz",
    "pviol": "power_violation_pct",
    "tviol": "thermal_violation",
    "fb": "vram_used_mib",
    "rxpci": "pcie_rx_mb_s",
    "txpci": "pcie_tx_mb_s",
}
# Groups in the order of their letters' units, longest first where one begins another.
_GROUPS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("W", "C", "C"), ("pwr", "gtemp", "mtemp")),
    (("%", "bool"), ("pviol", "tviol")),
    (("%",) * 6, ("sm", "mem", "enc", "dec", "jpg", "ofa")),
    (("%",) * 4, ("sm", "mem", "enc", "dec")),
    (("MHz", "MHz"), ("mclk", "pclk")),
    (("MB", "MB", "MB"), ("fb", "bar1", "ccpm")),
    (("MB", "MB"), ("fb", "bar1")),
    (("errs", "errs", "errs"), ("sbecc", "dbecc", "pci")),
    (("MB/s", "MB/s"), ("rxpci", "txpci")),
)
_SPLIT = re.compile(r"[\s,]+")


@dataclass(slots=True)
class Table:
    """Rows under one set of columns. ``known`` holds the header lines that mean these columns."""

    columns: list[str]
    csv: bool = False
    known: set[bytes] = field(default_factory=set)
    frames: list[Any] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    named: bool = True
    zero_s: float | None = None
    """Epoch seconds from which ``t_s`` of the frames counts."""

    def add(self, frame: pl.DataFrame) -> None:
        """Keep rows; their ``_epoch`` becomes ``t_s`` at once, for whole columns are large."""
        if "_epoch" in frame.columns:
            epoch = frame.drop_in_place("_epoch")
            if self.zero_s is None and epoch.null_count() < len(epoch):
                self.zero_s = float(epoch.drop_nulls()[0])
            frame.insert_column(0, (epoch - (self.zero_s or 0.0)).alias("t_s"))
        self.frames.append(frame)

    @property
    def targets(self) -> dict[str, int]:
        """Frame column -> position, for the columns that are used (the first of each)."""
        found: dict[str, int] = {}
        for at, name in enumerate(self.columns):
            if name in METRICS:
                found.setdefault(METRICS[name], at)
        return found


def header_cells(line: bytes) -> list[str]:
    """Words of a header line without its mark."""
    text = line.decode("utf-8", "replace").strip().lstrip("#").strip().strip(",")
    return [c for c in _SPLIT.split(text) if c]


def table_of(line: bytes) -> Table:
    """Columns that a names line or a unit line announces."""
    cells = header_cells(line)
    csv = b"," in line
    if "Idx" in cells or cells[:1] in (["YYYYMMDD"], ["HH:MM:SS"]):
        return Table(_names_of(cells), csv, {line}, named=False)
    return Table([{"Date": "date", "Time": "time"}.get(c, c) for c in cells], csv, {line})


def _names_of(units: Sequence[str]) -> list[str]:
    """Names for a unit line that stands alone. Columns behind an unknown group stay ``?``."""
    fixed = {"YYYYMMDD": "date", "HH:MM:SS": "time", "Idx": "gpu"}
    names: list[str] = []
    at = 0
    while at < len(units):
        if units[at] in fixed:
            names.append(fixed[units[at]])
            at += 1
            continue
        group = next((g for g in _GROUPS if tuple(units[at : at + len(g[0])]) == g[0]), None)
        if group is None:
            return [*names, *["?"] * (len(units) - at)]
        names += group[1]
        at += len(group[0])
    return names

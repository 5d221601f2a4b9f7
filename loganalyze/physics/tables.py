"""The table of cards, read once when first needed.

``data/gpus.csv``: one row a printed name (twins share a name and differ in memory): regular expression, memory in GiB,
bandwidth in GB/s, dense FP16 and FP32 TFLOPS, PCIe link, compute capability or gfx id.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable
from functools import cache

from loganalyze.light import dataclass

# Bandwidth of a host whose memory is not named: between dual-channel DDR4-3200 (51 GB/s) and DDR5-5600 (90 GB/s),
# the two setups of the partial-offload points; the band around it spans one stick of DDR4 to eight channels of DDR5.
HOST_GBS = 60.0
HOST_LOW_GBS = 20.0
HOST_HIGH_GBS = 300.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card. ``vram_gib`` is None where memory is shared with the host, ``bandwidth_gbs`` None where unknown."""

    name: str
    regex: str
    vendor: str
    vram_gib: float | None
    bandwidth_gbs: float | None
    fp16_tflops: float | None
    fp32_tflops: float | None
    pcie: str
    arch: str
    year: int | None
    unified: bool
    sure: bool

    def named_in(self, text: str) -> bool:
        """True when ``text`` names this card."""
        return _compiled(self.regex).search(text) is not None


@cache
def _compiled(regex: str) -> re.Pattern[str]:
    """Compiled when asked for: all of them together take longer than a short log takes to read."""
    return re.compile(regex, re.IGNORECASE)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@cache
def _lines() -> tuple[str, ...]:
    """Lines of the table, the first of which names the columns."""
    # importlib.resources would import zip and temporary file support first: a third of a short log's time
    with open(os.path.join(os.path.dirname(__file__), "data", "gpus.csv"), encoding="utf-8") as file:
        return tuple(file.read().splitlines())


def _gpu(row: dict[str, str]) -> Gpu:
    vram = _number(row["vram_gib"])
    year = _number(row["year"])
    return Gpu(
        name=row["printed_name"],
        regex=row["regex"],
        vendor=row["vendor"],
        vram_gib=vram,
        bandwidth_gbs=_number(row["bandwidth_gbs"]),
        fp16_tflops=_number(row["fp16_dense_tflops"]),
        fp32_tflops=_number(row["fp32_tflops"]),
        pcie=row["pcie"],
        arch=row["compute_cap"],
        year=int(year) if year else None,
        unified=vram is None or row["pcie"].startswith("SoC"),
        sure="uncertain" not in row["certainty"],
    )


@cache
def gpus() -> tuple[Gpu, ...]:
    """Every card of the table, in file order."""
    return tuple(map(_gpu, csv.DictReader(_lines())))


def gpus_with(words: Iterable[str]) -> list[Gpu]:
    """Cards in whose row one of ``words`` stands, written small. Reading all rows takes longer than most logs."""
    wanted = tuple(words)
    head, *lines = _lines()
    return list(map(_gpu, csv.DictReader([head, *(x for x in lines if any(map(x.lower().__contains__, wanted)))])))


def link_gbs(generation: float | None, width: float | None) -> float | None:
    """One-way PCIe bandwidth in GB/s of ``generation`` and ``width`` lanes, None when either is unknown."""
    lane = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}.get(int(generation or 0))
    return None if lane is None or not width else lane * width

"""Groups and trends over many rows: verdict counts, medians and spread by model, version, device or setting, and the
runs that fell out of line with their like. Memory: a few numbers a run."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from loganalyze.batch.row import COLUMNS, Row
from loganalyze.errors import UsageError

DEFAULT_BY = ("model", "version", "device")
MEASURES = ("reading_tps", "writing_tps", "ttft_ms")
# Like runs agree within 2 % in writing on an idle machine (base_8b, b6173_8b, ctx*); half again is out of line anywhere.
OUT_OF_LINE_RATIO = 1.5
MIN_GROUP = 4
MAX_GROUPS = 100_000


@dataclass(slots=True)
class Group:
    """Runs that share the values of the grouping columns."""

    name: tuple[Any, ...]
    count: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    values: dict[str, array[float]] = field(default_factory=lambda: {m: array("d") for m in MEASURES})
    lost_s: float = 0.0

    def median(self, measure: str) -> float | None:
        """Median of a measure."""
        return quantile(self.values[measure], 0.5)

    def spread_pct(self, measure: str) -> float | None:
        """Interquartile range over the median, in per cent."""
        low, middle, high = (quantile(self.values[measure], q) for q in (0.25, 0.5, 0.75))
        if not middle or low is None or high is None:
            return None
        return (high - low) / middle * 100


@dataclass(slots=True)
class OutOfLine:
    """A run that differs from its like: same model, device and settings. ``row``: its number in arrival order."""

    row: int
    measure: str
    value: float
    median: float


class Summary:
    """Collects rows; ``by`` are the grouping columns."""

    def __init__(self, by: tuple[str, ...] = DEFAULT_BY) -> None:
        for name in by:
            if name not in COLUMNS:
                raise UsageError(f"--by {name}: no such column", remedy="Choose from: " + ", ".join(COLUMNS))
        self.by = by
        self.groups: dict[tuple[Any, ...], Group] = {}
        self.verdicts: Counter[str] = Counter()
        self.errors = 0
        self.lost_s = 0.0
        self._rows = 0
        # Row numbers and writing rates of comparable runs.
        self._like: dict[tuple[Any, ...], tuple[array[int], array[float]]] = {}

    def add(self, row: Row) -> None:
        """Count a row. Rows are numbered in the order of the calls."""
        number = self._rows
        self._rows += 1
        if row.get("verdict") is None:
            self.errors += 1
            return
        self.verdicts[row["verdict"]] += 1
        self.lost_s += row.get("lost_s") or 0.0
        name = tuple(row.get(c) for c in self.by)
        group = self.groups.get(name)
        if group is None:
            if len(self.groups) >= MAX_GROUPS:
                name = tuple("(others)" for _ in self.by)
            group = self.groups.setdefault(name, Group(name))
        group.count += 1
        group.verdicts[row["verdict"]] += 1
        group.lost_s += row.get("lost_s") or 0.0
        for measure in MEASURES:
            if row.get(measure) is not None:
                group.values[measure].append(row[measure])
        if row.get("writing_tps") is not None:
            key = like_key(row)
            like = self._like.get(key)
            if like is None:
                like = self._like[key] = (array("q"), array("d"))
            like[0].append(number)
            like[1].append(row["writing_tps"])

    def out_of_line(self, limit: int = 10) -> tuple[list[OutOfLine], int]:
        """Runs whose writing rate is far below that of their like, worst first, and how many there are in all."""
        found: list[OutOfLine] = []
        for numbers, values in self._like.values():
            if len(values) < MIN_GROUP:
                continue
            middle = quantile(values, 0.5) or 0.0
            found += [
                OutOfLine(number, "writing_tps", value, middle)
                for number, value in zip(numbers, values, strict=True)
                if value > 0 and middle / value >= OUT_OF_LINE_RATIO
            ]
        return sorted(found, key=lambda o: (o.value / o.median, o.row))[:limit], len(found)

    def largest(self, limit: int) -> list[Group]:
        """Groups with the most runs, then by name."""
        return sorted(self.groups.values(), key=lambda g: (-g.count, tuple(map(str, g.name))))[:limit]


SETTINGS = (
    "model",
    "quantisation",
    "device",
    "n_ctx",
    "n_batch",
    "n_ubatch",
    "n_parallel",
    "n_gpu_layers",
    "layers_on_gpu",
)


def like_key(row: Row) -> tuple[Any, ...]:
    """What makes two runs comparable, version aside."""
    return tuple(row.get(c) for c in SETTINGS)


def quantile(values: Any, share: float) -> float | None:
    """Linear quantile; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (ordered[high] - ordered[low]) * (at - low))

"""How many cards take turns in rows that do not name them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MAX_CARDS = 16
_LEVELS = ("vram_total_mib", "vram_used_mib", "vram_free_mib", "power_w", "temp_c")


def cards_by_gaps(ms: pl.Series) -> int:
    """Cards in rows with stamps: rows of one tick follow each other closely, ticks do not. 1 when that is not clear."""
    gaps = ms.diff().drop_nulls()
    if len(gaps) < 3:
        return 1
    wide = gaps.quantile(0.98)
    if wide is None or wide <= 0:
        return 1
    begins = [0, *((gaps > wide / 2).arg_true() + 1).to_list(), len(ms)]
    sizes = [b - a for a, b in pairwise(begins)]
    count = max(set(sizes), key=sizes.count)
    # The last tick may be cut; a hole elsewhere would shift every card behind it.
    regular = all(s == count for s in sizes[:-1]) and sizes[-1] <= count
    return count if regular and 1 < count <= MAX_CARDS and len(sizes) > 1 else 1


def cards_by_levels(frame: pl.DataFrame) -> int:
    """Cards in rows without stamps: the smallest stride at which levels repeat, or go on far more smoothly than by row.

    A factor of 3 separates two cards that hold different amounts from one card that oscillates.
    """
    import polars as pl

    for name in _LEVELS:
        if name not in frame.columns:
            continue
        values = frame[name].cast(pl.Float64)
        near = _roughness(values, 1)
        if not near or len(values) < 6:
            continue
        for stride in range(2, min(MAX_CARDS, len(values) // 3) + 1):
            if _roughness(values, stride) * 3 <= near or (name.startswith("vram") and _returns(values, stride)):
                return stride
    return 1


def _roughness(values: pl.Series, stride: int) -> float:
    steps = (values - values.shift(stride)).abs().drop_nulls()
    mean = steps.mean()
    return float(mean) if isinstance(mean, float) else 0.0


def _returns(values: pl.Series, stride: int) -> bool:
    """True when an amount of memory keeps coming back to the very MiB it had ``stride`` rows ago, with others between.

    One card allocates and frees in ever new amounts; two that share a model alternate. On recorded pairs of cards 3 to
    8 in 11 changes came back, on single cards none.
    """
    moved = values != values.shift(1)
    back = ((values == values.shift(stride)) & (moved | moved.shift(1))).sum()
    return back >= 3 and back * 10 >= moved.sum() * 3

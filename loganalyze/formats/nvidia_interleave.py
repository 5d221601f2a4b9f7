"""How many cards take turns in rows that do not name them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MAX_CARDS = 16
_LEVELS = ("vram_total_mib", "vram_used_mib", "vram_free_mib", "power_w", "temp_c")


def cards_by_gaps(ms: pl.Series) -> int:
    """Cards in rows with stamps: rows of one tick follow each other closely, ticks do not. 1 when that is not clear.

    Cards of one tick are recorded 0 to 15 ms apart; a fifth of a second is no longer one tick.
    """
    gaps = ms.diff().drop_nulls()
    wide = gaps.quantile(0.98) if len(gaps) >= 5 else None
    if wide is None or wide <= 0:
        return 1
    between = gaps > wide / 2
    begins = [0, *(between.arg_true() + 1).to_list(), len(ms)]
    sizes = [b - a for a, b in pairwise(begins)]
    count = max(set(sizes), key=sizes.count)
    inside = gaps.filter(~between).max()
    if len(sizes) < 3 or not isinstance(inside, int | float) or inside > min(200, wide / 4):
        return 1
    # The last tick may be cut; a hole elsewhere would shift every card behind it.
    regular = all(s == count for s in sizes[:-1]) and sizes[-1] <= count
    return count if regular and 1 < count <= MAX_CARDS else 1


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

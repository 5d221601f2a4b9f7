"""Rows of several cards in a capture without index or stamps, told apart with what the rest of the run knows.

nvidia-smi prints one row a card and tick. Without an index the reader can tell cards apart only where their levels
differ all along; the log and the other captures know how many cards there are, and the rows must then repeat better
every so many rows than from row to row.
"""

from __future__ import annotations

from loganalyze.model.records import Capture, Run

# Rows of one card differ less from the card's last row than from the row above by at least this factor.
CALMER = 0.8
MAX_CARDS = 16
# Captures begun and ended together differ by a row at most.
NEAR_TICKS = 1.5


def tell_apart(runs: list[Run], captures: list[Capture]) -> None:
    """Give rows of interleaved cards their ``device`` and tick, in place, and say so in the capture's notes."""
    gpu = [c for c in captures if c.kind == "gpu" and c.frame is not None and "device" in c.frame.columns]
    suspects = [c for c in gpu if _may_be_interleaved(c)]
    if not suspects:
        return
    known = {len(run.devices) for run in runs}
    for capture in gpu:
        assert capture.frame is not None
        known.add(capture.frame["device"].n_unique())
    ticks = [_ticks(c) for c in captures if c.frame is not None and not _may_be_interleaved(c)]
    for capture in suspects:
        for cards in sorted(known, reverse=True):
            if 1 < cards <= MAX_CARDS and (_repeats(capture, cards) or _as_long(capture, cards, ticks)):
                _deal(capture, cards)
                break


def _may_be_interleaved(capture: Capture) -> bool:
    frame = capture.frame
    if frame is None or "device" not in frame.columns:
        return False
    alone = frame.height >= 4 and frame["device"].n_unique() == 1
    return alone and frame["t_s"].null_count() == frame.height and frame["row"].n_unique() == frame.height


def _repeats(capture: Capture, cards: int) -> bool:
    frame = capture.frame
    assert frame is not None
    if frame.height % cards or frame.height < 2 * cards:
        return False
    for metric in ("vram_used_mib", "gpu_util_pct", "power_w"):
        if metric not in frame.columns:
            continue
        values = frame[metric].cast(float)
        near, far = (float(values.diff(n).abs().sum() or 0.0) for n in (1, cards))
        if near > 0:
            return far < CALMER * near
    return False


def _ticks(capture: Capture) -> int:
    assert capture.frame is not None
    return capture.frame["row"].n_unique()


def _as_long(capture: Capture, cards: int, ticks: list[int]) -> bool:
    """True when the rows are those of ``cards`` cards for as long as another capture ran, and not of one card."""
    frame = capture.frame
    assert frame is not None
    if frame.height % cards or any(abs(frame.height - t) <= NEAR_TICKS for t in ticks):
        return False
    return any(abs(frame.height / cards - t) <= NEAR_TICKS for t in ticks)


def _deal(capture: Capture, cards: int) -> None:
    import polars as pl

    assert capture.frame is not None
    ordinal = pl.int_range(pl.len())
    capture.frame = capture.frame.with_columns(
        (ordinal // cards).cast(pl.UInt32).alias("row"), (ordinal % cards).cast(pl.Int32).alias("device")
    )
    capture.notes.append(f"no index column: rows dealt to {cards} cards in turn, as the rest of the run has that many")

"""Rows of one length as a byte matrix.

Tools pad numbers on their left, so rows of one length mostly have their cells at the same places, and a number is a handful
of columns of the matrix: reading these column by column takes half the time of any splitting at blanks. The caller says
where cells lie (in a row that serves as pattern) and gets back which rows hold nothing but right-aligned digits there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

# Bytes are flipped so that digits are their values and the low four bits of a blank are 0.
FLIP = 48
BLANK, DASH, COLON, COMMA, NEWLINE = (byte ^ FLIP for byte in b" -:,\n")
# Columns whose type is the same for every capture.
WIDE = ("line", "pid")
# Rows turned at a time: this many fit a first-level cache.
STRIPE = 512
# More digits do not fit 32 bits.
MAX_DIGITS = 9


def rows_at(text: NDArray[np.uint8], begins: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """The ``width`` bytes at each of ``begins``, flipped."""
    import numpy as np

    return np.lib.stride_tricks.sliding_window_view(text, width)[begins] ^ np.uint8(FLIP)


def turned(codes: NDArray[np.uint8], places: NDArray[np.intp]) -> NDArray[np.uint8]:
    """The wanted columns of ``codes``, each as one run of memory."""
    import numpy as np

    out = np.empty((len(places), len(codes)), np.uint8)
    for begin in range(0, len(codes), STRIPE):
        out[:, begin : begin + STRIPE] = codes[begin : begin + STRIPE].T[places]
    return out


def number(codes: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Value of a right-aligned cell whose places are the rows of ``codes``; where it is ``-``; where it is either."""
    import numpy as np

    last = codes[-1]
    values = (last & 15).astype(np.int32)
    absent = last == DASH
    fits: NDArray[np.bool_] = (last < 10) | absent
    beyond = max(0, len(codes) - MAX_DIGITS)
    if beyond:
        fits &= np.asarray((codes[:beyond] == BLANK).all(axis=0))
    scale = 1
    inner = last < 10
    for place in range(len(codes) - 2, beyond - 1, -1):
        code = codes[place]
        scale *= 10
        blank = code == BLANK
        if blank.all():
            # Nothing stands further left in any row unless a blank splits a number, which the check finds.
            if (codes[:place] == BLANK).all():
                break
            fits &= ~(codes[:place] < 10).any(axis=0)
            continue
        digit = code < 10
        # The type is named: numpy before 2.0 would multiply in eight bits.
        values += np.multiply(code & 15, scale, dtype=np.int32)
        # A digit has a digit on its right; in front of "-" stand blanks.
        fits &= blank | (digit & inner)
        inner = digit
    if absent.any():
        values[absent] = 0
    return values, absent, fits


def digits(codes: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Value of places that hold digits only (rows of ``codes``), and where they do."""
    import numpy as np

    values = np.zeros(codes.shape[1], np.int32)
    for code in codes:
        values *= 10
        values += code & 15
    return values, np.asarray((codes < 10).all(axis=0))


def narrowed(column: pl.Series) -> pl.Series:
    """Signed whole numbers in the smallest signed type that holds them, so that differences of amounts do not wrap.

    64-bit floats become 32-bit ones, anything else stays. Numbers are copied in any case: a column that borrows an array
    of numpy keeps the pages around it, too, and these add up to half as much again.
    """
    import polars as pl

    if column.dtype == pl.Float64:
        return column.cast(pl.Float32)
    if not column.dtype.is_signed_integer() or column.name in WIDE:
        return column
    low, high = column.min(), column.max()
    for kind, most in ((pl.Int8, 1 << 7), (pl.Int16, 1 << 15), (pl.Int32, 1 << 31)):
        if low is None or (-most <= low and high < most):  # type: ignore[operator]
            return column + 0 if column.dtype == kind else column.cast(kind)
    return column


def stacked(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Frames below each other, column by column in the widest type any of them has; ``frames`` is emptied.

    The pieces of the columns stay where they are: one copy of everything is the most a large capture may take.
    """
    import polars as pl

    if len(frames) == 1:
        return frames.pop()
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    heights = [frame.height for frame in frames]
    columns = []
    for name in names:
        parts = [
            f.drop_in_place(name)
            if name in f.columns
            else pl.repeat(None, height, dtype=pl.Null, eager=True).alias(name)
            for f, height in zip(frames, heights, strict=True)
        ]
        columns.append(pl.concat([p.to_frame() for p in parts], how="vertical_relaxed", rechunk=False).to_series())
    frames.clear()
    return pl.DataFrame(columns)

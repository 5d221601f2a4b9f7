"""Rows of one length as a byte matrix.

dmon pads every number on its left, so rows of one length have their cells at the same places, and a number is a handful of
columns of the matrix: reading these column by column takes half the time of any splitting at blanks. A row with anything
but right-aligned digits or ``-`` in its cells, or of another length (an overflow, a cut), goes back to the caller.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loganalyze.formats.nvidia_dmon_columns import Table

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

BLANK, COMMA, DASH, HASH, COLON, NEWLINE = b" ,-#:\n"
# Codes of bytes: digits are themselves, so that the low four bits of blank and digit are the digit's value.
_BLANK, _DASH, _END, _COLON, _OTHER = 16, 32, 48, 64, 255
_CODE_OF = {BLANK: _BLANK, DASH: _DASH, COMMA: _END, NEWLINE: _END, COLON: _COLON, **{48 + d: d for d in range(10)}}
_CODES = bytes(_CODE_OF.get(b, _OTHER) for b in range(256))
# Rows turned at a time: this many fit a first-level cache.
STRIPE = 512
# More digits do not fit 32 bits; no figure of dmon has them.
MAX_DIGITS = 9


@dataclass(slots=True)
class Parsed:
    """Regular rows of a text (their positions among ``lines`` lines in ``at``) and its other lines with theirs."""

    table: Table
    frame: pl.DataFrame
    at: NDArray[np.int64]
    odd: list[tuple[int, bytes]]
    lines: int


def parse_rows(data: bytes, table: Table) -> Parsed:
    """Columns of the regular rows: the table's targets, ``_day`` and ``_s`` from stamps. Known headers are left out."""
    import numpy as np
    import polars as pl

    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE)
    begins = np.empty_like(ends)
    begins[:1], begins[1:] = 0, ends[:-1] + 1
    template = _template(data, begins, ends, table)
    if template is None:
        lines = data.split(b"\n")[:-1]
        empty = np.zeros(0, np.int64)
        return Parsed(table, frame_of_rows([], table).drop("line"), empty, list(enumerate(lines)), len(lines))
    width = len(template) + 1
    sizes = ends - begins + 1
    regular = sizes == width
    rows = data if regular.all() else np.frombuffer(data, np.uint8)[np.repeat(regular, sizes)].tobytes()
    columns, good = _columns(rows, template, table)
    numbers = np.flatnonzero(regular)
    frame = pl.DataFrame(columns)
    if not good.all():
        frame = frame.filter(pl.Series(good))
    odd = np.concatenate([np.flatnonzero(~regular), numbers[~good & ~_known(rows, width, table)]])
    rest = [(i, data[begins[i] : ends[i]]) for i in np.sort(odd).tolist()]
    return Parsed(table, frame, numbers[good], rest, len(ends))


def _known(rows: bytes, width: int, table: Table) -> NDArray[np.bool_]:
    """Rows that are headers of the table: these repeat every screenful and need no look one by one."""
    import numpy as np

    matrix = np.frombuffer(rows, np.uint8).reshape(-1, width)
    found = np.zeros(len(matrix), dtype=bool)
    heads = np.flatnonzero(matrix[:, 0] == HASH)
    for line in table.known if len(heads) else ():
        if len(line) == width - 1:
            found[heads] |= (matrix[heads, :-1] == np.frombuffer(line, np.uint8)).all(axis=1)
    return found


def numbered(parsed: Parsed, first: int) -> pl.DataFrame:
    """Frame of the regular rows with ``line``, where the text begins at line ``first``."""
    import polars as pl

    return parsed.frame.insert_column(0, pl.Series("line", parsed.at + first, dtype=pl.UInt32))


def frame_of_rows(rows: list[dict[str, Any]], table: Table) -> pl.DataFrame:
    """Frame of rows read one by one (``nvidia_dmon_body.read_row``), with the columns that ``read_matrix`` gives."""
    import polars as pl

    columns = [pl.Series("line", [r["line"] for r in rows], dtype=pl.UInt32)]
    columns += [pl.Series(n, [r[n] for r in rows], dtype=pl.Int32) for n in table.targets]
    if "date" in table.columns:
        columns.append(pl.Series("_day", [int(r["date"]) for r in rows], dtype=pl.Int32))
    if "time" in table.columns:
        columns.append(pl.Series("_s", [_seconds(r["time"]) for r in rows], dtype=pl.Int32))
    return pl.DataFrame(columns)


def _seconds(text: str) -> int:
    hours, minutes, seconds = map(int, text.split(":"))
    return hours * 3600 + minutes * 60 + seconds


def _template(data: bytes, begins: Any, ends: Any, table: Table) -> bytes | None:
    """The first row that has as many cells as there are columns."""
    from loganalyze.formats.nvidia_dmon_body import read_row

    for begin, end in zip(begins[:200].tolist(), ends[:200].tolist(), strict=True):
        line = data[begin:end]
        if line[:1] != b"#" and read_row(line, table) is not None:
            return line
    return None


def _columns(rows: bytes, template: bytes, table: Table) -> tuple[list[pl.Series], NDArray[np.bool_]]:
    """Values of the wanted cells of equal rows, and which rows hold nothing else in them."""
    import numpy as np

    width = len(template) + 1
    codes = np.frombuffer(rows.translate(_CODES), np.uint8).reshape(-1, width)
    cells = _cells(template, table)
    behind = [m.end() for m in re.finditer(rb"[^\s,]+", template)]
    colons = [m.start() for m in re.finditer(b":", template)]
    places = np.concatenate([np.arange(begin, end) for begin, end in cells.values()] + [behind, colons]).astype(np.intp)
    turned = _turned(codes, places)
    at = len(places) - len(behind) - len(colons)
    gaps = turned[at : at + len(behind)]
    good = ((gaps == _BLANK) | (gaps == _END)).all(axis=0) & (turned[at + len(behind) :] == _COLON).all(axis=0)
    columns: list[pl.Series] = []
    at = 0
    clock: dict[str, NDArray[np.int32]] = {}
    for name, (begin, end) in cells.items():
        values, absent, fits = _number(turned[at : at + end - begin])
        at += end - begin
        if name in ("device", "_day", "_h", "_m", "_sec"):
            fits = fits & ~absent
        good &= fits
        if name in ("_h", "_m", "_sec"):
            clock[name] = values
        else:
            columns.append(_series(name, values, absent))
    if clock:
        columns.append(_series("_s", clock["_h"] * 3600 + clock["_m"] * 60 + clock["_sec"], None))
    return columns, good


def _cells(template: bytes, table: Table) -> dict[str, tuple[int, int]]:
    """Places of the wanted numbers: from behind the cell before to the end of their own."""
    wanted = {at: name for name, at in table.targets.items()}
    found: dict[str, tuple[int, int]] = {}
    free = 0
    for at, match in enumerate(re.finditer(rb"[^\s,]+", template)):
        begin, end = match.span()
        if table.columns[at] == "time":
            found |= {"_h": (begin, begin + 2), "_m": (begin + 3, begin + 5), "_sec": (begin + 6, begin + 8)}
        elif table.columns[at] == "date":
            found["_day"] = (begin, end)
        elif at in wanted:
            found[wanted[at]] = (max(free, end - MAX_DIGITS - 1), end)
        free = end + 1
    return found


def _turned(codes: NDArray[np.uint8], places: NDArray[np.intp]) -> NDArray[np.uint8]:
    """The wanted columns of ``codes``, each as one run of memory."""
    import numpy as np

    out = np.empty((len(places), len(codes)), np.uint8)
    for begin in range(0, len(codes), STRIPE):
        out[:, begin : begin + STRIPE] = codes[begin : begin + STRIPE].T[places]
    return out


def _number(codes: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Value of a right-aligned cell whose places are the rows of ``codes``; where it is ``-``; where it is either."""
    import numpy as np

    last = codes[-1]
    values = (last & 15).astype(np.int32)
    absent = last == _DASH
    fits = (last < 10) | absent
    if len(codes) > MAX_DIGITS:
        fits &= codes[0] == _BLANK
    scale = 1
    for place in range(len(codes) - 2, len(codes) - MAX_DIGITS - 1 if len(codes) > MAX_DIGITS else -1, -1):
        code = codes[place]
        scale *= 10
        blank = code == _BLANK
        if blank.all():
            # Nothing stands further left in any row unless a blank splits a number, which the check finds.
            if (codes[:place] == _BLANK).all():
                break
            fits &= ~(codes[:place] < 10).any(axis=0)
            continue
        values += (code & 15) * np.int32(scale)
        inner = codes[place + 1]
        # A digit has a digit on its right; in front of "-" stand blanks.
        fits &= blank | ((code < 10) & (inner < 10))
    values[absent] = 0
    return values, absent, fits


def _series(name: str, values: NDArray[np.int32], absent: NDArray[np.bool_] | None) -> pl.Series:
    """Column with nulls where a cell is missing."""
    import polars as pl

    series = pl.Series(name, values, dtype=pl.Int32)
    if absent is None or not absent.any():
        return series
    return pl.select(pl.when(~pl.Series(absent)).then(series).alias(name)).to_series()

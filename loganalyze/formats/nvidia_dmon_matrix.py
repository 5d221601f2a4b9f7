"""Rows of one length as a byte matrix.

dmon pads every number on its left, so rows of one length have their cells at the same places. Blanks become zeros, the
place behind each cell a comma, and polars reads plain integers; this is several times faster than splitting at blanks. A
row with something else in those places, or of another length (a repeated header, an overflow), goes back to the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from loganalyze.formats.nvidia_dmon_columns import Table

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

BLANK, ZERO, COMMA, DASH, NEWLINE = b" 0,-\n"


def read_matrix(data: bytes, first: int, table: Table) -> tuple[pl.DataFrame, list[tuple[int, bytes]]]:
    """Frame of the regular rows (``line`` and the table's targets; ``_day``, ``_s`` from stamps) and the other lines."""
    import numpy as np

    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == NEWLINE)
    begins = np.empty_like(ends)
    begins[0], begins[1:] = 0, ends[:-1] + 1
    template = _template(data, begins, ends, table)
    if template is None:
        return frame_of_rows([], table), _lines(data, begins, ends, range(len(ends)), first)
    sizes = ends - begins + 1
    regular = sizes == len(template) + 1
    rows = buffer if regular.all() else buffer[np.repeat(regular, sizes)]
    matrix = rows.reshape(-1, len(template) + 1)
    cells = _spans(template)
    numbers = np.flatnonzero(regular)
    good = _aligned(matrix, cells)
    values, wrong = _values(matrix, cells, template, table)
    keep = good & ~wrong
    odd = np.sort(np.concatenate([np.flatnonzero(~regular), numbers[~keep]]))
    return _frame(numbers + first, values, keep), _lines(data, begins, ends, odd.tolist(), first)


def _frame(numbers: NDArray[np.int64], values: dict[str, pl.Series], keep: NDArray[np.bool_]) -> pl.DataFrame:
    import polars as pl

    frame = pl.DataFrame([pl.Series("line", numbers, dtype=pl.UInt32), *(v.alias(k) for k, v in values.items())])
    frame = frame if keep.all() else frame.filter(pl.Series(keep))
    if "_h" in frame.columns:
        frame = frame.with_columns(_s=pl.col("_h") * 3600 + pl.col("_m") * 60 + pl.col("_sec")).drop("_h", "_m", "_sec")
    return frame


def _lines(
    data: bytes, begins: NDArray[np.int64], ends: NDArray[np.int64], which: Iterable[int], first: int
) -> list[tuple[int, bytes]]:
    return [(first + i, data[begins[i] : ends[i]]) for i in which]


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


def _spans(template: bytes) -> list[tuple[int, int]]:
    """Start and end of every cell in the template; a comma behind a cell belongs to no cell."""
    import re

    return [m.span() for m in re.finditer(rb"[^\s,]+", template)]


def _aligned(matrix: NDArray[np.uint8], cells: list[tuple[int, int]]) -> NDArray[np.bool_]:
    """Rows whose places behind the cells hold no part of a number."""
    import numpy as np

    good = np.ones(len(matrix), dtype=bool)
    for _, end in cells:
        place = matrix[:, end]
        good &= (place == BLANK) | (place == COMMA) | (place == NEWLINE)
    return good


def _values(
    matrix: NDArray[np.uint8], cells: list[tuple[int, int]], template: bytes, table: Table
) -> tuple[dict[str, pl.Series], NDArray[np.bool_]]:
    """Columns as integers (null where missing) and a mask of rows with a cell that is neither a number nor ``-``."""
    import numpy as np
    import polars as pl

    text = matrix.copy()
    text[text == BLANK] = ZERO
    for _, end in cells[:-1]:
        text[:, end] = COMMA
    if cells[-1][1] < len(template):
        text[:, cells[-1][1]] = COMMA
    text[:, -1] = NEWLINE
    places, width = _places(text, cells, template, table)
    raw = pl.read_csv(
        text.tobytes(),
        has_header=False,
        schema={f"c{i}": pl.Int32 for i in range(width)},
        columns=sorted(places.values()),
        ignore_errors=True,
        truncate_ragged_lines=True,
    )
    wrong = np.zeros(len(matrix), dtype=bool)
    values = {name: raw[f"c{at}"] for name, at in places.items()}
    for name, column in values.items():
        if column.null_count():
            at = table.targets.get(name)
            empty = column.is_null().to_numpy()
            if at is not None and name != "device":
                empty &= matrix[:, cells[at][1] - 1] != DASH
            wrong |= empty
    return values, wrong


def _places(
    text: NDArray[np.uint8], cells: list[tuple[int, int]], template: bytes, table: Table
) -> tuple[dict[str, int], int]:
    """Column of each wanted value in the comma text, and how many columns there are. Splits times at their colons."""
    wanted = {at: name for name, at in table.targets.items()}
    places: dict[str, int] = {}
    column = 0
    for at, (begin, _) in enumerate(cells):
        if at < len(table.columns) and table.columns[at] == "time":
            for colon in (begin + 2, begin + 5):
                text[:, colon] = COMMA
            places |= {"_h": column, "_m": column + 1, "_sec": column + 2}
            column += 3
            continue
        if at < len(table.columns) and table.columns[at] == "date":
            places["_day"] = column
        elif at in wanted:
            places[wanted[at]] = column
        column += 1
    return places, column + (cells[-1][1] < len(template))

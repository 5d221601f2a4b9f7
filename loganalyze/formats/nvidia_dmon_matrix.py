"""Rows of one length as a byte matrix.

dmon pads every number on its left, so rows of one length have their cells at the same places. Blanks become zeros, the
place behind each cell a comma, and polars reads plain integers; this is several times faster than splitting at blanks. A
row with something else in those places, or of another length (a repeated header, an overflow), goes back to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loganalyze.formats.nvidia_dmon_columns import Table

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

BLANK, COMMA, DASH, HASH, NEWLINE = b" ,-#\n"
_ZEROS = bytes.maketrans(b" ", b"0")


@dataclass(slots=True)
class Layout:
    """A text cut into equal rows: what needs no polars and can be done ahead.

    ``matrix`` holds the rows as long as ``template``, ``numbers`` their positions among all lines, ``good`` those with
    nothing but blanks or commas behind each of ``cells``; ``text`` is the matrix as comma-separated digits.
    """

    template: bytes
    cells: list[tuple[int, int]]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    regular: NDArray[np.bool_]
    matrix: NDArray[np.uint8]
    good: NDArray[np.bool_]
    text: bytes
    columns: list[str]


def layout(data: bytes, table: Table) -> Layout | None:
    """Layout of ``data`` (whole lines) for the columns of ``table``; None when no line has as many cells."""
    import numpy as np

    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == NEWLINE)
    begins = np.empty_like(ends)
    begins[:1], begins[1:] = 0, ends[:-1] + 1
    template = _template(data, begins, ends, table)
    if template is None:
        return None
    sizes = ends - begins + 1
    width = len(template) + 1
    regular = sizes == width
    rows = data if regular.all() else buffer[np.repeat(regular, sizes)].tobytes()
    matrix = np.frombuffer(rows, np.uint8).reshape(-1, width)
    cells = _spans(template)
    behind = matrix[:, [end for _, end in cells]]
    blank = behind <= BLANK
    if table.csv:
        blank |= behind == COMMA
    good = np.asarray(blank.all(axis=1))
    text = _digits(rows, cells, template, table)
    return Layout(template, cells, begins, ends, regular, matrix, good, text, table.columns)


def _digits(rows: bytes, cells: list[tuple[int, int]], template: bytes, table: Table) -> bytes:
    """Rows with blanks as zeros, commas behind the cells and for the colons of a time."""
    import numpy as np

    width = len(template) + 1
    commas = [end for _, end in cells if end < len(template)]
    if "time" in table.columns:
        begin = cells[table.columns.index("time")][0]
        commas += [begin + 2, begin + 5]
    keep, put = np.full(width, 255, np.uint8), np.zeros(width, np.uint8)
    keep[commas], put[commas] = 0, COMMA
    text = np.frombuffer(rows.translate(_ZEROS), np.uint8).reshape(-1, width) & keep
    text |= put
    return text.tobytes()


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

    plan = layout(data, table)
    if plan is None:
        lines = data.split(b"\n")[:-1]
        empty = np.zeros(0, np.int64)
        return Parsed(table, frame_of_rows([], table).drop("line"), empty, list(enumerate(lines)), len(lines))
    values, wrong = _values(plan, table)
    keep = plan.good & ~wrong
    numbers = np.flatnonzero(plan.regular)
    frame = pl.DataFrame([v.alias(k) for k, v in values.items()])
    if not keep.all():
        frame = frame.filter(pl.Series(keep))
    if "_h" in frame.columns:
        frame = frame.with_columns(_s=pl.col("_h") * 3600 + pl.col("_m") * 60 + pl.col("_sec")).drop("_h", "_m", "_sec")
    odd = np.concatenate([np.flatnonzero(~plan.regular), numbers[~keep & ~_known(plan, table)]])
    rest = [(i, data[plan.begins[i] : plan.ends[i]]) for i in np.sort(odd).tolist()]
    return Parsed(table, frame, numbers[keep], rest, len(plan.ends))


def _known(plan: Layout, table: Table) -> NDArray[np.bool_]:
    """Rows that are headers of the table: these repeat every screenful and need no look one by one."""
    import numpy as np

    found = np.zeros(len(plan.matrix), dtype=bool)
    heads = np.flatnonzero(plan.matrix[:, 0] == HASH)
    for line in table.known if len(heads) else ():
        if len(line) == len(plan.template):
            found[heads] |= (plan.matrix[heads, :-1] == np.frombuffer(line, np.uint8)).all(axis=1)
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


def _spans(template: bytes) -> list[tuple[int, int]]:
    """Start and end of every cell in the template; a comma behind a cell belongs to no cell."""
    import re

    return [m.span() for m in re.finditer(rb"[^\s,]+", template)]


def _values(plan: Layout, table: Table) -> tuple[dict[str, pl.Series], NDArray[np.bool_]]:
    """Columns as integers (null where missing) and a mask of rows with a cell that is neither a number nor ``-``."""
    import polars as pl

    places, width = _places(plan, table)
    if not places:
        return {}, ~plan.good | plan.good
    raw = pl.read_csv(
        plan.text,
        has_header=False,
        schema={f"c{i}": pl.Int32 for i in range(width)},
        columns=sorted(places.values()),
        ignore_errors=True,
        truncate_ragged_lines=True,
    )
    values = {name: raw[f"c{at}"] for name, at in places.items()}
    lead = values.get("device", raw.to_series(0))
    # Header lines are null throughout: only holes of rows with a card need a look.
    row, wrong = lead.is_not_null(), lead.is_null()
    for name, column in values.items():
        holes = column.is_null() & row if column.null_count() else None
        if holes is not None and holes.any():
            at = table.targets.get(name)
            if at is not None:
                holes = holes & pl.Series(plan.matrix[:, plan.cells[at][1] - 1] != DASH)
            wrong = wrong | holes
    return values, wrong.to_numpy()


def _places(plan: Layout, table: Table) -> tuple[dict[str, int], int]:
    """Column of each wanted value in the comma text, and how many columns there are; a time takes three."""
    wanted = {at: name for name, at in table.targets.items()}
    places: dict[str, int] = {}
    column = 0
    for at, name in enumerate(table.columns):
        if name == "time":
            places |= {"_h": column, "_m": column + 1, "_sec": column + 2}
            column += 3
            continue
        if name == "date":
            places["_day"] = column
        elif at in wanted:
            places[wanted[at]] = column
        column += 1
    return places, column + (plan.cells[-1][1] < len(plan.template))

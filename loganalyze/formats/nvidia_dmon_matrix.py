"""Rows of dmon by the byte matrix; a row that does not fit goes back to the caller."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loganalyze.formats.matrix import (
    BLANK,
    COLON,
    COMMA,
    FLIP,
    MAX_DIGITS,
    NEWLINE,
    digits,
    narrowed,
    number,
    rows_at,
    turned,
)
from loganalyze.formats.nvidia_dmon_columns import Table

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

_HASH = ord("#") ^ FLIP


@dataclass(slots=True)
class Parsed:
    """Regular rows of a text (their positions among ``lines`` lines in ``at``) and its other lines with theirs."""

    table: Table
    frame: pl.DataFrame
    at: NDArray[np.int64]
    odd: list[tuple[int, bytes]]
    lines: int


def parse_rows(data: bytes, table: Table) -> Parsed:
    """Columns of the regular rows: the table's targets and stamps (``_stamps``). Known headers are left out."""
    import numpy as np
    import polars as pl

    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == 10)
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
    codes = rows_at(text, begins[regular], width)
    columns, good = _columns(codes, template, table)
    numbers = np.flatnonzero(regular)
    chosen = slice(None) if good.all() else good
    named = [_series(name, values[chosen], absent, chosen) for name, values, absent in columns if name[0] != "_"]
    clock = {name: values[chosen] for name, values, _ in columns if name[0] == "_"}
    frame = pl.DataFrame(named + stamps(clock))
    odd = np.concatenate([np.flatnonzero(~regular), numbers[~good & ~_known(codes, table)]])
    rest = [(i, data[begins[i] : ends[i]]) for i in np.sort(odd).tolist()]
    return Parsed(table, frame, numbers[good], rest, len(ends))


def _known(codes: NDArray[np.uint8], table: Table) -> NDArray[np.bool_]:
    """Rows that are headers of the table: these repeat every screenful and need no look one by one."""
    import numpy as np

    found = np.zeros(len(codes), dtype=bool)
    heads = np.flatnonzero(codes[:, 0] == _HASH)
    for line in table.known if len(heads) else ():
        if len(line) == codes.shape[1] - 1:
            found[heads] |= (codes[heads, :-1] == np.frombuffer(line, np.uint8) ^ np.uint8(FLIP)).all(axis=1)
    return found


def numbered(parsed: Parsed, first: int) -> pl.DataFrame:
    """Frame of the regular rows with ``line``, where the text begins at line ``first``."""
    import polars as pl

    return parsed.frame.insert_column(0, pl.Series("line", parsed.at + first, dtype=pl.UInt32))


def frame_of_rows(rows: list[dict[str, Any]], table: Table) -> pl.DataFrame:
    """Frame of rows read one by one (``nvidia_dmon_body.read_row``), with the columns that ``parse_rows`` gives."""
    import numpy as np
    import polars as pl

    columns = [pl.Series("line", [r["line"] for r in rows], dtype=pl.UInt32)]
    columns += [pl.Series(n, [r[n] for r in rows], dtype=pl.Int32) for n in table.targets]
    clock = {}
    if "date" in table.columns:
        clock["_day"] = np.array([int(r["date"]) for r in rows], np.int32)
    if "time" in table.columns:
        clock["_s"] = np.array([_seconds(r["time"]) for r in rows], np.int32)
    return pl.DataFrame(columns + stamps(clock))


def stamps(clock: dict[str, NDArray[np.int32]]) -> list[pl.Series]:
    """``_epoch`` (seconds, null where ``_day`` is none) of ``_day`` (YYYYMMDD) and ``_s`` (of the day); else what is there."""
    import numpy as np
    import polars as pl

    if len(clock) < 2 or not len(clock["_day"]):
        kinds = {"_day": pl.Int32, "_s": pl.Int32} if len(clock) < 2 else {"_epoch": pl.Float64}
        return [pl.Series(n, clock.get(n, ()), dtype=kind) for n, kind in kinds.items() if n in clock or n == "_epoch"]
    days = clock["_day"]
    begins = np.concatenate([[0], np.flatnonzero(days[1:] != days[:-1]) + 1])
    # A run of one day is parsed once.
    dates = pl.Series(days[begins]).cast(pl.String).str.to_date("%Y%m%d", strict=False)
    midnights = (dates.cast(pl.Float64) * 86400).to_numpy()
    times = np.repeat(midnights, np.diff(begins, append=len(days))) + clock["_s"]
    return [pl.Series("_epoch", times, nan_to_null=True)]


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


def _columns(
    codes: NDArray[np.uint8], template: bytes, table: Table
) -> tuple[list[tuple[str, NDArray[np.int32], NDArray[np.bool_] | None]], NDArray[np.bool_]]:
    """Name, values and absence of the wanted cells of equal rows, and which rows hold nothing else in them."""
    import numpy as np

    cells = _cells(template, table)
    behind = [m.end() for m in re.finditer(rb"[^\s,]+", template)]
    colons = [m.start() for m in re.finditer(b":", template)]
    places = np.concatenate([np.arange(begin, end) for begin, end in cells.values()] + [behind, colons]).astype(np.intp)
    wanted = turned(codes, places)
    at = len(places) - len(behind) - len(colons)
    gaps = wanted[at : at + len(behind)]
    good = ((gaps == BLANK) | (gaps == COMMA) | (gaps == NEWLINE)).all(axis=0)
    good &= (wanted[at + len(behind) :] == COLON).all(axis=0)
    columns: list[tuple[str, NDArray[np.int32], NDArray[np.bool_] | None]] = []
    at = 0
    clock: dict[str, NDArray[np.int32]] = {}
    for name, (begin, end) in cells.items():
        cell = wanted[at : at + end - begin]
        at += end - begin
        if name in ("_day", "_h", "_m", "_sec"):
            values, fits = digits(cell)
            good &= fits
            clock[name] = values
            continue
        values, absent, fits = number(cell)
        good &= fits & ~absent if name == "device" else fits
        columns.append((name, values, absent if absent.any() else None))
    if "_day" in clock:
        columns.append(("_day", clock["_day"], None))
    if "_h" in clock:
        columns.append(("_s", clock["_h"] * 3600 + clock["_m"] * 60 + clock["_sec"], None))
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


def _series(name: str, values: NDArray[np.int32], absent: NDArray[np.bool_] | None, chosen: Any) -> pl.Series:
    """Column of the ``chosen`` rows, with nulls where a cell is missing."""
    import polars as pl

    series = narrowed(pl.Series(name, values))
    if absent is None or not (absent := absent[chosen]).any():
        return series
    return series.set(pl.Series(absent), None)

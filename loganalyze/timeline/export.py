"""Files of the aligned table: csv, parquet, jsonl, and trace.json for Perfetto. A file is written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from loganalyze import faults
from loganalyze.errors import LogAnalyzeError
from loganalyze.model.records import Reading, Run
from loganalyze.replacing import replacing
from loganalyze.timeline.table import is_wall_time, tidy, wide

if TYPE_CHECKING:
    import polars as pl

PIECE_ROWS = 50_000
FORMATS = ("csv", "parquet", "jsonl", "trace.json")


def format_of(path: str) -> str:
    """Format that the ending of ``path`` names. Raises LogAnalyzeError for others."""
    name = path.lower()
    for known in FORMATS:
        if name.endswith("." + known) or name.replace("\\", "/").rsplit("/", 1)[-1] == known:
            return known
    raise LogAnalyzeError("unknown kind of timeline file", path=path, remedy="End it in: " + ", ".join(FORMATS))


def export(
    what: Reading | Run, path: str, *, step_s: float | None = None, long: bool = False, force: bool = False
) -> None:
    """Write the timeline of ``what`` to ``path``; the ending names the format.

    Tables are resampled to ``step_s`` (default: the captures' usual interval); ``long`` writes one row a value instead.
    On wall time a column ``utc`` tells the time in words. Raises LogAnalyzeError when the file exists (without
    ``force``) or cannot be written.
    """
    kind = format_of(path)
    if not force and os.path.lexists(path):
        raise LogAnalyzeError("file exists", path=path, remedy="Use --force or another name")
    try:
        with replacing(path) as temporary, open(temporary, "wb") as file:
            _write(what, kind, file, step_s, long)
    except OSError as error:
        reason = f"cannot be written: {error.strerror or error}"
        raise LogAnalyzeError(reason, path=path, remedy=faults.remedy(error)) from None


def _write(what: Reading | Run, kind: str, file: IO[bytes], step_s: float | None, long: bool) -> None:
    if kind == "trace.json":
        from loganalyze.timeline.trace import trace_parts

        for part in trace_parts(what):
            file.write(part.encode())
        return
    table = _with_words(tidy(what) if long else wide(what, step_s), is_wall_time(what))
    if kind == "csv":
        _write_csv(_inert(table), file)
    elif kind == "parquet":
        _write_parquet(table, file)
    else:
        for line in _json_lines(table):
            file.write(line)


def _write_csv(table: pl.DataFrame, file: IO[bytes]) -> None:
    # In pieces and by our own hand: polars hides the number of a system's error.
    for at in range(0, max(table.height, 1), PIECE_ROWS):
        file.write(table.slice(at, PIECE_ROWS).write_csv(include_header=at == 0).encode())


def _write_parquet(table: pl.DataFrame, file: IO[bytes]) -> None:
    import io

    made = io.BytesIO()
    table.write_parquet(made)
    file.write(made.getbuffer())


def _with_words(table: pl.DataFrame, wall_time: bool) -> pl.DataFrame:
    import polars as pl

    if not wall_time:
        return table
    utc = (pl.col("time") * 1000).round().cast(pl.Int64).cast(pl.Datetime("ms")).dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
    return table.select("time", utc.alias("utc"), pl.exclude("time"))


def _inert(table: pl.DataFrame) -> pl.DataFrame:
    """Text that a spreadsheet would run as a formula gets a quote in front."""
    import polars as pl

    from loganalyze.inert import cell

    texts = [n for n, kind in table.schema.items() if kind == pl.String and n != "utc"]
    changed = {n: {t: c for t in table[n].unique().drop_nulls().to_list() if (c := cell(t)) != t} for n in texts}
    return table.with_columns(pl.col(n).replace(new) for n, new in changed.items() if new)


def _json_lines(table: pl.DataFrame) -> Iterator[bytes]:
    for row in table.iter_rows(named=True):
        yield (json.dumps({k: _plain(v) for k, v in row.items()}) + "\n").encode()


def _plain(value: Any) -> Any:
    """JSON knows neither nan nor inf: neither is a value here."""
    if isinstance(value, float) and not -1e300 < value < 1e300:
        return None
    return value

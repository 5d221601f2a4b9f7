"""Files of a batch: CSV, JSONL, Parquet, HTML. Each is written whole beside its place and then moved there, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from loganalyze.batch.row import COLUMNS, Row
from loganalyze.batch.spool import Spool
from loganalyze.batch.summary import Summary
from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.faults import remedy
from loganalyze.replacing import replacing

EXTENSIONS = (".csv", ".jsonl", ".parquet", ".html")
# A page with more rows than this no longer opens well; the counts above the table still hold for all.
HTML_ROWS = 10_000


def check_outputs(names: tuple[str, ...], force: bool, append: bool) -> None:
    """Raise before any work when an output cannot be written."""
    for name in names:
        extension = os.path.splitext(name)[1].lower()
        if extension not in EXTENSIONS:
            raise UsageError(f"-o {name}: choose one of {', '.join(EXTENSIONS)}")
        if append and extension == ".html":
            raise UsageError(f"-o {name}: a page cannot be appended to")
        if os.path.lexists(name) and not force and not append:
            raise LogAnalyzeError("file exists", path=name, remedy="Use --force to replace it or --append to add to it")
        folder = os.path.dirname(os.path.abspath(name))
        if not os.path.isdir(folder):
            raise LogAnalyzeError("no such folder", path=folder, remedy="Create it first")


def write(name: str, spool: Spool, summary: Summary, append: bool) -> int:
    """Write one output; returns the number of rows in it. With ``append`` rows with a known key and id are left out."""
    extension = os.path.splitext(name)[1].lower()
    writers: dict[str, Callable[[str, Iterator[Row], Spool, Summary], None]] = {
        ".csv": _csv,
        ".jsonl": _jsonl,
        ".parquet": _parquet,
        ".html": _html,
    }
    old = list(_old(name, extension)) if append and os.path.exists(name) else []
    seen = {(row["key"], row["id"]) for row in old}
    count = 0

    def rows() -> Iterator[Row]:
        nonlocal count
        for row in old:
            count += 1
            yield row
        for row in spool.rows():
            if (row["key"], row["id"]) not in seen:
                count += 1
                yield row

    try:
        with replacing(name) as temporary:
            writers[extension](str(temporary), rows(), spool, summary)
    except OSError as error:
        reason = f"cannot be written: {error.strerror or error}"
        raise LogAnalyzeError(reason, path=name, remedy=remedy(error)) from None
    return min(spool.count, HTML_ROWS) if extension == ".html" else count


def _jsonl(path: str, rows: Iterator[Row], _spool: Spool, _summary: Summary) -> None:
    import json

    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, allow_nan=False) + "\n")


def _csv(path: str, rows: Iterator[Row], _spool: Spool, _summary: Summary) -> None:
    import csv

    from loganalyze.reports.neutral import cell

    with open(path, "w", encoding="utf-8", newline="", errors="backslashreplace") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow(["" if v is None else cell(v) if isinstance(v, str) else v for v in row.values()])


def _parquet(path: str, rows: Iterator[Row], _spool: Spool, _summary: Summary) -> None:
    import polars as pl

    frames: list[pl.DataFrame] = []
    schema = _schema()
    batch: list[Row] = []
    # Columns in memory are 20 times smaller than rows; a hundred thousand runs take about 60 MB.
    for row in rows:
        batch.append(row)
        if len(batch) >= 5000:
            frames.append(pl.DataFrame(batch, schema=schema, orient="row"))
            batch = []
    frames.append(pl.DataFrame(batch, schema=schema, orient="row"))
    try:
        pl.concat(frames).write_parquet(path, compression="zstd", statistics=True)
    except pl.exceptions.PolarsError as error:
        raise OSError(0, str(error)) from None


def _schema() -> dict[str, Any]:
    import polars as pl

    types: dict[str, Any] = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
    return {name: types[kind] for name, (kind, _) in COLUMNS.items()}


def _html(path: str, _rows: Iterator[Row], spool: Spool, summary: Summary) -> None:
    from loganalyze.reports import html_batch

    page = html_batch.page(
        spool.top(HTML_ROWS), total=spool.count, verdicts=dict(summary.verdicts), errors=summary.errors
    )
    with open(path, "w", encoding="utf-8", newline="\n", errors="backslashreplace") as file:
        file.write(page)


def _old(name: str, extension: str) -> Iterator[Row]:
    """Rows of an output written earlier. Raises LogAnalyzeError when it is none of ours."""
    try:
        if extension == ".jsonl":
            import json

            with open(name, encoding="utf-8") as file:
                found = [json.loads(line) for line in file]
        elif extension == ".csv":
            import csv

            with open(name, encoding="utf-8", newline="") as file:
                found = [_typed(row) for row in csv.DictReader(file)]
        else:
            import polars as pl

            found = pl.read_parquet(name).to_dicts()
        if any(set(row) != set(COLUMNS) for row in found[:1]):
            raise ValueError("other columns")
    except Exception as error:
        # A file of another origin can break any reader in its own way.
        raise LogAnalyzeError(f"cannot be appended to: {error}", path=name, remedy="Write to a new file") from None
    yield from found


def _typed(row: dict[str, Any]) -> Row:
    convert: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float}
    return {name: None if row[name] == "" else convert[kind](row[name]) for name, (kind, _) in COLUMNS.items()}

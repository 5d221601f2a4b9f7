"""Files of a batch: CSV, JSONL, Parquet, HTML. Each is written whole beside its place and then moved there, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from loganalyze.batch.row import COLUMNS, Row
from loganalyze.batch.spool import Spool
from loganalyze.batch.summary import Summary
from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.faults import remedy
from loganalyze.replacing import alone, replacing

EXTENSIONS = (".csv", ".jsonl", ".parquet", ".html")
# A page with more rows no longer opens well; the counts and groups still hold for all.
HTML_ROWS = 1000
# Rows of one row group of a Parquet file. Peak of a process that writes 4000 / 100 000 rows: 96 / 112 MiB; with 5000 a group
# 91 / 152.
BLOCK = 2000


def check_outputs(names: tuple[str, ...], force: bool, append: bool) -> None:
    """Raise before any work when an output cannot be written."""
    seen: set[str] = set()
    for name in names:
        extension = os.path.splitext(name)[1].lower()
        if extension not in EXTENSIONS:
            raise UsageError(f"-o {name}: choose one of {', '.join(EXTENSIONS)}")
        if append and extension == ".html":
            raise UsageError(f"-o {name}: a page cannot be appended to")
        if (place := os.path.realpath(name)) in seen:
            raise UsageError(f"-o {name}: named twice", remedy="Give each output a name of its own")
        seen.add(place)
        if os.path.isdir(name):
            raise LogAnalyzeError("is a folder", path=name, remedy="Name a file in it")
        if os.path.lexists(name) and not force and not append:
            raise LogAnalyzeError("file exists", path=name, remedy="Use --force to replace it or --append to add to it")
        folder = os.path.dirname(os.path.abspath(name))
        if not os.path.isdir(folder):
            raise LogAnalyzeError("no such folder", path=folder, remedy="Create it first")
        if not os.access(folder, os.W_OK):
            raise LogAnalyzeError("cannot be written: permission denied", path=folder, remedy="Name another folder")


def write(name: str, spool: Spool, summary: Summary, append: bool, force: bool = True) -> str:
    """Write one output and say so. With ``append`` rows with a known key and id are left out.

    Raises LogAnalyzeError when it cannot be written; what was there before stays. Another batch that writes the same file
    is waited for: with ``append`` both add their rows, else the later one needs ``force``.
    """
    extension = os.path.splitext(name)[1].lower()
    with alone(name):
        there = os.path.exists(name)
        if there and not append and not force:
            raise LogAnalyzeError(
                "was written meanwhile",
                path=name,
                remedy="Choose another name or add --force; finished files are remembered",
            )
        old = _Old(name, extension) if append and there else None
        rows = _Rows(old, spool)
        try:
            with replacing(name) as temporary:
                if extension == ".html":
                    _html(str(temporary), spool, summary)
                else:
                    {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}[extension](str(temporary), rows)
        except OSError as error:
            reason = f"cannot be written: {error.strerror or error}"
            advice = f"{remedy(error) or 'Free some space, or write elsewhere'}; then run again, finished files are remembered"
            raise LogAnalyzeError(reason, path=name, remedy=advice) from None
    if extension == ".html":
        return f"Wrote {name}" + (
            f" (the first {HTML_ROWS:,} of {spool.count:,} rows)" if spool.count > HTML_ROWS else ""
        )
    added = f", {rows.count - rows.before:,} of them new" if old is not None else ""
    return f"Wrote {name} ({rows.count:,} row{'' if rows.count == 1 else 's'}{added})"


class _Rows:
    """Rows of an output: those that it had, then the new ones that it has not."""

    def __init__(self, old: _Old | None, spool: Spool) -> None:
        self._old, self._spool = old, spool
        self.count = self.before = 0

    def __iter__(self) -> Iterator[Row]:
        seen: set[int] = set()
        if self._old is not None:
            for row in self._old.rows():
                seen.add(hash((row["key"], row["id"])))
                self.count += 1
                yield row
        self.before = self.count
        for row in self._spool.rows():
            if not seen or hash((row["key"], row["id"])) not in seen:
                self.count += 1
                yield row


def _jsonl(path: str, rows: Iterable[Row]) -> None:
    import json

    with open(path, "w", encoding="utf-8", newline="\n", errors="backslashreplace") as file:
        for row in rows:
            file.write(json.dumps(row, allow_nan=False) + "\n")


def _csv(path: str, rows: Iterable[Row]) -> None:
    import csv

    from loganalyze.reports.neutral import cell

    with open(path, "w", encoding="utf-8", newline="", errors="backslashreplace") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow(["" if v is None else cell(v) if isinstance(v, str) else v for v in row.values()])


def _parquet(path: str, rows: Iterable[Row]) -> None:
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = _schema()
    failed: list[Exception] = []

    # The writer asks for a block when it has stored the one before: memory does not grow with the number of rows.
    def blocks(*_: object) -> Iterator[pl.DataFrame]:
        rest = iter(rows)
        try:
            while block := list(islice(rest, BLOCK)):
                yield pl.DataFrame(block, schema=schema, orient="row")
        except Exception as error:
            # The writer would pass it on as text.
            failed.append(error)
            raise

    try:
        register_io_source(blocks, schema=schema).sink_parquet(
            path, compression="zstd", statistics=True, row_group_size=BLOCK
        )
    except pl.exceptions.PolarsError as error:
        raise failed[0] if failed else OSError(0, str(error)) from None


def _schema() -> dict[str, Any]:
    import polars as pl

    types: dict[str, Any] = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
    return {name: types[kind] for name, (kind, _) in COLUMNS.items()}


def _html(path: str, spool: Spool, summary: Summary) -> None:
    from loganalyze.reports import html_batch

    page = html_batch.page(
        spool.top(HTML_ROWS), total=spool.count, verdicts=dict(summary.verdicts), errors=summary.errors
    )
    with open(path, "w", encoding="utf-8", newline="\n", errors="backslashreplace") as file:
        file.write(page)


class _Old:
    """An output written earlier, read row by row. Raises LogAnalyzeError when it is none of ours."""

    def __init__(self, name: str, extension: str) -> None:
        self._name, self._extension = name, extension

    def rows(self) -> Iterator[Row]:
        """Its rows."""
        try:
            for row in self._read():
                if set(row) != set(COLUMNS):
                    raise ValueError("it has other columns")
                yield row
        except LogAnalyzeError:
            raise
        except Exception as error:
            # A file of another origin can break any reader in its own way.
            raise LogAnalyzeError(
                f"cannot be appended to: {error}", path=self._name, remedy="Write to a new file"
            ) from None

    def _read(self) -> Iterator[Row]:
        if self._extension == ".jsonl":
            import json

            with open(self._name, encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)
        elif self._extension == ".csv":
            import csv

            with open(self._name, encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    yield _typed(row)
        else:
            import polars as pl

            table = pl.scan_parquet(self._name)
            for at in range(0, table.select(pl.len()).collect().item(), BLOCK):
                yield from table.slice(at, BLOCK).collect().to_dicts()


def _typed(row: dict[str, Any]) -> Row:
    convert: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float}
    return {name: None if row[name] == "" else convert[kind](row[name]) for name, (kind, _) in COLUMNS.items()}

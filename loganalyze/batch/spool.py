"""Rows on disk while they arrive, so that memory does not grow with the number of runs; a heap knows what the screen shows."""

from __future__ import annotations

import contextlib
import heapq
import json
import tempfile
from array import array
from collections.abc import Iterator
from typing import IO, Any

from loganalyze.batch.row import COLUMNS, Row
from loganalyze.errors import LogAnalyzeError


class Spool:
    """Rows in arrival order in an anonymous temporary file; ``top`` are those that rank first by ``sort``."""

    def __init__(self, sort: str = "lost_s", keep: int = 1000) -> None:
        self._file = _temporary()
        self._at = 0
        self._places = array("q")
        self._sort = sort
        self._kind = COLUMNS[sort][0]
        self._keep = keep
        self._heap: list[tuple[Any, int]] = []

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self._places)

    def add(self, row: Row, line: str | None = None) -> None:
        """Append a row; ``line`` is the same row as JSON, where the caller has it."""
        text = (
            line if line is not None else json.dumps({n: _encodable(v) for n, v in row.items()}, allow_nan=False)
        ).encode() + b"\n"
        entry = (_rank(row.get(self._sort), self._kind), -len(self._places))
        try:
            self._file.write(text)
        except OSError as error:
            raise _full(error) from None
        self._places.append(self._at)
        self._at += len(text)
        if len(self._heap) < self._keep:
            heapq.heappush(self._heap, entry)
        elif entry > self._heap[0]:
            heapq.heapreplace(self._heap, entry)

    def top(self, limit: int) -> list[Row]:
        """At most ``limit`` rows, largest (for text: first in the alphabet) first; unknown last."""
        return [self.row(-place) for _, place in sorted(self._heap, reverse=True)[:limit]]

    def row(self, number: int) -> Row:
        """One row by its number in arrival order."""
        self._rewind(self._places[number])
        row: Row = json.loads(self._file.readline())
        self._file.seek(0, 2)
        return row

    def rows(self) -> Iterator[Row]:
        """All rows in arrival order."""
        for line in self.lines():
            yield json.loads(line)

    def lines(self) -> Iterator[bytes]:
        """All rows as JSON lines."""
        self._rewind(0)
        yield from self._file
        self._file.seek(0, 2)

    def _rewind(self, place: int) -> None:
        try:
            self._file.flush()
            self._file.seek(place)
        except OSError as error:
            raise _full(error) from None

    def close(self) -> None:
        """Drop the file."""
        # What could not be flushed to a full disk is dropped anyway.
        with contextlib.suppress(OSError):
            self._file.close()


def _temporary() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile("w+b")
    except OSError as error:
        raise _full(error) from None


def _folder() -> str | None:
    try:
        return tempfile.gettempdir()
    except OSError:
        return None


def _full(error: OSError) -> LogAnalyzeError:
    return LogAnalyzeError(
        f"the temporary file cannot be written: {error.strerror or error}",
        path=_folder(),
        remedy="Free some space there, or name another folder in TMPDIR; finished files are remembered",
    )


def _encodable(value: Any) -> Any:
    """Bytes of a file name that are no UTF-8 as visible escapes: Parquet and strict readers of JSON refuse them."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def _rank(value: Any, kind: str) -> Any:
    if kind == "str":
        # A heap keeps the largest: turn the alphabet round.
        return tuple(-ord(c) for c in str(value)[:40]) if value is not None else (-0x110000,)
    return float("-inf") if value is None else float(value)

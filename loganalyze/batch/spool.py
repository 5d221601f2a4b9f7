"""Rows on disk while they arrive, so that memory does not grow with the number of runs; a heap keeps what the screen shows."""

from __future__ import annotations

import contextlib
import heapq
import json
import tempfile
from collections.abc import Iterator
from typing import Any

from loganalyze.batch.row import COLUMNS, Row
from loganalyze.errors import LogAnalyzeError


class Spool:
    """Rows in arrival order in an anonymous temporary file; ``top`` are those that rank first by ``sort``."""

    def __init__(self, sort: str = "lost_s", keep: int = 10_000) -> None:
        with _told():
            self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - lives as long as the spool
        self.count = 0
        self._sort = sort
        self._keep = keep
        self._heap: list[tuple[Any, int, Row]] = []

    def add(self, row: Row) -> None:
        """Append a row."""
        row = {name: _encodable(value) for name, value in row.items()}
        with _told():
            self._file.write(json.dumps(row, allow_nan=False).encode() + b"\n")
        entry = (_rank(row.get(self._sort), COLUMNS[self._sort][0]), -self.count, row)
        self.count += 1
        if len(self._heap) < self._keep:
            heapq.heappush(self._heap, entry)
        elif entry[:2] > self._heap[0][:2]:
            heapq.heapreplace(self._heap, entry)

    def top(self, limit: int) -> list[Row]:
        """At most ``limit`` rows, largest (for text: first in the alphabet) first; unknown last."""
        return [entry[2] for entry in sorted(self._heap, key=lambda e: e[:2], reverse=True)[:limit]]

    def rows(self) -> Iterator[Row]:
        """All rows in arrival order."""
        with _told():
            self._file.flush()
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)
        self._file.seek(0, 2)

    def lines(self) -> Iterator[bytes]:
        """All rows as JSON lines."""
        with _told():
            self._file.flush()
        self._file.seek(0)
        yield from self._file
        self._file.seek(0, 2)

    def close(self) -> None:
        """Drop the file. What could not be written was told before."""
        with contextlib.suppress(OSError):
            self._file.close()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """A fault of the temporary file, told as one."""
    try:
        yield
    except OSError as error:
        remedy = "Free some space there, or name another folder in TMPDIR"
        reason = f"the temporary file cannot be written: {error.strerror or error}"
        raise LogAnalyzeError(reason, path=_place(), remedy=remedy) from None


def _place() -> str | None:
    try:
        return tempfile.gettempdir()
    except OSError:
        return None


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

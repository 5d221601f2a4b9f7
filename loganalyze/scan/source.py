"""Open what a user named."""

from __future__ import annotations

from typing import BinaryIO

from loganalyze.model.records import Source


class Opened:
    """An open source. ``source`` is its record (path, mtime, encoding, notes, counts)."""

    source: Source
    head: bytes

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_source(target: str | bytes | BinaryIO, name: str | None = None) -> Opened:
    """Open a path (``-`` for standard input), bytes or a binary file object; ``name`` is shown for the last two."""
    raise NotImplementedError

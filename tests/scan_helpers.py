"""Sources for scan tests: bytes that arrive in given pieces."""

from __future__ import annotations

from collections.abc import Sequence

from loganalyze.scan import Line, Scanner, all_lines, open_source, scan


class Pieces:
    """A binary stream that gives ``data`` in pieces of the given sizes, over and over."""

    def __init__(self, data: bytes, sizes: Sequence[int]) -> None:
        self._data = data
        self._sizes = sizes or [1 << 20]
        self._at = self._turn = 0

    def readinto(self, view: memoryview) -> int:
        size = self._sizes[self._turn % len(self._sizes)]
        self._turn += 1
        piece = self._data[self._at : self._at + min(size, len(view))]
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def told(line: Line) -> tuple[object, ...]:
    """All that a line says, for comparison."""
    wrap = line.wrap
    return (
        line.number,
        line.text,
        line.t_s,
        line.level,
        line.epoch_s,
        line.zone,
        line.stamp,
        line.tag,
        repr(wrap) if wrap else None,
    )


def lines_of(data: bytes, *sizes: int) -> list[Line]:
    """Every line of ``data``."""
    with open_source(Pieces(data, sizes)) as opened:  # type: ignore[arg-type]
        return list(all_lines(opened))


def texts_of(data: bytes, *sizes: int) -> list[bytes]:
    """Text of every line of ``data``."""
    return [line.text for line in lines_of(data, *sizes)]


def one(data: bytes | str) -> Line:
    """The only line of ``data``."""
    (line,) = lines_of(data if isinstance(data, bytes) else data.encode())
    return line


def scan_of(data: bytes, literals: Sequence[bytes], *sizes: int) -> tuple[Scanner, list[Line]]:
    """The scanner after its end, and the lines found."""
    scanner = scan(open_source(Pieces(data, sizes)), literals)  # type: ignore[arg-type]
    return scanner, list(scanner)

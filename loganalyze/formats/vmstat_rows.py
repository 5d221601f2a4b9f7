"""Rows of ``vmstat``: blocks of text to typed frames, name line by name line."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from loganalyze.formats.capture import Block, Segment
from loganalyze.formats.columns import STAMP, epochs, line_bounds, read_integers, whole_rows
from loganalyze.formats.vmstat import Layout, is_row, is_title, layout_of

if TYPE_CHECKING:
    import numpy.typing as npt

STAMPED = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[ \t]*\Z")
# Distinct name lines remembered; a text with more is damaged and only loses the shortcut.
MAX_LAYOUTS = 200
# Bytes read at a time (2, 4 and 8 MiB were tried on two cores: 2 was quickest), and how many pieces ahead.
PIECE = 2 << 20
AHEAD = 2


@dataclass(slots=True)
class Part:
    """Rows read under one layout: Int64 columns ``line``, the names, and ``epoch`` when stamped.

    ``headers`` are the lines of the name lines at or before these rows, ``width`` the length of the last one.
    """

    layout: Layout
    frame: pl.DataFrame
    headers: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Columns:
    """A piece of text as columns under one layout, before its place in the source is known.

    ``frame``: whole rows, ``line`` counted from 0; None without a layout. ``others``: which lines are no rows.
    """

    frame: pl.DataFrame | None
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    others: npt.NDArray[np.int64]


class RowReader:
    """Takes pieces of text in order; keeps the layout from one to the next."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.parts: list[Part] = []
        self.last_row: bytes = b""
        self.width = 0
        self._layout: Layout | None = None
        self._stamped = False
        self._headers: list[int] = []
        self._known: dict[bytes, Layout | None] = {}
        self._names: bytes | None = None
        self._title: bytes | None = None

    def read(self, blocks: Iterable[Block]) -> RowReader:
        """Read all. Columns are made of a few pieces ahead, on the guess that no line names others."""
        pieces = _pieces(blocks)
        number = 1
        first = next(pieces, None)
        if first is not None:
            number = self._take(first.data, first.first_line, None)
        waiting: deque[tuple[Block, Layout | None, Future[Columns]]] = deque()
        with ThreadPoolExecutor(AHEAD) as pool:
            while True:
                for piece in islice(pieces, AHEAD + 1 - len(waiting)):
                    job = pool.submit(_columns, piece.data, self._layout, self._stamped)
                    waiting.append((piece, self._layout, job))
                if not waiting:
                    return self
                piece, layout, job = waiting.popleft()
                ready = job.result() if layout is self._layout else None
                number = self._take(piece.data, piece.first_line or number, ready)

    def _take(self, data: bytes, number: int, ready: Columns | None) -> int:
        """Read a piece, in one go if no line names other columns; returns the number of the line behind it."""
        if self._layout is not None:
            behind = self._stretch(data, number, ready)
            if behind is not None:
                return behind
        begin, at = 0, data.find(b"bo ")
        while at >= 0:
            start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            end = len(data) if end < 0 else end
            layout = self._learn(data[start:end])
            if layout is not None and layout != self._layout:
                number = self._stretch(data[begin:start], number) or number
                begin, self._layout = start, layout
                self._stamped = layout.zone is not None or _row_is_stamped(data, end)
            at = data.find(b"bo ", end)
        return self._stretch(data[begin:], number) or number

    def _learn(self, line: bytes) -> Layout | None:
        if line not in self._known:
            if len(self._known) >= MAX_LAYOUTS:
                self._known.clear()
            self._known[line] = layout_of(line)
        return self._known[line]

    def _stretch(self, data: bytes, first: int, ready: Columns | None = None) -> int | None:
        """Read lines of one layout (``ready``: as columns already). Returns the number of the line behind them.

        None, and nothing is kept, when a line names other columns.
        """
        if not data:
            return first
        made = ready or _columns(data, self._layout, self._stamped)
        begins, ends = made.begins[made.others], made.ends[made.others]
        if not self._others(data, first + made.others, begins, ends):
            return None
        frame = made.frame
        if frame is not None and frame.height and self._layout is not None:
            last = int(frame["line"][-1])
            self.last_row = data[made.begins[last] : made.ends[last]]
            self.parts.append(Part(self._layout, frame.with_columns(pl.col("line") + first), self._headers))
            self._headers = []
        return first + len(made.ends)

    def _others(
        self, data: bytes, numbers: npt.NDArray[np.int64], begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> bool:
        """Sort out the lines that are no rows: name lines, titles, blank lines; anything else goes back.

        False, and nothing is kept, when one names other columns than the current ones.
        """
        headers: list[int] = []
        rejects: list[tuple[int, bytes]] = []
        for number, begin, end in zip(numbers.tolist(), begins.tolist(), ends.tolist(), strict=True):
            line = data[begin:end]
            if line == self._title:
                continue
            if line == self._names:
                headers.append(number)
                continue
            layout = self._learn(line) if line in self._known or b"bo " in line else None
            if layout is not None:
                if layout != self._layout:
                    return False
                headers.append(number)
                self._names, self.width = line, end - begin
            elif is_title(line):
                self._title = line
            elif line.strip():
                rejects.append((number, line))
        self._headers += headers
        for number, line in rejects:
            self.segment.reject(number, line)
        return True


def _row_is_stamped(data: bytes, end: int) -> bool:
    """True when the line behind offset ``end`` closes with a date and time."""
    stop = data.find(b"\n", end + 1)
    return STAMPED.search(data[end + 1 : stop if stop >= 0 else len(data)]) is not None


def _columns(data: bytes, layout: Layout | None, stamped: bool) -> Columns:
    """Columns of a piece; needs nothing of what came before but the layout."""
    begins, ends = line_bounds(data)
    rest = np.ones(len(ends), dtype=bool)
    frame = None
    if layout is not None:
        frame = _rows(data, [*layout.names, *(STAMP if stamped else ())], len(ends), stamped)
        rest[frame["line"].to_numpy()] = False
    return Columns(frame, begins, ends, np.flatnonzero(rest))


def _rows(data: bytes, names: list[str], lines: int, stamped: bool) -> pl.DataFrame:
    """Whole rows with ``line`` and, when stamped, ``epoch``."""
    frame = read_integers(data, names, lines, stamps=stamped)
    numbers = pl.Series("line", np.arange(lines))
    if frame is None:
        picked = [(i, line) for i, line in enumerate(data.split(b"\n")) if is_row(line)]
        numbers = pl.Series("line", [i for i, _ in picked], dtype=pl.Int64)
        frame = read_integers(b"\n".join(line for _, line in picked), names, len(picked), stamps=stamped)
        if frame is None:
            return pl.DataFrame({"line": pl.Series([], dtype=pl.Int64)})
    frame = frame.with_columns(numbers).filter(whole_rows(frame, names)).drop("_extra")
    if not stamped:
        return frame
    frame = frame.with_columns(pl.Series("epoch", epochs(frame)))
    return frame.filter(pl.col("epoch").is_not_nan()).drop(STAMP)


def _pieces(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks cut at line ends into pieces that fit the processor's caches; line number 0: goes on from the last."""
    for block in blocks:
        data, begin, number = block.data, 0, block.first_line
        while len(data) - begin > 2 * PIECE:
            end = data.find(b"\n", begin + PIECE) + 1
            if not end:
                break
            yield Block(data[begin:end], number)
            begin, number = end, 0
        yield Block(data[begin:] if begin else data, number)

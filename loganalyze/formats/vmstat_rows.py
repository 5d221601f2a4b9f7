"""Rows of ``vmstat``: blocks of text to typed frames, name line by name line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from loganalyze.formats.capture import Block, Segment
from loganalyze.formats.columns import STAMP, epochs, line_bounds, read_integers, whole_rows
from loganalyze.formats.vmstat import Layout, is_row, is_title, layout_of

if TYPE_CHECKING:
    import numpy.typing as npt

_STAMPED = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[ \t]*\Z")
# Distinct name lines remembered; a text with more is damaged and only loses the shortcut.
MAX_LAYOUTS = 200


@dataclass(slots=True)
class Part:
    """Rows read under one layout: Int64 columns ``line``, the names, and ``epoch`` when stamped.

    ``headers`` are the lines of the name lines at or before these rows, ``width`` the length of the last one.
    """

    layout: Layout
    frame: pl.DataFrame
    headers: list[int] = field(default_factory=list)


class RowReader:
    """Takes blocks in order; keeps the layout from one to the next."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.parts: list[Part] = []
        self.last_row: bytes = b""
        self.width = 0
        self._layout: Layout | None = None
        self._stamped = False
        self._headers: list[int] = []
        self._known: dict[bytes, Layout | None] = {}

    def finish(self) -> RowReader:
        """End of the text."""
        return self

    def take(self, block: Block) -> None:
        """Read a block, stretch by stretch of one layout."""
        data, begin, number = block.data, 0, block.first_line
        at = data.find(b"bo ")
        while at >= 0:
            start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            end = len(data) if end < 0 else end
            layout = self._learn(data[start:end])
            if layout is not None and layout != self._layout:
                number = self._stretch(data[begin:start], number)
                begin, self._layout = start, layout
                self._stamped = layout.zone is not None or _row_is_stamped(data, end)
            at = data.find(b"bo ", end)
        self._stretch(data[begin:], number)

    def _learn(self, line: bytes) -> Layout | None:
        if line not in self._known:
            if len(self._known) >= MAX_LAYOUTS:
                self._known.clear()
            self._known[line] = layout_of(line)
        return self._known[line]

    def _stretch(self, data: bytes, first: int) -> int:
        """Read lines of one layout; returns the number of the line behind them."""
        if not data:
            return first
        begins, ends = line_bounds(data)
        frame = self._rows(data, first) if self._layout is not None else None
        rest = np.ones(len(ends), dtype=bool)
        if frame is not None:
            rest[frame["line"].to_numpy() - first] = False
        self._others(data, first, begins, ends, np.flatnonzero(rest))
        if frame is not None and frame.height and self._layout is not None:
            self.parts.append(Part(self._layout, frame, self._headers))
            self._headers = []
            last = int(frame["line"][-1]) - first
            self.last_row = data[begins[last] : ends[last]]
        return first + len(ends)

    def _rows(self, data: bytes, first: int) -> pl.DataFrame:
        assert self._layout is not None
        names = [*self._layout.names, *(STAMP if self._stamped else ())]
        frame = read_integers(data, names, stamps=self._stamped)
        numbers = None
        if frame is None:
            picked = [(i, line) for i, line in enumerate(data.split(b"\n"), first) if is_row(line)]
            numbers = [i for i, _ in picked]
            frame = read_integers(b"\n".join(line for _, line in picked), names, stamps=self._stamped)
            if frame is None:
                return pl.DataFrame({"line": pl.Series([], dtype=pl.Int64)})
        line = pl.int_range(first, first + frame.height) if numbers is None else pl.Series("line", numbers)
        frame = frame.with_columns(line.alias("line").cast(pl.Int64)).filter(whole_rows(frame, names)).drop("_extra")
        if not self._stamped:
            return frame
        frame = frame.with_columns(pl.Series("epoch", epochs(frame)))
        return frame.filter(pl.col("epoch").is_not_nan()).drop(STAMP)

    def _others(
        self,
        data: bytes,
        first: int,
        begins: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        which: npt.NDArray[np.int64],
    ) -> None:
        """Sort out the lines that are no rows: name lines, titles, blank lines; anything else goes back."""
        for at in which.tolist():
            line = data[begins[at] : ends[at]]
            if (line in self._known or b"bo " in line) and self._learn(line) is not None:
                self._headers.append(first + at)
                self.width = len(line)
                continue
            if line.strip() and not is_title(line):
                self.segment.reject(first + at, line)


def _row_is_stamped(data: bytes, end: int) -> bool:
    """True when the line behind offset ``end`` closes with a date and time."""
    stop = data.find(b"\n", end + 1)
    return _STAMPED.search(data[end + 1 : stop if stop >= 0 else len(data)]) is not None

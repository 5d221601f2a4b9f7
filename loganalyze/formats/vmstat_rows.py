"""Rows of ``vmstat``: blocks of text to typed frames, name line by name line."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from loganalyze.formats.capture import Block, Segment
from loganalyze.formats.columns import STAMP, epoch_of, epochs, line_bounds, read_integers, whole_rows
from loganalyze.formats.matrix import BLANK, COLON, DASH, FLIP, digits, narrowed, number, rows_at, turned
from loganalyze.formats.vmstat import Layout, is_row, is_title, layout_of

if TYPE_CHECKING:
    import numpy.typing as npt

STAMPED = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[ \t]*\Z")
STAMP_BYTES = 19
_PLAIN = re.compile(rb" *(?:[0-9]+ +)*[0-9]+ *\Z")
# Kinds of rows looked for in a piece: lengths, and places of cells within a length; fewer rows than this are none.
KINDS, FEW = 8, 32
MAX_WIDTH = 512
# Distinct name lines remembered; a text with more is damaged and only loses the shortcut.
MAX_LAYOUTS = 200
# Bytes read at a time (512 KiB to 4 MiB were tried on two cores: no difference in time), and how many pieces ahead.
PIECE = 1 << 20
AHEAD = 2


@dataclass(slots=True)
class Part:
    """Rows read under one layout: ``line`` (UInt32), the names (whole numbers), and ``t_s`` from ``zero_s`` when stamped.

    ``headers`` are the lines of the name lines at or before these rows, ``width`` the length of the last one.
    """

    layout: Layout
    frame: pl.DataFrame
    headers: list[int] = field(default_factory=list)
    zero_s: float = 0.0


@dataclass(slots=True)
class Columns:
    """A piece of text as columns under one layout, before its place in the source is known.

    ``frame``: whole rows, ``line`` counted from 0; None without a layout. ``headers``: lines that are the known name
    line. ``others``: which lines are neither, nor the known title.
    """

    frame: pl.DataFrame | None
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    others: npt.NDArray[np.int64]
    headers: npt.NDArray[np.int64]


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
        self._zero: float | None = None
        self._blank = 0

    def read(self, blocks: Iterable[Block]) -> RowReader:
        """Read all. Columns are made of a few pieces ahead, on the guess that no line names others."""
        pieces = _pieces(blocks)
        number = 1
        first = next(pieces, None)
        if first is not None:
            number = self._take(first.data, first.first_line or 1, None)
        waiting: deque[tuple[Block, Layout | None, Future[Columns]]] = deque()
        with ThreadPoolExecutor(AHEAD) as pool:
            while True:
                for piece in islice(pieces, AHEAD + 1 - len(waiting)):
                    job = pool.submit(_columns, piece.data, self._layout, self._stamped, self._known_lines())
                    waiting.append((piece, self._layout, job))
                if not waiting:
                    self.segment.counted = (number - 1, self._blank)
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
        made = ready or _columns(data, self._layout, self._stamped, self._known_lines())
        if not self._others(data, first, made):
            return None
        if made.frame is not None and made.frame.height and self._layout is not None:
            last = int(made.frame["line"][-1])
            self.last_row = data[made.begins[last] : made.ends[last]]
            self._keep(made.frame, first)
        return first + len(made.ends)

    def _keep(self, frame: pl.DataFrame, first: int) -> None:
        """Add rows to the parts. Columns are made one by one: a frame's own way would wait for those read ahead."""
        assert self._layout is not None
        columns = [(frame["line"] + first).cast(pl.UInt32)]
        if "epoch" in frame.columns:
            epoch = frame["epoch"]
            self._zero = float(epoch[0]) if self._zero is None else self._zero
            columns.append((epoch - self._zero).alias("t_s"))
        figures = [c for c in frame.get_columns() if c.name not in ("line", "epoch")]
        columns += [narrowed(c) if c.dtype == pl.Int64 else c for c in figures]
        self.parts.append(Part(self._layout, pl.DataFrame(columns), self._headers, self._zero or 0.0))
        self._headers = []

    def _known_lines(self) -> tuple[bytes | None, bytes | None]:
        """Title and name line that change nothing when they come again."""
        same = self._names is not None and self._learn(self._names) == self._layout
        return self._title, self._names if same else None

    def _others(self, data: bytes, first: int, made: Columns) -> bool:
        """Sort out the lines that are no rows: name lines, titles, blank lines; anything else goes back.

        False, and nothing is kept, when one names other columns than the current ones.
        """
        headers: list[int] = (first + made.headers).tolist()
        rejects: list[tuple[int, bytes]] = []
        blank = 0
        for at in made.others.tolist():
            line = data[made.begins[at] : made.ends[at]]
            if line == self._title:
                continue
            layout = self._learn(line) if line in self._known or b"bo " in line else None
            if layout is not None:
                if layout != self._layout:
                    return False
                headers.append(first + at)
                self._names, self.width = line, len(line)
            elif is_title(line):
                self._title = line
            elif line.strip():
                rejects.append((first + at, line))
            else:
                blank += 1
        self._headers += sorted(headers)
        self._blank += blank
        for at, line in rejects:
            self.segment.reject(at, line)
        return True


def _row_is_stamped(data: bytes, end: int) -> bool:
    """True when the line behind offset ``end`` closes with a date and time."""
    stop = data.find(b"\n", end + 1)
    return STAMPED.search(data[end + 1 : stop if stop >= 0 else len(data)]) is not None


def _columns(data: bytes, layout: Layout | None, stamped: bool, known: tuple[bytes | None, ...] = ()) -> Columns:
    """Columns of a piece; needs nothing of what came before but the layout. ``known``: its title and its name line."""
    begins, ends = line_bounds(data)
    rest = np.ones(len(ends), dtype=bool)
    if layout is None:
        return Columns(None, begins, ends, np.flatnonzero(rest), rest[:0])
    text = np.frombuffer(data, dtype=np.uint8)
    title, names = (_equal(text, begins, ends, line) for line in known or (None, None))
    rest[title] = rest[names] = False
    parts = _rows_by_place(data, text, begins, ends, rest, layout, stamped)
    left = np.flatnonzero(rest & (ends > begins))
    if len(left):
        lines = b"\n".join(data[begins[i] : ends[i]] for i in left.tolist())
        found = _rows(lines, [*layout.names, *(STAMP if stamped else ())], len(left), stamped)
        if found.height:
            at = left[found["line"].to_numpy()]
            rest[at] = False
            parts.append(found.with_columns(pl.Series("line", at)))
    frame = _in_order(parts)
    return Columns(frame, begins, ends, np.flatnonzero(rest), names)


def _equal(
    text: npt.NDArray[np.uint8], begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], line: bytes | None
) -> npt.NDArray[np.int64]:
    """Which lines are ``line``."""
    alike = np.flatnonzero(ends - begins == len(line)) if line else np.zeros(0, np.int64)
    if not len(alike) or line is None:
        return alike
    same = (rows_at(text, begins[alike], len(line)) ^ np.uint8(FLIP)) == np.frombuffer(line, np.uint8)
    return np.asarray(alike[same.all(axis=1)])


def _rows_by_place(
    data: bytes,
    text: npt.NDArray[np.uint8],
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    rest: npt.NDArray[np.bool_],
    layout: Layout,
    stamped: bool,
) -> list[pl.DataFrame]:
    """Rows whose cells lie where those of another row of the same length do, by such kinds; ``rest`` loses them."""
    found: list[pl.DataFrame] = []
    sizes = np.where(rest, np.minimum(ends - begins, MAX_WIDTH), 0)
    counts = np.bincount(sizes, minlength=MAX_WIDTH + 1)
    for length in np.argsort(-counts[:MAX_WIDTH], kind="stable")[:KINDS].tolist():
        lines = np.flatnonzero(sizes == length)
        for _ in range(KINDS):
            if length < len(layout.names) or len(lines) < FEW:
                break
            pattern = data[begins[lines[0]] : ends[lines[0]]]
            cells = _cells(pattern, len(layout.names), stamped)
            if cells is None:
                lines = lines[1:]
                continue
            columns, good = _read_cells(rows_at(text, begins[lines], length), cells, layout, stamped)
            taken = lines[good]
            rest[taken] = False
            found.append(pl.DataFrame([pl.Series("line", taken), *columns]))
            lines = lines[~good]
    return found


def _cells(pattern: bytes, count: int, stamped: bool) -> list[tuple[int, int]] | None:
    """Places of the numbers of a row, each from behind the one before; None when it is no plain row."""
    if stamped and not STAMPED.search(pattern):
        return None
    body = pattern[:-STAMP_BYTES] if stamped else pattern
    if not _PLAIN.match(body):
        return None
    edges = [0, *(m.end() for m in re.finditer(rb"[0-9]+", body))]
    return list(pairwise(edges)) if len(edges) == count + 1 else None


def _read_cells(
    codes: npt.NDArray[np.uint8], cells: list[tuple[int, int]], layout: Layout, stamped: bool
) -> tuple[list[pl.Series], npt.NDArray[np.bool_]]:
    """Columns of the rows that are numbers in ``cells`` and blank behind them, and which rows those are."""
    width = codes.shape[1]
    wanted = turned(codes, np.arange(width))
    good = np.ones(len(codes), dtype=bool)
    values: dict[str, npt.NDArray[Any]] = {}
    for name, (begin, end) in zip(layout.names, cells, strict=True):
        values[name], absent, fits = number(wanted[begin:end])
        good &= fits & ~absent
        if end < width:
            good &= wanted[end] == BLANK
    if stamped:
        values["epoch"] = _stamp_seconds(wanted[-STAMP_BYTES:])
        good &= ~np.isnan(values["epoch"])
        good &= (wanted[cells[-1][1] : -STAMP_BYTES] == BLANK).all(axis=0)
    else:
        good &= (wanted[cells[-1][1] :] == BLANK).all(axis=0)
    if not good.all():
        values = {name: v[good] for name, v in values.items()}
    return [pl.Series(n, v) if n == "epoch" else narrowed(pl.Series(n, v)) for n, v in values.items()], good


def _stamp_seconds(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Seconds since 1970 of ``YYYY-MM-DD HH:MM:SS``; nan where it is no such stamp."""
    marks = codes[[4, 7, 10, 13, 16]] == np.array([[DASH], [DASH], [BLANK], [COLON], [COLON]], np.uint8)
    parts = [digits(codes[a:b]) for a, b in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))]
    good = marks.all(axis=0)
    for _, fits in parts:
        good &= fits
    return np.where(good, epoch_of(*(v for v, _ in parts)), np.nan)


def _in_order(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Rows of all parts by line."""
    if not parts:
        return pl.DataFrame({"line": pl.Series([], dtype=pl.Int64)})
    if len(parts) == 1:
        return parts[0]
    frame = pl.concat(parts, how="vertical_relaxed")
    return frame[np.argsort(frame["line"].to_numpy(), kind="stable")]


def _rows(data: bytes, names: list[str], lines: int, stamped: bool) -> pl.DataFrame:
    """Whole rows of any shape with ``line`` and, when stamped, ``epoch``."""
    frame = read_integers(data, names, lines, stamps=stamped)
    numbers = pl.Series("line", np.arange(lines))
    if frame is None:
        picked = [(i, line) for i, line in enumerate(data.split(b"\n")) if is_row(line)]
        numbers = pl.Series("line", [i for i, _ in picked], dtype=pl.Int64)
        frame = read_integers(b"\n".join(line for _, line in picked), names, len(picked), stamps=stamped)
        if frame is None:
            return pl.DataFrame({"line": pl.Series([], dtype=pl.Int64)})
    frame = frame.with_columns(numbers).filter(whole_rows(frame, names)).drop("_extra")
    if stamped:
        frame = frame.with_columns(pl.Series("epoch", epochs(frame)))
        frame = frame.filter(pl.col("epoch").is_not_nan()).drop(STAMP)
    order = ["line", *(n for n in names if n not in STAMP), *(["epoch"] if stamped else [])]
    return frame.select(order)


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

"""Bodies of nvidia-smi CSV with polars: blocks of text to typed columns, with every row that does not fit given back."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from loganalyze.formats.capture_ahead import ahead
from loganalyze.formats.nvidia_fields import Field, parse_header
from loganalyze.formats.nvidia_infer import SAMPLE_ROWS, infer
from loganalyze.formats.nvidia_messages import is_message
from loganalyze.formats.nvidia_row import read_row, split_cells
from loganalyze.formats.nvidia_types import Parsed, Series, card_names, parse_text

if TYPE_CHECKING:
    import polars as pl

    from loganalyze.formats.capture import Block, Segment
    from loganalyze.model.records import Capture

# Rows under one header before a repeat of it counts as a restart: a loop around a single shot prints 16 cards at most.
ONE_TICK = 16


def read_series(segment: Segment) -> list[Capture]:
    """Captures of a segment: one a set of columns, see ``nvidia_csv``."""
    from loganalyze.formats.nvidia_ticks import finish

    reader = _Reader(segment)
    held: tuple[Block, Parsed | None] | None = None
    for item in ahead(segment, reader.prepare, workers=2):
        if held is not None:
            reader.block(*held, last=False)
        held = item
    if held is not None:
        reader.block(*held, last=True)
    segment.counted = (reader.line - segment.first_line, reader.blank)
    return [c for s in reader.series if (c := finish(s, segment)) is not None]


class _Reader:
    """``current`` is the series that rows belong to, ``line`` the number of the next line."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.series: list[Series] = []
        self.current: Series | None = None
        self.line = segment.first_line
        self.blank = 0

    def prepare(self, block: Block) -> Parsed | None:
        """Parse a block ahead, as if the present columns went on; the outcome is used only if they do."""
        current = self.current
        return parse_text(block.data, current.fields) if current is not None else None

    def block(self, block: Block, done: Parsed | None, last: bool) -> None:
        data, tail = block.data, b""
        if last and self.segment.last_line_cut and data and not data.endswith(b"\n"):
            cut = data.rfind(b"\n") + 1
            data, tail = data[:cut], data[cut:]
            done = None
        while data:
            if self.current is None:
                data = self._begin(data)
            else:
                fits = done is not None and done.fields is self.current.fields
                data = self._piece(data, done if fits and done is not None else parse_text(data, self.current.fields))
            done = None
        if tail:
            self._cut_line(tail, self.line)
            self.line += 1

    def _piece(self, data: bytes, parsed: Parsed) -> bytes:
        """Take rows until other columns begin; what is left behind their header."""
        series = self.current
        assert series is not None
        if not series.names:
            series.names.update(card_names(data, series.fields))
        lines = data.split(b"\n") if parsed.bad else []
        rescued: list[dict[str, Any]] = []
        skip: list[int] = []
        begin = 0
        for at in parsed.bad:
            skip.append(at)
            fields = parse_header(lines[at])
            if fields is None:
                self._odd(self.line + at, lines[at], series, rescued)
            elif fields == series.fields and not self._is_restart(series, at - begin):
                series.headers += 1
            else:
                self._add(series, parsed, skip, rescued, begin, at)
                rescued, skip, begin = [], [], at + 1
                series = self._open(fields)
                if fields != parsed.fields:
                    self.line += at + 1
                    return b"\n".join(lines[at + 1 :])
        self._add(series, parsed, skip, rescued, begin, len(parsed.frame))
        series.missing += parsed.missing
        self.line += len(parsed.frame)
        return b""

    def _open(self, fields: list[Field]) -> Series:
        """The series of a header: one with stamps goes on where it stopped, else a new one."""
        found = next((s for s in self.series if s.fields == fields and s.stamped), None)
        if found is None:
            found = Series(fields)
            self.series.append(found)
        found.headers += 1
        self.current = found
        return found

    def _is_restart(self, series: Series, seen: int) -> bool:
        """A repeated header of rows without stamps, more than one tick behind the last, hides a gap of unknown length."""
        rows, series.since_header = series.since_header + seen, -seen - 1
        return not series.stamped and rows > ONE_TICK

    def _begin(self, data: bytes) -> bytes:
        """Find the first header or row; what is left to read."""
        lines = data.split(b"\n", SAMPLE_ROWS)
        for at, line in enumerate(lines[:SAMPLE_ROWS]):
            fields = parse_header(line)
            if fields is not None:
                self._open(fields)
                self.line += at + 1
                return b"\n".join(lines[at + 1 :])
            if b"," in line or (line.strip() and not is_message(line)):
                self._infer(lines[at:SAMPLE_ROWS])
                self.line += at
                return b"\n".join(lines[at:])
            if line.strip():
                self._message(line)
                self.segment.reject(self.line + at, line)
            else:
                self.blank += 1
        self.line += len(lines) - 1
        return lines[-1]

    def _infer(self, lines: list[bytes]) -> None:
        full = [x for x in lines if x.strip()]
        rows = [split_cells(x) for x in [x for x in full if not is_message(x)] or full]
        width = Counter(map(len, rows)).most_common(1)[0][0]
        fields, notes = infer([r for r in rows if len(r) == width])
        self.current = Series(fields, notes=[*notes, "no header: columns told by their cells"])
        self.series.append(self.current)

    def _message(self, line: bytes) -> None:
        text = line.strip()[:200].decode("utf-8", "replace")
        target = self.series[-1].notes if self.series else self.segment.source.notes
        if text not in target and len(target) < 50:
            target.append(text)

    def _odd(self, number: int, line: bytes, series: Series, rescued: list[dict[str, Any]]) -> None:
        if not line.strip():
            self.blank += 1
            return
        row = read_row(line, series.fields)
        if row is not None:
            rescued.append({"line": number, **row})
            return
        if is_message(line):
            self._message(line)
        self.segment.reject(number, line)

    def _add(
        self, series: Series, parsed: Parsed, skip: list[int], rescued: list[dict[str, Any]], begin: int, end: int
    ) -> None:
        """Give ``series`` the rows ``begin`` to ``end`` of a parsed text, less ``skip``, and those read one by one."""
        import numpy as np
        import polars as pl

        numbers = pl.Series("line", np.arange(self.line + begin, self.line + end, dtype=np.uint32))
        frame = parsed.frame.slice(begin, end - begin).insert_column(0, numbers)
        if skip:
            frame = frame.filter(~pl.col("line").is_in([self.line + at for at in skip]))
        if rescued:
            frame = pl.concat([frame, _rows(rescued)], how="diagonal_relaxed").sort("line")
        if len(frame):
            series.add(frame)
        series.since_header += end - begin

    def _cut_line(self, line: bytes, number: int) -> None:
        """The last line without a line end: a row only when its last cell proves to be whole."""
        if not line.strip():
            self.blank += 1
            return
        if self.current is None and parse_header(line) is None:
            self._infer([line])
        series = self.current
        if series is None or parse_header(line) is not None:
            return
        row = read_row(line, series.fields, whole=True)
        if row is not None:
            series.add(_rows([{"line": number, **row}]))
            return
        series.notes.append(f"line {number} is cut off at the end of the file: row dropped")
        self.segment.reject(number, line)


def _rows(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("line").cast(pl.UInt32))

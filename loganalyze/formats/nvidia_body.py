"""Bodies of nvidia-smi CSV with polars: blocks of text to typed columns, with every row that does not fit given back."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from loganalyze.formats.capture_ahead import ahead
from loganalyze.formats.nvidia_fast import clean, suits
from loganalyze.formats.nvidia_fields import parse_header
from loganalyze.formats.nvidia_infer import SAMPLE_ROWS, infer
from loganalyze.formats.nvidia_messages import is_message
from loganalyze.formats.nvidia_row import read_row, split_cells
from loganalyze.formats.nvidia_types import Series, read_block, targets

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
    held: tuple[Block, bytes | None] | None = None
    for item in ahead(segment, reader.prepare):
        if held is not None:
            reader.block(*held, last=False)
        held = item
    if held is not None:
        reader.block(*held, last=True)
    return [c for s in reader.series if (c := finish(s, segment)) is not None]


class _Reader:
    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.series: list[Series] = []

    def prepare(self, block: Block) -> bytes | None:
        """What can be done to a block while the one before is parsed."""
        series = self.series[-1] if self.series else None
        return clean(block.data) if series is not None and suits(series.fields, targets(series.fields)) else None

    def block(self, block: Block, cleaned: bytes | None, last: bool) -> None:
        data, first = block.data, block.first_line
        tail = b""
        if last and self.segment.last_line_cut and data and not data.endswith(b"\n"):
            cut = data.rfind(b"\n") + 1
            data, tail = data[:cut], data[cut:]
            cleaned = None
        while data:
            data, first = self._piece(data, first, cleaned)
            cleaned = None
        if tail:
            self._cut_line(tail, first)

    def _piece(self, data: bytes, first: int, cleaned: bytes | None) -> tuple[bytes, int]:
        """Read until another set of columns begins; what is left, and its first line."""
        if not self.series:
            data, first = self._begin(data, first)
            if not data:
                return b"", first
        series = self.series[-1]
        frame, bad = read_block(data, first, series, cleaned)
        lines = data.split(b"\n") if bad else []
        rescued: list[dict[str, Any]] = []
        end = len(frame)
        restart = False
        for at in bad:
            fields = parse_header(lines[at])
            if fields is None:
                self._odd(first + at, lines[at], series, rescued)
            elif fields == series.fields and not self._is_restart(series, frame, at):
                series.headers += 1
            else:
                end, restart = at, True
                self.series.append(Series(fields, headers=1))
                break
        self._add(series, frame, bad, rescued, end, first)
        if not restart:
            return b"", first + len(frame)
        return b"\n".join(lines[end + 1 :]), first + end + 1

    def _is_restart(self, series: Series, frame: pl.DataFrame, at: int) -> bool:
        """A repeated header of rows without stamps, more than one tick behind the last, hides a gap of unknown length."""
        seen = series.since_header + at
        series.since_header = -at - 1
        return not series.stamped and seen > ONE_TICK

    def _begin(self, data: bytes, first: int) -> tuple[bytes, int]:
        lines = data.split(b"\n", SAMPLE_ROWS)
        for at, line in enumerate(lines[:SAMPLE_ROWS]):
            fields = parse_header(line)
            if fields is not None:
                self.series.append(Series(fields, headers=1))
                return data[sum(len(x) + 1 for x in lines[: at + 1]) :], first + at + 1
            if b"," in line or (line.strip() and not is_message(line)):
                self._infer(lines[at:SAMPLE_ROWS])
                return data[sum(len(x) + 1 for x in lines[:at]) :], first + at
            if line.strip():
                self._message(line)
        return b"", first + len(lines)

    def _infer(self, lines: list[bytes]) -> None:
        rows = [split_cells(x) for x in lines if x.strip() and not is_message(x)]
        width = Counter(map(len, rows)).most_common(1)[0][0]
        fields, notes = infer([r for r in rows if len(r) == width])
        self.series.append(Series(fields, notes=[*notes, "no header: columns told by their cells"]))

    def _message(self, line: bytes) -> None:
        text = line.strip()[:200].decode("utf-8", "replace")
        target = self.series[-1].notes if self.series else self.segment.source.notes
        if text not in target and len(target) < 50:
            target.append(text)

    def _odd(self, number: int, line: bytes, series: Series, rescued: list[dict[str, Any]]) -> None:
        if not line.strip():
            return
        row = read_row(line, series.fields)
        if row is not None:
            rescued.append({"line": number, **row})
            return
        if is_message(line):
            self._message(line)
        self.segment.reject(number, line)

    def _add(
        self,
        series: Series,
        frame: pl.DataFrame,
        bad: list[int],
        rescued: list[dict[str, Any]],
        end: int,
        first: int,
    ) -> None:
        import polars as pl

        if bad:
            keep = [at for at in bad if at < end]
            frame = frame.head(end).filter(~pl.col("line").is_in([first + at for at in keep]))
        if rescued:
            extra = pl.DataFrame(rescued, infer_schema_length=None).with_columns(pl.col("line").cast(pl.UInt32))
            frame = pl.concat([frame, extra], how="diagonal_relaxed").sort("line")
        if len(frame):
            series.frames.append(frame)
            series.since_header += len(frame)

    def _cut_line(self, line: bytes, number: int) -> None:
        if not line.strip():
            return
        if not self.series:
            self._begin(line + b"\n", number)
        series = self.series[-1] if self.series else None
        fields = parse_header(line)
        row = read_row(line, series.fields, whole=True) if series is not None and fields is None else None
        if series is not None and row is not None:
            self._add(series, _empty(series), [], [{"line": number, **row}], 0, number)
            return
        if series is not None and fields is None:
            series.notes.append(f"line {number} is cut off at the end of the file: row dropped")
        if fields is None:
            self.segment.reject(number, line)


def _empty(series: Series) -> pl.DataFrame:
    return read_block(b"\n", 1, series)[0].head(0)

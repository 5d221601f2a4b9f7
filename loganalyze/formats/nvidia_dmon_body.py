"""Bodies of dmon: equal rows as a byte matrix that polars reads as digits, odd rows one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from loganalyze.formats.capture_ahead import ahead
from loganalyze.formats.nvidia_dmon import is_header
from loganalyze.formats.nvidia_dmon_columns import Table, table_of
from loganalyze.formats.nvidia_messages import is_message
from loganalyze.numerals import is_whole

if TYPE_CHECKING:
    from loganalyze.formats.capture import Block, Segment
    from loganalyze.formats.nvidia_dmon_matrix import Parsed
    from loganalyze.model.records import Capture

_WORDS = re.compile(rb"[^\s,]+")


def read_dmon(segment: Segment) -> list[Capture]:
    """Captures of a segment: one a set of columns, see ``nvidia_dmon``."""
    from loganalyze.formats.nvidia_dmon_finish import finish

    reader = _Reader(segment)
    for block, done in ahead(segment, reader.prepare):
        reader.block(block.data, done)
    reader.end()
    segment.counted = (reader.line - segment.first_line, reader.blank)
    return [c for t in reader.tables if (c := finish(t, segment)) is not None]


class _Reader:
    """``line`` is the number of the next line."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.tables: list[Table] = []
        self.line = segment.first_line
        self.blank = 0
        self._tail: bytes | None = None

    def prepare(self, block: Block) -> Parsed | None:
        """Parse a block ahead if it holds no header but the present one."""
        from loganalyze.formats.nvidia_dmon_matrix import parse_rows

        table = self.tables[-1] if self.tables else None
        if table is None or not block.data.endswith(b"\n") or next_header(block.data, 0, table) < len(block.data):
            return None
        return parse_rows(block.data, table)

    def block(self, data: bytes, done: Parsed | None) -> None:
        if not data.endswith(b"\n"):
            cut = data.rfind(b"\n") + 1
            data, self._tail = data[:cut], data[cut:]
        if done is not None and done.table is self.tables[-1]:
            self._rows(data, done)
            return
        at = 0
        while at < len(data):
            stop = next_header(data, at, self.tables[-1] if self.tables else None)
            if stop > at:
                self._rows(data[at:stop], None)
            at = self._header(data, stop) if stop < len(data) else stop

    def end(self) -> None:
        """A last line without a line end is whole only if a blank follows its last number."""
        line = self._tail
        if line is None:
            return
        number, self.line = self.line, self.line + 1
        if not line.strip():
            self.blank += 1
        if not line.strip() or is_header(line):
            return
        table = self.tables[-1] if self.tables else None
        row = read_row(line, table) if table is not None and line.endswith(b" ") else None
        if table is not None and row is not None:
            from loganalyze.formats.nvidia_dmon_matrix import frame_of_rows

            table.add(frame_of_rows([{"line": number, **row}], table))
            return
        if table is not None:
            table.notes.append(f"line {number} is cut off at the end of the file: row dropped")
        self.segment.reject(number, line)

    def _header(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        line = data[at:end]
        table = table_of(line)
        current = self.tables[-1] if self.tables else None
        if current is not None and (current.columns == table.columns or _unit_line_of(current, table)):
            current.known.add(line)
        elif current is not None and not current.named and table.named and len(current.columns) == len(table.columns):
            current.columns, current.named = table.columns, True
            current.known.add(line)
        else:
            self.tables.append(table)
        self.line += 1
        return end + 1

    def _rows(self, data: bytes, done: Parsed | None) -> None:
        from loganalyze.formats.nvidia_dmon_matrix import frame_of_rows, numbered, parse_rows

        first = self.line
        if not self.tables:
            for at, line in enumerate(data.split(b"\n")[:-1]):
                self._no_table(first + at, line)
            self.line += data.count(b"\n")
            return
        table = self.tables[-1]
        parsed = done if done is not None else parse_rows(data, table)
        rows = [r for at, line in parsed.odd if (r := self._odd(first + at, line, table)) is not None]
        if rows:
            table.add(frame_of_rows(rows, table))
        if len(parsed.frame):
            table.add(numbered(parsed, first))
        self.line += parsed.lines

    def _no_table(self, number: int, line: bytes) -> None:
        if not line.strip():
            self.blank += 1
            return
        if is_message(line):
            self.segment.source.notes.append(line.strip()[:200].decode("utf-8", "replace"))
        self.segment.reject(number, line)

    def _odd(self, number: int, line: bytes, table: Table) -> dict[str, Any] | None:
        """Cells of a row of another length, or None for blank lines, known headers and what is no row."""
        self.blank += not line.strip()
        if not line.strip() or line in table.known:
            return None
        row = read_row(line, table)
        if row is not None:
            return {"line": number, **row}
        if is_message(line) and len(table.notes) < 50:
            table.notes.append(line.strip()[:200].decode("utf-8", "replace"))
        self.segment.reject(number, line)
        return None


def next_header(data: bytes, at: int, table: Table | None) -> int:
    """Offset of the first header line from ``at`` on that ``table`` does not know, or the length of ``data``."""
    known = table.known if table is not None else set()
    while at < len(data):
        mark = data.find(b"#", at)
        if mark < 0:
            break
        begin = max(data.rfind(b"\n", at, mark) + 1, at)
        end = data.find(b"\n", mark)
        line = data[begin : end if end >= 0 else len(data)]
        if line not in known and is_header(line):
            return begin
        at = begin + len(line) + 1
    return len(data)


def _unit_line_of(current: Table, other: Table) -> bool:
    """A unit line under a names line announces as many columns."""
    return current.named and not other.named and len(current.columns) == len(other.columns)


def read_row(line: bytes, table: Table) -> dict[str, Any] | None:
    """Cells by position name (``date``, ``time`` as printed), or None when the line is no row of ``table``."""
    words = _WORDS.findall(line.replace(b"^C", b" "))
    if len(words) != len(table.columns) or not table.targets:
        return None
    row: dict[str, Any] = {}
    for name, at in {**table.targets, **_stamps(table)}.items():
        word = words[at].decode("ascii", "replace")
        if name in ("date", "time"):
            row[name] = word
        elif is_whole(word, 9):
            row[name] = int(word)
        elif word == "-" and name != "device":
            row[name] = None
        else:
            return None
    return row if _stamp_fits(row) else None


def _stamps(table: Table) -> dict[str, int]:
    return {n: table.columns.index(n) for n in ("date", "time") if n in table.columns}


def _stamp_fits(row: dict[str, Any]) -> bool:
    date, time = row.get("date"), row.get("time")
    return (date is None or re.fullmatch(r"[0-9]{8}", date) is not None) and (
        time is None or re.fullmatch(r"[0-9]{2}:[0-9]{2}:[0-9]{2}", time) is not None
    )

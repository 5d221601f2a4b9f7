"""Captures pasted into a log: a table of ``nvidia-smi``, rows of ``vmstat`` or ``free`` between lines of a server.

A capture is found by its head line (output of ``time`` is read by the log's own rules), and its rows are taken where they
stand: those that follow without another program's line between them. Rows that other lines interrupt go on after the next
head line, which these tools repeat.
"""

from __future__ import annotations

from loganalyze.model.records import Capture, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.capture import CaptureFormat
    from loganalyze.scan.line import Line
    from loganalyze.scan.lines import Scanner

HEADS = (
    b"| NVIDIA-SMI ",
    b"memory.used [MiB]",
    b"utilization.gpu [%]",
    b"power.draw [W]",
    b"used_gpu_memory [MiB]",
    b"====NVSMI LOG",
    b"#Date  ",
    b"# gpu  ",
    b"procs ---",
    b"total        used",
)
# Lines held of all captures of one log; about 0.3 KB each.
MAX_LINES = 50_000
FULL_NOTE = f"only the first {MAX_LINES} lines of captures inside this log were read"


class Embedded:
    """Captures of one log, collected while it is read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines: list[Line] = []

    def take(self, line: Line, scanner: Scanner) -> bool:
        """Take ``line`` and the rows behind it if it is the head of a capture."""
        if not any(head in line.text for head in HEADS):
            return False
        from loganalyze.formats.capture_segments import format_of

        form = format_of(line.text)
        if form is None:
            return False
        self._keep([line, *scanner.take_while(_rows_of(form, line))])
        return True

    def captures(self) -> list[Capture]:
        """All that was taken, parsed."""
        if not self._lines:
            return []
        from loganalyze.formats.capture_reader import embedded

        return embedded(self._lines, self._source)

    def _keep(self, lines: list[Line]) -> None:
        room = MAX_LINES - len(self._lines)
        self._lines += lines[: max(room, 0)]
        if len(lines) > room and FULL_NOTE not in self._source.notes:
            self._source.notes.append(FULL_NOTE)


class _rows_of:  # noqa: N801 - a function with a memory
    """Whether the next line is one more row of the capture that ``head`` begins."""

    def __init__(self, form: CaptureFormat, head: Line) -> None:
        self._form = form
        self._tail = getattr(form, "tail_belongs", None)
        self._before = [head.text]

    def __call__(self, line: Line) -> bool:
        text = line.text
        if text.strip():
            belongs = self._tail(text, self._before) if self._tail is not None else self._form.belongs(text)
        else:
            # One blank line may part two tables of a capture, a second one ends it.
            belongs = bool(self._before[-1].strip())
        if belongs and len(self._before) < MAX_LINES:
            self._before.append(text)
            return True
        return False

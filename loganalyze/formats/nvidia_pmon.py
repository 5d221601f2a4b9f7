"""``nvidia-smi pmon``: one row a process and second, ``-`` rows for idle cards; text or ``--format csv``.

``# gpu pid type sm mem ... command`` and a unit line head the rows and repeat. ``fb`` (MiB of the process) only with
``-s m``. The command is cut to 15 characters. ``-o D|T|DT`` as for dmon: local, 1 s, no zone. Utilisation is the mean
since the last tick, memory the moment's. Rows of idle cards keep their tick, with nothing but the card's number.
"""

from __future__ import annotations

import re

from loganalyze.formats.nvidia_dmon import is_header
from loganalyze.formats.nvidia_dmon_columns import header_cells
from loganalyze.formats.nvidia_messages import is_message
from loganalyze.model.records import Capture, CaptureKind
from loganalyze.numerals import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.capture import Segment

NAME = "nvidia_pmon"
KIND: CaptureKind = "gpu_process"
GRAMMARS = ("nvidia",)
HINT = rb"\s*#"
HINT_ALONE = True

_ROW = re.compile(
    rb"^\s*(?:[0-9]{8},?\s+)?(?:[0-9]{2}:[0-9]{2}:[0-9]{2},?\s+)?[0-9]{1,3},?\s+(?:-|[0-9]+),?\s+(?:-|[CGM](?:\+[CGM])*)[\s,]"
)
_METRICS = {"sm": "gpu_util_pct", "mem": "mem_util_pct", "fb": "vram_used_mib"}


def starts(line: bytes) -> bool:
    return b"#" in line and is_header(line) and (b"pid" in line or b"C/G" in line)


def belongs(line: bytes) -> bool:
    return bool(_ROW.match(line)) or starts(line) or is_message(line)


def parse(segment: Segment) -> list[Capture]:
    from loganalyze.formats.capture import capture_from_rows

    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    lines = list(segment.lines())
    last = lines[-1][0] if lines and segment.last_line_cut else None
    for number, line in lines:
        if not line.strip():
            continue
        if starts(line):
            cells = header_cells(line)
            columns = cells if "pid" in cells else columns
            continue
        row = read_row(line, columns) if number != last else None
        if row is not None:
            rows.append({"line": number, **row})
        else:
            if number == last:
                notes.append(f"line {number} is cut off at the end of the file: row dropped")
            segment.reject(number, line)
    times, facts = _times(rows)
    _ticks(rows)
    capture = capture_from_rows(NAME, KIND, segment, rows, times=times, resolution_s=1.0, dialect="pmon")
    if capture is None:
        return []
    if capture.clock.kind == "none":
        facts["default_interval_s"] = 1.0
    capture.facts, capture.notes = facts, notes
    return [capture]


def read_row(line: bytes, columns: list[str]) -> dict[str, Any] | None:
    """Cells of a row by metric; ``date`` and ``time`` as printed; None when the line does not fit ``columns``."""
    if not columns:
        return None
    text = line.decode("utf-8", "replace").strip()
    cells = [c.strip() for c in text.split(",")] if "," in text else text.split(None, len(columns) - 1)
    if len(cells) != len(columns):
        return None
    named = dict(zip(columns, cells, strict=True))
    if not is_whole(named.get("gpu", "")):
        return None
    row: dict[str, Any] = {"device": int(named["gpu"]), "pid": _int(named.get("pid"))}
    command = named.get("command", named.get("name"))
    row["process"] = None if command in (None, "-") else command
    for name, metric in _METRICS.items():
        if name in named:
            row[metric] = _int(named[name])
    row |= {k: named[n] for n, k in (("Date", "date"), ("Time", "time")) if n in named}
    return row


def _int(cell: str | None) -> int | None:
    return int(cell) if cell is not None and is_whole(cell) else None


def _times(rows: list[dict[str, Any]]) -> tuple[list[float | None], dict[str, Any]]:
    """Epoch seconds of rows with a date and a time; the two cells are taken out of the rows."""
    from loganalyze.formats.capture_stamps import stamp_line

    facts: dict[str, Any] = {}
    times: list[float | None] = []
    for row in rows:
        date, time = row.pop("date", None), row.pop("time", None)
        if time is not None and date is None:
            facts.setdefault("first_time_of_day", time)
        stamp = None
        if date is not None and time is not None and len(date) == 8:
            stamp = stamp_line(f"{date[:4]}-{date[4:6]}-{date[6:]} {time}".encode())
        times.append(stamp.epoch_s if stamp else None)
    return times, facts


def _ticks(rows: list[dict[str, Any]]) -> None:
    """A tick begins when the card number falls or a process comes again."""
    tick, seen, card = -1, set[tuple[int, object]](), -1
    for row in rows:
        key = (row["device"], row["pid"])
        if tick < 0 or row["device"] < card or key in seen:
            tick += 1
            seen.clear()
        seen.add(key)
        card = row["device"]
        row["row"] = tick

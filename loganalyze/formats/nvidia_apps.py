"""``nvidia-smi --query-compute-apps=...`` (and ``--query-accounted-apps``): one row a process, card and tick.

No rows while no process runs: a header alone means "none". Names are not quoted and may hold commas: cells are counted
from both ends. ``used_gpu_memory`` is MiB, ``[N/A]`` for every process of Windows (WDDM). The stamp, if asked for, is
local, 1 ms, no zone. Cards are numbered in the order in which their ids appear; without an id column ``device`` is null.
"""

from __future__ import annotations

import re
from collections import Counter

from loganalyze.formats.nvidia_csv import is_apps_header
from loganalyze.formats.nvidia_fields import HEADER_HINT, Field, parse_header
from loganalyze.formats.nvidia_messages import is_message
from loganalyze.model.records import Capture, CaptureKind
from loganalyze.numerals import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.capture import Segment

NAME = "nvidia_smi_apps"
KIND: CaptureKind = "gpu_process"
GRAMMARS = ("nvidia",)
HINT = HEADER_HINT + rb"|[^,]*,"
HINT_ALONE = True

# A row without a header: a process id of two digits or more, a path or program, its memory.
_ROW = re.compile(
    rb"^\s*(?:[0-9/]{10} [0-9:.]{12}, )?(?:[^,]{1,80}, ){0,2}[0-9]{2,10}, (?=[^,]{0,300}[/\\]|[^,]{1,60}\.exe)[^0-9].{0,1000}, "
    rb"(?:[0-9]+ MiB|\[[^\]]{1,40}\])\s*$"
)
_BARE = (Field("pid"), Field("process_name"), Field("used_gpu_memory", "MiB"))


def starts(line: bytes) -> bool:
    fields = parse_header(line)
    if fields is not None:
        return is_apps_header(fields)
    return b"," in line and len(line) < 4096 and bool(_ROW.match(line))


def belongs(line: bytes) -> bool:
    if is_message(line):
        return True
    if line.count(b",") < 1:
        return False
    fields = parse_header(line)
    return fields is None or is_apps_header(fields)


def parse(segment: Segment) -> list[Capture]:
    from loganalyze.formats.nvidia_row import complete, read_row

    fields: list[Field] = []
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    lines = [(n, x) for n, x in segment.lines() if x.strip()]
    for number, line in lines:
        header = parse_header(line)
        if header is not None:
            fields = header
            continue
        fields = fields or _infer(line)
        cut = segment.last_line_cut and number == lines[-1][0]
        row = read_row(line, fields)
        if row is None or (cut and not complete(line.rsplit(b",", 1)[-1].strip().decode("utf-8", "replace"))):
            if cut:
                notes.append(f"line {number} is cut off at the end of the file: row dropped")
            elif is_message(line):
                notes.append(line.strip()[:200].decode("utf-8", "replace"))
            segment.reject(number, line)
            continue
        rows.append({"line": number, **row})
    return _captures(segment, rows, notes)


def _infer(line: bytes) -> list[Field]:
    """Columns of rows without a header: stamp and id are told by their cells, what stands between is not used."""
    cells = [c.strip() for c in line.decode("utf-8", "replace").split(",")]
    at = next((i for i, c in enumerate(cells) if is_whole(c)), 0)
    lead = [
        Field("timestamp") if "/" in c else Field("uuid") if c.startswith("GPU-") else Field("?") for c in cells[:at]
    ]
    return [*lead, *_BARE]


def _captures(segment: Segment, rows: list[dict[str, Any]], notes: list[str]) -> list[Capture]:
    from loganalyze.formats.capture import capture_from_rows

    if not rows:
        notes.append("no process was using a card")
        return [Capture(KIND, NAME, segment.source, segment=segment.number, notes=notes)]
    ids: dict[str, int] = {}
    times: list[float | None] = []
    missing: Counter[str] = Counter()
    for row in rows:
        ms, card = row.pop("_ms", None), row.pop("_id", None)
        times.append(ms / 1000 if ms is not None else None)
        row["device"] = ids.setdefault(card, len(ids)) if card is not None else None
        missing["vram_used_mib"] += row.get("vram_used_mib") is None and "vram_used_mib" in row
    _ticks(rows, times)
    capture = capture_from_rows(NAME, KIND, segment, rows, times=times, resolution_s=0.001, dialect="csv")
    assert capture is not None
    capture.notes = [*notes, *(f"{n} x missing in {c}" for c, n in missing.items() if n)]
    return [capture]


def _ticks(rows: list[dict[str, Any]], times: list[float | None]) -> None:
    """A tick begins when a process of a card comes again, or more than half a second after the row before."""
    tick, seen = 0, set[tuple[object, object]]()
    before: float | None = None
    for row, time in zip(rows, times, strict=True):
        key = (row["device"], row.get("pid"))
        late = time is not None and before is not None and time - before > 0.5
        if key in seen or late:
            tick += 1
            seen.clear()
        seen.add(key)
        before = time
        row["row"] = tick

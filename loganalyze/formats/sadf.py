"""``sadf -d`` (semicolons), ``sadf -p`` (tabs) and ``sadf -j``, ``iostat -o JSON`` (sysstat 12).

Times are UTC when marked so (the default), local without a mark with ``-T``, epoch seconds with ``-U``. Of CPUs the
row of all (-1) counts, disks are summed.
"""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture import Segment, capture_from_rows
from loganalyze.formats.capture_stamps import stamp_line
from loganalyze.grammar.match import Matcher
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "sadf"
KIND: CaptureKind = "host"
GRAMMARS = ("sysstat",)
HINT = rb"\s*\{"

_ROW = re.compile(rb"[^;\s]{1,100};-?\d{1,9};(\d[^;]{8,30});[^\n]*\Z")
_JSON = re.compile(rb'\s*\{\s*"sysstat"\s*:')
_INSIDE_JSON = re.compile(rb'\s*[{}\[\]"]')
_LONGEST = 8000
# JSON path (group, key) -> column name of the text form
_KEYS = {
    ("swap-pages", "pswpin"): "pswpin/s", ("swap-pages", "pswpout"): "pswpout/s", ("paging", "pgpgin"): "pgpgin/s",
    ("paging", "pgpgout"): "pgpgout/s", ("paging", "majflt"): "majflt/s", ("memory", "memfree"): "kbmemfree",
    ("memory", "avail"): "kbavail", ("memory", "memused"): "kbmemused", ("memory", "buffers"): "kbbuffers",
    ("memory", "cached"): "kbcached", ("memory", "swpfree"): "kbswpfree", ("memory", "swpused"): "kbswpused",
    ("queue", "runq-sz"): "runq-sz", ("queue", "blocked"): "blocked",
    ("process-and-context-switch", "cswch"): "cswch/s",
}  # fmt: skip
_CPU = {"user": "%user", "usr": "%usr", "system": "%system", "sys": "%sys", "iowait": "%iowait", "steal": "%steal",
        "idle": "%idle"}  # fmt: skip


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def _rule(line: bytes) -> Any:
    found = _matcher().match(line) if len(line) <= _LONGEST else None
    return found if found is not None and found.rule.name in ("sadf_names", "sadf_pair") else None


def starts(line: bytes) -> bool:
    return (b"interval;timestamp" in line or b"\t-\t" in line or b"sysstat" in line) and (
        _rule(line) is not None or bool(_JSON.match(line))
    )


def belongs(line: bytes) -> bool:
    return bool(_ROW.match(line) or _INSIDE_JSON.match(line)) or starts(line)


def parse(segment: Segment) -> list[Capture]:
    """One capture a table (``-d``), or one of all figures (``-p``, ``-j``)."""
    first = next((line for _, line in segment.lines() if line.strip()), b"")
    if _JSON.match(first):
        return _json(segment)
    tables: dict[str, list[tuple[int, str, dict[str, str]]]] = {}
    names: list[str] = []
    for number, raw in segment.lines():
        line = raw.decode("utf-8", "replace").strip()
        found = _rule(raw) if line else None
        row = _ROW.match(raw)
        if found is not None and found.rule.name == "sadf_names":
            names = found.fields["sadf_columns"][1:].split(";")
        elif found is not None:
            _pair(tables.setdefault("pairs", []), number, found.fields)
        elif row and names and len(cells := line.split(";")[3:]) == len(names):
            table = tables.setdefault(";".join(names), [])
            table.append((number, row[1].decode("utf-8", "replace"), dict(zip(names, cells, strict=True))))
        elif line:
            segment.reject(number, raw)
    made = [_capture(segment, rows) for rows in tables.values()]
    return [capture for capture in made if capture is not None]


def _pair(rows: list[tuple[int, str, dict[str, str]]], number: int, fields: dict[str, Any]) -> None:
    if not rows or rows[-1][1] != fields["stamp"]:
        rows.append((number, fields["stamp"], {}))
    rows[-1][2][fields["metric"]] = fields["number"]


def _capture(segment: Segment, table: list[tuple[int, str, dict[str, str]]]) -> Capture | None:
    from loganalyze.formats.sysstat_columns import metrics

    rows: list[dict[str, Any]] = []
    times: list[float | None] = []
    zone, last = None, ""
    for number, stamp, cells in table:
        if cells.get("CPU", "-1") not in ("-1", "all"):
            continue
        if stamp != last:
            found = stamp_line(stamp.encode())
            times.append(found.epoch_s if found else None)
            zone = found.zone if found else zone
            rows.append({"line": number})
            last = stamp
        for name, value in metrics(cells).items():
            before = rows[-1].get(name)
            rows[-1][name] = value if before is None else before if value is None else before + value
    if not any(set(r) - {"line"} for r in rows):
        return None
    return capture_from_rows(NAME, KIND, segment, rows, times=times, zone=zone, resolution_s=1.0)


def _json(segment: Segment) -> list[Capture]:
    import json

    text = b"\n".join(line for _, line in segment.lines())
    try:
        hosts = json.loads(text)["sysstat"]["hosts"]
        table = [row for host in hosts for row in _statistics(host, segment.first_line)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        for number, line in segment.lines():
            if line.strip():
                segment.reject(number, line)
        return []
    made = _capture(segment, table)
    if made is None:
        return []
    made.dialect = "json"
    # iostat begins with averages since boot, and only it may print no times.
    made.first_row_since_boot = table[0][1].startswith("#")
    return [made]


def _statistics(host: dict[str, Any], line: int) -> list[tuple[int, str, dict[str, str]]]:
    rows = []
    for index, entry in enumerate(host.get("statistics", [])):
        stamp = entry.get("timestamp", {})
        when = f"{stamp.get('date', '')} {stamp.get('time', '')}{' UTC' if stamp.get('utc') else ''}"
        cells = {
            name: str(entry[g][k]) for (g, k), name in _KEYS.items() if isinstance(entry.get(g), dict) and k in entry[g]
        }
        for cpu in (*entry.get("cpu-load", []), *entry.get("cpu-load-all", [])):
            if cpu.get("cpu") in ("all", "-1"):
                cells |= {_CPU[k]: str(v) for k, v in cpu.items() if k in _CPU}
        for disk in entry.get("disk", []):
            cells |= {k: str(v) for k, v in disk.items() if isinstance(v, int | float)}
        rows.append((line, when if stamp else f"#{index}", cells))
    return rows

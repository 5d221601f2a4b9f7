"""``nvidia-smi -q [-d MEMORY,UTILIZATION,...] [-l N]``: indented ``Key : value`` text, one title a dump.

``Used`` stands in three blocks (FB, BAR1, protected memory): values are kept by block. Colons stand in column 38 or 42,
behind two blanks at least. The stamp is C ``ctime``: local, 1 s, no zone. Units: MiB, %, W, °C, MHz, KB/s (turned into MB/s).

Gives a ``gpu`` capture, one row a card and dump (``line`` is the card's), and a ``gpu_process`` capture.
"""

from __future__ import annotations

import re

from loganalyze.formats.capture_stamps import ctime_line
from loganalyze.formats.nvidia_readings import number, readings
from loganalyze.model.records import Capture, CaptureKind, Device
from loganalyze.numerals import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.capture import Segment

NAME = "nvidia_smi_q"
KIND: CaptureKind = "gpu"
GRAMMARS = ("nvidia",)
HINT = rb"\s*="
HINT_ALONE = True

_TITLE = re.compile(rb"^\s*=+NVSMI LOG=+\s*$")
_VALUE = re.compile(rb"^( *)([A-Za-z][^:]{0,80}?) {2,}: (.*)$")
_CARD = re.compile(rb"^ *GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]\s*$")
_BLOCK = re.compile(rb"^( +)([A-Za-z][A-Za-z0-9 .,/()-]{0,80})$")
MAX_LINE = 400


def starts(line: bytes) -> bool:
    return bool(_TITLE.match(line))


def belongs(line: bytes) -> bool:
    if len(line) > MAX_LINE:
        return False
    return bool(_VALUE.match(line) or _CARD.match(line) or _BLOCK.match(line) or _TITLE.match(line))


class _Dumps:
    """Cards and processes so far. ``path`` holds (indent, name) of the open blocks."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tick = -1
        self.time: float | None = None
        self.order: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.facts: dict[str, str] = {}
        self.path: list[tuple[int, str]] = []
        self.card: dict[str, Any] | None = None
        self.values: dict[tuple[str, str], str] = {}
        self.rows: list[dict[str, Any]] = []
        self.times: list[float | None] = []
        self.apps: list[dict[str, Any]] = []
        self.app_times: list[float | None] = []

    def take(self, number_: int, line: bytes) -> None:
        if _TITLE.match(line):
            self.close()
            self.tick, self.time = self.tick + 1, None
        elif _CARD.match(line):
            self.close()
            bus = line.split()[1].decode().lower()
            self.card = {
                "line": number_,
                "row": max(self.tick, 0),
                "device": self.order.setdefault(bus, len(self.order)),
            }
        elif (found := _VALUE.match(line)) is not None:
            self._value(number_, len(found.group(1)), _text(found.group(2)), _text(found.group(3)))
        elif (block := _BLOCK.match(line)) is not None:
            self._enter(len(block.group(1)), _text(block.group(2)))

    def _enter(self, indent: int, name: str) -> None:
        while self.path and self.path[-1][0] >= indent:
            self.path.pop()
        self.path.append((indent, name.lower()))

    def _value(self, number_: int, indent: int, key: str, value: str) -> None:
        while self.path and self.path[-1][0] >= indent:
            self.path.pop()
        if self.card is None:
            self._head(key, value)
            return
        block = self.path[-1][1] if self.path else ""
        if self.path and self.path[0][1] == "processes" and self._process(number_, key, value):
            return
        if key == "Product Name":
            self.names.setdefault(self.card["device"], value)
        self.values.setdefault((block, key.lower()), value)
        # "HW Slowdown : Active" has its reasons indented below it.
        if value in ("Active", "Not Active"):
            self.path.append((indent, key.lower()))

    def _head(self, key: str, value: str) -> None:
        if key == "Timestamp":
            stamp = ctime_line(value.encode())
            self.time = stamp.epoch_s if stamp else None
        elif key in ("Driver Version", "KMD Version"):
            self.facts.setdefault("driver_version", value)
        elif key in ("CUDA Version", "CUDA UMD Version"):
            self.facts.setdefault("cuda_version", value)

    def _process(self, number_: int, key: str, value: str) -> bool:
        if key == "Process ID" and is_whole(value) and self.card is not None:
            app = {"line": number_, "row": self.card["row"], "device": self.card["device"], "pid": int(value)}
            self.apps.append({**app, "process": None, "vram_used_mib": None})
            self.app_times.append(self.time)
        elif key == "Name" and self.apps:
            self.apps[-1]["process"] = value
        elif key == "Used GPU Memory" and self.apps:
            self.apps[-1]["vram_used_mib"] = number(value)
        else:
            return key in ("Type", "GPU instance ID", "Compute instance ID")
        return True

    def close(self) -> None:
        """End the current card."""
        if self.card is not None:
            self.rows.append({**self.card, **readings(self.values)})
            self.times.append(self.time)
        self.card, self.values, self.path = None, {}, []


def _text(raw: bytes) -> str:
    return raw.strip().decode("utf-8", "replace")


def parse(segment: Segment) -> list[Capture]:
    from loganalyze.formats.capture import capture_from_rows

    dumps = _Dumps(segment.source.path)
    for number_, line in segment.lines():
        dumps.take(number_, line)
    dumps.close()
    cards = capture_from_rows(NAME, "gpu", segment, dumps.rows, times=dumps.times, resolution_s=1.0)
    apps = capture_from_rows(NAME, "gpu_process", segment, dumps.apps, times=dumps.app_times, resolution_s=1.0)
    found = [c for c in (cards, apps) if c is not None]
    for capture in found:
        capture.facts = dict(dumps.facts)
        capture.devices = [Device(n, index=i, source=segment.source.path) for i, n in sorted(dumps.names.items())]
        capture.dialect = dumps.facts.get("driver_version")
        if segment.last_line_cut:
            capture.notes.append("the last dump is cut off: what stands behind the cut is missing")
    return found

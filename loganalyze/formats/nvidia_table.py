"""Plain ``nvidia-smi``: the box table, once or again and again (``-l N``, ``watch``, loops).

Shapes of drivers 390 to 610: widths, the banner (two versions that differ in WSL; ``KMD``/``CUDA UMD`` since 610) and
the process columns changed, the order of the cells did not. The line in front of a box is C ``ctime``: local, 1 s, no
zone. Units: MiB, %, W, °C. The first percentage of a row is the fan. ``Not Supported`` memory (cards that share the
host's), ``ERR!`` and ``N/A`` are missing. The box of MIG devices repeats memory and is not read.

Gives a ``gpu`` capture, one row a card and box, and a ``gpu_process`` capture of the process list.
``facts``: ``smi_version``, ``driver_version``, ``cuda_version``. A failed ``nvidia-smi`` gives a capture without a frame
whose notes hold the message.
"""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture_stamps import ctime_line
from loganalyze.formats.nvidia_messages import is_message
from loganalyze.model.records import Capture, CaptureKind, Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.capture import Segment
    from loganalyze.grammar import Match

NAME = "nvidia_smi_table"
KIND: CaptureKind = "gpu"
GRAMMARS = ("nvidia",)
HINT = rb"\s*(?:[A-Z][a-z]{2} [A-Z][a-z]{2} |\||\+-)|NVIDIA-SMI "
HINT_ALONE = True

_CTIME = re.compile(rb"^\s*[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}\s*$")
_BANNER = re.compile(rb"^\s*\|\s*NVIDIA-SMI [0-9]")
# The three widths of a box; one without a date line in front begins with this.
_LID = re.compile(rb"^\s*\+(?:-{77}|-{87}|-{89})\+\s*$")
_BOX = re.compile(rb"^\s*[+|](?:[-=+]{20,200}[+|]|.{20,300}\|)\s*$")
_RULES = ("banner", "card", "values", "app")
MAX_LINE = 400


def starts(line: bytes) -> bool:
    if len(line) > MAX_LINE:
        return False
    return bool(
        _CTIME.match(line) or _BANNER.match(line) or _LID.match(line) or line.startswith(b"NVIDIA-SMI has failed")
    )


def belongs(line: bytes) -> bool:
    return len(line) <= MAX_LINE and bool(_BOX.match(line) or _CTIME.match(line) or is_message(line))


@cache
def _matchers() -> tuple[Any, ...]:
    from loganalyze.grammar import Matcher

    rules = {r.name: r for r in Matcher(("nvidia",)).rules}
    return tuple(rules[name] for name in _RULES)


class _Boxes:
    """What the lines so far hold; ``tick`` counts the boxes."""

    def __init__(self) -> None:
        self.tick = -1
        self.time: float | None = None
        self.pending: tuple[int, float] | None = None
        self.card: dict[str, Any] | None = None
        self.rows: list[dict[str, Any]] = []
        self.times: list[float | None] = []
        self.apps: list[dict[str, Any]] = []
        self.app_times: list[float | None] = []
        self.devices: dict[int, Device] = {}
        self.facts: dict[str, str] = {}
        self.notes: list[str] = []

    def take(self, number: int, line: bytes, path: str) -> None:
        stamp = ctime_line(line)
        if stamp is not None:
            self.pending = (number, stamp.epoch_s)
            return
        for rule in _matchers():
            found = rule.match(line)
            if found is not None:
                getattr(self, f"_{rule.name}")(found, number, path)
                return
        if is_message(line) and len(self.notes) < 50:
            self.notes.append(line.strip()[:200].decode("utf-8", "replace"))

    def _banner(self, found: Match, number: int, path: str) -> None:
        self.tick += 1
        self.time = self.pending[1] if self.pending is not None else None
        self.pending, self.card = None, None
        for name, key in (("smi", "smi_version"), ("driver", "driver_version"), ("cuda", "cuda_version")):
            if name in found.fields:
                self.facts.setdefault(key, found.fields[name])

    def _card(self, found: Match, number: int, path: str) -> None:
        self.tick = max(self.tick, 0)
        f = found.fields
        self.card = {"line": number, "row": self.tick, "device": f["index"]}
        self.devices.setdefault(f["index"], Device(f["name"], index=f["index"], source=path, line=number))

    def _values(self, found: Match, number: int, path: str) -> None:
        if self.card is None:
            return
        f = found.fields
        names = {"used": "vram_used_mib", "total": "vram_total_mib", "util": "gpu_util_pct", "power": "power_w"}
        names |= {"cap": "power_limit_w", "temp": "temp_c", "fan": "fan_pct"}
        self.rows.append({**self.card, "line": number, **{metric: f.get(name) for name, metric in names.items()}})
        self.times.append(self.time)
        self.card = None

    def _app(self, found: Match, number: int, path: str) -> None:
        f = found.fields
        app = {"line": number, "row": max(self.tick, 0), "device": int(f["gpu"]), "pid": int(f["pid"])}
        self.apps.append({**app, "process": f["process"], "vram_used_mib": f.get("memory")})
        self.app_times.append(self.time)


def parse(segment: Segment) -> list[Capture]:
    from loganalyze.formats.capture import capture_from_rows

    boxes = _Boxes()
    for number, line in segment.lines():
        boxes.take(number, line, segment.source.path)
    cards = capture_from_rows(NAME, "gpu", segment, boxes.rows, times=boxes.times, resolution_s=1.0)
    apps = capture_from_rows(NAME, "gpu_process", segment, boxes.apps, times=boxes.app_times, resolution_s=1.0)
    if cards is None and apps is None and (boxes.notes or boxes.tick >= 0):
        cards = Capture("gpu", NAME, segment.source, segment=segment.number)
    found = [c for c in (cards, apps) if c is not None]
    for capture in found:
        capture.devices = list(boxes.devices.values())
        capture.facts = dict(boxes.facts)
        capture.dialect = boxes.facts.get("smi_version")
    if found:
        found[0].notes = boxes.notes
    return found

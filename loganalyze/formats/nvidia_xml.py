"""``nvidia-smi -q -x [-l N]``: one XML document a dump (DTD v10 of 430 to v13 of 580), several in a row with ``-l``.

Values carry their units as text (``22903 MiB``) or are ``N/A``. The stamp is C ``ctime``: local, 1 s, no zone. A last
document without its end is left out and said. Document types are cut off and documents that define entities refused:
nothing is fetched or expanded.

Gives a ``gpu`` capture, one row a card and document (``line`` is the document's first), and a ``gpu_process`` capture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from loganalyze.formats.capture_stamps import ctime_line
from loganalyze.formats.nvidia_readings import number, readings
from loganalyze.model.records import Capture, CaptureKind, Device
from loganalyze.numerals import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from xml.etree.ElementTree import Element

    from loganalyze.formats.capture import Segment

NAME = "nvidia_smi_xml"
KIND: CaptureKind = "gpu"
GRAMMARS: tuple[str, ...] = ()
HINT = rb"\s*<"

_START = re.compile(rb"^\s*(?:<\?xml version=\"1\.0\" \?>\s*$|<!DOCTYPE nvidia_smi_log\b|<nvidia_smi_log>)")
_END = b"</nvidia_smi_log>"


def starts(line: bytes) -> bool:
    return bool(_START.match(line))


def belongs(line: bytes) -> bool:
    return line.lstrip().startswith(b"<") or line.startswith((b"\t", b"  "))


def documents(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """``(offset, text, whole)`` of every ``<nvidia_smi_log>`` element."""
    at = data.find(b"<nvidia_smi_log>")
    while at >= 0:
        end = data.find(_END, at)
        after = data.find(b"<nvidia_smi_log>", at + 1)
        whole = end >= 0 and (after < 0 or end < after)
        stop = end + len(_END) if whole else (after if after >= 0 else len(data))
        yield at, data[at:stop], whole
        at = after


def parse(segment: Segment) -> list[Capture]:
    from loganalyze.formats.capture import capture_from_rows

    reader = _Reader(segment.source.path)
    data = b"".join(block.data for block in segment.blocks())
    number_, counted = segment.first_line, 0
    for at, text, whole in documents(data):
        number_ += data.count(b"\n", counted, at)
        counted = at
        reader.document(number_, text, whole)
    cards = capture_from_rows(NAME, "gpu", segment, reader.rows, times=reader.times, resolution_s=1.0)
    apps = capture_from_rows(NAME, "gpu_process", segment, reader.apps, times=reader.app_times, resolution_s=1.0)
    found = [c for c in (cards, apps) if c is not None]
    if not found and reader.notes:
        found = [Capture("gpu", NAME, segment.source, segment=segment.number)]
    for capture in found:
        capture.facts = dict(reader.facts)
        capture.devices = [Device(n, index=i, source=segment.source.path) for i, n in sorted(reader.names.items())]
        capture.dialect = reader.facts.get("driver_version")
    if found:
        found[0].notes += reader.notes
    return found


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tick = -1
        self.order: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.facts: dict[str, str] = {}
        self.notes: list[str] = []
        self.rows: list[dict[str, Any]] = []
        self.times: list[float | None] = []
        self.apps: list[dict[str, Any]] = []
        self.app_times: list[float | None] = []

    def document(self, line: int, text: bytes, whole: bool) -> None:
        from xml.etree.ElementTree import ParseError, fromstring

        if not whole:
            self.notes.append(f"document at line {line} has no end: left out")
            return
        if b"<!ENTITY" in text or b"<!DOCTYPE" in text:
            self.notes.append(f"document at line {line} defines entities: refused")
            return
        try:
            root = fromstring(text.decode("utf-8", "replace"))
        except (ParseError, ValueError) as error:
            self.notes.append(f"document at line {line} is no XML ({error}): left out")
            return
        self.tick += 1
        self._root(root, line)

    def _root(self, root: Element, line: int) -> None:
        stamp = ctime_line((root.findtext("timestamp") or "").encode())
        time = stamp.epoch_s if stamp else None
        for tag in ("driver_version", "cuda_version"):
            if root.findtext(tag):
                self.facts.setdefault(tag, str(root.findtext(tag)).strip())
        for card in root.iter("gpu"):
            bus = card.get("id", "").lower()
            device = self.order.setdefault(bus, len(self.order))
            if card.findtext("product_name"):
                self.names.setdefault(device, str(card.findtext("product_name")).strip())
            base = {"line": line, "row": self.tick, "device": device}
            self.rows.append({**base, **readings(values_of(card))})
            self.times.append(time)
            for app in card.iterfind("processes/process_info"):
                self._app(app, base, time)

    def _app(self, app: Element, base: dict[str, Any], time: float | None) -> None:
        pid = (app.findtext("pid") or "").strip()
        if is_whole(pid):
            name = (app.findtext("process_name") or "").strip() or None
            used = number((app.findtext("used_memory") or "").strip())
            self.apps.append({**base, "pid": int(pid), "process": name, "vram_used_mib": used})
            self.app_times.append(time)


def values_of(card: Element) -> dict[tuple[str, str], str]:
    """``(block, key)`` -> text of a card's leaves; the block is the element around, ``""`` at the top."""
    found: dict[tuple[str, str], str] = {}
    stack: list[tuple[str, Element]] = [("", child) for child in card]
    while stack:
        block, element = stack.pop()
        if len(element):
            stack += [(element.tag, child) for child in element]
        elif element.text:
            found.setdefault((block, element.tag), element.text.strip())
    return found

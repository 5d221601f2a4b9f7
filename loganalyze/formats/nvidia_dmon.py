"""``nvidia-smi dmon``: one row a GPU and second, as a table or (drivers >= 550) as ``--format csv[,noheader][,nounit]``.

Two lines head the rows, ``# gpu pwr ...`` and ``# Idx W ...``, and are repeated about every screenful. Which columns there
are follows ``-s`` and the order of its letters; eras differ (``jpg ofa`` since 530, ``ccpm`` since 535). ``-o D|T|DT`` puts
a date (``YYYYMMDD``) and a time before the index, local, 1 s, no zone. ``-`` is missing.

Units: ``pwr`` W, ``gtemp mtemp`` °C, ``sm mem`` %, ``mclk pclk`` MHz, ``pviol`` %, ``tviol`` 0/1, ``fb`` MiB in use,
``rxpci txpci`` MB/s seen from the GPU (rx = host to GPU). ``mem`` is memory-controller load, not memory in use.
Without ``-o`` there is no clock; the tool samples every second unless ``-d`` said otherwise
(``facts["default_interval_s"]``).
"""

from __future__ import annotations

import re

from loganalyze.formats.nvidia_messages import is_message
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.capture import Segment

NAME = "nvidia_dmon"
KIND: CaptureKind = "gpu"
GRAMMARS = ("nvidia",)
HINT = rb"\s*#"
HINT_ALONE = True
BULK = True
COUNTS = True

_NAMES = re.compile(rb"^\s*#\s*(?:Date\b[\s,]*)?(?:Time\b[\s,]*)?gpu\b")
_UNITS = re.compile(rb"^\s*#\s*(?:YYYYMMDD\b[\s,]*)?(?:HH:MM:SS\b[\s,]*)?Idx\b")
_ROW = re.compile(
    rb"^[ \t]*(?:[0-9]{8},?[ \t]+)?(?:[0-9]{2}:[0-9]{2}:[0-9]{2},?[ \t]+)?[0-9]{1,3}(?:,?[ \t]+(?:-|[0-9]+)){1,40}[ \t]*$"
)


def is_header(line: bytes) -> bool:
    """True for a names line or a unit line of dmon or pmon."""
    return bool(_NAMES.match(line) or _UNITS.match(line))


def starts(line: bytes) -> bool:
    # pmon's lines hold "pid" in the names and "C/G" in the units.
    return b"#" in line and is_header(line) and b"pid" not in line and b"C/G" not in line


def belongs(line: bytes) -> bool:
    return bool(_ROW.match(line)) or starts(line) or is_message(line)


def parse(segment: Segment) -> list[Capture]:
    from loganalyze.formats.nvidia_dmon_body import read_dmon

    return read_dmon(segment)

"""``nvidia-smi --query-gpu=... --format=csv[,noheader][,nounits]`` once, or in a loop (``-l``, ``-lms``).

Printed by every driver since 3xx. Header cells are ``name [unit]``, rows are separated by a comma and one blank and
never quoted; units repeat in the cells unless ``nounits``. One row a GPU and tick, each with its own local stamp
(1 ms, no zone). Columns come in any order and may be missing, the stamp too. Cells that start with ``[`` are missing.

Units: MiB (2^20), %, W, MHz, °C. Rows of one tick share ``row``; without an index column cards are told apart by id,
by gaps between stamps, or by interleaved levels (then said in the notes). A new header with other columns starts
another capture. Without any header columns are inferred from their cells (``nvidia_infer``); a column with two
readings is dropped and named in the notes.
"""

from __future__ import annotations

import re

from loganalyze.formats.nvidia_fields import HEADER_HINT, Field, parse_header
from loganalyze.formats.nvidia_messages import is_message
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.capture import Segment

NAME = "nvidia_smi_csv"
KIND: CaptureKind = "gpu"
GRAMMARS = ("nvidia",)
HINT = HEADER_HINT + rb"|[^,]*,"
HINT_ALONE = True
BULK = True
COUNTS = True

_STAMPED = re.compile(rb"^\s*[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}\s*(?:,|$)")
# Rows without a stamp: an amount with its unit, or only numbers, at least three of them.
_LEAD = rb"(?:[0-9/]{10} [0-9:.]{12}|[0-9]{1,3}|[A-Za-z][A-Za-z0-9 ()/.-]{1,60}|[0-9A-Fa-f:.]{10,16}|\[[^\],]{1,60}\])"
_UNITS_ROW = re.compile(rb"^\s*(?:" + _LEAD + rb",\s*){0,5}[0-9.]+ (?:MiB|%|W|MHz)\s*(?:,[^,]{1,80}){0,40}$")
_BARE_ROW = re.compile(rb"^\s*[0-9]+(?:\.[0-9]+)?(?:, (?:[0-9]+(?:\.[0-9]+)?|\[[^\],]{1,60}\]|P[0-9]{1,2})){2,40}$")

# A row or header of a single column.
_SINGLE = re.compile(
    rb"^\s*(?:[0-9]+(?:\.[0-9]+)?(?: (?:MiB|%|W|MHz))?|\[[^\]]{1,60}\]|[0-9]{4}/[0-9/]{5} [0-9:.]{12}"
    rb"|[a-z_]++\.[a-z_.]+(?: \[[^\]]+\])?)\s*$"
)


def is_apps_header(fields: list[Field]) -> bool:
    """True for the columns of ``--query-compute-apps``."""
    return any(f.name in ("pid", "process_name", "used_gpu_memory") for f in fields)


def starts(line: bytes) -> bool:
    fields = parse_header(line)
    if fields is not None:
        return not is_apps_header(fields)
    return _row_without_header(line)


def _row_without_header(line: bytes) -> bool:
    if b"," not in line:
        return False
    return bool(_STAMPED.match(line) or _UNITS_ROW.match(line) or _BARE_ROW.match(line))


def belongs(line: bytes) -> bool:
    if b"," in line and line.lstrip()[:1].isdigit():
        return True  # neither a message nor a header begins with a digit
    if is_message(line):
        return True
    if b"," in line:
        fields = parse_header(line)
        return fields is None or not is_apps_header(fields)
    return bool(_SINGLE.match(line))


def parse(segment: Segment) -> list[Capture]:
    from loganalyze.formats.nvidia_body import read_series

    return read_series(segment)

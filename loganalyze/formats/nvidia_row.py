"""One row of nvidia-smi CSV in plain Python: for damaged, cut and comma-carrying lines that the bulk path gives back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from loganalyze.formats.nvidia_fields import Field

MISSING = frozenset(
    (
        "N/A",
        "ERR!",
        "-",
        "--",
        "??",
        "",
        "Not Supported",
        "Unknown Error",
        "Not Found",
        "None",
        "nan",
        "null",
        "unknown",
    )
)
_AMOUNT = re.compile(r"^(-?[0-9]{1,15}(?:\.[0-9]{1,9})?) ?(MiB|MB|%|W|MHz)?$")
_STAMP = re.compile(r"^([0-9]{4})/([0-9]{2})/([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})$")
# Paste damage in front of a row: quote marks, list bullets, a Ctrl-C echo.
_DAMAGE = re.compile(rb"^\s*(?:\^C|>|[*-] )\s*")
_FLAG = {"Active": 1, "Not Active": 0}


class NotARowError(Exception):
    """A cell does not fit its column."""


def split_cells(line: bytes) -> list[str]:
    """Stripped cells of a line."""
    return [c.strip() for c in line.decode("utf-8", "replace").split(",")]


def is_missing(cell: str) -> bool:
    """True for the tokens that stand for no value: any cell in brackets, and the bare ones."""
    return cell.startswith("[") or cell in MISSING


def read_row(line: bytes, fields: Sequence[Field], *, whole: bool = False) -> dict[str, Any] | None:
    """Values by frame column (``nvidia_types.targets``), or None when the line is no row of ``fields``.

    Cells are counted from both ends around the name, which may hold commas. With ``whole`` the last cell must prove that
    it is complete: a number without its unit may have lost digits.
    """
    from loganalyze.formats.nvidia_types import targets

    cells = fit(split_cells(_DAMAGE.sub(b"", line)), fields)
    if cells is None or (whole and not complete(cells[-1])):
        return None
    if all(is_missing(c) for c in cells):
        return None
    try:
        return {target: value_of(cells[at], fields[at]) for at, target in targets(fields).items()}
    except NotARowError:
        return None


def fit(cells: list[str], fields: Sequence[Field]) -> list[str] | None:
    """As many cells as fields, joining those of a name with commas; None when that cannot be."""
    extra = len(cells) - len(fields)
    if extra == 0:
        return cells
    names = [f.name for f in fields]
    at = next((names.index(n) for n in ("process_name", "name") if n in names), None)
    if extra < 0 or at is None:
        return None
    return [*cells[:at], ", ".join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]


def complete(cell: str) -> bool:
    """True when nothing can be missing at the end of ``cell``."""
    found = _AMOUNT.match(cell)
    return bool(found and found.group(2)) or (cell.startswith("[") and cell.endswith("]")) or cell in _FLAG


def value_of(cell: str, field: Field) -> Any:
    """Typed value of a cell; None when missing; raises ``NotARowError`` when it does not fit."""
    kind = field.kind
    if is_missing(cell):
        return None
    if kind == "text" or field.metric is None:
        return cell
    if kind == "time":
        return stamp_ms(cell)
    if kind == "flag":
        if cell not in _FLAG:
            raise NotARowError(cell)
        return _FLAG[cell]
    if kind == "mask":
        return mask(cell)
    found = _AMOUNT.match(cell)
    if found is None:
        raise NotARowError(cell)
    text = found.group(1)
    return float(text) if kind == "float" or "." in text else int(text)


def mask(cell: str) -> int:
    """Bits of ``0x0000000000000004``."""
    if not re.fullmatch(r"0x[0-9A-Fa-f]{1,16}", cell):
        raise NotARowError(cell)
    return int(cell, 16)


def stamp_ms(cell: str) -> int:
    """Milliseconds since 1970 of ``2024/05/01 12:34:56.789`` read as UTC."""
    found = _STAMP.match(cell)
    if found is None:
        raise NotARowError(cell)
    try:
        when = datetime(*map(int, found.groups()[:6]), tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError as error:
        raise NotARowError(cell) from error
    return int(when.timestamp()) * 1000 + int(found.group(7))

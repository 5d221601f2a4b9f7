"""The common case of nvidia-smi CSV, read as plain numbers.

Deleting the letters of all units and turning colons into commas leaves cells that polars parses as numbers without ever
making text of them; a stamp becomes ``2024050112``, minutes and seconds. That needs columns whose text is not wanted
(ids, masks and names would be maimed), so anything else takes the way over text in ``nvidia_types``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from loganalyze.formats.nvidia_fields import Field

if TYPE_CHECKING:
    import polars as pl

_DELETE = b" /MiB%WHz\r"
_TABLE = bytes.maketrans(b":", b",")
_EPOCH = date(1970, 1, 1).toordinal()
_KINDS = ("int", "float", "time", "flag")
# Text of "Active" and "Not Active" after the deletion.
_FLAGS = {"Actve": 1, "NotActve": 0}


def suits(fields: Sequence[Field], used: dict[int, str]) -> bool:
    """True when every wanted column is a number, flag or stamp and no other holds colons."""
    return all(fields[at].kind in _KINDS and target != "_id" for at, target in used.items()) and not any(
        f.name.startswith("pci.") or (f.name == "timestamp" and at not in used) for at, f in enumerate(fields)
    )


def clean(data: bytes) -> bytes:
    """Text without units and colons, as many lines as before."""
    return data.translate(_TABLE, _DELETE)


def read_clean(text: bytes, fields: Sequence[Field], used: dict[int, str]) -> tuple[pl.DataFrame, pl.Series]:
    """Frame of the targets (``_ms`` for stamps) and a mask of rows with too many or too few cells."""
    import polars as pl

    schema, places, width = _schema(fields, used)
    raw = pl.read_csv(
        b"," * width + b"\n" + text,
        has_header=False,
        schema=schema,
        columns=sorted({*places, width - 1, width}),
        quote_char=None,
        truncate_ragged_lines=True,
        ignore_errors=True,
    ).slice(1)
    columns = [_column(raw, at, fields[field], target) for at, (field, target) in places.items() if target]
    misfit = raw[f"c{width}"].is_not_null() | raw[f"c{width - 1}"].is_null()
    return pl.DataFrame(columns), misfit


def _schema(
    fields: Sequence[Field], used: dict[int, str]
) -> tuple[dict[str, pl.DataType | type[pl.DataType]], dict[int, tuple[int, str]], int]:
    """Column types of the cleaned text, its wanted places -> (field, target; ``""`` for parts of a stamp), its width."""
    import polars as pl

    schema: dict[str, pl.DataType | type[pl.DataType]] = {}
    places: dict[int, tuple[int, str]] = {}
    types: dict[str, type[pl.DataType]] = {"int": pl.Int32, "float": pl.Float32, "time": pl.Int32}
    for field, f in enumerate(fields):
        at = len(schema)
        schema[f"c{at}"] = types.get(f.kind, pl.String) if field in used and field < len(fields) - 1 else pl.String
        if field in used:
            places[at] = (field, used[field])
            if f.kind == "time":
                schema |= {f"c{at + 1}": pl.Int32, f"c{at + 2}": pl.Float64}
                places |= {at + 1: (field, ""), at + 2: (field, "")}
    width = len(schema)
    return {**schema, f"c{width}": pl.String}, places, width


def _column(raw: pl.DataFrame, at: int, f: Field, target: str) -> pl.Series:
    import polars as pl

    cell = raw[f"c{at}"]
    if f.kind == "time":
        return _stamps(raw, at).alias(target)
    if f.kind == "flag":
        return cell.replace_strict(_FLAGS, default=None, return_dtype=pl.Int32).alias(target)
    if cell.dtype == pl.String:
        return cell.cast(pl.Float32 if f.kind == "float" else pl.Int32, strict=False).alias(target)
    return cell.alias(target)


def _stamps(raw: pl.DataFrame, at: int) -> pl.Series:
    """Milliseconds since 1970 from ``2024050112`` (fits 32 bits until 2147), minutes and seconds."""
    import numpy as np
    import polars as pl

    parts = [raw[f"c{at + part}"] for part in range(3)]
    holes = parts[0].is_null() | parts[1].is_null() | parts[2].is_null() if any(p.null_count() for p in parts) else None
    hour, minutes, seconds = ((p.fill_null(-1) if holes is not None else p).to_numpy() for p in parts)
    good = (minutes >= 0) & (minutes <= 59) & (seconds >= 0) & (seconds < 61)
    # Hours change rarely: their dates are parsed once a run.
    begins = np.flatnonzero(np.diff(hour, prepend=hour[:1] - 1))
    starts = [_hour_ms(int(h)) for h in hour[begins]]
    good_hour = np.repeat([s is not None for s in starts], np.diff(begins, append=len(hour)))
    base = np.repeat(np.array([s or 0 for s in starts], np.int64), np.diff(begins, append=len(hour)))
    total = base + minutes.astype(np.int64) * 60_000 + np.rint(np.where(good, seconds, 0.0) * 1000).astype(np.int64)
    valid = pl.Series(good & good_hour)
    whole = pl.Series(total)
    return whole if valid.all() and holes is None else whole.set(~valid if holes is None else ~valid | holes, None)


def _hour_ms(text: int) -> int | None:
    """Milliseconds since 1970 of ``2024050112``; None for what is no hour of a date."""
    day, hour = divmod(text, 100)
    try:
        begin = date(day // 10_000, day // 100 % 100, day % 100)
    except ValueError:
        return None
    return ((begin.toordinal() - _EPOCH) * 24 + hour) * 3_600_000 if hour < 24 else None

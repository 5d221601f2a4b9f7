"""Blocks of nvidia-smi CSV to typed polars columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loganalyze.formats.nvidia_fields import METRIC_OF, Field
from loganalyze.formats.nvidia_row import MISSING, NotARowError, fit, is_missing, split_cells, stamp_ms

if TYPE_CHECKING:
    import polars as pl

TIME = "_ms"
IDENTITY = "_id"
ID_FIELDS = ("uuid", "pci.bus_id", "serial", "name")
_ORDER = list(METRIC_OF)


@dataclass(slots=True)
class Series:
    """Rows under one set of columns while they are gathered; ``missing`` counts (metric, token)."""

    fields: list[Field]
    headers: int = 0
    frames: list[pl.DataFrame] = field(default_factory=list)
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Card name by index, id or ``""``."""
    since_header: int = 0

    @property
    def stamped(self) -> bool:
        return any(f.name == "timestamp" for f in self.fields)


def targets(fields: Sequence[Field]) -> dict[int, str]:
    """Position -> frame column of the fields that are used.

    Of two fields for one metric the first in ``METRIC_OF`` is used; flags get a column each (``throttle_hw@3``) and are
    joined at the end. Without an index the field that tells cards apart becomes ``_id``.
    """
    best: dict[str, int] = {}
    found: dict[int, str] = {}
    for at, f in enumerate(fields):
        metric = f.metric
        if metric is None:
            continue
        if f.kind == "flag":
            found[at] = f"{metric}@{at}"
        elif metric not in best or _ORDER.index(f.name) < _ORDER.index(fields[best[metric]].name):
            best[metric] = at
    found |= {at: TIME if metric == "timestamp" else metric for metric, at in best.items()}
    names = [f.name for f in fields]
    identity = next((n for n in ID_FIELDS if n in names), None)
    if "index" not in names and identity is not None:
        found[names.index(identity)] = IDENTITY
    return dict(sorted(found.items()))


def read_block(data: bytes, first: int, series: Series) -> tuple[pl.DataFrame, list[int]]:
    """Typed columns of all lines of ``data`` (``line`` and the targets) and the positions of lines that do not fit."""
    import polars as pl

    width = len(series.fields)
    used = targets(series.fields) or {0: IDENTITY}
    # A first line as wide as the schema and one more: without it polars refuses texts that never overflow.
    raw = pl.read_csv(
        b"," * width + b"\n" + data,
        has_header=False,
        schema={f"c{i}": pl.String for i in range(width + 1)},
        quote_char=None,
        truncate_ragged_lines=True,
        columns=[*used, width],
        encoding="utf8-lossy",
    ).slice(1)
    lines = pl.int_range(first, first + len(raw), dtype=pl.UInt32, eager=True).alias("line")
    frame = raw.select(_expr(at, series.fields[at], target, raw) for at, target in used.items()).insert_column(0, lines)
    if not series.names:
        series.names.update(_card_names(data, series.fields))
    return frame, _bad_rows(raw, frame, series, used)


def _expr(at: int, f: Field, target: str, raw: pl.DataFrame) -> pl.Expr:
    import polars as pl

    cell = pl.col(f"c{at}")
    kind = "text" if target == IDENTITY else f.kind
    if kind == "time":
        return pl.lit(stamps_ms(raw[f"c{at}"])).alias(target)
    if kind == "text":
        return cell.str.strip_chars().alias(target)
    if kind == "flag":
        text = cell.str.strip_chars()
        return pl.when(text == "Active").then(1).when(text == "Not Active").then(0).cast(pl.Int32).alias(target)
    if kind == "mask":
        digits = cell.str.strip_chars().str.strip_prefix("0x")
        return digits.str.to_integer(base=16, dtype=pl.UInt64, strict=False).alias(target)
    number = cell.str.strip_chars(f" \t\r{f.unit or 'MiBWHz%'}")
    return number.cast(pl.Float32 if kind == "float" else pl.Int32, strict=False).alias(target)


def stamps_ms(column: pl.Series) -> pl.Series:
    """Epoch milliseconds of ``2024/05/01 12:34:56.789``, null where the text is no such stamp.

    Where all stamps share one date only the time of day is parsed, which is three times as fast.
    """
    import polars as pl

    text = column.str.strip_chars(" \r")
    day = next((str(d)[:10] for d in text.head(64) if d), "")
    midnight = _midnight_ms(day)
    clean = (text.str.slice(0, 11) == day + " ") & (text.str.len_bytes() == 23)
    if midnight is None or not clean.all():
        return text.str.to_datetime("%Y/%m/%d %H:%M:%S%.3f", time_unit="ms", strict=False).cast(pl.Int64)
    parts = [text.str.slice(at, n).cast(pl.Int64, strict=False) for at, n in ((11, 2), (14, 2), (17, 2), (20, 3))]
    hours, minutes, seconds, millis = parts
    return midnight + hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + millis


def _midnight_ms(day: str) -> int | None:
    try:
        return stamp_ms(f"{day} 00:00:00.000")
    except NotARowError:
        return None


def _bad_rows(raw: pl.DataFrame, frame: pl.DataFrame, series: Series, used: dict[int, str]) -> list[int]:
    """Positions of rows with too many cells, too few, or a cell that is neither a value nor a token for none."""
    over = raw[f"c{len(series.fields)}"]
    bad = over.is_not_null() if over.null_count() < len(over) else None
    for at, target in used.items():
        values = frame[target]
        if not values.null_count():
            continue
        text = raw[f"c{at}"].str.strip_chars()
        absent = (text.str.starts_with("[") | text.is_in(MISSING)).fill_null(False)
        wrong = values.is_null() & ~absent
        bad = wrong if bad is None else bad | wrong
        if target != IDENTITY:
            _count_missing(series, target, text.filter(absent))
    return bad.arg_true().to_list() if bad is not None else []


def _count_missing(series: Series, target: str, tokens: pl.Series) -> None:
    for token, count in tokens.value_counts().iter_rows():
        series.missing[target.split("@")[0], str(token)[:60]] += int(count)


def _card_names(data: bytes, fields: Sequence[Field]) -> dict[str, str]:
    """Names of the cards in the first rows, by index or id (``""`` when neither is printed)."""
    kinds = [f.name for f in fields]
    if "name" not in kinds:
        return {}
    key = next((kinds.index(n) for n in ("index", *ID_FIELDS[:3]) if n in kinds), kinds.index("name"))
    found: dict[str, str] = {}
    for line in data[:65536].split(b"\n")[:256]:
        cells = fit(split_cells(line), fields)
        if cells is not None and not is_missing(cells[kinds.index("name")]):
            found.setdefault(cells[key], cells[kinds.index("name")])
    return found

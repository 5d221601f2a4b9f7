"""Blocks of nvidia-smi CSV to typed polars columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loganalyze.formats.matrix import narrowed
from loganalyze.formats.nvidia_fast import clean, read_clean, suits
from loganalyze.formats.nvidia_fields import METRIC_OF, Field
from loganalyze.formats.nvidia_row import MISSING, fit, is_missing, split_cells

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
    zero_ms: int | None = None
    """Epoch milliseconds from which ``t_s`` of the frames counts."""

    def add(self, frame: pl.DataFrame) -> None:
        """Keep rows in narrow types, with ``t_s`` for their stamps: whole columns are large."""
        import polars as pl

        if TIME in frame.columns and self.zero_ms is None and frame[TIME].null_count() < frame.height:
            self.zero_ms = int(frame[TIME].drop_nulls()[0])
        seconds = [
            ((c.cast(pl.Int64) - (self.zero_ms or 0)) / 1000.0).alias("t_s")
            for c in frame.get_columns()
            if c.name == TIME
        ]
        self.frames.append(pl.DataFrame(seconds + [narrowed(c) for c in frame.get_columns() if c.name != TIME]))

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


@dataclass(slots=True)
class Parsed:
    """Typed columns of all lines of a text, the positions of lines that do not fit, and the tokens for no value."""

    fields: list[Field]
    frame: pl.DataFrame
    bad: list[int]
    missing: Counter[tuple[str, str]]


def parse_text(data: bytes, fields: list[Field]) -> Parsed:
    """Columns (the targets of ``fields``) of every line of ``data``, one row a line."""
    used = targets(fields) or {0: IDENTITY}
    found = _fast(data, fields, used) if suits(fields, used) else None
    return found or _by_text(data, fields, used)


def _fast(data: bytes, fields: list[Field], used: dict[int, str]) -> Parsed | None:
    """Numbers straight from the text; None when so many rows do not fit that the text must hold something else."""
    import polars as pl

    try:
        frame, misfit = read_clean(clean(data), fields, used)
    except pl.exceptions.ComputeError:  # not UTF-8
        return None
    holes = {at: target for at, target in used.items() if frame[target].null_count()}
    counts = Counter[tuple[str, str]]()
    bad = misfit | _wrong(_texts(data, fields, holes), frame, holes, counts) if holes else misfit
    rows = bad.arg_true().to_list() if bad.any() else []
    return Parsed(fields, frame, rows, counts) if len(rows) <= 50 + len(frame) // 10 else None


def _by_text(data: bytes, fields: list[Field], used: dict[int, str]) -> Parsed:
    width = len(fields)
    raw = _texts(data, fields, {**used, width - 1: "", width: ""})
    frame = raw.select(_expr(at, fields[at], target, raw) for at, target in used.items())
    holes = {at: target for at, target in used.items() if frame[target].null_count()}
    misfit = raw[f"c{width}"].is_not_null() | raw[f"c{width - 1}"].is_null()
    counts = Counter[tuple[str, str]]()
    bad = misfit | _wrong(raw, frame, holes, counts)
    return Parsed(fields, frame, bad.arg_true().to_list(), counts)


def _texts(data: bytes, fields: Sequence[Field], at: Iterable[int]) -> pl.DataFrame:
    """Columns ``at`` as text; the one behind the last holds what is too much."""
    import polars as pl

    width = len(fields)
    # A first line as wide as the schema and one more: without it polars refuses texts that never overflow.
    return pl.read_csv(
        b"," * width + b"\n" + data,
        has_header=False,
        schema={f"c{i}": pl.String for i in range(width + 1)},
        quote_char=None,
        truncate_ragged_lines=True,
        columns=sorted(set(at)),
        encoding="utf8-lossy",
    ).slice(1)


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
        return digits.str.to_integer(base=16, strict=False).cast(pl.UInt64, strict=False).alias(target)
    number = cell.str.strip_chars(f" \t\r{f.unit or 'MiBWHz%'}")
    return number.cast(pl.Float32 if kind == "float" else pl.Int32, strict=False).alias(target)


def stamps_ms(column: pl.Series) -> pl.Series:
    """Epoch milliseconds of ``2024/05/01 12:34:56.789``, null where the text is no such stamp."""
    import polars as pl

    text = column.str.strip_chars(" \r")
    return text.str.to_datetime("%Y/%m/%d %H:%M:%S%.3f", time_unit="ms", strict=False).cast(pl.Int64)


def _wrong(
    raw: pl.DataFrame, frame: pl.DataFrame, holes: dict[int, str], counts: Counter[tuple[str, str]]
) -> pl.Series:
    """Mask of rows with a cell that is neither a value nor a token for none; counts the tokens."""
    import polars as pl

    bad = pl.repeat(False, len(frame), eager=True)
    for at, target in holes.items():
        text = raw[f"c{at}"].str.strip_chars()
        absent = (text.str.starts_with("[") | text.is_in(MISSING)).fill_null(False)
        bad = bad | (frame[target].is_null() & ~absent)
        if target != IDENTITY:
            for token, count in text.filter(absent).value_counts().iter_rows():
                counts[target.split("@")[0], str(token)[:60]] += int(count)
    return bad


def card_names(data: bytes, fields: Sequence[Field]) -> dict[str, str]:
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

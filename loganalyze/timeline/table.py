"""The aligned table: every sample of every placed capture on one axis, with the log's phases, requests and events.

Times are seconds on the common axis: UTC epoch seconds where any source tells wall time, else seconds from the zero of
the first run. Captures that could not be placed are left out; ``unplaced`` names them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loganalyze.model.records import METRICS, Capture, Clock, Reading, Run

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

# Axes of wall time lie far above any that counts from a run's start (1973 as epoch seconds).
EPOCH_FROM_S = 1e8
# Rows of the resampled table; a finer step is made coarser.
MAX_ROWS = 2_000_000
# Longer tables leave out steps in which nothing is known.
DENSE_ROWS = 20_000
_TEXT = frozenset({"process", "pid", "throttle_mask"})


def captures_of(what: Reading | Run) -> list[Capture]:
    """All captures of a run, or of a reading (joined to runs or not), each once."""
    if isinstance(what, Run):
        return list(what.captures)
    found = [c for run in what.runs for c in run.captures] + what.captures
    return list({id(c): c for c in found}.values())


def runs_of(what: Reading | Run) -> list[Run]:
    """The run itself, or the runs of a reading."""
    return [what] if isinstance(what, Run) else what.runs


def is_placed(capture: Capture) -> bool:
    """True when the rows of ``capture`` have times on the axis."""
    frame = capture.frame
    return (
        frame is not None
        and capture.clock.offset_s is not None
        and frame.height > 0
        and frame["t_s"].null_count() < frame.height
    )


def is_wall_time(what: Reading | Run) -> bool:
    """True when the axis is UTC epoch seconds: some source tells wall time."""
    offsets = [r.clock.offset_s for r in runs_of(what)] + [c.clock.offset_s for c in captures_of(what)]
    return any(o is not None and o > EPOCH_FROM_S for o in offsets)


def placed_captures(what: Reading | Run) -> list[Capture]:
    """Captures on the axis. Where it is wall time, what counts from the start of some run is not on it."""
    wall = is_wall_time(what)
    return [c for c in captures_of(what) if is_placed(c) and _on_axis(c.clock, wall)]


def placed_runs(what: Reading | Run) -> list[Run]:
    """Runs on the axis."""
    wall = is_wall_time(what)
    return [r for r in runs_of(what) if _on_axis(r.clock, wall)]


def _on_axis(clock: Clock, wall: bool) -> bool:
    return clock.offset_s is not None and (clock.offset_s > EPOCH_FROM_S or not wall)


def unplaced(what: Reading | Run) -> list[Capture]:
    """Captures with rows that are not on the axis."""
    placed = {id(c) for c in placed_captures(what)}
    return [c for c in captures_of(what) if c.frame is not None and c.frame.height and id(c) not in placed]


def metrics_of(frame: pl.DataFrame) -> list[str]:
    """Numeric metric columns of a capture, in the order of ``METRICS``."""
    return [name for name in METRICS if name in frame.columns and name not in _TEXT]


def tidy(what: Reading | Run) -> pl.DataFrame:
    """One row a value: ``time`` (Float64 s), ``source``, ``device`` (Int32, null for host metrics), ``metric``,
    ``value`` (Float64), sorted by time. Missing values have no row."""
    import polars as pl

    parts = [_tidy(c) for c in placed_captures(what)]
    schema = {"time": pl.Float64, "source": pl.String, "device": pl.Int32, "metric": pl.String, "value": pl.Float64}
    if not parts:
        return pl.DataFrame(schema=schema)
    return pl.concat(parts).sort("time", maintain_order=True)


def _tidy(capture: Capture) -> pl.DataFrame:
    import polars as pl

    frame, offset = capture.frame, capture.clock.offset_s
    assert frame is not None
    device = pl.col("device").cast(pl.Int32) if "device" in frame.columns else pl.lit(None, dtype=pl.Int32)
    names = metrics_of(frame)
    frame = without_boot_averages(capture)
    wide = frame.select(
        (pl.col("t_s").cast(pl.Float64) + offset).alias("time"),
        pl.lit(capture.source.path).alias("source"),
        device.alias("device"),
        *[pl.col(n).cast(pl.Float64) for n in names],
    )
    long = wide.unpivot(on=names, index=["time", "source", "device"], variable_name="metric", value_name="value")
    return long.filter(pl.col("value").is_not_null() & pl.col("time").is_not_null())


def without_boot_averages(capture: Capture) -> pl.DataFrame:
    """Rows of ``capture``; rates of a first row that averages since the machine's start tell nothing of the run and
    are null."""
    import polars as pl

    frame = capture.frame
    assert frame is not None
    rates = [n for n in metrics_of(frame) if n.startswith("cpu_") or n.endswith("_s")]
    if not capture.first_row_since_boot or not rates:
        return frame
    return frame.with_columns(pl.when(pl.col("row") > 0).then(pl.col(n)).alias(n) for n in rates)


def usual_step(what: Reading | Run) -> float:
    """Step of the resampled table: the longest usual interval of the captures, 1, 2 or 5 times a power of ten."""
    from loganalyze.timeline.place import interval_of

    steps = [interval_of(c) for c in placed_captures(what)]
    span = bounds(what)
    return _round_step(max(steps) if steps else ((span[1] - span[0]) / 500 if span else 1.0))


def _round_step(step: float) -> float:
    from math import floor, log10

    if not 1e-3 < step < 1e7:
        return 1.0
    base = 10.0 ** floor(log10(step))
    return min((base * k for k in (1, 2, 5, 10)), key=lambda s: abs(s - step))


def bounds(what: Reading | Run) -> tuple[float, float] | None:
    """First and last time on the axis of anything placed."""
    from loganalyze.timeline.axis import span_of
    from loganalyze.timeline.clocks import finite

    times = [t for run in placed_runs(what) for t in span_of(run) or ()]
    for capture in captures_of(what):
        if is_placed(capture):
            assert capture.frame is not None and capture.clock.offset_s is not None  # noqa: PT018
            ends = (finite(capture.frame["t_s"].min()), finite(capture.frame["t_s"].max()))
            times += [capture.clock.offset_s + t for t in ends if t is not None]
    return (min(times), max(times)) if times else None


def wide(what: Reading | Run, step_s: float | None = None) -> pl.DataFrame:
    """One row a step: ``time`` (start of the step), means of every metric, and what the log tells of that step.

    Metric columns are ``metric``, ``metric[device]`` with several devices, and ``source:metric`` where two sources
    give the same. ``phase`` is ``load``, ``reading``, ``writing``, ``reading+writing`` or ``idle``; ``requests``
    counts those in progress; ``events`` lists kinds. Steps without any sample keep null.
    """
    import polars as pl

    span = bounds(what)
    if span is None:
        return pl.DataFrame(schema={"time": pl.Float64, "phase": pl.String, "requests": pl.UInt32, "events": pl.String})
    step = max(step_s or usual_step(what), (span[1] - span[0]) / MAX_ROWS, 1e-6)
    first = int(span[0] // step)
    count = int(span[1] // step) - first + 1
    table = pl.DataFrame({"bucket": pl.int_range(count, eager=True, dtype=pl.Int64)})
    table = table.with_columns(((pl.col("bucket") + first) * step).alias("time"))
    sampled = _buckets(what, first, step)
    if sampled is not None:
        table = table.join(sampled, on="bucket", how="left", maintain_order="left")
    from loganalyze.timeline.beside import beside

    table = table.drop("bucket")
    known = [c for c in table.columns if c != "time"]
    table = table.with_columns(beside(placed_runs(what), first * step, step, count))
    if count > DENSE_ROWS:
        # Days between two runs are no rows.
        table = table.filter(pl.any_horizontal(pl.col([*known, "phase", "events"]).is_not_null()))
    return table


def _buckets(what: Reading | Run, first: int, step: float) -> pl.DataFrame | None:
    """Means a bucket. Integer buckets cost a quarter of dynamic grouping."""
    import polars as pl

    long = tidy(what)
    if not long.height:
        return None
    keys = long.select("source", "device", "metric").unique(maintain_order=True)
    named = keys.with_columns(pl.Series("column", _columns(keys.rows())))
    long = long.join(named, on=["source", "device", "metric"], nulls_equal=True)
    long = long.with_columns(((pl.col("time") / step).floor().cast(pl.Int64) - first).alias("bucket"))
    means = long.group_by("bucket", "column").agg(pl.col("value").mean())
    order = {name: i for i, name in enumerate(METRICS)}
    columns = sorted(named.rows(named=True), key=lambda r: (order[r["metric"]], r["device"] or 0, r["source"]))
    flat = means.pivot(on="column", index="bucket", values="value")
    return flat.select("bucket", *[c["column"] for c in columns])


def _columns(keys: list[tuple[str, int | None, str]]) -> list[str]:
    """Names of the columns for ``(source, device, metric)``, as short as they can be told apart."""
    several = {m for m in {k[2] for k in keys} if len({d for _, d, n in keys if n == m}) > 1}
    short = [f"{m}[{d}]" if m in several and d is not None else m for _, d, m in keys]
    return [
        f"{_file_name(k[0])}:{name}" if short.count(name) > 1 else name for k, name in zip(keys, short, strict=True)
    ]


def _file_name(path: str) -> str:
    """File part of a path as a word: column names end up in files that spreadsheets open."""
    return re.sub(r"[^\w.-]", "_", path.replace("\\", "/").rsplit("/", 1)[-1]).lstrip("-")


def frame(run: Run, step_s: float | None = None) -> pd.DataFrame:
    """The wide table of ``run`` as a pandas frame.

    Its DatetimeIndex is UTC where the axis is wall time; else it counts from 1970-01-01 without a zone. Columns that
    hold text are of object type, so neither pyarrow nor a string extension is needed.
    """
    import pandas as pd

    table = wide(run, step_s)
    data = {name: table[name].to_numpy() for name in table.columns if name != "time"}
    index = pd.to_datetime(table["time"].to_numpy(), unit="s", utc=is_wall_time(run))
    return pd.DataFrame(data, index=pd.DatetimeIndex(index, name="time"))

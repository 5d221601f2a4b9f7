"""Runs and captures built by hand, with a known truth, for the tests of the timeline."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import polars as pl

from loganalyze.model.records import Capture, Clock, Request, Run, Source

EPOCH = 1_796_075_500.0


def capture(
    path: str,
    columns: dict[str, Sequence[Any]],
    *,
    times: Sequence[float | None] | None = None,
    zone: str | None = None,
    kind: Any = "gpu",
    interval_s: float | None = None,
    resolution_s: float = 0.001,
    mtime_s: float | None = None,
    ticks: Sequence[int] | None = None,
) -> Capture:
    """A capture; ``times`` are epoch seconds (read as UTC without ``zone``), None for one without a clock."""
    count = len(next(iter(columns.values())))
    first = next((t for t in times or () if t is not None), None)
    stamps = [None if t is None else t - (first or 0.0) for t in times] if times else [None] * count
    frame = pl.DataFrame(
        {
            "t_s": pl.Series(stamps, dtype=pl.Float64),
            "row": pl.Series(ticks if ticks is not None else range(count), dtype=pl.UInt32),
            "line": pl.Series(range(2, count + 2), dtype=pl.UInt32),
            **columns,
        },
        strict=False,
    )
    clock = Clock(kind="none")
    if first is not None:
        clock = Clock(kind="absolute", zone=zone, first_epoch_s=first, resolution_s=resolution_s)
    elif interval_s:
        clock = Clock(kind="interval", interval_s=interval_s)
    source = Source(path=path, mtime_s=mtime_s)
    return Capture(kind=kind, format="test", source=source, frame=frame, clock=clock)


def stamped_run(
    path: str = "run.log",
    *,
    load: tuple[float, float] = (0.2, 4.0),
    works: Sequence[tuple[float, float]] = ((4.5, 12.0),),
) -> Run:
    """A run with its own stamps since the process started; each work is a request, a fifth of it reading."""
    run = Run(id=f"{path}#1", source=Source(path=path), clock=Clock(kind="relative", resolution_s=1e-6))
    run.start_s, run.end_s = load[0], works[-1][1] if works else load[1]
    for number, (start, end) in enumerate(works):
        length = (end - start) * 1000
        run.requests.append(
            Request(
                id=str(number), source=path, line=10 + number, start_s=start, end_s=end, slot=0,
                prompt_tokens=100, prompt_ms=length * 0.2, eval_tokens=50, eval_ms=length * 0.8, total_ms=length,
            )
        )  # fmt: skip
    return run


def gpu_columns(run: Run, times: Sequence[float], *, base_mib: float = 10.0, top_mib: float = 8000.0) -> dict[str, Any]:
    """What a GPU capture sees of ``run`` at ``times`` on its clock."""
    dice = random.Random(7)
    start, end = run.start_s or 0.0, run.end_s or 0.0
    first = min((r.start_s for r in run.requests if r.start_s is not None), default=end)
    memory, use = [], []
    for t in times:
        share = min(max((t - start) / max(first - start, 0.1) * 1.3, 0.0), 1.0) if start < t < end + 0.2 else 0.0
        memory.append(round(base_mib + share * (top_mib - base_mib)))
        busy = any((r.start_s or 0) < t < (r.end_s or 0) for r in run.requests)
        use.append(dice.randint(88, 98) if busy else 0)
    return {"device": [0] * len(times), "vram_used_mib": memory, "gpu_util_pct": use}

"""What the log tells, as columns of the resampled table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from loganalyze.model.records import Run

if TYPE_CHECKING:
    import polars as pl

# Of the phases in one step the one named first here is shown.
_RANK = ("reading", "writing", "load", "idle")


def beside(runs: list[Run], start_s: float, step_s: float, count: int) -> list[pl.Series]:
    """Columns ``phase``, ``requests`` and ``events`` of ``count`` steps that begin at ``start_s`` on the axis."""
    import numpy as np
    import polars as pl

    masks = {kind: np.zeros(count, dtype=bool) for kind in _RANK}
    change = np.zeros(count + 1, dtype=np.int64)
    events: dict[int, list[str]] = {}
    for run in runs:
        offset = run.clock.offset_s
        if offset is None:
            continue
        for phase in run.phases:
            a, b = _range(offset + phase.start_s, offset + phase.end_s, start_s, step_s, count)
            masks[phase.kind][a:b] = True
        for request in run.requests:
            if request.start_s is not None and request.end_s is not None:
                a, b = _range(offset + request.start_s, offset + request.end_s, start_s, step_s, count)
                change[a] += 1
                change[b] -= 1
        for at, kind in _event_times(run):
            index = int((offset + at - start_s) // step_s)
            if 0 <= index < count and kind not in events.setdefault(index, []):
                events[index].append(kind)
    words = [" ".join(events[i]) if i in events else None for i in range(count)]
    return [
        pl.Series("phase", _names(masks, count), dtype=pl.String),
        pl.Series("requests", np.cumsum(change)[:count].astype(np.uint32)),
        pl.Series("events", words, dtype=pl.String),
    ]


def _range(begin: float, end: float, start_s: float, step_s: float, count: int) -> tuple[int, int]:
    first = min(max(int((begin - start_s) // step_s), 0), count)
    last = min(max(int((end - start_s) // step_s) + 1, first), count)
    return first, last


def _event_times(run: Run) -> Iterable[tuple[float, str]]:
    return ((e.t_s, e.kind) for e in run.events if e.t_s is not None)


def _names(masks: Mapping[str, object], count: int) -> list[str | None]:
    import numpy as np

    code = np.zeros(count, dtype=np.int64)
    for bit, kind in enumerate(_RANK):
        code += (1 << bit) * np.asarray(masks[kind], dtype=np.int64)
    names = [_name(c) for c in range(1 << len(_RANK))]
    return [names[c] for c in code]


def _name(code: int) -> str | None:
    kinds = [kind for bit, kind in enumerate(_RANK) if code & (1 << bit)]
    if not kinds:
        return None
    return "reading+writing" if kinds[:2] == ["reading", "writing"] else kinds[0]

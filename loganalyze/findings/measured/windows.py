"""Which rows of a capture belong to which part of a run.

With both clocks on the common axis rows are chosen by time; without, only whole-capture statements are made, or those
about the rows in which the run's own device memory stands at its plateau (model, cache and buffers all there).
"""

from __future__ import annotations

from loganalyze.findings.measured.timing import LAID_OUT
from loganalyze.model.records import Capture, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import polars as pl

Span = tuple[float, float]
MAX_SPANS = 400
# Where stamps give no moments, a capture's clock may be off by this much and still be used for a whole run.
MAX_ERROR_S = 5.0


def run_span(run: Run) -> Span | None:
    """Start and end of the run on the common axis."""
    offset = run.clock.offset_s
    if offset is None or run.end_s is None or (run.clock.error_s or 0.0) > MAX_ERROR_S:
        return None
    start = run.start_s if run.start_s is not None else 0.0
    return (offset + start, offset + run.end_s) if run.end_s > start else None


def half_spans(run: Run, kind: str) -> list[Span]:
    """Stretches of ``reading`` or ``writing`` on the common axis, merged, at most ``MAX_SPANS``."""
    offset = run.clock.offset_s
    if offset is None or (run.clock.error_s or 0.0) > MAX_ERROR_S:
        return []
    if run.facts.get("times") == LAID_OUT and len(run.requests) > 1:
        return []
    spans = sorted((offset + p.start_s, offset + p.end_s) for p in run.phases if p.kind == kind)
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1] + 0.05:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return sorted(merged, key=lambda s: s[0] - s[1])[:MAX_SPANS]


def between(capture: Capture, spans: list[Span], slack_s: float = 0.0) -> pl.DataFrame | None:
    """Rows of ``capture`` inside ``spans`` of the common axis, None when the capture cannot be placed."""
    import numpy as np
    import polars as pl

    frame, offset = capture.frame, capture.clock.offset_s
    if frame is None or offset is None or not spans or "t_s" not in frame.columns:
        return None
    if (capture.clock.error_s or 0.0) > MAX_ERROR_S or frame["t_s"].null_count() == frame.height:
        return None
    edges = np.array(sorted(spans))
    starts, ends = edges[:, 0] - offset - slack_s, np.maximum.accumulate(edges[:, 1] - offset + slack_s)
    t = frame["t_s"].to_numpy()
    last = np.searchsorted(starts, t, side="right") - 1
    # A row lies inside when any span that begins at or before it has not ended; unknown times are nan and lie nowhere.
    return frame.filter(pl.Series((last >= 0) & (t <= ends[last])))


def rows_of(capture: Capture) -> pl.DataFrame | None:
    """All rows but the one that averages since boot."""
    frame = capture.frame
    if frame is None or frame.height == 0:
        return None
    if capture.first_row_since_boot and "row" in frame.columns:
        since_boot = frame["row"] == 0
        count = int(since_boot.sum())
        return frame.slice(count) if since_boot.head(count).all() else frame.filter(~since_boot)
    return frame

"""Host telemetry of a run: paging rates, block input, waiting, processor use, memory left.

Rates only: totals in swap prove nothing (they may be days old). The row that averages since boot is left out. Inside
the run where clocks allow it, else over the whole capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loganalyze.findings.measured.windows import Span, between, half_spans, rows_of, run_span
from loganalyze.model.records import Capture, Run

if TYPE_CHECKING:
    import polars as pl


@dataclass(slots=True)
class HostFacts:
    """Peaks in KiB/s; ``*_rows`` count rows above 1 MiB/s; ``answering`` says whether rows lie inside reading/writing.

    ``swap_in_mean_kib_s`` is over the rows of the window. ``cpu_pct`` is user plus system while writing, ``running`` how many
    threads ran or waited for a processor.
    """

    source: str = ""
    answering: bool = False
    rows: int = 0
    span: Span | None = None
    swap_in_max_kib_s: float | None = None
    swap_in_mean_kib_s: float | None = None
    swap_in_rows: int = 0
    swap_out_max_kib_s: float | None = None
    swap_out_rows: int = 0
    block_in_median_kib_s: float | None = None
    block_in_max_kib_s: float | None = None
    major_faults_s: float | None = None
    cpu_pct: float | None = None
    cpu_wait_pct: float | None = None
    blocked: float | None = None
    running: float | None = None
    swap_used_peak_mib: float | None = None
    swap_grown_mib: float | None = None
    ram_total_mib: float | None = None
    ram_available_min_mib: float | None = None


PAGING_KIB_S = 1024.0


def measure_host(run: Run) -> HostFacts | None:
    """Host facts over all host captures, None without one."""
    captures = [c for c in run.captures if c.kind in ("host", "host_process")]
    if not captures:
        return None
    facts = HostFacts()
    for capture in sorted(captures, key=_rank):
        _merge(facts, capture, run)
    return facts


def _rank(capture: Capture) -> tuple[bool, bool]:
    columns = capture.frame.columns if capture.frame is not None else []
    return "swap_in_kib_s" not in columns, capture.clock.offset_s is None


def _merge(facts: HostFacts, capture: Capture, run: Run) -> None:
    total = capture.facts.get("ram_total_mib")
    if isinstance(total, int | float) and facts.ram_total_mib is None:
        facts.ram_total_mib = float(total)
    rows = rows_of(capture)
    if rows is None:
        return
    clean = Capture(capture.kind, capture.format, capture.source, rows, clock=capture.clock)
    inside, answering = _window(clean, run)
    if not facts.source:
        facts.source, facts.rows, facts.answering = capture.source.path, inside.height, answering
        facts.span = run_span(run) if answering else None
    _paging(facts, inside)
    _pressure(facts, inside)
    _levels(facts, rows, inside)


def _window(capture: Capture, run: Run) -> tuple[pl.DataFrame, bool]:
    """Rows of the answering part (a row covers the second before it), else of the run, else all."""
    spans = half_spans(run, "writing") + half_spans(run, "reading")
    for chosen, slack in ((spans, 0.0), (spans, 1.0)):
        rows = between(capture, chosen, slack)
        if rows is not None and rows.height >= 2:
            return rows, True
    whole = run_span(run)
    rows = between(capture, [whole] if whole else [], 1.0)
    if rows is not None and rows.height:
        return rows, False
    assert capture.frame is not None
    return capture.frame, False


def _paging(facts: HostFacts, rows: pl.DataFrame) -> None:
    if facts.swap_in_max_kib_s is None and "swap_in_kib_s" in rows.columns:
        series = rows["swap_in_kib_s"].drop_nulls()
        if series.len():
            facts.swap_in_max_kib_s = float(series.max() or 0.0)  # type: ignore[arg-type]
            facts.swap_in_mean_kib_s = float(series.mean() or 0.0)  # type: ignore[arg-type]
            facts.swap_in_rows = int((series >= PAGING_KIB_S).sum())
    if facts.swap_out_max_kib_s is None and "swap_out_kib_s" in rows.columns:
        series = rows["swap_out_kib_s"].drop_nulls()
        if series.len():
            facts.swap_out_max_kib_s = float(series.max() or 0.0)  # type: ignore[arg-type]
            facts.swap_out_rows = int((series >= PAGING_KIB_S).sum())


def _pressure(facts: HostFacts, rows: pl.DataFrame) -> None:
    def put(name: str, value: float | None) -> None:
        if getattr(facts, name) is None:
            setattr(facts, name, value)

    put("block_in_median_kib_s", _at(rows, "block_in_kib_s", 0.5))
    put("block_in_max_kib_s", _at(rows, "block_in_kib_s", 1.0))
    put("major_faults_s", _at(rows, "major_faults_s", 0.5))
    put("cpu_wait_pct", _at(rows, "cpu_wait_pct", 0.5))
    put("blocked", _at(rows, "procs_blocked", 0.5))
    put("running", _at(rows, "procs_running", 0.5))
    user = _at(rows, "cpu_user_pct", 0.5 if facts.answering else 0.9)
    system = _at(rows, "cpu_system_pct", 0.5)
    if user is not None:
        put("cpu_pct", user + (system or 0.0))
    elif (idle := _at(rows, "cpu_idle_pct", 0.5 if facts.answering else 0.1)) is not None:
        put("cpu_pct", 100.0 - idle - (_at(rows, "cpu_wait_pct", 0.5) or 0.0))


def _levels(facts: HostFacts, rows: pl.DataFrame, inside: pl.DataFrame) -> None:
    if facts.ram_available_min_mib is None:
        facts.ram_available_min_mib = _at(inside, "ram_available_mib", 0.0)
    if facts.ram_total_mib is None:
        facts.ram_total_mib = _at(rows, "ram_total_mib", 1.0)
    if facts.swap_used_peak_mib is None and "swap_used_mib" in rows.columns:
        series = rows["swap_used_mib"].drop_nulls()
        if series.len():
            facts.swap_used_peak_mib = float(series.max())  # type: ignore[arg-type]
            facts.swap_grown_mib = facts.swap_used_peak_mib - float(series[0])


def _at(frame: pl.DataFrame, name: str, q: float) -> float | None:
    if name not in frame.columns or frame.height == 0:
        return None
    value = frame[name].quantile(q, "nearest")
    return float(value) if isinstance(value, int | float) and value == value else None

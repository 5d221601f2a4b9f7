"""The picture of a run, PNG (1160 px wide) or SVG (text stays text, follows light and dark pages).

With a clock and telemetry: at most four panels on one time axis. A log alone gives time shares and speeds against
expectation. No pyplot, no state left behind, the same bytes for the same input.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loganalyze.errors import LogAnalyzeError
from loganalyze.faults import PICTURES_MIB, require_memory
from loganalyze.model.records import Run
from loganalyze.model.report import Report, main_run
from loganalyze.reports import facts, plot_axis, plot_log, units
from loganalyze.reports import plot_style as look
from loganalyze.reports.plot_axis import Axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from loganalyze.reports.redact import Redactor

    Clean = Callable[[str], str]
    Panel = tuple[float, Callable[[Any], None]]
    """Height in inches, and what draws into the axes."""

MARKS = 4


def figure(subject: Run | Report, redactor: Redactor | None = None) -> Figure:
    """Draw ``subject``: a run, or the run of a report that lost the most time.

    Raises LogAnalyzeError when there is neither a rate, nor a phase, nor telemetry to draw.
    """
    require_memory(PICTURES_MIB, "pictures")
    run = subject if isinstance(subject, Run) else _run_of(subject)
    clean: Clean = (lambda text: text) if redactor is None else redactor.text
    with look.style():
        axis = plot_axis.axis_of(run)
        panels = [] if axis is None else _timeline_panels(run, axis)
        if axis is None or not panels or not (run.captures or len(panels) > 1):
            return _log_figure(run, clean)
        return _timeline_figure(run, axis, panels, clean)


def svg(subject: Run | Report, redactor: Redactor | None = None) -> str:
    """The picture as SVG text without date, tool or link in it."""
    from loganalyze.reports.plot_svg import adapted

    return adapted(raw_svg(subject, redactor), f"Timeline of a run: {facts.judgement(_as_run(subject)).verdict}")


def raw_svg(subject: Run | Report, redactor: Redactor | None = None) -> str:
    """The picture as matplotlib writes it."""
    drawn = figure(subject, redactor)
    with look.style():
        out = io.StringIO()
        drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return out.getvalue()


def png(subject: Run | Report, redactor: Redactor | None = None) -> bytes:
    """The picture as PNG bytes without metadata."""
    drawn = figure(subject, redactor)
    with look.style():
        out = io.BytesIO()
        drawn.savefig(out, format="png", dpi=look.DPI, metadata={"Software": None})
    return out.getvalue()


def data(report: Report, redactor: Redactor | None = None, extension: str = ".png") -> bytes:
    """Bytes of a ``.png`` or ``.svg`` file."""
    return svg(report, redactor).encode() if extension == ".svg" else png(report, redactor)


def save(subject: Run | Report, path: str | Path, redactor: Redactor | None = None) -> None:
    """Write the picture to ``path`` (``.png`` or ``.svg``), whole or not at all; replaces an existing file."""
    from loganalyze.reports.write import replace_file

    vector = str(path).lower().endswith(".svg")
    replace_file(Path(path), svg(subject, redactor).encode() if vector else png(subject, redactor))


def _as_run(subject: Run | Report) -> Run:
    return subject if isinstance(subject, Run) else _run_of(subject)


def _run_of(report: Report) -> Run:
    run = main_run(report.runs) or next(iter(report.runs), None)
    if run is not None:
        return run
    if report.reading.captures:
        return Run(id="telemetry", captures=report.reading.captures)
    raise LogAnalyzeError("nothing was read that could be drawn", remedy="See: loganalyze check")


def _timeline_panels(run: Run, axis: Axis) -> list[Panel]:
    from loganalyze.reports import plot_activity, plot_panels, series

    found = plot_axis.stretches(run, axis)
    panels: list[Panel] = []
    if found:
        rows = min(len(plot_axis.lanes(found)), plot_panels.MAX_LANES)
        panels.append((0.5 + 0.24 * rows, lambda ax: plot_panels.bands(ax, found, axis)))
    samples = plot_axis.sampled(run, axis)
    if any(s.tps for s in [*found, *samples]):
        judged = facts.judgement(run)
        expected = {"reading": judged.reading.expected_tps, "writing": judged.writing.expected_tps}
        panels.append((1.75, lambda ax: plot_panels.speed(ax, found, samples, expected)))

    def read(metrics: tuple[str, ...]) -> dict[str, list[series.Series]]:
        return series.telemetry(run, metrics, axis.origin, axis.t0, axis.t1)

    card = read(("vram_used_mib", "vram_total_mib", "shared_used_mib"))
    if "vram_used_mib" in card:
        panels.append((1.6, lambda ax: plot_panels.device_memory(ax, card)))
    gpu, host = read(plot_activity.GPU_METRICS), read(plot_activity.HOST_METRICS)
    ram = read(("ram_used_mib", "ram_available_mib", "ram_free_mib", "swap_used_mib", "ram_total_mib"))
    if "vram_used_mib" not in card and any(m != "ram_total_mib" for m in ram):
        panels.append((1.6, lambda ax: plot_panels.host_memory(ax, ram)))
    if gpu and host and len(panels) > 2:
        return [*panels, (2.1, lambda ax: plot_activity.activity(ax, gpu | host, "busy"))]
    if gpu:
        panels.append((1.75, lambda ax: plot_activity.activity(ax, gpu, "GPU busy")))
    if host:
        panels.append((1.75, lambda ax: plot_activity.activity(ax, host, "host busy")))
    return panels[:4]


def _timeline_figure(run: Run, axis: Axis, panels: list[Panel], clean: Clean) -> Figure:
    from loganalyze.reports.plot_marks import draw_marks, plan_marks

    marks = plan_marks(run, axis, clean)
    notes = _notes(run, axis)
    drawn, axes = _canvas(run, [height for height, _ in panels], 0.24 * marks.rows, notes, clean, shared=True)
    for ax, (_, draw) in zip(axes, panels, strict=True):
        draw(ax)
        ax.set_xlim(axis.t0, axis.t1)
    axes[-1].set_xlabel(look.label(clean(axis.title), 100))
    draw_marks(drawn, axes, marks, axis, plot_axis.clock_error(run, axis))
    return drawn


def _log_figure(run: Run, clean: Clean) -> Figure:
    halves = [half for half in ("reading", "writing") if plot_log.has_rates(run, half)]
    few = len(run.requests) <= plot_log.FEW
    judged = facts.judgement(run)
    shares = any((run.load_ms, judged.reading.ms, judged.writing.ms))
    heights = [0.5] if shares else []
    each = 0.5 + 0.26 * len(run.requests) if few else 1.8
    heights += [each] * len(halves)
    if not heights:
        raise LogAnalyzeError("neither timings nor telemetry to draw", remedy="Add captures or a log with timings.")
    drawn, axes = _canvas(run, heights, 0.0, _notes(run, None), clean, shared=False, gap=0.72 if few else 0.55)
    if shares:
        plot_log.shares(axes[0], run)
    for ax, half in zip(axes[1 if shares else 0 :], halves, strict=True):
        (plot_log.bars if few else plot_log.points)(ax, run, half)
    if not few and halves:
        axes[-1].set_xlabel("request number")
    return drawn


def _canvas(
    run: Run, heights: list[float], strip: float, notes: list[str], clean: Clean, shared: bool, gap: float = 0.2
) -> tuple[Figure, list[Any]]:
    """Figure with head and foot, and one axes a panel placed in inches so that nothing can overlap."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = look.WIDTH_IN - 1.1  # a browser's font may run wider
    head = look.wrapped(_headline(run, clean), 12.5, width, "bold")
    about = look.label(clean(_about(run)), 150)
    foot = [look.label(clean(note), 150) for note in notes]
    top = 0.22 + 0.25 * len(head) + 0.28 + strip + (0.12 if shared else 0.14)
    bottom = 0.62 + 0.2 * len(foot)
    total = top + sum(heights) + gap * (len(heights) - 1) + bottom
    drawn = Figure(figsize=(look.WIDTH_IN, total), dpi=look.DPI)
    FigureCanvasAgg(drawn)
    y = total - 0.2
    for line in head:
        drawn.text(0.25 / look.WIDTH_IN, y / total, line, size=12.5, weight="bold", va="top")
        y -= 0.25
    drawn.text(0.25 / look.WIDTH_IN, y / total, about, size=10, color=look.MUTED, va="top")
    for number, line in enumerate(reversed(foot)):
        drawn.text(0.25 / look.WIDTH_IN, (0.1 + 0.2 * number) / total, line, size=9.5, color=look.MUTED, va="bottom")
    axes: list[Any] = []
    y = total - top
    for height in heights:
        box = (look.LEFT_IN / look.WIDTH_IN, (y - height) / total,
               (look.WIDTH_IN - look.LEFT_IN - look.RIGHT_IN) / look.WIDTH_IN, height / total)  # fmt: skip
        axes.append(drawn.add_axes(box, sharex=axes[0] if shared and axes else None))
        y -= height + gap
    for ax in axes[:-1] if shared else []:
        ax.tick_params(axis="x", labelbottom=False)
    return drawn, axes


def _headline(run: Run, clean: Clean) -> str:
    judged = facts.judgement(run)
    if run.judgement is None:
        return look.label(clean(run.id), 200)
    return look.label(clean(f"{facts.WORDS[judged.verdict].capitalize()}: {judged.summary}"), 260)


def _about(run: Run) -> str:
    words = (facts.engine(run), facts.model(run) or "", ", ".join(facts.devices(run)), plot_axis.base(run.id))
    return " · ".join(word for word in words if word)


def _notes(run: Run, axis: Axis | None) -> list[str]:
    notes = [] if axis is None and not run.captures else plot_axis.unplaced(run, axis)
    if axis is not None:
        error = plot_axis.clock_error(run, axis)
        notes += [] if error is None else [plot_axis.error_text(error)]
    lost = facts.judgement(run).lost_s
    if lost is not None and lost > 0:
        notes.append(f"time lost: {units.seconds(lost)}")
    return [note[:1].upper() + note[1:] + "." for note in notes]

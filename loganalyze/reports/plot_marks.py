"""The seconds that carry the verdict: a tint across all panels, and words above the first one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loganalyze.model.records import Run
from loganalyze.reports import facts, units
from loganalyze.reports import plot_style as look
from loganalyze.reports.plot_axis import Axis

MOST = 4
_FAILURES = {
    "alloc_failed": "failed allocation",
    "load_failed": "loading failed",
    "killed": "killed",
    "kernel_oom": "killed for memory",
}
PANEL_IN = look.WIDTH_IN - look.LEFT_IN - look.RIGHT_IN


@dataclass(slots=True)
class Mark:
    """Range on the drawn axis and its words; ``row`` counts label rows from the panel upwards, ``left`` in inches."""

    start: float
    end: float
    text: str
    left: float = 0.0
    row: int = 0


@dataclass(slots=True)
class Marks:
    """Planned marks and the number of label rows they need."""

    found: list[Mark] = field(default_factory=list)
    rows: int = 0


def plan_marks(run: Run, axis: Axis, clean: Callable[[str], str]) -> Marks:
    """Place the labels of the longest marks in rows so that none covers another."""
    inside = []
    said = _said(run)
    for start, end, text in facts.judgement(run).marks or _failures(run):
        text = said if text == facts.judgement(run).cause.replace("_", " ") else text
        a, b = start - (axis.origin or 0.0), end - (axis.origin or 0.0)
        if b >= axis.t0 and a <= axis.t1:
            inside.append(Mark(max(a, axis.t0), min(b, axis.t1), look.label(clean(text), 84)))
    chosen = sorted(inside, key=lambda m: (-(m.end - m.start), m.start))[:MOST]
    if len(inside) > MOST:
        chosen[-1].text += f" (and {len(inside) - MOST} more like these)"
    chosen.sort(key=lambda m: m.start)
    rows: list[list[tuple[float, float]]] = []
    for mark in chosen:
        width = look.text_width(mark.text, 10, "bold") + 0.15
        middle = ((mark.start + mark.end) / 2 - axis.t0) / axis.span * PANEL_IN
        mark.left = min(max(0.0, middle - width / 2), max(0.0, PANEL_IN + 1.5 - width))
        box = (mark.left, mark.left + width)
        mark.row = next((i for i, row in enumerate(rows) if all(box[1] < a or b < box[0] for a, b in row)), len(rows))
        if mark.row == len(rows):
            rows.append([])
        rows[mark.row].append(box)
    return Marks(chosen, len(rows))


def _said(run: Run) -> str:
    """The cause in words, with what its finding says."""
    judged = facts.judgement(run)
    name = judged.cause.replace("_", " ")
    finding = next((f for f in facts.ordered(judged) if f.cause == judged.cause and f.text), None)
    return name if finding is None else f"{name}: {finding.text.split(': ')[0]}"


def _failures(run: Run) -> list[tuple[float, float, str]]:
    """Where memory ran out, for a run that has nothing slow to mark because it never came to work."""
    offset = run.clock.offset_s
    if offset is None or facts.judgement(run).verdict != "swapping":
        return []
    out = []
    for event in run.events:
        if event.t_s is not None and event.kind in _FAILURES:
            mib = event.data.get("mib")
            size = f" of {units.mib(mib)}" if event.kind == "alloc_failed" and isinstance(mib, int | float) else ""
            out.append((offset + event.t_s, offset + event.t_s, _FAILURES[event.kind] + size))
    return out[:1]


def draw_marks(drawn: Any, axes: list[Any], marks: Marks, axis: Axis, error: tuple[float, str] | None) -> None:
    """Tint the ranges, write the words, and show the clock error to scale where it matters."""
    for mark in marks.found:
        thin = axis.span / 400
        start, end = mark.start, max(mark.end, mark.start + thin)
        for ax in axes:
            ax.axvspan(start, end, facecolor=look.MARK, alpha=0.10, lw=0, zorder=0.5)
            for edge in (start, end):
                ax.axvline(edge, color=look.MARK, lw=1.0, ls=(0, (2, 2)), zorder=0.6)
        _words(drawn, axes[0], mark, axis)
    if error is not None:
        _error_bar(axes[-1], axis, error[0])


def _words(drawn: Any, ax: Any, mark: Mark, axis: Axis) -> None:
    height = ax.get_position().height * drawn.get_figheight()
    y = 1 + (0.07 + 0.24 * mark.row) / height
    ax.text(
        mark.left / PANEL_IN, y, mark.text, transform=ax.transAxes, size=10, weight="bold", color=look.MARK, va="bottom",
        ha="left", clip_on=False,
    )  # fmt: skip
    a, b = ((t - axis.t0) / axis.span for t in (mark.start, mark.end))
    ax.plot([a, max(b, a + 0.0025)], [1 + 0.03 / height] * 2, transform=ax.transAxes, color=look.MARK, lw=3,
            clip_on=False, solid_capstyle="butt", scalex=False, scaley=False)  # fmt: skip


def _error_bar(ax: Any, axis: Axis, error: float) -> None:
    """A bar of the clock error's length, under the last panel's right end."""
    half, right = error / axis.span, 1.12
    if half > 0.09:
        return  # wider than the margin: the words under the picture have to do
    ax.errorbar(
        [right + half], [-0.05], xerr=[half], fmt="none", ecolor=look.MUTED, capsize=4, lw=1.4, transform=ax.transAxes,
        clip_on=False,
    )  # fmt: skip
    ax.text(right, -0.14, f"clock ± {units.seconds(error)}", transform=ax.transAxes, size=9.5, color=look.MUTED,
            va="top", clip_on=False)  # fmt: skip

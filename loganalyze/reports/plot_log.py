"""Pictures of a log without telemetry: where the time went, and each request's speed against expectation."""

from __future__ import annotations

from typing import Any

from loganalyze.model.records import Judgement, Request, Run
from loganalyze.reports import facts, units
from loganalyze.reports import plot_style as look

FEW = 12
"""Up to here every request gets bars with their values; more become points along the axis."""


def shares(ax: Any, run: Run) -> bool:
    """One bar: seconds of load, reading, writing and the rest. False when nothing is known."""
    judged = facts.judgement(run)
    parts = [("load", _load_s(run), look.LOAD), ("reading", _s(judged.reading.ms), look.READING)]
    parts += [("writing", _s(judged.writing.ms), look.WRITING)]
    known = [(name, value, colour) for name, value, colour in parts if value]
    if not known:
        return False
    total = sum(value for _, value, _ in known)
    left = 0.0
    outside = []
    for name, value, colour in known:
        ax.barh(0, value, left=left, height=0.7, color=colour, linewidth=0)
        text = f"{name} {units.seconds(value)} ({units.percent(value / total)})"
        room = value / total * (look.WIDTH_IN - look.LEFT_IN - look.RIGHT_IN)
        if look.text_width(text, 10) + 0.15 < room:
            ink = look.INK if name == "load" else look.PAPER
            ax.text(left + value / 2, 0, text, ha="center", va="center", color=ink, size=10)
        else:
            outside.append((colour, text))
        left += value
    ax.set_xlim(0, total)
    ax.set_ylim(-0.5, 0.5)
    ax.set_yticks([])
    ax.grid(False)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("seconds, requests added up")
    _side_labels(ax, outside)
    return True


def bars(ax: Any, run: Run, half: str) -> None:
    """Speed of each of a few requests in one half, with the expected speed as a dashed line."""
    shown = [r for r in run.requests if _tps(r, half) is not None]
    values = [_tps(r, half) or 0.0 for r in shown]
    colour = look.READING if half == "reading" else look.WRITING
    rows = range(len(shown))
    ax.barh(list(rows), values, height=min(0.7, 0.18 + 0.1 * len(shown)), color=colour, linewidth=0)
    want = _expected(facts.judgement(run), half)
    top = max([*values, want or 0.0])
    for row, (request, value) in enumerate(zip(shown, values, strict=True)):
        _bar_label(ax, row, value, top, f"{units.rate(value)}, {_tokens(request, half)}")
    if want is not None:
        ax.axvline(want, color=look.INK, lw=1.3, ls=(0, (4, 3)))
        text = f"expected {units.rate(want)}"
        side = "right" if want > 0.6 * top else "left"
        ax.annotate(text, (want, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                    ha=side, va="bottom", size=10)  # fmt: skip
    ax.set_xlim(0, top * 1.05)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    many = len(run.requests) > 1
    ax.set_yticks(
        list(rows) if many else [],
        [look.label(f"request {r.id}" if len(r.id) < 3 else f"#{r.id}", 10) for r in shown] if many else [],
    )
    ax.set_xlabel(f"{half}, tokens/s")
    ax.grid(axis="y", visible=False)


def points(ax: Any, run: Run, half: str) -> None:
    """Speed of each of many requests in one half along their number; lowest and highest of each slice stay."""
    import numpy as np

    from loganalyze.reports.series import envelope

    numbered = [(i + 1, _tps(r, half)) for i, r in enumerate(run.requests)]
    x = np.array([float(i) for i, v in numbered if v is not None])
    y = np.array([v for _, v in numbered if v is not None], dtype=float)
    colour = look.READING if half == "reading" else look.WRITING
    t, lo, hi = envelope(x, y, 1.0, float(len(numbered)), 400)
    if len(x) <= 800:
        ax.plot(x, y, ls="", marker="o" if half == "reading" else "s", ms=3.2, color=colour)
    else:
        ax.vlines(t, lo, hi, color=colour, lw=1.6, alpha=0.8)
    want = _expected(facts.judgement(run), half)
    top = max([float(y.max()), want or 0.0])
    if want is not None:
        ax.axhline(want, color=look.INK, lw=1.3, ls=(0, (4, 3)), label=f"expected {units.rate(want)}")
        ax.legend(loc="upper left", bbox_to_anchor=(1.012, 1.02))
    ax.set_ylim(0, top * 1.1)
    ax.set_xlim(0.5, len(numbered) + 0.5)
    ax.set_ylabel(f"{half}, tokens/s")


def has_rates(run: Run, half: str) -> bool:
    """Whether any request has a usable rate in this half."""
    return any(_tps(r, half) is not None for r in run.requests)


def _bar_label(ax: Any, row: int, value: float, top: float, text: str) -> None:
    """Inside the bar when it is long enough, else after it; never across its end."""
    inside = value > 0.62 * top
    ax.annotate(
        text, (value, row), xytext=(-6 if inside else 6, 0), textcoords="offset points", va="center", size=9.5,
        ha="right" if inside else "left", color=look.PAPER if inside else look.INK,
        bbox=None if inside else {"boxstyle": "square,pad=0.15", "fc": look.PAPER, "ec": "none"},
    )  # fmt: skip


def _side_labels(ax: Any, outside: list[tuple[str, str]]) -> None:
    from matplotlib.patches import Patch

    if outside:
        handles = [Patch(facecolor=colour, label=text) for colour, text in outside]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.012, 0.5))


def _tps(request: Request, half: str) -> float | None:
    if half == "reading":
        return request.prompt_tps
    return None if request.end_to_end_tps else request.eval_tps


def _tokens(request: Request, half: str) -> str:
    return units.count(request.prompt_tokens if half == "reading" else request.output_tokens, "token")


def _expected(judged: Judgement, half: str) -> float | None:
    return judged.reading.expected_tps if half == "reading" else judged.writing.expected_tps


def _load_s(run: Run) -> float | None:
    return _s(run.load_ms)


def _s(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000

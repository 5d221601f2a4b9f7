"""Pictures of studies: curves of a sweep, dots of a baseline, bars of a comparison. Small multiples, one figure a panel."""

from __future__ import annotations

import io
from typing import Any

from loganalyze.faults import PICTURES_MIB, require_memory
from loganalyze.reports import plot_style as look
from loganalyze.studies.figures import METRIC_INFO

BLUE, RED, GREY = look.READING, look.WRITING, look.LOAD
MAX_PANELS = 4


def data(kind: str, result: Any, fmt: str) -> bytes:
    """Bytes of a PNG or SVG of a study."""
    require_memory(PICTURES_MIB, "pictures")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    draw = {"sweep": _sweep, "baseline": _baseline, "compare": _compare}[kind]
    with look.style():
        figure = Figure(figsize=(10, 6), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure, result)
        out = io.BytesIO()
        figure.savefig(out, format=fmt, dpi=110, metadata={"Date": None} if fmt == "svg" else {"Software": None})
    if fmt != "svg":
        return out.getvalue()
    from loganalyze.reports.plot_svg import adapted

    return adapted(out.getvalue().decode(), f"Picture of a {kind}").encode()


def _panels(figure: Any, names: list[str]) -> list[Any]:
    names = names[:MAX_PANELS]
    rows = 1 if len(names) <= 2 else 2
    columns = max(1, -(-len(names) // rows))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, names, strict=False):
        label, unit, _ = METRIC_INFO[name]
        axis.set_title(f"{label} [{unit}]", loc="left", fontsize=10)
        axis.grid(axis="x", visible=False)
    return list(axes[: len(names)])


def _sweep(figure: Any, result: Any) -> None:
    figure.suptitle(_wrapped(result.answer), fontsize=11, x=0.01, ha="left")
    names = [n for n in METRIC_INFO if n in result.effects]
    xs = [level.x for level in result.levels]
    numeric = all(isinstance(level.value, int | float) for level in result.levels)
    wide = numeric and min(xs) > 0 and max(xs) / min(xs) >= 8
    for axis, name in zip(_panels(figure, names), names, strict=False):
        for level in result.levels:
            ys = [v for r in level.runs if (v := r.metrics.get(name)) is not None]
            axis.plot([level.x] * len(ys), ys, "o", color=GREY, markersize=4, alpha=0.8)
        points = [(level.x, level.metrics[name]) for level in result.levels if level.metrics[name] is not None]
        flat = result.effects[name].direction == "flat"
        axis.plot([p[0] for p in points], [p[1] for p in points], "-", color=BLUE if flat else RED, linewidth=2)
        effect = result.effects[name]
        word = "no effect" if flat else f"{effect.direction} {effect.change_pct:+.0f} %"
        axis.set_title(word, loc="right", fontsize=10, color=BLUE if flat else RED)
        axis.set_ylim(bottom=0)
        if wide:
            axis.set_xscale("log", base=2)
            axis.minorticks_off()
        axis.set_xticks(
            xs[:12],
            [look.label(str(level.value), 30) for level in result.levels[:12]],
            rotation=30 if len(xs) > 6 else 0,
        )
        axis.set_xlabel(look.label(result.label))


def _baseline(figure: Any, result: Any) -> None:
    figure.suptitle(
        _wrapped(f"Baseline {'usable' if result.usable else 'not usable'}: {result.reason}"),
        fontsize=11,
        x=0.01,
        ha="left",
    )
    names = [s.name for s in result.spreads]
    if not names:
        figure.text(0.5, 0.5, "nothing to compare", ha="center", color=GREY)
        return
    for axis, spread in zip(_panels(figure, names), result.spreads, strict=False):
        pairs = [(i + 1, v) for i, v in enumerate(spread.values) if v is not None]
        axis.axhline(spread.median, color=GREY, linewidth=1)
        axis.plot([p[0] for p in pairs], [p[1] for p in pairs], "o", color=BLUE if spread.ok else RED, markersize=7)
        axis.set_ylim(0, max(p[1] for p in pairs) * 1.25)
        axis.set_xticks([p[0] for p in pairs][:20])
        axis.set_xlabel("run")
        axis.annotate(f"spread {spread.spread_pct:.1f} %", (0.99, 0.97), xycoords="axes fraction", ha="right", va="top")


def _compare(figure: Any, result: Any) -> None:
    figure.suptitle(_wrapped(f"{result.outcome}: {result.answer}"), fontsize=11, x=0.01, ha="left")
    names = [c.name for c in result.changes]
    if not names:
        figure.text(0.5, 0.5, "nothing to compare", ha="center", color=GREY)
        return
    sides = (("before", result.before, 0), ("after", result.after, 1))
    for axis, change in zip(_panels(figure, names), result.changes, strict=False):
        colour = {"better": BLUE, "worse": RED, "same": GREY}[change.word]
        axis.bar([0, 1], [change.before, change.after], width=0.6, color=[GREY, colour], alpha=0.85)
        for _, side, at in sides:
            ys = [v for f in side if (v := f.metrics.get(change.name)) is not None]
            axis.plot([at] * len(ys), ys, "o", color=look.INK, markersize=3)
        axis.set_xticks([0, 1], [s[0] for s in sides])
        axis.annotate(
            f"x{change.ratio:.2f} {change.word}", (0.99, 0.99), xycoords="axes fraction", ha="right", va="top"
        )
        axis.set_ylim(0, max(change.before, change.after) * 1.2)


def _wrapped(text: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(look.label(text, 400), 110)[:3])

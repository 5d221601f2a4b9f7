"""Panels of the timeline picture. Each draws into given axes and says whether there was something to draw."""

from __future__ import annotations

from typing import Any

from loganalyze.reports import plot_style as look
from loganalyze.reports import units
from loganalyze.reports.plot_axis import Axis, Stretch, lanes
from loganalyze.reports.series import BINS, Series

MAX_LANES = 8
MAX_DRAWN = 60
"""More requests than this are drawn as how many run at once; bands would be thinner than 2 px."""
COLOURS = {"load": look.LOAD, "reading": look.READING, "writing": look.WRITING, "idle": look.IDLE}


def bands(ax: Any, found: list[Stretch], axis: Axis) -> None:
    """Phases as bands: one lane for load and idle, one for each slot; or the number of requests at once."""
    rows = lanes(found)
    requests = {s.request for s in found if s.request is not None}
    if len(rows) > MAX_LANES or len(requests) > MAX_DRAWN:
        return _at_once(ax, found, axis)
    whole = [s for s in found if s.request is None]
    shared = len(rows) <= 1
    drawn = [[*whole, *(rows[0] if rows else [])]] if shared else [whole, *rows] if whole else rows
    for height, row in enumerate(reversed(drawn)):
        for stretch in row:
            _band(ax, stretch, height, axis)
    ax.set_ylim(-0.5, len(drawn) - 0.5)
    names = [""] if shared else [*(["load"] if whole else []), *(_lane_name(row, i) for i, row in enumerate(rows))]
    ax.set_yticks(range(len(drawn)), list(reversed(names)))
    ax.grid(False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    _band_legend(ax, {s.kind for s in found})


def speed(ax: Any, found: list[Stretch], samples: list[Stretch], expected: dict[str, float | None]) -> None:
    """Speed over time: a level for each reading and writing, steps where progress lines exist, dashed expectation."""
    rated = [s for s in found if s.tps is not None]
    sampled = {(s.kind, s.request) for s in samples}
    drawn = [*samples, *(s for s in rated if (s.kind, s.request) not in sampled)]
    values = [s.tps for s in drawn if s.tps]
    for kind, colour in (("reading", look.READING), ("writing", look.WRITING)):
        mine = [s for s in drawn if s.kind == kind and s.tps]
        if len(mine) > 4 * MAX_DRAWN:
            _cloud(ax, mine, colour, f"{kind}, lowest to highest")
        elif mine:
            _levels(ax, mine, colour, kind)
        want = expected.get(kind)
        if want and mine:
            values.append(want)
            line = (0, (4, 3)) if kind == "reading" else (0, (1.5, 2))
            ax.axhline(want, color=colour, lw=1.2, ls=line, label=f"expected {units.rate(want)}")
    low, high = min(values), max(values)
    if high > 15 * low:
        ax.set_yscale("log")
        ax.set_ylim(low / 2, high * 2)
        _plain_log(ax)
    else:
        ax.set_ylim(0, high * 1.15)
    ax.set_ylabel("tokens/s")
    legend(ax)


def device_memory(ax: Any, found: dict[str, list[Series]]) -> None:
    """Memory in use of each GPU against its limit, in GiB."""
    used = found["vram_used_mib"]
    for number, one in enumerate(used[: len(look.GPUS)]):
        name = f"GPU {one.device if one.device is not None else 0}" + (" (all processes)" if len(used) == 1 else "")
        _line(ax, one, look.GPUS[number], name, 1 / 1024, look.STYLES[number % 4], shade=len(used) == 1)
    if len(used) > len(look.GPUS):
        ax.plot([], [], " ", label=f"and {len(used) - len(look.GPUS)} more GPUs")
    for one in found.get("shared_used_mib", [])[:1]:
        _line(ax, one, look.SWAP_IN, "host memory used as device memory", 1 / 1024)
    _limits(ax, found.get("vram_total_mib", []), max(s.peak for s in used))
    ax.set_ylabel("device\nmemory, GiB")
    legend(ax)


def host_memory(ax: Any, found: dict[str, list[Series]]) -> None:
    """Host memory and swap in GiB, where no device memory was captured."""
    shown = (
        ("ram_used_mib", "host memory in use", look.CPU, "-"),
        ("ram_available_mib", "host memory available", look.GPUS[0], look.STYLES[1]),
        ("ram_free_mib", "host memory free", look.GPUS[0], look.STYLES[1]),
        ("swap_used_mib", "swap in use", look.SWAP_IN, look.STYLES[2]),
    )
    names = [m for m, *_ in shown if m in found]
    for metric, name, colour, line in shown:
        if metric in found and not (metric == "ram_free_mib" and "ram_available_mib" in names):
            _line(ax, found[metric][0], colour, name, 1 / 1024, line)
    _limits(ax, found.get("ram_total_mib", []), max(found[m][0].peak for m in names))
    ax.set_ylabel("host\nmemory, GiB")
    legend(ax)


def _limits(ax: Any, totals: list[Series], peak: float) -> None:
    levels = sorted({round(total.level) for total in totals if total.level > 0})
    for level in levels[:2]:
        ax.axhline(level / 1024, color=look.LIMIT, lw=1.2, ls=(0, (6, 2)), label=f"limit, {units.mib(level)}")
    ax.set_ylim(0, max([peak, *levels]) / 1024 * 1.08 or 1)


def legend(ax: Any, other: Any = None) -> None:
    """Legend in the right margin, where it can cover nothing, not even the scale of ``other`` on that side."""
    right, room = (1.012, 1.85) if other is None else (1.09, 1.25)
    handles, names = ax.get_legend_handles_labels()
    if other is not None:
        more, more_names = other.get_legend_handles_labels()
        handles, names = handles + more, names + more_names
    names = [look.label(name, 34) for name in names]
    names = ["\n".join(look.wrapped(name, 10, room)) for name in names]
    if handles:
        ax.legend(handles, names, loc="upper left", bbox_to_anchor=(right, 1.02))


def _band(ax: Any, stretch: Stretch, height: int, axis: Axis) -> None:
    colour = COLOURS.get(stretch.kind, look.IDLE)
    length = stretch.end - stretch.start
    ax.broken_barh(
        [(stretch.start, max(length, axis.span / 1500))], (height - 0.38, 0.76), facecolor=colour, linewidth=0,
    )  # fmt: skip
    room = length / axis.span * (look.WIDTH_IN - look.LEFT_IN - look.RIGHT_IN)
    for text in (f"{stretch.kind} {units.seconds(length)}", stretch.kind):
        if look.text_width(text, 9.5) + 0.12 < room:
            dark = stretch.kind in ("reading", "writing")
            at = (stretch.start + stretch.end) / 2
            ax.text(at, height, text, ha="center", va="center", size=9.5, color=look.PAPER if dark else look.INK)
            break


def _lane_name(row: list[Stretch], index: int) -> str:
    slot = row[0].lane if row else None
    return f"slot {slot}" if slot is not None else f"lane {index + 1}"


def _band_legend(ax: Any, kinds: set[str]) -> None:
    from matplotlib.patches import Patch

    names = {"load": "load", "reading": "reading (prompt)", "writing": "writing (output)", "idle": "idle"}
    handles = [Patch(facecolor=COLOURS[kind], label=name) for kind, name in names.items() if kind in kinds]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.012, 1.1))


def _at_once(ax: Any, found: list[Stretch], axis: Axis) -> None:
    """Requests reading and writing at once: usual number in each slice of the axis, and the most."""
    import numpy as np

    edges = np.linspace(axis.t0, axis.t1, BINS // 3 + 1)
    busy = [s for s in found if s.kind in ("reading", "writing")]
    reading = usual_at_once([s for s in busy if s.kind == "reading"], edges)
    both = usual_at_once(busy, edges)
    ax.stairs(both, edges, fill=True, color=look.WRITING, label="writing (output)", linewidth=0)
    ax.stairs(reading, edges, fill=True, color=look.READING, label="reading (prompt)", linewidth=0)
    most = most_at_once(busy, edges)
    ax.stairs(most, edges, color=look.MUTED, label="most at once", linewidth=0.8, baseline=None)
    for stretch in found:
        if stretch.kind == "load":
            ax.axvspan(stretch.start, stretch.end, color=look.LOAD, lw=0, label="load")
    ax.set_ylim(0, max(float(most.max()), 1.0) * 1.15)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("requests\nat once")
    requests = len({s.request for s in found if s.request is not None})
    ax.plot([], [], " ", label=f"{units.number(requests)} requests in all")
    legend(ax)


def _steps(found: list[Stretch]) -> tuple[Any, Any]:
    """Times at which a stretch begins or ends, and how many run from there on; ends come before begins."""
    import numpy as np

    t = np.concatenate([[s.start for s in found], [s.end for s in found]])
    change = np.concatenate([np.ones(len(found)), -np.ones(len(found))])
    order = np.lexsort((change, t))
    return t[order], np.cumsum(change[order])


def usual_at_once(found: list[Stretch], edges: Any) -> Any:
    """Mean number of stretches that run at once in each slice: their seconds in it over its length."""
    import numpy as np

    if not found:
        return np.zeros(len(edges) - 1)
    t, level = _steps(found)
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(t))])
    return np.diff(np.interp(edges, t, area)) / np.diff(edges)


def most_at_once(found: list[Stretch], edges: Any) -> Any:
    """Highest number of stretches that run at once in each slice."""
    import numpy as np

    if not found:
        return np.zeros(len(edges) - 1)
    t, level = _steps(found)
    before = np.searchsorted(t, edges, side="right")
    at_edge = np.where(before > 0, level[np.maximum(before - 1, 0)], 0.0)
    out = np.maximum(at_edge[:-1], at_edge[1:])
    inside = before[1:] > before[:-1]
    peaks = np.maximum.reduceat(level, before[:-1][inside]) if inside.any() else np.zeros(0)
    out[inside] = np.maximum(out[inside], peaks)
    return out


def _levels(ax: Any, mine: list[Stretch], colour: str, kind: str) -> None:
    from matplotlib.collections import LineCollection

    segments: Any = [[(s.start, s.tps), (s.end, s.tps)] for s in mine]
    ax.add_collection(LineCollection(segments, colors=colour, linewidths=2.6, capstyle="round", label=kind))
    middles = [((s.start + s.end) / 2, s.tps) for s in mine]
    ax.plot(*zip(*middles, strict=True), ls="", marker="o" if kind == "reading" else "s", ms=4, color=colour)


def _cloud(ax: Any, mine: list[Stretch], colour: str, name: str) -> None:
    import numpy as np

    t = np.array([(s.start + s.end) / 2 for s in mine])
    v = np.array([s.tps for s in mine], dtype=float)
    edges = np.linspace(t.min(), t.max() + 1e-9, BINS // 3 + 1)
    which = np.digitize(t, edges) - 1
    order = np.argsort(which, kind="stable")
    bins, starts = np.unique(which[order], return_index=True)
    lo, hi = np.minimum.reduceat(v[order], starts), np.maximum.reduceat(v[order], starts)
    at = (edges[bins] + edges[np.minimum(bins + 1, len(edges) - 1)]) / 2
    ax.vlines(at, lo, hi, color=colour, lw=1.6, alpha=0.55, label=name)
    weight = np.array([s.tokens or 0 for s in mine], dtype=float)[order]
    took = np.array([(s.tokens or 0) / (s.tps or 1.0) for s in mine], dtype=float)[order]
    tokens, time = np.add.reduceat(weight, starts), np.add.reduceat(took, starts)
    good = time > 0
    ax.plot(at[good], tokens[good] / time[good], color=colour, lw=1.1)


def _line(
    ax: Any, one: Series, colour: str, name: str, factor: float = 1.0, line: Any = "-", shade: bool = False
) -> None:
    """Line through the highest values and, where a slice holds several samples, a band down to the lowest."""
    import numpy as np

    lo, hi = one.lo * factor, one.hi * factor
    if not np.array_equal(one.lo, one.hi, equal_nan=True):
        ax.fill_between(one.t, lo, hi, color=colour, alpha=0.35, lw=0)
    elif shade:
        ax.fill_between(one.t, 0, hi, color=colour, alpha=0.12, lw=0)
    ax.plot(one.t, hi, color=colour, ls=line, label=name, solid_joinstyle="round")


def _plain_log(ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(10, subs=(1.0,)))
    ax.yaxis.set_minor_locator(LogLocator(10, subs=(2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.number(v)))
    low, high = ax.get_ylim()
    few = high / low < 400
    ax.yaxis.set_minor_formatter(FuncFormatter(lambda v, _: units.number(v)) if few else NullFormatter())

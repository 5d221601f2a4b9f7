"""Colours, type and text of the pictures.

The colours keep their distance for the common kinds of colour blindness (they start from the Okabe and Ito set), and
meaning is always told by a label or a line style too. ``DARK`` gives each colour its twin for a dark page.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

from loganalyze.reports.neutral import terminal
from loganalyze.reports.wrap import cut

INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#d8dee4", "#ffffff"
LOAD, READING, WRITING, IDLE = "#8c959f", "#0072b2", "#d55e00", "#eaeef2"
MARK, LIMIT = "#b3003c", "#6e2c00"
GPUS = ("#007a5a", "#9a5fb5", "#b58100", "#2f8fc4", "#c2578f", "#5b6b1f", "#40508f", "#7a4a2b")
UTIL, POWER, CPU, WAIT = "#007a5a", "#b58100", "#7048b6", "#c2578f"
PCIE, SWAP_IN, SWAP_OUT, DISK = "#2f8fc4", "#b3003c", "#e0607e", "#7a5c00"
STYLES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.2, 1.5)))

DARK = {
    INK: "#e6edf3", MUTED: "#a5afba", GRID: "#343b43", PAPER: "#0d1117", LOAD: "#6e7681", READING: "#56b4e9",
    WRITING: "#ff8c42", IDLE: "#21262d", MARK: "#ff6b8b", LIMIT: "#f0a884", GPUS[0]: "#2fc295", GPUS[1]: "#cf9ce6",
    GPUS[2]: "#e6b84a", GPUS[3]: "#6cc1ee", GPUS[4]: "#f08fbf", GPUS[5]: "#b5c76a", GPUS[6]: "#9aaaf0",
    GPUS[7]: "#d8a47f", CPU: "#b49af0", SWAP_OUT: "#ff9db2", DISK: "#d1b24a",
}  # fmt: skip

DPI = 100
WIDTH_IN = 11.6
"""1160 px: GitHub shows pictures up to about 1010 px wide and scales the rest down."""
LEFT_IN, RIGHT_IN = 0.85, 2.6

_STYLE: Any = {
    "font.family": ["DejaVu Sans"], "font.size": 10.5, "axes.titlesize": 11, "axes.labelsize": 10.5,
    "xtick.labelsize": 10, "ytick.labelsize": 10, "legend.fontsize": 10, "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": MUTED, "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK,
    "ytick.labelcolor": INK, "axes.facecolor": PAPER, "figure.facecolor": PAPER, "savefig.facecolor": PAPER,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8, "grid.color": GRID,
    "grid.linewidth": 0.7, "axes.grid": True, "axes.axisbelow": True, "legend.frameon": False,
    "legend.handlelength": 1.8, "legend.labelspacing": 0.35, "legend.borderaxespad": 0.0, "lines.linewidth": 1.5,
    "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "loganalyze", "hatch.linewidth": 0.6,
    "path.simplify": True, "axes.unicode_minus": True, "axes.formatter.useoffset": False,
}  # fmt: skip


@contextmanager
def style() -> Iterator[None]:
    """The pictures' own settings, whatever a user's matplotlibrc says; restored at the end."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type,no-untyped-call,unused-ignore]
        yield


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(font_manager.findfont("DejaVu Sans")).get_charmap())


def label(text: str, width: int = 120) -> str:
    """``text`` from a log for a picture: inert, on one line, cut to ``width`` columns, drawable with the own font."""
    known = _glyphs()
    return "".join(c if ord(c) in known else "?" for c in cut(terminal(text), width))


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of ``text`` in inches."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    renderer: Any = cast(Any, RendererAgg)(100, 100, DPI)  # type: ignore[arg-type,no-untyped-call,unused-ignore]
    font = FontProperties(family=["DejaVu Sans"], size=size, weight=weight)
    return float(renderer.get_text_width_height_descent(text, font, False)[0]) / DPI  # type: ignore[arg-type,no-untyped-call,unused-ignore]


def wrapped(text: str, size: float, inches: float, weight: str = "normal", most: int = 2) -> list[str]:
    """``text`` broken at blanks to fit ``inches``, in at most ``most`` lines, the last one cut."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if line and text_width(longer, size, weight) > inches:
            lines.append(line)
            longer = word
        line = longer
    lines.append(line)
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    while text_width(lines[-1], size, weight) > inches and len(lines[-1]) > 2:
        lines[-1] = lines[-1][:-2].rstrip("…") + "…"
    return lines

"""Text of baseline, sweep and comparison: the answer first, then the table, then what to do."""

from __future__ import annotations

from typing import Any

from loganalyze.reports.neutral import terminal as plain
from loganalyze.studies.baseline import LABELS, Baseline
from loganalyze.studies.compare import Comparison, number
from loganalyze.studies.figures import METRIC_INFO, SETTING_LABELS, Figures
from loganalyze.studies.sweep import Sweep

MAX_ROWS = 14


def baseline(result: Baseline, width: int) -> str:
    """Screen answer of ``baseline``."""
    word = "USABLE" if result.usable else "NOT COMPARABLE" if result.refused else "NOT USABLE"
    out = [f"Baseline {word}: {result.reason}.", ""]
    if result.differences:
        rows = [[LABELS.get(n, n), *(_value(v) for v in values)] for n, values in result.differences.items()]
        out += _table(["differs", *_heads(result.runs)], rows)
    else:
        rows = [
            [
                METRIC_INFO[s.name][0],
                *(_figure(v, s.name) for v in s.values),
                f"{s.spread_pct:.1f} %",
                f"{s.limit_pct:.0f} %",
            ]
            for s in result.spreads
        ]
        out += _table(["", *_heads(result.runs), "spread", "limit"], rows)
    out += ["", f"Next: {result.advice}"]
    return _finish(out, width)


def sweep(result: Sweep, width: int) -> str:
    """Screen answer of ``sweep``."""
    out = [f"{result.answer}", f"Confidence: {result.confidence}.", ""]
    names = [n for n in METRIC_INFO if n in result.effects]
    heads = [result.label, "runs", *(f"{METRIC_INFO[n][0]} [{METRIC_INFO[n][1]}]" for n in names)]
    rows = [
        [str(level.value), str(len(level.runs)), *(_bare(level.metrics[n]) for n in names)]
        for level in result.levels[:MAX_ROWS]
    ]
    rows.append(["effect", "", *(_effect(result, n) for n in names)])
    out += _table(heads, rows)
    if len(result.levels) > MAX_ROWS:
        out.append(f"... {len(result.levels) - MAX_ROWS} more values")
    out += [f"Note: {note}" for note in result.notes]
    out += ["", f"Next: {result.advice}"]
    return _finish(out, width)


def _effect(result: Sweep, name: str) -> str:
    effect = result.effects[name]
    return "no effect" if effect.direction == "flat" else f"{effect.direction} {effect.change_pct:+.0f} %"


def comparison(result: Comparison, width: int) -> str:
    """Screen answer of ``compare``."""
    out = [f"{result.outcome.upper()}: {result.answer}", f"Confidence: {result.confidence}.", ""]
    if result.changed:
        told = "; ".join(
            f"{SETTING_LABELS.get(n, n)}: {_value(v[0])} -> {_value(v[-1])}" for n, v in result.changed.items()
        )
        out += [f"Changed: {told}", ""]
    rows = []
    for change in result.changes:
        label, unit, _ = METRIC_INFO[change.name]
        span = f"{change.low:.2f} to {change.high:.2f}" if change.low != change.high else "one run each"
        rows.append(
            [
                f"{label} [{unit}]",
                number(change.before),
                number(change.after),
                f"x{change.ratio:.2f}",
                span,
                change.word,
            ]
        )
    out += _table(["", "before", "after", "ratio", "95 % interval", ""], rows)
    out += [f"Note: {note}" for note in result.notes]
    out += ["", f"Next: {result.advice}"]
    return _finish(out, width)


def _heads(runs: list[Figures]) -> list[str]:
    return [f"run {i}" for i in range(1, len(runs) + 1)]


def _value(value: Any) -> str:
    return "unknown" if value is None else str(value)


def _bare(value: float | None) -> str:
    return "-" if value is None else number(value)


def _figure(value: float | None, name: str) -> str:
    return "-" if value is None else f"{number(value)} {METRIC_INFO[name][1]}"


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    grid = [[plain(c)[:40] for c in row] for row in [heads, *rows]]
    widths = [max(len(row[i]) for row in grid) for i in range(len(heads))]
    lines = [
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in grid
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def _finish(lines: list[str], width: int) -> str:
    import textwrap

    out: list[str] = []
    for line in lines:
        # Tables keep their shape; sentences wrap.
        out += (
            [plain(line)] if "  " in line.strip() or len(line) <= width else textwrap.wrap(plain(line), max(width, 40))
        )
    return "\n".join(out)

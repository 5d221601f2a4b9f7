"""Terminal table of a batch: verdict counts, rows by time lost, groups, runs out of line, versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loganalyze.batch.row import Row
from loganalyze.batch.summary import Summary
from loganalyze.batch.versions import Step
from loganalyze.reports.neutral import ascii_only, terminal

# name -> (head, width, right-aligned), in order of importance: what does not fit is dropped from the end.
_COLUMNS: tuple[tuple[str, str, int, bool], ...] = (
    ("verdict", "verdict", 12, False),
    ("cause", "cause", 22, False),
    ("lost_s", "lost s", 8, True),
    ("writing_tps", "write t/s", 9, True),
    ("reading_tps", "read t/s", 9, True),
    ("confidence", "sure", 6, False),
    ("model", "model", 24, False),
    ("version", "version", 8, False),
    ("device", "device", 22, False),
    ("expected_writing_tps", "expected", 9, True),
    ("ttft_ms", "first ms", 9, True),
    ("vram_peak_mib", "VRAM MiB", 9, True),
    ("prompt_tokens", "read tok", 9, True),
    ("output_tokens", "wrote tok", 9, True),
)
MIN_FILE = 16


def table(rows: list[Row], total: int, width: int, ascii_terminal: bool = False) -> str:
    """Rows as text. Columns are as wide as what they hold, empty ones are left out; the file comes last and gets what room
    is left, without what all files share."""
    told = [row for row in rows if row.get("verdict") is not None]
    names, where = _short([str(row.get("id") or row.get("file")) for row in rows])
    columns = _fitting(told, max((len(n) for n in names), default=0), width)
    room = max(width - sum(c[2] + 2 for c in columns), MIN_FILE)
    lines = ["  ".join(_pad(head, size, right) for _, head, size, right in columns) + "  file"]
    for row, name in zip(rows, names, strict=True):
        if row.get("verdict") is None:
            words = f"{terminal(name)}: {terminal(str(row.get('error')))}"
            lines.append(f"{_pad('unreadable', max(columns[0][2], 10), False)}  {words}"[:width])
            continue
        cells = [_pad(_cell(row.get(name)), size, right) for name, _, size, right in columns]
        lines.append("  ".join(cells) + "  " + _tail(name, room))
    if where:
        lines.append(f"All lie in {terminal(where)}")
    if total > len(rows):
        lines.append(
            f"... and {total - len(rows):,} more: these are the first {len(rows):,} of {total:,}; -o runs.csv holds"
        )
        lines.append("    all of them, --limit shows more here")
    text = "\n".join(lines)
    return ascii_only(text) if ascii_terminal else text


def _short(ids: list[str]) -> tuple[list[str], str]:
    """Ids without the folder and the file name that all share, and that folder."""
    paths = [i.rpartition("#") for i in ids]
    numbered = any(number not in ("0", "1") for _, _, number in paths)
    names = [path for path, _, _ in paths]
    first, last = min(names, default=""), max(names, default="")
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    shared = first[:same] if len(names) > 1 else ""
    folder = shared[: max(shared.rfind("/"), shared.rfind("\\")) + 1]
    bases = {name.replace("\\", "/").rpartition("/")[2] for name in names}
    cut = len(next(iter(bases))) + 1 if len(bases) == 1 and len(names) > 1 else 0
    short = [name[len(folder) :] for name in names]
    if cut and all(len(name) > cut for name in short):
        short = [name[:-cut] for name in short]
    return [f"{n}#{p[2]}" if numbered else n for n, p in zip(short, paths, strict=True)], folder


def _fitting(rows: list[Row], longest: int, width: int) -> list[tuple[str, str, int, bool]]:
    """The most important columns that have values, as wide as these, beside the file names or what may be cut off them."""
    kept: list[tuple[str, str, int, bool]] = []
    used = min(max(longest, 4), max(MIN_FILE, width // 4))
    for name, head, most, right in _COLUMNS:
        size = max((len(_cell(row[name])) for row in rows if row.get(name) is not None), default=0)
        if not size and len(kept) >= 3:
            continue
        size = min(max(size, len(head)), max(most, len(head)))
        if used + size + 2 > width and len(kept) >= 3:
            break
        kept.append((name, head, size, right))
        used += size + 2
    return kept


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return terminal(str(value))


def _pad(text: str, size: int, right: bool) -> str:
    text = text if len(text) <= size else text[: size - 1] + "…"
    return text.rjust(size) if right else text.ljust(size)


def _tail(text: str, room: int) -> str:
    text = terminal(text)
    return text if len(text) <= room else "…" + text[-(room - 1) :]


def overview(summary: Summary, width: int, name_of: Callable[[int], str] = str) -> str:
    """Counts, groups and runs out of line; ``name_of`` tells a run's id by its number."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary.verdicts.most_common())
    runs = sum(summary.verdicts.values())
    unreadable = f"; {summary.errors} unreadable" if summary.errors else ""
    lines = [f"{runs:,} {'run' if runs == 1 else 'runs'}: {counts or 'none'}{unreadable}"]
    if summary.lost_s >= 1:
        lines[0] += f"; {summary.lost_s:,.0f} s lost"
    groups = [g for g in summary.largest(8) if g.count > 1]
    if groups and runs > 2:
        lines.append("By " + ", ".join(summary.by) + ":")
        for group in groups:
            name = " / ".join(terminal(str(v)) if v is not None else "?" for v in group.name)
            write, spread = group.median("writing_tps"), group.spread_pct("writing_tps")
            told = (
                f"{group.count} runs"
                + (f", writing {write:,.1f} t/s" if write else "")
                + (f" ±{spread / 2:.0f} %" if spread else "")
            )
            lines.append(f"  {name}: {told}"[:width])
    odd_ones, odd_count = summary.out_of_line(5)
    if odd_count > len(odd_ones):
        lines.append(f"{odd_count:,} runs are out of line with their like; the worst:")
    for odd in odd_ones:
        lines.append(
            f"Out of line: {_tail(name_of(odd.row), 50)} writes {odd.value:.1f} t/s, its like {odd.median:.1f}"[:width]
        )
    return "\n".join(lines)


def versions(steps: list[Step], width: int) -> str:
    """Old build against new."""
    if not steps:
        return "No model and setting was run with two versions."
    lines = []
    for step in steps[:40]:
        half = "writing" if step.measure == "writing_tps" else "reading"
        change = (step.after - step.before) / step.before * 100
        lines.append(
            f"{terminal(step.setting)}: {terminal(step.old)} -> {terminal(step.new)}: {half} {step.before:,.1f} -> "
            f"{step.after:,.1f} t/s ({change:+.0f} %) {step.word}: {step.reason}"
        )
    import textwrap

    return "\n".join(part for line in lines for part in textwrap.wrap(line, max(width, 40), subsequent_indent="    "))

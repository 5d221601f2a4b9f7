"""One HTML page for many runs: verdict counts, small multiples, a table, a section for each run.

The table is sorted by time lost and complete without script; a small script, allowed by its hash, adds sorting.
Rows are flat dicts as `loganalyze.batch.row` makes them; keys may be missing, unknown is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from loganalyze.reports import page as html_page
from loganalyze.reports import units
from loganalyze.reports.facts import folder_of

Row = Mapping[str, Any]
Clean = Callable[[str], str]
MOST_BYTES = 950_000
MOST_ROWS, MOST_SECTIONS = 700, 200
"""What fits into 1 MB with usual names; longer ones make it fewer."""
MOST_GROUPS = 24
MOST_POINTS = 200
VERDICTS = ("swapping", "slow reading", "slow writing", "healthy", "inconclusive")
_TOLD = ("key", "id", "verdict", "cause", "summary", "next_step")
_CSS = (
    ".axis{stroke:var(--line)}.want{stroke:var(--fg);stroke-dasharray:5 4;stroke-width:.7}"
    ".p-healthy{fill:var(--ok)}.p-slow{fill:var(--warn)}.p-swapping{stroke:var(--bad);stroke-width:1.6;fill:none}"
    ".p-inconclusive{fill:var(--mut)}tbody th{background:none;font-weight:400;white-space:normal;min-width:10rem}"
)


def page(
    rows: Sequence[Row],
    total: int | None = None,
    verdicts: Mapping[str, int] | None = None,
    errors: int = 0,
    redact: bool = False,
) -> str:
    """The page of ``rows``, which are some or all of ``total`` runs; ``verdicts`` counts all, ``errors`` bad files.

    Sections, then rows, are left out from the end when the page would pass 1 MB; what is missing is counted.
    """
    total = len(rows) if total is None else total
    ordered = sorted(rows, key=_rank)
    counted = dict(verdicts) if verdicts is not None else _count(ordered)
    folder = folder_of([str(row["id"]) for row in ordered if row.get("id")])
    clean = _cleaner(ordered, folder, redact)
    sections, shown = min(len(ordered), MOST_SECTIONS), min(len(ordered), MOST_ROWS)
    while True:
        text = _page(ordered[:shown], sections, total, counted, errors, folder, clean)
        size = len(text.encode("utf-8", "backslashreplace"))
        if size <= MOST_BYTES or shown <= 1:
            return text
        fits = 0.9 * MOST_BYTES / size
        sections, shown = int(sections * fits), max(1, int(shown * fits))


def _page(
    rows: Sequence[Row], sections: int, total: int, verdicts: dict[str, int], errors: int, folder: str, clean: Clean
) -> str:
    view: dict[str, Any] = {
        "heading": f"{units.count(total, 'run')}: {_worst(verdicts)}",
        "verdicts": [(name, verdicts[name]) for name in VERDICTS if verdicts.get(name)],
        "errors": f"{units.count(errors, 'file')} could not be read." if errors else None,
        "groups": _groups(rows),
        "order": "The run that lost the most time comes first.",
        "folder": None,
        "shown": "All runs"
        if len(rows) >= total
        else f"{len(rows):,} of {total:,} runs, those that lost the most time",
        "rows": [_row(row, number, number <= sections) for number, row in enumerate(rows, 1)],
    }
    view = html_page.inert(view, clean)
    view["folder"] = clean_folder(folder, clean)
    return html_page.render("batch.html.j2", _CSS, _script(), title=view["heading"], removed=None, **view)


def clean_folder(folder: str, clean: Clean) -> str | None:
    """The folder's own name, which ``clean`` would take out where it leads a path."""
    name = folder.rstrip("/\\")
    return html_page.inert(f"{name}.", clean) if name else None


def _rank(row: Row) -> tuple[int, float]:
    """Time lost first, then faults of unknown cost, then the rest; files that could not be read come last."""
    if row.get("lost_s"):
        return 0, -float(row["lost_s"])
    order = {"swapping": 1, "slow reading": 2, "slow writing": 2, "inconclusive": 3, "healthy": 4}
    return order.get(row.get("verdict") or "", 5), 0.0


def _script() -> str:
    from importlib.resources import files

    return (files("loganalyze.reports") / "templates" / "sort.js").read_text("utf-8")


def _cleaner(rows: Iterable[Row], folder: str, redact: bool) -> Clean:
    def shortened(text: str) -> str:
        return text.replace(folder, "") if folder else text

    if not redact:
        return shortened
    from loganalyze.reports.redact import Redactor

    redactor = Redactor()
    redactor.learn(str(value) for row in rows for value in row.values() if isinstance(value, str))
    return lambda text: redactor.text(shortened(text))


def _count(rows: Iterable[Row]) -> dict[str, int]:
    out: dict[str, int] = {}
    for row in rows:
        if row.get("verdict"):
            out[row["verdict"]] = out.get(row["verdict"], 0) + 1
    return out


def _worst(verdicts: dict[str, int]) -> str:
    return ", ".join(f"{verdicts[name]:,} {name}" for name in VERDICTS if verdicts.get(name)) or "no verdict"


def _row(row: Row, number: int, section: bool) -> dict[str, Any]:
    share = row.get("reading_share")
    engine = " ".join(str(row[name]) for name in ("engine", "version") if row.get(name))
    model = " ".join(str(row[name]) for name in ("model", "quantisation") if row.get(name))
    rates = ("reading_tps", "expected_reading_tps", "writing_tps", "expected_writing_tps")
    return {
        "anchor": f"run-{number}" if section else None, "id": str(row.get("id") or row.get("file") or number),
        "verdict": row.get("verdict"), "cause": row.get("cause") or "", "engine": engine, "model": model,
        "device": row.get("device") or "", "summary": row.get("summary") or row.get("error"),
        "next_step": row.get("next_step"),
        "numbers_a": [_number(row.get("lost_s"), units.seconds)],
        "numbers_b": [_number(row.get(name), units.number) for name in rates],
        "share": None if share is None else round(share * 100, 1), "share_value": "" if share is None else share,
        "peak": "" if row.get("vram_peak_mib") is None else units.mib(row["vram_peak_mib"]),
        "peak_value": "" if row.get("vram_peak_mib") is None else row["vram_peak_mib"],
        "details": [(k.replace("_", " "), _plain(v)) for k, v in row.items() if v is not None and k not in _TOLD],
    }  # fmt: skip


def _number(value: float | None, said: Any) -> tuple[str, float | str]:
    return ("", "") if value is None else (said(value), value)


def _plain(value: Any) -> str:
    return units.number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _groups(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Runs of one model on one device as one small picture, the largest groups first."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.get("writing_tps"):
            model = " ".join(str(row[name]) for name in ("model", "quantisation") if row.get(name)) or "unknown model"
            found.setdefault((model, str(row.get("device") or "unknown device")), []).append(row)
    largest = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_GROUPS]
    return [_group(model, device, members) for (model, device), members in largest]


def _group(model: str, device: str, members: list[Row]) -> dict[str, Any]:
    speeds = [float(row["writing_tps"]) for row in members]
    wanted = [float(row["expected_writing_tps"]) for row in members if row.get("expected_writing_tps")]
    want = sorted(wanted)[len(wanted) // 2] if wanted else None
    top = max([*speeds, want or 0.0]) * 1.05
    words = f"{device}: {units.count(len(members), 'run')}, "
    words += f"{units.number(min(speeds))} to " if min(speeds) < max(speeds) else ""
    words += units.rate(max(speeds))
    step = max(1, -(-len(members) // MOST_POINTS))
    chosen = list(zip(members, speeds, strict=True))
    if step > 1:
        chosen = _extremes(chosen, step)
    wide = 200 / max(1, len(chosen))
    points = [
        {"x": round((i + 0.5) * wide, 1), "y": round(38 - 36 * speed / top, 1), "shape": _shape(row.get("verdict"))}
        for i, (row, speed) in enumerate(chosen)
    ]
    return {
        "title": model, "words": words + (f", expected {units.rate(want)}" if want else ""),
        "want": None if want is None else round(38 - 36 * want / top, 1), "points": points,
    }  # fmt: skip


def _extremes(chosen: list[tuple[Row, float]], step: int) -> list[tuple[Row, float]]:
    """Slowest and fastest of each stretch, so that no outlier is lost."""
    out = []
    for at in range(0, len(chosen), 2 * step):
        part = chosen[at : at + 2 * step]
        out += [min(part, key=lambda item: item[1]), max(part, key=lambda item: item[1])]
    return out


def _shape(verdict: str | None) -> str:
    if verdict in ("healthy", "swapping"):
        return verdict
    return "slow" if verdict in ("slow reading", "slow writing") else "inconclusive"

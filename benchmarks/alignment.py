"""How well clocks are aligned, on real runs whose start is known.

Each case is a folder with ``run.log``, captures without a clock (``smi_plain.csv``, ``dmon_mu.txt``, ``vmstat.txt``),
their twins with stamps (``smi.csv``, ``dmon.txt``, ``vmstat_t.txt``) and ``case.json`` with ``start_epoch``.

    python benchmarks/alignment.py [--json] [FOLDER...]

(default: the recorded runs in ``fixtures/corpus``) prints, for every case, the error of each offset between the log and a
capture without a clock (truth: the first stamp of the twin against ``start_epoch``; whole-second stamps are floors and
count as their middle), whether the stated error covers it, and the error of the log's start when the stamped captures are
given. ``--json`` prints a list of ``{"measure", "value", "goal", "unit", "better"}``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from loganalyze.api import read
from loganalyze.model.records import Capture, Reading

RECORDED = Path(__file__).resolve().parent.parent / "fixtures" / "corpus"
TWINS = {"smi_plain.csv": "smi.csv", "dmon_mu.txt": "dmon.txt", "vmstat.txt": "vmstat_t.txt"}


@dataclass(slots=True)
class Row:
    """Error of one offset; None where it was refused. ``raw``: against the stamp as printed."""

    case: str
    source: str
    error: float | None = None
    stated: float | None = None
    raw: float | None = None
    visible: bool = False

    @property
    def near(self) -> bool:
        return self.error is not None and abs(self.error) <= 1.0

    @property
    def covered(self) -> bool:
        return self.error is None or self.stated is None or abs(self.error) <= self.stated


def cases(folders: list[Path]) -> list[Path]:
    """Case folders in ``folders``: those, or their children, that hold a ``case.json``."""
    found = [f for f in folders if (f / "case.json").exists()]
    return sorted(found + [p.parent for f in folders for p in f.glob("*/case.json")])


def by_name(reading: Reading) -> dict[str, Capture]:
    """First capture of each file."""
    every = [c for run in reading.runs for c in run.captures] + reading.captures
    found: dict[str, Capture] = {}
    for capture in every:
        found.setdefault(Path(capture.source.path).name, capture)
    return found


def visible_step(capture: Capture) -> bool:
    """True when device memory rises by a hundredth of the card or more."""
    frame = capture.frame
    if frame is None or "vram_used_mib" not in frame.columns:
        return False
    rise = float(frame["vram_used_mib"].max() or 0) - float(frame["vram_used_mib"].min() or 0)  # type: ignore[arg-type]
    return rise >= 500


def loose_rows(case: Path) -> list[Row]:
    """Offsets of captures without a clock from the log, against their twins."""
    start = json.loads((case / "case.json").read_text())["start_epoch"]
    twins = by_name(read([str(case / t) for t in TWINS.values()]))
    reading = read([str(case / n) for n in ("run.log", *TWINS)])
    captures = by_name(reading)
    log = reading.runs[0].clock.offset_s if reading.runs else None
    visible = visible_step(twins["smi.csv"])
    rows = []
    for name, twin in TWINS.items():
        clock, truth = captures[name].clock, twins[twin].clock
        if log is None or clock.offset_s is None or truth.offset_s is None:
            rows.append(Row(case.name, name, visible=visible))
            continue
        raw = (clock.offset_s - log) - (truth.offset_s - start)
        floor = (truth.resolution_s or 0.0) / 2 if (truth.resolution_s or 0.0) >= 0.1 else 0.0
        rows.append(Row(case.name, name, raw - floor, clock.error_s, raw, visible))
    return rows


def stamped_row(case: Path) -> Row:
    """Error of the log's start when the stamped captures are given."""
    start = json.loads((case / "case.json").read_text())["start_epoch"]
    reading = read([str(case / n) for n in ("run.log", *TWINS.values())])
    clock = reading.runs[0].clock if reading.runs else None
    if clock is None or clock.offset_s is None:
        return Row(case.name, "run.log")
    error = clock.offset_s - start
    return Row(case.name, "run.log", error, clock.error_s, error)


def cell(row: Row) -> str:
    """``+0.12 ±1.25``, marked where the stated error does not cover."""
    if row.error is None or row.stated is None:
        return "refused".rjust(14)
    return f"{row.error:+6.2f} ±{row.stated:4.2f}{' ' if row.covered else '!'}".rjust(14)


def as_json(loose: list[Row], stamped: list[Row]) -> str:
    """Shares in per cent, as ``run.py`` takes them."""
    seen, placed = [r for r in loose if r.visible], [r for r in loose if r.error is not None]
    shares = {
        "clockless captures placed within 1 s, where the load step shows": (seen, "near"),
        "stated errors that cover the true one": (placed, "covered"),
        "log's start placed within 1 s by stamped captures": (stamped, "near"),
    }
    return json.dumps(
        [
            {"measure": f"{what} ({len(rows)})", "goal": None, "unit": "%", "better": "higher",
             "value": round(100 * sum(getattr(r, good) for r in rows) / max(1, len(rows)), 1)}
            for what, (rows, good) in shares.items()
        ],
        indent=1,
    )  # fmt: skip


def main(folders: list[str]) -> int:
    """Print the table and the shares."""
    loose: list[Row] = []
    stamped: list[Row] = []
    table = [f"{'case':22}{'smi_plain':>14}{'dmon_mu':>14}{'vmstat':>14}{'log, stamped':>14}"]
    for case in cases([Path(f) for f in folders if f != "--json"] or [RECORDED]):
        rows, start = loose_rows(case), stamped_row(case)
        loose, stamped = loose + rows, [*stamped, start]
        table.append(f"{case.name:22}" + "".join(cell(r) for r in [*rows, start]))
    if "--json" in folders:
        print(as_json(loose, stamped))
        return 0
    print("\n".join(table))
    seen = [r for r in loose if r.visible]
    placed = [r for r in loose if r.error is not None]
    print(f"\nwithin one interval, visible load step: {sum(r.near for r in seen)} of {len(seen)}")
    against = sum(abs(r.raw) <= 1.0 for r in seen if r.raw is not None)
    print(f"  against stamps as printed, cut to whole seconds: {against} of {len(seen)}")
    print(f"stated error covers: {sum(r.covered for r in placed)} of {len(placed)}")
    print(f"log's start within 1 s, stamped captures: {sum(r.near for r in stamped)} of {len(stamped)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

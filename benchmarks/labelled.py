"""Labelled runs for the benchmarks: folders with ``case.json`` (``expected``, ``also``, ``cause``) and the files of a run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from loganalyze.api import read
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Judgement, Run
from loganalyze.verdict import judge, overall

ROOT = Path(__file__).resolve().parent.parent
# Free text of a label -> cause ids that say the same.
CAUSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"out of device memory", ("device_oom",)),
    (r"experts .*CPU", ("experts_on_host",)),
    (r"of \d+ layers|^\d+ of \d+|output layer is on the CPU|left most layers", ("partial_offload",)),
    (r"no device by choice", ("cpu_only",)),
    (r"micro-batch", ("small_batch",)),
    (r"another process computes", ("contention",)),
    (r"host memory limit", ("host_paging", "mmap_thrash")),
    (r"rates normal|mixed requests|requests at once|split over|verbosity|rates as in", ("as_expected",)),
)


@dataclass
class Case:
    """One labelled folder, read once with all files and once from the log alone."""

    name: str
    accepted: frozenset[str]
    causes: tuple[str, ...]
    full: list[Run]
    log: list[Run]

    def judged(self, limits: Thresholds, log_only: bool = False) -> Judgement:
        runs = self.log if log_only else self.full
        for run in runs:
            run.judgement = judge(run, limits)
        chosen = overall(runs)
        assert chosen is not None
        assert chosen.judgement is not None
        return chosen.judgement

    def right(self, judged: Judgement) -> bool:
        return judged.verdict in self.accepted


def load(folder: Path | None = None) -> list[Case]:
    """Cases of ``folder``, of the wider collection beside the checkout where there is one, else of ``fixtures/corpus``."""
    wide = ROOT.parent / "shared" / "corpus"
    folder = folder or (wide if wide.is_dir() else ROOT / "fixtures" / "corpus")
    cases = []
    for path in sorted(folder.glob("*/case.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        files = sorted(str(p) for p in path.parent.iterdir() if p.name != "case.json")
        causes = next((ids for pattern, ids in CAUSES if re.search(pattern, told["cause"])), ())
        cases.append(
            Case(told["name"], frozenset([told["expected"], *told["also"]]), causes, read(files).runs,
                 read([str(path.parent / "run.log")]).runs)
        )  # fmt: skip
    return cases

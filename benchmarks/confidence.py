"""How often a verdict is right at each level of confidence: labelled runs with every mix of their files, and planted ones.

"Right" is an accepted label; for planted runs the planted verdict. Inconclusive answers are counted apart: they claim
nothing. ``high`` is meant to be right in 98 of 100.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

import planter  # noqa: E402
from labelled import load  # noqa: E402

from loganalyze.api import read  # noqa: E402
from loganalyze.findings.answers import VERDICT_OF  # noqa: E402
from loganalyze.findings.thresholds import Thresholds  # noqa: E402
from loganalyze.verdict import judge, overall  # noqa: E402

MIXES = (
    ("run.log",), ("run.log", "smi.csv"), ("run.log", "smi_plain.csv"), ("run.log", "dmon.txt"), ("run.log", "vmstat_t.txt"),
    ("run.log", "vmstat.txt"), ("run.log", "time.txt"), ("run.log", "free.txt"), ("run.log", "smi.csv", "vmstat_t.txt"),
    ("run.log", "smi_plain.csv", "vmstat.txt", "free.txt"),
)  # fmt: skip


def main() -> None:
    limits = Thresholds()
    cases = load()
    causes = Counter(c.judged(limits).cause in c.causes for c in cases)
    right = sum(c.right(c.judged(limits)) for c in cases)
    print(f"labelled runs, all files: {right} of {len(cases)} accepted, cause right in {causes[True]} of {len(cases)}")
    logs = [(c, c.judged(limits, log_only=True)) for c in cases]
    bad = [f"{c.name} ({j.confidence})" for c, j in logs if not c.right(j) and j.verdict != "inconclusive"]
    print(f"logs alone: {sum(c.right(j) for c, j in logs)} accepted, {sum(j.verdict == 'inconclusive' for _, j in logs)} "
          f"inconclusive, wrong: {', '.join(bad) or 'none'}")  # fmt: skip
    _table("labelled runs, mixes of files", _labelled(limits))
    _table("planted runs", _planted(limits))


def _labelled(limits: Thresholds) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    wide = ROOT.parent / "shared" / "corpus"
    folder = wide if wide.is_dir() else ROOT / "fixtures" / "corpus"
    for path in sorted(folder.glob("*/case.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        for mix in MIXES:
            files = [str(path.parent / name) for name in mix if (path.parent / name).exists()]
            runs = read(files).runs
            for run in runs:
                run.judgement = judge(run, limits)
            chosen = overall(runs)
            if chosen is not None and chosen.judgement is not None:
                judged = chosen.judgement
                ok = judged.verdict in (told["expected"], *told["also"])
                counts[judged.confidence, _word(judged.verdict, ok)] += 1
    return counts


def _planted(limits: Thresholds) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for mix in planter.mixes():
        for plant in planter.PLANTS:
            judged = judge(planter.build(mix, plant.make(mix)), limits)
            counts[judged.confidence, _word(judged.verdict, judged.verdict == VERDICT_OF[plant.cause])] += 1
        for make in planter.HEALTHY:
            judged = judge(planter.build(mix, make(mix)), limits)
            counts[judged.confidence, _word(judged.verdict, judged.verdict == "healthy")] += 1
    return counts


def _word(verdict: str, ok: bool) -> str:
    return "right" if ok else "inconclusive" if verdict == "inconclusive" else "wrong"


def _table(title: str, counts: Counter[tuple[str, str]]) -> None:
    print(f"\n{title}\n{'level':8}{'right':>8}{'wrong':>8}{'inconclusive':>14}{'right of claims':>17}")
    for level in ("high", "medium", "low"):
        right, wrong, none = (counts[level, word] for word in ("right", "wrong", "inconclusive"))
        share = f"{right / (right + wrong):.1%}" if right + wrong else "-"
        print(f"{level:8}{right:8}{wrong:8}{none:14}{share:>17}")


if __name__ == "__main__":
    main()

"""Labelled real runs: accepted verdict with all files, and never a confident wrong one from the log alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loganalyze.api import read
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Judgement
from loganalyze.verdict import judge, overall

CASES = sorted((Path(__file__).resolve().parent.parent / "fixtures" / "corpus").glob("*/case.json"))


def judged(files: list[Path]) -> Judgement:
    runs = read([str(f) for f in files]).runs
    for run in runs:
        run.judgement = judge(run, Thresholds())
    chosen = overall(runs)
    assert chosen is not None
    assert chosen.judgement is not None
    return chosen.judgement


def check(case: Path) -> None:
    told = json.loads(case.read_text(encoding="utf-8"))
    accepted = {told["expected"], *told["also"]}
    whole = judged(sorted(p for p in case.parent.iterdir() if p.name != "case.json"))
    assert whole.verdict in accepted, f"{told['name']}: {whole.summary}"
    assert whole.confidence != "low"
    alone = judged([case.parent / "run.log"])
    assert alone.verdict in {*accepted, "inconclusive"}, f"{told['name']} (log alone): {alone.summary}"
    if alone.verdict == "inconclusive":
        assert alone.missing
    # What a log alone tells stands in a line of it.
    assert [(f.cause, e.text) for f in alone.findings for e in f.evidence if e.line is None] == []


@pytest.mark.parametrize("case", CASES, ids=[c.parent.name for c in CASES])
def test_bundled_case(case: Path) -> None:
    check(case)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("cpu_1b", "cpu_only"),
        ("contended_cpu_1b", "contention"),
        ("thrash_mmap_cpu_1b", "mmap_thrash"),
        ("swap_cpu_1b", "host_paging"),
        ("threads_cpu_1b", "too_many_threads"),
    ],
)
def test_one_machine_in_many_states(name: str, cause: str) -> None:
    """The same model on a machine without a GPU: alone, beside others, with too little memory or too many threads."""
    folder = CASES[0].parent.parent / name
    assert judged([folder / "run.log", folder / "vmstat.txt"]).cause == cause


def test_wider_collection(shared: Path) -> None:
    for case in sorted((shared / "corpus").glob("*/case.json")):
        check(case)

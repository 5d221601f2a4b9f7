"""Alignment on real runs whose start is known: bundled cases each, the wider collection in shares."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from loganalyze.api import read
from loganalyze.timeline.view import MAX_LINES, view

ROOT = Path(__file__).resolve().parent.parent
CASES = sorted(
    p.parent.name
    for p in (ROOT / "fixtures" / "corpus").glob("*/case.json")
    if "start_epoch" in json.loads(p.read_text("utf-8")) and (p.parent / "run.log").exists()
)
# Killed while it loaded, without stamps: nothing in the log has a length.
TIMELESS = {"b6173_oom_load"}


@pytest.fixture(scope="module")
def alignment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("alignment", ROOT / "benchmarks" / "alignment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["alignment"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [c for c in CASES if c not in TIMELESS])
def test_captures_without_clocks_find_their_place(name: str, fixtures: Path, alignment: ModuleType) -> None:
    for row in alignment.loose_rows(fixtures / "corpus" / name):
        if row.visible:
            assert row.near, row
        assert row.covered, row


@pytest.mark.parametrize("name", [c for c in CASES if c not in TIMELESS])
def test_stamped_captures_tell_the_start_of_the_log(name: str, fixtures: Path, alignment: ModuleType) -> None:
    row = alignment.stamped_row(fixtures / "corpus" / name)
    assert row.near, row
    assert row.covered, row


@pytest.mark.parametrize("name", CASES)
def test_a_whole_folder_is_one_run_on_one_axis(name: str, fixtures: Path) -> None:
    folder = fixtures / "corpus" / name
    case = json.loads((folder / "case.json").read_text())
    reading = read([str(folder)])
    assert len(reading.runs) == 1
    run = reading.runs[0]
    assert not reading.captures
    assert run.clock.offset_s == pytest.approx(case["start_epoch"], abs=1.0)
    assert reading.grouping
    text = view(reading)
    assert len(text.splitlines()) <= MAX_LINES
    assert "smi.csv" in text


def test_a_clients_record_places_a_server(fixtures: Path) -> None:
    folder = fixtures / "corpus" / "np4_8req"
    case = json.loads((folder / "case.json").read_text())
    reading = read([str(folder / "run.log"), str(folder / "requests.jsonl")])
    clock = reading.runs[0].clock
    assert clock.offset_s == pytest.approx(case["start_epoch"], abs=0.2)
    assert clock.anchor == "8 requests in requests.jsonl"


def test_the_wider_collection_keeps_its_shares(shared: Path, alignment: ModuleType) -> None:
    loose, stamped = [], []
    for case in alignment.cases([shared / "corpus"]):
        loose += alignment.loose_rows(case)
        stamped.append(alignment.stamped_row(case))
    seen = [r for r in loose if r.visible]
    placed = [r for r in loose if r.error is not None]
    assert sum(r.near for r in seen) >= 0.9 * len(seen)
    assert sum(r.covered for r in placed) >= 0.95 * len(placed)
    assert sum(r.near for r in stamped) >= 0.95 * len(stamped)

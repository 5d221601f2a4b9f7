"""Golden pairs: every ``fixtures/telemetry/NAME`` with a ``NAME.json`` is read to what the pair says.

The JSON holds ``unmatched`` and, for each capture in order, any of ``format kind dialect facts clock rows first last
first_row_since_boot``; only what it names is compared.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from loganalyze.formats.capture_reader import read_captures
from loganalyze.model.records import Capture
from loganalyze.scan import open_source

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "telemetry"
PAIRS = sorted(p.with_suffix("") for p in FOLDER.glob("*.json") if p.with_suffix("").is_file())


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, int | float):
        return math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-4)
    return bool(found == expected)


def compare(found: dict[str, Any], expected: dict[str, Any], where: str) -> list[str]:
    missing = [
        f"{where}.{k}: {found.get(k)!r}, expected {v!r}" for k, v in expected.items() if not same(found.get(k), v)
    ]
    return missing


def differences(capture: Capture, expected: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for key in ("format", "kind", "dialect", "first_row_since_boot"):
        if key in expected and getattr(capture, key) != expected[key]:
            found.append(f"{key}: {getattr(capture, key)!r}, expected {expected[key]!r}")
    found += compare(capture.facts, expected.get("facts", {}), "facts")
    clock = {k: getattr(capture.clock, k) for k in expected.get("clock", {})}
    found += compare(clock, expected.get("clock", {}), "clock")
    if "rows" in expected:
        assert capture.frame is not None
        assert capture.frame.height == expected["rows"]
        for key, at in (("first", 0), ("last", -1)):
            found += compare(capture.frame.row(at, named=True), expected.get(key, {}), key)
    return found


@pytest.mark.parametrize("path", PAIRS, ids=lambda p: p.name)
def test_pair(path: Path) -> None:
    expected = json.loads(path.with_name(path.name + ".json").read_text(encoding="utf-8"))
    with open_source(str(path)) as opened:
        captures = read_captures(opened)
        source = opened.source
    assert source.lines == source.matched + source.unmatched + source.skipped
    assert source.unmatched == expected["unmatched"], source.unread
    assert [c.format for c in captures] == [c["format"] for c in expected["captures"]]
    for capture, wanted in zip(captures, expected["captures"], strict=True):
        assert differences(capture, wanted) == []


def test_enough_pairs() -> None:
    assert len(PAIRS) >= 120

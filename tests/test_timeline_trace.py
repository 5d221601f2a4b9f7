"""Traces of recorded runs against the trace event format: keys, types, names, nesting, order of counters."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from loganalyze.api import read
from loganalyze.options import Options
from loganalyze.timeline.trace import trace_parts

CORPUS = Path(__file__).resolve().parent.parent / "fixtures" / "corpus"
CASES = sorted(p.name for p in CORPUS.iterdir() if (p / "run.log").exists())
CAPTURES = ("smi.csv", "dmon.txt", "vmstat_t.txt", "free.txt")
# Required by phase type, beside ``ph``, ``pid`` and ``name``.
KEYS = {"M": {"args"}, "X": {"ts", "dur", "tid"}, "C": {"ts", "args"}, "i": {"ts", "tid", "s"}}


def no_constant(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def trace_of(*paths: Path) -> dict[str, Any]:
    reading = read(paths, Options())
    found: dict[str, Any] = json.loads("".join(trace_parts(reading)), parse_constant=no_constant)
    return found


def is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def check_nesting(slices: list[dict[str, Any]]) -> None:
    """Slices of one track lie inside or beside each other: viewers drop what crosses."""
    open_until: list[float] = []
    for item in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
        while open_until and open_until[-1] <= item["ts"]:
            open_until.pop()
        assert not open_until or item["ts"] + item["dur"] <= open_until[-1], item
        open_until.append(item["ts"] + item["dur"])


@pytest.mark.parametrize("case", CASES)
def test_trace_follows_the_format(case: str) -> None:
    folder = CORPUS / case
    trace = trace_of(folder / "run.log", *(folder / c for c in CAPTURES if (folder / c).exists()))
    assert trace["displayTimeUnit"] in ("ms", "ns")
    events = trace["traceEvents"]
    assert events
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    last: dict[tuple[int, str], float] = {}
    named: dict[str, set[tuple[int, int]]] = {"process_name": set(), "thread_name": set()}
    for event in events:
        kind = event["ph"]
        assert {"pid", "name"} | KEYS[kind] <= set(event)
        assert isinstance(event["pid"], int)
        assert isinstance(event["name"], str)
        if kind == "M":
            named[event["name"]].add((event["pid"], event["tid"]))
            assert isinstance(event["args"]["name"], str)
            continue
        assert is_time(event["ts"])
        if kind == "X":
            assert is_time(event["dur"])
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
        elif kind == "C":
            assert all(isinstance(v, int | float) and math.isfinite(v) for v in event["args"].values())
            assert event["ts"] >= last.get((event["pid"], event["name"]), 0.0)
            last[event["pid"], event["name"]] = event["ts"]
        else:
            assert event["s"] in ("g", "p", "t")
    pids = {event["pid"] for event in events}
    assert pids == {pid for pid, _ in named["process_name"]}
    assert len(named["process_name"]) == len(pids)
    assert set(tracks) <= named["thread_name"]
    for slices in tracks.values():
        check_nesting(slices)

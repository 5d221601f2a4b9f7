"""Clocks that are set, jump or lie in the middle of a log or capture: figures stay, nothing is lost, nothing lasts less than 0."""

from __future__ import annotations

import json
import math
import re
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from clock_breaks import CAPTURES, WRAPPERS, Wall, steady, walls
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loganalyze.api import join, judge_all, limits_of, read_source
from loganalyze.model.records import Capture, Reading, Run
from loganalyze.options import Options
from loganalyze.reports import json_out

CORPUS = Path(__file__).resolve().parent.parent / "fixtures" / "corpus"
OWN_STAMP = re.compile(r"^[0-9]\.[0-9]{2}\.[0-9]{3}\.[0-9]{3} [A-Z] ")
CASES = {name: (CORPUS / name / "run.log").read_text("utf-8").splitlines() for name in ("np4_8req", "base_8b_r1")}
BARE = {name: [OWN_STAMP.sub("", line) for line in lines] for name, lines in CASES.items()}
LOGS = {**CASES, **{f"{name}, no stamps of its own": lines for name, lines in BARE.items()}}
ROWS = 60
QUIET = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
FIGURES = ("prompt_tokens", "cached_tokens", "prompt_ms", "prompt_tps", "output_tokens", "eval_tokens", "eval_ms", "eval_tps",
           "total_ms", "ttft_ms", "slot", "task", "complete")  # fmt: skip


def read(*files: tuple[str, str]) -> Reading:
    """Texts read together, each line of theirs counted."""
    runs: list[Run] = []
    captures: list[Capture] = []
    sources = []
    for name, text in files:
        found, beside, source = read_source(name, None, BytesIO(text.encode()))
        assert source.matched + source.unmatched + source.skipped == source.lines == len(text.splitlines())
        runs, captures, sources = [*runs, *found], [*captures, *beside], [*sources, source]
    return join(runs, captures, sources, Options())


def figures(reading: Reading) -> list[tuple[Any, ...]]:
    return [tuple(getattr(r, name) for name in FIGURES) for run in reading.runs for r in run.requests]


def lasting(reading: Reading) -> None:
    """Nothing of ``reading`` ends before it begins, and its answer is JSON of finite numbers."""
    for run in reading.runs:
        assert (run.load_ms or 0.0) >= 0.0
        assert (run.start_s is None) == (run.end_s is None)
        assert run.start_s is None or run.end_s >= run.start_s  # type: ignore[operator]
        for phase in run.phases:
            assert phase.end_s >= phase.start_s
        for request in run.requests:
            if request.start_s is not None and request.end_s is not None:
                assert request.end_s >= request.start_s
            # What stamps tell may be wrong where they are; that it lasts less than nothing is never told.
            for name in ("prompt_ms", "eval_ms", "total_ms", "ttft_ms", "unaccounted_ms"):
                assert (getattr(request, name) or 0.0) >= 0.0
    report = judge_all(reading, Options(), limits_of(Options()))

    def never(word: str) -> None:
        raise AssertionError(word)

    answer = json.loads(json_out.render(report), parse_constant=never)
    assert len(answer["runs"]) == len(reading.runs)
    for run in reading.runs:
        assert run.judgement is not None
        assert (run.judgement.lost_s or 0.0) >= 0.0
        assert all(end >= start for start, end, _ in run.judgement.marks)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("log", LOGS)
def test_a_run_is_the_same_under_a_broken_clock(log: str, wrapper: str) -> None:
    lines = LOGS[log]
    expected = read(("run.log", "\n".join(lines) + "\n"))
    known = judge_all(expected, Options(), limits_of(Options()))
    assert figures(expected)

    @QUIET
    @given(walls(len(lines), 0.4))
    def check(clock: list[Wall]) -> None:
        wrap = WRAPPERS[wrapper]
        found = read(("run.log", "".join(wrap(w, line) + "\n" for w, line in zip(clock, lines, strict=True))))
        assert figures(found) == figures(expected)
        lasting(found)
        if log in CASES or len(found.runs) == 1:
            # The clock of the program itself says that it is one process.
            assert len(found.runs) == 1
            judged = found.runs[0].judgement
            assert judged is not None
            assert (judged.verdict, judged.cause) == (known.verdict, known.cause)
            assert judged.reading.tps == known.runs[0].judgement.reading.tps  # type: ignore[union-attr]
            assert judged.writing.tps == known.runs[0].judgement.writing.tps  # type: ignore[union-attr]

    check()


STAMPED = {
    "lm studio": (
        "%Y-%m-%d %H:%M:%S  [INFO] [LM STUDIO SERVER] ",
        ["Running chat completion on conversation with 5 messages.", "Prompt processing progress: 50.0%",
         "Prompt processing progress: 100.0%", 'Generated packet: {"id": "chatcmpl-1"', "Finished streaming response"] * 3,
    ),
    "no engine known": (
        "%Y-%m-%d %H:%M:%S [E2] ",
        ["loading model from /srv/e2", "model ready", *["prompt received (8123 tokens)", "first output",
         "generation finished: 200 tokens"] * 3],
    ),
    "vllm": (
        "INFO %m-%d %H:%M:%S ",
        ["[loggers.py:111] Engine 000: Avg prompt throughput: 410.0 tokens/s, Avg generation throughput: 55.0 tokens/s, "
         "Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 4.3%, Prefix cache hit rate: 0.0%"] * 12,
    ),
    "sglang": (
        "[%Y-%m-%d %H:%M:%S TP0] ",
        ["Decode batch. #running-req: 3, #token: 5120, token usage: 0.04, gen throughput (token/s): 88.12, #queue-req: 0"] * 12,
    ),
    "ollama": (
        "time=%Y-%m-%dT%H:%M:%S.000Z level=INFO ",
        ["source=server.go:630 msg=\"llama runner started in 2.01 seconds\"", "source=sched.go:1 msg=\"loading model\""] * 6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", STAMPED)
def test_engines_that_tell_only_wall_times_survive_broken_ones(engine: str) -> None:
    pattern, lines = STAMPED[engine]

    @QUIET
    @given(walls(len(lines), 1.5))
    def check(clock: list[Wall]) -> None:
        text = "".join(w.printed(pattern) + line + "\n" for w, line in zip(clock, lines, strict=True))
        found = read(("run.log", text))
        assert found.runs or any(w.year == "0000" for w in clock)
        if found.runs:
            lasting(found)

    check()


def parts_of(reading: Reading) -> list[Capture]:
    parts = {id(c): c for run in reading.runs for c in run.captures} | {id(c): c for c in reading.captures}
    return sorted(parts.values(), key=lambda c: c.frame["line"].min())  # type: ignore[index,arg-type,return-value]


def metrics(parts: list[Capture]) -> pl.DataFrame:
    """Everything measured, in order of the lines, without the times."""
    frames = [p.frame.drop("t_s", "row") for p in parts if p.frame is not None]
    return pl.concat(frames, how="diagonal_relaxed").sort("line")


@pytest.mark.parametrize("tool", CAPTURES)
def test_a_capture_is_the_same_under_a_broken_clock(tool: str) -> None:
    make = CAPTURES[tool]
    expected = metrics(parts_of(read(("a.txt", make(steady(ROWS, 1.0))))))
    assert expected.height == ROWS

    @QUIET
    @given(walls(ROWS, 1.0))
    def check(clock: list[Wall]) -> None:
        reading = read(("a.txt", make(clock)))
        parts = parts_of(reading)
        found = metrics(parts)
        refused = reading.sources[0].unmatched
        # A row whose stamp is no date is no row, and is counted as such.
        assert refused <= sum(w.year == "0000" for w in clock)
        assert found.height >= ROWS - refused
        known = expected.filter(pl.col("line").is_in(found["line"].to_list()))
        assert found.select(sorted(found.columns)).equals(known.select(sorted(known.columns)))
        for number, part in enumerate(parts):
            told_in_order(part)
            if number:
                assert part.clock.notes, "a segment that nobody explains"

    check()


def told_in_order(part: Capture) -> None:
    """Times of a segment are finite or missing, and run forward."""
    assert part.frame is not None
    times = part.frame["t_s"].drop_nulls().to_list()
    assert all(math.isfinite(t) for t in times)
    # Stamps of whole seconds may stand still; smaller steps back are threads that print out of turn.
    slack = max(part.clock.resolution_s or 0.0, 0.05)
    assert all(b >= a - slack for a, b in pairwise(times))
    assert part.clock.offset_s is None or math.isfinite(part.clock.offset_s)
    assert (part.clock.interval_s or 1.0) > 0


@QUIET
@given(st.data())
@pytest.mark.parametrize("tool", CAPTURES)
def test_a_run_with_captures_is_the_same_under_broken_clocks(tool: str, data: st.DataObject) -> None:
    lines = CASES["np4_8req"]
    text = "\n".join(lines) + "\n"
    wrap = WRAPPERS[data.draw(st.sampled_from(sorted(WRAPPERS)))]
    if data.draw(st.booleans()):
        clock = data.draw(walls(len(lines), 0.1))
        text = "".join(wrap(w, line) + "\n" for w, line in zip(clock, lines, strict=True))
    found = read(("run.log", text), ("a.txt", CAPTURES[tool](data.draw(walls(ROWS, 1.0)))))
    assert figures(found) == figures(read(("run.log", "\n".join(lines) + "\n")))
    lasting(found)
    assert metrics(parts_of(found)).height >= ROWS - found.sources[1].unmatched
    for part in parts_of(found):
        told_in_order(part)

"""Phases from stamps, from durations, and from interleaved slots."""

from __future__ import annotations

import pytest

from loganalyze.model.records import Clock, Request, Run, Source
from loganalyze.timeline.phases import LAID_OUT, STARTUP_S, fill_phases, pure_load_s


def _cli(load: float, prompt: float, write: float, total: float, sampling: float = 0.0, **fields: object) -> Run:
    run = Run(id="a#1", source=Source(path="a"), load_ms=load)
    run.requests = [
        Request(
            id="1", source="a", line=9, prompt_ms=prompt, eval_ms=write, total_ms=total, sampling_ms=sampling, **fields
        )  # type: ignore[arg-type]
    ]
    return run


@pytest.mark.parametrize(
    ("run", "load_s"),
    [
        # current builds: a warm-up run, total counts from after it
        (_cli(553.29, 37.0, 808.52, 870.22, 20.0), 0.553),
        # April 2023: no warm-up, load and total both hold the first prompt
        (_cli(8123.51, 6092.4, 18738.72, 27109.65, 37.12), 2.031),
        # total holds the load, which does not hold the prompt
        (_cli(5000.0, 900.0, 9000.0, 14950.0), 5.0),
        (_cli(5000.0, 0.0, 9000.0, 9050.0), 5.0),
    ],
)
def test_load_time_is_freed_of_the_first_prompt(run: Run, load_s: float) -> None:
    assert pure_load_s(run) == pytest.approx(load_s, abs=0.002)


def test_durations_are_laid_end_to_end() -> None:
    run = _cli(800.0, 100.0, 1000.0, 1200.0)
    fill_phases(run)
    assert run.facts["times"] == LAID_OUT
    kinds = [(p.kind, round(p.start_s - STARTUP_S, 3), round(p.end_s - STARTUP_S, 3)) for p in run.phases]
    assert kinds == [("load", 0.0, 0.8), ("reading", 0.8, 0.9), ("writing", 0.9, 2.0)]


def test_a_stamped_summary_ends_the_only_request() -> None:
    run = _cli(553.29, 37.0, 808.52, 870.22)
    run.clock, run.start_s, run.end_s = Clock(kind="relative"), 0.187, 1.797
    fill_phases(run)
    load, idle, reading, writing = run.phases
    assert (load.kind, load.start_s) == ("load", 0.187)
    assert idle.kind == "idle"
    assert reading.start_s == pytest.approx(0.9268, abs=0.001)
    assert (writing.kind, writing.end_s) == ("writing", 1.797)


def test_total_with_thinking_time_is_not_taken_as_work() -> None:
    run = _cli(500.0, 100.0, 1000.0, 60_000.0)
    fill_phases(run)
    assert run.requests[0].end_s - run.requests[0].start_s == pytest.approx(1.1)  # type: ignore[operator]


def test_slots_without_stamps_overlap_as_their_lines_do() -> None:
    run = Run(id="s#1", source=Source(path="s"))
    run.requests = [
        Request(id="a", source="s", line=1, slot=0, prompt_ms=100, eval_ms=900, lines={"prompt": 10, "total": 12}),
        Request(id="b", source="s", line=2, slot=1, prompt_ms=100, eval_ms=1900, lines={"prompt": 30, "total": 32}),
        Request(id="c", source="s", line=13, slot=0, prompt_ms=100, eval_ms=400, lines={"prompt": 20, "total": 22}),
    ]
    fill_phases(run)
    spans = {r.id: (r.start_s - STARTUP_S, r.end_s - STARTUP_S) for r in run.requests}  # type: ignore[operator]
    assert spans["a"] == pytest.approx((0.0, 1.0))
    assert spans["b"] == pytest.approx((0.0, 2.0))
    assert spans["c"] == pytest.approx((1.0, 1.5))


def test_a_queue_before_the_prompt_is_not_reading() -> None:
    run = Run(id="q#1", source=Source(path="q"), clock=Clock(kind="relative"), start_s=0.0, end_s=10.0)
    run.requests = [Request(id="1", source="q", line=1, slot=0, start_s=2.0, end_s=10.0, prompt_ms=1000, eval_ms=3000)]
    fill_phases(run)
    work = [(p.kind, p.start_s, p.end_s) for p in run.phases if p.request]
    assert work == [("reading", 6.0, 7.0), ("writing", 7.0, 10.0)]


def test_nothing_known_gives_no_phases() -> None:
    run = Run(id="n#1", source=Source(path="n"))
    run.requests = [Request(id="1", source="n", line=1, prompt_ms=float("nan"), eval_ms=float("inf"))]
    fill_phases(run)
    assert run.phases == []
    assert run.requests[0].start_s is None


def test_phases_of_a_reader_are_kept() -> None:
    run = _cli(800.0, 100.0, 1000.0, 1200.0)
    fill_phases(run)
    before = list(run.phases)
    fill_phases(run)
    assert run.phases == before

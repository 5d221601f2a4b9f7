"""Very long runs: totals stay exact, the slowest requests stay whole, memory is bounded."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import hostile
import pytest

from loganalyze.api import classify, read_source
from loganalyze.findings.measured.timing import Timing, measure_timing
from loganalyze.findings.thresholds import Thresholds
from loganalyze.formats import base, folding
from loganalyze.model.buckets import bucket, bucket_ms
from loganalyze.model.records import Event, Run

COUNT = 700


def log(count: int) -> str:
    random_ = random.Random(5)
    rows, at = ["0.00.100.000 I srv    load_model: loading model '/models/m8.gguf'"], 1.0
    for task in range(count):
        prompt, output = random_.randrange(20, 4000), random_.randrange(20, 900)
        prompt_ms, eval_ms = prompt * random_.uniform(0.4, 0.6), output * random_.uniform(11, 13)
        start, end = at, at + (prompt_ms + eval_ms) / 1000
        at = end + 0.01
        head = f"id  0 | task {task} | "
        per = f"({prompt_ms / prompt:8.2f} ms per token, {prompt / prompt_ms * 1000:8.2f} tokens per second)"
        per_eval = f"({eval_ms / output:8.2f} ms per token, {output / eval_ms * 1000:8.2f} tokens per second)"
        rows += [
            f"{stamp(start)}I slot launch_slot_: {head}processing task, is_child = 0",
            f"{stamp(end)}I slot print_timing: {head}prompt eval time = {prompt_ms:10.2f} ms / {prompt:5d} tokens {per}",
            f"{stamp(end)}I slot print_timing: {head}       eval time = {eval_ms:10.2f} ms / {output:5d} tokens {per_eval}",
            f"{stamp(end)}I slot print_timing: {head}      total time = {prompt_ms + eval_ms:10.2f} ms / {prompt + output} tokens",
            f"{stamp(end)}I slot      release: {head}stop processing: n_tokens = {prompt + output - 1}, truncated = 0",
        ]
    return "\n".join(rows) + "\n"


def stamp(at: float) -> str:
    micro = round(at * 1e6)
    return f"{micro // 60_000_000}.{micro // 1_000_000 % 60:02d}.{micro // 1000 % 1000:03d}.{micro % 1000:03d} "


def judged(path: Path) -> tuple[Run, Timing]:
    (run,) = classify(str(path)).runs
    return run, measure_timing(run, Thresholds())


def test_totals_are_those_of_all_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.log"
    path.write_text(log(COUNT))
    whole, exact = judged(path)
    assert len(whole.requests) == COUNT
    monkeypatch.setattr(base, "MAX_REQUESTS", 100)
    for name, value in (("KEEP_FIRST", 20), ("FOLD", 40), ("SLOWEST", 5)):
        monkeypatch.setattr(folding, name, value)
    run, found = judged(path)
    assert len(run.requests) <= 100
    assert len(run.requests) + run.facts["folded_requests"] == COUNT
    for half in ("reading", "writing"):
        one, other = getattr(found, half), getattr(exact, half)
        assert one.tokens == other.tokens
        assert (one.ms, one.tps, one.share) == pytest.approx((other.ms, other.tps, other.share))
    assert found.request_ms == pytest.approx(exact.request_ms)
    assert found.cached_tokens == exact.cached_tokens
    assert (found.ttft_max_ms, found.write_max_ms) == (exact.ttft_max_ms, exact.write_max_ms)
    assert found.ttft_median_ms == pytest.approx(exact.ttft_median_ms, rel=0.011)
    assert (found.slow_read is None, exact.slow_read is None) == (False, False)
    assert run.judgement is not None
    assert whole.judgement is not None
    assert (run.judgement.verdict, run.judgement.cause) == (whole.judgement.verdict, whole.judgement.cause)
    assert not [phase for phase in run.phases if phase.kind == "idle" and phase.end_s - phase.start_s > 60]
    assert run.source is not None
    assert any(f"{run.facts['folded_requests']} requests" in note for note in run.source.notes)


def test_events_are_bounded() -> None:
    run = Run(id="x#1")
    for number in range(3 * folding.MAX_EVENTS):
        run.events.append(Event("error" if number % 100 == 50 else "reprocess", "", "x", number))
        if len(run.events) > folding.MAX_EVENTS:
            folding.fold_events(run)
    assert len(run.events) + run.facts["folded_events"] == 3 * folding.MAX_EVENTS
    assert len(run.events) <= folding.MAX_EVENTS
    assert [event.line for event in run.events[:50]] == list(range(50))
    assert run.events[-1].line == 3 * folding.MAX_EVENTS - 1
    assert [event.line for event in run.events] == sorted(event.line for event in run.events)


def test_buckets() -> None:
    for value in (0.0, 0.001, 0.5, 1.0, 37.5, 1e6, 1e9):
        assert bucket_ms(bucket(value)) == pytest.approx(max(value, 0.001), rel=0.006)


def test_many_runs_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MAX_REQUESTS", 100)
    path = tmp_path / "run.log"
    path.write_text(log(60) * 8)
    runs = classify(str(path)).runs
    assert len(runs) == 8
    assert sum(len(run.requests) for run in runs) <= 6 * folding.LEAST_KEPT + 2 * 60
    for run in runs:
        assert len(run.requests) + run.facts.get("folded_requests", 0) == 60
        timing = measure_timing(run, Thresholds())
        assert timing.writing.tokens == measure_timing(runs[-1], Thresholds()).writing.tokens
    assert len(runs[-1].requests) == 60


def test_a_log_of_very_many_starts_is_not_gone_through_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MAX_REQUESTS", 50)
    shrink, seen = folding.shrink, []

    def counted(runs: list[Run]) -> None:
        seen.append(len(runs))
        shrink(runs)

    monkeypatch.setattr(folding, "shrink", counted)
    starts = 400
    runs, _, source = read_source("run.log", None, BytesIO((hostile.log("x") * starts).encode()))
    assert len(runs) == starts
    assert source.matched + source.unmatched + source.skipped == source.lines
    assert 0 < len(seen) <= starts / 50


STARTS = (
    "build: 6000 (abc1234) with cc for x86_64-linux-gnu",
    "llama_model_loader: loaded meta data with 23 key-value pairs and 291 tensors from /m/a-8b-Q4_0.gguf "
    "(version GGUF V3 (latest))",
    "load_tensors: offloaded 33/33 layers to GPU",
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5368.00 MiB on device 0: cudaMalloc failed: out of memory",
)


@pytest.mark.parametrize("journal", [False, True], ids=["one after the other", "each its own process"])
def test_starts_from_the_middle_of_very_many_are_counted_only(journal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "KEEP_RUNS", 10)
    monkeypatch.setattr(folding, "OVER_LINES", 8)
    lines = []
    for start in range(200):
        head = f"Aug 14 12:{start // 60:02d}:{start % 60:02d} box llama-server[{5000 + start}]: " if journal else ""
        lines += [head + line.replace("-8b-", f"-{start}b-") for line in STARTS]
    runs, _, source = read_source("run.log", None, BytesIO("\n".join(lines).encode()))
    assert [run.setup.model_path for run in runs] == [f"/m/a-{n}b-Q4_0.gguf" for n in (*range(10), *range(190, 200))]
    assert [run.id for run in runs] == [f"run.log#{n}" for n in range(1, 21)]
    assert all(run.setup.layers_on_gpu == 33 and len(run.events) == 1 for run in runs)
    assert "180 starts from the middle are left out; the first and the last 10 are kept" in source.notes
    assert source.matched + source.unmatched + source.skipped == source.lines == 800


def test_a_process_at_work_beside_very_many_starts_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "KEEP_RUNS", 10)
    monkeypatch.setattr(folding, "OVER_LINES", 60)
    lines = [f"Aug 14 12:00:00 box llama-server[{70 + n}]: {line}" for n in range(12) for line in STARTS]
    server = "Aug 14 12:{m:02d}:{s:02d} box llama-server[99]: "
    request = "slot print_timing: id  0 | task {t} | prompt eval time = 100.00 ms / 50 tokens ( 2.00 ms per token, 500.00 tokens per second)"  # noqa: E501
    for start in range(200):
        m, s = divmod(start, 60)
        if start % 4 == 0:
            lines.append(server.format(m=m, s=s) + request.format(t=start))
        lines += [f"Aug 14 12:{m:02d}:{s:02d} box llama-server[{5000 + start}]: {line}" for line in STARTS]
    runs, _, _ = read_source("run.log", None, BytesIO("\n".join(lines).encode()))
    assert max(len(run.requests) for run in runs) == 50

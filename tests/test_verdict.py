"""The judgement: order, confidence, sentences, what is missing, and that it never raises."""

from __future__ import annotations

import copy
import json
import math
import os
from dataclasses import fields
from pathlib import Path

import pytest
from builders import bare, event, gpu, host, request, run, samples, timed
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from loganalyze.errors import UsageError
from loganalyze.findings import CAUSES
from loganalyze.findings.answers import VERDICT_OF
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Buffer, Device, Event, RateSample, Request, Run, Setup
from loganalyze.verdict import explain, judge, overall
from loganalyze.verdict.telemetry import KEYS

LOG = "run.log"


def test_healthy_needs_positive_evidence() -> None:
    assert judge(run()).verdict == "healthy"
    assert judge(bare([request(pp=None, prompt=None, tg=6.0)])).verdict == "inconclusive"


def test_memory_comes_before_the_halves() -> None:
    made = run([request(prompt=60_000, pp=300.0, out=100, tg=9.0)], setup_layers_on_gpu=12)
    judged = judge(made)
    assert (judged.verdict, judged.cause) == ("swapping", "partial_offload")


def test_cause_outranks_symptom() -> None:
    judged = judge(run([request(prompt=20_000, pp=700.0, out=24)], setup_n_ubatch=16))
    assert judged.cause == "small_batch"
    assert {"small_batch", "long_prompt"} <= {f.cause for f in judged.findings if f.state == "critical"}


def test_the_dearer_half_is_the_verdict() -> None:
    reading = run([request(prompt=60_000, pp=3000.0, out=1200, tg=100.0)])
    assert judge(reading).verdict == "slow reading"


def test_telemetry_has_exactly_the_keys_of_the_contract() -> None:
    judged = judge(run(captures=[gpu(used=12000.0), host()]))
    assert tuple(judged.telemetry) == KEYS
    assert judged.telemetry["vram_peak_mib"] == 12000.0
    assert judged.telemetry["swap_in_max_kib_s"] == 0.0
    assert tuple(judge(run()).telemetry) == KEYS
    assert set(judge(run()).telemetry.values()) == {None}


def test_shares_and_rates_are_totals() -> None:
    made = run(
        [request(1, prompt=1000, pp=2000.0, out=101, tg=100.0), request(2, prompt=1000, pp=1000.0, out=101, tg=50.0)]
    )
    judged = judge(made)
    assert judged.reading.tps == pytest.approx(2000 / 1.5)
    assert judged.writing.tps == pytest.approx(200 / 3)
    assert judged.reading.share == pytest.approx(1.5 / 4.5)
    assert judged.reading.share + (judged.writing.share or 0) == pytest.approx(1)


def test_a_cached_prompt_gives_no_rate() -> None:
    judged = judge(run([request(prompt=1, pp=None, cached_tokens=500, prompt_ms=0.0)]))
    assert judged.reading.tps is None
    assert judged.verdict == "healthy"


def test_a_rate_beyond_the_card_counts_cached_tokens() -> None:
    judged = judge(run([request(prompt=30_000, pp=300_000.0)], engine="ollama"))
    assert judged.reading.tps is None


def test_end_to_end_rates_are_not_writing() -> None:
    judged = judge(bare([request(prompt=None, pp=None, out=20, tg=2.0, end_to_end_tps=True)]))
    assert (judged.verdict, judged.cause) == ("inconclusive", "no_timings")


def test_requests_beside_others_are_not_held_against_the_card() -> None:
    made = run([request(i, start=2.0, slot=i, tg=45.0, pp=1500.0) for i in range(4)])
    judged = judge(made)
    assert judged.verdict == "healthy"
    assert "together" in judged.summary


def test_a_queue_is_no_slow_machine() -> None:
    requests, start = [], 2.0
    for i in range(8):
        requests.append(request(i, start=start, slot=0))
        start = (requests[-1].end_s or 0) + 0.02
    judged = judge(run(requests))
    assert judged.verdict == "healthy"
    assert "queue" in judged.summary


def baseline(writing: float, reading: float = 4000.0) -> dict[str, object]:
    return {"metrics": {"writing_tps": {"median": writing}, "reading_tps": {"median": reading}}}


def test_own_baseline_outranks_the_table() -> None:
    assert judge(run([request(tg=95.0)]), None, baseline(97.0)).confidence == "high"
    slow = judge(run([request(tg=95.0)]), None, baseline(180.0))
    assert (slow.verdict, slow.cause) == ("slow writing", "decode_below_hardware")
    assert judge(run([request(tg=45.0)]), None, baseline(46.0)).verdict == "healthy"
    assert judge(run([request()]), None, {"metrics": {"writing_tps": {"median": None}}}).verdict == "healthy"


def test_gain_is_told() -> None:
    made = run([request(tg=9.0, pp=300.0)], setup_layers_on_gpu=12)
    made.memory = [Buffer("CPU_Mapped", "model", 3000.0, LOG, 11), Buffer("CUDA0", "model", 1700.0, LOG, 12)]
    assert "if all layers fit" in judge(made).summary


def test_mark_covers_the_slow_stretch() -> None:
    slow = request(out=1000, tg=55.0)
    slow.samples = samples([110.0, 110.0, 30.0, 30.0, 30.0])
    judged = judge(run([slow]))
    assert judged.cause == "contention"
    assert judged.marks
    assert all(end > start for start, end, _ in judged.marks)


def test_overall_is_the_run_that_lost_most() -> None:
    runs = [run(), run([request(tg=9.0, pp=300.0)], setup_layers_on_gpu=12), run()]
    for made in runs:
        made.judgement = judge(made)
    assert overall(runs) is runs[1]
    assert overall([]) is None


def test_captures_without_clock_still_count() -> None:
    made = bare([request(tg=8.0, pp=230.0)], captures=[gpu(util=5.0, clock=False), timed(35.0, 280.0)])
    assert judge(made).cause == "partial_offload"


def test_missing_names_a_command_to_paste() -> None:
    judged = judge(bare([request(tg=8.0, pp=230.0)]))
    records = [m.record for m in judged.missing]
    assert any("nvidia-smi" in r for r in records)
    apple = judge(
        bare([request(tg=8.0, pp=230.0)], backend="Metal", devices=[Device("Apple M2", "Metal", backend="Metal")])
    )
    assert not any("nvidia-smi" in m.record for m in apple.missing)


@pytest.mark.parametrize("name", explain.names())
def test_every_text_is_complete(name: str) -> None:
    entry = explain.explain(name)
    assert all(text.strip() for _, text in entry.sections())
    assert entry.verdict in ("swapping", "slow reading", "slow writing", "healthy", "inconclusive")


def test_texts_cover_all_verdicts_and_causes() -> None:
    assert set(explain.names()) == set(CAUSES) | set(VERDICT_OF.values())


def test_names_are_taken_loosely_and_errors_say_which_are_near() -> None:
    assert explain.explain("Slow-Reading").name == "slow reading"
    assert explain.explain("partial offload").name == "partial_offload"
    with pytest.raises(UsageError, match="partial_offload"):
        explain.explain("partial_ofload")
    with pytest.raises(UsageError, match="kv_on_host"):
        explain.explain("kv")


def test_page_is_generated_from_the_same_text() -> None:
    path = Path(__file__).resolve().parent.parent / "docs" / "causes.md"
    assert path.read_text(encoding="utf-8") == explain.page()


# ---- robustness

number = st.one_of(st.none(), st.floats(-1e6, 1e12, allow_nan=False), st.just(0.0), st.just(float("inf")))
whole = st.one_of(st.none(), st.integers(-5, 10**9))
text = st.one_of(
    st.none(), st.text(max_size=20), st.sampled_from(["CUDA", "Metal", "vllm", "llama.cpp", "RTX 3090", "none"])
)


def record(cls: type, **fixed: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    made: dict[str, st.SearchStrategy[object]] = {}
    for field in fields(cls):  # type: ignore[arg-type]
        kind = str(field.type)
        if field.name in fixed:
            made[field.name] = fixed[field.name]
        elif kind.startswith("float"):
            made[field.name] = number
        elif kind.startswith("int"):
            made[field.name] = whole
        elif kind.startswith("bool"):
            made[field.name] = st.sampled_from([True, False] + ([None] if "None" in kind else []))
        elif kind == "str | None":
            made[field.name] = text
    return st.builds(cls, **made)


samples_ = record(
    RateSample, half=st.sampled_from(["reading", "writing"]), source=st.just(LOG), line=st.integers(1, 99)
)
requests_ = record(
    Request, id=st.just("1"), source=st.just(LOG), line=st.integers(1, 99), samples=st.lists(samples_, max_size=5),
    lines=st.just({}),
)  # fmt: skip
flags = st.dictionaries(
    st.sampled_from(["n-gpu-layers", "device", "n-cpu-moe", "override-tensor", "ubatch-size", "fit", "no-kv-offload"]),
    st.sampled_from(["", "0", "99", "all", "none", "exps=CPU", "x"]),
)
events_ = st.builds(
    Event,
    st.sampled_from(["alloc_failed", "throughput", "preempted", "host_weights", "kernel_oom", "exit", "reprocess", "error",
                     "fit", "tensor_override", "no_gpu", "killed", "working_set", "load_failed"]),
    st.sampled_from(["out of memory", "x", "blk exps CPU"]), st.just(LOG), st.integers(1, 99), number,
    st.dictionaries(st.sampled_from(["mib", "n", "running", "waiting", "kv_usage_pct", "gen_tps", "prompt_tps", "tokens",
                                     "share_pct", "host", "recovered", "status", "device"]),
                    st.one_of(number, whole, st.booleans(), st.just("x")), max_size=6),
)  # fmt: skip
runs_ = record(
    Run, id=st.just("run.log#1"), setup=record(Setup, flags=flags), requests=st.lists(requests_, max_size=4),
    events=st.lists(events_, max_size=4),
    memory=st.lists(record(Buffer, device=st.sampled_from(["CPU", "CUDA0", "CUDA_Host", "Metal"]),
                           kind=st.sampled_from(["model", "kv", "compute"]), mib=st.floats(0, 1e6),
                           source=st.just(LOG), line=st.just(3)), max_size=4),
    devices=st.lists(record(Device), max_size=2),
)  # fmt: skip


EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "60"))
NO_SHRINK = (Phase.explicit, Phase.generate)


@settings(max_examples=EXAMPLES, deadline=None, phases=NO_SHRINK, suppress_health_check=list(HealthCheck))
@given(runs_)
def test_judge_never_raises_and_stays_within_the_contract(made: Run) -> None:
    judged = judge(made, Thresholds())
    assert VERDICT_OF[judged.cause] == judged.verdict
    assert judged.confidence in ("high", "medium", "low")
    assert judged.summary
    assert tuple(judged.telemetry) == KEYS
    for half in (judged.reading, judged.writing):
        assert half.share is None or 0 <= half.share <= 1
    json.dumps([judged.lost_s, judged.reading.tps, judged.writing.tps], allow_nan=False)


@pytest.mark.parametrize("endless", [math.inf, math.nan, 1e300, 1e13])
def test_times_without_end_are_no_loss(endless: float) -> None:
    asked = Request("1", LOG, 35, prompt_tokens=206, prompt_ms=endless, prompt_tps=1e-308, total_ms=endless)
    made = Run("run.log#1", requests=[asked], memory=[Buffer("Metal", "compute", 1.0, LOG, 3)])
    judged = judge(made, Thresholds())
    assert judged.reading.tps is None or judged.reading.tps >= 0
    assert judged.lost_s is None or judged.lost_s < 1e9


REMOVABLE = [f.name for f in fields(Setup) if f.name not in ("flags", "env", "tensor_overrides")]


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sets(st.sampled_from(REMOVABLE)), st.sets(st.sampled_from(["devices", "memory", "captures", "backend", "engine",
       "load_ms", "version", "prompt_ms", "eval_tokens", "ttft_ms", "total_ms", "start_s", "offset"])), st.booleans())  # fmt: skip
def test_removing_what_is_known_never_makes_a_healthy_run_faulty(
    setup: set[str], parts: set[str], clocked: bool
) -> None:
    made = copy.copy(run(captures=[gpu(clock=clocked), host(clock=clocked), timed(4.5, 4.0)]))
    for name in setup:
        setattr(made.setup, name, None)
    for name in parts:
        if name in ("devices", "memory", "captures"):
            setattr(made, name, [])
        elif name == "offset":
            made.clock.offset_s = None
        elif name in ("backend", "engine", "load_ms", "version"):
            setattr(made, name, None)
        else:
            setattr(made.requests[0], name, None)
    judged = judge(made)
    assert judged.verdict in ("healthy", "inconclusive"), judged.summary


def test_events_of_every_kind_are_survived() -> None:
    from loganalyze.model.records import EVENT_KINDS

    for kind in EVENT_KINDS:
        judge(run(events=[event(kind)]))
        judge(run([], events=[event(kind)]))


@pytest.mark.parametrize(
    ("engine", "word"),
    [("llama.cpp", "-np"), ("ik_llama.cpp", "-np"), ("ollama", "OLLAMA_NUM_PARALLEL"), ("vllm", "--max-num-seqs"),
     ("sglang", "--max-running-requests"), ("koboldcpp", "--multiuser")],
)  # fmt: skip
def test_advice_speaks_the_words_of_the_engine(engine: str, word: str) -> None:
    requests = [request(i, prompt=300, pp=900.0, out=200, tg=6.0, start=2.0, slot=i) for i in range(16)]
    judged = judge(run(requests, engine=engine))
    assert judged.cause == "shared_by_requests"
    assert f"({word})" in (judged.next_step or "")


@pytest.mark.parametrize(("stage", "word"), [("compute", "smaller batch (-ub)"), ("kv", "-ctk q8_0")])
def test_advice_after_a_failed_allocation_is_about_what_failed(stage: str, word: str) -> None:
    made = run([], events=[event("alloc_failed", "out of memory", device="CUDA0", mib=9000.0, recovered=False),
                           event("load_failed", "failed", line=11, stage=stage)])  # fmt: skip
    judged = judge(made)
    assert judged.cause == "device_oom"
    assert word in (judged.next_step or "")

"""Each cause: planted it is found, nearly planted it is not, and a healthy run stays silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import pytest
from builders import bare, event, gpu, host, request, run, samples, timed

from loganalyze.findings import CAUSES
from loganalyze.findings.answers import VERDICT_OF
from loganalyze.findings.facts import measure
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Buffer, Device, Finding, Run
from loganalyze.verdict import judge

LIMITS = Thresholds()
LOG = "run.log"
Make = Callable[[], Run]


@dataclass
class Case:
    """``near`` differs from ``planted`` in the one thing that makes the cause."""

    cause: str
    planted: Make
    near: Make
    verdict: bool = True
    """The planted run's verdict has this cause, too."""


def split(on: int, tg: float) -> Run:
    made = run([request(tg=tg, pp=300.0)], setup_layers_on_gpu=on, setup_n_gpu_layers=on)
    made.memory = [Buffer("CPU_Mapped", "model", 3000.0, LOG, 11), Buffer("CUDA0", "model", 1700.0, LOG, 12)]
    return made


def moe(tg: float, **more: object) -> Run:
    return run(
        [request(tg=tg, pp=300.0)], setup_model_name="Qwen3-30B-A3B Q4_K_M", setup_n_params=30_500_000_000,
        setup_model_bytes=18_600_000_000, setup_n_layer=48, setup_layers_on_gpu=49, setup_layers_total=49,
        setup_n_expert=128, setup_n_expert_used=8,
        memory=[Buffer("CUDA0", "model", 17000.0 if tg > 80 else 2000.0, LOG, 12)], **more,
    )  # fmt: skip


def on_processors(running: float, busy: float, threads: int = 2) -> Run:
    """A run on two processors whose queue holds ``running`` threads."""
    made = bare([request(prompt=40, pp=16.0, out=12, tg=0.6)], backend="CPU", setup_n_threads=threads,
                setup_n_threads_total=2, load_ms=2000.0)  # fmt: skip
    made.captures.append(host(procs_running=running, cpu_user_pct=busy, cpu_system_pct=1.0))
    return made


def kv_on_host(tg: float, device: str) -> Run:
    made = run([request(prompt=4000, pp=1500.0, tg=tg)])
    made.memory[2] = Buffer(device, "kv", 4096.0, LOG, 13)
    return made


def failed(text: str = "cudaMalloc failed: out of memory", recovered: bool = False, requests: bool = False) -> Run:
    made = run([request()] if requests else [])
    made.events = [event("alloc_failed", text, device="CUDA0", mib=9000.0, host=False, recovered=recovered)]
    return made


def with_gpu(made: Run, **columns: object) -> Run:
    made.captures.append(gpu(**columns))  # type: ignore[arg-type]
    return made


def with_host(made: Run, **columns: object) -> Run:
    made.captures.append(host(**columns))  # type: ignore[arg-type]
    return made


def dropped(rates: list[float], context: int = 400) -> Run:
    total = sum(rates) * 3
    seconds = 3.0 * len(rates)
    slow = request(prompt=context, out=int(total) + 1, tg=total / seconds)
    slow.samples = samples(rates)
    return run([slow], setup_n_ctx=65536)


def serving(*events: object) -> Run:
    return bare([], engine="vllm", backend=None, events=list(events))


def interval(running: int, waiting: int, usage: float, gen: float = 300.0, line: int = 5) -> object:
    return event(
        "throughput", line=line, running=running, waiting=waiting, kv_usage_pct=usage, gen_tps=gen, prompt_tps=0.0
    )


def timings_only(prompt: int, pp: float, out: int, tg: float) -> Run:
    return bare([request(prompt=prompt, pp=pp, out=out, tg=tg)], backend=None, version=None)


def unfinished(seconds: float) -> Run:
    made = request(prompt=7500, pp=7500 / seconds, out=None, tg=None, complete=False)
    made.total_ms = made.ttft_ms = None
    return bare([made], backend=None)


def unmeasured_card(weights: float, tg: float) -> Run:
    """A log that names the card, but not its memory: 24 GiB by the table."""
    made = run([request(tg=tg)], devices=[Device("NVIDIA GeForce RTX 4090", "CUDA0", 0, "CUDA")])
    made.setup.model_bytes, made.setup.n_params = None, None
    made.memory = [Buffer("CUDA0", "model", weights, LOG, 12), Buffer("CUDA0", "kv", 8192.0, LOG, 13)]
    return made


def reads(running: int, waiting: int, prompts: float, number: int) -> object:
    return event("throughput", line=5 + number, running=running, waiting=waiting, kv_usage_pct=40.0, gen_tps=20.0,
                 prompt_tps=prompts)  # fmt: skip


def streams(n: int, tg: float, out: int = 200) -> Run:
    return run([request(i, prompt=300, pp=900.0, out=out, tg=tg, start=2.0, slot=i) for i in range(n)])


def growing_chat(cached: int) -> Run:
    requests = []
    size, start = 4000, 2.0
    for i in range(4):
        fresh = size if i == 0 or not cached else size - cached * size // 100
        made = request(i, prompt=fresh, pp=600.0, out=60, tg=60.0, start=start, slot=0, cached_tokens=size - fresh)
        start = (made.end_s or 0) + 3
        requests.append(made)
        size += 500
    return run(requests)


CASES = [
    Case("device_oom", failed, lambda: failed(recovered=True, requests=True)),
    Case("host_oom", lambda: run([], events=[event("kernel_oom", process="llama-server", rss_mib=28000.0)]),
         lambda: run(events=[event("kernel_oom", process="firefox", rss_mib=9000.0)])),
    Case("host_oom", lambda: run([], exit_status=137), lambda: run(exit_status=0)),
    Case("host_paging", lambda: with_host(run([request(tg=2.0, pp=20.0)]), swap_in_kib_s=90_000.0, cpu_wait_pct=30.0),
         lambda: with_host(run(), boot={"swap_in_kib_s": 90_000.0})),
    Case("host_paging", lambda: with_host(bare([request(tg=2.0, pp=20.0)], setup_flags={"device": "none"}),
                                          swap_in_kib_s=90_000.0),
         lambda: with_host(bare([request(tg=12.0, pp=50.0)], setup_flags={"device": "none"}), swap_in_kib_s=50.0)),
    Case("mmap_thrash", lambda: with_host(run([request(tg=1.5, pp=15.0)]), block_in_kib_s=900_000.0, cpu_wait_pct=40.0),
         lambda: with_host(run(), block_in_kib_s=9_000.0)),
    Case("cpu_fallback", lambda: run([request(tg=9.0, pp=30.0)], setup_layers_on_gpu=0, setup_n_gpu_layers=None,
                                     memory=[Buffer("CPU_Mapped", "model", 4685.0, LOG, 11)]),
         lambda: run([request(tg=9.0, pp=30.0)], setup_layers_on_gpu=0, setup_flags={"device": "none"})),
    Case("cpu_fallback", lambda: with_gpu(bare([request(tg=9.0, pp=30.0)], captures=[timed(30.0, 200.0)]), used=12.0,
                                          util=0.0),
         lambda: with_gpu(bare([request()], captures=[timed(4.0, 3.5)]), used=6000.0)),
    Case("cpu_fallback", lambda: bare([request(tg=5.0, pp=16.0)], backend="CPU", setup_n_gpu_layers=99),
         lambda: bare([request(tg=5.0, pp=16.0)], backend="CPU")),
    Case("partial_offload", lambda: split(12, 9.0), lambda: split(33, 105.0)),
    Case("partial_offload", lambda: with_gpu(bare([request(tg=8.0, pp=230.0)], captures=[timed(35.0, 280.0)]), util=5.0),
         lambda: with_gpu(bare([request()], captures=[timed(4.0, 3.5)]))),
    Case("partial_offload", lambda: bare([request(tg=8.0, pp=230.0)], setup_flags={"n-gpu-layers": "10"},
                                         setup_n_gpu_layers=10),
         lambda: bare([request(tg=110.0)], setup_flags={"n-gpu-layers": "99"}, setup_n_gpu_layers=99)),
    Case("partial_offload", lambda: bare([request(tg=3.0, pp=80.0)], engine="ollama",
                                         events=[event("host_weights", share_pct=48.0)]),
         lambda: bare([request(tg=60.0)], engine="ollama", events=[event("host_weights", share_pct=0.0)])),
    Case("experts_on_host", lambda: moe(27.0, setup_flags={"n-cpu-moe": "24"}), lambda: moe(150.0)),
    Case("kv_on_host", lambda: kv_on_host(20.0, "CPU"), lambda: kv_on_host(95.0, "CUDA0")),
    Case("vram_saturation", lambda: with_gpu(run([request(tg=12.0)]), used=24000.0, util=60.0, mem=30.0),
         lambda: with_gpu(run(), used=24000.0)),
    Case("vram_spill", lambda: with_gpu(run([request(tg=9.0)]), used=24000.0, util=99.0, mem=3.0),
         lambda: with_gpu(run(), used=24000.0, util=99.0, mem=60.0)),
    Case("vram_spill", lambda: with_gpu(run([request(tg=9.0)]), used=23500.0, shared_used_mib=4000.0),
         lambda: with_gpu(run(), used=20000.0, shared_used_mib=100.0)),
    Case("vram_spill", lambda: unmeasured_card(22_000.0, 4.0), lambda: unmeasured_card(12_000.0, 60.0)),
    Case("kv_pool_full", lambda: serving(event("preempted", n=2), interval(20, 9, 99.0)),
         lambda: serving(interval(20, 0, 95.0), interval(20, 0, 96.0))),
    Case("kv_pool_full", lambda: serving(interval(20, 9, 99.0), interval(21, 9, 99.0), interval(20, 7, 98.0)),
         lambda: serving(interval(20, 9, 60.0), interval(20, 9, 60.0))),
    Case("small_batch", lambda: run([request(prompt=9000, pp=700.0, out=24)], setup_n_ubatch=16),
         lambda: run([request(prompt=200, pp=700.0)], setup_n_ubatch=16)),
    Case("prompt_reprocessed", lambda: growing_chat(0), lambda: growing_chat(90)),
    Case("prefill_on_host", lambda: run([request(prompt=1500, pp=60.0, out=40, tg=40.0)]),
         lambda: run([request(prompt=1500, pp=1200.0, out=40, tg=100.0)])),
    Case("prefill_below_hardware", lambda: run([request(prompt=9000, pp=350.0, out=60, tg=60.0)]),
         lambda: run([request(prompt=9000, pp=2500.0, out=60, tg=100.0)])),
    Case("prefill_below_hardware", lambda: timings_only(52, 1.3, 5, 3.3), lambda: timings_only(52, 16.0, 5, 3.3)),
    Case("prefill_below_hardware", lambda: timings_only(692, 1.55, 17, 1.54), lambda: timings_only(692, 1.55, 17, 0.6)),
    Case("long_prompt", lambda: run([request(prompt=60_000, pp=3000.0, out=100, tg=90.0)]),
         lambda: run([request(prompt=4000, pp=3000.0, out=100)])),
    Case("long_prompt", lambda: run([request(prompt=60_000, pp=3000.0, out=100, tg=90.0)]),
         lambda: run([request(prompt=400, pp=3000.0, out=4, tg=90.0, ttft_ms=60_000.0)])),
    Case("long_prompt", lambda: unfinished(97.0), lambda: unfinished(3.0)),
    Case("long_prompt", lambda: serving(*[reads(10, 90, 24_000.0, n) for n in range(4)]),
         lambda: serving(*[reads(10, 0, 24_000.0, n) for n in range(4)])),
    Case("long_prompt", lambda: serving(*[reads(10, 90, 24_000.0, n) for n in range(4)]),
         lambda: serving(*[reads(10, 90, 24_000.0 if n == 2 else 100.0, n) for n in range(9)])),
    Case("cpu_only", lambda: bare([request(prompt=230, pp=184.0, out=48, tg=26.0)], setup_flags={"device": "none"},
                                  setup_n_gpu_layers=0),
         lambda: run([request(tg=105.0)])),
    Case("contention", lambda: dropped([110.0, 109.0, 30.0, 20.0, 21.0, 20.0]),
         lambda: dropped([110.0, 109.0, 101.0, 104.0, 99.0, 103.0])),
    Case("contention", lambda: on_processors(8, 99.0), lambda: on_processors(3, 99.0)),
    Case("contention", lambda: on_processors(8, 99.0), lambda: on_processors(8, 40.0)),
    Case("contention", lambda: on_processors(8, 99.0), lambda: on_processors(8, 99.0, threads=8)),
    Case("throttled", lambda: with_gpu(run([request(tg=35.0)]), throttle_thermal=1.0, temp_c=88.0),
         lambda: with_gpu(run(), throttle_power=1.0, temp_c=70.0)),
    Case("throttled", lambda: with_gpu(run([request(tg=35.0)]), throttle_mask=0x40),
         lambda: with_gpu(run([request(tg=35.0)]), throttle_mask=0x01)),
    Case("throttled", lambda: with_gpu(run([request(tg=35.0)]), throttle_power=1.0),
         lambda: with_gpu(dropped([110.0, 109.0, 30.0, 20.0, 21.0, 20.0]), throttle_power=1.0)),
    Case("too_many_threads", lambda: split_threads(64), lambda: split_threads(8)),
    Case("sampling_overhead", lambda: run([request(tg=60.0, sampling_ms=3000.0)]),
         lambda: run([request(tg=105.0, sampling_ms=30.0)])),
    Case("speculation_ineffective", lambda: run([request(tg=60.0, draft_tokens=222, draft_accepted=40)]),
         lambda: run([request(tg=160.0, draft_tokens=222, draft_accepted=180)])),
    Case("long_context", lambda: dropped([100.0, 95.0, 90.0, 84.0, 79.0, 74.0, 70.0, 66.0, 62.0], context=30_000),
         lambda: dropped([100.0, 99.0, 98.0, 97.0, 96.0], context=30_000)),
    Case("shared_by_requests", lambda: streams(16, 6.0), lambda: streams(4, 60.0)),
    Case("decode_below_hardware", lambda: run([request(tg=30.0)]), lambda: run([request(tg=95.0)])),
    Case("decode_below_hardware", lambda: timings_only(49, 43.0, 510, 4.4), lambda: timings_only(49, 43.0, 510, 9.0)),
    Case("decode_below_hardware", lambda: timings_only(49, 43.0, 510, 4.4), lambda: timings_only(49, 4.0, 60, 0.3)),
    Case("decode_below_hardware", lambda: timings_only(49, 43.0, 510, 4.4), lambda: timings_only(4000, 43.0, 60, 4.4)),
    Case("long_output", lambda: run([request(out=3000, tg=105.0)]), lambda: run([request(out=700, tg=105.0)])),
    Case("failed_for_another_reason", lambda: run([], events=[event("load_failed", "unknown model architecture")]),
         lambda: run(events=[event("error", "client closed")])),
    Case("telemetry_only", lambda: Run("smi.csv#1", captures=[gpu()]), lambda: with_gpu(run())),
    Case("no_timings", lambda: run([]), run),
    Case("too_short", lambda: bare([request(prompt=10, pp=20.0, out=4, tg=9.0)]), run),
]  # fmt: skip


def split_threads(threads: int) -> Run:
    return bare([request(prompt=100, pp=50.0, tg=6.0)], setup_flags={"device": "none"}, setup_n_threads=threads)


def find(cause: str, made: Run) -> Finding:
    found: Finding = import_module(f"loganalyze.findings.{cause}").find(measure(made, LIMITS), LIMITS)
    return found


IDS = [f"{c.cause}-{i}" for i, c in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_planted_cause_is_found_with_proof(case: Case) -> None:
    found = find(case.cause, case.planted())
    assert found.state == "critical", found.text
    assert found.text
    assert found.evidence or found.record


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.verdict], ids=[i for i, c in zip(IDS, CASES, strict=True) if c.verdict]
)
def test_planted_cause_is_the_verdict(case: Case) -> None:
    judged = judge(case.planted(), LIMITS)
    assert judged.cause == case.cause, [f"{f.cause}: {f.text}" for f in judged.findings if f.state == "critical"]
    assert judged.verdict == VERDICT_OF[case.cause]
    assert judged.summary.endswith(".")
    if judged.verdict != "inconclusive":
        assert judged.next_step


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_near_miss_is_not(case: Case) -> None:
    found = find(case.cause, case.near())
    assert found.state != "critical", found.text


@pytest.mark.parametrize("cause", [c for c in CAUSES if c != "as_expected"])
def test_healthy_run_is_silent(cause: str) -> None:
    healthy = with_host(with_gpu(run(captures=[timed(4.5, 4.0)])))
    found = find(cause, healthy)
    assert found.state == "clear", found.text


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_is_planted_somewhere(cause: str) -> None:
    assert cause == "as_expected" or any(c.cause == cause for c in CASES)


@pytest.mark.parametrize("cause", CAUSES)
def test_module_states_its_contract(cause: str) -> None:
    text = import_module(f"loganalyze.findings.{cause}").__doc__ or ""
    for part in ("Data", "Algorithm:", "Thresholds:", "Known false positives:"):
        assert part in text


def test_full_card_of_a_serving_engine_is_silent() -> None:
    made = serving(interval(1, 0, 4.0, gen=58.0), interval(1, 0, 4.0, gen=58.0))
    with_gpu(made, used=23_900.0, util=98.0, mem=70.0)
    assert find("vram_saturation", made).state == "clear"
    assert judge(made, LIMITS).verdict == "healthy"


def test_another_process_is_named() -> None:
    made = failed()
    with_gpu(made, used=20_100.0, base=20_000.0)
    judged = judge(made, LIMITS)
    assert judged.cause == "device_oom"
    assert "another process" in judged.summary


def test_device_of_a_capture_stands_in_for_a_log_without_one() -> None:
    made = with_gpu(bare([request()], setup_model_bytes=4_920_000_000))
    assert made.devices == []
    judged = judge(made, LIMITS)
    assert judged.verdict == "healthy"
    assert judged.writing.expected_tps is not None


def test_unknown_placement_is_never_taken_as_the_cpu() -> None:
    judged = judge(bare([request(tg=8.0, pp=230.0)]), LIMITS)
    assert judged.verdict == "inconclusive"
    assert any("-lv 4" in m.record for m in judged.missing)


def test_a_ratio_does_not_acquit_reading_against_the_prediction() -> None:
    # Beside 110 t/s of writing 2000 t/s is 18 times as fast, but less than half of what an RTX 3090 reads of this model.
    slow, normal = (find("long_prompt", run([request(prompt=30_000, pp=pp, out=40)])) for pp in (2000.0, 2200.0))
    assert (slow.state, slow.confidence, "normal rate" in slow.text) == ("critical", "medium", False)
    assert (normal.state, normal.confidence, "normal rate" in normal.text) == ("critical", "high", True)


def test_two_cards_at_half_load_are_one_busy_card() -> None:
    import polars as pl

    made = bare([request()])
    one = gpu(util=49.0)
    assert one.frame is not None
    both = pl.concat([one.frame, one.frame.with_columns(device=pl.lit(1, dtype=pl.Int32))])
    one.frame, one.devices = both, [*one.devices, Device("NVIDIA GeForce RTX 3090", index=1)]
    made.captures = [one]
    facts = measure(made, LIMITS)
    assert facts.gpu is not None
    assert facts.gpu.total("util_pct") == pytest.approx(98.0)


def test_free_memory_tells_twins_apart_where_no_total_is_printed() -> None:
    expected = []
    for free in (7_600.0, 11_400.0):
        made = run(setup_model_bytes=4_920_000_000)
        made.devices = [Device("NVIDIA GeForce RTX 3060", "CUDA0", 0, "CUDA", None, free)]
        expected.append(measure(made, LIMITS).decode_expected or 0.0)
    assert expected[1] > 1.3 * expected[0] > 0


def test_cache_buffers_tell_what_a_token_of_context_costs() -> None:
    # A quarter of what eight KV heads a layer take: windowed layers and a quantised cache.
    plain, small = (run([request(prompt=16_000, out=200)], setup_n_ctx=16_384) for _ in range(2))
    for made, mib in ((plain, 2048.0), (small, 512.0)):
        made.memory = [b for b in made.memory if b.kind != "kv"] + [Buffer("CUDA0", "kv", mib, "run.log", 9)]
    rates = [measure(made, LIMITS).decode_expected or 0.0 for made in (plain, small)]
    assert rates[1] > 1.1 * rates[0] > 0

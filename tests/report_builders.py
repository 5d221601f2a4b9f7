"""Hand-made judged runs for the report tests: one for each picture and page that has to look right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from loganalyze.model.records import (
    Buffer,
    Capture,
    Clock,
    Device,
    Event,
    Evidence,
    Finding,
    HalfFacts,
    Judgement,
    Missing,
    Phase,
    RateSample,
    Reading,
    Request,
    Run,
    Setup,
    Source,
)
from loganalyze.model.report import Report

T0 = 1_796_077_229.0


def clock(error_s: float | None = 0.05, offset_s: float | None = T0, anchor: str = "zone in stamp") -> Clock:
    return Clock(kind="absolute", zone="UTC", anchor=anchor, offset_s=offset_s, error_s=error_s)


def source(path: str = "run.log", fmt: str = "llama_cpp", dialect: str | None = "common_perf_print") -> Source:
    return Source(path, fmt, dialect, lines=120, matched=40, unmatched=0, skipped=80, bytes=9000, clock=clock())


def request(
    number: int,
    start_s: float | None,
    prompt: int = 230,
    pp_tps: float = 2481.26,
    out: int = 256,
    tg_tps: float = 108.7,
) -> Request:
    prompt_ms, eval_ms = prompt / pp_tps * 1000, (out - 1) / tg_tps * 1000
    return Request(
        id=str(number), source="run.log", line=30 + number, start_s=start_s,
        end_s=None if start_s is None else start_s + (prompt_ms + eval_ms) / 1000,
        prompt_tokens=prompt, prompt_ms=prompt_ms, prompt_tps=pp_tps, output_tokens=out, eval_tokens=out - 1,
        eval_ms=eval_ms, eval_tps=tg_tps, ttft_ms=prompt_ms, total_ms=prompt_ms + eval_ms,
        lines={"prompt": 30 + number, "eval": 31 + number, "total": 32 + number},
    )  # fmt: skip


def phases(requests: list[Request], load_s: float) -> list[Phase]:
    out = [Phase("load", 0.0, load_s, None, "run.log")]
    for item in requests:
        if item.start_s is None or item.prompt_ms is None or item.eval_ms is None:
            continue
        split = item.start_s + item.prompt_ms / 1000
        out.append(Phase("reading", item.start_s, split, item.id, "run.log"))
        out.append(Phase("writing", split, split + item.eval_ms / 1000, item.id, "run.log"))
    return out


def halves(requests: list[Request], expected: tuple[float | None, float | None]) -> tuple[HalfFacts, HalfFacts]:
    prompt_ms = sum(r.prompt_ms or 0 for r in requests)
    eval_ms = sum(r.eval_ms or 0 for r in requests)
    tokens = sum(r.prompt_tokens or 0 for r in requests), sum(r.eval_tokens or 0 for r in requests)
    both = prompt_ms + eval_ms
    if both == 0:
        return HalfFacts(), HalfFacts()
    return (
        HalfFacts(prompt_ms / both, tokens[0], prompt_ms, tokens[0] / prompt_ms * 1000, expected[0]),
        HalfFacts(eval_ms / both, tokens[1], eval_ms, tokens[1] / eval_ms * 1000, expected[1]),
    )


def judged(run: Run, verdict: Any, cause: str, **more: Any) -> Run:
    expected = more.pop("expected", (2900.0, 115.0))
    judgement = Judgement(verdict=verdict, cause=cause, **more)
    judgement.reading, judgement.writing = halves(run.requests, expected)
    run.judgement = judgement
    return run


def base_run(requests: list[Request], load_s: float = 1.7, **more: Any) -> Run:
    src = source()
    run = Run(
        id="run.log#1", engine="llama.cpp", version="b11434", backend="CUDA",
        devices=[Device("NVIDIA H200", "CUDA0", 0, "CUDA", 143771.0, 143000.0)],
        setup=Setup(
            n_ctx=8192, n_batch=2048, n_ubatch=512, n_gpu_layers=99, layers_on_gpu=65, layers_total=65, n_threads=32,
            flash_attn="auto", n_predict=256, model_bytes=28_000_000_000, n_params=27_000_000_000,
            command="./llama-completion -m /models/m27.gguf -ngl 99 -c 8192 -f prompts/p220.txt -n 256",
            model_name="Qwen3 27B", quant="Q8_0",
        ),
        memory=[
            Buffer("CUDA0", "model", 26200.0, "run.log", 12), Buffer("CUDA0", "kv", 2048.0, "run.log", 14),
            Buffer("CUDA0", "compute", 495.0, "run.log", 16), Buffer("CUDA_Host", "output", 0.58, "run.log", 15),
        ],
        load_ms=load_s * 1000, requests=requests, phases=phases(requests, load_s), source=src, clock=clock(),
        start_s=0.0, first_line=1, last_line=120,
    )  # fmt: skip
    ends = [r.end_s for r in requests if r.end_s is not None]
    run.end_s = max(ends) if ends else load_s
    run.total_ms = run.end_s * 1000
    for name, value in more.items():
        setattr(run, name, value)
    return run


def gpu_capture(columns: dict[str, Any], t: np.ndarray, devices: int = 1, error_s: float = 0.05) -> Capture:
    """``columns`` hold an array a device, or one array for all of them."""
    parts = []
    for index in range(devices):
        values = {k: (v[index] if isinstance(v, list) else v) for k, v in columns.items()}
        parts.append(pl.DataFrame({"t_s": t, "device": np.full(len(t), index, dtype=np.int32), **values}))
    frame = pl.concat(parts).sort("t_s", maintain_order=True).with_row_index("row")
    src = source("smi.csv", "nvidia_smi_csv", None)
    found = [Device("NVIDIA H200", None, i, "CUDA", 143771.0, None) for i in range(devices)]
    return Capture("gpu", "nvidia_smi_csv", src, frame, devices=found, clock=clock(error_s))


def host_capture(columns: dict[str, np.ndarray], t: np.ndarray, error_s: float = 0.05) -> Capture:
    frame = pl.DataFrame({"t_s": t, **columns}).with_row_index("row")
    return Capture("host", "vmstat", source("vmstat_t.txt", "vmstat", "-t"), frame, clock=clock(error_s))


def wave(t: np.ndarray, on: float, off: float, high: float, low: float = 0.0) -> np.ndarray:
    """``high`` between ``on`` and ``off``, with a little ripple that is the same at every run."""
    ripple = 0.03 * high * np.sin(t * 7.3) * np.cos(t * 2.1)
    return np.where((t >= on) & (t < off), high + ripple, low)


def reported(*runs: Run, overrides: dict[str, Any] | None = None) -> Report:
    sources: list[Source] = []
    for run in runs:
        for item in [run.source, *(c.source for c in run.captures)]:
            if item is not None and item.path not in [s.path for s in sources]:
                sources.append(item)
    return Report.of(Reading(list(runs), sources, grouping="all files are one run"), overrides)


def healthy(with_clock: bool = False) -> Report:
    """A log alone, one request, as fast as the card allows."""
    run = base_run([request(1, 2.47 if with_clock else None)])
    if not with_clock:
        run.phases, run.start_s, run.end_s, run.clock = [], None, None, Clock()
    return reported(
        judged(
            run, "healthy", "as_expected", confidence="high",
            summary="Both halves run as fast as this machine allows: 2481 t/s reading, 109 t/s writing.",
            ruled_out=["host memory in the path (65 of 65 layers on the GPU)", "throttling not seen"],
            missing=[Missing("device memory during the run", "nvidia-smi --query-gpu=timestamp,index,memory.used,"
                             "memory.total,utilization.gpu --format=csv -lms 500 > smi.csv")],
            findings=[Finding("as_expected", "healthy", "clear", 0.95, "share", 0.7, None, "writing at 95 % of expected",
                              [Evidence("run.log", 31, "eval time = 2345.94 ms / 255 runs")])],
        )
    )  # fmt: skip


def partial_offload() -> Report:
    """A log alone, 20 of 65 layers on the card."""
    run = base_run([request(1, 4.2, pp_tps=310.0, tg_tps=5.81, out=64)], load_s=4.0)
    run.setup.layers_on_gpu, run.setup.n_gpu_layers = 20, 20
    run.memory = [
        Buffer("CPU_Mapped", "model", 18100.0, "run.log", 11), Buffer("CUDA0", "model", 8100.0, "run.log", 12),
        Buffer("CPU", "kv", 1418.0, "run.log", 13), Buffer("CUDA0", "kv", 630.0, "run.log", 14),
    ]  # fmt: skip
    return reported(
        judged(
            run, "swapping", "partial_offload", confidence="high", lost_s=10.3, expected=(2900.0, 108.0),
            summary="20 of 65 layers are on the GPU; the other 45 run from host memory, which sets the pace of writing.",
            next_step="Put all layers on the card: -ngl 99 (26.2 GiB of weights fit in 139 GiB free).",
            ruled_out=["throttling not seen", "long context (230 tokens)"],
            missing=[Missing("host paging", "vmstat -t 1 > vmstat_t.txt")],
            findings=[
                Finding("partial_offload", "swapping", "critical", 20.0, "layers", 65.0, 10.3,
                        "20 of 65 layers on the GPU", [Evidence("run.log", 9, "offloaded 20/65 layers to GPU"),
                        Evidence("run.log", 11, "CPU_Mapped model buffer size = 18100.00 MiB")]),
                Finding("decode_below_hardware", "slow writing", "warning", 5.81, "tps", 86.0, 10.0,
                        "writing at 5.81 t/s", [Evidence("run.log", 32, "eval time = 10843 ms / 63 runs")]),
            ],
        )
    )  # fmt: skip


def all_captures(error_s: float = 0.05) -> Report:
    """One request with telemetry of one card and the host, healthy."""
    run = base_run([request(1, 2.47, prompt=6000, pp_tps=2900.0)])
    t = np.arange(-2.0, 9.0, 0.25)
    end = run.end_s or 0.0
    run.captures = [
        gpu_capture(
            {
                "vram_used_mib": np.clip((t + 0.4) * 14000, 0, 29300) * (t < end + 0.4),
                "vram_total_mib": np.full(len(t), 143771.0), "gpu_util_pct": wave(t, 2.4, end, 92.0, 2.0),
                "power_w": wave(t, 2.4, end, 520.0, 81.0), "power_limit_w": np.full(len(t), 700.0),
                "pcie_rx_mb_s": wave(t, 0.3, 2.2, 12000.0, 4.0),
            }, t, error_s=error_s,
        ),
        host_capture(
            {"cpu_user_pct": wave(t, 0.0, end, 9.0, 1.0), "cpu_system_pct": wave(t, 0.0, 2.3, 14.0, 1.0),
             "cpu_wait_pct": wave(t, 0.2, 1.5, 6.0), "swap_in_kib_s": np.zeros(len(t)), "swap_out_kib_s": np.zeros(len(t)),
             "block_in_kib_s": wave(t, 0.0, 2.0, 2_000_000.0)}, np.round(t), error_s=error_s,
        ),
    ]  # fmt: skip
    return reported(
        judged(
            run,
            "healthy",
            "as_expected",
            confidence="high",
            summary="Both halves run as fast as this machine allows.",
            telemetry={"vram_peak_mib": 29300.0, "vram_total_mib": 143771.0, "vram_peak_pct": 20.4},
        )
    )


def two_gpus() -> Report:
    """A model split over two cards."""
    requests = [request(n, 2.5 + 3.0 * (n - 1)) for n in range(1, 4)]
    run = base_run(requests)
    run.devices.append(Device("NVIDIA H200", "CUDA1", 1, "CUDA", 143771.0, 143000.0))
    t = np.arange(-1.0, 13.0, 0.2)
    ends = [(r.start_s or 0.0, r.end_s or 0.0) for r in requests]
    busy = np.array([float(any(a <= x < b for a, b in ends)) for x in t])
    run.captures = [
        gpu_capture(
            {"vram_used_mib": [np.clip(t * 9000, 0, 15200), np.clip((t - 0.3) * 9000, 0, 13800)],
             "vram_total_mib": np.full(len(t), 143771.0), "gpu_util_pct": [busy * 55 + 1, busy * 48],
             "power_w": [busy * 240 + 80, busy * 215 + 80]}, t, devices=2,
        )
    ]  # fmt: skip
    return reported(
        judged(run, "healthy", "as_expected", confidence="medium", summary="Layers split over two GPUs, rates normal.")
    )


def many_requests(n: int = 10_000, slots: int = 4) -> Report:
    """A server's day: ``n`` requests on ``slots`` slots, two of every hundred very slow."""
    requests = []
    free = [3.0] * slots
    for i in range(n):
        slot = i % slots
        slow = 0.2 if i % 100 in (50, 51) else 1.0
        item = request(
            i + 1, free[slot] + 0.3 * ((i * 7) % 5), prompt=200 + (i * 37) % 3000, out=20 + (i * 13) % 300,
            pp_tps=2400 + 400 * math.sin(i / 300), tg_tps=(70 + 20 * math.sin(i / 900)) * slow,
        )  # fmt: skip
        item.slot = slot
        free[slot] = item.end_s or 0.0
        requests.append(item)
    run = base_run(requests)
    run.setup.n_parallel = slots
    t = np.arange(-5.0, max(free) + 5.0, 1.0)
    run.captures = [
        gpu_capture(
            {"vram_used_mib": np.clip((t + 1) * 9000, 0, 31000), "vram_total_mib": np.full(len(t), 143771.0),
             "gpu_util_pct": 80 + 15 * np.sin(t / 37.0), "power_w": 480 + 60 * np.sin(t / 53.0)}, t,
        )
    ]  # fmt: skip
    return reported(
        judged(
            run, "slow writing", "contention", confidence="medium", lost_s=950.0,
            summary="Two of every hundred requests write at a fifth of the usual rate.",
            next_step="Find what else uses the card at those times: nvidia-smi pmon.",
        )
    )  # fmt: skip


def oom_at_load() -> Report:
    """The card is held by another process; the weights do not fit."""
    run = base_run([], load_s=0.6)
    run.memory = [Buffer("CUDA0", "model", 26200.0, "run.log", 12)]
    run.phases = [Phase("load", 0.0, 0.62, None, "run.log")]
    run.end_s, run.exit_status = 0.62, 1
    text = "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 26200.00 MiB on device 0: cudaMalloc failed: out of memory"
    run.events = [
        Event("alloc_failed", text, "run.log", 17, 0.55, {"device": "CUDA0", "mib": 26200.0, "host": False}),
        Event("load_failed", "llama_model_load: error loading model", "run.log", 18, 0.56),
    ]
    t = np.arange(-3.0, 4.0, 0.25)
    run.captures = [
        gpu_capture({"vram_used_mib": np.full(len(t), 131000.0) + 600 * ((t > 0.2) & (t < 0.7)),
                     "vram_total_mib": np.full(len(t), 143771.0), "gpu_util_pct": np.zeros(len(t))}, t)
    ]  # fmt: skip
    return reported(
        judged(
            run, "swapping", "device_oom", confidence="high",
            summary="Loading failed: 25.6 GiB asked for on a card with 12.5 GiB free.",
            next_step="Free the card first: another process holds 128 GiB (nvidia-smi --query-compute-apps=pid,used_memory "
            "--format=csv).",
            marks=[(T0 + 0.5, T0 + 0.62, "allocation failed")],
            findings=[Finding("device_oom", "swapping", "critical", 26200.0, "mib", 12771.0, None,
                              "allocation of 25.6 GiB failed", [Evidence("run.log", 17, text)])],
        )
    )  # fmt: skip


def swapping() -> Report:
    """Host memory limit under the model: vmstat shows swap traffic while writing crawls."""
    run = base_run([request(1, 9.0, pp_tps=95.0, tg_tps=1.9, out=40)], load_s=8.5)
    run.setup.layers_on_gpu = 0
    t = np.arange(-3.0, 36.0, 1.0)
    end = run.end_s or 0.0
    run.captures = [
        host_capture(
            {"cpu_user_pct": wave(t, 9, end, 34.0, 1.0), "cpu_system_pct": wave(t, 1, end, 22.0, 1.0),
             "cpu_wait_pct": wave(t, 2, end, 28.0, 0.0), "swap_in_kib_s": wave(t, 9, end, 1_450_000.0),
             "swap_out_kib_s": wave(t, 5, end, 610_000.0), "block_in_kib_s": wave(t, 0, end, 1_600_000.0)}, t, error_s=1.0,
        )
    ]  # fmt: skip
    return reported(
        judged(
            run, "swapping", "host_paging", confidence="high", lost_s=18.0, expected=(180.0, 11.0),
            summary="The host swaps while the model writes: 1.4 GiB/s read back from swap.",
            next_step="Use a smaller quantisation, or stop the other program that holds the memory.",
            marks=[(T0 + 9.0, T0 + end, "1.4 GiB/s from swap while writing at 1.9 t/s")],
        )
    )  # fmt: skip


def contention() -> Report:
    """Another process takes the card in the middle of one answer."""
    item = request(1, 2.0, out=1024, tg_tps=88.0)
    start = (item.start_s or 0.0) + (item.prompt_ms or 0.0) / 1000
    for i in range(1, 5):
        window = 298.0 if i == 1 else 44.0
        item.samples.append(RateSample("writing", start + 3.0 * i, 250 * i, None, window, None, "run.log", 40 + i))
    run = base_run([item])
    t = np.arange(-1.0, 16.0, 0.25)
    run.captures = [
        gpu_capture({"vram_used_mib": np.clip(t * 9000, 0, 9800) + 21000 * (t > 5), "gpu_util_pct": wave(t, 2, 14, 97.0, 0.0),
                     "vram_total_mib": np.full(len(t), 143771.0), "power_w": wave(t, 2, 14, 640, 80)}, t)
    ]  # fmt: skip
    return reported(
        judged(
            run,
            "slow writing",
            "contention",
            confidence="high",
            lost_s=8.1,
            expected=(9000.0, 300.0),
            summary="Writing falls from 298 to 44 t/s inside one answer when another process starts on the card.",
            next_step="Stop the other process on the card: nvidia-smi pmon -c 1.",
            marks=[(T0 + 5.0, T0 + 13.6, "another process on the card: 298 → 44 t/s")],
        )
    )


def poisoned(evil: str) -> Report:
    """A judged run whose every text from outside is ``evil``."""
    report = partial_offload()
    run = report.runs[0]
    run.id, run.engine, run.version, run.backend = f"{evil}#1", evil, evil, evil
    run.devices[0].name = evil
    run.setup.model_name, run.setup.command, run.setup.tensor_overrides = evil, evil, [evil]
    run.memory.append(Buffer(evil, "model", 1.0, evil, 3))
    run.requests[0].id = run.requests[0].source = evil
    assert run.judgement is not None
    assert run.source is not None
    judgement = run.judgement
    judgement.summary, judgement.next_step, judgement.ruled_out = f"about {evil}", f"try {evil}", [evil]
    judgement.missing = [Missing(evil, f"record {evil}")]
    for finding in judgement.findings:
        finding.text = f"{evil} found"
        finding.evidence = [Evidence(evil, 3, evil), *finding.evidence]
    run.events.append(Event("error", evil, "run.log", 3, 0.5))
    judgement.marks = [(T0 + 4.5, T0 + 6.0, evil)]
    run.source.notes, run.source.clock.anchor, run.source.clock.zone = [evil], evil, evil
    run.source.dialect = evil
    return reported(run, overrides={"limit": evil})

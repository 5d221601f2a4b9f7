"""Hand-built runs for the tests of physics, findings and verdict: an 8B on an RTX 3090 that works as it should."""

from __future__ import annotations

from typing import Any

from loganalyze.model.records import (
    Buffer,
    Capture,
    Clock,
    Device,
    Event,
    Phase,
    RateSample,
    Request,
    Run,
    Setup,
    Source,
)

LOG = "run.log"
TOTAL_MIB = 24124.0
ZERO = 1_700_000_000.0


def request(
    number: int = 1, prompt: int | None = 512, pp: float | None = 4000.0, out: int | None = 256,
    tg: float | None = 110.0, start: float | None = None, **more: Any,
) -> Request:  # fmt: skip
    """One request; rates in t/s. None leaves the half unknown."""
    prompt_ms = prompt / pp * 1000 if prompt and pp else None
    eval_ms = (out - 1) / tg * 1000 if out and tg else None
    made = Request(
        str(number), LOG, 40 + 10 * number, prompt_tokens=prompt, prompt_ms=prompt_ms, prompt_tps=pp, output_tokens=out,
        eval_tokens=None if out is None else out - 1, eval_ms=eval_ms, eval_tps=tg, ttft_ms=prompt_ms,
        total_ms=(prompt_ms or 0) + (eval_ms or 0) or None,
        lines={"prompt": 41 + 10 * number, "eval": 42 + 10 * number},
    )  # fmt: skip
    if start is not None:
        made.start_s, made.end_s = start, start + (made.total_ms or 0) / 1000
    for name, value in more.items():
        setattr(made, name, value)
    return made


def samples(rates: list[float], seconds: float = 3.0) -> list[RateSample]:
    """Windows of ``seconds`` each at ``rates``, with running figures."""
    out, tokens, spent = [], 0.0, 0.0
    for index, rate in enumerate(rates):
        tokens, spent = tokens + rate * seconds, spent + seconds
        out.append(RateSample("writing", spent, int(tokens), tokens / spent, rate, None, LOG, 20 + index))
    return out


def event(kind: str, text: str = "", line: int = 10, **data: Any) -> Event:
    """An event of the log."""
    return Event(kind, text or kind, LOG, line, data=data)


def run(requests: list[Request] | None = None, **more: Any) -> Run:
    """A Llama-3 8B Q4_K_M with all 33 layers on an RTX 3090; ``setup_*`` keywords go to the setup."""
    setup = Setup(
        n_ctx=8192, n_batch=2048, n_ubatch=512, n_gpu_layers=99, layers_on_gpu=33, layers_total=33, n_threads=8,
        n_threads_total=16, model_bytes=4_920_000_000, n_params=8_030_000_000, model_name="Llama 3 8B", n_layer=32,
        quant="Q4_K_M", n_embd_k_gqa=1024, n_embd_v_gqa=1024,
    )  # fmt: skip
    made = Run(
        id=f"{LOG}#1", engine="llama.cpp", version="b6173", backend="CUDA",
        devices=[Device("NVIDIA GeForce RTX 3090", "CUDA0", 0, "CUDA", TOTAL_MIB, 23500.0)], setup=setup,
        memory=[
            Buffer("CPU_Mapped", "model", 281.8, LOG, 11), Buffer("CUDA0", "model", 4403.5, LOG, 12),
            Buffer("CUDA0", "kv", 1024.0, LOG, 13), Buffer("CUDA0", "compute", 560.0, LOG, 14),
        ],
        load_ms=1500.0, requests=[request()] if requests is None else requests, source=Source(LOG, "llama_cpp"),
        clock=Clock("relative", offset_s=ZERO, error_s=0.1), start_s=0.0,
        fact_lines={"layers_on_gpu": 10, "n_ubatch": 9},
    )  # fmt: skip
    for name, value in more.items():
        if name.startswith("setup_"):
            setattr(setup, name.removeprefix("setup_"), value)
        else:
            setattr(made, name, value)
    placed(made)
    return made


def bare(requests: list[Request] | None = None, **more: Any) -> Run:
    """The same run in a default log since 2026-05: no card, no placement, no size."""
    more.setdefault("devices", [])
    more.setdefault("memory", [])
    setup = {"setup_" + n: None for n in ("layers_on_gpu", "layers_total", "model_bytes", "n_params", "model_name",
             "n_layer", "quant", "n_embd_k_gqa", "n_embd_v_gqa", "n_gpu_layers")}  # fmt: skip
    return run(requests, **{**setup, **more})


def placed(made: Run) -> None:
    """Phases and the end of a run whose single request starts after the load."""
    load = (made.load_ms or 0.0) / 1000
    if len(made.requests) == 1 and made.requests[0].start_s is None and made.requests[0].total_ms:
        made.requests[0].start_s, made.requests[0].end_s = load, load + made.requests[0].total_ms / 1000
    for item in made.requests:
        if item.start_s is None or item.prompt_ms is None or item.eval_ms is None:
            continue
        split = item.start_s + item.prompt_ms / 1000
        made.phases += [
            Phase("reading", item.start_s, split, item.id),
            Phase("writing", split, split + item.eval_ms / 1000),
        ]
    ends = [r.end_s for r in made.requests if r.end_s is not None]
    made.end_s = max(ends, default=load)


def gpu(
    used: float = 6400.0, util: float = 95.0, mem: float = 60.0, base: float = 10.0, total: float = TOTAL_MIB,
    seconds: int = 40, clock: bool = True, name: str = "NVIDIA GeForce RTX 3090", **columns: Any,
) -> Capture:  # fmt: skip
    """A device capture: ``base`` MiB for two seconds before the run and one after it, ``used`` in between."""
    import polars as pl

    n = seconds + 3
    on = [2 <= i < n - 1 for i in range(n)]
    data: dict[str, Any] = {
        "t_s": [float(i - 2) if clock else None for i in range(n)], "row": list(range(n)), "device": [0] * n,
        "vram_used_mib": [used if x else base for x in on], "vram_total_mib": [total] * n,
        "gpu_util_pct": [util if x else 0.0 for x in on], "mem_util_pct": [mem if x else 0.0 for x in on],
    }  # fmt: skip
    for key, value in columns.items():
        data[key] = value if isinstance(value, list) else [value if x else 0.0 for x in on]
    frame = pl.DataFrame(data, schema_overrides={"t_s": pl.Float64, "row": pl.UInt32, "device": pl.Int32})
    device = Device(name, index=0, backend="CUDA", total_mib=total)
    stamp = Clock("absolute", offset_s=ZERO, error_s=0.1) if clock else Clock()
    return Capture("gpu", "nvidia_smi_csv", Source("smi.csv"), frame, devices=[device], clock=stamp)


def host(seconds: int = 40, clock: bool = True, boot: dict[str, float] | None = None, **columns: float) -> Capture:
    """A host capture in the shape of vmstat: quiet unless ``columns`` say otherwise; ``boot`` fills the first row."""
    import polars as pl

    base = {"swap_in_kib_s": 0.0, "swap_out_kib_s": 0.0, "block_in_kib_s": 0.0, "cpu_user_pct": 7.0,
            "cpu_system_pct": 1.0, "cpu_wait_pct": 0.0, "procs_blocked": 0.0}  # fmt: skip
    base.update(columns)
    n = seconds + 1
    data: dict[str, Any] = {"t_s": [float(i - 1) if clock else None for i in range(n)], "row": list(range(n))}
    for key, value in base.items():
        data[key] = [(boot or {}).get(key, 0.0), *([value] * (n - 1))]
    frame = pl.DataFrame(data, schema_overrides={"t_s": pl.Float64, "row": pl.UInt32})
    stamp = Clock("absolute", offset_s=ZERO, error_s=0.5) if clock else Clock()
    return Capture("host", "vmstat", Source("vmstat.txt"), frame, clock=stamp, first_row_since_boot=True)


def timed(wall: float, user: float, **facts: Any) -> Capture:
    """A ``time`` capture."""
    return Capture("time", "time", Source("time.txt"), facts={"wall_s": wall, "user_s": user, "sys_s": 0.5, **facts})

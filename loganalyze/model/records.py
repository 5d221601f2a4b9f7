"""Typed records that every room shares.

Readers fill them, the timeline places them on one axis, findings read them, reports print them.
Every record keeps the source and line it came from. ``None`` means unknown and is never replaced by 0.

Units stand in the field names (``_ms``, ``_s``, ``_mib``, ``_tps``, ``_w``, ``_pct``). Times called ``t_s`` count
seconds from the zero of their own source; ``Clock.offset_s`` of that source moves them to the common axis.
"""

from __future__ import annotations

from loganalyze.light import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    import pandas as pd
    import polars as pl

    Verdict = Literal["swapping", "slow reading", "slow writing", "healthy", "inconclusive"]
    Confidence = Literal["high", "medium", "low"]
    State = Literal["critical", "warning", "clear", "cant_tell"]
    Half = Literal["reading", "writing"]
    MemoryKind = Literal["model", "kv", "compute", "output"]
    ClockKind = Literal["absolute", "relative", "interval", "none"]
    PhaseKind = Literal["load", "reading", "writing", "idle"]
    CaptureKind = Literal["gpu", "gpu_process", "host", "host_process", "time"]
else:
    # Names for annotations alone; the typing module costs a fifth of a start of Python.
    Verdict = Confidence = State = Half = MemoryKind = ClockKind = PhaseKind = CaptureKind = str


@dataclass(slots=True)
class Clock:
    """How a source tells time.

    ``kind`` absolute: its stamps are dates; relative: seconds since a start; interval: row number x ``interval_s``;
    none: no time at all. ``zone`` is an offset or name (``"+02:00"``, ``"UTC"``) or None when unmarked.
    ``anchor`` says in words what placed it (``"zone in stamp"``, ``"signal: memory step"``, ``"file time"``, ...).
    ``offset_s`` is epoch seconds of the source's zero, or seconds on the common axis where no source has wall time.
    ``error_s`` bounds the error of ``offset_s``. ``notes`` tells jumps, drift and refusals in words.
    """

    kind: ClockKind = "none"
    zone: str | None = None
    anchor: str | None = None
    offset_s: float | None = None
    error_s: float | None = None
    interval_s: float | None = None
    first_epoch_s: float | None = None
    """Epoch of the zero when the source itself says so; read as UTC when ``zone`` is None."""
    resolution_s: float | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Source:
    """One input file, stream or archive member, and what was made of it.

    ``lines == matched + unmatched + skipped`` always holds: skipped lines hold no literal of any rule, unmatched
    lines hold one but no rule took them. ``unread`` keeps at most 50 ``(line, text)`` of the unmatched.
    """

    path: str
    format: str | None = None
    dialect: str | None = None
    lines: int = 0
    matched: int = 0
    unmatched: int = 0
    skipped: int = 0
    bytes: int = 0
    encoding: str | None = None
    wrapper: str | None = None
    mtime_s: float | None = None
    rule_hits: dict[str, int] = field(default_factory=dict)
    unread: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)


@dataclass(slots=True)
class Device:
    """A compute device as printed: ``id`` is the backend's (``CUDA0``), ``index`` its number, ``uma`` shared memory."""

    name: str | None
    id: str | None = None
    index: int | None = None
    backend: str | None = None
    total_mib: float | None = None
    free_mib: float | None = None
    uma: bool | None = None
    source: str | None = None
    line: int | None = None


@dataclass(slots=True)
class Buffer:
    """One planned or allocated buffer. ``device`` as printed (``CUDA0``, ``CPU_Mapped``, ``CUDA_Host``, ``Metal``)."""

    device: str
    kind: MemoryKind
    mib: float
    source: str
    line: int
    detail: str | None = None


@dataclass(slots=True)
class Setup:
    """Settings of a run, from its log and command line. Fields up to ``command`` are part of the JSON contract."""

    n_ctx: int | None = None
    n_batch: int | None = None
    n_ubatch: int | None = None
    n_parallel: int | None = None
    n_gpu_layers: int | None = None
    layers_on_gpu: int | None = None
    layers_total: int | None = None
    n_threads: int | None = None
    flash_attn: str | None = None
    n_predict: int | None = None
    model_bytes: int | None = None
    n_params: int | None = None
    command: str | None = None
    # not in the JSON
    flags: dict[str, str] = field(default_factory=dict)
    """Long or short option as typed without dashes -> value (``""`` for a bare flag), from ``command``."""
    env: dict[str, str] = field(default_factory=dict)
    model_name: str | None = None
    model_path: str | None = None
    arch: str | None = None
    quant: str | None = None
    bpw: float | None = None
    n_layer: int | None = None
    n_head_kv: int | None = None
    n_embd: int | None = None
    n_embd_k_gqa: int | None = None
    n_embd_v_gqa: int | None = None
    n_swa: int | None = None
    n_expert: int | None = None
    n_expert_used: int | None = None
    n_vocab: int | None = None
    n_ctx_train: int | None = None
    n_ctx_slot: int | None = None
    n_threads_total: int | None = None
    type_k: str | None = None
    type_v: str | None = None
    kv_offload: bool | None = None
    mmap: bool | None = None
    split_mode: str | None = None
    tensor_overrides: list[str] = field(default_factory=list)
    draft_model: str | None = None
    temperature: float | None = None
    streaming: bool | None = None


@dataclass(slots=True)
class RateSample:
    """A progress or rate line inside a request.

    ``tokens`` counts from the request's start, ``tps`` is the rate since its start, ``window_tps`` the last window's.
    """

    half: Half
    t_s: float | None
    tokens: int | None
    tps: float | None
    window_tps: float | None
    progress: float | None
    source: str
    line: int


@dataclass(slots=True)
class Request:
    """One answered (or aborted) request. ``prompt_tokens`` are the tokens computed; cached ones are apart.

    ``output_tokens`` are generated tokens. A rate is None when it is not one: cached prompt, inf, nan, 1 token.
    ``eval_tokens`` is the count that ``eval_ms`` covers (``runs`` of CLI logs: generated - 1).
    ``complete`` is False when the log ends or the client leaves before the closing lines.
    """

    id: str
    source: str
    line: int
    start_s: float | None = None
    end_s: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    prompt_ms: float | None = None
    prompt_tps: float | None = None
    output_tokens: int | None = None
    eval_tokens: int | None = None
    eval_ms: float | None = None
    eval_tps: float | None = None
    ttft_ms: float | None = None
    total_ms: float | None = None
    sampling_ms: float | None = None
    unaccounted_ms: float | None = None
    graphs_reused: int | None = None
    draft_tokens: int | None = None
    draft_accepted: int | None = None
    slot: int | None = None
    task: int | None = None
    truncated: bool | None = None
    complete: bool = True
    end_to_end_tps: bool = False
    """True when ``eval_tps`` covers the prompt too (text-generation-webui and the like): never judged as writing."""
    n_ctx_used: int | None = None
    lines: dict[str, int] = field(default_factory=dict)
    """Line of each figure: ``{"prompt": 31, "eval": 32, "total": 33}``."""
    samples: list[RateSample] = field(default_factory=list)


@dataclass(slots=True)
class Event:
    """Something the log says happened. ``kind`` is one of ``EVENT_KINDS``; ``data`` holds its numbers."""

    kind: str
    text: str
    source: str
    line: int
    t_s: float | None = None
    data: dict[str, Any] = field(default_factory=dict)


EVENT_KINDS = (
    "alloc_failed",  # data: device, mib, host(bool), recovered(bool)
    "alloc_retry",
    "load_failed",
    "killed",  # shell "Killed", data: signal
    "kernel_oom",  # kernel log; data: process, rss_mib
    "exit",  # data: status
    "no_gpu",  # GPU asked for or built in, none usable
    "gpu_ignored",  # built without GPU support, the option is ignored
    "tensor_override",  # data: pattern, buffer
    "fit",  # data: changed(bool), text of the decision
    "host_weights",  # a line of another engine that says weights are on the host; data: share_pct, mib
    "mlock_failed",
    "mmap_off",
    "pinned_failed",
    "working_set",  # Apple working-set warning
    "flash_attn_off",
    "buffer_fallback",
    "kv_full",
    "preempted",  # vLLM preemption, SGLang retraction; data: n
    "queue",  # requests waiting; data: running, waiting, usage_pct
    "throughput",  # engine interval line; data: prompt_tps, gen_tps, running, waiting, kv_usage_pct
    "context_shift",
    "context_full",
    "truncated",
    "cache_reuse",  # data: tokens
    "reprocess",  # forced full prompt re-processing; data: tokens
    "evicted",  # model unloaded/evicted for another
    "cancelled",
    "sleep",
    "slow_hint",
    "phase",  # progress of a stage; data: stage, seconds
    "error",
    "warning",
)


@dataclass(slots=True)
class Phase:
    """A stretch of a run on its source's clock."""

    kind: PhaseKind
    start_s: float
    end_s: float
    request: str | None = None
    source: str | None = None


@dataclass(slots=True)
class Capture:
    """Telemetry read from one segment of one source.

    ``frame`` is wide: ``t_s`` (Float64, null when the rows carry no clock), ``row`` (UInt32, 0-based tick),
    ``line`` (UInt32), ``device`` (Int32 GPU index, absent for host kinds) and metric columns named in ``METRICS``.
    Missing is null, never 0. ``facts`` holds scalars (``time`` captures: ``wall_s, user_s, sys_s, max_rss_mib,
    major_faults, minor_faults, exit_status, signal``; memory totals). ``first_row_since_boot`` marks vmstat-like tools.
    """

    kind: CaptureKind
    format: str
    source: Source
    frame: pl.DataFrame | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    fact_lines: dict[str, int] = field(default_factory=dict)
    devices: list[Device] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    dialect: str | None = None
    segment: int = 0
    first_row_since_boot: bool = False
    notes: list[str] = field(default_factory=list)


METRICS: dict[str, str] = {
    "vram_used_mib": "device memory in use, all processes",
    "vram_total_mib": "device memory",
    "vram_free_mib": "device memory free",
    "vram_reserved_mib": "device memory the driver keeps",
    "shared_used_mib": "host memory used as device memory (Windows)",
    "gpu_util_pct": "share of the sample window in which a kernel ran",
    "mem_util_pct": "share of the sample window in which device memory was read or written",
    "power_w": "board power",
    "power_limit_w": "power limit in force",
    "temp_c": "core temperature",
    "temp_mem_c": "memory temperature",
    "sm_mhz": "SM / core clock",
    "sm_max_mhz": "highest SM clock",
    "mem_mhz": "memory clock",
    "pcie_rx_mb_s": "PCIe traffic host to device",
    "pcie_tx_mb_s": "PCIe traffic device to host",
    "pcie_gen": "PCIe generation in use",
    "pcie_width": "PCIe lanes in use",
    "power_violation_pct": "share of time held back by the power limit",
    "thermal_violation": "1 while held back by temperature",
    "throttle_mask": "clocks event reasons bit mask",
    "throttle_power": "1 while the power cap holds the clock",
    "throttle_thermal": "1 while temperature holds the clock",
    "throttle_hw": "1 while a hardware slowdown holds the clock",
    "fan_pct": "fan",
    "pid": "process id",
    "process": "process name",
    "procs_running": "runnable processes",
    "procs_blocked": "processes waiting for I/O",
    "swap_used_mib": "swap in use",
    "swap_total_mib": "swap space",
    "swap_free_mib": "swap free",
    "swap_in_kib_s": "read from swap",
    "swap_out_kib_s": "written to swap",
    "block_in_kib_s": "read from block devices",
    "block_out_kib_s": "written to block devices",
    "ram_total_mib": "host memory",
    "ram_used_mib": "host memory in use",
    "ram_free_mib": "host memory free",
    "ram_available_mib": "host memory available",
    "ram_cache_mib": "page cache and buffers",
    "interrupts_s": "interrupts per second",
    "context_switches_s": "context switches per second",
    "cpu_user_pct": "CPU user",
    "cpu_system_pct": "CPU system",
    "cpu_idle_pct": "CPU idle",
    "cpu_wait_pct": "CPU waiting for I/O",
    "cpu_steal_pct": "CPU stolen",
    "major_faults_s": "major page faults per second",
    "process_rss_mib": "resident memory of a process",
    "process_cpu_pct": "CPU of a process",
}


@dataclass(slots=True)
class Evidence:
    """A line, or a time range of a capture, that proves a statement. ``line`` is 1-based."""

    source: str
    line: int | None
    text: str
    t0_s: float | None = None
    t1_s: float | None = None
    """Range on the common axis, for evidence drawn from telemetry."""


@dataclass(slots=True)
class Finding:
    """The answer of one cause module. See ``loganalyze.findings``."""

    cause: str
    verdict: Verdict
    state: State
    value: float | None = None
    unit: str | None = None
    threshold: float | None = None
    explains_s: float | None = None
    text: str = ""
    evidence: list[Evidence] = field(default_factory=list)
    margin: float | None = None
    confidence: Confidence = "medium"
    next_step: str | None = None
    record: str | None = None
    """For ``cant_tell``: a command to paste that would decide it."""
    gain: str | None = None
    """What fixing it would give, in words (``about 38 t/s if all layers fit``)."""


@dataclass(slots=True)
class HalfFacts:
    """Reading or writing of a run: ``share`` of request time (0..1), totals, and the expected rate."""

    share: float | None = None
    tokens: int | None = None
    ms: float | None = None
    tps: float | None = None
    expected_tps: float | None = None


@dataclass(slots=True)
class Missing:
    """Something the verdict could not see, and the command that would record it."""

    what: str
    record: str


@dataclass(slots=True)
class Judgement:
    """What the verdict room adds to a run."""

    verdict: Verdict = "inconclusive"
    cause: str = "no_timings"
    confidence: Confidence = "low"
    summary: str = ""
    next_step: str | None = None
    missing: list[Missing] = field(default_factory=list)
    ruled_out: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    reading: HalfFacts = field(default_factory=HalfFacts)
    writing: HalfFacts = field(default_factory=HalfFacts)
    telemetry: dict[str, float | None] = field(default_factory=dict)
    lost_s: float | None = None
    marks: list[tuple[float, float, str]] = field(default_factory=list)
    """Ranges on the common axis that carry the verdict, labelled in words."""


@dataclass(slots=True)
class Run:
    """One process (or one engine start) with everything known about it."""

    id: str
    engine: str | None = None
    version: str | None = None
    backend: str | None = None
    devices: list[Device] = field(default_factory=list)
    setup: Setup = field(default_factory=Setup)
    memory: list[Buffer] = field(default_factory=list)
    load_ms: float | None = None
    total_ms: float | None = None
    requests: list[Request] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    source: Source | None = None
    clock: Clock = field(default_factory=Clock)
    """Clock of the run's own times: a log with several starts has one zero a run."""
    first_line: int | None = None
    last_line: int | None = None
    start_s: float | None = None
    end_s: float | None = None
    """First and last stamp of the run on its source's clock."""
    exit_status: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """Single figures without a field of their own; name -> value, documented where they are set."""
    fact_lines: dict[str, int] = field(default_factory=dict)
    judgement: Judgement | None = None

    def frame(self, step_s: float | None = None) -> pd.DataFrame:
        """The run's telemetry, phases and requests resampled to one step, on a UTC ``DatetimeIndex`` (pandas)."""
        from loganalyze.timeline.table import frame

        return frame(self, step_s)


@dataclass(slots=True)
class Reading:
    """All that was read: runs in input order, and every source, used or not. ``grouping`` says the rule applied."""

    runs: list[Run] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    """Captures that could not be joined to a run."""
    grouping: str = ""

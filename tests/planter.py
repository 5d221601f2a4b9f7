"""Synthetic runs with a planted cause: cause x machine x kind of log x telemetry, and the same without the cause.

A machine gives the rates of a healthy run from the physics, so that no rate here is tuned by hand. ``Mix`` says what a
user would have at hand: ``full`` logs name card, buffers and sizes, ``default`` logs (since 2026-05) nothing but the
command; captures may be absent, or carry no clock. A plant lists what it needs to be seen at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from builders import event, gpu, host, request, samples, timed
from builders import placed as lay_out

from loganalyze.model.records import Buffer, Clock, Device, Event, Request, Run, Setup, Source
from loganalyze.physics import roofline, weights
from loganalyze.physics.gpu import recognise

LOG = "run.log"


@dataclass(frozen=True)
class Machine:
    """A card with a model that fits it."""

    card: str
    total_mib: float
    backend: str
    model: str
    layers: int
    size_mib: float

    def rates(self) -> tuple[float, float]:
        """Reading and writing rate of a healthy run."""
        found = recognise(self.card, self.total_mib)
        assert found is not None
        model = weights.estimate(name=self.model, model_bytes=int(self.size_mib * weights.MIB), n_layer=self.layers)
        assert model is not None
        machine = roofline.Machine(self.backend, (found,))
        decode, prefill = roofline.decode(model, machine), roofline.prefill(model, machine)
        assert decode is not None
        assert prefill is not None
        return min(prefill.tps, decode.tps * 60) * 0.9, decode.tps * 0.92


MACHINES = (
    Machine("NVIDIA GeForce RTX 3090", 24124, "CUDA", "Llama-3-8B-Q4_K_M.gguf", 32, 4692),
    Machine("NVIDIA GeForce RTX 4060 Ti", 16379, "CUDA", "Qwen2.5-14B-Q4_K_M.gguf", 48, 8571),
    Machine("NVIDIA H200", 143771, "CUDA", "Llama-3-70B-Q4_K_M.gguf", 80, 40543),
    Machine("AMD Radeon RX 7900 XTX", 24560, "ROCm", "Qwen2.5-32B-Q4_K_M.gguf", 64, 18926),
    Machine("AMD Radeon RX 9070 XT", 16304, "Vulkan", "Mistral-7B-Q4_K_M.gguf", 32, 4170),
    Machine("NVIDIA L4", 23034, "CUDA", "Qwen2.5-14B-Q4_K_M.gguf", 48, 8571),
    Machine("NVIDIA A100-SXM4-80GB", 81152, "CUDA", "Llama-3-70B-Q4_K_M.gguf", 80, 40543),
    Machine("Intel(R) Arc(TM) B580 Graphics", 11605, "SYCL", "Llama-3-8B-Q4_K_M.gguf", 32, 4692),
)


@dataclass(frozen=True)
class Mix:
    """What is at hand."""

    machine: Machine
    full: bool
    telemetry: frozenset[str]
    clock: bool

    @property
    def name(self) -> str:
        kinds = "+".join(sorted(self.telemetry)) or "log only"
        log = "full" if self.full else "default"
        return f"{self.machine.card} {log} {kinds}{'' if self.clock else ' no clock'}"


TELEMETRY = (frozenset[str](), frozenset({"gpu"}), frozenset({"host"}), frozenset({"gpu", "host"}),
             frozenset({"gpu", "host", "time"}))  # fmt: skip


def mixes() -> Iterator[Mix]:
    for machine in MACHINES:
        for full in (True, False):
            for telemetry in TELEMETRY:
                yield Mix(machine, full, telemetry, True)
            yield Mix(machine, full, TELEMETRY[-1], False)


@dataclass
class Shape:
    """A run to be: rates as factors of the healthy ones, and what the captures show."""

    pp: float = 1.0
    tg: float = 1.0
    prompt: int = 600
    out: int = 300
    cores: float = 0.9
    util: float = 95.0
    mem: float = 60.0
    full_card: bool = False
    base_mib: float = 10.0
    grown: bool = True
    gpu_columns: dict[str, float] = field(default_factory=dict)
    host_columns: dict[str, float] = field(default_factory=dict)
    boot: dict[str, float] = field(default_factory=dict)
    setup: dict[str, object] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=lambda: {"n-gpu-layers": "99"})
    requests: list[Request] | None = None
    events: list[Event] = field(default_factory=list)
    memory: list[Buffer] | None = None
    more: dict[str, object] = field(default_factory=dict)


def build(mix: Mix, shape: Shape) -> Run:
    """The run of ``shape`` as ``mix`` lets one see it."""
    machine = mix.machine
    pp, tg = machine.rates()
    requests = shape.requests
    if requests is None:
        requests = [request(prompt=shape.prompt, pp=pp * shape.pp, out=shape.out, tg=tg * shape.tg)]
    setup = Setup(n_threads=8, n_threads_total=16, model_path=machine.model, flags=dict(shape.flags), n_ubatch=512)
    made = Run("run.log#1", engine="llama.cpp", backend=machine.backend, setup=setup, requests=requests,
               events=list(shape.events), source=Source(LOG, "llama_cpp"), load_ms=1500.0, start_s=0.0,
               clock=Clock("relative", offset_s=1_700_000_000.0 if mix.clock else None, error_s=0.1))  # fmt: skip
    if mix.full:
        made.devices = [Device(machine.card, "DEV0", 0, machine.backend, machine.total_mib, machine.total_mib - 500)]
        setup.layers_on_gpu = setup.layers_total = machine.layers + 1
        setup.n_layer, setup.model_bytes = machine.layers, int(machine.size_mib * weights.MIB)
        made.memory = shape.memory or [Buffer("CPU_Mapped", "model", machine.size_mib * 0.02, LOG, 5),
                                       Buffer("DEV0", "model", machine.size_mib * 0.98, LOG, 6)]  # fmt: skip
    for name, value in shape.setup.items():
        if mix.full or name not in ("layers_on_gpu", "layers_total", "n_expert", "n_expert_used"):
            setattr(setup, name, value)
    for name, value in shape.more.items():
        setattr(made, name, value)
    lay_out(made)
    _captures(made, mix, shape)
    return made


def _captures(made: Run, mix: Mix, shape: Shape) -> None:
    seconds = max(4, int(made.end_s or 0) + 1)
    total = mix.machine.total_mib
    used = (
        total * 0.992 if shape.full_card else shape.base_mib + (mix.machine.size_mib * 1.15 + 900 if shape.grown else 0)
    )
    if "gpu" in mix.telemetry:
        made.captures.append(gpu(used, shape.util, shape.mem, shape.base_mib, total, seconds, mix.clock, mix.machine.card,
                                 **shape.gpu_columns))  # fmt: skip
    if "host" in mix.telemetry:
        columns = {"cpu_user_pct": min(100.0, shape.cores / 16 * 100), **shape.host_columns}
        made.captures.append(host(seconds, mix.clock, shape.boot, **columns))
    if "time" in mix.telemetry:
        wall = made.end_s or 1.0
        made.captures.append(timed(wall, wall * shape.cores))


Maker = Callable[[Mix], Shape]


@dataclass(frozen=True)
class Plant:
    """``make`` gives the shape with the cause; ``seen`` tells whether a mix lets anyone see it."""

    cause: str
    make: Maker
    seen: Callable[[Mix], bool] = lambda mix: True
    verdict_only: bool = False
    """True where another cause of the same verdict is as good a name for what is seen."""


def _has(*kinds: str) -> Callable[[Mix], bool]:
    return lambda mix: set(kinds) <= mix.telemetry


def _streams(mix: Mix) -> list[Request]:
    return [request(i, prompt=300, pp=400.0, out=200, tg=4.0, start=2.0, slot=i) for i in range(24)]


def _windows(mix: Mix, factors: list[float], prompt: int = 400) -> list[Request]:
    pp, tg = mix.machine.rates()
    rates = [tg * f for f in factors]
    mean = sum(rates) / len(rates)
    made = request(prompt=prompt, pp=pp, out=int(mean * 3 * len(rates)) + 1, tg=mean)
    made.samples = samples(rates)
    return [made]


def _split_buffers(mix: Mix) -> list[Buffer]:
    return [Buffer("CPU_Mapped", "model", mix.machine.size_mib * 0.7, LOG, 5),
            Buffer("DEV0", "model", mix.machine.size_mib * 0.3, LOG, 6)]  # fmt: skip


def _chat(mix: Mix) -> list[Request]:
    out, size, start = [], 9000, 2.0
    for i in range(4):
        made = request(
            i, prompt=size, pp=900.0, out=40, tg=mix.machine.rates()[1], start=start, slot=0, cached_tokens=0
        )
        start = (made.end_s or 0) + 2
        out.append(made)
        size += 300
    return out


HOST_SPEED = {"tg": 0.06, "pp": 0.1, "cores": 8.0, "util": 8.0, "mem": 3.0}
PLANTS: tuple[Plant, ...] = (
    Plant("partial_offload", lambda m: Shape(**HOST_SPEED, setup={"layers_on_gpu": 9}, memory=_split_buffers(m), flags={}),
          lambda m: m.full or bool(m.telemetry)),
    Plant("partial_offload", lambda m: Shape(**HOST_SPEED, flags={"n-gpu-layers": "12"}, setup={"layers_on_gpu": 12},
                                             memory=_split_buffers(m))),
    Plant("cpu_fallback", lambda m: Shape(tg=0.05, pp=0.01, cores=8.0, util=0.0, grown=False, setup={"layers_on_gpu": 0},
                                          events=[event("no_gpu", "no usable GPU found, --gpu-layers option will be ignored")],
                                          memory=[Buffer("CPU_Mapped", "model", m.machine.size_mib, LOG, 5)])),
    Plant("experts_on_host", lambda m: Shape(**HOST_SPEED, flags={"n-gpu-layers": "99", "n-cpu-moe": "20"})),
    Plant("kv_on_host", lambda m: Shape(tg=0.2, pp=0.5, cores=4.0, flags={"n-gpu-layers": "99", "no-kv-offload": ""})),
    Plant("device_oom", lambda m: Shape(requests=[], events=[event("alloc_failed", "cudaMalloc failed: out of memory",
                                                                   device="DEV0", mib=m.machine.size_mib, host=False,
                                                                   recovered=False)])),
    Plant("host_oom", lambda m: Shape(requests=[], events=[event("kernel_oom", "Killed process 7 (llama-server)",
                                                                 process="llama-server", rss_mib=30000.0)])),
    Plant("host_paging", lambda m: Shape(tg=0.01, pp=0.01, cores=3.0, host_columns={"swap_in_kib_s": 300_000.0,
                                         "swap_out_kib_s": 40_000.0, "cpu_wait_pct": 45.0}), _has("host")),
    Plant("mmap_thrash", lambda m: Shape(tg=0.02, pp=0.02, cores=1.0, flags={"device": "none"},
                                         host_columns={"block_in_kib_s": 700_000.0, "cpu_wait_pct": 45.0}), _has("host")),
    Plant("vram_spill", lambda m: Shape(tg=0.09, pp=0.3, util=99.0, mem=4.0, full_card=True), _has("gpu"), True),
    Plant("vram_spill", lambda m: Shape(tg=0.09, pp=0.3, util=99.0, gpu_columns={"shared_used_mib": 5000.0}), _has("gpu")),
    Plant("vram_saturation", lambda m: Shape(full_card=True, util=70.0, mem=40.0,
                                             requests=_windows(m, [1.0, 1.0, 0.2, 0.15, 0.2, 0.2])), _has("gpu")),
    Plant("kv_pool_full", lambda m: Shape(more={"engine": "vllm"}, events=[event("preempted", "preempted", n=3)])),
    Plant("small_batch", lambda m: Shape(pp=0.1, prompt=9000, out=24, setup={"n_ubatch": 16})),
    Plant("prompt_reprocessed", lambda m: Shape(requests=_chat(m), events=[event("reprocess", tokens=30000)])),
    Plant("prefill_on_host", lambda m: Shape(requests=[request(prompt=4000, pp=m.machine.rates()[1] * 1.5, out=100,
                                                               tg=m.machine.rates()[1])])),
    Plant("long_prompt", lambda m: Shape(prompt=int(m.machine.rates()[0] * 20), out=40)),
    Plant("cpu_only", lambda m: Shape(tg=0.2, pp=0.05, cores=8.0, util=0.0, grown=False, flags={"device": "none"},
                                      setup={"layers_on_gpu": None, "layers_total": None},
                                      memory=[Buffer("CPU_Mapped", "model", m.machine.size_mib, LOG, 5)])),
    Plant("contention", lambda m: Shape(requests=_windows(m, [1.0, 1.0, 0.2, 0.15, 0.15, 0.16, 0.15]))),
    Plant("throttled", lambda m: Shape(tg=0.35, gpu_columns={"throttle_thermal": 1.0, "temp_c": 90.0}), _has("gpu")),
    Plant("throttled", lambda m: Shape(tg=0.35, gpu_columns={"throttle_mask": 0x20}), _has("gpu")),
    Plant("throttled", lambda m: Shape(tg=0.25, gpu_columns={"throttle_mask": 0x04}), _has("gpu")),
    Plant("too_many_threads", lambda m: Shape(tg=0.2, pp=0.05, cores=14.0, grown=False, util=0.0, flags={"device": "none"},
                                              setup={"n_threads": 64, "layers_on_gpu": None, "layers_total": None},
                                              memory=[Buffer("CPU_Mapped", "model", m.machine.size_mib, LOG, 5)])),
    Plant("sampling_overhead", lambda m: Shape(requests=[request(prompt=600, out=300, tg=m.machine.rates()[1] * 0.8,
                                               pp=m.machine.rates()[0], sampling_ms=9000.0)])),
    Plant("speculation_ineffective", lambda m: Shape(requests=[request(prompt=600, out=300, tg=m.machine.rates()[1] * 0.6,
                                                     pp=m.machine.rates()[0], draft_tokens=400, draft_accepted=60)])),
    Plant("long_context", lambda m: Shape(requests=_windows(m, [1.0, .95, .9, .86, .82, .78, .74, .7, .66, .62], 9_000))),
    Plant("shared_by_requests", lambda m: Shape(requests=_streams(m)),
          lambda m: m.machine.rates()[1] < 96 or (not m.full and not m.telemetry), True),
    Plant("decode_below_hardware", lambda m: Shape(tg=0.3), lambda m: m.full or "gpu" in m.telemetry),
    Plant("long_output", lambda m: Shape(out=max(1100, int(m.machine.rates()[1] * 25)))),
)  # fmt: skip


HEALTHY: tuple[Callable[[Mix], Shape], ...] = (
    lambda m: Shape(),
    lambda m: Shape(tg=0.85, pp=0.8),
    lambda m: Shape(full_card=True, base_mib=m.machine.total_mib * 0.2),
    lambda m: Shape(boot={"swap_in_kib_s": 500_000.0, "swap_out_kib_s": 90_000.0, "block_in_kib_s": 900_000.0}),
    lambda m: Shape(prompt=1, out=400),
    lambda m: Shape(gpu_columns={"throttle_mask": 0x04}),
    lambda m: Shape(requests=[request(i, prompt=300, pp=900.0, out=100, tg=m.machine.rates()[1], start=2.0 + 9 * i)
                              for i in range(6)]),
)  # fmt: skip

"""Rates that a machine should give, with an error band.

Decode: ``t = W / (e * BW) + c * layers`` per device, devices one after another, host part at host bandwidth; KV part
at 0.65 of the bandwidth. Prefill: the compute bound, never below one pass over the weights per micro-batch; weights
on the host cross the link once per micro-batch.

Constants were fitted on 145 public points (``fixtures/physics/measured.csv``): measured over predicted has median
0.96, p5 0.62 and p95 1.15. Bands are wider where few points exist.
"""

from __future__ import annotations

import math

from loganalyze.light import dataclass, field
from loganalyze.physics.tables import HOST_GBS, HOST_HIGH_GBS, HOST_LOW_GBS, Gpu
from loganalyze.physics.weights import MIB, Weights


@dataclass(frozen=True, slots=True)
class Group:
    """Constants of a backend: ``e`` efficiency, ``c`` ms per layer (dense, mixture), ``f`` share of FP16 (same)."""

    e: float
    c_dense: float
    c_moe: float
    f_dense: float
    f_moe: float
    low: float
    high: float


GROUPS: dict[str, Group] = {
    "CUDA": Group(0.87, 0.055, 0.075, 0.45, 0.17, 0.5, 1.25),
    "Metal": Group(0.80, 0.12, 0.15, 0.69, 0.66, 0.6, 1.25),
    "Vulkan": Group(0.88, 0.05, 0.15, 0.24, 0.2, 0.37, 1.3),
    "ROCm": Group(0.80, 0.10, 0.12, 0.22, 0.15, 0.42, 1.35),
    "SYCL": Group(0.72, 0.10, 0.12, 0.3, 0.2, 0.45, 1.4),
    "CPU": Group(0.65, 0.0, 0.0, 0.5, 0.5, 0.45, 1.5),
}
# Kernels of the quantised formats reach 0.13 to 0.18 of FP16 on A100, H100 and H200 (measured points and H200 runs).
DATACENTRE_F = 0.16
DATACENTRE_ARCH = ("8.0", "9.0", "10.0", "10.3")
HOST_E_DENSE, HOST_E_MOE = 0.57, 0.42  # middle of 0.5-0.65 and 0.3-0.57 (nine partial-offload points)
KV_E = 0.65  # 0.6 to 0.75 in depth sweeps on three cards
LINK_E = 0.8  # real over lane rate of PCIe, 0.75 to 0.9


@dataclass(frozen=True, slots=True)
class Rate:
    """A predicted rate and its band, in tokens a second; ``basis`` says from what."""

    tps: float
    low: float
    high: float
    basis: str


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run has to work with. ``shares`` are each card's part of the weights (equal parts by default)."""

    backend: str
    cards: tuple[Gpu, ...] = ()
    shares: tuple[float, ...] = ()
    host_gbs: float | None = None
    link_gbs: float | None = None
    unified: bool = False
    notes: tuple[str, ...] = field(default=())


def group(backend: str | None) -> Group:
    """Constants for a backend name as logs print it (``CUDA``, ``MTL``, ``HIP``, ``ROCm``, ``vLLM``...)."""
    text = (backend or "").lower()
    for key, name in (("cuda", "CUDA"), ("metal", "Metal"), ("mtl", "Metal"), ("mlx", "Metal"), ("rocm", "ROCm"),
                      ("hip", "ROCm"), ("vulkan", "Vulkan"), ("sycl", "SYCL"), ("opencl", "SYCL"), ("cpu", "CPU")):  # fmt: skip
        if key in text:
            return GROUPS[name]
    return GROUPS["CUDA"]


def decode(
    weights: Weights,
    machine: Machine,
    *,
    host_share: float = 0.0,
    kv_gb: float = 0.0,
    streams: float = 1.0,
    accepted: float = 1.0,
) -> Rate | None:
    """Expected tokens a second of one stream. ``host_share`` of the weights is computed on the host.

    ``kv_gb`` is the cache read per token; ``streams`` decode together; ``accepted`` is the mean length a speculative
    step yields. None when a bandwidth is unknown.
    """
    constants = group(machine.backend)
    per_gb = _seconds_per_gb(machine, constants)
    if per_gb is None:
        return None
    host_share = min(1.0, max(0.0, host_share))
    batch = _batch_factor(weights, streams)
    device_gb = weights.active_gb * (1 - host_share) * batch
    device_s = device_gb * per_gb + kv_gb * streams * per_gb * constants.e / KV_E
    layer_c = constants.c_moe if weights.moe else constants.c_dense
    device_s += layer_c * weights.layers / 1000 * (1 - host_share * 0.5)
    host_gb = weights.active_gb * host_share * batch
    times = [device_s + host_gb * _host_per_gb(machine, weights, how) for how in ("mid", "fast", "slow")]
    mid, fast, slow = (accepted / t if t > 0 else math.inf for t in times)
    if not math.isfinite(mid):
        return None
    return Rate(mid, slow * constants.low / weights.high, fast * constants.high / weights.low, _words(machine, weights))


def prefill(
    weights: Weights,
    machine: Machine,
    *,
    n_new: float = 512.0,
    n_ubatch: int | None = None,
    host_share: float = 0.0,
    flops_per_token: float | None = None,
) -> Rate | None:
    """Expected tokens a second of reading ``n_new`` computed tokens. None when the card's FP16 rate is unknown."""
    constants = group(machine.backend)
    card = machine.cards[0] if machine.cards else None
    if card is None or card.bandwidth_gbs is None:
        return None
    tflops = card.fp16_tflops or card.fp32_tflops
    if not tflops:
        return None
    share = constants.f_moe if weights.moe else constants.f_dense
    if card.vendor == "NVIDIA" and card.arch in DATACENTRE_ARCH:
        share = min(share, DATACENTRE_F)
    per_token = flops_per_token or 2 * weights.active_mib * MIB * 8 / 4.8
    compute_s = per_token / (share * tflops * 1e12)
    ubatch = max(1, min(n_ubatch or 512, int(n_new) or 1))
    total_gb = weights.total_mib * MIB / 1e9
    pass_s = total_gb * (1 - host_share) / card.bandwidth_gbs / ubatch
    if host_share > 0:
        pass_s += total_gb * host_share / ((machine.link_gbs or 31.5) * LINK_E) / ubatch
    rate = 1 / max(compute_s, pass_s)
    return Rate(rate, rate * 0.35, rate * 1.8, _words(machine, weights))


def _seconds_per_gb(machine: Machine, constants: Group) -> float | None:
    """Mean seconds to read one gigabyte of weights, cards in series."""
    if not machine.cards:
        return 1 / ((machine.host_gbs or HOST_GBS) * constants.e)
    shares = machine.shares or tuple(1 / len(machine.cards) for _ in machine.cards)
    total = 0.0
    for card, share in zip(machine.cards, shares, strict=False):
        bandwidth = card.bandwidth_gbs or (machine.host_gbs or HOST_GBS if card.unified else None)
        if bandwidth is None:
            return None
        total += share / (bandwidth * constants.e)
    return total


def _host_per_gb(machine: Machine, weights: Weights, how: str) -> float:
    efficiency = HOST_E_MOE if weights.moe else HOST_E_DENSE
    if machine.host_gbs is not None:
        bandwidth = machine.host_gbs * {"mid": 1.0, "fast": 1.4, "slow": 0.6}[how]
    else:
        bandwidth = {"mid": HOST_GBS, "fast": HOST_HIGH_GBS, "slow": HOST_LOW_GBS}[how]
    return 1 / (bandwidth * efficiency)


def _batch_factor(weights: Weights, streams: float) -> float:
    """How many times the active bytes ``streams`` tokens together read: 1 for dense, more for mixtures."""
    if not weights.moe or streams <= 1:
        return 1.0
    share = weights.active_mib / weights.total_mib
    # uniform routing holds to about eight streams, beyond that it overstates (measured at 32)
    return float((1 - (1 - share) ** min(streams, 8.0)) / share)


def _words(machine: Machine, weights: Weights) -> str:
    names = sorted({card.name for card in machine.cards}) or ["host memory"]
    return f"{weights.active_gb:.1f} GB read per token ({weights.basis}) on {', '.join(names)}"

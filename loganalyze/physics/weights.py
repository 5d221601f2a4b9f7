"""Bytes read for one token: weights (active share for mixtures of experts) and KV cache.

Sources in order of trust: model buffers of the log, printed file size, parameters x bits per weight, the file name
(``Qwen3-30B-A3B-Q4_K_M.gguf``). Every estimate says where it came from and how far it may be off.
"""

from __future__ import annotations

import re

from loganalyze.files import base_name
from loganalyze.light import dataclass, lazy_pattern
from loganalyze.physics.quants import KV_BYTES, bits_of

MIB = 1024 * 1024
# Buffers of less than this part of the told size are not all of them: an excerpt holds some lines only. Files told too
# large by names stay well above it (a 3-bit file in a folder that says Q4_K_M: 0.75).
WHOLE = 0.5

_PARAMS = lazy_pattern(r"(?<![A-Za-z0-9.])(?:(\d{1,2})x)?(\d{1,4}(?:\.\d{1,2})?)\s?b(?![A-Za-z0-9])", re.IGNORECASE)
_ACTIVE = lazy_pattern(r"(?<![A-Za-z0-9.])A(\d{1,3}(?:\.\d{1,2})?)B(?![A-Za-z0-9])", re.IGNORECASE)
_MILLIONS = lazy_pattern(r"(?<![A-Za-z0-9.])(\d{2,4})\s?M(?![A-Za-z0-9])", re.IGNORECASE)

# Layers of common dense models by billions of parameters: 1B 16, 3B 28, 8B 32, 14B 48, 32B 64, 70B 80, 405B 126.
_LAYERS = ((1.6, 20), (4.5, 30), (10.0, 33), (16.0, 44), (40.0, 60), (80.0, 80), (1e9, 100))
# Mixtures are shallower for their size: gpt-oss 24 and 36, Mixtral 32, Qwen3-30B 48, DeepSeek 61, Qwen3-235B 94.
_MOE_LAYERS = ((25.0, 24), (60.0, 44), (150.0, 40), (400.0, 70), (1e9, 61))

# Active share of the parameters of well-known mixtures whose names do not carry it: expert and shared parts as the
# tables of their model cards give them (gpt-oss-20b reads 2.56 of 12.1 GB, 120b 3.53 of 63.4 GB).
_KNOWN_ACTIVE = (
    (lazy_pattern(r"gpt-?oss[^/]{0,20}120b", re.IGNORECASE), 0.056),
    (lazy_pattern(r"gpt-?oss[^/]{0,20}20b", re.IGNORECASE), 0.21),
    (lazy_pattern(r"mixtral[^/]{0,12}8x22b", re.IGNORECASE), 0.28),
    (lazy_pattern(r"8x7b", re.IGNORECASE), 0.275),
    (lazy_pattern(r"deepseek[-_ ]?(?:v3|r1)(?!.{0,20}distill)", re.IGNORECASE), 0.055),
    (lazy_pattern(r"qwen3[^/]{0,12}235b", re.IGNORECASE), 0.094),
    (lazy_pattern(r"qwen3[^/]{0,12}30b", re.IGNORECASE), 0.108),
    (lazy_pattern(r"glm-?4\.[56]-?air", re.IGNORECASE), 0.115),
    (lazy_pattern(r"llama-?4-?scout", re.IGNORECASE), 0.156),
    (lazy_pattern(r"llama-?4-?maverick", re.IGNORECASE), 0.0425),
)
# One stands in every name that the patterns above take.
_KNOWN_WORDS = ("oss", "8x", "deepseek", "qwen3", "glm", "llama")


@dataclass(frozen=True, slots=True)
class Weights:
    """``total_mib`` of all weights and ``active_mib`` read for a token. ``layers`` may be a guess (``layers_known``).

    ``low`` and ``high`` bound ``active_mib`` as factors; ``basis`` says the source in words.
    """

    total_mib: float
    active_mib: float
    layers: int
    layers_known: bool
    moe: bool
    low: float
    high: float
    basis: str

    @property
    def active_gb(self) -> float:
        """Decimal gigabytes read for a token."""
        return self.active_mib * MIB / 1e9


def params_in(name: str | None) -> float | None:
    """Billions of parameters a file or model name carries; ``8x7B`` counts shared parts once (46.7, not 56)."""
    text = base_name(name)
    cleaned = _ACTIVE.sub(" ", text)
    sizes = [(int(m.group(1) or 1), float(m.group(2))) for m in _PARAMS.finditer(cleaned.replace("_", "-"))]
    if sizes:
        count, size = max(sizes, key=lambda item: item[0] * item[1])
        return size if count == 1 else size * count * 0.83
    millions = _MILLIONS.search(cleaned)
    return float(millions.group(1)) / 1000 if millions else None


def active_share(name: str | None, params_b: float | None, n_expert: int | None, n_used: int | None) -> float | None:
    """Share of the weights that one token reads, None for a dense model or when nothing says it is a mixture."""
    text = base_name(name)
    total = params_b if params_b is not None else params_in(text)
    match = _ACTIVE.search(text.replace("_", "-"))
    if match and total:
        return min(1.0, float(match.group(1)) / total)
    known = any(map(text.lower().__contains__, _KNOWN_WORDS))
    for pattern, share in _KNOWN_ACTIVE if known else ():
        if pattern.search(text):
            return share
    if n_expert and n_expert > 1 and n_used:
        # shared parts (attention, router, output) are about a sixteenth of a mixture's bytes (gpt-oss, Qwen3 MoE)
        return min(1.0, 0.06 + 0.94 * n_used / n_expert)
    return None


def layers_for(params_b: float | None, moe: bool = False) -> int:
    """Typical number of layers of a model with that many billions of parameters."""
    for limit, layers in _MOE_LAYERS if moe else _LAYERS:
        if (params_b or 8.0) <= limit:
            return layers
    return 100


def estimate(
    *,
    name: str | None = None,
    model_bytes: int | None = None,
    n_params: float | None = None,
    bpw: float | None = None,
    quant: str | None = None,
    n_layer: int | None = None,
    n_expert: int | None = None,
    n_expert_used: int | None = None,
    device_mib: float | None = None,
    host_mib: float | None = None,
    grown_mib: float | None = None,
) -> Weights | None:
    """Best estimate from whatever is known, None when nothing is.

    ``device_mib`` and ``host_mib`` are sums of model buffers; ``grown_mib`` is how much device memory a run took,
    an upper bound of its weights there.
    """
    params = n_params / 1e9 if n_params else params_in(name)
    total, basis, low, high = _total(name, model_bytes, params, bpw, quant, device_mib, host_mib, grown_mib)
    if total is None or total <= 0:
        return None
    if params is None:
        bits = bpw or bits_of(quant) or bits_of(name) or 4.8
        params = total * MIB * 8 / bits / 1e9
    share = active_share(name, params, n_expert, n_expert_used)
    layers = n_layer or layers_for(params, share is not None)
    # shares of a mixture are known to about a quarter: per-tensor quantisation mixes and shared parts
    spread = (0.75, 1.3) if share is not None else (1.0, 1.0)
    return Weights(
        total, total * (share or 1.0), layers, n_layer is not None, share is not None,
        low * spread[0], high * spread[1], basis,
    )  # fmt: skip


def told_mib(
    model_bytes: int | None, params_b: float | None, bpw: float | None, quant: str | None, name: str | None
) -> float | None:
    """MiB of the weights by their printed size, or by billions of parameters and quantisation; None when neither is told."""
    if model_bytes:
        return model_bytes / MIB
    bits = bpw or bits_of(quant) or bits_of(name)
    return params_b * 1e9 * bits / 8 / MIB if params_b and bits else None


def kv_bytes_per_token(
    n_layer: int | None, k_gqa: int | None, v_gqa: int | None, type_k: str | None = None, type_v: str | None = None
) -> float | None:
    """Bytes of KV cache that one token of context takes, None when the shape is unknown."""
    if not n_layer or not k_gqa:
        return None
    k = KV_BYTES.get((type_k or "f16").lower(), 2.0)
    v = KV_BYTES.get((type_v or type_k or "f16").lower(), 2.0)
    return n_layer * (k_gqa * k + (v_gqa if v_gqa is not None else k_gqa) * v)


_Total = tuple[float | None, str, float, float]


def _total(
    name: str | None,
    model_bytes: int | None,
    params: float | None,
    bpw: float | None,
    quant: str | None,
    device_mib: float | None,
    host_mib: float | None,
    grown_mib: float | None,
) -> _Total:
    told = told_mib(model_bytes, params, bpw, quant, name)
    whole = told is None or (device_mib or 0.0) + (host_mib or 0.0) >= WHOLE * told
    if whole and device_mib is not None and device_mib > 1.0 and (host_mib or 0.0) < 0.25 * device_mib:
        return device_mib, "model buffers on the device", 0.95, 1.1
    if model_bytes:
        return model_bytes / MIB, "size of the model", 0.9, 1.05
    if whole and (device_mib is not None or host_mib is not None):
        return (device_mib or 0.0) + (host_mib or 0.0), "model buffers", 0.85, 1.1
    if told is not None:
        return told, "parameters and quantisation in the name", 0.85, 1.2
    if grown_mib is not None and grown_mib > 256:
        return grown_mib, "device memory taken by the run", 0.4, 1.0
    return None, "", 1.0, 1.0

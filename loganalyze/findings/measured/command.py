"""What the command line and the environment of a run ask for.

Only llama.cpp-like programs spell these options; other engines' options are looked up under their own names.
"""

from __future__ import annotations

from loganalyze.model.records import Setup

_ALL_LAYERS = 99
_ALL_WORDS = {"all", "max", "auto-all", "-1"}
_TRUE = {"", "1", "true", "on", "yes"}

NGL = ("ngl", "gpu-layers", "n-gpu-layers", "n_gpu_layers", "gpulayers")
DEVICE = ("dev", "device")
N_CPU_MOE = ("ncmoe", "n-cpu-moe")
CPU_MOE = ("cmoe", "cpu-moe")
OVERRIDE = ("ot", "override-tensor", "overridetensors")
NO_KV_OFFLOAD = ("nkvo", "no-kv-offload", "lowvram")
UBATCH = ("ub", "ubatch-size")
BATCH = ("b", "batch-size", "blasbatchsize")
SPLIT = ("sm", "split-mode")
MAIN_GPU = ("mg", "main-gpu")
FIT = ("fit",)
MLOCK = ("mlock",)
DRAFT = ("md", "model-draft", "draftmodel", "hfd", "hf-repo-draft")
CPU_OFFLOAD_GB = ("cpu-offload-gb", "cpu_offload_gb")


def flag(setup: Setup, names: tuple[str, ...]) -> str | None:
    """Value of the first of ``names`` on the command line, ``""`` for a bare flag, None when absent."""
    for name in names:
        if name in setup.flags:
            return setup.flags[name]
    return None


def asked_layers(setup: Setup) -> int | None:
    """GPU layers asked for explicitly: -1 for all of them, None when nothing was asked.

    A benchmark prints its default, too: -1 (since 2026) leaves the choice to the program.
    """
    text = flag(setup, NGL)
    if text is None:
        value = setup.n_gpu_layers
        if value is None or value == -1:
            return None
        return -1 if value >= _ALL_LAYERS else value
    if text.strip().lower() in _ALL_WORDS:
        return -1
    try:
        layers = int(text)
    except ValueError:
        return setup.n_gpu_layers
    return -1 if layers < 0 or layers >= _ALL_LAYERS else layers


def no_device(setup: Setup) -> str | None:
    """The option that takes every device away (``-dev none``), None when there is none."""
    device = flag(setup, DEVICE)
    if device is not None and device.strip().lower() in {"none", "cpu"}:
        return f"device {device}"
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES"):
        if name in setup.env and setup.env[name].strip() in {"", "-1", "none", "NoDevFiles"}:
            return f"{name}={setup.env[name]}"
    return None


def experts_asked_on_host(setup: Setup) -> str | None:
    """The option that keeps experts in host memory, as typed, None when there is none."""
    count = flag(setup, N_CPU_MOE)
    if count is not None and count.strip() not in {"0", ""}:
        return f"--n-cpu-moe {count}"
    if flag(setup, CPU_MOE) is not None:
        return "--cpu-moe"
    patterns = [*setup.tensor_overrides, flag(setup, OVERRIDE) or ""]
    for pattern in patterns:
        text = pattern.lower()
        if "exps" in text and ("=cpu" in text or "cpu" in text.rsplit("=", 1)[-1] or "host" in text):
            return f"-ot {pattern}"
    return None


def other_overrides_to_host(setup: Setup) -> str | None:
    """A tensor override to host memory that is not about experts."""
    patterns = [*setup.tensor_overrides, flag(setup, OVERRIDE) or ""]
    for pattern in patterns:
        text = pattern.lower()
        if "exps" not in text and text.rsplit("=", 1)[-1].startswith("cpu") and "=" in text:
            return f"-ot {pattern}"
    return None


def kv_kept_on_host(setup: Setup) -> bool:
    """True when an option keeps the KV cache in host memory."""
    return flag(setup, NO_KV_OFFLOAD) in _TRUE if flag(setup, NO_KV_OFFLOAD) is not None else setup.kv_offload is False


def fit_is_off(setup: Setup) -> bool:
    """True when ``-fit off`` stands on the command line."""
    return (flag(setup, FIT) or "").strip().lower() in {"off", "0", "false"}


def whole(setup: Setup, names: tuple[str, ...]) -> int | None:
    """A whole number on the command line, None when absent or no number."""
    text = flag(setup, names)
    try:
        return int(text) if text else None
    except ValueError:
        return None


def decimal(setup: Setup, names: tuple[str, ...]) -> float | None:
    """A number on the command line, None when absent or no number."""
    text = flag(setup, names)
    try:
        return float(text) if text else None
    except ValueError:
        return None

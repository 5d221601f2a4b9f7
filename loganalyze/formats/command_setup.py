"""Fill a ``Setup`` from a parsed command line. What the log itself says later outranks it."""

from __future__ import annotations

from loganalyze.formats.command_line import Command, base_name, merged_flags
from loganalyze.formats.llama_names import quant_of_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.model.records import Setup

INTS = {
    "n-gpu-layers": "n_gpu_layers",
    "batch-size": "n_batch",
    "ubatch-size": "n_ubatch",
    "threads": "n_threads",
    "n-predict": "n_predict",
}
# 0 or a negative number means "as the model says" or "as many as fit" here, which is no figure.
POSITIVE = {"ctx-size": "n_ctx", "parallel": "n_parallel"}
TEXTS = {"cache-type-k": "type_k", "cache-type-v": "type_v", "split-mode": "split_mode"}
ON = {"": "on", "1": "on", "on": "on", "true": "on", "enabled": "on", "True": "on"}
OFF = {"0": "off", "off": "off", "false": "off", "disabled": "off", "False": "off"}
SWITCH = ON | OFF | {"auto": "auto"}
MAX_INT_DIGITS = 15


def apply(command: Command, setup: Setup) -> None:
    """Set what the command says; fields it does not speak of stay."""
    flags = merged_flags(command)
    setup.command = command.text
    setup.flags = flags
    setup.env = dict(command.env)
    for name, attribute in (*INTS.items(), *POSITIVE.items()):
        number = _int(flags.get(name))
        if number is not None and (name not in POSITIVE or number > 0):
            setattr(setup, attribute, number)
    for name, attribute in TEXTS.items():
        if flags.get(name) and "," not in flags[name]:
            setattr(setup, attribute, flags[name])
    if "flash-attn" in flags:
        setup.flash_attn = SWITCH.get(flags["flash-attn"])
    setup.temperature = _float(flags.get("temp"), setup.temperature)
    _memory(flags, setup)
    _models(flags, setup)
    setup.tensor_overrides = overrides(flags) or setup.tensor_overrides


def _memory(flags: dict[str, str], setup: Setup) -> None:
    if "no-kv-offload" in flags and SWITCH.get(flags["no-kv-offload"]) == "on":
        setup.kv_offload = False
    elif "kv-offload" in flags:
        setup.kv_offload = SWITCH.get(flags["kv-offload"]) == "on"
    if "load-mode" in flags:
        setup.mmap = flags["load-mode"].startswith("mmap")
    elif "no-mmap" in flags and SWITCH.get(flags["no-mmap"]) != "off":
        setup.mmap = False
    elif "mmap" in flags and SWITCH.get(flags["mmap"]):
        setup.mmap = SWITCH[flags["mmap"]] == "on"


def _models(flags: dict[str, str], setup: Setup) -> None:
    path = flags.get("model")
    if path:
        setup.model_path = path
    name = path or flags.get("hf-file") or flags.get("hf-repo") or flags.get("model-url")
    if name:
        setup.quant = quant_of_file(name) or setup.quant
        setup.model_name = setup.model_name or base_name(name).removesuffix(".gguf").partition(":")[0]
    setup.draft_model = flags.get("model-draft") or flags.get("hf-repo-draft") or setup.draft_model


def overrides(flags: dict[str, str]) -> list[str]:
    """``PATTERN=BUFFER`` of every tensor override, also of those that ``--cpu-moe`` and ``--n-cpu-moe`` stand for."""
    found = [part.strip() for part in flags.get("override-tensor", "").split(",") if "=" in part]
    if "cpu-moe" in flags:
        found.append("exps=CPU")
    layers = _int(flags.get("n-cpu-moe"))
    if layers:
        found.append(f"exps of the first {layers} layers=CPU")
    return found


def _int(text: str | None) -> int | None:
    if text is None or not text.lstrip("-").isdigit() or len(text) > MAX_INT_DIGITS:
        return None
    return int(text) if text.isascii() and text.count("-") <= 1 else None


def _float(text: str | None, default: float | None) -> float | None:
    try:
        return default if text is None else float(text)
    except ValueError:
        return default

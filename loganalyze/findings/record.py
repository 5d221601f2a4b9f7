"""Commands that record what a verdict lacks, for the machine the run came from."""

from __future__ import annotations

from functools import lru_cache

from loganalyze.findings.facts import Facts

NVIDIA_GPU = (
    "nvidia-smi --query-gpu=timestamp,index,name,memory.used,memory.total,utilization.gpu,utilization.memory,"
    "power.draw,power.limit,clocks.sm,clocks_event_reasons.active --format=csv -lms 500 > smi.csv"
)
NVIDIA_APPS = "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv"
AMD_GPU = "while sleep 1; do date -Is; rocm-smi --showuse --showmeminfo vram gtt --csv; done > rocm.csv"
INTEL_GPU = "sudo intel_gpu_top -l -s 500 > intel_gpu_top.txt"
APPLE_GPU = "sudo powermetrics --samplers gpu_power,cpu_power -i 1000 > powermetrics.txt"
APPLE_MEMORY = "vm_stat 1 > vm_stat.txt"
LINUX_MEMORY = "vmstat -t 1 > vmstat.txt"
WINDOWS_MEMORY = (
    'typeperf "\\Memory\\Pages Input/sec" "\\GPU Adapter Memory(*)\\Shared Usage" '
    '"\\GPU Adapter Memory(*)\\Dedicated Usage" -si 1 -o memory.csv'
)
KERNEL_LOG = "journalctl -k --since '1 hour ago' | grep -iE 'out of memory|oom' > kernel.txt"


def apple(facts: Facts) -> bool:
    """True for a run on a Mac."""
    return _are_apple((*_names(facts), facts.engine))


def windows(facts: Facts) -> bool:
    """True for a run on Windows, as far as paths tell."""
    texts = [facts.run.setup.command or "", facts.run.setup.model_path or ""]
    return any(".exe" in t or ":\\" in t for t in texts)


def amd(facts: Facts) -> bool:
    """True for a run on an AMD card."""
    return _hold(_names(facts), ("radeon", "amd", "rocm", "hip", "instinct"))


def intel(facts: Facts) -> bool:
    """True for a run on an Intel card."""
    return _hold(_names(facts), ("intel", "sycl", "level_zero"))


def _names(facts: Facts) -> tuple[str, ...]:
    return (*(d.name or "" for d in facts.run.devices), facts.run.backend or "")


# A run is asked for its maker many times, and all runs of a machine have the same names.
@lru_cache(maxsize=64)
def _are_apple(names: tuple[str, ...]) -> bool:
    return any(n.startswith("Apple") or n.lower().startswith(("metal", "mtl", "mlx")) for n in names)


@lru_cache(maxsize=64)
def _hold(names: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(word in name.lower() for name in names for word in words)


def gpu(facts: Facts) -> str:
    """Device memory and load while the run answers."""
    if apple(facts):
        return APPLE_GPU
    if windows(facts):
        return WINDOWS_MEMORY
    if intel(facts):
        return INTEL_GPU
    return AMD_GPU if amd(facts) else NVIDIA_GPU


def memory(facts: Facts) -> str:
    """Host paging while the run answers."""
    if apple(facts):
        return APPLE_MEMORY
    return WINDOWS_MEMORY if windows(facts) else LINUX_MEMORY


# Engine -> the command whose output holds load lines and timings.
_TALKING = (
    ("ollama", "ollama ps; journalctl -u ollama --since '10 min ago' > ollama.log"),
    ("lm studio", "lms ps; lms log stream > lmstudio.log"),
    ("kobold", "koboldcpp YOUR OPTIONS 2>&1 | tee run.log"),
    ("text-generation-webui", "python server.py YOUR OPTIONS --verbose 2>&1 | tee run.log"),
    ("python", "python YOUR_SCRIPT.py 2>&1 | tee run.log   # with Llama(..., verbose=True)"),
    ("mlx", "mlx_lm.generate YOUR OPTIONS 2>&1 | tee run.log"),
    ("transformers", "python YOUR_SCRIPT.py 2>&1 | tee run.log   # print(model.hf_device_map) after loading"),
)


def _talking(facts: Facts) -> str | None:
    return next((command for name, command in _TALKING if name in facts.engine), None)


def load(facts: Facts) -> str:
    """The load lines that tell where layers are."""
    known = _talking(facts)
    if known is not None:
        return known
    program = (facts.run.setup.command or "").strip()
    if program and facts.llama_like and len(program) < 600:
        # Programs of before June 2024 say it unasked and know no such option.
        level = "" if old_program(facts) else " -lv 4"
        return f"{program}{level} 2>&1 | tee run.log"
    name = facts.run.facts.get("program")
    program = name if isinstance(name, str) and name else "llama-server"
    return f"{program} YOUR OPTIONS -lv 4 2>&1 | tee run.log"


def old_program(facts: Facts) -> bool:
    """True for the names that llama.cpp's programs had until b3151 (June 2024)."""
    words = (facts.run.setup.command or "").replace("\\", "/").split()
    return bool(words) and words[0].rsplit("/", 1)[-1].removesuffix(".exe") in ("main", "server")


def deciding(facts: Facts) -> str:
    """What settles an open verdict: the card while it answers, else the load lines.

    Load lines come first where not even the kind of card is known, and where its tool's output is not read.
    """
    seen = facts.place.gpu_seen
    nvidia = (seen is not None or facts.run.backend is not None) and gpu(facts) == NVIDIA_GPU
    unknown = facts.place.weights == "unknown" and facts.llama_like and not nvidia
    return load(facts) if facts.gpu or unknown else gpu(facts)


def timings(facts: Facts) -> str:
    """The closing timing lines."""
    if "ollama" in facts.engine:
        return "ollama run MODEL --verbose 'the same prompt' 2>&1 | tee run.log"
    if any(word in facts.engine for word in ("vllm", "sglang")):
        return "loganalyze record -- the same command (and keep the server's log while requests run)"
    return _talking(facts) or "llama-completion YOUR OPTIONS --perf 2>&1 | tee run.log"

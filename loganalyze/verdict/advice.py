"""One thing to try, in the order of the field guide, in the words of the engine at hand.

Swapping: lower quantisation, fewer requests or a smaller batch before the context. Reading: prompt, batch, prefill.
Writing: output limit first, then a lower quantisation. What the user has set already is not advised again.
"""

from __future__ import annotations

from collections.abc import Callable

from loganalyze.findings import record, signs
from loganalyze.findings.answers import gib
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured import command
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding
from loganalyze.verdict import reading_advice
from loganalyze.verdict.options import LLAMA, Options, options_of

Advice = Callable[[Facts, Finding, Thresholds], str]


def next_step(facts: Facts, main: Finding, limits: Thresholds) -> str | None:
    """The step for ``main``; None for a healthy run that needs nothing."""
    maker = _STEPS.get(main.cause)
    return maker(facts, main, limits) if maker else None


def _free_card(facts: Facts, limits: Thresholds) -> str | None:
    held = signs.foreign_mib(facts, limits)
    if held is None:
        return None
    return f"Free the card first: another process holds {gib(held)} of it ({record.NVIDIA_APPS})."


def _device_oom(facts: Facts, main: Finding, limits: Thresholds) -> str:
    free = _free_card(facts, limits)
    if free:
        return free
    if "vllm" in facts.engine:
        return "Lower --max-model-len (for example 8192), or --max-num-seqs; then take a quantised model."
    if "sglang" in facts.engine:
        return "Lower --mem-fraction-static for activations or --context-length for the cache; then a quantised model."
    if "ollama" in facts.engine:
        return "Take one step lower quantisation, or set num_ctx lower so that 'ollama ps' says 100% GPU."
    setup, words = facts.run.setup, _words(facts)
    if (setup.n_parallel or 1) > 1 and words is LLAMA:
        return f"Use fewer parallel requests (-np {max(1, (setup.n_parallel or 2) // 2)}), then one step lower quantisation."
    if _stage(facts) == "compute":
        return f"Use a smaller batch ({words.batch}), which shrinks the buffer that failed; then one step lower quantisation."
    if _stage(facts) == "kv" or _cache_rules(facts):
        return f"The KV cache is what does not fit: {words.cache} first, then a smaller {words.context}."
    fewer = ", or offload fewer layers (-ngl)" if words is LLAMA else ""
    return f"Take one step lower quantisation (for example Q4_K_M to Q3_K_M){fewer}."


def _words(facts: Facts) -> Options:
    return options_of(facts.engine)


def _stage(facts: Facts) -> str | None:
    """What was being allocated when memory ran out: ``kv``, ``compute`` or unknown."""
    for kind in ("load_failed", "alloc_failed"):
        for event in facts.events.get(kind, ()):
            if event.data.get("stage") in ("kv", "compute"):
                return str(event.data["stage"])
    return None


def _cache_rules(facts: Facts) -> bool:
    cache, weights = (facts.place.kv_device_mib or 0.0) + (facts.place.kv_host_mib or 0.0), facts.place.device_mib
    return weights is not None and cache > max(weights, 1.0)


def _partial(facts: Facts, main: Finding, limits: Thresholds) -> str:
    free = _free_card(facts, limits)
    if free:
        return free
    if "ollama" in facts.engine:
        return "Reduce num_ctx, then the quantisation, until 'ollama ps' says 100% GPU."
    if "vllm" in facts.engine:
        return (
            "Drop --cpu-offload-gb; if the model does not fit then, take a quantised one or a smaller --max-model-len."
        )
    if not facts.llama_like:
        return "Load the model with fewer bits (4-bit), so that no module is placed on cpu or disk."
    words = _words(facts)
    if _fits(facts):
        return f"Put all layers on the card: {words.all_layers}."
    asked = facts.place.asked
    if asked is not None and asked >= 0 and facts.place.device_mib is None:
        return (
            f"Set {words.all_layers}; if that does not fit, take one step lower quantisation or fewer slots "
            f"({words.slots}), then try again."
        )
    return (
        f"Take one step lower quantisation, or fewer slots ({words.slots}), so that all layers fit ({words.all_layers}); "
        f"only then a smaller {words.context}."
    )


def _fits(facts: Facts) -> bool:
    """All weights, cache and a gigabyte of buffers on the card of this run."""
    total = max((d.free_mib or d.total_mib or 0.0 for d in facts.run.devices), default=0.0)
    if not total and facts.gpu and facts.gpu.fullest and facts.gpu.fullest.total_mib:
        total = facts.gpu.fullest.total_mib - (facts.gpu.fullest.base_mib or 0.0)
    weights = facts.expected.weights
    if weights is None or facts.expected.bound or not total:
        return False
    cache = (facts.place.kv_device_mib or 0.0) + (facts.place.kv_host_mib or 0.0)
    return weights.total_mib + cache + 1536 < total


def _fallback(facts: Facts, main: Finding, limits: Thresholds) -> str:
    if facts.event("gpu_unsupported") is not None and "ollama" in facts.engine:
        return (
            "Do what Ollama's line about the GPU asks for (update the driver and Ollama; for AMD HSA_OVERRIDE_GFX_VERSION), "
            "then check with 'ollama ps' that it says GPU."
        )
    if facts.place.ignored is not None and "insufficient VRAM" in facts.place.ignored.text:
        return "Free device memory, or take a smaller model or num_ctx: not one layer fits what the card has free."
    if facts.place.ignored is not None and "ollama" in facts.engine:
        return "Update the GPU driver and restart Ollama; its log must then name the card behind 'inference compute'."
    offered = facts.place.layers_on_gpu == 0 and facts.llama_like and "ollama" not in facts.engine
    if offered and facts.place.ignored is None:
        # The line about layers is printed only where a device can take them.
        return f"Set {_words(facts).all_layers}: the program sees a GPU and keeps all layers off it."
    if facts.place.ignored is not None or facts.run.backend == "CPU":
        return "Install a build with support for your GPU (llama.cpp --list-devices must name it); check the driver."
    if "ollama" in facts.engine:
        if facts.place.gpu_seen is not None:
            return "Set num_gpu 99 for the model (or lower num_ctx), and check with 'ollama ps' that it says 100% GPU."
        return "Look for 'inference compute' in the Ollama log: no GPU was found. Update the driver and restart Ollama."
    return f"Set {_words(facts).all_layers}." if _words(facts) is not LLAMA else "Add -ngl 99 to the command."


def _experts(facts: Facts, main: Finding, limits: Thresholds) -> str:
    count = command.whole(facts.run.setup, command.N_CPU_MOE)
    if count and facts.gpu and (card := facts.gpu.fullest) and card.total_mib and (card.peak_pct or 100) < 80:
        return (
            f"Lower --n-cpu-moe step by step from {count}: the card has {gib(card.total_mib - (card.peak_mib or 0))} left "
            "for experts."
        )
    return "Take one step lower quantisation and move experts back (--n-cpu-moe lower); -ub 2048 speeds up reading."


def _kv_host(facts: Facts, main: Finding, limits: Thresholds) -> str:
    if not command.kv_kept_on_host(facts.run.setup) and any(b.detail == "kv self size" for b in facts.run.memory):
        return "Update the program: builds of that age keep the KV cache in host memory whatever is asked for."
    return "Drop -nkvo; if the cache does not fit, -ctk q8_0 -ctv q8_0 halves it."


def _contention(facts: Facts, main: Finding, limits: Thresholds) -> str:
    if signs.on_processors(facts) and facts.host is not None and facts.host.running is not None:
        return "Stop what else uses the processors while it answers; top -o %CPU names it."
    return f"Stop what else uses the card while it answers; this names it: {record.NVIDIA_APPS}"


def _kv_pool(facts: Facts, main: Finding, limits: Thresholds) -> str:
    if "sglang" in facts.engine:
        return "Lower --max-running-requests, or raise --mem-fraction-static if the card has room."
    if "vllm" in facts.engine:
        return "Lower --max-num-seqs, or --max-model-len, or raise --gpu-memory-utilization if the card has room."
    return f"Use fewer slots ({_words(facts).slots}) first, then a larger {_words(facts).context}."


def _paging(facts: Facts, main: Finding, limits: Thresholds) -> str:
    return "Free host memory: one step lower quantisation, or stop what else holds memory; then run again."


def _host_oom(facts: Facts, main: Finding, limits: Thresholds) -> str:
    words = _words(facts)
    first = f"Take a smaller quantisation, then a smaller {words.context}"
    return f"{first}; llama-server also keeps prompts in RAM: --cache-ram 2048." if words is LLAMA else f"{first}."


def _cpu_only(facts: Facts, main: Finding, limits: Thresholds) -> str:
    if facts.place.gpu_seen is not None or facts.place.by_choice:
        return "If the machine has a GPU, drop the option that keeps it out and use -ngl 99; else a lower quantisation."
    return "Take a smaller or lower quantised model: writing on a CPU is bound by its memory bandwidth."


def _threads(facts: Facts, main: Finding, limits: Thresholds) -> str:
    total = facts.run.setup.n_threads_total
    if total is None:
        return "Use as many threads as the processor has physical cores (-t); the cores of a GPU are not threads."
    return f"Use as many threads as physical cores (-t {max(1, (total or 8) // 2)} to {total or 8})."


def _long_context(facts: Facts, main: Finding, limits: Thresholds) -> str:
    return f"Shorten the context (history, passages), or quantise the cache: {_words(facts).cache}."


def _saturation(facts: Facts, main: Finding, limits: Thresholds) -> str:
    words = _words(facts)
    return f"Take one step lower quantisation, or fewer slots ({words.slots}) and a smaller batch ({words.batch})."


def _shared(facts: Facts, main: Finding, limits: Thresholds) -> str:
    return f"Use fewer slots ({_words(facts).slots}) for faster single answers; more slots only raise the sum."


def _speculation(facts: Facts, main: Finding, limits: Thresholds) -> str:
    if _words(facts) is LLAMA:
        return "Switch the draft model off (-md), or draft fewer tokens (--draft-max 4)."
    return "Switch speculative decoding off, or draft fewer tokens a step."


def _constant(text: str) -> Advice:
    return lambda facts, main, limits: text


def _output(facts: Facts, main: Finding, limits: Thresholds) -> str:
    limit = facts.run.setup.n_predict
    name = _words(facts).output
    first = f"Lower the output limit ({name}, now {limit})" if limit and limit > 0 else f"Set an output limit ({name})"
    return f"{first}; if the rate itself is too low, take one step lower quantisation."


def _decode(facts: Facts, main: Finding, limits: Thresholds) -> str:
    if facts.gpu is None or facts.decode_ratio is None:
        command = record.deciding(facts)
        what = "where the layers are" if command == record.load(facts) else "the card while it answers"
        return f"Record {what}, to see what holds it back: {command}"
    return (
        "Update the program and driver and check the power limit (nvidia-smi -q -d POWER); nothing else is in the way."
    )


def _undecided(facts: Facts, main: Finding, limits: Thresholds) -> str | None:
    if (
        main.cause == "too_short"
        and record.old_program(facts)
        and facts.place.asked is None
        and not record.apple(facts)
    ):
        return "Add -ngl 99 to the command if there is a GPU: without it builds of that time compute on the processor."
    return f"Record what decides: {main.record}" if main.record else None


def _healthy(facts: Facts, main: Finding, limits: Thresholds) -> str | None:
    share = facts.timing.writing.share
    if signs.old_build(facts) and (facts.decode_ratio or 1.0) < limits.decode_abnormal_ratio:
        return "Nothing is wrong for a build of that age. Update the program: builds since write about twice as fast."
    if facts.benchmark:
        return None
    if share is not None and share >= limits.half_share and (facts.timing.write_max_ms or 0) > 5000:
        name = _words(facts).output
        return f"Nothing is wrong. For shorter waits lower the output limit ({name}) first, the quantisation next."
    if share is not None and share < limits.half_share and (facts.timing.ttft_max_ms or 0) > 3000:
        return "Nothing is wrong. For a faster first token shorten the prompt or reuse its beginning."
    return None


_STEPS: dict[str, Callable[[Facts, Finding, Thresholds], str | None]] = {
    "device_oom": _device_oom,
    "partial_offload": _partial,
    "experts_on_host": _experts,
    "kv_on_host": _kv_host,
    "cpu_fallback": _fallback,
    "vram_saturation": _saturation,
    "vram_spill": _constant(
        "Take one step lower quantisation, or fewer layers (-ngl); in the NVIDIA settings set 'CUDA - Sysmem Fallback "
        "Policy' to 'Prefer No Sysmem Fallback', so that it fails instead of crawling."
    ),
    "host_paging": _paging,
    "mmap_thrash": _constant(
        "Free host memory or take a smaller quantisation, so that the mapped file stays in memory."
    ),
    "host_oom": _host_oom,
    "kv_pool_full": _kv_pool,
    "long_prompt": reading_advice.long_prompt,
    "small_batch": reading_advice.small_batch,
    "prompt_reprocessed": reading_advice.prompt_reprocessed,
    "prefill_on_host": reading_advice.prefill_on_host,
    "prefill_below_hardware": reading_advice.prefill_below_hardware,
    "long_output": _output,
    "decode_below_hardware": _decode,
    "contention": _contention,
    "throttled": _constant(
        "Improve cooling or raise the power limit; nvidia-smi -q -d PERFORMANCE names what holds it."
    ),
    "cpu_only": _cpu_only,
    "long_context": _long_context,
    "sampling_overhead": _constant("Use a plain sampler chain: drop --mirostat, grammars and large penalties windows."),
    "speculation_ineffective": _speculation,
    "shared_by_requests": _shared,
    "too_many_threads": _threads,
    "as_expected": _healthy,
    "no_timings": _undecided,
    "telemetry_only": _undecided,
    "failed_for_another_reason": _constant("Read the first error line above and fix it; memory is not what failed."),
    "too_short": _undecided,
}

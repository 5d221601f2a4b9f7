"""Options of llama.cpp's programs and their relatives: one table of spellings, what takes a value, what is private.

Canonical names are llama.cpp's long ones without dashes. Spellings of llama-cpp-python's server (``--n_gpu_layers``)
and koboldcpp (``--gpulayers``) map to the same names.
"""

from __future__ import annotations

# canonical name: other spellings, without dashes, "_" written as "-".
ALIASES: dict[str, str] = {
    "model": "m",
    "hf-repo": "hf hfr",
    "hf-file": "hff",
    "model-url": "mu",
    "model-draft": "md draft-model draftmodel spec-draft-model",
    "hf-repo-draft": "hfd hfrd spec-draft-hf",
    "mmproj": "mm",
    "lora": "",
    "n-gpu-layers": "ngl gpu-layers gpulayers",
    "n-gpu-layers-draft": "ngld gpu-layers-draft spec-draft-ngl",
    "ctx-size": "c n-ctx contextsize",
    "ctx-size-draft": "cd",
    "batch-size": "b n-batch blasbatchsize batchsize",
    "ubatch-size": "ub n-ubatch",
    "parallel": "np n-parallel",
    "threads": "t n-threads",
    "threads-batch": "tb n-threads-batch blasthreads",
    "n-predict": "n predict n-gen",
    "n-prompt": "",
    "flash-attn": "fa flashattention",
    "cache-type-k": "ctk type-k",
    "cache-type-v": "ctv type-v",
    "no-kv-offload": "nkvo",
    "kv-offload": "kvo offload-kqv",
    "no-mmap": "nommap",
    "mmap": "use-mmap",
    "mlock": "usemlock use-mlock",
    "load-mode": "lm",
    "direct-io": "dio",
    "override-tensor": "ot overridetensors",
    "override-tensor-draft": "otd",
    "cpu-moe": "cmoe",
    "n-cpu-moe": "ncmoe moecpu",
    "cpu-moe-draft": "cmoed",
    "n-cpu-moe-draft": "ncmoed",
    "split-mode": "sm",
    "tensor-split": "ts",
    "main-gpu": "mg",
    "device": "dev",
    "device-draft": "devd",
    "fit": "",
    "fit-target": "fitt",
    "fit-ctx": "fitc",
    "temp": "temperature",
    "seed": "s",
    "prompt": "p",
    "file": "f",
    "system-prompt": "sys",
    "reverse-prompt": "r",
    "json-schema": "j",
    "cont-batching": "cb",
    "no-cont-batching": "nocb",
    "conversation": "cnv",
    "no-conversation": "no-cnv",
    "no-repack": "nr",
    "no-op-offload": "nopo",
    "log-verbosity": "lv verbosity",
    "verbose": "v",
    "api-key": "",
    "hf-token": "hft",
    "cache-ram": "cram",
    "cache-reuse": "",
    "keep": "n-keep",
    "draft-max": "draft draft-n spec-draft-n-max",
    "draft-min": "draft-n-min spec-draft-n-min",
    "repetitions": "",
    "depth": "d n-depth",
    "defrag-thold": "dt",
    "pooling": "",
    "alias": "a",
    "kv-unified": "kvu",
    "context-shift": "",
    "usecublas": "usecuda",
}
CANONICAL: dict[str, str] = {spelling: name for name, others in ALIASES.items() for spelling in (name, *others.split())}
# Letters that other programs use differently.
PROGRAM_FLAGS: dict[str, dict[str, str]] = {
    "llama-bench": {"p": "n-prompt", "r": "repetitions", "pg": "pg", "d": "depth"},
    "koboldcpp": {"threads": "threads", "c": "config"},
}


def words(text: str) -> frozenset[str]:
    """The words of ``text``: a long set is easier to read that way."""
    return frozenset(text.split())


# Options that never take a value.
BARE = words(
    "no-kv-offload kv-offload no-mmap mmap mlock cpu-moe cpu-moe-draft no-repack no-op-offload verbose conversation "
    "no-conversation cont-batching no-cont-batching ignore-eos perf no-perf log-prefix log-timestamps log-jsonl "
    "no-display-prompt interactive i instruct ins interactive-first color simple-io single-turn st special no-warmup "
    "warmup jinja no-jinja metrics slots no-slots props embedding embeddings reranking offline swa-full no-context-shift "
    "context-shift kv-unified no-kv-unified no-webui check-tensors low-vram direct-io no-direct-io log-disable "
    "log-enable memory-f32 escape no-escape e verbose-prompt no-host numa-isolate infill multiline-input usevulkan "
    "highpriority smartcontext noshift quiet usecpu run-time-repack rtr fused-moe fmoe version help h list-devices "
    "cpu-strict-off no-penalize-nl mirostat-off cache-list usage"
)
# Options whose value may be left out, with the values that count as one.
OPTIONAL: dict[str, frozenset[str]] = {
    "flash-attn": words("on off auto 0 1 true false enabled disabled 0,1 1,0"),
    "usecublas": words("normal lowvram mmq nommq rowsplit 0 1 2 3 all"),
    "fit": words("on off auto 0 1 true false"),
    "log-colors": words("on off auto"),
    "mmap": frozenset(("0", "1", "0,1", "1,0", "true", "false", "True", "False")),
    "kv-offload": frozenset(("true", "false", "True", "False", "0", "1")),
    "no-kv-offload": frozenset(("0", "1", "0,1")),
    "mlock": frozenset(("true", "false", "True", "False")),
    "kv-unified": frozenset(("on", "off")),
    "embeddings": frozenset(("0", "1")),
}
# Texts of the user and secrets: the option is kept, its value is not.
PRIVATE = words(
    "prompt system-prompt reverse-prompt json-schema grammar in-prefix in-suffix api-key hf-token negative-prompt "
    "cfg-negative-prompt api-key-file ssl-key-file image password chat-template chat-template-kwargs"
)
SECRET_ENV = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
HIDDEN = "…"

# Environment variables whose names are not LLAMA_ARG_ plus an option.
ENV_FLAGS = {
    "LLAMA_ARG_BATCH": "batch-size",
    "LLAMA_ARG_UBATCH": "ubatch-size",
    "LLAMA_ARG_N_PARALLEL": "parallel",
    "LLAMA_ARG_HF_REPO": "hf-repo",
    "LLAMA_ARG_NO_MMAP": "no-mmap",
    "LLAMA_ARG_N_PREDICT": "n-predict",
    "LLAMA_ARG_N_CPU_MOE": "n-cpu-moe",
    "LLAMA_ARG_NO_KV_OFFLOAD": "no-kv-offload",
}


def canonical(flag: str, program: str = "") -> str:
    """Canonical name of an option as typed (``-ngl``, ``--n_gpu_layers``); unknown ones lose only their dashes."""
    name = flag.lstrip("-").replace("_", "-")
    special = PROGRAM_FLAGS.get(program, {})
    if name in special:
        return special[name]
    return CANONICAL.get(name, CANONICAL.get(name.lower(), name))


def env_flag(name: str) -> str | None:
    """Option that an environment variable stands for (``LLAMA_ARG_CTX_SIZE`` -> ``ctx-size``)."""
    if name in ENV_FLAGS:
        return ENV_FLAGS[name]
    if not name.startswith("LLAMA_ARG_"):
        return None
    return canonical(name.removeprefix("LLAMA_ARG_").lower())


def is_secret(name: str) -> bool:
    """True for an environment variable whose value must not be kept."""
    return any(word in name.upper() for word in SECRET_ENV)

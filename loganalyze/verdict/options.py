"""The names that each engine gives to the settings that advice speaks of, as its command line or API spells them."""

from __future__ import annotations

from loganalyze.light import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Settings in the words of one engine. ``all_layers`` and ``cache`` are complete, the others bare names."""

    slots: str
    output: str
    context: str
    batch: str
    all_layers: str
    cache: str


LLAMA = Options("-np", "-n", "-c", "-ub", "-ngl 99", "-fa on -ctk q8_0 -ctv q8_0")
_BY_ENGINE = (
    (
        "ollama",
        Options(
            "OLLAMA_NUM_PARALLEL", "num_predict", "num_ctx", "num_batch", "num_gpu 99",
            "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0",
        ),
    ),
    (
        "vllm",
        Options(
            "--max-num-seqs", "max_tokens", "--max-model-len", "--max-num-batched-tokens", "--cpu-offload-gb 0",
            "--kv-cache-dtype fp8",
        ),
    ),
    (
        "sglang",
        Options(
            "--max-running-requests", "max_new_tokens", "--context-length", "--chunked-prefill-size",
            "--cpu-offload-gb 0", "--kv-cache-dtype fp8_e5m2",
        ),
    ),
    (
        "kobold",
        Options("--multiuser", "max_length", "--contextsize", "--batchsize", "--gpulayers 99",
                "--flashattention --quantkv 1"),
    ),
    (
        "python",
        Options("the number of clients", "max_tokens", "n_ctx", "n_ubatch", "n_gpu_layers=-1",
                "flash_attn=True type_k=8 type_v=8"),
    ),
    (
        "lm studio",
        Options(
            "the number of parallel requests", "the response limit", "the context length", "the evaluation batch size",
            "GPU offload at its maximum", "flash attention on and the KV cache at Q8_0",
        ),
    ),
    (
        "transformers",
        Options("the number of prompts a call", "max_new_tokens", "the length of the input", "the batch size",
                'device_map={"": 0}', "cache_implementation='quantized'"),
    ),
    (
        "mlx",
        Options("the number of parallel requests", "--max-tokens", "the length of the input", "--prefill-step-size",
                "a model that fits", "--kv-bits 8"),
    ),
)  # fmt: skip


def options_of(engine: str) -> Options:
    """Options of ``engine`` (lower case); llama.cpp's for its relatives and unknown engines."""
    return next((options for name, options in _BY_ENGINE if name in engine), LLAMA)

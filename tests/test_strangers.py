"""Logs as people paste them: marked, torn, wrapped, of other engines, ages and cards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loganalyze.api import classify, read
from loganalyze.model.records import Run

BENCH = (
    "| model        |       size |     params | backend    | ngl | test   |          t/s |\n"
    "| --- | ---: | ---: | --- | --: | --- | ---: |\n"
)


def judged(folder: Path, text: str) -> Run:
    log = folder / "run.log"
    log.write_text(text, encoding="utf-8")
    (run,) = classify([log]).runs
    assert run.judgement is not None
    return run


def verdict(folder: Path, text: str) -> tuple[str, str, str]:
    made = judged(folder, text).judgement
    assert made is not None
    return made.verdict, made.cause, made.confidence


def advice(folder: Path, text: str) -> str:
    made = judged(folder, text).judgement
    assert made is not None
    return made.next_step or ""


ANSWER = {
    "model": "m:12b", "response": "1 {2}", "done": True, "total_duration": 4105842756, "load_duration": 3975557,
    "prompt_eval_count": 21, "prompt_eval_duration": 35726000, "eval_count": 150, "eval_duration": 4009729000,
}  # fmt: skip


def test_a_response_below_its_command_is_read(tmp_path: Path) -> None:
    command = '$ curl -s localhost:11434/api/generate -d \'{"model":"m:12b", "stream":false}\' | jq\n'
    run = judged(
        tmp_path, command + json.dumps(ANSWER, indent=2) + "\nand again\n" + json.dumps(ANSWER, indent=2) + "\n"
    )
    assert run.engine == "ollama"
    assert [r.output_tokens for r in run.requests] == [150, 150]


def test_marks_around_figures_do_not_hide_them(tmp_path: Path) -> None:
    text = (
        "total duration:       9.1s\nprompt eval count:    **14 token(s)** <----\nprompt eval duration: 80ms\n"
        "prompt eval rate:     175.00 tokens/s\neval count:           310 token(s)\neval duration:        9.0s\n"
        "eval rate:           **34.44 tokens/s** <----\n\nprompt eval count:    **702 token(s)**\n"
        "eval rate:            **33.90 tokens/s**\n"
    )
    run = judged(tmp_path, text)
    assert [(r.output_tokens, r.eval_tps) for r in run.requests] == [(310, 34.44), (None, 33.9)]
    assert run.requests[0].prompt_tokens == 14


def test_speculative_run_of_2023(tmp_path: Path) -> None:
    block = (
        "llama_print_timings: prompt eval time =   210.60 ms /     9 tokens (   23.40 ms per token,    42.74 tokens per second)\n"
        "llama_print_timings:        eval time = 17360.44 ms /   150 runs   (  115.74 ms per token,     8.64 tokens per second)\n"
        "llama_print_timings:       total time = 61402.19 ms\n"
    )
    text = f"generated 88 tokens in 61.402 seconds, speed: 1.433 t/s\n\nn_drafted = 100\nn_accept  = 31\n\ndraft:\n\n{block}"
    run = judged(tmp_path, text)
    assert [(r.output_tokens, r.eval_tps, r.draft_tokens) for r in run.requests] == [(88, 1.433, 100)]
    assert run.judgement is not None
    assert run.judgement.cause == "speculation_ineffective"


GIN = '[GIN] 2025/03/12 - 12:14:22 | 500 |         1m48s |       127.0.0.1 | POST     "/api/generate"\n'
STAMP = "time=2025-03-12T12:14:22.015Z level="


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("llama runner process has terminated: signal: killed", ("swapping", "host_oom", "medium")),
     ("llama runner process has terminated: cudaMalloc failed: out of memory", ("swapping", "device_oom", "high")),
     ("llama runner process has terminated: exit status 2", ("inconclusive", "failed_for_another_reason", "medium"))],
)  # fmt: skip
def test_what_ended_ollamas_runner(tmp_path: Path, reason: str, expected: tuple[str, str, str]) -> None:
    line = f'{STAMP}ERROR source=sched.go:456 msg="error loading llama server" error="{reason}"\n'
    found = verdict(tmp_path, line + GIN)
    assert found[:2] == expected[:2]
    assert verdict(tmp_path, f"Error: {reason}\n")[:2] == expected[:2]
    assert "--cache-ram" not in advice(tmp_path, line + GIN)


def test_a_card_that_ollama_leaves_out_is_a_fallback(tmp_path: Path) -> None:
    none = f'{STAMP}INFO source=gpu.go:392 msg="no compatible GPUs were discovered"\n'
    out = f'{STAMP}WARN source=amd_windows.go:140 msg="amdgpu is not supported (supported types:[gfx1103])" gpu=0\n'
    assert verdict(tmp_path, out + none) == ("swapping", "cpu_fallback", "medium")
    assert "list-devices" not in advice(tmp_path, out + none)
    assert verdict(tmp_path, none)[0] == "inconclusive"


@pytest.mark.parametrize("message", ['msg="offload to cpu"', "msg=offload library=cpu"])
def test_a_machine_without_a_card_is_no_fallback(tmp_path: Path, message: str) -> None:
    sizes = 'layers.requested=-1 layers.model=25 layers.offload=0 memory.available="[26.9 GiB]"'
    assert verdict(tmp_path, f"{STAMP}INFO source=memory.go:326 {message} {sizes}\n")[0] == "inconclusive"


def test_an_offload_line_wrapped_by_hand(tmp_path: Path) -> None:
    text = (
        f"{STAMP}INFO source=server.go:168 msg=offload\n"
        ' library=cuda layers.requested=-1 layers.model=41 layers.offload=7 layers.split=""\n'
        ' memory.required.full="58.3 GiB" memory.required.partial="9.9 GiB"\n'
    )
    assert verdict(tmp_path, text) == ("swapping", "partial_offload", "high")


def test_requests_to_ollamas_api_name_the_engine(tmp_path: Path) -> None:
    loads = "load_tensors: offloaded 65/65 layers to GPU\n"
    gin = '[GIN] 2025/05/16 - 15:44:10 | 200 |      102.47µs |       127.0.0.1 | GET      "/api/ps"\n'
    assert judged(tmp_path, loads + gin).engine == "ollama"
    assert judged(tmp_path, loads).engine == "llama.cpp"


def progress(*steps: tuple[int, float], end: str = "") -> str:
    lines = [f"2025-11-14 03:14:{s:02}  [INFO]\n [org/model.gguf] Prompt processing progress: {p}%\n" for s, p in steps]
    return "".join(lines) + end


def test_lm_studio_prompt_that_is_still_read(tmp_path: Path) -> None:
    run = judged(tmp_path, progress((5, 0.0), (14, 21.0), (33, 60.5)))
    assert run.judgement is not None
    assert (run.judgement.verdict, run.judgement.cause) == ("slow reading", "long_prompt")
    assert "still being read" in run.judgement.summary
    assert verdict(tmp_path, progress((5, 0.0), (6, 50.0), (7, 90.0)))[0] == "inconclusive"


def test_lm_studio_progress_that_begins_again_is_another_prompt(tmp_path: Path) -> None:
    run = judged(tmp_path, progress((5, 0.0), (8, 100.0), (20, 0.0), (29, 100.0)))
    assert [r.prompt_ms for r in run.requests] == [3000.0, 9000.0]


def test_a_lone_prompt_line_is_no_unfinished_prompt(tmp_path: Path) -> None:
    line = "llama_print_timings: prompt eval time =   {} ms /   {} tokens (  1.00 ms per token,     {} tokens per second)\n"
    run = judged(tmp_path, line.format("15203.11", 83, "5.46"))
    assert run.judgement is not None
    assert (run.judgement.cause, run.judgement.confidence) == ("prefill_below_hardware", "low")
    assert "log ends" not in run.judgement.summary
    run = judged(tmp_path, line.format("15203.11", 9100, "598.56"))
    assert run.judgement is not None
    assert run.judgement.cause == "long_prompt"
    assert "log ends" not in run.judgement.summary


def test_slow_halves_are_not_called_normal(tmp_path: Path) -> None:
    text = (
        "prompt eval time =   61715.84 ms /  4280 tokens (   14.42 ms per token,    69.35 tokens per second)\n"
        "       eval time =   26350.14 ms /   141 tokens (  186.88 ms per token,     5.35 tokens per second)\n"
        "      total time =   88065.99 ms /  4421 tokens\n"
    )
    made = judged(tmp_path, text).judgement
    assert made is not None
    assert (made.verdict, made.confidence) == ("slow reading", "medium")
    assert "normal" not in made.summary


def test_a_benchmark_has_no_long_prompt(tmp_path: Path) -> None:
    row = "| llama 3B Q4_K - Medium |   1.87 GiB |     3.21 B | Vulkan     |  99 | {} |     {} ± 0.05 |\n"
    made = judged(tmp_path, BENCH + row.format("pp8192", 255.79) + row.format("tg64", 36.2)).judgement
    assert made is not None
    assert made.verdict == "healthy"
    assert not made.next_step


@pytest.mark.parametrize(("threads", "cause"), [(6912, "too_many_threads"), (64, "too_short")])
def test_threads_that_no_machine_has(tmp_path: Path, threads: int, cause: str) -> None:
    text = (
        f"./build/bin/llama-cli -m model.gguf -t {threads} -n 50 -p hello\n"
        "llama_perf_context_print: prompt eval time = 4511.02 ms / 10 tokens ( 451.10 ms per token, 2.22 tokens per second)\n"
        "llama_perf_context_print: eval time = 386331.11 ms / 39 runs ( 9905.93 ms per token, 0.10 tokens per second)\n"
    )
    assert verdict(tmp_path, text)[1] == cause
    if cause == "too_short":
        assert "swap" in (judged(tmp_path, text).judgement or judged).summary  # type: ignore[union-attr]
        assert "vmstat" in advice(tmp_path, text)


EVAL = "llama_print_timings:        eval time =    9971.03 ms /   119 runs   (   83.79 ms per token,    11.93 tokens per second)\n"


def test_builds_that_offload_nothing_unasked(tmp_path: Path) -> None:
    assert "-ngl 99" in advice(tmp_path, f"./main -m ./models/llama-2-7b-chat.Q2_K.gguf -n 400\n{EVAL}")
    assert "-lv" not in advice(tmp_path, f"./main -m ./models/llama-2-7b-chat.Q2_K.gguf -n 400 -ngl 20\n{EVAL}")


def test_offered_card_without_layers_needs_the_option(tmp_path: Path) -> None:
    text = "load_tensors: offloading 0 repeating layers to GPU\nload_tensors: offloaded 0/49 layers to GPU\n"
    text += "load_tensors:   CPU_Mapped model buffer size = 13924.41 MiB\n"
    assert advice(tmp_path, text).startswith("Set -ngl 99")


def test_fast_writing_alone_is_told_as_what_it_is(tmp_path: Path) -> None:
    text = "eval rate:            44.61 tokens/s\n"
    made = judged(tmp_path, "eval count:           120 token(s)\neval duration:        2.69s\n" + text).judgement
    assert made is not None
    assert (made.verdict, made.confidence) == ("healthy", "low")
    assert "Both halves" not in made.summary


def test_old_builds_are_measured_by_their_age(tmp_path: Path) -> None:
    def log(build: int, tps: float) -> str:
        ms = 128_000 / tps
        return (
            f"main: build = {build} (0919a0f)\nggml_init_cublas: found 1 CUDA devices:\n"
            "  Device 0: NVIDIA A100-SXM4-80GB, compute capability 8.0\n"
            "llm_load_print_meta: model ftype      = Q4_0\nllm_load_print_meta: model params     = 6.74 B\n"
            "llm_load_print_meta: model size       = 3.56 GiB (4.54 BPW)\n"
            "llm_load_tensors: offloaded 33/33 layers to GPU\nllm_load_tensors:      CUDA0 buffer size =  3577.56 MiB\n"
            f"llama_print_timings:        eval time = {ms:.2f} ms /   128 runs   ( {ms / 128:.2f} ms per token, "
            f"{tps:.2f} tokens per second)\n"
        )

    assert verdict(tmp_path, log(1050, 70.0))[:2] == ("healthy", "as_expected")
    assert "Update" in advice(tmp_path, log(1050, 70.0))
    assert verdict(tmp_path, log(6050, 70.0))[:2] == ("slow writing", "decode_below_hardware")
    assert verdict(tmp_path, log(1050, 18.0))[:2] == ("slow writing", "decode_below_hardware")


def test_early_sycl_lines(tmp_path: Path) -> None:
    text = (
        "found 1 SYCL devices:\n"
        "| 0|[level_zero:gpu:0]|          Intel(R) Arc(TM) A750 Graphics|       1.3|        448|    1024|     32|     8096681984|\n"
        "llm_load_tensors: offloaded 33/33 layers to GPU\n"
        "llm_load_tensors:            buffer size =  3577.56 MiB\n"
        "llm_load_tensors:        CPU buffer size =    70.31 MiB\n"
    )
    run = judged(tmp_path, text)
    assert [(d.name, round(d.total_mib or 0)) for d in run.devices] == [("Intel(R) Arc(TM) A750 Graphics", 7722)]
    assert [b.mib for b in run.memory if b.device == "SYCL0"] == [3577.56]


def test_a_torn_excerpt_does_not_shrink_the_model(tmp_path: Path) -> None:
    text = (
        "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes\n"
        "llm_load_tensors: offloaded 33/33 layers to GPU\nllm_load_tensors:        CPU buffer size =    70.31 MiB\n"
        "llama_print_timings:        eval time =    2500.00 ms /   250 runs   (   10.00 ms per token,   100.00 tokens per second)\n"
    )
    assert verdict(tmp_path, text)[0] == "healthy"


TABLE = """Tue Dec 10 07:30:02 2024
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.127.05             Driver Version: 550.127.05     CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA L40S                    On  |   00000000:03:00.0 Off |                    0 |
| N/A   N/A    P8             N/A /  N/A  |   21043MiB /  24576MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
BLOCK = (
    "prompt eval count:    31 token(s)\nprompt eval duration: 2.118s\nprompt eval rate:     14.64 tokens/s\n"
    "eval count:           212 token(s)\neval duration:        1m49.9s\neval rate:            1.93 tokens/s\n"
)


@pytest.mark.parametrize("text", [TABLE + BLOCK, BLOCK + TABLE, "words of an answer\n" * 30 + BLOCK + TABLE])
def test_a_table_and_timings_in_one_post(tmp_path: Path, text: str) -> None:
    log = tmp_path / "post.txt"
    log.write_text(text)
    reading = read([log])
    assert [[r.eval_tps for r in run.requests] for run in reading.runs] == [[1.93]]
    assert [[c.kind for c in run.captures] for run in reading.runs] == [["gpu"]]
    (source,) = reading.sources
    assert source.lines == source.matched + source.unmatched + source.skipped
    assert verdict(tmp_path, text)[0] == "slow writing"


def test_a_table_alone_stays_telemetry(tmp_path: Path) -> None:
    assert verdict(tmp_path, TABLE + "| Processes: |\n")[:2] == ("inconclusive", "telemetry_only")


@pytest.mark.parametrize(
    ("text", "words"),
    [("4.21 tok/sec • 388 tokens • 12.07s to first token • Stop reason: EOS Token Found\n", "lms "),
     ("CtxLimit:1378/8192, Amt:209/512, Init:0.00s, Process:4.08s (286.5T/s), Generate:44.08s (4.74T/s), Total:48.16s\n",
      "koboldcpp "),
     ("Prompt: 36 tokens, 30.512 tokens-per-sec\nGeneration: 200 tokens, 0.871 tokens-per-sec\n", "vm_stat")],
)  # fmt: skip
def test_what_to_record_is_a_command_of_that_engine(tmp_path: Path, text: str, words: str) -> None:
    assert words in advice(tmp_path, text)


@pytest.mark.parametrize("month", ["Okt 12", "août 08", "7月 24", "Mär  8", "févr. 08"])
def test_a_journal_in_the_readers_language(tmp_path: Path, month: str) -> None:
    head = f"{month} 23:02:37 box ollama[1617]: time=2025-08-08T23:02:37.146+01:00 level=INFO source=server.go:175 "
    line = "msg=offload library=cuda layers.requested=49 layers.model=49 layers.offload=31"
    assert verdict(tmp_path, f"{head}{line}\n" * 2) == ("swapping", "partial_offload", "high")


def test_unknown_months_are_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("xyz 12 23:02:37 box ollama[1617]: eval rate is fine\n" * 3)
    assert not read([log]).runs


def test_ollamas_own_engine_says_where_weights_are(tmp_path: Path) -> None:
    head = "time=2025-07-18T14:50:44.599Z level=INFO source=ggml.go:362 "
    run = judged(
        tmp_path,
        f'{head}msg="offloaded 36/37 layers to GPU"\n{head}msg="model weights" buffer=CUDA0 size="7.5 GiB"\n'
        f'{head}msg="model weights" buffer=CPU size="1.5 GiB"\n',
    )
    assert (run.setup.layers_on_gpu, run.setup.layers_total) == (36, 37)
    assert [(b.device, b.mib) for b in run.memory] == [("CUDA0", 7680.0), ("CPU", 1536.0)]


def test_stamps_of_lm_studio_name_the_engine(tmp_path: Path) -> None:
    text = "2025-08-14 21:59:09 [DEBUG]\n load_tensors: offloaded 0/25 layers to GPU\n"
    text += "load_tensors:   CPU_Mapped model buffer size = 9536.18 MiB\n"
    assert judged(tmp_path, text).engine == "lm studio"
    assert "-ngl" not in advice(tmp_path, text)


@pytest.mark.parametrize(("gib", "expected"), [("24.0", "partial_offload"), ("0", "too_short")])
def test_weights_that_vllm_keeps_in_host_memory(tmp_path: Path, gib: str, expected: str) -> None:
    text = (
        f"INFO 07-17 13:38:58 api_server.py:216] args: Namespace(host=None, model='m', cpu_offload_gb={gib}, seed=0)\n"
    )
    line = (
        "INFO 07-17 13:50:{} metrics.py:295] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 5.1 tokens/s, "
        "Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 0.2%, CPU KV cache usage: 0.0%.\n"
    )
    assert verdict(tmp_path, text + line.format("05") + line.format("10"))[1] == expected


@pytest.mark.parametrize(
    ("user", "kernel", "cause"),
    [("2m0.0s", "1m44.0s", "mmap_thrash"), ("0m20.0s", "0m5.0s", "mmap_thrash"), ("14m50.0s", "0m44.0s", "cpu_only")],
)
def test_time_tells_that_threads_wait(tmp_path: Path, user: str, kernel: str, cause: str) -> None:
    (tmp_path / "run.log").write_text(
        "./llama-cli -m big.gguf -dev none -t 16 -n 32 -p hello\n"
        "llama_perf_context_print: prompt eval time = 15511.02 ms / 60 tokens ( 258.52 ms per token, 3.87 tokens per second)\n"
        "llama_perf_context_print: eval time = 46331.11 ms / 31 runs ( 1494.55 ms per token, 0.67 tokens per second)\n"
    )
    (tmp_path / "time.txt").write_text(f"\nreal\t1m6.330s\nuser\t{user}\nsys\t{kernel}\n")
    (run,) = classify([tmp_path / "run.log", tmp_path / "time.txt"]).runs
    assert run.judgement is not None
    if cause == "mmap_thrash":
        assert (run.judgement.verdict, run.judgement.cause, run.judgement.confidence) == ("swapping", cause, "medium")
    else:
        assert run.judgement.verdict != "swapping"


def test_a_llamafile_without_a_card_is_not_sure(tmp_path: Path) -> None:
    text = "main: llamafile version 0.6.2\nllm_load_tensors: offloaded 0/33 layers to GPU\n" + EVAL
    assert verdict(tmp_path, text) == ("swapping", "cpu_fallback", "medium")
    assert verdict(tmp_path, "llm_load_tensors: offloaded 0/33 layers to GPU\n" + EVAL)[2] == "high"


CARD = "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes\n"
LOADED = (
    "print_info: model type       = 27B\nprint_info: model params     = 27.01 B\nprint_info: file type   = Q4_0\n"
    "print_info: file size   = 14.15 GiB (4.50 BPW) \n"
)
TIMES = (
    "prompt eval time =     {p} ms /   243 tokens (    0.59 ms per token,  1682.22 tokens per second)\n"
    "       eval time =    {e} ms /    96 tokens (   21.48 ms per token,    46.55 tokens per second)\n"
)


NAMED = (
    "llama_model_loader: loaded meta data with 26 key-value pairs and 707 tensors "
    "from /m/llama-27b-Q4_0.gguf (version GGUF V3 (latest))\n"
)


@pytest.mark.parametrize("told", [LOADED, NAMED])
def test_the_buffer_of_the_embeddings_alone_places_nothing(told: str, tmp_path: Path) -> None:
    """The lines of the card's buffers are missing: 88 MiB on the host are not the 14 GiB of the model."""
    text = (
        CARD
        + told
        + "load_tensors:   CPU_Mapped model buffer size =    87.89 MiB\n"
        + TIMES.format(p=144.45, e=2062.39)
    )
    run = judged(tmp_path, text)
    assert run.judgement is not None
    assert run.judgement.cause != "cpu_fallback"
    assert not any("all weights are in host memory" in f.text for f in run.judgement.findings)
    whole = told + "load_tensors:   CPU_Mapped model buffer size = 14489.60 MiB\n" + TIMES.format(p=9000, e=30000)
    run = judged(tmp_path, CARD + whole)
    assert run.judgement is not None
    assert (run.judgement.verdict, run.judgement.cause) == ("swapping", "cpu_fallback")


@pytest.mark.parametrize(("prompt_ms", "told"), [(1240.0, "inconclusive"), (300.0, "healthy")])
def test_a_ratio_between_processor_and_card_proves_no_card(prompt_ms: float, told: str, tmp_path: Path) -> None:
    """Timings alone: 30 t/s read 6 times as fast may be experts on the host; 27 times as fast is a card."""
    assert verdict(tmp_path, TIMES.format(p=prompt_ms, e=3200.0))[0] == told


def test_an_excerpt_without_writing_is_no_proof_of_both_halves(tmp_path: Path) -> None:
    text = (
        "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes\n"
        "print_info: model params     = 8.03 B\nprint_info: file size   = 4.58 GiB (4.89 BPW) \n"
        "load_tensors: offloaded 33/33 layers to GPU\nload_tensors:        CUDA0 model buffer size =  4403.49 MiB\n"
        "prompt eval time =     250.00 ms /  1000 tokens (    0.25 ms per token,  4000.00 tokens per second)\n"
    )
    run = judged(tmp_path, text)
    assert run.judgement is not None
    assert "both halves" not in run.judgement.summary.lower()
    assert run.judgement.confidence != "high"


OVER = (
    "ggml_backend_metal_buffer_from_ptr: allocated buffer, size =  3072.00 MiB, ( 9216.40 /  8192.00)"
    "ggml_backend_metal_log_allocated_size: warning: current allocated size is greater than the recommended max working "
    "set size\n"
)


def test_a_warning_glued_to_the_sizes_of_metal(tmp_path: Path) -> None:
    timings = (
        "llama_print_timings: prompt eval time =   61034.00 ms /    14 tokens ( 4359.57 ms per token,     0.23 tokens per second)\n"
        "llama_print_timings:        eval time =  209433.00 ms /    23 runs   ( 9105.78 ms per token,     0.11 tokens per second)\n"
    )
    assert verdict(tmp_path, OVER + timings) == ("swapping", "vram_saturation", "high")


def test_a_failed_command_buffer_above_the_working_set_is_memory(tmp_path: Path) -> None:
    failed = "ggml_metal_graph_compute: command buffer 3 failed with status 5\n"
    assert verdict(tmp_path, OVER + failed)[:2] == ("swapping", "device_oom")
    assert verdict(tmp_path, failed)[:2] == ("inconclusive", "failed_for_another_reason")


def test_a_benchmark_table_without_its_outer_bars(tmp_path: Path) -> None:
    text = (
        "model | size | params | backend | ngl | test | t/s\n-- | -- | -- | -- | -- | -- | --\n"
        "llama 8B Q4_0 | 4.33 GiB | 8.03 B | Metal | 99 | pp 256 | 151.20 ± 0.31\n"
        "llama 8B Q4_0 | 4.33 GiB | 8.03 B | Metal | 99 | tg 128 | 17.41 ± 0.22\n"
    )
    run = judged(tmp_path, text)
    assert [(r.prompt_tps, r.eval_tps) for r in run.requests] == [(151.2, None), (None, 17.41)]
    assert run.setup.n_gpu_layers == 99


def test_server_lines_that_lost_their_level(tmp_path: Path) -> None:
    text = (
        "[           print_timings] prompt eval time     =   30500.00 ms /  1830 tokens (   16.67 ms per token,    60.00 tokens "
        'per second) | tid="1" timestamp=1748014236 id_slot=0 id_task=0\n'
        "INFO [           print_timings] generation eval time =   20000.00 ms /   200 runs   (  100.00 ms per token,    10.00 "
        'tokens per second) | tid="1" timestamp=1748014236 id_slot=0 id_task=0\n'
    )
    (request,) = judged(tmp_path, text).requests
    assert (request.prompt_tokens, request.output_tokens) == (1830, 200)


@pytest.mark.parametrize("status", ["", "500 Internal Server Error: ", "500: "])
def test_ollama_that_refuses_for_host_memory(status: str, tmp_path: Path) -> None:
    text = f"Error: {status}model requires more system memory (7.3 GiB) than is available (5.1 GiB)\n"
    assert verdict(tmp_path, text) == ("swapping", "host_oom", "high")


def test_a_card_without_room_for_a_layer_is_a_fallback(tmp_path: Path) -> None:
    text = f'{STAMP}DEBUG source=memory.go:351 msg="insufficient VRAM to load any model layers"\n'
    assert verdict(tmp_path, text)[:2] == ("swapping", "cpu_fallback")
    assert "not one layer fits" in advice(tmp_path, text)


SLOW_BENCH = (
    "ggml_vulkan: 0 = AMD Radeon RX 7800 XT (RADV NAVI32) (radv) | uma: 0 | fp16: 1 | bf16: 0 | warp size: 64 | "
    "shared memory: 65536 | int dot: 1 | matrix cores: KHR_coopmat\n"
)


@pytest.mark.parametrize(("rate", "expected"), [(14.2, "slow writing"), (55.3, "healthy")])
def test_a_benchmark_tells_that_all_layers_are_on_the_card(rate: float, expected: str, tmp_path: Path) -> None:
    text = (
        f"{SLOW_BENCH}{BENCH}| qwen3 8B Q6_K | 6.26 GiB | 8.19 B | Vulkan | 99 | pp512 | 1190.30 ± 4.10 |\n"
        f"| qwen3 8B Q6_K | 6.26 GiB | 8.19 B | Vulkan | 99 | tg128 | {rate:.2f} ± 0.10 |\n"
    )
    assert verdict(tmp_path, text)[0] == expected


def test_a_third_of_the_expected_rate_is_no_proof_of_health(tmp_path: Path) -> None:
    text = (
        f"  Device 0: NVIDIA GeForce RTX 5080, compute capability 12.0, VMM: yes\n{BENCH}"
        "| qwen3moe 30B.A3B Q3_K - Medium | 13.70 GiB | 30.53 B | CUDA | 99 | pp512 | 3900.10 ± 9.10 |\n"
        "| qwen3moe 30B.A3B Q3_K - Medium | 13.70 GiB | 30.53 B | CUDA | 99 | tg128 | 61.20 ± 0.30 |\n\n"
        "build: 1c2d3e4f5 (9001)\n"
    )
    assert verdict(tmp_path, text)[0] != "healthy"


OLD_CUBLAS = (
    "llama_model_load_internal: n_layer    = 40\nllama_model_load_internal: model size = 13B\n"
    "llama_model_load_internal: mem required  = 9807.48 MB (+ 1608.00 MB per state)\n"
    "llama_model_load_internal: [cublas] offloading 40 layers to GPU\n"
    "llama_model_load_internal: [cublas] offloading output layer to GPU\n"
    "llama_model_load_internal: [cublas] total VRAM used: 7562 MB\nllama_init_from_file: kv self size  = 1600.00 MB\n"
)


def test_all_layers_of_a_build_that_does_not_sum_up(tmp_path: Path) -> None:
    eval_line = "llama_print_timings:        eval time = 22000.00 ms /    88 runs   (  250.00 ms per token)\n"
    run = judged(tmp_path, OLD_CUBLAS + eval_line)
    assert (run.setup.layers_on_gpu, run.setup.layers_total) == (41, 41)
    assert verdict(tmp_path, OLD_CUBLAS + eval_line)[:2] == ("swapping", "kv_on_host")
    assert "Update the program" in advice(tmp_path, OLD_CUBLAS + eval_line)


def test_a_cache_in_host_memory_does_not_explain_a_minute_a_token(tmp_path: Path) -> None:
    crawl = "llama_print_timings:        eval time = 540000.00 ms /    9 runs   (60000.00 ms per token)\n"
    assert verdict(tmp_path, OLD_CUBLAS + crawl)[0] == "inconclusive"


@pytest.mark.parametrize(("tokens", "seconds", "asks"), [(1030, 9.2, True), (5900, 12.0, False)])
def test_a_prompt_read_at_a_middling_ratio_asks_where(tokens: int, seconds: float, asks: bool, tmp_path: Path) -> None:
    text = (
        f"prompt eval time =    {seconds * 1000:.2f} ms / {tokens:5} tokens ( {seconds * 1000 / tokens:.2f} ms per token, "
        f"{tokens / seconds:.2f} tokens per second)\n"
        "       eval time =    1200.00 ms /    24 tokens (   50.00 ms per token,    20.00 tokens per second)\n"
    )
    assert verdict(tmp_path, text)[:2] == ("slow reading", "long_prompt")
    assert ("where prompts are computed" in advice(tmp_path, text)) == asks


@pytest.mark.parametrize(("layers", "cause"), [(-1, "cpu_only"), (99, "cpu_only"), (33, "cpu_fallback")])
def test_the_default_of_a_benchmark_asks_for_no_card(layers: int, cause: str, tmp_path: Path) -> None:
    """llama-bench prints -1 (99 before 2026) as its GPU layers in a build that knows the CPU only."""
    told = {
        "build_commit": "abc1234", "build_number": 9000, "cpu_info": "some processor", "gpu_info": "", "backends": "CPU",
        "model_filename": "m.gguf", "model_type": "llama 8B Q4_0", "model_size": 4_653_375_488,
        "model_n_params": 8_030_261_312, "n_batch": 2048, "n_ubatch": 512, "n_threads": 8, "n_gpu_layers": layers,
        "devices": "auto", "n_depth": 0, "stddev_ts": 0.0,
    }  # fmt: skip
    rows = [
        {**told, "n_prompt": 512, "n_gen": 0, "avg_ns": 25_600_000_000, "avg_ts": 20.0},
        {**told, "n_prompt": 0, "n_gen": 128, "avg_ns": 32_000_000_000, "avg_ts": 4.0},
    ]
    assert verdict(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))[1] == cause


def test_a_buffer_above_what_metal_allows_is_memory(tmp_path: Path) -> None:
    text = (
        "libc++abi: terminating due to uncaught exception of type std::runtime_error: Attempting to allocate 23622320128 "
        "bytes which is greater than the maximum allowed buffer size of 14315000000 bytes.\n"
    )
    assert verdict(tmp_path, text)[:2] == ("swapping", "device_oom")
    other = "libc++abi: terminating due to uncaught exception of type std::runtime_error: no such file\n"
    assert verdict(tmp_path, other)[:2] == ("inconclusive", "failed_for_another_reason")


def test_a_loaded_card_is_not_held_by_another_process(tmp_path: Path) -> None:
    log = (
        "NAME         ID              SIZE     PROCESSOR          CONTEXT    UNTIL\n"
        "qwen3:32b    0123456789ab    26 GB    38%/62% CPU/GPU    8192       4 minutes from now\n"
        "prompt eval count:    14 token(s)\nprompt eval duration: 1.2s\nprompt eval rate:     11.67 tokens/s\n"
        "eval count:           380 token(s)\neval duration:        1m20s\neval rate:            4.75 tokens/s\n"
    )
    (tmp_path / "ollama.txt").write_text(log, encoding="utf-8")
    rows = "NVIDIA GeForce RTX 4060 Ti, 15620 MiB, 16380 MiB, 12 %\n" * 5
    (tmp_path / "smi.csv").write_text(
        "name, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n" + rows, encoding="utf-8"
    )
    (run,) = classify([tmp_path / "ollama.txt", tmp_path / "smi.csv"]).runs
    assert run.judgement is not None
    assert run.judgement.cause == "partial_offload"
    assert "another process" not in run.judgement.summary
    assert "num_ctx" in (run.judgement.next_step or "")


def test_reading_at_the_rate_of_unified_memory_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    text = (
        "mlx_lm.generate --model some/Llama-3.1-8B-Instruct-4bit\n==========\nPrompt: 30210 tokens, 251.300 tokens-per-sec\n"
        "Generation: 900 tokens, 22.410 tokens-per-sec\nPeak memory: 13.100 GB\n"
    )
    assert verdict(tmp_path, text)[:2] == ("slow reading", "long_prompt")
    assert advice(tmp_path, text).startswith("Shorten the prompt")

"""Lines of other engines give the figures they print; the records keep units and meaning."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from loganalyze.api import classify, read
from loganalyze.formats import LOG_FORMATS, pairs
from loganalyze.formats.log_reader import read_log
from loganalyze.grammar import Matcher
from loganalyze.model.records import Run
from loganalyze.scan import all_lines, open_source

LINES = Path(__file__).resolve().parent.parent / "fixtures" / "engines" / "lines.jsonl"
ROWS = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]


def runs_of(text: str) -> list[Run]:
    with open_source(text.encode()) as opened:
        return read_log(opened, opened.source)


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    modules = [import_module(f"loganalyze.formats.{name}") for name in LOG_FORMATS]
    return Matcher(tuple(dict.fromkeys(g for m in modules for g in m.GRAMMARS)))


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{r['engine']}-{r['era']}" for i, r in enumerate(ROWS)])
def test_every_number_of_the_catalogue_is_read(row: dict[str, Any], matcher: Matcher) -> None:
    with open_source(row["line"].encode()) as opened:
        text = next(iter(all_lines(opened))).text
    match = matcher.match(text)
    if not row["expect"]:
        assert match is None
        return
    assert match is not None
    told = " ".join(str(v) for v in match.fields.values())
    for value in row["expect"].values():
        number = pairs.number(str(value).replace(",", "."))
        if number is not None:
            assert any(n == number for n in _numbers(told)), (value, match)


def _numbers(text: str) -> list[float]:
    import re

    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", text)]


def test_sglang_interval_lines_become_throughput_and_queue() -> None:
    run = runs_of(
        "[2026-09-01 10:00:00] Prefill batch, #new-seq: 1, #new-token: 4096, #cached-token: 12, token usage: 0.02, "
        "#running-req: 1, #queue-req: 0, input throughput (token/s): 3911.55\n"
        "[2026-09-01 10:00:04] Decode batch, #running-req: 2, #token: 5120, token usage: 0.91, "
        "gen throughput (token/s): 88.12, #queue-req: 3\n"
    )[0]
    assert run.engine == "sglang"
    first, second = (e.data for e in run.events if e.kind == "throughput")
    assert (first["prompt_tps"], first["new_tokens"], first["cached_tokens"]) == (3911.55, 4096, 12)
    assert (second["gen_tps"], second["running"], second["kv_usage_pct"]) == (88.12, 2, 91.0)
    assert [e.data["waiting"] for e in run.events if e.kind == "queue"] == [3]


def test_vllm_counters_at_zero_are_no_swapping() -> None:
    line = (
        "INFO 01-15 10:22:33 metrics.py:467] Avg prompt throughput: 812.4 tokens/s, Avg generation throughput: 96.1 "
        "tokens/s, Running: 4 reqs, Swapped: {} reqs, Pending: 1 reqs, GPU KV cache usage: 37.2%, CPU KV cache usage: 0.0%.\n"
    )
    assert not [e for e in runs_of(line.format(0))[0].events if e.kind == "preempted"]
    assert [e.data["mode"] for e in runs_of(line.format(2))[0].events if e.kind == "preempted"] == ["swap"]


VERBOSE = """total duration:       12.480112s
load duration:        3.184201055s
prompt eval count:    2048 token(s)
prompt eval duration: {duration}
prompt eval rate:     {rate} tokens/s
eval count:           256 token(s)
eval duration:        7.40112s
eval rate:            34.59 tokens/s
"""


def test_ollama_verbose_block() -> None:
    run = runs_of(VERBOSE.format(duration="1.729441s", rate="1184.20"))[0]
    request = run.requests[0]
    assert (run.engine, run.load_ms) == ("ollama", 3184.201055)
    assert (request.prompt_tokens, request.prompt_ms, request.prompt_tps) == (2048, 1729.441, 1184.20)
    assert (request.output_tokens, request.eval_ms, request.eval_tps) == (256, 7401.12, 34.59)
    assert request.total_ms == 12480.112


def test_ollama_cached_prompt_is_no_rate() -> None:
    request = runs_of(VERBOSE.format(duration="41.2ms", rate="49708.74"))[0].requests[0]
    assert request.prompt_tps is None
    assert (request.prompt_tokens, request.cached_tokens) == (None, 2048)


@pytest.mark.parametrize(("processor", "share"), [("48%/52% CPU/GPU", 48.0), ("100% CPU", 100.0), ("100% GPU", None)])
def test_ollama_ps_share(processor: str, share: float | None) -> None:
    run = runs_of(f"qwen2.5:32b       9f13ba1299af    24 GB     {processor}    8192       4 minutes from now\n")[0]
    assert [e.data["share_pct"] for e in run.events if e.kind == "host_weights"] == ([share] if share else [])
    assert run.setup.n_ctx == 8192


def test_ollama_offload_line() -> None:
    run = runs_of(
        'time=2024-09-02T18:11:05.120+02:00 level=INFO source=memory.go:309 msg="offload to cuda" layers.requested=-1 '
        'layers.model=33 layers.offload=21 layers.split="" memory.available="[5.6 GiB]" memory.required.full="7.9 GiB"\n'
    )[0]
    assert (run.setup.layers_on_gpu, run.setup.layers_total) == (21, 33)
    assert run.facts["free_mib"] == pytest.approx(5.6 * 1024)


def test_whole_call_rates_are_marked() -> None:
    request = runs_of("Output generated in 12.34 seconds (10.37 tokens/s, 128 tokens, context 512, seed 1)\n")[
        0
    ].requests[0]
    assert request.end_to_end_tps
    assert (request.total_ms, request.output_tokens, request.prompt_tokens) == (12340.0, 128, 512)


def test_torch_out_of_memory_underflow_is_dropped() -> None:
    run = runs_of(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 1 has a total capacity of 23.64 GiB "
        "of which 0 bytes is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use.\n"
    )[0]
    data = run.events[0].data
    assert (data["mib"], data["free_mib"], data["process_mib"]) == (pytest.approx(1.96 * 1024), 0.0, None)


def test_transformers_capture(fixtures: Path) -> None:
    run = read([fixtures / "engines" / "h200-hf.log"]).runs[0]
    assert [round(r.total_ms or 0) for r in run.requests] == [4211, 614, 603, 3458, 651, 630, 572, 628, 2886, 2808]
    assert [r.output_tokens for r in run.requests] == [64] * 8 + [16] * 2
    assert run.facts["device_map"] == {"0": 7, "cpu": 13}
    assert run.facts["footprint_mib"] == pytest.approx(2208436480 / 2**20)
    failed = [e for e in run.events if e.kind == "alloc_failed"]
    assert failed[0].data["mib"] == 200 * 1024


def test_bench_outputs_agree(fixtures: Path) -> None:
    rates = {}
    for name in ("md", "csv", "json", "jsonl"):
        runs = read([fixtures / "bench" / f"bench.{name}"]).runs
        assert [run.setup.n_gpu_layers for run in runs] == [99, 16]
        rates[name] = [(r.prompt_tokens, r.output_tokens) for run in runs for r in run.requests]
        assert all(run.version == "b11434" for run in runs)
    assert len({tuple(v) for v in rates.values()}) == 1


def test_batched_bench_divides_by_streams(fixtures: Path) -> None:
    run = read([fixtures / "bench" / "batched.txt"]).runs[0]
    assert [r.eval_tps for r in run.requests] == [307.83, 954.87 / 4, 1329.73 / 8]
    assert run.facts["bench_output_tps"] == 1329.73


def test_timings_of_b796_count_the_answer() -> None:
    record = {
        "timings": {
            "prompt_n": 64,
            "prompt_ms": 1000.0,
            "prompt_per_second": 500.0,
            "predicted_n": 64,
            "predicted_ms": 640.0,
        }
    }
    request = runs_of(json.dumps(record) + "\n")[0].requests[0]
    assert (request.prompt_tokens, request.prompt_tps) == (500, 500.0)


def test_client_times_and_cached_tokens(fixtures: Path) -> None:
    run = read([fixtures / "corpus" / "np4_8req" / "requests.jsonl"]).runs[0]
    assert len(run.requests) == 8
    first = run.requests[0]
    assert (first.prompt_tokens, first.cached_tokens, first.output_tokens) == (246, 0, 96)
    assert first.ttft_ms == pytest.approx(247.74, abs=0.01)
    assert first.eval_tps == pytest.approx(75.19, abs=0.01)


def test_stamped_stream_gives_first_token_and_rate() -> None:
    head = '{"object":"chat.completion.chunk","choices":[{"index":0,"delta":'
    lines = [
        f'1719846120.100 data: {head}{{"role":"assistant"}}}}]}}',
        f'1719846123.400 data: {head}{{"content":"Hello"}}}}]}}',
        f'1719846133.400 data: {head}{{"content":" end"}}}}]}}',
        '1719846133.401 data: {"choices":[],"usage":{"completion_tokens":101,"prompt_tokens":246,"total_tokens":347}}',
        "1719846133.402 data: [DONE]",
    ]
    (request,) = runs_of("\n".join(lines) + "\n")[0].requests
    assert request.ttft_ms == pytest.approx(3300)
    assert (request.prompt_tokens, request.output_tokens, request.eval_tokens) == (246, 101, 100)
    assert request.eval_tps == pytest.approx(10.0)


def test_response_over_several_lines(tmp_path: Path) -> None:
    record = {
        "choices": [{"message": {"content": "Hi"}}],
        "usage": {"prompt_tokens": 246, "completion_tokens": 96},
        "timings": {"prompt_n": 246, "prompt_ms": 244.0, "predicted_n": 96, "predicted_ms": 1263.5},
    }
    path = tmp_path / "response.json"
    path.write_text(json.dumps(record, indent=2))
    reading = read([path])
    (request,) = reading.runs[0].requests
    assert (request.prompt_tokens, request.prompt_ms, request.output_tokens) == (246, 244.0, 96)
    assert reading.sources[0].matched == reading.sources[0].lines


def test_unknown_engine_by_words_and_stamps(tmp_path: Path) -> None:
    log = tmp_path / "e2.log"
    log.write_text(
        "2026-03-01 10:00:00 [E2] loading model from /srv/e2\n2026-03-01 10:00:12 [E2] model ready\n"
        "2026-03-01 10:00:13 [E2] prompt received (8123 tokens)\n2026-03-01 10:01:10 [E2] first output\n"
        "2026-03-01 10:01:20 [E2] generation finished: 200 tokens\n"
    )
    from loganalyze.api import classify

    report = classify([log])
    request = report.runs[0].requests[0]
    assert (request.ttft_ms, request.eval_ms, request.prompt_tokens, request.output_tokens) == (
        57000.0,
        10000.0,
        8123,
        200,
    )
    assert (report.verdict, report.confidence) == ("slow reading", "low")


@pytest.mark.parametrize(
    ("prefix", "engine"),
    [("Apr 19 16:54:30 quorra ollama[1180]: ", "ollama"), ("ollama-1  | ", "ollama"),
     ("Apr 19 16:54:30 quorra llama-server[1180]: ", "llama.cpp")],
)  # fmt: skip
def test_the_process_that_prints_names_the_engine(tmp_path: Path, prefix: str, engine: str) -> None:
    lines = [
        "llm_load_tensors: offloaded 30/81 layers to GPU",
        "llm_load_tensors:      CUDA0 buffer size = 13771.88 MiB",
    ]
    log = tmp_path / "run.log"
    log.write_text("".join(f"{prefix}{line}\n" for line in lines))
    assert [run.engine for run in classify([log]).runs] == [engine]


def read_text(folder: Path, text: str) -> list[Run]:
    log = folder / "run.log"
    log.write_text(text)
    return read([log]).runs


def test_each_bench_table_has_the_build_of_its_footer(tmp_path: Path) -> None:
    head = (
        "| model        |       size |     params | backend    | ngl | test   |          t/s |\n"
        "| --- | ---: | ---: | --- | --: | --- | ---: |\n"
    )
    row = "| llama 7B Q4_0 |   3.56 GiB |     6.74 B | CUDA       |  99 | {} |     {} ± 0.05 |\n"
    first = head + row.format("pp 512", 900.1) + row.format("tg 128", 40.2) + "\nbuild: 9d5949f (1552)\n\n"
    second = head + row.format("pp 512", 700.1) + row.format("tg 128", 39.2) + "\nbuild: bb6d00bb (2392)\n"
    runs = read_text(tmp_path, first + second)
    assert [(run.version, len(run.requests)) for run in runs] == [("b1552", 2), ("b2392", 2)]


@pytest.mark.parametrize(
    "prefix", ["DEBUG:    LLAMA SERVER CPU: ", "2025 worker-3 | ", "<14> [backend] ", "stderr -> "]
)
def test_unknown_prefixes_do_not_hide_timings(tmp_path: Path, prefix: str) -> None:
    lines = [
        "print_info: file size   = 60.85 GiB (4.85 BPW)",
        "slot print_timing: id  0 | task 0 |",
        "prompt eval time =     915.13 ms /    51 tokens (   17.94 ms per token,    55.73 tokens per second)",
        "       eval time =   23038.87 ms /    75 tokens (  307.18 ms per token,     3.26 tokens per second)",
        "      total time =   23954.00 ms /   126 tokens",
    ]
    (run,) = read_text(tmp_path, "".join(f"{prefix}{line}\n" for line in lines))
    assert [(r.prompt_tokens, r.eval_tps) for r in run.requests] == [(51, 3.26)]
    assert run.setup.model_bytes == round(60.85 * 2**30)


@pytest.mark.parametrize(
    ("line", "version"),
    [("INFO 09-11 10:00:00 [core.py:75] Initializing a V1 LLM engine (v0.10.1) with config: model='Qwen/Qwen3-8B'", "0.10.1"),
     ("INFO 10-02 08:11:10 llm_engine.py:237] Initializing an LLM engine (v0.6.3.post1) with config: model='m', ", "0.6.3.post1"),
     ("(APIServer pid=1) INFO 09-11 10:00:00 [api_server.py:1805] vLLM API server version 0.10.1", "0.10.1")],
)  # fmt: skip
def test_vllm_names_itself(tmp_path: Path, line: str, version: str) -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.45 GiB. GPU 0 has a total capacity of 23.64 GiB"
    (run,) = read_text(tmp_path, f"{line}\n{oom}\n")
    assert (run.engine, run.version) == ("vllm", version)

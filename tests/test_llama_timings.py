"""Timing summaries of command line tools: hand-checked files of every age, traps, runs in one text, relatives."""

# ruff: noqa: E501 - log lines are kept whole

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from log_helpers import one_run, read_file, read_text

from loganalyze.model.records import Run

FILES = json.loads((Path(__file__).parent.parent / "fixtures" / "llama_cpp" / "timings.json").read_text())


def assert_record(found: Any, expected: dict[str, Any], where: str) -> None:
    for name, value in expected.items():
        got = getattr(found, name)
        if name == "samples":
            got = [[s.half, s.t_s, s.tokens, s.tps, s.window_tps, s.progress] for s in got]
        if isinstance(value, float):
            assert got == pytest.approx(value, abs=1e-6), f"{where}.{name}"
        else:
            assert got == value, f"{where}.{name}"


def assert_run(run: Run, expected: dict[str, Any], where: str) -> None:
    plain: dict[str, Any] = {
        k: expected[k] for k in ("engine", "version", "load_ms", "total_ms", "start_s", "end_s") if k in expected
    }
    assert_record(run, plain, where)
    if "clock" in expected:
        assert run.clock.kind == expected["clock"], where
    for name in ("first_epoch_s", "zone"):
        if name in expected:
            assert getattr(run.clock, name) == expected[name], where
    for name, value in expected.get("facts", {}).items():
        assert run.facts[name] == value, f"{where}.facts.{name}"
        assert name in run.fact_lines, f"{where}.fact_lines.{name}"
    for name, value in expected.get("setup", {}).items():
        assert getattr(run.setup, name) == value, f"{where}.setup.{name}"
    assert len(run.requests) == len(expected["requests"]), where
    for number, (request, values) in enumerate(zip(run.requests, expected["requests"], strict=True)):
        assert_record(request, values, f"{where}.requests[{number}]")
        assert request.id == str(number + 1)


@pytest.mark.parametrize("name", FILES)
def test_hand_checked(name: str, fixtures: Path) -> None:
    runs, source = read_file(fixtures / "llama_cpp" / name)
    assert source.format == "llama_cpp"
    assert len(runs) == len(FILES[name])
    for number, (run, expected) in enumerate(zip(runs, FILES[name], strict=True), 1):
        assert run.id == f"{source.path}#{number}"
        assert_run(run, expected, f"{name}#{number}")
    if "dialect" in FILES[name][0]:
        assert source.dialect == FILES[name][0]["dialect"]


PRINT = "llama_print_timings"
B195 = """llama_print_timings:        load time =  8123.51 ms
llama_print_timings:      sample time =    37.12 ms /    64 runs   (    0.58 ms per run)
llama_print_timings: prompt eval time =  6092.40 ms /    40 tokens (  152.31 ms per token)
llama_print_timings:        eval time = 18738.72 ms /    63 runs   (  297.44 ms per run)
llama_print_timings:       total time = 27109.65 ms
"""
B144 = """llama_print_timings:     load time =  1523.88 ms
llama_print_timings:   sample time =    98.44 ms /    64 runs (    1.54 ms per run)
llama_print_timings:     eval time = 29345.89 ms /    79 runs (  371.47 ms per run)
llama_print_timings:    total time = 31278.71 ms
"""


def test_blocks_without_printed_rates() -> None:
    request = one_run(B195).requests[0]
    assert request.prompt_tps == pytest.approx(40 / 6.0924)
    assert request.eval_tps == pytest.approx(63 / 18.73872)
    assert (request.output_tokens, request.sampling_ms) == (64, 37.12)
    assert not request.end_to_end_tps


def test_first_blocks_have_no_prompt_line_and_count_it_as_eval() -> None:
    request = one_run(B144).requests[0]
    assert request.end_to_end_tps
    assert request.prompt_tokens is None


def perf(load: str, prompt: str, eval_: str, total: str) -> str:
    rows = ("       load", load), ("prompt eval", prompt), ("       eval", eval_), ("      total", total)
    return "".join(f"llama_perf_context_print: {label} time = {rest}\n" for label, rest in rows)


@pytest.mark.parametrize("tps", ["inf", "nan", "-nan", "-nan(ind)", "1.#J", "0.00"])
def test_what_is_no_rate_never_is_one(tps: str) -> None:
    prompt = f"0.00 ms /     1 tokens (    0.00 ms per token, {tps} tokens per second)"
    eval_ = f"0.00 ms /     1 runs   (    0.00 ms per token, {tps} tokens per second)"
    request = one_run(perf("1533.07 ms", prompt, eval_, "10.00 ms /     2 tokens")).requests[0]
    assert request.prompt_tps is None
    assert request.eval_tps is None
    assert request.ttft_ms is None
    assert request.output_tokens is None


def test_times_switched_off_are_unknown_not_zero() -> None:
    prompt = "0.00 ms /   412 tokens (    0.00 ms per token,      inf tokens per second)"
    eval_ = "0.00 ms /   127 runs   (    0.00 ms per token,      inf tokens per second)"
    request = one_run(perf("0.00 ms", prompt, eval_, "1.00 ms /   539 tokens")).requests[0]
    assert (request.prompt_ms, request.eval_ms) == (None, None)
    assert (request.prompt_tokens, request.eval_tokens) == (412, 127)


def test_three_runs_of_one_tool_are_three_runs() -> None:
    text = "".join(B195.replace("8123.51", f"81{n}3.51") for n in range(3))
    runs, _ = read_text(text)
    assert [run.load_ms for run in runs] == [8103.51, 8113.51, 8123.51]
    assert [len(run.requests) for run in runs] == [1, 1, 1]


def test_calls_of_one_process_are_one_run() -> None:
    run = one_run(B195 + "Llama.generate: prefix-match hit\n" + B195 + B195)
    assert run.engine == "llama-cpp-python"
    assert len(run.requests) == 3


def test_sampler_line_in_front_belongs_to_the_block_behind_it() -> None:
    block = perf("100.00 ms", "10.00 ms /    20 tokens", "100.00 ms /    10 runs", "120.00 ms /    30 tokens")
    sampler = "llama_perf_sampler_print:    sampling time =      {} ms /    31 runs   (    0.10 ms per token,  10.00 tokens per second)\n"
    runs, _ = read_text(
        sampler.format("21.34") + block + sampler.format("42.00") + block.replace("100.00 ms\n", "99.00 ms\n")
    )
    assert [run.requests[0].sampling_ms for run in runs] == [21.34, 42.0]


def test_old_server_sums_become_differences() -> None:
    head = '{"timestamp":1690000000,"level":"INFO","function":"main","line":1,"message":"build info","build":900,"commit":"x"}\n'

    def block(prompt: tuple[float, int], runs: tuple[float, int], total: float) -> str:
        return (
            f"{PRINT}:        load time =  5000.00 ms\n{PRINT}:      sample time =    10.00 ms /    64 runs\n"
            f"{PRINT}: prompt eval time = {prompt[0]:8.2f} ms / {prompt[1]:5d} tokens\n"
            f"{PRINT}:        eval time = {runs[0]:8.2f} ms / {runs[1]:5d} runs\n{PRINT}:       total time = {total:8.2f} ms\n"
        )

    text = block((1000, 100), (2000, 20), 9000) + block((1500, 150), (5000, 50), 60000)
    run = one_run(head + text)
    assert run.version == "b900"
    assert run.facts["cumulative"]
    first, second = run.requests
    assert (first.prompt_tokens, first.eval_ms) == (100, 2000.0)
    assert (second.prompt_tokens, second.prompt_ms, second.prompt_tps) == (50, 500.0, 100.0)
    assert (second.eval_tokens, second.eval_ms, second.eval_tps) == (30, 3000.0, 10.0)
    reset = block((1000, 100), (2000, 20), 3050) + block((1500, 150), (5000, 50), 6560)
    second = one_run(head + reset).requests[1]
    assert (second.prompt_tokens, second.eval_ms) == (150, 5000.0)


def test_llama_cli_rates() -> None:
    run = one_run(
        "> hello\n[ Prompt: 412.7 t/s | Generation: 131.4 t/s ]\n> again\n[ Prompt: 0.0 t/s | Generation: 0.0 t/s ]\n"
    )
    assert [(r.prompt_tps, r.eval_tps, r.prompt_tokens) for r in run.requests] == [
        (412.7, 131.4, None),
        (None, None, None),
    ]


def test_speculative_takes_the_tools_own_figures() -> None:
    text = """encoded   21 tokens in    0.061 seconds, speed:  344.262 t/s
decoded  130 tokens in    1.512 seconds, speed:   85.979 t/s

n_draft   = 16
n_predict = 130
n_drafted = 208
n_accept  = 117
accept    = 56.250%

draft:

llama_perf_context_print:        load time =     100.00 ms
llama_perf_context_print: prompt eval time =     300.00 ms /    60 tokens (    5.00 ms per token,   200.00 tokens per second)
llama_perf_context_print:        eval time =     200.00 ms /   208 runs   (    0.96 ms per token,  1040.00 tokens per second)
llama_perf_context_print:       total time =    1600.00 ms /   268 tokens

target:

llama_perf_sampler_print:    sampling time =      21.34 ms /   130 runs   (    0.16 ms per token,  6091.85 tokens per second)
llama_perf_context_print:        load time =    3120.94 ms
llama_perf_context_print: prompt eval time =     900.00 ms /   240 tokens (    3.75 ms per token,   266.67 tokens per second)
llama_perf_context_print:        eval time =      50.00 ms /     3 runs   (   16.67 ms per token,    60.00 tokens per second)
llama_perf_context_print:       total time =    1600.00 ms /   243 tokens
"""
    run = one_run(text)
    (request,) = run.requests
    assert (request.prompt_tokens, request.prompt_ms, request.output_tokens, request.eval_ms) == (21, 61.0, 130, 1512.0)
    assert (request.draft_tokens, request.draft_accepted) == (208, 117)
    assert (run.load_ms, run.facts["draft_load_ms"]) == (3120.94, 100.0)
    assert (run.facts["draft_eval_runs"], run.facts["target_prompt_tokens"]) == (208, 240)
    assert request.total_ms == 1600.0


def test_simple_figure_gives_way_to_the_block_behind_it() -> None:
    text = "main: decoded 96 tokens in 2.00 s, speed: 48.00 t/s\n"
    assert one_run(text).requests[0].end_to_end_tps
    run = one_run(text + B195)
    (request,) = run.requests
    assert not request.end_to_end_tps
    assert request.eval_ms == 18738.72
    assert run.facts["decoded_tps"] == 48.0


def test_parallel_clients() -> None:
    run = one_run(
        "\x1b[31mClient   3, seq   12/ 128, prompt   27 t, response   64 t, time  3.21 s, speed 28.35 t/s, cache miss 0 \x1b[0m\n"
        "Total prompt tokens:   3456, speed: 77.41 t/s\nTotal gen tokens:      8192, speed: 183.50 t/s\n"
        "Total speed (AVG):           speed: 260.91 t/s\n"
    )
    assert run.requests[0].end_to_end_tps
    assert (run.facts["total_gen_tokens"], run.facts["total_tps"]) == (8192, 260.91)


def test_yaml() -> None:
    keys = "mst_eval: 121.70\nmst_p_eval: 3.97\nn_eval: 127 # generated\nn_p_eval: 412\nt_eval_us: 15455900\nt_load_us: 3411020\nt_p_eval_us: 1634200\nts_eval: 8.22\nts_p_eval: 252.11\n"
    run = one_run(keys)
    (request,) = run.requests
    assert (run.load_ms, request.prompt_ms, request.eval_ms) == (3411.02, 1634.2, 15455.9)
    assert (request.output_tokens, request.prompt_tps, request.eval_tps) == (128, 252.11, 8.22)


@pytest.mark.parametrize(
    "line",
    [
        "**llama_print_timings:        eval time = 33286.70 ms /   127 runs   (  262.10 ms per token,     3.82 tokens per second)**",
        "llama_print_timings:        eval time = **33286.70** ms / 127 runs   (  262.10 ms per token, `3.82` tokens per second)",
        "llama_print_timings: eval time = 33286,70 ms / 127 runs (262,10 ms per token, 3,82 tokens per second)",
        "> llama_print_timings:        eval time = 33286.70 ms /   127 runs   (  262.10 ms per token,     3.82 tokens per second)   ",
        "the end.llama_print_timings:        eval time = 33286.70 ms /   127 runs   (  262.10 ms per token,     3.82 tokens per second)",
        "timings:        eval time = 33286.70 ms /   127 runs   (  262.10 ms per token,     3.82 tokens per second)",
        "llama_print_timings:        eval time = 33286.70 ms /   127 runs   (  262.10 ms per tok",
        "llama_print_timings:\u00a0eval time = 33286.70 ms /   127 runs   (  262.10 ms per token,     3.82 tokens per second)",
        "\x1b[32mI \x1b[0mllama_print_timings:        eval time = 33286.70 ms /   127 runs   (  262.10 ms per token,     3.82 tokens per second)\x1b[0m\r",
    ],
)
def test_copied_lines(line: str) -> None:
    request = one_run(line + "\n").requests[0]
    assert (request.eval_ms, request.eval_tokens) == (33286.7, 127)
    assert request.eval_tps == pytest.approx(3.82, abs=0.01)


def test_two_records_on_one_line() -> None:
    request = one_run(B195.replace("\n", " ", 4)).requests[0]
    assert (request.prompt_tokens, request.eval_tokens, request.total_ms) == (40, 63, 27109.65)


def test_text_that_speaks_of_timings_is_no_timing() -> None:
    runs, source = read_text(
        "It said prompt eval time = 12.00 ms is slow. common_perf_print:        eval time =       0.00 ms is not.\n"
    )
    assert runs == []
    assert source.unmatched == 1


# An independent reading: whatever a plain search finds in a timing line must be in the records.
LABELS = re.compile(
    r"(?P<label>prompt eval time|generation eval time|eval time|load time|total time|sampl\w* time|unaccounted time|predict time)"
    r"\s*=\s*(?P<ms>[\d.]+) ms(?: /\s*(?P<n>\d+)\s+(?:tokens|runs))?"
)


def numbers(runs: list[Run]) -> set[float]:
    found: set[float] = set()
    for run in runs:
        values = [run.load_ms, run.total_ms, *run.facts.values()]
        for request in run.requests:
            values += [getattr(request, name) for name in request.__slots__]
        found |= {float(v) for v in values if isinstance(v, int | float)}
    return found


def logs(root: Path) -> list[Path]:
    return sorted(
        [*root.glob("llama_cpp/*.log"), *root.glob("examples/llama_cpp/*.log"), *root.glob("corpus/*/run.log")]
    )


def sweep(root: Path) -> None:
    for path in logs(root):
        runs, source = read_file(path)
        known = numbers(runs)
        text = path.read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            for found in LABELS.finditer(line):
                if line.startswith("The meaning of life"):
                    continue
                ms, count = float(found["ms"]), found["n"]
                assert any(abs(ms - value) < 0.006 for value in known), f"{path}: {line}"
                if count and found["label"] not in ("total time", "sampling time", "sample time"):
                    assert float(count) in known, f"{path}: {line}"
        for number, unread in source.unread:
            assert (
                not re.search(r"(eval|load|total) time\s*=|n_gen =|tg =|graphs reused", unread) or "is not" in unread
            ), (path, number)


def test_every_number_is_in_the_records(fixtures: Path) -> None:
    sweep(fixtures)


def test_every_number_of_the_wider_collection_is_in_the_records(shared: Path) -> None:
    sweep(shared)


def test_numbers_of_every_progress_line(fixtures: Path) -> None:
    for path in logs(fixtures):
        text = path.read_text(encoding="utf-8", errors="replace")
        printed = [float(x) for x in re.findall(r"\btg_3s =\s*([\d.]+) t/s", text)]
        runs, _ = read_file(path)
        assert printed == [
            s.window_tps for r in runs for q in r.requests for s in q.samples if s.window_tps is not None
        ]

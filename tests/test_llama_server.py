"""llama-server: slots, processes and restarts apart, aborted requests, caches, clocks; every age."""

# ruff: noqa: E501 - log lines are kept whole

from __future__ import annotations

import json
from pathlib import Path

import pytest
from log_helpers import one_run, read_file, read_text

from loganalyze.formats.catalogue import check, formats
from loganalyze.formats.llama_pairs import json_as_text, parse_pairs

NP4 = [
    (3, 0, 2.050313, 3.558143, 246, 0, 244.00, 1263.56, 1507.56, 93),
    (2, 1, 2.050365, 3.558047, 246, 0, 243.81, 1263.43, 1507.24, 93),
    (1, 2, 2.050396, 3.557655, 246, 0, 243.64, 1263.44, 1507.09, 93),
    (0, 4, 2.294681, 3.938718, 246, 0, 100.76, 1542.92, 1643.68, 93),
    (1, 7, 3.604221, 5.247889, 234, 12, 243.69, 1308.76, 1552.45, 185),
    (2, 6, 3.695164, 5.248356, 234, 12, 243.81, 1308.78, 1552.59, 185),
    (3, 5, 3.695261, 5.248468, 234, 12, 243.90, 1308.99, 1552.89, 185),
    (0, 8, 3.985615, 5.261690, 234, 12, 96.46, 1179.54, 1276.00, 185),
]


def test_interleaved_slots(fixtures: Path) -> None:
    (run,), source = read_file(fixtures / "corpus" / "np4_8req" / "run.log")
    assert (source.unmatched, source.skipped, source.dialect) == (0, 0, "server_slot")
    assert (run.setup.n_parallel, run.setup.n_ctx_slot) == (4, 8192)
    got = [
        (
            r.slot,
            r.task,
            r.start_s,
            r.end_s,
            r.prompt_tokens,
            r.cached_tokens,
            r.prompt_ms,
            r.eval_ms,
            r.total_ms,
            r.graphs_reused,
        )
        for r in run.requests
    ]
    assert got == NP4
    assert {(r.output_tokens, r.eval_tokens) for r in run.requests} == {(96, 95)}
    assert run.requests[0].lines == {"prompt": 28, "eval": 29, "total": 30, "release": 32}


def test_numbers_on_lines_of_their_own_belong_to_the_header(fixtures: Path) -> None:
    (run,), source = read_file(fixtures / "llama_cpp" / "b6173_np4_run.log")
    assert run.version == "b6173"
    got = {r.task: (r.slot, r.prompt_ms, r.eval_ms, r.cached_tokens, r.prompt_tokens) for r in run.requests}
    assert got == {
        0: (3, 144.45, 2062.39, 0, 243),
        4: (0, 278.09, 1899.04, 0, 243),
        3: (1, 278.21, 1899.10, 0, 243),
        2: (2, 278.70, 1898.68, 0, 243),
        5: (3, 115.48, 2607.23, 12, 231),
        6: (0, 108.80, 2512.09, 12, 231),
    }
    assert run.facts["requests_http"] == 6
    assert all(r.complete for r in run.requests)
    assert not [u for u in source.unread if "eval" in u[1]]


def test_rates_while_running(fixtures: Path) -> None:
    (run,), _ = read_file(fixtures / "corpus" / "contended_8b" / "run.log")
    samples = run.requests[0].samples
    assert [(s.tokens, s.tps, s.window_tps) for s in samples] == [
        (897, 298.48, 298.82),
        (1772, 294.98, 291.48),
        (1943, 215.52, 56.87),
        (2076, 172.73, 44.30),
        (2210, 146.93, 44.36),
        (2343, 129.83, 44.26),
    ]
    assert samples[0].t_s == 4.16182


def test_json_lines_say_the_same_as_plain_ones(fixtures: Path) -> None:
    (run,), source = read_file(fixtures / "corpus" / "jsonl_8b" / "run.log")
    assert source.unmatched == 0
    assert [(r.slot, r.task, r.prompt_ms, r.eval_ms) for r in run.requests] == [
        (1, 0, 58.35, 227.03),
        (0, 1, 58.16, 227.10),
        (0, 2, 28.97, 223.00),
    ]


ABORTED = """0.21.044.500 I slot launch_slot_: id  3 | task 0 | processing task, is_child = 0
0.25.145.121 I slot print_timing: id  3 | task 0 | prompt processing, n_tokens =   6144, progress = 0.52, t =   4.10 s / 1498.20 tokens per second
0.32.005.174 I slot print_timing: id  3 | task 0 | n_gen =    137, tg =  45.39 t/s, tg_3s =  12.10 t/s
0.33.005.174 I srv          stop: cancel task, id_task = 0
0.33.105.174 I slot      release: id  3 | task 0 | stop processing: n_tokens = 6300, truncated = 0
"""


def test_aborted_requests_keep_what_was_said() -> None:
    run = one_run(ABORTED)
    (request,) = run.requests
    assert not request.complete
    assert (request.prompt_tokens, request.prompt_tps, request.output_tokens, request.eval_tps) == (
        6144,
        1498.2,
        137,
        45.39,
    )
    assert (request.start_s, request.end_s, request.total_ms) == (21.0445, 33.105174, None)
    assert [e.kind for e in run.events] == ["cancelled"]


def test_log_that_ends_inside_a_request() -> None:
    request = one_run("\n".join(ABORTED.splitlines()[:2])).requests[0]
    assert not request.complete
    assert request.output_tokens is None


def slot_block(slot: int, task: int, prompt: str, eval_: str) -> str:
    return f"slot print_timing: id {slot:2d} | task {task} | \nprompt eval time = {prompt}\n       eval time = {eval_}\n      total time =    5885.54 ms /  5033 tokens\n"


def test_cached_and_empty_requests_have_no_rate() -> None:
    cached = slot_block(
        0,
        1,
        "14.02 ms /     1 tokens (   14.02 ms per token,    71.33 tokens per second)",
        "1.00 ms /     1 tokens (    1.00 ms per token,  1000.00 tokens per second)",
    )
    empty = slot_block(
        0,
        2,
        "-nan ms /     0 tokens (    -nan ms per token,    -nan tokens per second)",
        "-12.00 ms /     0 tokens (     inf ms per token,     inf tokens per second)",
    )
    first, second = one_run(cached + empty).requests
    assert (first.prompt_tps, first.eval_tps, first.prompt_ms) == (None, None, 14.02)
    assert (second.prompt_ms, second.prompt_tps, second.eval_ms, second.eval_tps) == (None, None, None, None)


def test_carriage_returns_inside_the_block() -> None:
    text = "slot print_timing: id  0 | task 0 | \n\rprompt eval time =    3771.20 ms /  2913 tokens (    1.29 ms per token,   772.43 tokens per second)\n\r       eval time =    6094.60 ms /   310 tokens (   19.66 ms per token,    50.86 tokens per second)\n\r      total time =    9865.80 ms /  3223 tokens\n"
    request = one_run(text).requests[0]
    assert (request.prompt_ms, request.eval_ms, request.total_ms) == (3771.2, 6094.6, 9865.8)


def test_numbers_pasted_without_their_header() -> None:
    text = slot_block(0, 0, "10.00 ms /  2913 tokens", "6094.60 ms /   310 tokens").split("\n", 1)[1]
    run = one_run(text + text)
    assert [(r.prompt_tokens, r.output_tokens, r.slot) for r in run.requests] == [(2913, 310, None)] * 2


@pytest.mark.parametrize(
    "draft",
    [
        "slot print_timing: id  0 | task 0 | \ndraft acceptance rate = 0.57576 (   57 accepted /    99 generated)\n",
        "draft acceptance rate = 0.57576 (   57 accepted /    99 generated)\n",
        "slot print_timing: id  0 | task 0 | draft acceptance = 0.57576 (   57 accepted /    99 generated), mean len =  2.31\n",
    ],
)
def test_draft_acceptance(draft: str) -> None:
    (request,) = one_run(slot_block(0, 0, "10.00 ms /  2913 tokens", "6094.60 ms /   310 tokens") + draft).requests
    assert (request.draft_tokens, request.draft_accepted) == (99, 57)


FREE = """slot 0 is processing [task id: 7]
slot 1 is processing [task id: 8]
slot 0 : in cache: 30 tokens | to process: 512 tokens
slot 1 : kv cache rm - [12, end)

print_timings: prompt eval time =     231.44 ms /   512 tokens (    0.45 ms per token,  2212.24 tokens per second)
print_timings:        eval time =    1263.36 ms /   128 runs   (    9.87 ms per token,   101.32 tokens per second)
print_timings:       total time =    1494.80 ms
slot 1 released (640 tokens in cache)

print_timings: prompt eval time =     100.00 ms /   100 tokens (    1.00 ms per token,  1000.00 tokens per second)
print_timings:        eval time =     200.00 ms /    20 runs   (   10.00 ms per token,   100.00 tokens per second)
print_timings:       total time =     300.00 ms
slot 0 released (150 tokens in cache)
"""


def test_free_text_names_the_slot_afterwards() -> None:
    by_slot = {r.slot: r for r in one_run(FREE).requests}
    assert (by_slot[1].prompt_ms, by_slot[1].output_tokens, by_slot[1].cached_tokens, by_slot[1].task) == (
        231.44,
        128,
        12,
        8,
    )
    assert (by_slot[0].prompt_ms, by_slot[0].output_tokens, by_slot[0].cached_tokens) == (100.0, 20, 30)
    assert len(by_slot) == 2


def test_sorted_json_and_old_names() -> None:
    lines = [
        {
            "function": "print_timings",
            "level": "INFO",
            "line": 313,
            "msg": "prompt eval time     =    6912.87 ms /  1536 tokens (    4.50 ms per token,   222.19 tokens per second)",
            "n_tokens_second": 222.19422,
            "num_prompt_tokens_processed": 1536,
            "slot_id": 1,
            "t_prompt_processing": 6912.871,
            "t_token": 4.5,
            "task_id": 9,
            "tid": "1",
            "timestamp": 1709000000,
        },
        {
            "function": "print_timings",
            "level": "INFO",
            "line": 329,
            "msg": "generation eval time =    9833.47 ms /   256 runs   (   38.41 ms per token,    26.03 tokens per second)",
            "n_decoded": 256,
            "n_tokens_second": 26.0335,
            "slot_id": 1,
            "t_token": 38.4,
            "t_token_generation": 9833.472,
            "task_id": 9,
            "tid": "1",
            "timestamp": 1709000000,
        },
    ]
    runs, source = read_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    (request,) = runs[0].requests
    assert source.dialect == "server_json"
    assert (request.slot, request.task, request.prompt_ms, request.eval_ms) == (1, 9, 6912.871, 9833.472)
    assert (runs[0].engine, runs[0].clock.first_epoch_s) == ("llama.cpp", 1709000000)


def block(t: str, slot: int, task: int, ms: float) -> str:
    head = f"{t} I slot print_timing: id {slot:2d} | task {task} | "
    return f"{head}prompt eval time = {ms:10.2f} ms / 100 tokens\n{head}       eval time = {ms:10.2f} ms / 10 tokens\n{head}      total time = {2 * ms:10.2f} ms / 110 tokens\n"


def test_a_restarted_clock_is_another_run() -> None:
    runs, _ = read_text(
        block("1.21.044.500", 0, 0, 100) + block("1.21.044.400", 0, 5, 200) + block("0.05.000.000", 0, 0, 300)
    )
    assert [len(run.requests) for run in runs] == [2, 1]
    assert runs[1].first_line == 7


def test_processes_that_write_in_turns_without_a_name_are_apart() -> None:
    one, two = block("1.21.000.000", 0, 0, 100).splitlines(), block("0.03.000.000", 0, 0, 200).splitlines()
    runs, _ = read_text("\n".join(line for pair in zip(one, two, strict=True) for line in pair))
    assert [[(r.prompt_ms, r.eval_ms) for r in run.requests] for run in runs] == [[(100.0, 100.0)], [(200.0, 200.0)]]


def test_processes_behind_a_router_are_apart() -> None:
    one, two = block("0.01.000.000", 0, 0, 100), block("0.03.000.000", 0, 0, 200)
    rows = [
        f"[{port}] {line}\n"
        for pair in zip(one.splitlines(), two.splitlines(), strict=True)
        for port, line in zip((42027, 42028), pair, strict=True)
    ]
    runs, _ = read_text("".join(rows))
    assert [[r.prompt_ms for r in run.requests] for run in runs] == [[100.0], [200.0]]


def test_stamps_inside_and_outside() -> None:
    rows = "".join(
        f"2026-07-28T20:08:4{n}.500000-04:00 host llama-server[7]: {line}\n"
        for n, line in enumerate(block("0.01.000.000", 0, 0, 100).replace("0.01.000.000", "T").splitlines())
    )
    for n in range(3):
        rows = rows.replace(": T", f": 0.0{n + 1}.000.000", 1)
    (run,), _ = read_text(rows)
    assert run.clock.kind == "relative"
    assert (run.start_s, run.end_s) == (1.0, 3.0)
    assert run.clock.first_epoch_s == pytest.approx(1785283719.5)
    assert run.clock.zone == "-04:00"


def test_million_requests_stay_bounded() -> None:
    from loganalyze.formats import folding
    from loganalyze.formats.base import LogState
    from loganalyze.model.records import Source
    from loganalyze.scan import Line

    state = LogState(Source("x"))
    line = Line(1, b"")
    state.at(line)
    count = folding.MAX_REQUESTS + 2 * folding.FOLD
    for _ in range(count):
        request = state.request(line, prompt_tokens=2, prompt_ms=1.0)
    run = state.run
    assert request.id == str(count)
    assert len(run.requests) <= folding.MAX_REQUESTS
    assert run.facts["folded_requests"] + len(run.requests) == count
    assert run.facts["folded_prompt_tokens"] == 2 * run.facts["folded_requests"]


def test_pairs_and_json() -> None:
    assert parse_pairs('tid="1 2" a=1 b=-2.5e3 c=true d="x\\"y" e={}') == {
        "tid": "1 2",
        "a": 1,
        "b": -2500.0,
        "c": True,
        "d": 'x\\"y',
        "e": "{}",
    }
    assert parse_pairs(None) == {}
    assert json_as_text(b'{"timestamp":1,"function":"f","level":"INFO","msg":3}') is None
    assert json_as_text(b'{"timestamp":1,"function":' + b"[" * 5000) is None


def test_catalogue(fixtures: Path) -> None:
    rules = formats()
    assert all(rule.samples for rule in rules)
    assert len({rule.full for rule in rules}) == len(rules)
    _, source = read_file(fixtures / "corpus" / "np4_8req" / "run.log")
    summary = check(source)
    assert summary.rules[0][1] >= summary.rules[-1][1]
    assert {name for name, _ in summary.rules} <= {rule.full for rule in rules}

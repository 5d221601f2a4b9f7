"""What coverage-guided fuzzing found, as small inputs: nothing may be raised, and what can be read is still read."""

from __future__ import annotations

import json
from io import BytesIO

import polars as pl
import pytest

from loganalyze.api import read_source
from loganalyze.formats.llama_pairs import json_as_text
from loganalyze.formats.nvidia_types import TIME, Series
from loganalyze.model.records import Capture, Run
from loganalyze.numerals import is_whole
from loganalyze.options import Options

SMI = "timestamp, index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n"
PMON = "# gpu         pid   type     sm    mem    command\n# Idx           #    C/G      %      %    name\n"
SMI_ROWS = "".join(f"2024/05/01 12:34:5{n}.789, 0, NVIDIA GB10, 10 MiB, 20 MiB, {n} %\n" for n in range(4))
BENCH = "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
RULE = "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"


def given(text: str | bytes) -> tuple[list[Run], list[Capture]]:
    data = text if isinstance(text, bytes) else text.encode()
    runs, captures, source = read_source("found.log", Options(), BytesIO(data))
    assert source.matched + source.unmatched + source.skipped == source.lines
    return runs, captures


def rows(captures: list[Capture]) -> list[int]:
    return [capture.frame.height for capture in captures]


def test_a_card_number_that_is_missing_in_the_first_row() -> None:
    _, captures = given(SMI + SMI_ROWS.replace(" 0, NVIDIA", " N/A, NVIDIA", 1).replace("56.789, 0,", "56.789, 1,"))
    assert rows(captures) == [4]


def test_a_card_number_of_thousands_of_digits() -> None:
    _, captures = given(SMI + SMI_ROWS + SMI_ROWS.replace(" 0, NVIDIA", f" {'1' * 5000}, NVIDIA", 1))
    assert sum(rows(captures)) >= 7


def test_superscripts_are_no_numbers() -> None:
    good = "    0       5063     C     93     33    llama-server\n"
    _, captures = given(PMON + good * 3 + good.replace("93", "²"))
    assert rows(captures) == [4]
    assert captures[0].frame.height == 4
    assert not is_whole("²")
    assert not is_whole("1" * 12)
    assert is_whole("0123")


def test_a_swap_row_without_a_memory_row_at_the_end() -> None:
    given(
        "SwapUse           0 CachUse     3460072  MemUse      949512 MemFree    20594892 \n\nSwap:      0      0      0"
    )


def test_stamps_that_are_all_missing() -> None:
    series = Series([])
    series.add(pl.DataFrame({"line": [7], TIME: [None], "vram_used_mib": [1.0]}))
    assert series.frames[0]["t_s"].to_list() == [None]


def test_negative_figures_in_the_first_columns() -> None:
    given(", -1, -1, -1, -1, P-1\n" + "2024/05/01 12:34:56.000, -1, NVIDIA GeForce RTX -1, -1, -1, %NaN, -1\n" * 5)


def test_lone_surrogates_in_json_text() -> None:
    line = b'{"timestamp":1714750019,"level":"INFO","function":"f","line":1,"msg":"slot \\ud800 released"}'
    assert (json_as_text(line) or b"").startswith(b"INFO [f] slot ? released | ")


@pytest.mark.parametrize("value", ["-9223372036854775809", "9" * 400, "nan", "inf"])
def test_benchmark_figures_that_cannot_be(value: str) -> None:
    good = "|   128 |    128 |    1 |    256 |    0.108 |  1181.98 |    3.088 |    41.46 |    3.196 |    80.10 |\n"
    runs, _ = given(BENCH + RULE + good + good.replace("0.108", value))
    assert [len(run.requests) for run in runs] == [1]


def test_a_client_whose_clock_was_set_back() -> None:
    usage = {"choices": [], "usage": {"completion_tokens": 30, "prompt_tokens": 13, "total_tokens": 43}}
    tail = f"data: {json.dumps(usage)}\n\ndata: [DONE]\n\n"
    record = {"i": "8-4", "start": 9796075885.3, "first": 4976075899.2, "end": 1792073819.4, "tail": tail}
    runs, _ = given(json.dumps(record) + "\n")
    assert [(r.total_ms, r.ttft_ms) for run in runs for r in run.requests] == [(None, None)]


def test_rows_without_a_header_that_are_all_messages() -> None:
    given(
        "pid, process_name, process_name, used_gpu_memory [MiB]\n5063,  %      %      %      %      %    MHz    MHz\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      C\n"
        "timestamp, index, name, memory.used [MiB], utilization.gpu [%], power.draw [W], temperature.gpu, pstate\n"
        "pid, process_name, used_gpu_memory [MiB]\nNVIDIA-SMI has failed b ./llama-completion, 5048 MiB\n"
    )

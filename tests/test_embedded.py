"""Captures pasted into a log are read as captures of it, with the line numbers of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from loganalyze.api import read, read_source
from loganalyze.scan import lines

TIMING = (
    "slot launch_slot_: id  0 | task {n} | processing task, is_child = 0\n"
    "slot print_timing: id  0 | task {n} | prompt eval time =     243.64 ms /   246 tokens"
    " (    0.99 ms per token,  1009.67 tokens per second)\n"
    "slot print_timing: id  0 | task {n} |        eval time =    1263.44 ms /    96 tokens"
    " (   13.30 ms per token,    75.19 tokens per second)\n"
    "slot print_timing: id  0 | task {n} |       total time =    1507.09 ms /   342 tokens\n"
)
CSV = (
    "timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n"
    "2026/11/30 21:57:09.641, 0, 5057 MiB, 143771 MiB, 90 %\n"
    "2026/11/30 21:57:10.152, 0, 5058 MiB, 143771 MiB, 91 %\n"
)
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu\n"
    " 4  0      0 99274744  30120 32019520    0    0  4494 53971 2826    0 43  2 55  0  0  0\n"
    " 1  0      0 99243000  30120 32019596    0    0     0    60 1525 1494  0  0 100  0  0  0\n"
)
FREE = (
    "               total        used        free      shared  buff/cache   available\n"
    "Mem:           125Gi       1.2Gi        94Gi       7.2Mi        30Gi       124Gi\n"
    "Swap:             0B          0B          0B\n"
)
TABLE = (
    "+-----------------------------------------------------------------------------------------+\n"
    "| NVIDIA-SMI 550.54.14              Driver Version: 550.54.14      CUDA Version: 12.4     |\n"
    "|-----------------------------------------+------------------------+----------------------+\n"
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
    "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
    "|                                         |                        |               MIG M. |\n"
    "|=========================================+========================+======================|\n"
    "|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |                  Off |\n"
    "| 34%   62C    P2            287W /  450W |   22903MiB /  24564MiB |     93%      Default |\n"
    "|                                         |                        |                  N/A |\n"
    "+-----------------------------------------+------------------------+----------------------+\n"
)


def mixed() -> str:
    parts = [TIMING.format(n=0), TABLE, TIMING.format(n=1), VMSTAT, TIMING.format(n=2), FREE, "\n"]
    return "".join([*parts, TIMING.format(n=3), CSV, TIMING.format(n=4)])


@pytest.mark.parametrize("large", [False, True])
def test_each_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    if large:
        monkeypatch.setattr(lines, "LARGE_BYTES", 1)
    text = ("srv  update_slots: nothing of interest\n" * 8000 if large else "") + mixed()
    path = tmp_path / "run.log"
    path.write_text(text)
    runs, captures, source = read_source(str(path))
    assert [len(run.requests) for run in runs] == [5]
    assert source.format == "llama_cpp"
    assert source.lines == source.matched + source.unmatched + source.skipped == text.count("\n")
    assert source.unmatched == 0
    found = {capture.format: capture for capture in captures}
    assert set(found) == {"nvidia_smi_table", "vmstat", "free", "nvidia_smi_csv"}
    rows = text.split("\n")
    numbers = {name: capture.frame["line"].to_list() for name, capture in found.items() if capture.frame is not None}
    assert [rows[number - 1] for number in numbers["vmstat"]] == VMSTAT.split("\n")[2:4]
    assert [rows[number - 1] for number in numbers["nvidia_smi_csv"]] == CSV.split("\n")[1:3]
    assert all(capture.source is source for capture in captures)
    assert found["nvidia_smi_csv"].frame is not None
    assert found["nvidia_smi_csv"].frame["vram_used_mib"].to_list() == [5057, 5058]


def test_they_belong_to_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(mixed())
    reading = read(str(path))
    (run,) = reading.runs
    assert {capture.format for capture in run.captures} == {"nvidia_smi_table", "vmstat", "free", "nvidia_smi_csv"}


def test_a_head_alone_is_no_capture(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(TIMING.format(n=0) + "we print memory.used [MiB] of the card here\n" + TIMING.format(n=1))
    runs, captures, source = read_source(str(path))
    assert captures == []
    assert len(runs[0].requests) == 2
    assert source.lines == source.matched + source.unmatched + source.skipped

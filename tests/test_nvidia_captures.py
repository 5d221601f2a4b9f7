"""NVIDIA captures: independent readings of the fixtures, columns, cards, clocks, mixed texts."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from loganalyze.formats.capture_reader import embedded, read_captures, sniff
from loganalyze.formats.nvidia_fields import canonical, parse_header
from loganalyze.formats.nvidia_infer import infer
from loganalyze.formats.nvidia_xml import documents
from loganalyze.model.records import Capture, Source
from loganalyze.scan import all_lines, open_source

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "telemetry"
SMI = sorted(p for p in FOLDER.glob("nvidia-*smi*.csv") if "apps" not in p.name)
DMON = sorted(p for p in FOLDER.glob("nvidia-*dmon*.txt"))
COLUMNS = {
    "memory.used": "vram_used_mib",
    "memory.free": "vram_free_mib",
    "memory.total": "vram_total_mib",
    "utilization.gpu": "gpu_util_pct",
    "utilization.memory": "mem_util_pct",
    "power.draw": "power_w",
    "clocks.current.sm": "sm_mhz",
    "temperature.gpu": "temp_c",
    "index": "device",
    "pcie.link.gen.current": "pcie_gen",
    "pcie.link.width.current": "pcie_width",
}


def read(data: bytes, name: str = "x.txt") -> tuple[list[Capture], Source]:
    with open_source(data, name) as opened:
        captures = read_captures(opened)
    source = opened.source
    assert source.lines == source.matched + source.unmatched + source.skipped
    return captures, source


def rows(capture: Capture) -> list[dict[str, Any]]:
    assert capture.frame is not None
    return capture.frame.to_dicts()


def number(cell: str) -> float | None:
    found = re.match(r"-?[0-9.]+", cell)
    return float(found.group()) if found else None


def decoded(path: Path) -> list[str]:
    raw = path.read_bytes()
    if raw.startswith(b"\xff\xfe"):
        end = raw.find(b"\n\x002024") + 2 if b"\n\x002024" in raw else len(raw)
        return (raw[2:end].decode("utf-16-le") + raw[end:].decode()).splitlines()
    return raw.decode().splitlines()


@pytest.mark.parametrize("path", [p for p in SMI if "noheader" not in p.name], ids=lambda p: p.name)
def test_query_csv_agrees_with_a_plain_split(path: Path) -> None:
    expected: list[dict[str, float | None]] = []
    names: list[str] = []
    for line in decoded(path):
        cells = [c.strip() for c in line.split(",")]
        if not cells[0][:1].isdigit():
            names = [re.sub(r" \[.*", "", c) for c in cells]
            continue
        expected.append({COLUMNS[n]: number(c) for n, c in zip(names, cells, strict=True) if n in COLUMNS})
    captures, source = read(path.read_bytes(), path.name)
    found = [r for c in captures for r in rows(c)]
    assert source.unmatched == 0
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        for name, value in wanted.items():
            assert (row[name] is None) == (value is None), (name, row)
            assert value is None or math.isclose(row[name], value, rel_tol=1e-6)


@pytest.mark.parametrize("path", DMON, ids=lambda p: p.name)
def test_dmon_agrees_with_a_plain_split(path: Path) -> None:
    captures, _ = read(path.read_bytes(), path.name)
    (capture,) = captures
    columns = {"pwr": "power_w", "gtemp": "temp_c", "mtemp": "temp_mem_c", "sm": "gpu_util_pct", "mem": "mem_util_pct"}
    columns |= {"fb": "vram_used_mib", "gpu": "device", "mclk": "mem_mhz", "pclk": "sm_mhz", "rxpci": "pcie_rx_mb_s"}
    names: list[str] = []
    expected = []
    lines = path.read_text().split("\n")
    for line in lines:
        cells = [c for c in re.split(r"[\s,]+", line.replace("#", " ").strip()) if c]
        if "#" in line:
            names = cells if "gpu" in cells else names
        elif cells and (line != lines[-1] or not line):
            expected.append({columns[n]: number(c) for n, c in zip(names, cells, strict=False) if n in columns})
    found = rows(capture)
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        assert {k: row[k] for k in wanted} == wanted


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("clocks.sm", "clocks.current.sm"),
        ("clocks.max.mem", "clocks.max.memory"),
        ("clocks_throttle_reasons.active", "clocks_event_reasons.active"),
        ("used_memory", "used_gpu_memory"),
        ("pcie.link.gen.current", "pcie.link.gen.gpucurrent"),
        ("gpu_name", "name"),
    ],
)
def test_names_of_all_eras_are_one(typed: str, name: str) -> None:
    assert canonical(typed) == name


def test_headers_are_told_from_rows_and_prose() -> None:
    assert parse_header(b"memory.used [MiB]") is not None
    assert parse_header(b"timestamp, name, some.new.field") is not None
    for line in (b"2024/05/01 12:34:56.789, 412 MiB", b"hello, world", b"a.b.c", b"0, NVIDIA H200, 5057 MiB", b""):
        assert parse_header(line) is None


def test_reasons_of_both_eras_fill_the_same_columns() -> None:
    for stem in ("clocks_throttle_reasons", "clocks_event_reasons"):
        text = (
            f"index, {stem}.active, {stem}.sw_power_cap, {stem}.hw_thermal_slowdown, {stem}.sw_thermal_slowdown\n"
            "0, 0x0000000000000004, Active, Not Active, [N/A]\n"
        )
        (capture,), _ = read(text.encode())
        (row,) = rows(capture)
        assert (row["throttle_mask"], row["throttle_power"], row["throttle_thermal"]) == (4, 1, 0)


def test_cards_without_an_index_are_told_by_their_ids() -> None:
    text = b"timestamp, uuid, memory.used [MiB]\n"
    for second in range(3):
        for at, card in enumerate(("GPU-bbbbbbbb-1", "GPU-aaaaaaaa-2")):
            text += f"2024/05/01 12:00:0{second}.00{at}, {card}, {second * 10 + at} MiB\n".encode()
    (capture,), _ = read(text)
    assert [(r["row"], r["device"]) for r in rows(capture)] == [(t, d) for t in range(3) for d in range(2)]


def test_cards_without_any_name_are_told_by_gaps() -> None:
    text = b"timestamp, memory.used [MiB]\n"
    for second in range(4):
        for at in range(3):
            text += f"2024/05/01 12:00:0{second}.0{at}0, {at} MiB\n".encode()
    (capture,), _ = read(text)
    assert [(r["row"], r["device"]) for r in rows(capture)] == [(t, d) for t in range(4) for d in range(3)]
    assert any("3 cards" in n for n in capture.notes)


def test_one_card_with_a_pause_is_one_card() -> None:
    text = (FOLDER / "nvidia-smi_csv_utf16_then_ascii_append.csv").read_bytes()
    (capture,), _ = read(text)
    assert {r["device"] for r in rows(capture)} == {0}


def test_events_between_rows_are_noted_and_counted() -> None:
    text = (
        b"timestamp, index, memory.used [MiB]\n2024/05/01 12:00:00.000, 0, 1 MiB\n"
        b"Unable to determine the device handle for GPU0000:02:00.0: Unknown Error\n"
        b"GPU 0: XID error 79\n2024/05/01 12:00:01.000, 0, 2 MiB\n"
    )
    (capture,), source = read(text)
    assert [r["vram_used_mib"] for r in rows(capture)] == [1, 2]
    assert source.unmatched == 2
    assert any("device handle" in n for n in capture.notes)


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        (b", 22871 MiB", True),
        (b", 22871 M", False),
        (b", 2287", False),
        (b", [N/A]", True),
        (b", [N", False),
        (b"", False),
    ],
)
def test_a_cut_last_row_is_kept_only_when_its_unit_is_there(end: bytes, kept: bool) -> None:
    text = b"timestamp, memory.used [MiB]\n2024/05/01 12:00:00.000, 1 MiB\n2024/05/01 12:00:01.000" + end
    (capture,), source = read(text)
    assert len(rows(capture)) == 1 + kept
    assert source.unmatched == (not kept)
    assert kept or any("cut off" in n for n in capture.notes)


def test_a_loop_around_single_shots_is_one_capture() -> None:
    shot = b"memory.used [MiB], memory.total [MiB]\n%d MiB, 24564 MiB\n"
    (capture,), _ = read(b"".join(shot % i for i in range(5)))
    assert [r["vram_used_mib"] for r in rows(capture)] == list(range(5))


def test_a_restart_without_stamps_is_another_capture() -> None:
    run = b"memory.used [MiB], memory.total [MiB]\n" + b"5 MiB, 24564 MiB\n" * 30
    captures, _ = read(run * 2)
    assert [len(rows(c)) for c in captures] == [30, 30]


def inferred(text: str) -> list[str]:
    fields, _ = infer([[c.strip() for c in line.split(",")] for line in text.strip().splitlines()])
    return [f.name for f in fields]


def test_columns_without_a_header() -> None:
    assert inferred("0, 412 MiB, 3 %\n1, 5 MiB, 4 %\n0, 500 MiB, 99 %") == ["index", "memory.used", "utilization.gpu"]
    assert inferred("24564, 412, 3\n24564, 9000, 99") == ["memory.total", "memory.used", "utilization.gpu"]
    assert inferred("99 %, 80 %, 300.10 W, 2520 MHz, P2")[-1] == "pstate"


def test_two_readings_are_refused() -> None:
    falling = "\n".join(f"{24000 - i * 2000} MiB, {i * 2000} MiB" for i in range(6))
    assert inferred(falling) == ["?", "?"]
    loaded = "\n".join(f"{24000 - i * 2000} MiB, {i * 2000} MiB, {0 if i < 2 else 99} %" for i in range(6))
    assert inferred(loaded) == ["memory.free", "memory.used", "utilization.gpu"]


def test_names_with_commas_are_one_cell() -> None:
    (capture,), _ = read((FOLDER / "nvidia-smi_compute_apps.csv").read_bytes())
    assert rows(capture)[1]["process"].endswith("--field-trial-handle=3, i, 1")
    assert [r["row"] for r in rows(capture)] == [0, 0, 1]


def test_no_process_is_said() -> None:
    (capture,), _ = read(b"pid, process_name, used_gpu_memory [MiB]\n")
    assert capture.frame is None
    assert capture.notes == ["no process was using a card"]


def test_dmon_restart_with_other_columns() -> None:
    first = (FOLDER / "nvidia-h200-dmon_p.txt").read_bytes()
    second = (FOLDER / "nvidia-h200-dmon_T.txt").read_bytes()
    captures, source = read(first + second)
    assert [len(rows(c)) for c in captures] == [2, 3]
    assert source.unmatched == 0
    assert captures[1].facts["first_time_of_day_s"] == 21 * 3600 + 52 * 60 + 36


def test_dmon_midnight_without_a_date() -> None:
    text = (
        b"#Time         gpu     sm \n#HH:MM:SS     Idx      %% \n 23:59:59       0     95 \n 00:00:00       0     95 \n"
    )
    (capture,), _ = read(text.replace(b"%%", b"%"))
    assert [r["t_s"] for r in rows(capture)] == [0.0, 1.0]


def test_dmon_values_too_wide_for_their_column() -> None:
    head = b"# gpu    pwr     sm     fb \n# Idx      W      %     MB \n"
    (capture,), _ = read(
        head + b"    0    300     95   5057 \n    0    301     96 12345678 \n    1      -      -      - \n"
    )
    assert [r["vram_used_mib"] for r in rows(capture)] == [5057, 12345678, None]
    assert [r["row"] for r in rows(capture)] == [0, 1, 1]


def test_tables_in_a_loop_are_a_series() -> None:
    table = (FOLDER / "nvidia-h200-table.txt").read_text()
    loop = "".join(table.replace("21:52:36", f"21:52:3{i}").replace("5057MiB", f"505{i}MiB") for i in range(5))
    cards, apps = read(loop.encode())[0]
    assert [(r["row"], r["t_s"], r["vram_used_mib"]) for r in rows(cards)] == [
        (i, float(i), 5050 + i) for i in range(5)
    ]
    assert [r["row"] for r in rows(apps)] == list(range(5))


MIG = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.163.01             Driver Version: 550.163.01     CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:07:00.0 Off |                   On |
| N/A   33C    P0             43W /  400W |    8000MiB /  40960MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+
| MIG devices:                                                                            |
|  0    7   0   0  |            7900MiB /  9856MiB    | 14      0 |  1   0    0    0    0 |
|                  |               2MiB / 16383MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
"""


def test_the_box_of_mig_devices_is_not_added() -> None:
    (capture,), source = read(MIG.encode())
    (row,) = rows(capture)
    assert (row["vram_used_mib"], row["gpu_util_pct"], row["t_s"]) == (8000, None, None)
    assert source.unmatched == 0


def test_memory_shared_with_the_host_is_unknown() -> None:
    table = MIG.replace("   8000MiB /  40960MiB", "Not Supported         ")
    (capture,), _ = read(table.encode())
    assert rows(capture)[0]["vram_used_mib"] is None


def test_frames_of_watch() -> None:
    table = (FOLDER / "nvidia-h200-table.txt").read_text()
    frame = "Every 2.0s: nvidia-smi                 host: Mon Nov 30 21:52:36 2026\n\n"
    cards, _ = read((frame + table + "\n" + frame + table).encode())[0]
    assert [r["row"] for r in rows(cards)] == [0, 1]
    assert cards.clock.interval_s == 2.0


def test_several_xml_documents_and_a_cut_one() -> None:
    one = (FOLDER / "nvidia-smi_qx.xml").read_bytes()
    cards, _ = read(one + one + one[:700])[0]
    assert [r["row"] for r in rows(cards)] == [0, 1]
    assert any("no end" in n for n in cards.notes)
    assert [whole for _, _, whole in documents(one + one[:700])] == [True, False]


def test_xml_with_entities_is_refused() -> None:
    bomb = (
        b'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log [\n<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;">\n]>\n'
        b'<nvidia_smi_log>\n<gpu id="0"><product_name>&b;</product_name></gpu>\n</nvidia_smi_log>\n'
    )
    (capture,), _ = read(bomb)
    assert capture.frame is None


def test_a_mixed_paste_is_cut_at_each_header() -> None:
    text = (
        b"$ nvidia-smi\n"
        + (FOLDER / "nvidia-h200-table.txt").read_bytes()
        + b"$ nvidia-smi dmon -d 2\n"
        + (FOLDER / "nvidia-h200-dmon_p.txt").read_bytes()
        + b"```\n$ free\n"
        + (FOLDER / "free-4.0.4.txt").read_bytes()
    )
    captures, source = read(text)
    assert [c.format for c in captures] == ["nvidia_smi_table", "nvidia_smi_table", "nvidia_dmon", "free"]
    assert captures[2].clock.interval_s == 2.0
    assert captures[2].clock.kind == "interval"
    assert source.unmatched == 0


def test_captures_inside_a_log_keep_their_lines() -> None:
    table = (FOLDER / "nvidia-h200-table.txt").read_bytes()
    source = Source(path="run.log")
    with open_source(b"a log line\n" * 9 + table, "run.log") as opened:
        cards, _ = embedded(list(all_lines(opened))[9:], source)
    assert cards.source is source
    assert rows(cards)[0]["line"] == 9 + 10
    assert source.lines == 0


@pytest.mark.parametrize("path", sorted(FOLDER.glob("nvidia-*")), ids=lambda p: p.name)
def test_captures_are_recognised(path: Path) -> None:
    if path.suffix != ".json":
        with open_source(str(path)) as opened:
            assert sniff(opened.head, path.name) is not None


def test_logs_are_not_recognised() -> None:
    log = (
        b"llama_model_loader: - kv   0: general.architecture str = llama\nslot print_timing: id 0 | 3, 4, 5 MiB, 1 %\n"
    )
    assert sniff(log * 50) is None
    assert sniff(b"") is None


def test_recognising_imports_nothing_heavy() -> None:
    code = (
        "import sys; from loganalyze.formats.capture_reader import sniff; "
        "sniff(b'memory.used [MiB], memory.total [MiB]\\n1 MiB, 2 MiB\\n'); "
        "print(sorted({'polars', 'numpy', 'lark', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=FOLDER.parents[1]
    )
    assert done.stdout.strip() == "[]"


def test_stamps_are_read_as_utc_and_left_unzoned() -> None:
    (capture,), _ = read((FOLDER / "nvidia-smi_csv_units.csv").read_bytes())
    assert capture.clock.zone is None
    assert capture.clock.first_epoch_s == datetime(2024, 5, 1, 12, 34, 56, 789000, tzinfo=UTC).timestamp()


def test_every_case_of_the_collection(shared: Path) -> None:
    for case in sorted((shared / "corpus").iterdir()):
        for name in ("smi.csv", "smi_plain.csv", "dmon.txt", "dmon_mu.txt"):
            with open_source(str(case / name)) as opened:
                captures = read_captures(opened)
            source = opened.source
            assert source.lines == source.matched + source.unmatched + source.skipped
            assert len(captures) == 1, (case, name)
            assert source.unmatched <= 1, (case, name)


@pytest.mark.parametrize(
    "cell", ["      5 7", "        x", "      5-7", "1234567890123", "        .", "       -5", "         "]
)
def test_dmon_cells_that_are_no_numbers(cell: str) -> None:
    head = b"# gpu    pwr             sm     fb \n# Idx      W              %     MB \n"
    good = "    0    300 %13d   5057 \n"
    text = head + "".join(good % i for i in range(3)).encode() + f"    0    300 {cell:>13}   5057 \n".encode()
    (capture,), source = read(text)
    assert [r["gpu_util_pct"] for r in rows(capture)] == [0, 1, 2]
    assert source.unmatched == 1

"""The aligned table, pandas frames, exports and the text view."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from timeline_builders import EPOCH, capture, gpu_columns, stamped_run

from loganalyze.errors import LogAnalyzeError
from loganalyze.model.records import Event, Reading
from loganalyze.timeline import align
from loganalyze.timeline.export import export
from loganalyze.timeline.table import frame, tidy, wide
from loganalyze.timeline.view import MAX_LINES, view


def _reading(wall_time: bool = True, works: tuple[tuple[float, float], ...] = ((4.5, 9.0), (8.0, 12.0))) -> Reading:
    run = stamped_run(works=works)
    if wall_time:
        run.clock.first_epoch_s, run.clock.zone = EPOCH, "UTC"
    run.events.append(Event("warning", "=odd\x1b[31m", "run.log", 5, 6.2))
    times = [-2.0 + 0.5 * i for i in range(34)]
    stamps = [EPOCH + t for t in times] if wall_time else None
    gpu = capture("smi.csv", gpu_columns(run, times), times=stamps, zone="UTC", interval_s=0.5)
    host = capture("=vmstat.txt", {"cpu_user_pct": [70.0, *([5.0] * 15)], "swap_in_kib_s": [9.0] + [None] * 15},
                   times=[EPOCH - 1 + i for i in range(16)] if wall_time else None, kind="host", zone="UTC")  # fmt: skip
    host.first_row_since_boot = True
    return align([run], [gpu, host])


def test_tidy_has_one_row_a_value_and_no_missing_ones() -> None:
    table = tidy(_reading())
    assert table.columns == ["time", "source", "device", "metric", "value"]
    assert table["time"].is_sorted()
    assert table["value"].null_count() == 0
    assert table.filter(pl.col("metric") == "gpu_util_pct").height == 34
    # the average since boot is no sample, and what was never measured is no zero
    assert table.filter(pl.col("metric") == "cpu_user_pct")["value"].max() == 5.0
    assert table.filter(pl.col("metric") == "swap_in_kib_s").height == 0


def test_wide_tells_phases_requests_and_events_beside_the_means() -> None:
    table = wide(_reading(), 1.0)
    at = {round(t - EPOCH): i for i, t in enumerate(table["time"].to_list())}
    assert table["phase"][at[1]] == "load"
    assert table["phase"][at[8]] == "reading+writing"
    assert table["requests"][at[8]] == 2
    assert table["requests"][at[13]] == 0
    assert table["events"][at[6]] == "warning"
    assert table["vram_used_mib"][at[-1]] == 10.0
    assert table["gpu_util_pct"][at[10]] > 80
    steps = table["time"].diff().drop_nulls().unique().to_list()
    assert steps == [1.0]


def test_columns_of_several_cards_and_sources_can_be_told_apart() -> None:
    run = stamped_run()
    run.clock.first_epoch_s, run.clock.zone = EPOCH, "UTC"
    two = capture("smi.csv", {"device": [0, 1] * 8, "vram_used_mib": [5.0, 6.0] * 8}, zone="UTC",
                  times=[EPOCH + i // 2 for i in range(16)], ticks=[i // 2 for i in range(16)])  # fmt: skip
    more = capture("dmon.txt", {"device": [0] * 8, "vram_used_mib": [7.0] * 8}, times=[EPOCH + i for i in range(8)],
                   zone="UTC")  # fmt: skip
    names = wide(align([run], [two, more])).columns
    assert {"smi.csv:vram_used_mib[0]", "dmon.txt:vram_used_mib[0]", "vram_used_mib[1]"} <= set(names)


def test_pandas_frame_has_a_datetime_index() -> None:
    found = frame(_reading().runs[0])
    assert str(found.index.tz) == "UTC"
    assert abs(found.index[0].timestamp() - (EPOCH - 2)) <= 1.0
    relative = frame(_reading(wall_time=False).runs[0])
    assert relative.index.tz is None


@pytest.mark.parametrize("wall_time", [True, False])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "trace.json"])
@pytest.mark.parametrize("long", [True, False])
def test_exports_are_whole_files(tmp_path: Path, name: str, wall_time: bool, long: bool) -> None:
    path = tmp_path / name
    export(_reading(wall_time), str(path), long=long)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    text = path.read_bytes()
    if name == "t.csv":
        assert text.startswith(b"time,utc," if wall_time else b"time,")
        assert b",=" not in text
    elif name == "t.jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
        assert ("utc" in rows[0]) is wall_time
    elif name == "t.parquet":
        assert pl.read_parquet(path).height > 10
    with pytest.raises(LogAnalyzeError, match="file exists"):
        export(_reading(), str(path))
    export(_reading(), str(path), force=True)


def test_unknown_endings_and_folders_are_errors(tmp_path: Path) -> None:
    with pytest.raises(LogAnalyzeError, match="unknown kind"):
        export(_reading(), str(tmp_path / "x.xls"))
    with pytest.raises(LogAnalyzeError, match="cannot be written"):
        export(_reading(), str(tmp_path / "none" / "x.csv"))


def test_trace_slices_nest_and_counters_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    export(_reading(), str(path))
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    assert trace["otherData"]["zero_epoch_s"] == pytest.approx(EPOCH - 2)
    assert all(e["ts"] >= 0 for e in events if "ts" in e)
    slices = [e for e in events if e["ph"] == "X"]
    assert {e["name"] for e in slices} >= {"load", "reading", "writing", "request 0", "request 1"}
    by_track: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for e in slices:
        by_track.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    for spans in by_track.values():
        for a in spans:
            for b in spans:
                assert a[1] <= b[0] + 2 or b[1] <= a[0] + 2 or (a[0] - b[0]) * (a[1] - b[1]) <= 4
    counters = {e["name"] for e in events if e["ph"] == "C"}
    assert {"vram_used_mib", "gpu_util_pct", "cpu_user_pct"} <= counters
    assert all(isinstance(e["args"]["value"], float) for e in events if e["ph"] == "C")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_view_is_short_and_inert(width: int) -> None:
    reading = _reading()
    reading.runs[0].id = "run\x1b[31m.log"
    text = view(reading, width=width, ascii_only=True)
    assert text.isascii()
    assert "\x1b" not in text
    assert len(text.splitlines()) <= MAX_LINES
    assert all(len(line) <= max(width, 48) for line in text.splitlines())
    assert "GPU memory" in text
    assert "L" in text.splitlines()[1]
    assert "R" in text.splitlines()[1]


def test_view_with_many_sources_stays_within_its_lines() -> None:
    run = stamped_run()
    run.clock.first_epoch_s, run.clock.zone = EPOCH, "UTC"
    many = [
        capture(f"smi{n}.csv", {"device": [n] * 9, "vram_used_mib": [5.0 + n] * 9, "power_w": [9.0] * 9}, zone="UTC",
                times=[EPOCH + i for i in range(9)])
        for n in range(30)
    ]  # fmt: skip
    assert len(view(align([run], many)).splitlines()) <= MAX_LINES


def test_nothing_gives_an_empty_table_and_a_line() -> None:
    reading = align([], [])
    assert tidy(reading).height == 0
    assert wide(reading).height == 0
    assert view(reading) == "nothing has times\n"

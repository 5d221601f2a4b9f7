"""Anchors in order of trust, zones, clocks that do not run forward, and clients' clocks."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timeline_builders import EPOCH, capture, gpu_columns, stamped_run

from loganalyze.errors import LogAnalyzeError
from loganalyze.model.records import Capture, Clock, Request, Run, Source
from loganalyze.timeline import align
from loganalyze.timeline.zones import offset_text, stamp_epoch, zone_seconds


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()


def _flat(path: str, start: float, count: int = 20, **fields: object) -> Capture:
    return capture(path, {"vram_used_mib": [5.0] * count}, times=[start + i for i in range(count)], **fields)  # type: ignore[arg-type]


def test_a_zone_in_the_stamps_is_trusted() -> None:
    c = _flat("smi.csv", EPOCH, zone="+02:00")
    align([], [c])
    assert c.clock.offset_s == EPOCH
    assert c.clock.error_s == 0.001
    assert "zone +02:00" in (c.clock.anchor or "")


def test_local_stamps_take_the_zone_given() -> None:
    c = _flat("smi.csv", EPOCH)
    align([], [c], tz="Europe/Berlin")
    assert c.clock.offset_s == EPOCH - 3600
    assert "as given" in (c.clock.anchor or "")


def test_local_stamps_take_a_neighbours_zone() -> None:
    # vmstat -t prints its zone in the header, nvidia-smi prints none
    zoned = _flat("vmstat_t.txt", EPOCH, zone="+05:30", kind="host")
    local = _flat("smi.csv", EPOCH + 19800 + 1)
    align([], [zoned, local])
    assert local.clock.offset_s == EPOCH + 1
    assert "vmstat_t.txt" in (local.clock.anchor or "")


def test_a_container_in_another_zone_is_moved_and_it_is_said() -> None:
    zoned = _flat("docker.log", EPOCH, zone="UTC", kind="host")
    local = _flat("smi.csv", EPOCH - 6 * 3600 + 2)
    align([], [zoned, local])
    assert local.clock.offset_s == EPOCH + 2
    assert any("moved by +06:00" in note for note in local.clock.notes)


def test_two_unmarked_clocks_are_brought_together() -> None:
    a, b = _flat("a.csv", EPOCH), _flat("b.csv", EPOCH + 7200 + 3)
    align([], [a, b], group="one")
    assert b.clock.offset_s == EPOCH + 3


def test_file_time_tells_the_zone() -> None:
    c = _flat("smi.csv", EPOCH, mtime_s=EPOCH + 19 - 3600 + 0.4)
    align([], [c])
    assert c.clock.offset_s == EPOCH - 3600
    assert any("file time" in note for note in c.clock.notes)


def test_copied_files_tell_nothing() -> None:
    c = [_flat(f"{n}.csv", EPOCH, mtime_s=EPOCH + 19 - 3600 + n / 100) for n in range(3)]
    align([], c)
    assert c[0].clock.offset_s == EPOCH


def test_a_start_given_outranks_all() -> None:
    run = stamped_run()
    c = _flat("smi.csv", EPOCH, zone="UTC")
    align([run], [c], starts={"run.log": "2026-11-30T22:00:00+01:00"})
    assert run.clock.offset_s == stamp_epoch("2026-11-30T21:00:00Z")[0]
    assert run.clock.anchor == "start given"


@pytest.mark.parametrize("bad", [{"starts": {"run.log": "soon"}}, {"starts": {"other": "1796075500"}}, {"tz": "Mars"}])
def test_options_that_cannot_be_read_are_errors(bad: dict[str, object]) -> None:
    with pytest.raises(LogAnalyzeError):
        align([stamped_run()], [], **bad)  # type: ignore[arg-type]


def test_a_wrapper_places_a_relative_log() -> None:
    run = stamped_run()
    run.clock.first_epoch_s, run.clock.zone, run.clock.anchor = EPOCH, "UTC", "stamps of ts"
    align([run], [])
    assert (run.clock.offset_s, run.clock.anchor) == (EPOCH, "stamps of ts")
    assert run.source is not None
    assert run.source.clock.offset_s == EPOCH


def test_a_log_alone_is_the_zero_of_the_axis() -> None:
    run = stamped_run()
    reading = align([run], [])
    assert run.clock.offset_s == 0.0
    assert reading.grouping == "one log"


def _client(spans: list[tuple[float, float]]) -> Run:
    zero = spans[0][0]
    run = Run(id="requests.jsonl#1", source=Source(path="requests.jsonl"))
    run.clock = Clock(kind="absolute", zone="UTC", first_epoch_s=zero)
    run.requests = [
        Request(id=str(i), source="requests.jsonl", line=i + 1, start_s=a - zero, end_s=b - zero)
        for i, (a, b) in enumerate(spans)
    ]
    return run


def test_a_clients_wall_times_place_the_log() -> None:
    run = stamped_run(works=[(4.5, 6.0), (6.1, 9.0), (9.5, 12.0)])
    client = _client([(EPOCH + 4.49, EPOCH + 6.01), (EPOCH + 6.09, EPOCH + 9.0), (EPOCH + 9.5, EPOCH + 12.02)])
    align([run, client], [])
    assert run.clock.offset_s == pytest.approx(EPOCH, abs=0.05)
    assert run.clock.anchor == "3 requests in requests.jsonl"
    assert client.facts["client_of"] == run.id


def test_a_client_that_queued_still_places_the_log() -> None:
    run = stamped_run(works=[(1.0, 2.0), (2.0, 3.5), (3.5, 5.5), (5.5, 6.2)])
    client = _client([(EPOCH + 1.0, EPOCH + e) for e in (2.0, 3.5, 5.5, 6.2)])
    align([run, client], [])
    assert run.clock.offset_s == pytest.approx(EPOCH, abs=0.05)


def test_another_clients_requests_do_not_place_it() -> None:
    run = stamped_run(works=[(4.5, 6.0), (6.1, 9.0), (9.5, 12.0)])
    client = _client([(EPOCH, EPOCH + 0.3), (EPOCH + 20, EPOCH + 20.2), (EPOCH + 50, EPOCH + 50.1)])
    align([run, client], [])
    assert "client" not in run.facts


def test_a_clock_set_back_begins_a_segment() -> None:
    times = [EPOCH + i for i in range(10)] + [EPOCH + 3.5 + i for i in range(10)]
    c = capture("smi.csv", {"vram_used_mib": [1.0] * 20}, times=times, zone="UTC")
    reading = align([], [c])
    parts = reading.captures
    assert [p.frame.height for p in parts if p.frame is not None] == [10, 10]
    assert [p.segment for p in parts] == [0, 1]
    assert any("went back by 5.5 s" in note for note in parts[1].clock.notes)
    assert parts[1].clock.offset_s == EPOCH + 3.5


def test_the_end_of_summer_time_is_made_good() -> None:
    times = [EPOCH + i for i in range(10)] + [EPOCH + 10 + i - 3600 for i in range(10)]
    parts = align([], [capture("smi.csv", {"vram_used_mib": [1.0] * 20}, times=times)]).captures
    assert len(parts) == 2
    assert parts[1].clock.offset_s == EPOCH + 10


def test_a_suspended_machine_begins_a_segment() -> None:
    times = [EPOCH + i for i in range(10)] + [EPOCH + 700 + i for i in range(10)]
    parts = align([], [capture("smi.csv", {"vram_used_mib": [1.0] * 20}, times=times)]).captures
    assert len(parts) == 2
    assert any("a gap of" in note for note in parts[1].clock.notes)


def test_rows_of_several_cards_are_no_clock_that_runs_back() -> None:
    times = [EPOCH + i // 2 + (i % 2) * 0.004 for i in range(20)]
    c = capture("smi.csv", {"device": [i % 2 for i in range(20)], "vram_used_mib": [1.0] * 20}, times=times,
                ticks=[i // 2 for i in range(20)])  # fmt: skip
    assert len(align([], [c]).captures) == 1


stamps = st.one_of(
    st.none(), st.floats(min_value=0, max_value=1e10), st.floats(min_value=EPOCH - 100, max_value=EPOCH + 100)
)


@settings(max_examples=60, deadline=None)
@given(times=st.lists(stamps, min_size=1, max_size=60), cut=st.integers(0, 5))
def test_no_row_is_lost_and_nothing_raises_whatever_the_stamps(times: list[float | None], cut: int) -> None:
    columns = gpu_columns(stamped_run(), [float(i) for i in range(len(times))])
    c = capture("smi.csv", columns, times=times)
    run = stamped_run(works=[(4.5, 5.0 + cut)])
    reading = align([run], [c])
    parts = list({id(p): p for p in [*run.captures, *reading.captures]}.values())
    assert sum(p.frame.height for p in parts if p.frame is not None) == len(times)
    lines = sorted(n for p in parts if p.frame is not None for n in p.frame["line"].to_list())
    assert lines == list(range(2, len(times) + 2))
    for p in parts:
        assert p.clock.offset_s is None or math.isfinite(p.clock.offset_s)


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [("UTC", 0), ("+02:00", 7200), ("-0530", -19800), ("CET", 3600), ("Asia/Tokyo", 32400), ("nowhere", None)],
)
def test_zones(zone: str, seconds: int | None) -> None:
    assert zone_seconds(zone, EPOCH) == seconds


def test_offsets_in_words() -> None:
    assert (offset_text(-19800), offset_text(0), offset_text(50400)) == ("-05:30", "+00:00", "+14:00")

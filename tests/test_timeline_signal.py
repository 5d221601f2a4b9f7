"""Alignment by the signal: known truth, other intervals, drift, refusals, and several runs."""

from __future__ import annotations

import random

import pytest
from timeline_builders import EPOCH, capture, gpu_columns, stamped_run

from loganalyze.model.records import Run
from loganalyze.timeline import align

WORKS = [(4.5, 9.0), (15.0, 21.0), (22.0, 40.0)]


def _loose(run: Run, begin: float, count: int, step: float = 1.0, **fields: object) -> tuple[object, ...]:
    times = [begin + i * step for i in range(count)]
    return (capture("smi_plain.csv", gpu_columns(run, times), **fields),)  # type: ignore[arg-type]


@pytest.mark.parametrize("begin", [-1.5, -10.2, -0.3, -33.7])
def test_a_capture_without_clock_finds_its_place(begin: float) -> None:
    run = stamped_run(works=WORKS)
    (c,) = _loose(run, begin, int(45 - begin))
    align([run], [c])  # type: ignore[list-item]
    assert c.clock.offset_s == pytest.approx(begin, abs=1.0)  # type: ignore[attr-defined]
    assert abs(c.clock.offset_s - begin) <= c.clock.error_s  # type: ignore[attr-defined]
    assert c.clock.anchor.startswith("signal: device memory")  # type: ignore[attr-defined]
    assert c.frame["t_s"].to_list()[:2] == [0.0, 1.0]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("step", "count"), [(0.5, 100), (2.0, 26), (5.0, 12)])
def test_an_unstated_interval_is_found(step: float, count: int) -> None:
    run = stamped_run(works=WORKS)
    (c,) = _loose(run, -3.0, count, step)
    align([run], [c])  # type: ignore[list-item]
    assert c.clock.interval_s == pytest.approx(step)  # type: ignore[attr-defined]
    assert abs(c.clock.offset_s + 3.0) <= c.clock.error_s  # type: ignore[attr-defined]
    assert any("found by matching" in n for n in c.clock.notes)  # type: ignore[attr-defined]


def test_a_loop_that_drifts_is_stretched() -> None:
    works = [(60 + 100.0 * i, 100 + 100.0 * i) for i in range(15)]
    run = stamped_run(load=(0.2, 50.0), works=works)
    (c,) = _loose(run, -20.0, 1560, 1.009)
    align([run], [c])  # type: ignore[list-item]
    assert c.clock.interval_s == pytest.approx(1.009, abs=0.004)  # type: ignore[attr-defined]
    assert any("drift" in n for n in c.clock.notes)  # type: ignore[attr-defined]


def test_a_flat_capture_is_refused() -> None:
    run = stamped_run(works=WORKS)
    c = capture("smi_plain.csv", {"vram_used_mib": [500.0] * 40, "gpu_util_pct": [0.0] * 40})
    align([run], [c])
    assert c.clock.offset_s is None
    assert c.clock.anchor is None
    assert any("not placed by the signal" in n for n in c.clock.notes)
    assert run.captures == [c]


def test_a_regular_beat_has_no_distinct_place() -> None:
    run = stamped_run(load=(0.0, 0.1), works=[(1.0, 3.0)])
    beat = [98.0 if i % 10 < 2 else 0.0 for i in range(120)]
    c = capture("smi_plain.csv", {"gpu_util_pct": beat})
    align([run], [c])
    assert c.clock.offset_s is None
    assert any("not distinct" in n for n in c.clock.notes)


def test_noise_alone_is_not_matched() -> None:
    dice = random.Random(3)
    placed = 0
    for _ in range(10):
        run = stamped_run(works=WORKS)
        c = capture("smi_plain.csv", {"gpu_util_pct": [dice.uniform(0, 100) for _ in range(100)]})
        align([run], [c])
        placed += c.clock.offset_s is not None
    assert placed <= 2


def test_a_stamped_capture_places_the_log() -> None:
    run = stamped_run(works=WORKS)
    times = [-4.0 + 0.5 * i for i in range(100)]
    c = capture("smi.csv", gpu_columns(run, times), times=[EPOCH + t for t in times], zone="UTC")
    align([run], [c])
    assert run.clock.offset_s == pytest.approx(EPOCH, abs=0.5)
    assert abs(run.clock.offset_s - EPOCH) <= run.clock.error_s  # type: ignore[operator]


def test_two_like_runs_of_one_log_take_the_two_humps_in_order() -> None:
    first, second = stamped_run(), stamped_run()
    second.id, second.source = "run.log#2", first.source
    times = [-4.0 + 0.5 * i for i in range(140)]
    a, b = gpu_columns(first, times), gpu_columns(second, [t - 40.0 for t in times])
    columns = {k: [max(x, y) for x, y in zip(a[k], b[k], strict=True)] for k in a}
    c = capture("smi.csv", columns, times=[EPOCH + t for t in times], zone="UTC")
    align([first, second], [c])
    assert first.clock.offset_s == pytest.approx(EPOCH, abs=1.0)
    assert second.clock.offset_s == pytest.approx(EPOCH + 40, abs=1.0)
    assert first.captures == second.captures == [c]


def test_a_twin_with_stamps_places_a_capture_without_a_log() -> None:
    run = stamped_run(works=WORKS)
    times = [-4.0 + 0.5 * i for i in range(100)]
    stamped = capture("smi.csv", gpu_columns(run, times), times=[EPOCH + t for t in times], zone="UTC")
    (plain,) = _loose(run, -2.0, 45)
    align([], [stamped, plain])  # type: ignore[list-item]
    assert plain.clock.offset_s == pytest.approx(EPOCH - 2.0, abs=1.0)  # type: ignore[attr-defined]
    assert plain.clock.anchor == "same curve as smi.csv"  # type: ignore[attr-defined]


def test_file_times_place_what_the_signal_cannot() -> None:
    run = stamped_run(works=WORKS)
    run.clock.first_epoch_s, run.clock.zone = EPOCH, "UTC"
    assert run.source is not None
    run.clock.kind, run.source.mtime_s = "absolute", EPOCH + 40.1
    c = capture("smi.csv", {"vram_used_mib": [500.0] * 50}, mtime_s=EPOCH + 45.0)
    align([run], [c])
    assert c.clock.anchor == "file time"
    assert c.clock.offset_s == pytest.approx(EPOCH + 45 - 49)


def test_a_server_that_stays_after_its_last_line_is_placed() -> None:
    run = stamped_run(works=WORKS)
    times = [-6.0 + i for i in range(200)]
    columns = gpu_columns(run, times)
    columns["vram_used_mib"] = [8000 if t > 2 else m for t, m in zip(times, columns["vram_used_mib"], strict=True)]
    c = capture("smi_plain.csv", columns)
    align([run], [c])
    assert c.clock.offset_s == pytest.approx(-6.0, abs=1.0)
    assert c.clock.interval_s == 1.0


def test_a_log_without_its_head_is_placed() -> None:
    run = stamped_run(load=(3600.0, 3600.0), works=[(3604.0, 3610.0), (3621.0, 3640.0), (3641.0, 3650.0)])
    times = [3580.0 + i for i in range(100)]
    columns = gpu_columns(run, times)
    columns["vram_used_mib"] = [8000] * 100
    c = capture("smi_plain.csv", columns)
    align([run], [c])
    assert next(p.kind for p in run.phases) == "reading"
    assert c.clock.offset_s == pytest.approx(3580.0, abs=1.0)

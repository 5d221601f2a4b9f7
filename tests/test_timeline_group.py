"""Which captures go to which runs, and what is printed about it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from timeline_builders import EPOCH, capture, stamped_run

from loganalyze.errors import LogAnalyzeError
from loganalyze.model.records import Capture
from loganalyze.timeline import align
from loganalyze.timeline.group import carries


def _capture(path: str, start: float = EPOCH) -> Capture:
    return capture(path, {"vram_used_mib": [5.0] * 10}, times=[start + i for i in range(10)], zone="UTC")


@pytest.mark.parametrize(
    ("name", "whose", "answer"),
    [
        ("run1_smi", "run1", True),
        ("smi-run1", "run1", True),
        ("run10_smi", "run1", False),
        ("server_smi", "server", False),
        ("server", "server", True),
        ("smi", "", False),
    ],
)
def test_names(name: str, whose: str, answer: bool) -> None:
    assert carries(name, whose) is answer


def test_captures_go_to_the_log_whose_name_they_carry() -> None:
    a, b = stamped_run("x/run1.log"), stamped_run("x/run2.log")
    mine, yours = _capture("x/run1_smi.csv"), _capture("x/run2_smi.csv")
    reading = align([a, b], [mine, yours])
    assert (a.captures, b.captures) == ([mine], [yours])
    assert "2 logs" in reading.grouping


def test_captures_go_to_the_log_of_their_folder() -> None:
    a, b = stamped_run("a/run.log"), stamped_run("b/run.log")
    mine, yours = _capture("a/smi.csv"), _capture("b/sub/vmstat.txt")
    align([a, b], [mine, yours])
    assert (a.captures, b.captures) == ([mine], [yours])


def test_one_group_when_asked_for() -> None:
    a, b = stamped_run("a/run.log"), stamped_run("b/run.log")
    a.clock.first_epoch_s = b.clock.first_epoch_s = EPOCH
    a.clock.zone = b.clock.zone = "UTC"
    c = _capture("a/smi.csv")
    reading = align([a, b], [c], group="one")
    assert a.captures == b.captures == [c]
    assert "asked for" in reading.grouping


def test_runs_of_one_log_share_by_overlap_in_time() -> None:
    a, b = stamped_run(), stamped_run()
    b.source = a.source
    for run, at in ((a, EPOCH), (b, EPOCH + 500)):
        run.clock.first_epoch_s, run.clock.zone = at, "UTC"
    early, late, none = _capture("e.csv", EPOCH + 2), _capture("l.csv", EPOCH + 505), _capture("n.csv", EPOCH + 9000)
    reading = align([a, b], [early, late, none])
    assert (a.captures, b.captures, reading.captures) == ([early], [late], [none])


def test_a_shared_capture_goes_to_the_runs_it_overlaps() -> None:
    a, b = stamped_run("x/one.log"), stamped_run("x/two.log")
    for run, at in ((a, EPOCH), (b, EPOCH + 500)):
        run.clock.first_epoch_s, run.clock.zone = at, "UTC"
    c = _capture("x/gpu.csv", EPOCH + 501)
    align([a, b], [c])
    assert (a.captures, b.captures) == ([], [c])


def test_a_capture_of_another_day_is_not_joined() -> None:
    run = stamped_run()
    run.clock.first_epoch_s, run.clock.zone = EPOCH, "UTC"
    c = _capture("smi.csv", EPOCH + 86_400)
    reading = align([run], [c])
    assert (run.captures, reading.captures) == ([], [c])
    assert any("another time" in note for note in c.notes)


def test_time_reports_go_to_the_run_they_fit() -> None:
    a, b = stamped_run(works=[(4.5, 12.0)]), stamped_run(works=[(4.5, 30.0)])
    b.source = a.source
    report = Capture(kind="time", format="time", source=_capture("time.txt").source, facts={"wall_s": 30.5})
    align([a, b], [report])
    assert (a.captures, b.captures) == ([], [report])


def test_unknown_mode() -> None:
    with pytest.raises(LogAnalyzeError):
        align([stamped_run()], [], group="maybe")


def test_a_log_alone_loads_no_frames() -> None:
    code = (
        "import sys, loganalyze.timeline as t\n"
        "from loganalyze.model.records import *\n"
        "r = Run(id='a', source=Source(path='a'), load_ms=5.0)\n"
        "r.requests = [Request(id='1', source='a', line=1, prompt_ms=5.0, eval_ms=6.0)]\n"
        "t.align([r], [])\n"
        "print([m for m in ('polars', 'numpy', 'pandas', 'datetime', 'zoneinfo', 'json') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=_root(), check=False)
    assert done.stdout.strip() == "[]", done.stderr


def _root() -> str:
    from pathlib import Path

    return str(Path(__file__).resolve().parent.parent)

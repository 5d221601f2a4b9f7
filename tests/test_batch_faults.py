"""Kills, full disks, files that vanish, two batches at once: nothing finished is lost, nothing is half, nothing piles up."""

from __future__ import annotations

import errno
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from batch_helpers import batch, command, environment, make_logs, wait_until

from loganalyze import replacing as whole_files
from loganalyze.batch import output, runners, work
from loganalyze.batch import spool as spools
from loganalyze.batch.cache import Cache
from loganalyze.batch.discover import Item, Unit, discover
from loganalyze.batch.engine import rows_of
from loganalyze.batch.row import Row
from loganalyze.batch.spool import Spool
from loganalyze.batch.summary import Summary
from loganalyze.errors import LogAnalyzeError
from loganalyze.options import Options

KILLS = int(os.environ.get("LOGANALYZE_TEST_KILLS", "10"))
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")


def units_in(cache: Path) -> set[str]:
    found: set[str] = set()
    for path in (cache / "loganalyze").glob("batch-*.sqlite"):
        database = sqlite3.connect(path, timeout=30)
        try:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            found |= {key for (key,) in database.execute("SELECT key FROM results")}
        except sqlite3.OperationalError as error:
            # Killed before the tables were made.
            if "no such table" not in str(error):
                raise
        finally:
            database.close()
    return found


@posix
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """What was finished stays finished, the output is whole, and neither files nor processes pile up."""
    logs, cache, out = make_logs(tmp_path / "logs", 120), tmp_path / "cache", tmp_path / "out"
    out.mkdir()
    names = [out / "r.parquet", out / "r.csv", out / "r.jsonl", out / "r.html"]
    words = [w for name in names for w in ("-o", str(name))]
    reference = batch(logs, *words, "--jobs", "2", cache=tmp_path / "other")
    assert reference.returncode == 0, reference.stderr
    whole = {name: name.read_bytes() for name in names}
    rng = random.Random(1)
    start = time.monotonic()
    assert batch(logs, *words, "--force", "--jobs", "2", cache=tmp_path / "timed").returncode == 0
    usual = time.monotonic() - start
    known: set[str] = set()
    for _ in range(KILLS):
        run = subprocess.Popen(
            command(logs, *words, "--force", "--jobs", "2"), env=environment(cache),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        time.sleep(rng.uniform(0, usual))
        run.kill()
        run.wait(30)
        wait_until(partial(alive_no_more, run.pid))
        now = units_in(cache)
        assert known <= now
        known = now
        assert {name: name.read_bytes() for name in names} == whole
        if len(known) == 120 and rng.random() < 0.5:
            # Begin anew, or every later run would be a cached one.
            for path in (cache / "loganalyze").iterdir():
                path.unlink()
            known = set()
    assert batch(logs, *words, "--force", "--jobs", "2", cache=cache).returncode == 0
    assert {name: name.read_bytes() for name in names} == whole
    assert sorted(path.name for path in out.iterdir()) == sorted(name.name for name in names)
    assert len(units_in(cache)) == 120


def alive_no_more(group: int) -> bool:
    """Whether no process of a group that was started for a test runs any more."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return True
    return False


@posix
def test_interrupted_runs_end_quietly_and_resume(tmp_path: Path) -> None:
    logs = make_logs(tmp_path / "logs", 400)
    run = subprocess.Popen(
        command(logs, "--jobs", "2"), env=environment(tmp_path / "cache"),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    wait_until(lambda: (tmp_path / "cache").exists() and units_in(tmp_path / "cache"))
    os.killpg(run.pid, signal.SIGINT)
    _, told = run.communicate(timeout=60)
    assert run.returncode in (0, 130)
    assert "Traceback" not in told
    before = len(units_in(tmp_path / "cache"))
    assert before > 0
    again = batch(logs, "-o", tmp_path / "r.csv", cache=tmp_path / "cache")
    assert again.returncode == 0
    assert len(units_in(tmp_path / "cache")) == 400


LATE = """
import os, signal, sys, threading, time
from loganalyze.batch import runners
begin = runners.begin
def late():
    time.sleep(1)
    begin()
runners.begin = late
def end():
    time.sleep(0.5)
    os.killpg(0, signal.SIGINT) if sys.argv[1] == "interrupt" else os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=end, daemon=True).start()
from loganalyze.__main__ import status
sys.exit(status(sys.argv[2:]))
"""


@posix
@pytest.mark.parametrize(("how", "code"), [("interrupt", 130), ("kill", -9)])
def test_a_process_that_starts_while_its_parent_ends_ends_too(how: str, code: int, tmp_path: Path) -> None:
    """The signal comes before the worker could say what to do with it, or ask who its parent is."""
    logs = make_logs(tmp_path / "logs", 120)
    run = subprocess.Popen(
        [sys.executable, "-c", LATE, how, "batch", str(logs), "--jobs", "2"], env=environment(tmp_path / "cache"),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    try:
        # Its workers hold the same stderr: that it is closed tells that they are gone.
        _, told = run.communicate(timeout=60)
    finally:
        if not alive_no_more(run.pid):
            os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == code, told
    assert "Traceback" not in told


SENDING = """
import os, signal, sys, threading, time
from multiprocessing import active_children, connection
from loganalyze.batch import runners
def large(entries, options):
    return [(index, key, [line + " " * 100_000 for line in lines]) for index, key, lines in run_chunk(entries, options)]
run_chunk, runners.run_chunk = runners.run_chunk, large
def stop():
    if sys.argv[1] == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        os.kill(active_children()[0].pid, signal.SIGKILL)
        os.kill(active_children()[-1].pid, signal.SIGKILL)
first = True
plain = connection.Connection._recv
def slow(self, size, *rest):
    global first
    if size > 1 << 20 and first:
        first = False
        threading.Timer(0.3, stop).start()
        time.sleep(1)
    return plain(self, size, *rest)
connection.Connection._recv = slow
from loganalyze.__main__ import status
sys.exit(status(sys.argv[2:]))
"""


@posix
@pytest.mark.parametrize(("how", "code"), [("interrupt", 130), ("kill", 0)])
def test_stopped_while_a_worker_sends(how: str, code: int, tmp_path: Path) -> None:
    """What a worker that is stopped has sent by half must not be waited for."""
    logs = make_logs(tmp_path / "logs", 120)
    run = subprocess.Popen(
        [sys.executable, "-c", SENDING, how, "batch", str(logs), "--jobs", "2"], env=environment(tmp_path / "cache"),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    try:
        _, told = run.communicate(timeout=60)
    finally:
        if not alive_no_more(run.pid):
            os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == code, told
    assert "Traceback" not in told
    assert how == "interrupt" or len(units_in(tmp_path / "cache")) == 120


def spool_of(folder: Path) -> tuple[Spool, Summary]:
    spool, summary = Spool(), Summary()
    for _, rows, _ in rows_of(discover((str(folder),)).units, Options(), Cache(None, "t")):
        for row in rows:
            spool.add(row)
            summary.add(row)
    return spool, summary


@posix
@pytest.mark.parametrize("extension", [".csv", ".jsonl", ".parquet", ".html"])
def test_full_disk_keeps_the_old_output(extension: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: the writing fails in the middle."""
    logs = make_logs(tmp_path / "logs", 60)
    out = tmp_path / "out"
    out.mkdir()
    name = out / f"r{extension}"
    name.write_bytes(b"old")
    assert batch(logs, cache=tmp_path / "cache").returncode == 0
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from loganalyze.batch import output\n"
        "write = output.write\n"
        "def limited(*words):\n"
        "    words[1].row(0)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))\n"
        "    return write(*words)\n"
        "output.write = limited\n"
        "from loganalyze.__main__ import status\n"
        "sys.exit(status(sys.argv[1:]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "batch", str(logs), "-o", str(name), "--force"],
        env=environment(tmp_path / "cache"), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 2, run.stderr
    assert f"{name}: cannot be written" in run.stderr
    assert "finished files are remembered" in run.stderr
    assert "Traceback" not in run.stderr
    assert name.read_bytes() == b"old"
    assert [path.name for path in out.iterdir()] == [name.name]
    again = batch(logs, "-o", name, "--force", cache=tmp_path / "cache")
    assert again.returncode == 0, again.stderr
    assert name.read_bytes() != b"old"


def test_one_full_disk_does_not_cost_the_other_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loganalyze.__main__ import status

    logs = make_logs(tmp_path / "logs", 3)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output, "_csv", full)
    names = [str(tmp_path / "r.csv"), str(tmp_path / "r.jsonl")]
    assert status(["batch", str(logs), "--no-cache", "-o", names[0], "-o", names[1]]) == 2
    assert not os.path.exists(names[0])
    assert len(Path(names[1]).read_text().splitlines()) == 3


def test_full_disk_of_the_cache_costs_only_the_memory_of_it(tmp_path: Path) -> None:
    logs = make_logs(tmp_path / "logs", 130)
    cache = Cache(str(tmp_path), "t")
    # The smallest size that SQLite accepts is that of the file as it is.
    cache._db.execute("PRAGMA max_page_count=12")
    rows = [row for _, found, _ in rows_of(discover((str(logs),)).units, Options(), cache) for row in found]
    assert len(rows) == 130
    assert cache.note is not None
    assert "full" in cache.note
    assert "Free some space" in cache.note
    kept = Cache(str(tmp_path), "t")
    again = [row for _, found, _ in rows_of(discover((str(logs),)).units, Options(), kept) for row in found]
    assert again == rows
    assert kept.note is None
    kept.close()


def test_full_temporary_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spools, "_temporary", Full)
    with pytest.raises(LogAnalyzeError, match="TMPDIR"):
        Spool().add({"lost_s": 1.0})


def test_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path), "t")
    cache.close()
    (path,) = tmp_path.glob("*.sqlite")
    path.write_bytes(b"no database at all " * 500)
    again = Cache(str(tmp_path), "t")
    again.put([("key", ["{}"])], [])
    assert again.note is None
    assert again.get(["key"]) == {"key": ["{}"]}
    again.close()


def test_vanishing_and_changing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One goes, one becomes unreadable, one grows between being found and being read."""
    logs = make_logs(tmp_path / "logs", 52)
    found = discover((str(logs),))
    (logs / "r0000.log").unlink()
    (logs / "r0001.log").unlink()
    (logs / "r0001.log").mkdir()
    analyse = work.analyse

    def growing(unit: Unit, options: Options, key: str) -> list[Row]:
        if unit.items[0].path.endswith("r0002.log"):
            with open(unit.items[0].path, "a") as file:
                file.write("more\n")
        if unit.items[0].path.endswith("r0003.log"):
            os.unlink(unit.items[0].path)
        return analyse(unit, options, key)

    monkeypatch.setattr(work, "analyse", growing)
    cache = Cache(str(tmp_path), "t")
    rows = [row for _, got, _ in rows_of(found.units, Options(), cache) for row in got]
    bad = {os.path.basename(row["file"]): row["error"] for row in rows if row["error"]}
    assert sorted(bad) == ["r0000.log", "r0001.log", "r0003.log"]
    assert len(rows) == 52
    assert len(units_in_file(tmp_path)) == 48
    cache.close()


def units_in_file(folder: Path) -> list[str]:
    (path,) = folder.glob("*.sqlite")
    with sqlite3.connect(path) as database:
        return [key for (key,) in database.execute("SELECT key FROM results")]


@posix
def test_specials_and_sparse_files_cost_one_row(tmp_path: Path) -> None:
    logs = make_logs(tmp_path / "logs", 1)
    os.mkfifo(logs / "pipe.log")
    with open(logs / "huge.log", "wb") as file:
        try:
            file.truncate(100 << 30)
        except OSError:
            pytest.skip("no sparse files here")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(logs / "socket.log"))
        rows = [row for _, got, _ in rows_of(discover((str(logs),)).units, Options(), Cache(None, "t")) for row in got]
    told = {os.path.basename(row["file"]): row["error"] or row["verdict"] for row in rows}
    assert sorted(told) == ["huge.log", "pipe.log", "r0000.log", "socket.log"]
    assert "is a pipe" in told["pipe.log"]
    assert "is a socket" in told["socket.log"]
    if hasattr(os, "SEEK_DATA"):
        assert "one hole" in told["huge.log"]
    assert told["r0000.log"] == "swapping"


@posix
def test_a_log_with_a_hole_is_read(tmp_path: Path) -> None:
    """What copying and truncating a log under a program that goes on writing leaves: a hole, then the text."""
    (source,) = make_logs(tmp_path / "logs", 1).iterdir()
    path = tmp_path / "logs" / "hole.log"
    with open(path, "wb") as file:
        file.seek(1 << 30)
        file.write(source.read_bytes())
    source.unlink()
    rows = [row for _, got, _ in rows_of(discover((str(path),)).units, Options(), Cache(None, "t")) for row in got]
    assert [row["verdict"] for row in rows] == ["swapping"]


def deadly(unit: Unit, options: Options, key: str) -> list[Row]:
    if "deadly" in unit.items[0].path:
        os.kill(os.getpid(), signal.SIGKILL)
    return ANALYSE(unit, options, key)


ANALYSE = work.analyse


@posix
def test_a_log_that_kills_its_process_costs_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import multiprocessing

    if multiprocessing.get_start_method() != "fork":
        pytest.skip("the fault is planted through fork")
    logs = make_logs(tmp_path / "logs", 150)
    expected = [row for _, got, _ in rows_of(discover((str(logs),)).units, Options(), Cache(None, "t")) for row in got]
    (logs / "deadly.log").write_text("llama\n")
    monkeypatch.setattr(work, "analyse", deadly)
    rows = [
        row for _, got, _ in rows_of(discover((str(logs),)).units, Options(), Cache(None, "t"), jobs=2) for row in got
    ]
    assert [row["error"] for row in rows if row["error"]] == [work.KILLED]
    assert [row for row in rows if not row["error"]] == expected


@posix
def test_two_batches_at_once(tmp_path: Path) -> None:
    """On one cache and one output that both add to: every row once."""
    first, second = make_logs(tmp_path / "a", 150), make_logs(tmp_path / "b", 120)
    out = tmp_path / "r.csv"
    runs = [
        subprocess.Popen(
            command(folder, "-o", out, "--append", "--jobs", "1"),
            env=environment(tmp_path / "cache"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for folder in (first, second, first)
    ]
    told = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], told
    assert not any("no longer remembered" in text for text in told)
    files = pl.read_csv(out, infer_schema=False)["file"]
    assert len(files) == 270
    assert files.n_unique() == 270
    assert not list(tmp_path.glob(".*.tmp"))


@posix
def test_an_output_that_appeared_meanwhile_is_kept(tmp_path: Path) -> None:
    spool, summary = spool_of(make_logs(tmp_path / "logs", 1))
    (tmp_path / "r.csv").write_text("theirs")
    with pytest.raises(LogAnalyzeError, match="written meanwhile"):
        output.write(str(tmp_path / "r.csv"), spool, summary, append=False, force=False)
    assert (tmp_path / "r.csv").read_text() == "theirs"


@posix
def test_what_killed_writers_left_is_swept(tmp_path: Path) -> None:
    import fcntl

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f".r.csv.{ended.pid}.aaaa.tmp"
    left.write_text("half")
    busy = tmp_path / f".r.csv.{ended.pid}.bbbb.tmp"
    with open(busy, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with whole_files.replacing(tmp_path / "r.csv") as temporary:
            temporary.write_text("whole")
        assert busy.exists()
    assert not left.exists()
    assert (tmp_path / "r.csv").read_text() == "whole"


def test_files_of_one_run_are_read_together_in_large_folders(tmp_path: Path) -> None:
    names = [f"run{i}.log" for i in range(60)] + [f"run{i}_smi.csv" for i in range(60)] + ["run1_2.log"]
    for name in names:
        (tmp_path / name).touch()
    groups = {tuple(os.path.basename(i.path) for i in unit.items) for unit in discover((str(tmp_path),)).units}
    assert ("run1.log", "run1_smi.csv") in groups
    assert ("run1_2.log",) in groups
    assert len(groups) == 61


def test_places_given_twice_count_once(tmp_path: Path) -> None:
    logs = make_logs(tmp_path / "logs", 3)
    found = discover((str(logs), str(logs / "r0001.log"), str(logs)), outputs=(str(logs / "r0002.log"),))
    assert found.units.files == 2


def test_many_units_wait_on_disk_in_order() -> None:
    from loganalyze.batch.discover import Units

    units = Units(Unit([Item(str(i), stamp=(i, i, i))]) for i in range(2500))
    assert [unit.items[0].path for unit in units] == [str(i) for i in range(2500)]
    assert [unit.items[0].path for unit in units] == [str(i) for i in range(2500)]
    assert (len(units), units.files) == (2500, 2500)
    units.close()


def test_killing_again_and_again_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures.process import BrokenProcessPool

    pool = runners.Pool(Options(), 2)

    class Broken:
        _processes: Any = None

        def submit(self, *_: object) -> object:
            raise BrokenProcessPool

        def shutdown(self, **_: object) -> None:
            pass

    monkeypatch.setattr(pool, "_start", lambda _: setattr(pool, "_pool", Broken()))
    pool.submit([(i, Unit([Item(f"r{i}")]), None) for i in range(20)])
    with pytest.raises(LogAnalyzeError, match="again and again"):
        pool.finished(wait=True)

"""A real scheduler and two real workers on loopback: the same bytes as the local run, also when workers are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs the extra [cluster]")
if sys.platform == "win32":
    pytest.skip("process groups", allow_module_level=True)

from batch_helpers import batch, command, environment, free_port, make_logs, stop, wait_until

# Loaded into the workers by their preload: a log of this name kills whoever reads it; "slow" ones take a moment.
FAULTS = """
import os, signal, time
from loganalyze import api
def planted(read):
    def faulty(path, *rest):
        if "deadly" in path:
            os.kill(os.getpid(), signal.SIGKILL)
        if os.path.exists(os.environ["SLOW_FLAG"]):
            time.sleep(0.02)
        return read(path, *rest)
    faulty.planted = True
    return faulty
# This is loaded twice into one process.
if not hasattr(api.read_source, "planted"):
    api.read_source = planted(api.read_source)
"""


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.slow = folder / "slow"
        (folder / "faults.py").write_text(FAULTS)
        more = {
            "SLOW_FLAG": str(self.slow),
            "DASK_DISTRIBUTED__WORKER__LIFETIME__STAGGER": "0",
            "DASK_TEMPORARY_DIRECTORY": str(folder),
        }
        self._env = environment(folder / "cache", **more)
        self._log = (folder / "dask.log").open("w")
        port = self.address.rsplit(":", 1)[1]
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
        self._processes = [self._start(*dask, "--host", "127.0.0.1", "--port", port, "--no-dashboard")]
        worker = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            self.address,
            "--nthreads",
            "1",
            "--no-dashboard",
        ]
        for name in ("a", "b"):
            self._processes.append(self._start(*worker, "--name", name, "--preload", str(folder / "faults.py")))

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(words, env=self._env, stdout=self._log, stderr=self._log, start_new_session=True)

    def workers(self) -> list[int]:
        """Processes that do the work, as the scheduler knows them."""
        from distributed import Client

        with Client(self.address, timeout="60s", set_as_default=False) as client:
            return list(client.run(os.getpid).values())

    def close(self) -> None:
        for process in reversed(self._processes):
            stop(process)
        self._log.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        wait_until(lambda: len(found.workers()) == 2, 120)
        yield found
    finally:
        found.close()


def same_bytes(logs: Path, address: str, tmp_path: Path) -> None:
    local = batch(logs, "-o", tmp_path / "local.parquet", "--no-cache", cache=None)
    assert local.returncode == 0, local.stderr
    there = batch(logs, "-o", tmp_path / "there.parquet", "--no-cache", "--scheduler", address, cache=None)
    assert there.returncode == 0, there.stderr
    assert (tmp_path / "local.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()
    assert local.stdout == there.stdout


def test_the_same_bytes_as_here(cluster: Cluster, tmp_path: Path) -> None:
    same_bytes(make_logs(tmp_path / "logs", 250), cluster.address, tmp_path)


def test_a_worker_killed_in_the_middle_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    logs = make_logs(tmp_path / "logs", 400)
    cluster.slow.touch()
    before = cluster.workers()
    run = subprocess.Popen(
        command(logs, "-o", tmp_path / "there.parquet", "--scheduler", cluster.address),
        env=environment(tmp_path / "cache"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        # The first chunk that came back is in the cache: others are being worked on.
        wait_until(lambda: stored(tmp_path / "cache") > 0 or run.poll() is not None)
        assert run.poll() is None
        os.kill(before[0], signal.SIGKILL)
        _, told = run.communicate(timeout=120)
    finally:
        cluster.slow.unlink()
        if run.poll() is None:
            run.kill()
    assert run.returncode == 0, told
    assert batch(logs, "-o", tmp_path / "local.parquet", "--no-cache", cache=None).returncode == 0
    assert (tmp_path / "local.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()
    wait_until(lambda: len(cluster.workers()) == 2)


def test_a_log_that_kills_its_worker_costs_one_row(cluster: Cluster, tmp_path: Path) -> None:
    import polars as pl

    logs = make_logs(tmp_path / "logs", 60)
    (logs / "deadly.log").write_text("llama\n")
    run = batch(logs, "-o", tmp_path / "r.parquet", "--no-cache", "--scheduler", cluster.address, cache=None)
    assert run.returncode == 0, run.stderr
    frame = pl.read_parquet(tmp_path / "r.parquet")
    bad = frame.filter(pl.col("error").is_not_null())
    assert bad["file"].str.ends_with("deadly.log").to_list() == [True]
    assert "killed the process" in bad["error"][0]
    assert len(frame) == 61
    wait_until(lambda: len(cluster.workers()) == 2)


def test_no_scheduler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loganalyze.batch import cluster as module
    from loganalyze.errors import LogAnalyzeError
    from loganalyze.options import Options

    monkeypatch.setattr(module, "CONNECT", "1s")
    start = time.monotonic()
    with pytest.raises(LogAnalyzeError, match="no Dask scheduler answers"):
        module.Cluster(Options(), f"tcp://127.0.0.1:{free_port()}")
    assert time.monotonic() - start < 30


def stored(cache: Path) -> int:
    import sqlite3

    for path in (cache / "loganalyze").glob("batch-*.sqlite"):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                return int(database.execute("SELECT count(*) FROM results").fetchone()[0])
        except sqlite3.Error:
            return 0
    return 0

"""Cache, temporary and half-written files: nobody else reads them, and no planted link or pipe leads a write astray."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from batch_helpers import batch, make_logs

from loganalyze.batch.cache import Cache, cache_folder
from loganalyze.batch.spool import Spool
from loganalyze.replacing import replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.fixture(autouse=True)
def open_umask() -> object:
    """With no umask at all only what the program asks for is private."""
    old = os.umask(0)
    yield
    os.umask(old)


def test_cache_of_a_batch_is_private(tmp_path: Path) -> None:
    logs = make_logs(tmp_path / "logs", 3)
    assert batch(logs, cache=tmp_path / "new" / "cache").returncode == 0
    folder = tmp_path / "new" / "cache" / "loganalyze"
    files = list(folder.iterdir())
    assert mode(folder) == 0o700
    assert files
    assert {mode(path) for path in files} == {0o600}


def test_side_files_of_an_open_cache_are_private(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path), "t")
    cache.put([("key", ["{}"])], [])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["batch-t.sqlite", "batch-t.sqlite-shm", "batch-t.sqlite-wal"]
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    cache.close()


def test_cache_that_others_could_read_is_closed_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGANALYZE_CACHE", str(tmp_path))
    folder = tmp_path / "loganalyze"
    folder.mkdir(mode=0o777)
    (folder / "batch-t.sqlite").touch(0o666)
    assert cache_folder() == str(folder)
    cache = Cache(str(folder), "t")
    assert cache.note is None
    assert mode(folder) == 0o700
    assert mode(folder / "batch-t.sqlite") == 0o600
    cache.close()


@pytest.mark.parametrize("kind", ["link", "dangling", "file", "pipe"])
def test_cache_folder_that_is_none_is_not_used(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGANALYZE_CACHE", str(tmp_path / "base"))
    (tmp_path / "base").mkdir()
    elsewhere = tmp_path / "elsewhere"
    planted = tmp_path / "base" / "loganalyze"
    if kind == "link":
        elsewhere.mkdir()
    if kind in ("link", "dangling"):
        planted.symlink_to(elsewhere)
    elif kind == "file":
        planted.touch()
    else:
        os.mkfifo(planted)
    assert cache_folder() is None
    done = batch(make_logs(tmp_path / "logs", 1), cache=tmp_path / "base")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert not elsewhere.exists() or not list(elsewhere.iterdir())


def test_somebody_elses_cache_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGANALYZE_CACHE", str(tmp_path))
    (tmp_path / "loganalyze").mkdir()
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert cache_folder() is None


def test_rows_on_disk_have_no_name_and_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = Spool()
    spool.add({"lost_s": 1.0})
    assert list(tmp_path.iterdir()) == []
    info = os.fstat(spool._file.fileno())
    assert (stat.S_IMODE(info.st_mode), info.st_nlink) == (0o600, 0)
    spool.close()


def test_a_private_file_is_never_readable_while_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.touch(0o600)
    with replacing(path) as temporary:
        temporary.write_text("secret")
        assert mode(temporary) == 0o600
    assert (path.read_text(), mode(path)) == ("secret", 0o600)
    path.chmod(0o640)
    with replacing(path) as temporary:
        assert mode(temporary) == 0o600
    assert mode(path) == 0o640


def test_a_planted_name_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who guesses the name of the temporary file gains nothing: it must not exist."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(os, "urandom", lambda _n: bytes(4))
    (tmp_path / f".a.csv.{os.getpid()}.00000000.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError), replacing(tmp_path / "a.csv"):
        pass
    assert victim.read_text() == "precious"
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("kind", ["link", "pipe", "loop"])
def test_sweeping_follows_no_planted_link(kind: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    planted = tmp_path / f".a.csv.{ended.pid}.aaaa.tmp"
    if kind == "link":
        planted.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(planted)
    else:
        planted.symlink_to(planted)
    with replacing(tmp_path / "a.csv") as temporary:
        temporary.write_text("whole")
    assert victim.read_text() == "precious"
    assert (tmp_path / "a.csv").read_text() == "whole"

"""Archives and packed files cannot take the machine's memory or disk, and cannot reach outside; nothing in input is run."""

from __future__ import annotations

import ast
import bz2
import gzip
import io
import lzma
import os
import socket
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

import loganalyze
from loganalyze.batch import archive
from loganalyze.errors import UnreadableError

ROOT = Path(loganalyze.__file__).parent
LOG = (
    b"llama_perf_context_print:        eval time =    1000.00 ms /    50 runs"
    b"   (   20.00 ms per token,    50.00 tokens per second)\n"
)


def tar_of(path: Path, members: list[tarfile.TarInfo | tuple[str, bytes]], mode: str = "w:gz") -> None:
    with tarfile.open(path, mode) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_tar_bomb_stops(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "RATIO_FREE_BYTES", 1 << 16)
    monkeypatch.setattr(archive, "MAX_RATIO", 10)
    path = tmp_path / f"bomb.tar.{kind}"
    tar_of(path, [("a.log", bytes(1 << 21)), ("b.log", LOG)], f"w:{kind}")
    with pytest.raises(UnreadableError, match="bomb"):
        archive.members(str(path))


def test_zip_bomb_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "RATIO_FREE_BYTES", 1 << 16)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as made:
        made.writestr("a.log", bytes(1 << 22))
    with pytest.raises(UnreadableError, match="bomb"), archive.open_member(str(path), "a.log"):
        pass


def test_a_header_that_wants_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "header.tar.gz"
    info = tarfile.TarInfo("x.log")
    info.pax_headers = {"comment": "x" * (2 << 20)}
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)
    with pytest.raises(UnreadableError, match="header"):
        archive.members(str(path))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_members_are_read_within_bounds(pack: object, tmp_path: Path) -> None:
    from loganalyze.api import read_source

    path = tmp_path / "runs.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a.log", pack(LOG))  # type: ignore[operator]
    with archive.open_member(str(path), "a.log") as stream:
        runs, _, source = read_source("a.log", None, stream)
    assert source.lines == 1
    assert runs[0].requests


@pytest.mark.parametrize("name", ["../../out.log", "/tmp/out.log", "C:\\out.log", "..\\out.log"])
def test_names_that_point_outside_are_only_names(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for path in (tmp_path / "in" / "runs.tar.gz", tmp_path / "in" / "runs.zip"):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path, "w") as made:
                made.writestr(name, LOG)
        else:
            tar_of(path, [(name, LOG)])
        (found,) = archive.members(str(path))
        with archive.open_member(str(path), found) as stream:
            assert stream.read() == LOG
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["in", "runs.tar.gz", "runs.zip"]


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    members: list[tarfile.TarInfo | tuple[str, bytes]] = [("run.log", LOG)]
    for name, kind, target in (
        ("link.log", tarfile.SYMTYPE, "/etc/passwd"),
        ("hard.log", tarfile.LNKTYPE, "../../etc/passwd"),
        ("device.log", tarfile.CHRTYPE, ""),
        ("pipe.log", tarfile.FIFOTYPE, ""),
    ):
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        members.append(info)
    tar_of(tmp_path / "runs.tar.gz", members)
    assert archive.members(str(tmp_path / "runs.tar.gz")) == ["run.log"]


def test_archives_inside_archives_are_not_opened(tmp_path: Path) -> None:
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as made:
        made.writestr("run.log", LOG)
    from loganalyze.api import read_source

    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as made:
        made.write(inner, "inner.zip")
    with archive.open_member(str(outer), "inner.zip") as stream:
        _, _, source = read_source("outer.zip!inner.zip", None, stream)
    assert "archive" in source.notes[0]


def test_nothing_in_the_package_can_run_input() -> None:
    banned_modules = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "code", "pty"}
    # The recorder starts the tools that the user asks it to record with; light writes __init__ of the package's records.
    allowed = {("recorder.py", "subprocess"), ("light.py", "exec")}
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [a.name.partition(".")[0] for a in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").partition(".")[0]]
            found |= {(path.name, n) for n in names if n in banned_modules | {"subprocess"}}
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec", "compile", "__import__"):
                    found.add((path.name, node.func.id))
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("system", "popen", "execv", "spawnl"):
                    found.add((path.name, node.func.attr))
                if any(
                    k.arg == "shell" and not (isinstance(k.value, ast.Constant) and k.value.value is False)
                    for k in node.keywords
                ):
                    found.add((path.name, "shell"))
    assert found <= allowed


def test_no_network_without_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from loganalyze.api import classify
    from loganalyze.reports import html, json_out

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    (tmp_path / "run.log").write_bytes(LOG + b"see https://example.com/x.log and s3://bucket/y.log\n")
    report = classify(str(tmp_path / "run.log"))
    assert json_out.dumps(report)
    assert html.render(report)


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
def test_cache_is_private_and_follows_no_planted_link(tmp_path: Path) -> None:
    from loganalyze.batch.cache import Cache

    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    (folder / "batch-1.sqlite").symlink_to(victim)
    planted = Cache(str(folder), "1")
    assert planted.note is not None
    planted.close()
    assert victim.read_bytes() == b"precious"
    cache = Cache(str(folder), "2")
    assert cache.note is None
    assert stat.S_IMODE(os.stat(folder / "batch-2.sqlite").st_mode) == 0o600
    cache.close()

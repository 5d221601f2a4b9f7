"""Sources: what can be opened, what is refused and how, packed streams, and files that change while they are read."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_helpers import Pieces, texts_of

from loganalyze.errors import UnreadableError
from loganalyze.scan import all_lines, open_source, packed, scan
from loganalyze.scan import source as source_module

TEXT = b"".join(b"line %d eval time\n" % n for n in range(5000))


def zst(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return bytes(zstandard.ZstdCompressor().compress(data))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zst,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_by_content_not_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(PACKERS[kind](TEXT[:40_000]) + PACKERS[kind](TEXT[40_000:]))
    with open_source(str(path)) as opened:
        assert sum(1 for _ in all_lines(opened)) == 5000
    assert opened.source.notes == []
    assert opened.source.bytes == path.stat().st_size


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_stream_in_pieces(kind: str) -> None:
    assert texts_of(PACKERS[kind](TEXT), 1, 7, 300) == TEXT.splitlines()


@pytest.mark.parametrize("kind", PACKERS)
def test_cut_stream_gives_what_there_is_and_a_note(kind: str) -> None:
    import random

    text = b"".join(b"%d eval time\n" % random.Random(n).getrandbits(64) for n in range(60_000))
    data = PACKERS[kind](text)
    with open_source(data[: len(data) * 3 // 4]) as opened:
        lines = list(all_lines(opened))
    assert 100 < len(lines) < 60_000
    assert any("ends early" in note for note in opened.source.notes)


@pytest.mark.parametrize("kind", PACKERS)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_damaged_stream_never_crashes(kind: str, data: st.DataObject) -> None:
    raw = bytearray(PACKERS[kind](TEXT[:5000]))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    failure = None
    try:
        with open_source(bytes(raw)) as opened:
            list(all_lines(opened))
    except UnreadableError as error:
        failure = error
    assert failure is None or (failure.path and failure.remedy)


def test_bytes_behind_a_stream_are_noted() -> None:
    with open_source(gzip.compress(b"a\n") + b"rubbish") as opened:
        assert [x.text for x in all_lines(opened)] == [b"a"]
    assert any("left out" in note for note in opened.source.notes)


def test_packed_twice_is_read_and_thrice_refused() -> None:
    twice = bz2.compress(gzip.compress(b"a\n"))
    assert texts_of(twice) == [b"a"]
    with pytest.raises(UnreadableError, match="several times"):
        open_source(lzma.compress(twice))


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_bombs_stop(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "RATIO_FREE_BYTES", 1 << 20)
    monkeypatch.setattr(packed, "MAX_RATIO", 500)
    bomb = PACKERS[kind](b"x" * (24 << 20))
    with pytest.raises(UnreadableError, match="decompression bomb") as caught, open_source(bomb, "evil") as opened:
        for _ in all_lines(opened):
            pass
    assert caught.value.path == "evil"
    assert caught.value.remedy


def test_size_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_EXPANDED_BYTES", 50_000)
    with pytest.raises(UnreadableError, match="bomb"), open_source(gzip.compress(os.urandom(100_000))) as opened:
        list(all_lines(opened))


def test_bomb_takes_little_memory() -> None:
    import tracemalloc

    bomb = zst(b"x" * (256 << 20))
    tracemalloc.start()
    with contextlib.suppress(UnreadableError), open_source(bomb) as opened:
        list(scan(opened, [b"eval time"]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (b"GGUF\x03\0\0\0", "GGUF model"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"name" + b"\0" * 253 + b"ustar\0", "tar archive"),
        (b"\x89PNG\r\n", "picture"),
        (b"\x7fELF", "program"),
        (b"%PDF-1.7", "PDF"),
        (b"PAR1", "Parquet"),
        (b"SQLite format 3\0", "SQLite"),
    ],
)
def test_what_is_no_log_is_refused(begin: bytes, what: str) -> None:
    for data in (begin, gzip.compress(begin)):
        with pytest.raises(UnreadableError, match=what) as caught:
            open_source(data, "some.log")
        assert str(caught.value).startswith("some.log: is a")
        assert caught.value.remedy


def test_missing_folder_and_forbidden(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no such file"):
        open_source(str(tmp_path / "none"))
    with pytest.raises(UnreadableError, match="is a folder"):
        open_source(str(tmp_path))
    with pytest.raises(UnreadableError):
        open_source("a\0b")


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_forbidden(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(UnreadableError, match="permission denied") as caught:
        open_source(str(path))
    assert "chmod" in (caught.value.remedy or "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such files")
def test_pipes_sockets_and_devices(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UnreadableError, match="no process writes"):
        open_source(str(fifo))
    writer = threading.Thread(target=lambda: fifo.write_bytes(TEXT))
    writer.start()
    for _ in range(200):
        try:
            opened = open_source(str(fifo))
            break
        except UnreadableError:
            threading.Event().wait(0.02)
    with opened:
        assert sum(1 for _ in all_lines(opened)) == 5000
    writer.join()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "s"))
        with pytest.raises(UnreadableError, match="socket"):
            open_source(str(tmp_path / "s"))
    with pytest.raises(UnreadableError, match="device"):
        open_source("/dev/zero")
    with open_source(os.devnull) as opened:
        assert list(all_lines(opened)) == []


def test_standard_input() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from loganalyze.scan import *\n"
        "with open_source('-') as o: print(sum(1 for _ in all_lines(o)), o.source.path, o.source.mtime_s)"
    )
    root = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-c", code, root]
    done = subprocess.run(command, input=gzip.compress(TEXT), capture_output=True, check=True)
    assert done.stdout.split()[:3] == [b"5000", b"-", b"None"]


def test_standard_input_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UnreadableError, match="standard input is closed"):
        open_source("-")
    stream = io.TextIOWrapper(io.BytesIO(b"a\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    with open_source("-") as opened:
        assert [x.text for x in all_lines(opened)] == [b"a"]
    stream.close()
    with pytest.raises(UnreadableError):
        open_source("-")


def test_file_time_and_size(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(TEXT)
    os.utime(path, (5, 1234.5))
    with open_source(str(path)) as opened:
        assert opened.source.mtime_s == 1234.5
        list(all_lines(opened))
    assert opened.source.bytes == len(TEXT)
    assert opened.source.lines == 5000


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be moved")
@pytest.mark.parametrize(("change", "note"), [("truncate", "truncated"), ("rotate", "rotated"), ("remove", "removed")])
def test_file_changed_while_read(change: str, note: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(TEXT * 40)
    with open_source(str(path)) as opened:
        scanner = all_lines(opened)
        next(scanner)
        if change == "truncate":
            os.truncate(path, 100)
        else:
            path.rename(tmp_path / "x.1")
            if change == "rotate":
                path.write_bytes(b"new\n")
        assert sum(1 for _ in scanner) > 1000
    assert any(note in text for text in opened.source.notes)


def test_reading_fails_in_the_middle() -> None:
    class Broken(Pieces):
        def readinto(self, view: memoryview) -> int:
            if not super().readinto(view):
                raise OSError(5, "Input/output error")
            return 100

    with pytest.raises(UnreadableError, match="reading failed after") as caught:
        texts_of_stream(Broken(TEXT, [100]))
    assert caught.value.path == "shown"
    assert caught.value.remedy


def texts_of_stream(stream: object) -> list[bytes]:
    with open_source(stream, "shown") as opened:  # type: ignore[arg-type]
        return [x.text for x in all_lines(opened)]


def test_objects_that_only_read() -> None:
    class Reader:
        def __init__(self) -> None:
            self.data = io.BytesIO(TEXT)

        def read(self, size: int = -1) -> bytes:
            return self.data.read(min(size, 777))

    assert len(texts_of_stream(Reader())) == 5000
    with pytest.raises(UnreadableError, match="opened as text"):
        texts_of_stream(io.StringIO("a"))


def test_magic_numbers_fit_the_peek() -> None:
    assert all(place + len(magic) <= source_module._PEEK_BYTES for place, magic, _, _ in source_module._REFUSED)


def test_scan_imports_little() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from loganalyze.scan import *\n"
        "list(scan(open_source(b'0.00.035.064 I slot x\\n' * 99), [b'slot']))\n"
        "heavy = {'json', 'datetime', 'bz2', 'lzma', 'gzip', 'zlib', 'zstandard', 'lark', 'numpy', 'polars', 'logging',"
        " 'tempfile', 'subprocess', 'select', 'threading'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, root], capture_output=True, check=False, text=True)
    if "dataclasses" in done.stderr:
        pytest.skip(done.stderr)
    assert done.stdout.strip() == "[]", done.stderr

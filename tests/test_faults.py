"""Faults around the program: each ends in a clear message with a remedy, the right status, no traceback, no half file."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PureWindowsPath

import pytest

from loganalyze.__main__ import status
from loganalyze.batch import cache
from loganalyze.files import base_name, is_url
from loganalyze.replacing import replacing

ROOT = Path(__file__).resolve().parent.parent
CASE = ROOT / "fixtures" / "corpus" / "b6173_27b_ngl20"
LOG = CASE / "run.log"
PROGRAM = [sys.executable, "-m", "loganalyze"]
posix = pytest.mark.skipif(os.name == "nt", reason="descriptors, signals and limits of POSIX")
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")

OUTPUTS = [
    ["report", str(CASE), "-o", "a.json"],
    ["report", str(CASE), "-o", "a.md"],
    ["report", str(CASE), "-o", "a.html"],
    ["report", str(CASE), "-o", "a.txt"],
    ["report", str(CASE), "-o", "a.jsonl"],
    ["plot", str(CASE), "-o", "a.png"],
    ["plot", str(CASE), "-o", "a.svg"],
    ["timeline", str(CASE), "-o", "t.csv"],
    ["timeline", str(CASE), "-o", "t.jsonl"],
    ["timeline", str(CASE), "-o", "t.parquet"],
    ["timeline", str(CASE), "-o", "trace.json"],
    ["batch", "--no-cache", str(LOG), "-o", "b.csv"],
    ["batch", "--no-cache", str(LOG), "-o", "b.jsonl"],
    ["batch", "--no-cache", str(LOG), "-o", "b.parquet"],
    ["batch", "--no-cache", str(LOG), "-o", "b.html"],
    ["baseline", str(LOG), str(LOG), str(LOG), "-o", "base.json"],
    ["baseline", str(LOG), str(LOG), str(LOG), "-o", "base.png"],
    ["compare", "--before", str(LOG), "--after", str(LOG), "-o", "c.svg"],
]


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LOGANALYZE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    kept = {n: signal.getsignal(n) for n in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Enough logs that a batch starts workers."""
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(70):
        shutil.copyfile(LOG, folder / f"r{i:02d}.log")
    return folder


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``line`` in sh, where ``$L`` is the program and ``$C`` a run."""
    known = {**os.environ, "L": " ".join(PROGRAM), "C": str(CASE), **environment}
    return subprocess.run(["sh", "-c", line], env=known, capture_output=True, timeout=120, check=False)


def told(done: subprocess.CompletedProcess[bytes], code: int = 2) -> str:
    """The message of a run that failed as it should."""
    text = done.stderr.decode("utf-8", "replace")
    assert done.returncode == code, text
    clean(text)
    return text


def clean(text: str) -> None:
    assert "Traceback" not in text
    assert "internal error" not in text
    assert "Exception ignored" not in text


@posix
@pytest.mark.parametrize("line", ["$L classify <&-", "$L classify - <&-", "$L check <&-", "$L <&-"])
def test_closed_input(line: str) -> None:
    assert "a log" in told(shell(line)) or line == "$L <&-"


@posix
@pytest.mark.parametrize(
    "words",
    ["classify $C/run.log", "classify -f json $C", "batch --no-cache -f csv $C", "formats", "check $C", "timeline $C"],
)
def test_closed_output(words: str) -> None:
    assert "standard output is closed" in told(shell(f"$L {words} >&-"))


@posix
def test_closed_output_does_not_stop_files() -> None:
    assert shell("$L report $C -o a.json >&- && $L record -o rec -- echo hi >&-").returncode == 2
    assert json.loads(Path("a.json").read_text())["verdict"] == "swapping"
    assert b" hi\n" in Path("rec/run.log").read_bytes()


@posix
@full
@pytest.mark.parametrize(
    "words",
    [
        "classify $C/run.log",
        "--help",
        "--version",
        "batch --no-cache -f jsonl $C/run.log",
        "explain swapping",
        "report $C",
    ],
)
def test_full_output(words: str) -> None:
    text = told(shell(f"$L {words} >/dev/full"))
    assert "standard output: No space left on device. Free some space" in text


@posix
@full
def test_lost_messages_change_no_status() -> None:
    assert shell("$L classify /nope 2>/dev/full").returncode == 2
    assert shell("$L classify /nope 2>&-").returncode == 2
    assert shell("$L classify $C/run.log 2>&-").returncode == 0
    assert shell("$L classify $C/run.log <&- 2>&- >/dev/null").returncode == 0


@posix
@pytest.mark.parametrize("words", ["formats llama_server", "classify -f json $C", "batch --no-cache -f csv $C"])
def test_head_is_quiet(words: str) -> None:
    done = shell(f"{{ $L {words}; echo $? >code; }} | head -c 1")
    assert Path("code").read_text() == "0\n"
    clean(done.stderr.decode())
    assert b"Broken" not in done.stderr


LIMITED = """
import contextlib, io, json, os, resource, sys
from loganalyze.__main__ import status
cases = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_FSIZE, (256, resource.RLIM_INFINITY))
found = []
for words in cases:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = status(words)
    found.append([code, said.getvalue(), sorted(os.listdir("."))])
print(json.dumps(found), flush=True)
"""


@posix
def test_disk_full_on_every_output() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        input=json.dumps(OUTPUTS).encode(),
        capture_output=True,
        timeout=300,
        check=False,
    )
    found = json.loads(done.stdout)
    for words, (code, said, files) in zip(OUTPUTS, found, strict=True):
        assert code == 2, words
        assert "File too large. " in said, (words, said)
        assert "ulimit -f" in said or "TMPDIR" in said, said
        clean(said)
        assert files == [], words


@pytest.mark.parametrize("words", OUTPUTS, ids=lambda words: words[-1])
@pytest.mark.parametrize("place", ["open", "fsync", "replace"])
def test_place_that_takes_no_files(
    words: list[str], place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A read-only file system when a file is made; permission lost when it is finished: the old one stays."""
    if words[0] not in ("batch", "baseline") and place != "replace" and not words[-1].endswith("json"):
        pytest.skip("all outputs are written by the same few lines")
    Path(words[-1]).write_text("old")
    number = {"open": errno.EROFS, "fsync": errno.ENOSPC, "replace": errno.EACCES}[place]
    real = getattr(os, place)

    def refuse(path: object, *rest: object, **more: object) -> object:
        if place == "fsync" or ".tmp" in os.fspath(path):  # type: ignore[call-overload]
            raise OSError(number, os.strerror(number))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, place, refuse)
    assert status([*words, "--force"]) == 2
    said = capsys.readouterr().err
    assert f"{words[-1]}: cannot be written: {os.strerror(number)}. " in said.replace("a.png:", f"{words[-1]}:")
    clean(said)
    assert Path(words[-1]).read_text() == "old"
    assert not list(Path().glob(".*"))


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)])
def test_signals_while_waiting_for_input(number: int) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("started under nohup, which the program respects")
    process = subprocess.Popen(
        [*PROGRAM, "classify"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(LOG.read_bytes())
    process.stdin.flush()
    time.sleep(0.7)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert said == b""


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_while_workers_run(number: int, many: Path) -> None:
    """Ctrl-C reaches all of the group, the others only the parent; no worker stays behind."""
    process = subprocess.Popen(
        [*PROGRAM, "batch", "--no-cache", "--jobs", "2", str(many), "-o", "b.csv"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    time.sleep(0.9)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, -number, 128 + number)
    clean(said.decode())
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("workers are left")
    assert os.listdir(".") in ([], ["b.csv"])


KILLED = """
import os, signal, sys
from loganalyze import __main__
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGTERM)
__main__.main()
"""


@posix
def test_a_file_under_way_is_removed_when_stopped() -> None:
    Path("a.json").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, "report", str(CASE), "-o", "a.json", "--force"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 143
    assert os.listdir(".") == ["a.json"]
    assert Path("a.json").read_text() == "old"


@posix
def test_record_leaves_nothing_of_what_never_ran() -> None:
    assert "Check the name and PATH" in told(shell("$L record -o rec -- /no/such"))
    Path("text").write_text("no program")
    Path("text").chmod(0o755)
    told(shell("$L record -o rec -- ./text"))
    assert os.listdir(".") == ["text"]


@posix
def test_record_goes_on_when_nobody_looks() -> None:
    shell("$L record -o rec -- seq 1 3000 | head -1")
    assert len(Path("rec/run.log").read_bytes().splitlines()) == 3001
    assert Path("rec/time.txt").exists()


@posix
def test_record_stops_the_command_when_the_disk_is_full_or_it_is_told_to() -> None:
    begin = time.monotonic()
    done = shell("ulimit -f 1; $L record -o rec -- sh -c 'seq 1 9999; sleep 60'")
    assert "the recording was stopped: File too large. Raise the limit" in told(done)
    process = subprocess.Popen(
        [*PROGRAM, "record", "-o", "two", "--", "sleep", "60"], stderr=subprocess.PIPE, start_new_session=True
    )
    while not Path("two/run.log").exists() or not Path("two/run.log").stat().st_size:
        time.sleep(0.05)
        assert time.monotonic() - begin < 50
    time.sleep(0.3)
    process.terminate()
    _, said = process.communicate(timeout=30)
    clean(said.decode())
    assert process.returncode == 143
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert time.monotonic() - begin < 55


def test_record_with_a_clock_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from loganalyze import recorder

    clock = iter(range(2_000_000_000, 0, -1000))
    monkeypatch.setattr(recorder.time, "time", lambda: float(next(clock)))
    assert recorder.record([sys.executable, "-c", "print('hi')"], Path("rec"), 1.0, None) == 0
    text = Path("rec/time.txt").read_text()
    assert ": 0:0" in next(line for line in text.splitlines() if "Elapsed" in line)


def test_cache_with_a_clock_set_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.log"
    shutil.copyfile(LOG, log)
    os.utime(log, (4e9, 4e9))
    for _ in range(2):
        assert status(["batch", "-f", "json", str(log)]) == 0
        assert '"partial_offload"' in capsys.readouterr().out
    log.write_text("nothing\n")
    os.utime(log, (4e9, 4e9))
    assert status(["batch", "-f", "json", str(log)]) == 2


@pytest.mark.parametrize("home", [None, "/no/such/home", os.devnull])
def test_no_home(home: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("LOGANALYZE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if home is None:
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    else:
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv("USERPROFILE", home)
    assert status(["batch", str(LOG)]) == 0
    assert "no cache folder: nothing is remembered" in capsys.readouterr().err
    assert status(["classify", str(LOG)]) == 0


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    assert status(["batch", "--no-cache", str(LOG)]) == 2
    said = capsys.readouterr().err
    assert "the temporary file cannot be written" in said
    assert "TMPDIR" in said
    clean(said)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-16", "shift_jis"])
def test_terminals_of_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "späte Läufe ☃.log"
    shutil.copyfile(LOG, log)
    for words in (
        ["classify", str(log)], ["classify", "-f", "md", str(log)], ["classify", "-f", "csv", str(log)], ["check", str(log)],
        ["classify", "-f", "json", str(log)], ["timeline", str(CASE)], ["batch", "--no-cache", str(log)], ["explain", "swapping"],
        ["batch", "--no-cache", "-f", "csv", str(log)], ["batch", "--no-cache", "-f", "md", str(log)], ["formats"], ["--help"],
        ["baseline", str(log), str(log), str(log)], ["report", str(log)], ["classify", str(log) + " "],
    ):  # fmt: skip
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=e) for e in ("strict", "backslashreplace")]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            code = status(words)
        streams[1].flush()
        said = streams[1].buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
        assert code == (2 if words[-1].endswith(" ") else 0), (words, said)
        clean(said)


@posix
def test_no_locale() -> None:
    done = shell("$L classify $C/run.log", LC_ALL="C", LANG="", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0
    assert done.stdout.isascii()


@posix
def test_few_descriptors(many: Path) -> None:
    done = shell("ulimit -n 8; $L classify $C")
    assert done.returncode == 0, done.stderr
    done = shell("ulimit -n 24; $L batch --no-cache --jobs 4 -f json $M", M=str(many))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdicts"] == {"swapping": 70}
    done = shell("ulimit -n 5; $L classify $C")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited like this on Linux")
def test_little_memory() -> None:
    assert shell("ulimit -v 120000; $L classify $C/run.log").returncode == 0
    for words in ("classify $C", "timeline $C -o t.csv"):
        text = told(shell(f"ulimit -v 600000; $L {words}"))
        assert "memory limit of 585 MiB is too low for captures. Allow 1200 MiB (ulimit -v" in text
    text = told(shell("ulimit -v 1300000; $L plot $C/run.log -o a.png"))
    assert "too low for pictures" in text
    assert os.listdir(".") == []


def test_out_of_memory_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from loganalyze import api

    def none_left(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(api, "_read_opened", none_left)
    assert status(["classify", str(LOG)]) == 2
    assert "out of memory. Give fewer files" in capsys.readouterr().err
    assert status(["batch", "--no-cache", str(LOG)]) == 2
    clean(capsys.readouterr().err)


def test_two_processes_on_one_cache(many: Path) -> None:
    both = [
        subprocess.Popen(
            [*PROGRAM, "batch", "--jobs", "1", "-f", "jsonl", str(many)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    made = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert made[0][0] == made[1][0]
    assert all(b"cache is off" not in said for _, said in made)
    assert made[0][0].count(b"\n") == 70


def test_a_cache_that_somebody_holds_or_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cache, "BUSY_S", 0.05)
    assert status(["batch", str(LOG)]) == 0
    (path,) = (tmp_path / "cache" / "loganalyze").glob("batch-*.sqlite")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    capsys.readouterr()
    assert status(["batch", str(CASE / "run.log"), str(CASE / "smi.csv")]) == 0
    assert "no longer remembered" in capsys.readouterr().err
    holder.close()
    path.write_bytes(b"no database" * 999)
    for rest in ("-wal", "-shm"):
        Path(f"{path}{rest}").unlink(missing_ok=True)
    assert status(["batch", str(LOG)]) == 0
    assert capsys.readouterr().out.count("swapping") == 2
    assert path.read_bytes().startswith(b"SQLite format 3")


def test_names_that_are_no_utf8_do_not_turn_the_cache_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    try:
        for name in (b"\xff.log", b"good.log"):
            shutil.copyfile(LOG, os.path.join(folder, os.fsdecode(name)))
    except OSError:
        pytest.skip("this file system refuses the name")
    for path in folder.iterdir():
        os.utime(path, (1.7e9, 1.7e9))
    for _ in range(2):
        assert status(["batch", "-f", "jsonl", str(folder)]) == 0
        done = capsys.readouterr()
        assert "cache is off" not in done.err
        assert [json.loads(line)["verdict"] for line in done.out.splitlines()] == ["swapping"] * 2


def changed_while_read(path: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """``change`` the file after its first block was read."""
    from loganalyze.scan.files import RawFile

    real = RawFile.readinto
    done: list[bool] = []

    def read(self: RawFile, view: memoryview) -> int:
        count = real(self, view)
        if self.path == str(path) and not done:
            done.append(True)
            change(path)
        return count

    monkeypatch.setattr(RawFile, "readinto", read)


@posix
@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda p: os.truncate(p, 10), "truncated while being read"),
        (lambda p: os.replace(shutil.copyfile(LOG, f"{p}.new"), p), "rotated while being read"),
        (os.unlink, "removed or renamed while being read"),
    ],
    ids=["truncated", "rotated", "removed"],
)
def test_files_that_change_under_the_reader(
    change: Callable[[Path], None],
    note: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = tmp_path / "a.log"
    shutil.copyfile(LOG, log)
    changed_while_read(log, change, monkeypatch)
    assert status(["check", str(log)]) == 0
    done = capsys.readouterr()
    assert note in done.out
    clean(done.err)


def test_reading_that_fails_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from loganalyze.scan import files

    class Broken(io.RawIOBase):
        def readinto(self, view: object) -> int:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "_open", lambda path: Broken())
    assert status(["classify", str(LOG)]) == 2
    said = capsys.readouterr().err
    assert "reading failed after 0 bytes: input/output error. Copy the file to a local disk" in said
    assert status(["batch", "--no-cache", str(LOG)]) == 2
    clean(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (str(PureWindowsPath("C:\\logs") / "run 1.log"), "run 1.log"),
        ("\\\\server\\share\\run.log", "run.log"),
        ("\\\\?\\C:\\logs\\CON.log", "CON.log"),
        ("C:run.log", "C:run.log"),
        ("/home/x/run.log", "run.log"),
        ("logs/nul", "nul"),
    ],
)
def test_last_parts_of_paths_of_any_system(path: str, name: str) -> None:
    assert base_name(path) == name
    assert not is_url(path)


def test_drive_letters_are_no_schemes() -> None:
    assert [is_url(p) for p in ("C://logs", "c:/logs", "s3://b/k", "https://h/p", "memory://x", "://x", "a b://x")] == [
        False, False, True, True, True, False, False,
    ]  # fmt: skip


def test_windows_paths_in_options_and_redaction() -> None:
    from loganalyze.cli.common import options_of
    from loganalyze.reports.redact import Redactor

    options = options_of({"as_format": ("C:\\logs\\a=b.log=llama_cpp",), "start": ("C:\\a.log=2026-01-01T00:00:00",)})
    assert options.as_format == {"C:\\logs\\a=b.log": "llama_cpp"}
    assert options.starts == {"C:\\a.log": "2026-01-01T00:00:00"}
    assert "zebulon" not in Redactor().text("error in C:\\Users\\zebulon\\models\\a.gguf")


def test_replacing_leaves_the_old_file_when_the_block_fails() -> None:
    Path("a").write_text("old")

    def fail() -> None:
        with replacing("a") as temporary:
            temporary.write_text("half")
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    assert os.listdir(".") == ["a"]
    assert Path("a").read_text() == "old"

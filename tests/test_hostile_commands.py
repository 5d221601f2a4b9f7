"""Command lines at random over a folder of hostile files: no traceback, nothing live, a message with every failure."""

from __future__ import annotations

import io
import json
import os
import random
import re
import sys
import unicodedata
from pathlib import Path

import hostile
import pytest

from loganalyze.__main__ import status
from loganalyze.cli.spec import COMMANDS, Command, Option

RUNS = int(os.environ.get("LOGANALYZE_TEST_COMMANDS", "60"))
CASE = Path(__file__).resolve().parent.parent / "fixtures" / "corpus" / "b6173_27b_ngl20"
SGR = re.compile("\x1b\\[[0-9;]*m")
STRANGE = ["", "-", "-rf", "../../x", "/dev/full", "/proc/x", "1e400", "-1", "nan", "9" * 5000, "٣", "%s{0}", "=", "=x", "x=",
           "C:\\x", "s3://a/b", "memory://x", "a\nb", "in", "in/*.log", "["]  # fmt: skip
VALUES = {
    "format": ["text", "json", "jsonl", "md", "csv"],
    "output": [f"out/a.{e}" for e in ("md", "html", "json", "csv", "txt", "jsonl", "svg", "parquet", "png", "exe")]
    + ["in", "/proc/a.md", "out/\x1b[2J.md", "out/a\nb.csv", "out/-rf.md", "out/=1.json"],
    "width": ["20", "80", "1000", "19"],
    "group": ["auto", "one", "folder", "stem"],
    "tz": ["UTC", "+02:00", "../../etc/passwd", "+99:99"],
    "step": ["1", "0", "1e-9", "inf"],
    "set": ["rate_min_prompt_tokens=0", "rate_min_prompt_tokens=1e400", "x=1"],
    "start": ["run.log=2026-11-30T22:14:05Z", "smi.csv=9999-12-31T23:59:59", "run.log=1e300"],
    "as_format": ["smi.csv=log", "run.log=nvidia_csv", "run.log=\x1b[31m"],
    "by": ["model", "version,device", "n_ctx"],
    "config": ["in/set.toml", "in/nul.log", "in"],
    "baseline": ["in/base.json", "in/answers.jsonl"],
    "manifest": ["in/man.csv", "in/man.toml", "in/nul.log"],
    "scheduler": ["tcp://127.0.0.1:1"],
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The current folder holds ``in`` with hostile files and ``out``; gives their names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGANALYZE_CACHE", str(tmp_path / "cache"))
    Path("out").mkdir()
    Path("in").mkdir()
    rnd = random.Random(1)
    flavours = list(hostile.FLAVOURS.values())
    made: dict[str, bytes] = {
        name: hostile.log(rnd.choice(flavours), rnd.choice([0, 20, 65])).encode("utf-8", "surrogateescape")
        for name in (hostile.NAMES.values() if os.name != "nt" else ("a.log",))
    }
    answers = [{"content": f, "model": f, "timings": {"prompt_n": 9, "prompt_ms": 1e308}} for f in flavours]
    made |= {
        "empty.log": b"", "nul.log": bytes(5000), "noise.log": rnd.randbytes(9000),
        "surrogate.log": b"\xed\xa0\x80 eval\xff\n" * 99,
        "deep.json": b"[" * 99_999, "answers.jsonl": "\n".join(map(json.dumps, answers)).encode(),
        "huge.log": hostile.log("9" * 5000, rate=1e300).encode(), "wide.log": hostile.log("x").encode("utf-16"),
        "a.zip": b"PK\x03\x04x", "a.gz": b"\x1f\x8b\x08x", "a.zst": b"\x28\xb5\x2f\xfd" + bytes(40), "a.tar.gz": b"\x1f\x8b\x08",
        "base.json": b'{"kind":"baseline","rates":{"a":1e999}}', "set.toml": b'[thresholds]\n"\\u001b[31m" = 2\n',
        "man.csv": b'run,file\n"=1+1","../../etc/passwd"\n', "man.toml": b'[[run]]\nname="\\u001b]0;x\\u0007"\nfiles=["a"]\n',
    }  # fmt: skip
    for name, data in made.items():
        Path("in", name).write_bytes(data)
    hostile.plant(Path("in/case"), hostile.FLAVOURS["escape"])
    Path("in/folder.log").mkdir()
    if os.name != "nt":
        os.symlink("loop", "in/loop")
        os.mkfifo("in/pipe.log")
    return [*(str(path) for path in sorted(Path("in").iterdir())), "in", str(CASE), "/no/such"]


def value(option: Option, rnd: random.Random) -> str:
    if option.dest in VALUES and rnd.random() < 0.75:
        return rnd.choice(VALUES[option.dest])
    return rnd.choice([*STRANGE, *hostile.FLAVOURS.values()]).replace("\0", "")


def words_of(command: Command, files: list[str], rnd: random.Random) -> list[str]:
    words = [command.name]
    for option in command.options:
        if rnd.random() < (0.5 if option.dest in ("output", "format") else 0.1):
            words += [option.flags[-1], *([] if option.flag else [value(option, rnd)])]
    if command.name == "batch":
        words += ["--jobs", "1"]
    if command.name == "compare":
        return [*words, "--before", rnd.choice(files), "--after", rnd.choice(files)]
    return [*words, "--", *rnd.choices(files, k=rnd.choice([1, 1, 2, 3]))] if command.argument else words


@pytest.mark.parametrize("seed", range(4))
def test_command_lines_at_random(seed: int, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rnd = random.Random(seed)
    commands = [command for command in COMMANDS if command.name != "record"]
    codes = set()
    for _ in range(RUNS):
        words = words_of(rnd.choice(commands), files, rnd)
        encoding = rnd.choice(["utf-8", "utf-8", "ascii", "cp1252"])
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", "\n") for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rnd.choice([b"", hostile.log("x").encode()]))))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            try:
                code: object = status(words)
            except SystemExit as end:
                code = end.code
        said, told = (stream.buffer.getvalue().decode(encoding) for stream in _flushed(out, err))  # type: ignore[attr-defined]
        shown = [ascii(word)[:80] for word in words]
        assert "internal error" not in told, (shown, told)
        assert "Traceback" not in told, (shown, told)
        assert code in (0, 1, 2), (shown, code)
        assert code != 2 or (told or said).strip(), shown
        for text in (said, told):
            bare = SGR.sub("", text) if "always" in words else text
            assert not [
                c for c in bare.replace("\n", "") if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
            ], shown
        codes.add(code)
    assert {0, 2} <= codes


def _flushed(*streams: io.TextIOWrapper) -> tuple[io.TextIOWrapper, ...]:
    for stream in streams:
        stream.flush()
    return streams

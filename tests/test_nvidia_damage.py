"""Damaged NVIDIA captures: never a crash, never a missing value as zero, never a row lost uncounted."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loganalyze.errors import UnreadableError
from loganalyze.formats import capture_reader
from loganalyze.formats.capture_reader import read_blocks, read_captures
from loganalyze.model.records import Capture, Source
from loganalyze.scan import open_source

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "telemetry"
FILES = sorted(p for p in FOLDER.glob("nvidia-*") if p.suffix != ".json")
TEXTS = {p.name: p.read_bytes() for p in FILES}
NAMES = st.sampled_from(sorted(TEXTS))
SERIES = [
    n for n in sorted(TEXTS) if "smi_csv_units" in n or "dmon_long" in n or n.endswith(("-smi.csv", "pmon_um.txt"))
]
QUIET = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def read(data: bytes) -> tuple[list[Capture], Source]:
    with open_source(data, "x") as opened:
        captures = read_captures(opened)
    source = opened.source
    assert source.lines == source.matched + source.unmatched + source.skipped
    return captures, source


def height(captures: list[Capture]) -> int:
    return sum(c.frame.height for c in captures if c.frame is not None)


@QUIET
@given(NAMES, st.integers(0, 1 << 32))
def test_shuffled_lines(name: str, seed: int) -> None:
    lines = TEXTS[name].splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    read(b"".join(lines))


@QUIET
@given(NAMES, st.floats(0, 1))
def test_truncated_anywhere(name: str, share: float) -> None:
    read(TEXTS[name][: int(len(TEXTS[name]) * share)])


@QUIET
@given(st.lists(NAMES, min_size=2, max_size=4))
def test_joined(names: list[str]) -> None:
    read(b"\n".join(TEXTS[n] for n in names))


@QUIET
@given(NAMES, st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=6)), max_size=6))
def test_bytes_written_over(name: str, patches: list[tuple[float, bytes]]) -> None:
    data = bytearray(TEXTS[name])
    for share, patch in patches:
        at = int(share * len(data))
        data[at : at + len(patch)] = patch
    with contextlib.suppress(UnreadableError):  # the patch made it look like an archive or a picture
        read(bytes(data))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-16-be", "crlf", "cp1252"])
@pytest.mark.parametrize("name", [n for n in sorted(TEXTS) if "utf16" not in n])
def test_encodings_change_nothing(name: str, encoding: str) -> None:
    plain = TEXTS[name].replace(b"\r\n", b"\n")
    text = plain.decode()
    data = plain.replace(b"\n", b"\r\n") if encoding == "crlf" else text.encode(encoding)
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data
    expected, _ = read(plain)
    found, _ = read(data)
    assert [c.format for c in found] == [c.format for c in expected]
    for a, b in zip(found, expected, strict=True):
        assert (a.frame is None) == (b.frame is None)
        assert a.frame is None or b.frame is None or a.frame.equals(b.frame)


@QUIET
@given(st.sampled_from(SERIES), st.data())
def test_missing_cells_are_never_zero(name: str, data: st.DataObject) -> None:
    """Cells of one row replaced by a token for none: these are null, all others as before."""
    lines = TEXTS[name].decode().split("\n")
    table = name.endswith(".txt")
    at = data.draw(st.integers(2, len(lines) - 2))
    token = data.draw(st.sampled_from(["-"] if table else ["[N/A]", "[Unknown Error]", "[GPU is lost]", "N/A", "ERR!"]))
    cells = lines[at].split(None if table else ", ")
    keep = 3 if "DT" in name or "pmon" in name else 2
    if len(cells) <= keep or lines[at].startswith("#"):
        return
    before, _ = read("\n".join(lines).encode())
    lines[at] = (" " if table else ", ").join([*cells[:keep], *[token] * (len(cells) - keep)])
    after, source = read("\n".join(lines).encode())
    assert height(after) == height(before)
    assert source.unmatched == 0
    row = next(r for c in after if c.frame is not None for r in c.frame.to_dicts() if r["line"] == at + 1)
    for metric, value in row.items():
        if metric not in ("t_s", "row", "line", "device", "pid", "power_w", "process"):
            assert value is None, (metric, value)


@QUIET
@given(
    st.sampled_from([n for n in SERIES if "pmon" not in n]),
    st.lists(st.text("abc ,;:[]#|0129MiB%", min_size=1), max_size=8),
)
def test_foreign_lines_are_counted_and_rows_stay(name: str, foreign: list[str]) -> None:
    lines = TEXTS[name].decode().rstrip("\n").split("\n")
    before, first = read(("\n".join(lines) + "\n").encode())
    for i, text in enumerate(foreign):
        lines.insert(3 + (i * 7) % (len(lines) - 3), "~ " + text)
    after, source = read(("\n".join(lines) + "\n").encode())
    assert height(after) >= height(before)
    assert source.lines == first.lines + len(foreign)


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("size", [200, 997, 5000])
def test_blocks_of_any_size_give_the_same(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bulk way (blocks, no line by line) agrees with the way by line, wherever blocks end."""
    text = TEXTS[name].rstrip(b"\n") + b"\n"
    expected, _ = read(text * 3)
    monkeypatch.setattr(capture_reader, "BLOCK_BYTES", size)
    monkeypatch.setattr(capture_reader, "BY_LINE_BYTES", 1)
    source = Source(path="x")
    found = read_blocks((text * 3).splitlines(keepends=True), source)
    assert [c.frame.drop("t_s").to_dicts() for c in found if c.frame is not None] == [
        c.frame.drop("t_s").to_dicts() for c in expected if c.frame is not None
    ]
    assert source.lines == source.matched + source.unmatched + source.skipped
    assert source.unmatched == 0

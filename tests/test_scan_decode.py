"""Encodings: UTF-16 in both orders, with and without mark, and changes of encoding inside a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_helpers import Pieces, lines_of, texts_of, told

from loganalyze.scan import all_lines, open_source

TEXT = "timestamp, memory.used [MiB]\r\n2024/05/01 12:34:56.789, 412 MiB\r\nGerät: °C 中文 🚀\r\n"
WANTED = [b"timestamp, memory.used [MiB]", b"2024/05/01 12:34:56.789, 412 MiB", "Gerät: °C 中文 🚀".encode()]
BYTES = b"2024/05/01 12:35:10.001, 22903 MiB, 91 %\r\nok\r\n"
SIZES = st.lists(st.integers(1, 70), max_size=3)


def encoding_of(data: bytes) -> str | None:
    with open_source(data) as opened:
        list(all_lines(opened))
    return opened.source.encoding


@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_utf16(order: str, mark: bool) -> None:
    data = (("\ufeff" if mark else "") + TEXT).encode(order)
    assert texts_of(data) == texts_of(data, 1) == texts_of(data, 7, 64) == WANTED
    assert encoding_of(data) == order


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
@given(sizes=SIZES)
def test_bytes_appended_to_utf16(order: str, sizes: list[int]) -> None:
    data = TEXT.encode(order) + BYTES
    assert texts_of(data, *sizes) == [*WANTED, BYTES[:40], b"ok"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
@given(sizes=SIZES)
def test_utf16_appended_to_bytes_and_back(order: str, mark: str, sizes: list[int]) -> None:
    data = BYTES + (mark + TEXT).encode(order) + BYTES
    assert texts_of(data, *sizes) == [BYTES[:40], b"ok", *WANTED, BYTES[:40], b"ok"]
    assert encoding_of(data) == f"utf-8+{order}"


@given(st.text(max_size=60), st.sampled_from(["utf-16-le", "utf-16-be"]), SIZES)
def test_chunks_do_not_matter_in_utf16(text: str, order: str, sizes: list[int]) -> None:
    data = ("start of it\n" + text + "\nx\n").encode(order, "surrogatepass") + b"then bytes again, long enough\n"
    assert [told(x) for x in lines_of(data, *sizes)] == [told(x) for x in lines_of(data)]


@given(
    st.lists(st.sampled_from([b"a\0", b"\0a", b"\n", b"\0", b"\n\0", b"\0\n", b"\xff\xfe", b"ab", b"-N"]), max_size=60),
    SIZES,
)
def test_chunks_do_not_matter_in_a_mess(parts: list[bytes], sizes: list[int]) -> None:
    data = b"".join(parts)
    assert [told(x) for x in lines_of(data, *sizes)] == [told(x) for x in lines_of(data)]


def test_cjk_lines_in_utf16_stay_utf16() -> None:
    text = "中文字符\n" * 3 + "上下文 4096\n"
    assert texts_of(("x\n" + text).encode("utf-16-le")) == [b"x", *text.encode().split()[:3], "上下文 4096".encode()]


def test_utf8_mark_and_cp1252() -> None:
    assert texts_of(b"\xef\xbb\xbfMem: 1\nx\n") == [b"Mem: 1", b"x"]
    assert encoding_of(b"\xef\xbb\xbfMem: 1\nx\n") == "utf-8-sig+utf-8"
    (line,) = lines_of(b"Temp 45 \xb0C, G\xfcnther\n")
    assert line.str == "Temp 45 °C, Günther"
    assert encoding_of(b"Temp 45 \xb0C\n") == "cp1252"
    assert lines_of("45 °C".encode())[0].str == "45 °C"


def test_nul_bytes_of_a_crash_do_not_make_utf16() -> None:
    assert texts_of(b"good line\n" + b"\0" * 5000 + b"\nafter the crash\n") == [b"good line", b"", b"after the crash"]


def test_odd_end_of_utf16() -> None:
    assert texts_of("abc\ndef".encode("utf-16-le") + b"g") == [b"abc", "def\ufffd".encode()]


def test_large_utf16_is_read_in_pieces() -> None:
    text = "0.00.035.064 I slot print_timing: eval time\r\n" * 20_000
    lines = lines_of(text.encode("utf-16"), 65_536)
    assert len(lines) == 20_000
    assert {(x.t_s, x.text) for x in lines} == {(0.035064, b"slot print_timing: eval time")}


def test_no_break_spaces_become_blanks() -> None:
    data = "eval time =\u00a0  5.0\u202fms\n".encode()
    with open_source(Pieces(data, [3])) as opened:  # type: ignore[arg-type]
        assert [x.text for x in all_lines(opened)] == [b"eval time =   5.0 ms"]

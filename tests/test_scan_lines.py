"""Cutting out lines: the result depends on the bytes alone, and every line is counted."""

from __future__ import annotations

import sys
from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scan_helpers import Pieces, lines_of, scan_of, texts_of, told

from loganalyze.errors import UnreadableError
from loganalyze.scan import all_lines, blocks, open_source, scan
from loganalyze.scan import limits as scan_limits
from loganalyze.scan.find import PlainFinder, make_finder

LITERALS = (b"eval time", b"total", b"xyz")
WORDS = st.sampled_from(
    [b"eval time", b"total", b"xyz", b"\n", b"\n", b"\r", b"\r\n", b" ", b"\x1b[31m", b"\x1b]0;t\x07", b"\b", b"a",
     b"0.00.035.064 I ", b"Nov 30 17:04:16 ", b"> ", b"[42027] ", b"\xc3\xa9", b"\xff", b"{", b"`", b"evaltime"]
)  # fmt: skip
TEXT = st.lists(WORDS, max_size=40).map(b"".join)
SIZES = st.lists(st.integers(1, 90), max_size=4)


def outcome(data: bytes, *sizes: int) -> object:
    try:
        return [told(x) for x in lines_of(data, *sizes)]
    except UnreadableError as error:
        return error.reason


def true_lines(data: bytes) -> int:
    """Of text that is not UTF-16."""
    return data.count(b"\n") + (0 if not data or data.endswith(b"\n") else 1)


@given(TEXT, SIZES)
def test_chunks_do_not_matter(data: bytes, sizes: list[int]) -> None:
    assert [told(x) for x in lines_of(data, *sizes)] == [told(x) for x in lines_of(data)]


@given(st.binary(max_size=400), SIZES)
def test_chunks_do_not_matter_for_any_bytes(data: bytes, sizes: list[int]) -> None:
    assert outcome(data, *sizes) == outcome(data)


@given(TEXT, SIZES)
@example(b"eval time\reval time\n", [3])
def test_scan_finds_what_all_lines_show(data: bytes, sizes: list[int]) -> None:
    scanner, found = scan_of(data, LITERALS, *sizes)
    every = lines_of(data)
    raw = data.split(b"\n")
    wanted = [told(x) for x in every if any(lit in raw[x.number - 1] for lit in LITERALS)]
    got = [told(x) for x in found]
    # A line with carriage returns gives only the pieces that hold a literal.
    assert [x for x in wanted if any(lit in x[1] for lit in LITERALS)] == [  # type: ignore[operator]
        x
        for x in got
        if any(lit in x[1] for lit in LITERALS)  # type: ignore[operator]
    ]
    assert scanner.source.lines == true_lines(data)
    assert scanner.delivered == len({x.number for x in found}) <= scanner.source.lines


@given(TEXT)
def test_all_lines_delivers_each_line(data: bytes) -> None:
    with open_source(data) as opened:
        scanner = all_lines(opened)
        numbers = {line.number for line in scanner}
        if b"{" not in data:
            assert numbers == set(range(1, true_lines(data) + 1))
        assert scanner.source.lines == true_lines(data)


@given(TEXT, st.data())
def test_taking_raw_lines_loses_none(data: bytes, draw: st.DataObject) -> None:
    with open_source(Pieces(data, [7])) as opened:  # type: ignore[arg-type]
        scanner = scan(opened, LITERALS)
        seen: list[int] = []
        for line in scanner:
            seen.append(line.number)
            for _ in range(draw.draw(st.integers(0, 2))):
                following = scanner.next_raw()
                if following is not None:
                    seen.append(following.number)
        assert seen == sorted(seen)
        assert scanner.delivered == len(set(seen))
        assert scanner.source.lines == true_lines(data)


def test_take_while_stops_before_the_refused_line() -> None:
    data = b"noise\ntable eval time:\n| a |\n| b |\nnext eval time\nlast\n"
    with open_source(data) as opened:
        scanner = scan(opened, LITERALS)
        head = next(scanner)
        rows = scanner.take_while(lambda line: line.text.startswith(b"|"))
        rest = list(scanner)
    assert (head.number, [r.text for r in rows], [x.number for x in rest]) == (2, [b"| a |", b"| b |"], [5])
    assert scanner.delivered == 4
    assert scanner.source.lines == 6


def test_taking_raw_lines_over_blocks() -> None:
    data = b"eval time\n" + b"row\n" * 300_000 + b"eval time 2\nend"
    with open_source(data) as opened:
        scanner = scan(opened, LITERALS)
        next(scanner)
        rows = scanner.take_while(lambda line: line.text == b"row")
        after = list(scanner)
    assert len(rows) == 300_000
    assert [x.number for x in after] == [300_002]
    assert scanner.source.lines == 300_003


def test_drain_counts_the_rest() -> None:
    with open_source(b"eval time\nb\nc\nd") as opened:
        scanner = scan(opened, LITERALS)
        next(scanner)
        scanner.drain()
        assert scanner.source.lines == 4


@given(TEXT, st.lists(st.sampled_from([b"eval time", b"total", b"xyz", b"time", b"val t", b"tot"]), min_size=1))
def test_fallback_finds_the_same_lines(data: bytes, literals: list[bytes]) -> None:
    pytest.importorskip("ahocorasick_rs")
    buffer = bytearray(data)
    fast, plain = make_finder(literals), PlainFinder(sorted(set(literals)))

    def rows(starts: list[int]) -> set[int]:
        return {data.count(b"\n", 0, start) for start in starts}

    view = memoryview(buffer)
    assert rows(fast.starts(buffer, view, len(data))) == rows(plain.starts(buffer, view, len(data)))
    assert fast.holds(data) == plain.holds(data)


@pytest.mark.parametrize(("count", "copies"), [(2, 1), (18, 1), (60, 1), (300, 1), (300, 40)])
def test_many_literals(count: int, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    literals = tuple(b"literal %03d;" % n for n in range(count))
    data = b"".join(b"x literal %03d; y\nnothing\n" % n for n in range(count)) * copies
    _, fast = scan_of(data, literals)
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    _, plain = scan_of(data, literals)
    assert [told(x) for x in fast] == [told(x) for x in plain]
    assert [x.number for x in fast] == list(range(1, 2 * count * copies, 2))


@pytest.mark.parametrize("literal", [b"", b"ab", b"abc\n", b"a\rb"])
def test_useless_literals_are_refused(literal: bytes) -> None:
    with pytest.raises(ValueError, match="no literal"):
        make_finder([literal])


def test_no_literals_find_nothing() -> None:
    scanner, found = scan_of(b"a\nb\n", ())
    assert (found, scanner.source.lines) == ([], 2)


def test_line_ends() -> None:
    assert texts_of(b"a\r\nb\r\r\nc\n\nd") == [b"a", b"b", b"c", b"", b"d"]
    pieces = lines_of(b"10%\r20%\r100%\nnext\n")
    assert [(x.number, x.text) for x in pieces] == [(1, b"10%"), (1, b"20%"), (1, b"100%"), (2, b"next")]


def test_controls_are_taken_out() -> None:
    assert texts_of(b"\x1b[1;32mgreen\x1b[0m \x1b]0;title\x07text\x1b(B\n\0\0a\0b\n|\b/\b-\bdone\n") == [
        b"green text",
        b"ab",
        b"done",
    ]


@pytest.mark.parametrize("sizes", [(), (1000,), (70_001, 333)])
def test_long_lines_are_cut_with_a_note(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    small = 4096
    for module in ("block_reader", "clean", "lines"):
        monkeypatch.setattr(f"loganalyze.scan.{module}.LINE_BYTES", small)
    long = b"eval time " + b"x" * 50_000 + b" total"
    data = (
        b"total 1\n"
        + long
        + b"\n"
        + b"y" * 9000
        + b"total\n"
        + b"z" * 4096
        + b"\ntotal 2\n"
        + b"p" * 9000
        + b"\rtotal 3"
    )
    scanner, found = scan_of(data, LITERALS, *sizes)
    assert [(x.number, x.text) for x in found] == [
        (1, b"total 1"),
        (2, long[:small]),
        (5, b"total 2"),
        (6, b"total 3"),
    ]
    assert scanner.source.lines == 6
    assert any("cut" in note for note in scanner.source.notes)
    assert [x.number for x in lines_of(data, *sizes)] == [1, 2, 3, 4, 5, 6, 6]


def test_a_hundred_megabyte_line_stays_bounded() -> None:
    import tracemalloc

    class Long(Pieces):
        def __init__(self) -> None:
            self.left = 400

        def readinto(self, view: memoryview) -> int:
            self.left -= 1
            if self.left < 0:
                return 0
            view[:] = b"x" * len(view)
            return len(view)

    with open_source(Long()) as opened:  # type: ignore[arg-type]
        tracemalloc.start()
        found = list(all_lines(opened))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert [len(x.text) for x in found] == [scan_limits.LINE_BYTES]
    assert peak < 8 << 20


def test_progress_bars_without_line_ends_are_read() -> None:
    data = b"".join(b"step %07d eval time\r" % n for n in range(200_000)) + b"\nend\n"
    scanner, found = scan_of(data, LITERALS)
    assert len(found) == 200_000
    assert (scanner.delivered, scanner.source.lines) == (1, 2)


@settings(max_examples=30)
@given(TEXT, SIZES)
def test_blocks_give_the_whole_text(data: bytes, sizes: list[int]) -> None:
    with open_source(Pieces(data, sizes)) as opened:  # type: ignore[arg-type]
        got = list(blocks(opened))
    if b"\0" not in data:
        assert b"".join(got) == data
    assert all(block.endswith(b"\n") for block in got[:-1])


def test_head_and_file_objects() -> None:
    stream = BytesIO(b"a\nb\n")
    with open_source(stream, "shown") as opened:
        assert (opened.head, opened.whole, opened.source.path) == (b"a\nb\n", True, "shown")
        assert [x.text for x in all_lines(opened)] == [b"a", b"b"]
    assert not stream.closed

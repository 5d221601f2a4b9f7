"""The finder of large texts gives the same lines as plain search, for the literals of all rules and for random ones."""

from __future__ import annotations

import random
from io import BytesIO

import pytest

from loganalyze.formats.log_reader import LogFormats
from loganalyze.grammar.source import grammar_names, grammar_text, notes
from loganalyze.scan import lines, open_source, scan
from loganalyze.scan.find import PlainFinder
from loganalyze.scan.words import MIN_BYTES, WordFinder, count_lines

LITERALS = list(LogFormats.load().literals)


def finder(literals: list[bytes], sample: bytes = b"") -> WordFinder:
    plain = PlainFinder([x for x in literals if len(x) < MIN_BYTES])
    return WordFinder(literals, PlainFinder(literals).holds, sample, plain)


def found(what: WordFinder | PlainFinder, text: bytes) -> set[int]:
    """Starts of the lines that ``what`` finds."""
    buffer = bytearray(text) + bytearray(7)
    return {text.rfind(b"\n", 0, at) + 1 for at in what.starts(buffer, memoryview(buffer), len(text))}


def test_literals_are_long() -> None:
    """A shorter literal costs large logs half their speed: write it with what stands beside it."""
    assert [x for x in LITERALS if len(x) < MIN_BYTES] == []


@pytest.mark.parametrize("shift", range(8))
def test_every_literal_wherever_it_stands(shift: int) -> None:
    text = b"\n".join(b"x" * ((shift + i * 5) % 11) + literal for i, literal in enumerate(LITERALS))
    assert found(finder(LITERALS), text) == found(PlainFinder(LITERALS), text)
    assert len(found(finder(LITERALS, text), text)) == len(LITERALS)


@pytest.mark.parametrize("seed", range(40))
def test_random_texts(seed: int) -> None:
    random_ = random.Random(seed)
    alphabet = random_.choice([b"ab\n", b"abc d\n", bytes(range(256))])
    literals = list(
        {bytes(random_.choices(alphabet.replace(b"\n", b""), k=random_.randrange(4, 12))) for _ in range(12)}
    )
    text = bytes(random_.choices(alphabet, k=random_.randrange(1, 3000)))
    text += random_.choice([b"", random_.choice(literals)])
    assert found(finder(literals, text[:500]), text) == found(PlainFinder(literals), text)


def test_every_sample_is_found_late_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rule's sample lines come through the finder of large texts."""
    monkeypatch.setattr(lines, "LARGE_BYTES", 1)
    formats = LogFormats.load()
    used = {rule.grammar for rule in formats.matcher.rules}
    samples = [
        s.encode()
        for name in grammar_names()
        if name in used
        for n in notes(grammar_text(name)).values()
        for s in n.samples
    ]
    assert len(samples) > 500
    filler = b"D que    start_loop: waiting for new tasks\n"
    start = filler * 12_000
    text = start + b"".join(filler + sample + b"\n" for sample in samples)
    with open_source(BytesIO(text)) as opened:
        scanner = scan(opened, formats.literals)
        numbers = {line.number for line in scanner}
    first = 12_000
    missing = [s for i, s in enumerate(samples) if first + 2 * i + 2 not in numbers]
    assert missing == []
    assert opened.source.lines == text.count(b"\n")


def test_switch_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    row = b"0.01.000.000 I slot print_timing: id  0 | task 1 | prompt eval time = 1.00 ms / 2 tokens\n"
    text = (b"D text that says nothing at all\n" * 40 + row) * 2000

    def numbers() -> list[tuple[int, bytes]]:
        with open_source(BytesIO(text)) as opened:
            return [(line.number, line.text) for line in scan(opened, LITERALS)]

    before = numbers()
    monkeypatch.setattr(lines, "LARGE_BYTES", 1)
    assert numbers() == before
    assert len(before) == 2000


def test_count_lines() -> None:
    assert count_lines(memoryview(b"a\nb\n\nc")) == 3

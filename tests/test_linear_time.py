"""No expression takes time that grows faster than its text, however hostile the text is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import linear
import patterns
import pytest

# Patterns put together while the program runs: from parts that are checked here, or from escaped words.
MADE_LATER = {
    "loganalyze.formats.capture_segments:_hints",
    "loganalyze.grammar.match:_compile",
    "loganalyze.grammar.match:match",
    "loganalyze.light:__getattr__",
    "loganalyze.physics.tables:_compiled",
    "loganalyze.reports.redact:_learn",
    "loganalyze.scan.wrappers.told:__getattr__",
}
LONG = 100_000
MODULES = sorted({p.place.rpartition(":")[0] for p in patterns.written()[0]})
GRAMMARS = sorted({p.place.partition(".")[0] for p in patterns.derived()})


@pytest.mark.parametrize(
    ("text", "search", "grows"),
    [
        (rb"(a+)+b", False, True),
        (rb"(?:ab|.b)*c", False, True),
        (rb"a*a*b", False, True),
        (rb"x.*y.*z", False, True),
        (rb"\s+$", True, True),
        (rb"[a-z]+=", True, True),
        (rb"^\s+$", True, False),
        (rb"(?>a*)a*b", False, False),
        (rb"a*+a*b", False, False),
        (rb"x[^y]*y[^z]*z", False, False),
        (rb"\bfoo\w+x", True, False),
        (rb"(?<![a-z])[a-z]+=", True, False),
        (rb"\d{1,9}\d{1,9}x", False, False),
    ],
)
def test_the_checker_tells_them_apart(text: bytes, search: bool, grows: bool) -> None:
    assert (linear.grows(text, 0, search) is not None) == grows


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (r"(a|b)*c", "ababc"),
        (r"x(?=y)y+z", "xyyz"),
        (r"(?<!a)b{2,3}?c", "bbbc"),
        (r"\bab\b|^c$", "c"),
        (r"a{0,2}+a", "aaa"),
    ],
)
def test_the_counting_matcher_matches_like_python(text: str, line: str) -> None:
    tree, sets, flags = linear.parsed(text, 0)
    end = linear.Counter(tree, sets, flags).match([linear.bit_of(ord(c)) for c in line], 0)
    found = re.match(text, line)
    assert end == (found.end() if found else -1)


def test_every_call_is_known() -> None:
    found, unknown = patterns.written()
    assert len(found) > 200
    assert set(unknown) <= MADE_LATER


@pytest.mark.parametrize("module", MODULES)
def test_written_patterns_are_linear(module: str) -> None:
    own = [p for p in patterns.written()[0] if p.place.rpartition(":")[0] == module]
    assert {p.place: found for p in own if (found := linear.grows(p.text, p.flags, p.search))} == {}


def test_patterns_of_the_tables_are_linear() -> None:
    assert len(patterns.tables()) > 100
    assert {p.place: found for p in patterns.tables() if (found := linear.grows(p.text, p.flags, True))} == {}


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_rules_are_linear(grammar: str) -> None:
    own = [p for p in patterns.derived() if p.place.partition(".")[0] == grammar]
    assert {p.place: found for p in own if (found := linear.grows(p.text, p.flags, False))} == {}


@cache
def parts(pattern: patterns.Pattern) -> tuple[tuple[str, str], ...]:
    """Ways to each loop of ``pattern`` with a text around it, and texts that its checker was suspicious of."""
    found = linear.pumped(pattern.text, pattern.flags) | linear.texts(pattern.text, pattern.flags, pattern.search)
    return tuple(sorted((front, part) for front, part in found if part))


def hostile(pattern: patterns.Pattern, size: int) -> Iterator[str]:
    """Lines that go round one loop of ``pattern`` again and again."""
    for front, part in parts(pattern):
        yield front + part * (size // len(part)) + "\x01"


def run(pattern: patterns.Pattern, text: str) -> None:
    """What the package does with it, on one text."""
    compiled = re.compile(pattern.text, pattern.flags)
    line = text.encode("utf-8") if isinstance(pattern.text, bytes) else text
    if pattern.search:
        for _ in compiled.finditer(line):
            pass
    else:
        compiled.match(line)


def test_long_hostile_lines() -> None:
    count = 0
    for pattern in patterns.written()[0]:
        for text in hostile(pattern, LONG):
            run(pattern, text)
            count += 1
    assert count > 300


@pytest.mark.parametrize("walked", [True, False])
def test_rules_read_long_hostile_lines(walked: bool) -> None:
    from loganalyze.grammar import Matcher

    rules = {rule.full: rule for grammar in GRAMMARS for rule in Matcher([grammar]).rules}
    for pattern in patterns.derived():
        for text in hostile(pattern, LONG // 10 if walked else LONG):
            rules[pattern.place]._left = 2 if walked else 0
            rules[pattern.place].match(text.encode())

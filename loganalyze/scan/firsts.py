"""What the first bytes of a line say about wrappers: the cheap questions asked before any regular expression."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from loganalyze.scan.line import Wrap
from loganalyze.scan.wrappers import FAMILIES
from loganalyze.scan.wrappers.readers import READERS
from loganalyze.scan.wrappers.told import Peel, Told

# What the first byte of a line can mean: nothing to peel, a word (only a container's name would be peeled), a word
# that may also be a month, a weekday or a level, a digit, or anything else.
PLAIN, WORD, CAPITAL, DIGIT, OTHER = range(5)
_LEVEL_WORDS = frozenset((b"INFO", b"WARN", b"ERRO", b"DEBU", b"CRIT"))


@cache
def peel_table() -> tuple[tuple[Peel, ...], ...]:
    """Peels to try, by first byte."""
    table: list[list[Peel]] = [[] for _ in range(256)]
    for family in FAMILIES:
        for firsts, peel in import_module(f"loganalyze.scan.wrappers.{family}").PEELS:
            for first in firsts:
                table[first].append(peel)
    return tuple(tuple(peels) for peels in table)


@cache
def first_classes() -> bytes:
    """Class of each first byte."""
    classes = bytearray(OTHER if peels or first in READERS else PLAIN for first, peels in enumerate(peel_table()))
    for letter in b"abcdefghijklmnopqrstuvwxyzBGHKLPQRUVXYZ":
        classes[letter] = WORD
    for letter in b"ACDEFIJMNOSTW":
        classes[letter] = CAPITAL
    for digit in b"0123456789":
        classes[digit] = DIGIT
    for blank in b" \t\x0b\x0c":
        classes[blank] = OTHER
    return bytes(classes)


def is_plain(text: bytes, kind: int) -> bool:
    """Cheap proof that ``text``, of class ``kind``, has no wrapper; False where it would take a closer look."""
    if kind == CAPITAL:
        if text[1:2] == b" " or text[3:4] == b" " or text[:4] in _LEVEL_WORDS:
            return False
    elif kind != WORD:
        return kind == PLAIN
    end = text.find(32, 2)
    # A container's name ends with its number.
    return not (end > 0 and 48 <= text[end - 1] <= 57) and not text.startswith((b"time=", b"t|"))


class Prefix:
    """What a stack of wrappers in front of lines tells; all lines of one second of a journal share it."""

    __slots__ = ("docker", "llama", "plain", "told", "wrap")

    def counts(self) -> list[tuple[tuple[str, ...], int]]:
        """Stacks of wrappers that lines behind this prefix had, and how many."""
        kinds = tuple(self.told.kinds)
        return [(kinds, self.plain), ((*kinds, "llama"), self.llama), ((*kinds, "docker", "llama"), self.docker)]

    def __init__(self, told: Told, wrap: Wrap | None) -> None:
        self.told = told
        self.wrap = wrap
        self.docker = self.llama = self.plain = 0

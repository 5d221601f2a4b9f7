"""Find hundreds of literals in large texts, four bytes at a time. Imported only for texts that earn it back.

Wherever a literal of ``MIN_BYTES`` or more stands, one of the aligned four-byte words of the text holds at least three of
its bytes. So each word is looked up in a table of the words that literals leave there; where it is known, the two bytes
before or behind it are looked up too, and what is left is compared with the literals themselves: the answer is exact.
This takes about a nanosecond for a byte whatever the number of literals; automata of hundreds of literals take three to six.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from loganalyze.scan.find import Finder

MIN_BYTES = 5
_WORD = 4
_FAR = 3
_GROUP = 8
_PAD = b"\n" * (2 * _WORD * _GROUP)
_BITS = 20
_PAIR_BITS = 20
_MASK = 0xFFFFFFFF
# Odd numbers to spread words over the tables: of the first, the one that spreads the text at hand best is taken.
_FACTORS = tuple(np.uint32(0x9E3779B1 + 0x61C88 * 2 * i) for i in range(8))
_MIX = np.uint32(0x27D4EB2F)
_SIDES = (np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35))
# Text by which the rarest word of each literal is chosen; it decides nothing but the speed.
SAMPLE_BYTES = 128 << 10
# A place that both tables let pass costs so many times one that the first alone does.
_PAIR_COST = 8
_UNKNOWN = 1 << 20
_BYTE, _LOW = np.uint32(8), np.uint32(0xFFFFFF)
_MIXER = int(_MIX)
_ANY = tuple(range(256))


class WordFinder:
    """A ``Finder`` for many literals. ``sample`` is text of the same source."""

    def __init__(
        self, literals: list[bytes], holds: Callable[[bytes], bool], sample: bytes, short: Finder | None = None
    ) -> None:
        """``short`` finds those of ``literals`` that have less than ``MIN_BYTES``."""
        self.in_json = False
        self.holds = holds
        self._short = short
        literals = [literal for literal in literals if len(literal) >= MIN_BYTES]
        text = sample[-SAMPLE_BYTES:] + _PAD
        tables = _Tables(literals, _counts(text))
        self._known = tables.known
        words = np.fromiter(tables.known, np.uint32, len(tables.known))
        self._factor = _factor(words, text)
        self._words = _table(words * self._factor, _BITS)
        self._near = [_table(_mixed(pairs, side), _PAIR_BITS) for pairs, side in zip(tables.near, _SIDES, strict=True)]
        self._far = [_table(_mixed(pairs, side), _PAIR_BITS) for pairs, side in zip(tables.far, _SIDES, strict=True)]
        self._both = _table(_mixed(tables.both, *_SIDES), _PAIR_BITS)
        self._loose = _table(_mixed(tables.loose), _PAIR_BITS)
        self._hashes: Any = np.empty(0, np.uint32)
        self._found: Any = np.empty(0, np.bool_)

    def starts(self, buffer: bytearray, view: memoryview, end: int) -> list[int]:
        """See ``Finder``."""
        text = buffer if len(buffer) >= end + len(_PAD) else bytearray(view[:end]) + _PAD
        places, words = self.places(text, end)
        known, starts = self._known, []
        for place, word in zip(places.tolist(), words.tolist(), strict=True):
            for shift, literal in known.get(word, ()):
                if text.startswith(literal, place - shift, end):
                    starts.append(place - shift)
        if self._short is not None:
            starts += self._short.starts(buffer, view, end)
        starts.sort()
        return starts

    def places(self, text: bytearray, end: int) -> tuple[Any, Any]:
        """Offsets of the words in ``text[:end]`` that seem to be of a literal, and these words.

        ``text`` is longer than ``end`` by ``len(_PAD)``, whatever that holds.
        """
        size = -(-end // (_WORD * _GROUP)) * _GROUP
        if size > len(self._hashes):
            self._hashes, self._found = np.empty(size, np.uint32), np.empty(size, np.bool_)
        words = np.frombuffer(text, np.uint32, size)
        hashes, found = self._hashes[:size], self._found[:size]
        np.multiply(words, self._factor, out=hashes)
        np.right_shift(hashes, np.uint32(32 - _BITS), out=hashes)
        self._words.take(hashes, out=found, mode="clip")
        places = _true(found)
        halves = np.frombuffer(text, np.uint16, 2 * size + 2)
        chosen = words[places]
        mixed, twice = chosen * _MIX, places * 2
        near = self._near[0][_slots(mixed + halves[twice - 1] * _SIDES[0], _PAIR_BITS)]
        near |= self._near[1][_slots(mixed + halves[twice + 2] * _SIDES[1], _PAIR_BITS)]
        places, chosen, mixed, twice = places[near], chosen[near], mixed[near], twice[near]
        wider = np.frombuffer(text, np.uint32, size + 1)
        far = self._loose[_slots(mixed, _PAIR_BITS)]
        far |= self._far[0][_slots(mixed + (wider[places - 1] >> _BYTE) * _SIDES[0], _PAIR_BITS)]
        far |= self._far[1][_slots(mixed + (wider[places + 1] & _LOW) * _SIDES[1], _PAIR_BITS)]
        mixed += halves[twice - 1] * _SIDES[0] + halves[twice + 2] * _SIDES[1]
        far |= self._both[_slots(mixed, _PAIR_BITS)]
        return places[far] * _WORD, chosen[far]


def _true(found: Any) -> Any:
    """Indices of what is true, looking at eight at once."""
    groups = np.flatnonzero(found.view(np.uint64))
    inside = np.flatnonzero(found.reshape(-1, _GROUP)[groups])
    return groups[inside >> 3] * _GROUP + (inside & 7)


def _slots(hashes: Any, bits: int) -> Any:
    return hashes >> np.uint32(32 - bits)


def _table(hashes: Any, bits: int) -> Any:
    table = np.zeros(1 << bits, np.bool_)
    table[_slots(hashes, bits)] = True
    return table


def _mixed(rows: array[int], *sides: np.uint32) -> Any:
    if not rows:
        return np.empty(0, np.uint32)
    factors = np.array([_MIX, *sides], np.uint32)
    return (np.frombuffer(rows, np.uint32).reshape(-1, len(factors)) * factors).sum(axis=1, dtype=np.uint32)


def _factor(words: Any, text: bytes) -> np.uint32:
    """The factor with the fewest words of ``text`` in the slots of ``words``."""
    seen = np.frombuffer(text, np.uint32, len(text) // _WORD)
    return min(_FACTORS, key=lambda f: int(np.count_nonzero(_table(words * f, _BITS)[_slots(seen * f, _BITS)])))


def _counts(text: bytes) -> list[int]:
    """How often words of each hash are in ``text``, at any place."""
    counts = np.zeros(1 << 16, np.intp)
    for phase in range(_WORD):
        words = np.frombuffer(text, np.uint32, (len(text) - phase) // _WORD, phase)
        counts += np.bincount((words * _MIX) >> np.uint32(16), minlength=1 << 16)
    found: list[int] = counts.tolist()
    return found


def _count(word: int, counts: list[int]) -> int:
    return counts[(word * _MIXER & _MASK) >> 16]


class _Tables:
    """The words of all literals. ``near`` and ``far`` hold pairs of a word and its neighbour, before it and behind it.

    ``known``: word -> where it starts in which literal. ``near`` neighbours are two bytes, ``far`` ones three; ``both`` has
    two bytes on either side, for literals that reach no farther, and ``loose`` words have none.
    """

    def __init__(self, literals: list[bytes], counts: list[int]) -> None:
        self.known: dict[int, list[tuple[int, bytes]]] = {}
        # Arrays, for lists of as many tuples take a dozen megabytes.
        self.near = (array("I"), array("I"))
        self.far = (array("I"), array("I"))
        self.both = array("I")
        self.loose = array("I")
        for literal in literals:
            for phase in range(_WORD):
                self._add(literal, *_rarest(literal, phase, counts))

    def _add(self, literal: bytes, start: int, words: list[int], side: int) -> None:
        for word in words:
            self.known.setdefault(word, []).append((start, literal))
        at = start + _WORD
        self.near[side].extend(chain.from_iterable(product(words, _values(literal, at if side else start - 2, 2))))
        behind, before = len(literal) - at, start
        if max(behind, before) >= _FAR:
            far = 1 if behind >= _FAR else 0
            self.far[far].extend(
                chain.from_iterable(product(words, _values(literal, at if far else start - _FAR, _FAR)))
            )
        elif behind and before and behind + before >= _FAR:
            self.both.extend(
                chain.from_iterable(product(words, _values(literal, start - 2, 2), _values(literal, at, 2)))
            )
        else:
            self.loose.extend(words)


def _rarest(literal: bytes, phase: int, counts: list[int]) -> tuple[int, list[int], int]:
    """The place in ``literal`` (``phase`` modulo four) of the rarest word: its start, its values, which neighbour to ask."""
    last = len(literal) - _WORD
    starts = range(phase, last + 1, _WORD) or [s for s in (phase - _WORD, phase) if -1 <= s <= last + 1]
    best: tuple[float, int, list[int], int] | None = None
    for start in starts:
        words = _values(literal, start, _WORD)
        frequency = sum(_count(word, counts) for word in words)
        for side in (1, 0):
            cost = frequency + _PAIR_COST * _pair_count(literal, start, side, counts, frequency)
            if best is None or cost < best[0]:
                best = cost, start, words, side
    assert best is not None
    return best[1:]


def _pair_count(literal: bytes, start: int, side: int, counts: list[int], frequency: int) -> float:
    """How often a word stands beside the two bytes, guessed from words that hold the bytes known of them."""
    known = min(max(len(literal) - start - _WORD if side else start, 0), 2)
    if not known:
        return _UNKNOWN + frequency
    at = start + known if side else start - known
    if not 0 <= at <= len(literal) - _WORD:
        return frequency / (16.0 if known == 1 else 256.0) + 2 - known
    return _count(int.from_bytes(literal[at : at + _WORD], "little"), counts) + 2 - known


def _values(literal: bytes, start: int, size: int) -> list[int]:
    """All values of ``size`` bytes from ``start`` on, little-endian; bytes beside the literal may be anything."""
    choices = [(literal[at],) if 0 <= at < len(literal) else _ANY for at in range(start, start + size)]
    return [int.from_bytes(value, "little") for value in product(*choices)]


def count_lines(view: memoryview) -> int:
    """Line ends in ``view``."""
    return int(np.count_nonzero(np.frombuffer(view, np.uint8) == 10))

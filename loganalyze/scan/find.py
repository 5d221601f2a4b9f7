"""Find literals in a block of bytes, with ``ahocorasick_rs`` where it is installed and plain search elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Finder(Protocol):
        """``starts(buffer, view, end)``: ascending offsets in ``buffer[:end]`` (``view`` is of it), at least one in every line
        that holds a literal and none in any other; ``holds(text)``: whether a literal is in ``text``.
        """

        in_json: bool
        """JSON writes every literal as it is, so that text without any has none after parsing."""

        def starts(self, buffer: bytearray, view: memoryview, end: int) -> list[int]: ...

        def holds(self, text: bytes) -> bool: ...


MIN_LITERAL_BYTES = 3
# The library searches with vector instructions only up to about 16 to 20 literals; more are searched in groups.
GROUP = 16
ONE_GROUP = 20
# Beyond this many a single table-driven automaton (0.4 GB/s whatever their number) beats one search a group. It takes
# 13 ms to build for 550 literals, which only a text of some size earns back.
MAX_GROUPED = 64
# So many small texts earn it back too: searching 15 KB takes half as long with the table, 75 microseconds less.
MANY_TEXTS = 100
# Lists of 2 to 4 literals fall to a search that is ten times slower, so two that cannot occur are added.
_DUMMIES = (b"\x01\x02\x03\x04\x05", b"\x06\x0e\x0f\x10\x11")


def make_finder(literals: Iterable[bytes], small: bool = False) -> Finder:
    """The fastest finder there is for ``literals``; ``small`` when the text is, so that building it must be cheap.

    Finders are remembered: of many small texts each builds none. Raises ValueError for literals that no line can be
    chosen by.
    """
    return _remembered(tuple(literals)).finder(small)


class _Finders:
    """The finders of one list of literals: a cheap one for the first small texts, else the fast one."""

    def __init__(self, literals: tuple[bytes, ...]) -> None:
        self._literals = literals
        self._cheap: Finder | None = None
        self._fast: Finder | None = None
        self._small_texts = 0

    def finder(self, small: bool) -> Finder:
        self._small_texts += small
        if self._fast is None and (not small or self._small_texts > MANY_TEXTS):
            self._fast = _build(self._literals, small=False)
        if self._fast is not None:
            return self._fast
        if self._cheap is None:
            self._cheap = _build(self._literals, small=True)
        return self._cheap


_remembered = lru_cache(maxsize=8)(_Finders)


def _build(literals: tuple[bytes, ...], small: bool) -> Finder:
    unique = sorted(set(literals))
    for literal in unique:
        if len(literal) < MIN_LITERAL_BYTES or b"\n" in literal or b"\r" in literal:
            raise ValueError(f"no literal to select lines by: {literal!r}")
    try:
        import ahocorasick_rs
    except ImportError:
        return PlainFinder(unique)
    return FastFinder(unique, ahocorasick_rs, small)


def for_large(finder: Finder, sample: bytes) -> Finder:
    """A quicker finder for the rest of a large text like ``sample``, with the same answers; most often ``finder`` itself."""
    literals: list[bytes] = getattr(finder, "literals", [])
    if len(literals) <= MAX_GROUPED:
        return finder
    try:
        from loganalyze.scan.words import MIN_BYTES, WordFinder
    except ImportError:
        return finder
    short = tuple(literal for literal in literals if len(literal) < MIN_BYTES)
    return WordFinder(literals, finder.holds, sample, _build(short, small=False) if short else None)


class FastFinder:
    """Aho-Corasick automata over groups of literals, or one over many."""

    def __init__(self, literals: list[bytes], library: Any, small: bool = False) -> None:
        self.literals = literals
        self.in_json = _in_json(literals)
        one = len(literals) <= ONE_GROUP or len(literals) > MAX_GROUPED
        size = len(literals) if one else -(-len(literals) // -(-len(literals) // GROUP))
        groups = [literals[i : i + size] for i in range(0, len(literals), size or 1)]
        table = library.Implementation.DFA if len(literals) > MAX_GROUPED and not small else None
        self._finds: list[Callable[[Any], list[tuple[int, int, int]]]] = [
            library.BytesAhoCorasick(
                [*group, *_DUMMIES] if 2 <= len(group) <= 4 else group,
                matchkind=library.MatchKind.LeftmostFirst,
                implementation=table,
            ).find_matches_as_indexes
            for group in groups
        ]

    def starts(self, buffer: bytearray, view: memoryview, end: int) -> list[int]:
        """See ``Finder``."""
        block = view[:end]
        if len(self._finds) == 1:
            return [found[1] for found in self._finds[0](block)]
        starts = [found[1] for find in self._finds for found in find(block)]
        starts.sort()
        return starts

    def holds(self, text: bytes) -> bool:
        """See ``Finder``."""
        return any(find(text) for find in self._finds)


class PlainFinder:
    """``bytes.find`` for one literal after the other; each search goes on at the line behind a find."""

    def __init__(self, literals: list[bytes]) -> None:
        self.literals = literals
        self.in_json = _in_json(literals)

    def starts(self, buffer: bytearray, view: memoryview, end: int) -> list[int]:
        """See ``Finder``."""
        starts: list[int] = []
        for literal in self.literals:
            at = buffer.find(literal, 0, end)
            while at >= 0:
                starts.append(at)
                line_end = buffer.find(b"\n", at, end)
                at = buffer.find(literal, line_end, end) if line_end >= 0 else -1
        starts.sort()
        return starts

    def holds(self, text: bytes) -> bool:
        """See ``Finder``."""
        return any(literal in text for literal in self.literals)


def _in_json(literals: list[bytes]) -> bool:
    return all(32 <= byte < 127 and byte not in b'"\\/' for literal in literals for byte in literal)

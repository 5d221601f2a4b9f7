"""Tell patterns whose time grows faster than their text: by their automaton, and by counting the steps of a matcher.

The automaton of a pattern (Glushkov's, one state a character) shows where a text can be read in more ways the longer it
gets: two ways around one loop (exponential), or one loop that hands over to another at any place (polynomial). A search
that may start anywhere counts as a loop in front. What it shows is a suspicion with a text that proves or refutes it,
since assertions are left out: the text is grown, and a matcher that backtracks like Python's counts its steps.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

# Characters are bits: 256 of their own, and one each for other letters, digits, spaces and marks.
OTHERS = {256: "あ", 257: "٣", 258: "　", 259: "→"}
ALL = (1 << 260) - 1
_WORD = sum(1 << c for c in range(256) if chr(c).isascii() and (chr(c).isalnum() or c == 95))
_DIGIT = sum(1 << c for c in range(48, 58))
_SPACE = sum(1 << c for c in b" \t\n\r\f\v")
_WORD_WIDE = sum(1 << c for c in range(256) if chr(c).isalnum() or c == 95) | 1 << 256 | 1 << 257
_SPACE_WIDE = sum(1 << c for c in range(256) if chr(c).isspace()) | 1 << 258
_DIGIT_WIDE = _DIGIT | 1 << 257
# A bounded repeat of so many is as good as an unbounded one.
MANY = 1000
PUMPS = 150
MAX_STEPS = 4_000_000


def _category(name: Any, wide: bool) -> int:
    table = {
        sre.CATEGORY_DIGIT: _DIGIT_WIDE if wide else _DIGIT,
        sre.CATEGORY_WORD: _WORD_WIDE if wide else _WORD,
        sre.CATEGORY_SPACE: _SPACE_WIDE if wide else _SPACE,
        sre.CATEGORY_NOT_DIGIT: ALL & ~(_DIGIT_WIDE if wide else _DIGIT),
        sre.CATEGORY_NOT_WORD: ALL & ~(_WORD_WIDE if wide else _WORD),
        sre.CATEGORY_NOT_SPACE: ALL & ~(_SPACE_WIDE if wide else _SPACE),
    }
    return table[name]


def bit_of(char: int) -> int:
    """Bit of a character."""
    if char < 256:
        return 1 << char
    text = chr(char)
    return 1 << (257 if text.isdigit() else 256 if text.isalnum() else 258 if text.isspace() else 259)


def char_of(mask: int) -> str:
    """A character of a set, a printable one if there is."""
    for char in (*range(97, 123), *range(48, 58), 32, *range(33, 127), *range(256)):
        if mask >> char & 1:
            return chr(char)
    return next((text for bit, text in OTHERS.items() if mask >> bit & 1), "")


class Sets:
    """Character sets of one pattern's flags."""

    def __init__(self, flags: int, is_bytes: bool) -> None:
        self.wide = not is_bytes and not flags & re.ASCII
        self.fold = bool(flags & re.IGNORECASE)
        self.dot = ALL if flags & re.DOTALL else ALL & ~(1 << 10)

    def of(self, op: Any, av: Any) -> int:
        """Mask of a one-character item."""
        if op is sre.ANY:
            return self.dot
        if op is sre.LITERAL:
            return self._folded(bit_of(av))
        if op is sre.NOT_LITERAL:
            return ALL & ~self._folded(bit_of(av))
        mask, negate = 0, False
        for kind, value in av:
            if kind is sre.NEGATE:
                negate = True
            elif kind is sre.RANGE:
                low, high = value
                mask |= sum(1 << c for c in range(low, min(high, 255) + 1))
                if high > 255:
                    mask |= sum(1 << b for b in OTHERS)
            elif kind is sre.CATEGORY:
                mask |= _category(value, self.wide)
            else:
                mask |= bit_of(value)
        mask = self._folded(mask)
        return ALL & ~mask if negate else mask

    def _folded(self, mask: int) -> int:
        if self.fold:
            for low in range(97, 123):
                if mask >> low & 1 or mask >> (low - 32) & 1:
                    mask |= 1 << low | 1 << (low - 32)
        return mask


@dataclass
class Piece:
    """Part of the automaton: first and last states, whether it may be empty."""

    first: set[int]
    last: set[int]
    empty: bool


@dataclass
class Automaton:
    """States with their character sets and followers. ``loose_end``: states behind which nothing can fail any more."""

    sets: list[int] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)
    inner: list[Any] = field(default_factory=list)
    loose_end: set[int] = field(default_factory=set)

    def add(self, mask: int) -> int:
        """A new state."""
        self.sets.append(mask)
        self.follow.append(set())
        return len(self.sets) - 1

    def link(self, sources: set[int], targets: set[int]) -> None:
        """Let ``targets`` follow ``sources``."""
        for source in sources:
            self.follow[source] |= targets


_ONE = (sre.ANY, sre.LITERAL, sre.NOT_LITERAL, sre.IN)


class Builder:
    """Automata of a pattern; texts of atomic groups and assertions become automata of their own (``inner``)."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.out = Automaton()
        self.asserted = False

    def sequence(self, items: Any, loops: bool = True) -> Piece:
        """Items one after the other. Without ``loops`` nothing repeats."""
        whole = Piece(set(), set(), True)
        for op, av in items:
            part = self.item(op, av, loops)
            self.out.link(whole.last, part.first)
            whole.first |= part.first if whole.empty else set()
            whole.last = part.last | (whole.last if part.empty else set())
            whole.empty = whole.empty and part.empty
        return whole

    def item(self, op: Any, av: Any, loops: bool) -> Piece:
        """One item."""
        if op in _ONE:
            state = self.out.add(self.sets.of(op, av))
            return Piece({state}, {state}, False)
        if op is sre.SUBPATTERN:
            return self.sequence(av[-1], loops)
        if op is sre.BRANCH:
            parts = [self.sequence(branch, loops) for branch in av[1]]
            return Piece(
                set().union(*(p.first for p in parts)),
                set().union(*(p.last for p in parts)),
                any(p.empty for p in parts),
            )
        if op is sre.ATOMIC_GROUP:
            self.out.inner.append(av)
            return self.sequence(av, False)
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self.repeat(op, av, loops)
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            self.out.inner.append(av[1])
        if op in (sre.ASSERT, sre.ASSERT_NOT, sre.AT):
            self.asserted = True
        return Piece(set(), set(), True)

    def repeat(self, op: Any, av: Any, loops: bool) -> Piece:
        """A repeat, its least times written out (three at most)."""
        low, high, body = av
        if op is sre.POSSESSIVE_REPEAT:
            if loops:
                self.out.inner.append([(sre.MAX_REPEAT, av)])
            loops = False
        endless = high is sre.MAXREPEAT or high >= MANY
        whole = Piece(set(), set(), True)
        copies = min(low, 3) + (1 if endless else min(high - low, 2))
        for index in range(copies):
            part = self.sequence(body, loops)
            if index >= min(low, 3):
                if endless and loops:
                    self.out.link(part.last, part.first)
                part.empty = True
            self.out.link(whole.last, part.first)
            whole.first |= part.first if whole.empty else set()
            whole.last = part.last | (whole.last if part.empty else set())
            whole.empty = whole.empty and part.empty
        return whole


def automata(tree: Any, sets: Sets, search: bool) -> Iterator[Automaton]:
    """Of the pattern, then of its atomic groups and assertions."""
    builder = Builder(sets)
    whole = builder.sequence(tree)
    if search and not _anchored(tree):
        start = builder.out.add(ALL)
        builder.out.link({start}, whole.first | {start})
    if not builder.asserted:
        builder.out.loose_end = whole.last
    yield builder.out
    for inner in builder.out.inner:
        yield from automata(inner, sets, False)


def _anchored(tree: Any) -> bool:
    for op, av in tree:
        if op is sre.AT:
            return av in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
        if op is sre.SUBPATTERN:
            return _anchored(av[-1])
        return False
    return False


def suspicions(automaton: Automaton) -> Iterator[tuple[str, str]]:
    """``(way to the loop, text that can be read in more and more ways)``."""
    reach = [_reachable(automaton, s) for s in range(len(automaton.sets))]
    loops = [s for s in range(len(automaton.sets)) if s in reach[s]]
    for first in loops:
        for second in loops:
            if second in automaton.loose_end or (first != second and second not in reach[first]):
                continue
            text = _twice(automaton, first, second, reach)
            if text is not None:
                yield _way(automaton, first), text


def _reachable(automaton: Automaton, start: int) -> set[int]:
    seen: set[int] = set()
    todo = [start]
    while todo:
        for state in automaton.follow[todo.pop()]:
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return seen


def _twice(automaton: Automaton, first: int, second: int, reach: list[set[int]]) -> str | None:
    """A text that leads around ``first``, from it to ``second``, and around ``second``; two ways around for one loop."""
    start = (first, first, second, first != second)
    goal = (first, second, second, True)
    seen = {start: ""}
    queue = deque([start])
    while queue:
        a, b, c, parted = queue.popleft()
        text = seen[a, b, c, parted]
        if len(text) > 40 or len(seen) > 20000:
            return None
        for x in automaton.follow[a]:
            if first not in reach[x] and x != first:
                continue
            for y in automaton.follow[b]:
                if second not in reach[y] and y != second:
                    continue
                both = automaton.sets[x] & automaton.sets[y]
                if not both:
                    continue
                for z in (y,) if first == second else automaton.follow[c]:
                    common = both & automaton.sets[z]
                    if not common or (z != second and second not in reach[z]):
                        continue
                    state = (x, y, z, parted or x != y)
                    if state not in seen:
                        seen[state] = text + char_of(common)
                        if state == goal:
                            return seen[state]
                        queue.append(state)
    return None


def _way(automaton: Automaton, target: int) -> str:
    """A text from a start to ``target``."""
    heads = set(range(len(automaton.sets))) - {s for f in automaton.follow for s in f} or {0}
    queue = deque((s, char_of(automaton.sets[s])) for s in sorted(heads))
    seen = set(heads)
    while queue:
        state, text = queue.popleft()
        if state == target:
            return text
        for after in sorted(automaton.follow[state]):
            if after not in seen:
                seen.add(after)
                queue.append((after, text + char_of(automaton.sets[after])))
    return ""


# A matcher that backtracks like Python's and counts.


class TooManySteps(Exception):  # noqa: N818 - told apart by name, no error of anyone
    """The count is beyond any line."""


class Counter:
    """Matches one parsed pattern by backtracking. ``steps`` counts what was tried."""

    def __init__(self, tree: Any, sets: Sets, flags: int) -> None:
        self.steps = 0
        self.sets = sets
        self.multiline = bool(flags & re.MULTILINE)
        self.registers = 0
        self.code: list[tuple[Any, ...]] = []
        self.emit(tree)
        self.code.append(("end",))

    def emit(self, items: Any) -> None:
        """Write the code of ``items``."""
        code = self.code
        for op, av in items:
            if op in _ONE:
                code.append(("set", self.sets.of(op, av)))
            elif op is sre.SUBPATTERN:
                self.emit(av[-1])
            elif op is sre.BRANCH:
                ends = []
                for index, branch in enumerate(av[1]):
                    place = len(code)
                    if index < len(av[1]) - 1:
                        code.append(("",))
                    self.emit(branch)
                    ends.append(len(code))
                    code.append(("",))
                    if index < len(av[1]) - 1:
                        code[place] = ("split", place + 1, len(code))
                for end in ends:
                    code[end] = ("jump", len(code))
            elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
                self.emit_repeat(op, av)
            elif op is sre.POSSESSIVE_REPEAT:
                code.append(("atomic", self.sub([(sre.MAX_REPEAT, av)])))
            elif op is sre.ATOMIC_GROUP:
                code.append(("atomic", self.sub(av)))
            elif op in (sre.ASSERT, sre.ASSERT_NOT):
                width = 0 if av[0] > 0 else av[1].getwidth()[0]
                code.append(("look", self.sub(av[1]), width, op is sre.ASSERT))
            elif op is sre.AT:
                code.append(("at", av))
            else:
                raise NotImplementedError(str(op))

    def emit_repeat(self, op: Any, av: Any) -> None:
        """A loop with its own count and place."""
        low, high, body = av
        register = self.registers
        self.registers += 2
        self.code.append(("zero", register))
        place = len(self.code)
        self.code.append(("",))
        self.emit(body)
        self.code.append(("jump", place))
        top = float("inf") if high is sre.MAXREPEAT else high
        self.code[place] = ("loop", register, low, top, op is sre.MAX_REPEAT, len(self.code))

    def sub(self, tree: Any) -> Counter:
        """Code of a part that is matched for itself."""
        other = Counter.__new__(Counter)
        other.__init__(tree, self.sets, re.MULTILINE if self.multiline else 0)  # type: ignore[misc]
        return other

    def match(self, text: list[int], at: int, root: Counter | None = None) -> int:
        """Where a match from ``at`` ends, -1 for none."""
        root = root or self
        stack: list[tuple[int, int, tuple[int, ...]]] = [(0, at, (0,) * self.registers)]
        code, size = self.code, len(text)
        while stack:
            place, pos, registers = stack.pop()
            while True:
                root.steps += 1
                if root.steps > MAX_STEPS:
                    raise TooManySteps
                step = code[place]
                kind = step[0]
                place += 1
                if kind == "set":
                    if pos >= size or not text[pos] & step[1]:
                        break
                    pos += 1
                elif kind == "loop":
                    _, register, low, top, greedy, after = step
                    count, last = registers[register], registers[register + 1]
                    again = count < low or (count < top and (pos != last or count == 0))
                    inside = (*registers[:register], count + 1, pos, *registers[register + 2 :])
                    if count < low:
                        registers = inside
                    elif again and greedy:
                        stack.append((after, pos, registers))
                        registers = inside
                    else:
                        if again:
                            stack.append((place, pos, inside))
                        place = after
                elif kind == "zero":
                    registers = (*registers[: step[1]], 0, -1, *registers[step[1] + 2 :])
                elif kind == "split":
                    stack.append((step[2], pos, registers))
                    place = step[1]
                elif kind == "jump":
                    place = step[1]
                elif kind == "atomic":
                    pos = step[1].match(text, pos, root)
                    if pos < 0:
                        break
                elif kind == "look":
                    start = pos - step[2]
                    if (start >= 0 and step[1].match(text, start, root) >= 0) != step[3]:
                        break
                elif kind == "at":
                    if not self.holds(step[1], text, pos):
                        break
                else:
                    return pos
        return -1

    def holds(self, what: Any, text: list[int], pos: int) -> bool:
        """Whether an anchor fits."""
        newline, word = 1 << 10, _WORD_WIDE if self.sets.wide else _WORD
        before, after = pos > 0 and text[pos - 1], pos < len(text) and text[pos]
        if what in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            return pos == 0 or (self.multiline and what is sre.AT_BEGINNING and before == newline)
        if what is sre.AT_END_STRING:
            return pos == len(text)
        if what is sre.AT_END:
            last = pos == len(text) or (pos == len(text) - 1 and after == newline)
            return last or (self.multiline and after == newline)
        return (bool(before & word) != bool(after & word)) == (what is sre.AT_BOUNDARY)


def parsed(pattern: str | bytes, flags: int) -> tuple[Any, Sets, int]:
    """Parse tree, sets and all flags of a pattern."""
    tree = parser.parse(pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern, flags & ~re.UNICODE)
    flags |= tree.state.flags
    return tree, Sets(flags, isinstance(pattern, bytes)), flags


def steps(pattern: str | bytes, flags: int, text: str, search: bool) -> int:
    """Steps that ``pattern`` takes on ``text``; ``MAX_STEPS`` stands for that many and more."""
    tree, sets, flags = parsed(pattern, flags)
    counter = Counter(tree, sets, flags)
    bits = [bit_of(ord(c)) for c in text]
    try:
        start = 0
        while start <= len(bits):
            end = counter.match(bits, start)
            if not search:
                break
            start = max(start + 1, end)
    except TooManySteps:
        return MAX_STEPS
    return counter.steps


def texts(pattern: str | bytes, flags: int, search: bool) -> set[tuple[str, str]]:
    """``(front, part to repeat)`` of texts that may take long."""
    tree, sets, flags = parsed(pattern, flags)
    return {found for automaton in automata(tree, sets, search) for found in suspicions(automaton)}


def grows(pattern: str | bytes, flags: int, search: bool) -> str | None:
    """The text that takes more than linear time, or None."""
    for front, part in sorted(texts(pattern, flags, search)):
        for tail in ("\x01", "", "\n\x01"):
            for begin in {front, front[:-1], ""}:
                small = steps(pattern, flags, begin + part * PUMPS + tail, search)
                if small == MAX_STEPS:
                    return repr(begin + part + tail)
                large = steps(pattern, flags, begin + part * 2 * PUMPS + tail, search)
                if large > 2.8 * small and large > 20 * 2 * PUMPS * len(part):
                    return repr((begin, part, tail))
    return None


def pumped(pattern: str | bytes, flags: int) -> set[tuple[str, str]]:
    """``(front, part)`` for each loop of a pattern: a way to it, and a text once around it."""
    tree, sets, flags = parsed(pattern, flags)
    found = set()
    for automaton in automata(tree, sets, False):
        for state in range(len(automaton.sets)):
            if state in automaton.follow[state]:
                found.add((_way(automaton, state)[:-1], char_of(automaton.sets[state])))
    return found

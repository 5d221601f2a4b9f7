"""Match lines against the derived rules. Works on bytes; imports neither Lark nor anything heavy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Shapes remembered per matcher; a log with more distinct shapes is hostile or no log, and only loses the shortcut.
MAX_SHAPES = 4096
# Lines remembered with their match, the first ones met: programs start with the same lines in every log of a batch.
MAX_KNOWN = 2048
_DIGITS = b"0123456789.-"
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
# Literals are looked up by four of their bytes: one set operation in place of hundreds of searches a line.
GRAM = 4
MIN_LITERAL = 3
# Beyond this length searching one by one is cheaper than cutting the text into grams.
MAX_GRAM_BYTES = 4000
# Starts tried per head of an ``anywhere`` rule, from the right: more copies of a head in one line are not log text.
MAX_STARTS = 4


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _float(raw: bytes) -> float:
    try:
        return float(raw)
    except ValueError:  # Windows spells: -nan(ind), 1.#J, 1.#INF
        return float("nan")


def _number(raw: bytes) -> float:
    try:
        return float(raw)
    except ValueError:
        return _float(raw.replace(b",", b"."))


CONVERT: dict[str, Callable[[bytes], Any]] = {
    "int": int,
    "int_comma": lambda raw: int(raw.replace(b",", b"")),
    "float": _float,
    "decimal": lambda raw: _float(raw.replace(b",", b".")),
    "number": _number,
    "str": _text,
}


# A line shape is a tuple of parts, before each of which blanks may stand:
# bytes            themselves;
# int              the terminal of that number;
# (MAYBE, ...)     the parts that follow, or nothing;
# (CHOICE, a, b)   the first alternative, each a tuple of parts, with which the rest fits too;
# (REPEAT, op, ..) the parts that follow as often as the operator of regular expressions says;
# (group, ...)     a field.
MAYBE, CHOICE, REPEAT = "?", "|", "*"
# Blanks and terminals never give characters back, which is how Lark's scanner reads them; it also keeps hostile lines
# linear.
BLANK = r"[ \t]*+"
# Compiling a rule takes as long as walking its parts about 30 times, and most rules meet few lines of a log.
WALKS = 30


class Terminals:
    """Regular expressions of a derived module, each compiled when first needed and once for all modules."""

    _compiled: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts
        self.matches: list[Any] = [None] * len(texts)

    def match(self, number: int) -> Any:
        """``match`` of a terminal."""
        text = self.texts[number]
        found = self._compiled.get(text)
        if found is None:
            found = self._compiled[text] = re.compile(text.encode()).match
        self.matches[number] = found
        return found

    def walk(self, parts: tuple[Any, ...], at: int, rest: Any, text: bytes, pos: int, found: dict[str, bytes]) -> bool:
        """Whether ``parts[at:]`` and then ``rest`` fit ``text`` from ``pos`` to its end; fills ``found``.

        ``rest`` is what follows ``parts``: the group they are of, where it starts, and the parts around it.
        """
        while True:
            if at == len(parts):
                if rest is None:
                    return not text[pos:].strip(b" \t")
                group, start, parts, at, rest = rest
                if group is not None:
                    found[group] = text[start:pos]
                continue
            part = parts[at]
            at += 1
            kind = part.__class__
            if kind is tuple and part[0] in (MAYBE, CHOICE):
                around = (None, 0, parts, at, rest)
                for tried in (part,) if part[0] == MAYBE else part[1:-1]:
                    kept = found.copy()
                    if self.walk(tried, 1 if tried is part else 0, around, text, pos, found):
                        return True
                    found.clear()
                    found.update(kept)
                if part[0] == CHOICE:
                    parts, at, rest = part[-1], 0, around
                continue
            while text[pos : pos + 1] in _BLANKS:
                pos += 1
            if kind is bytes:
                if not text.startswith(part, pos):
                    return False
                pos += len(part)
            elif kind is int:
                end = (self.matches[part] or self.match(part))(text, pos)
                if end is None:
                    return False
                pos = end.end()
            else:
                rest = (part[0], pos, parts, at, rest)
                parts, at = part, 1

    def pattern(self, parts: tuple[Any, ...]) -> str:
        """The regular expression of ``parts``."""
        return "".join(map(self._piece, parts))

    def _piece(self, part: Any) -> str:
        if isinstance(part, bytes):
            return BLANK + re.escape(part.decode())
        if isinstance(part, int):
            return BLANK + self.texts[part]
        if part[0] == CHOICE:
            return "(?:" + "|".join(map(self.pattern, part[1:])) + ")"
        if part[0] == REPEAT:
            return f"(?:{self.pattern(part[2:])}){part[1]}"
        inner = self.pattern(part[1:])
        return f"(?:{inner})?" if part[0] == MAYBE else f"{BLANK}(?P<{part[0]}>{inner.removeprefix(BLANK)})"


_BLANKS = frozenset((b" ", b"\t"))


def _is_group(part: Any) -> bool:
    return isinstance(part, tuple) and part[0] in (MAYBE, CHOICE, REPEAT)


def _repeats(parts: tuple[Any, ...]) -> bool:
    return any(part[0] == REPEAT or _repeats(part) for part in parts if isinstance(part, tuple) and part)


class Rule:
    """One line rule: name, shape, fields, literals.

    The first lines are compared part by part; for a rule that meets more of them one regular expression is compiled.
    """

    __slots__ = (
        "_left",
        "_match",
        "_plan",
        "_terminals",
        "anywhere",
        "fields",
        "full",
        "grammar",
        "heads",
        "literals",
        "name",
        "parts",
        "since",
        "until",
    )

    def __init__(self, grammar: str, spec: tuple[Any, ...], terminals: Terminals) -> None:
        """``spec`` is a row of a derived module."""
        self.name: str
        self.parts: tuple[Any, ...]
        self.fields: tuple[tuple[str, str, str], ...]
        self.literals: tuple[bytes, ...]
        self.anywhere: bool
        self.heads: tuple[bytes, ...]
        self.since: str | None
        self.until: str | None
        (self.name, self.parts, self.fields, self.literals) = spec[:4]
        (self.anywhere, self.heads, self.since, self.until) = spec[4:]
        self.grammar = grammar
        self.full = f"{grammar}.{self.name}"
        self._match: Any = None
        self._plan: tuple[tuple[int, str, Callable[[bytes], Any]], ...] = ()
        self._terminals = terminals
        self._left = WALKS

    @property
    def repeats(self) -> bool:
        """Whether a part may stand any number of times, which only the regular expression knows."""
        return _repeats(self.parts)

    @property
    def pattern(self) -> str:
        """The regular expression of whole lines, or of tails for ``anywhere`` rules."""
        body = self._terminals.pattern(self.parts)
        if self.anywhere and not _is_group(self.parts[0]):
            body = r"(?![ \t])" + body.removeprefix(BLANK)
        return body + BLANK + r"\Z"

    def match(self, text: bytes) -> Match | None:
        """Fields of ``text`` if the whole line (or, for ``anywhere`` rules, its tail) has this shape."""
        found = self._at(text, 0)
        return found if found is not None or not self.anywhere else self._match_tail(text)

    def _match_tail(self, text: bytes) -> Match | None:
        for head in self.heads:
            at = text.rfind(head)
            for _ in range(MAX_STARTS):
                if at < 0:
                    break
                found = self._at(text, at)
                if found is not None:
                    return found
                at = text.rfind(head, 0, at + len(head) - 1)
        return None

    def _at(self, text: bytes, start: int) -> Match | None:
        if self._match is None:
            if self._left > 0 and not (self._left == WALKS and self.repeats):
                return self._walk(text, start)
            self._match = self._compile()
        found = self._match(text, start)
        if found is None:
            return None
        groups = found.groups()
        try:
            fields = {name: convert(raw) for index, name, convert in self._plan if (raw := groups[index]) is not None}
        except ValueError:  # a whole number of more than 4300 digits, which Python does not take
            return None
        return Match(self, fields, text[:start])

    def _walk(self, text: bytes, start: int) -> Match | None:
        self._left -= 1
        found: dict[str, bytes] = {}
        if self.anywhere and text[start : start + 1] in _BLANKS and not _is_group(self.parts[0]):
            return None
        if not self._terminals.walk(self.parts, 0, None, text, start, found):
            return None
        try:
            fields = {name: CONVERT[kind](raw) for name, g, kind in self.fields if (raw := found.get(g)) is not None}
        except ValueError:
            return None
        return Match(self, fields, text[:start])

    def _compile(self) -> Any:
        compiled = re.compile(self.pattern.encode())
        groups = compiled.groupindex
        self._plan = tuple((groups[g] - 1, name, CONVERT[kind]) for name, g, kind in self.fields if g in groups)
        return compiled.match


class Match:
    """A line taken by a rule: ``fields`` holds only those present; ``before`` is text glued in front."""

    __slots__ = ("before", "fields", "rule")

    def __init__(self, rule: Rule, fields: dict[str, Any], before: bytes) -> None:
        self.rule = rule
        self.fields = fields
        self.before = before

    def __repr__(self) -> str:
        return f"Match({self.rule.full}, {self.fields})"


class Matcher:
    """All line rules of the named grammars, in the given order. First rule that takes a line wins."""

    def __init__(self, grammars: Iterable[str], index: Any = None) -> None:
        """``index``: a module that ``loganalyze.grammar.index`` wrote for ``grammars``, else it is computed here.

        With it a grammar is loaded when a line holds a literal of one of its rules.
        """
        self._grammars = tuple(grammars)
        if index is None:
            index = Index(self._grammars)
        self._counts: tuple[int, ...] = index.COUNTS
        self._rules: list[Rule | None] = [None] * sum(self._counts)
        self._by_literal: dict[bytes, tuple[int, ...]] = index.LITERALS
        self._short: tuple[bytes, ...] = index.SHORT
        self._by_gram: dict[bytes, tuple[bytes, ...]] = index.GRAMS
        self._grams = frozenset(self._by_gram)
        self.literals: tuple[bytes, ...] = index.COVER
        """Pre-selection literals."""
        self._shapes: dict[bytes, Rule] = {}
        self._refused: set[bytes] = set()
        self._known: dict[bytes, Match] = {}

    @property
    def rules(self) -> list[Rule]:
        """Every rule, in order."""
        return [self._rule(number) for number in range(len(self._rules))]

    def _rule(self, number: int) -> Rule:
        found = self._rules[number]
        if found is None:
            first = 0
            for grammar, count in zip(self._grammars, self._counts, strict=True):
                if number < first + count:
                    self._rules[first : first + count] = rules_of(grammar)
                    break
                first += count
            found = self._rules[number]
        assert found is not None
        return found

    def match(self, text: bytes) -> Match | None:
        """The first rule that takes ``text``, or None."""
        known = self._known.get(text)
        if known is not None:
            return known
        found = self._by_shape(text)
        if found is not None and len(self._known) < MAX_KNOWN:
            self._known[text] = found
        return found

    def _by_shape(self, text: bytes) -> Match | None:
        shape = text.translate(None, _DIGITS)
        rule = self._shapes.get(shape)
        if rule is not None:
            found = rule.match(text)
            if found is not None:
                return found
        return self._search(text, shape)

    def _search(self, text: bytes, shape: bytes) -> Match | None:
        # Rules ask how many digits a number has but not which, so texts that differ in them alone share their fate.
        form = text.translate(_ZEROS)
        if form in self._refused:
            return None
        for number in self._candidates(text):
            rule = self._rules[number] or self._rule(number)
            found = rule.match(text)
            if found is not None:
                if len(self._shapes) >= MAX_SHAPES:
                    self._shapes.clear()
                self._shapes[shape] = rule
                return found
        if len(self._refused) >= MAX_SHAPES:
            self._refused.clear()
        self._refused.add(form)
        return None

    def _candidates(self, text: bytes) -> list[int]:
        """Rules with a literal in ``text``, in order."""
        if len(text) > MAX_GRAM_BYTES:
            held = [x for x in self._by_literal if x in text]
        else:
            grams = self._grams.intersection([text[i : i + GRAM] for i in range(len(text) - GRAM + 1)])
            held = [x for gram in grams for x in self._by_gram[gram] if x in text]
            held += [x for x in self._short if x in text]
        return sorted({index for literal in held for index in self._by_literal[literal]})


def rules_of(grammar: str) -> list[Rule]:
    """The rules of one grammar."""
    module = import_module(f"loganalyze.grammar.derived.{grammar}")
    terminals = Terminals(module.TERMINALS)
    return [Rule(grammar, spec, terminals) for spec in module.RULES]


class Index:
    """Which rules a line can be of, by the literals in it. Attributes are named as in a shipped index."""

    def __init__(self, grammars: Iterable[str]) -> None:
        rules = [rules_of(grammar) for grammar in grammars]
        self.COUNTS = tuple(map(len, rules))
        by_literal: dict[bytes, list[int]] = {}
        for number, rule in enumerate(rule for some in rules for rule in some):
            for literal in rule.literals:
                by_literal.setdefault(literal, []).append(number)
        self.LITERALS = {literal: tuple(numbers) for literal, numbers in by_literal.items()}
        self.SHORT = tuple(x for x in by_literal if len(x) < GRAM)
        self.GRAMS = _grams([x for x in by_literal if len(x) >= GRAM])
        self.COVER = _cover(by_literal)


def _cover(literals: Iterable[bytes]) -> tuple[bytes, ...]:
    """Shortest cover: a literal that contains another is dropped."""
    kept: dict[bytes, list[bytes]] = {}
    found: list[bytes] = []
    for literal in sorted(literals, key=lambda x: (len(x), x)):
        starts = [literal[i : i + MIN_LITERAL] for i in range(len(literal) - MIN_LITERAL + 1)]
        if not any(other in literal for start in starts for other in kept.get(start, ())):
            kept.setdefault(literal[:MIN_LITERAL], []).append(literal)
            found.append(literal)
    return tuple(found)


def _grams(literals: list[bytes]) -> dict[bytes, tuple[bytes, ...]]:
    """Literals by one of their grams, the one that fewest literals share."""
    counts: dict[bytes, int] = {}
    for literal in literals:
        for gram in {literal[i : i + GRAM] for i in range(len(literal) - GRAM + 1)}:
            counts[gram] = counts.get(gram, 0) + 1
    found: dict[bytes, tuple[bytes, ...]] = {}
    for literal in literals:
        own = [literal[i : i + GRAM] for i in range(len(literal) - GRAM + 1)]
        gram = min(own, key=lambda gram: counts[gram])
        found[gram] = (*found.get(gram, ()), literal)
    return found

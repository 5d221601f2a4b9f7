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


class Rule:
    """One line rule: name, derived pattern (compiled on first use), fields, literals."""

    __slots__ = (
        "_match",
        "_plan",
        "anywhere",
        "fields",
        "full",
        "grammar",
        "heads",
        "literals",
        "name",
        "pattern",
        "since",
        "until",
    )

    def __init__(self, grammar: str, spec: tuple[Any, ...]) -> None:
        """``spec`` is a row of a derived module."""
        self.name: str
        self.pattern: str
        self.fields: tuple[tuple[str, str, str], ...]
        self.literals: tuple[bytes, ...]
        self.anywhere: bool
        self.heads: tuple[bytes, ...]
        self.since: str | None
        self.until: str | None
        (self.name, self.pattern, self.fields, self.literals) = spec[:4]
        (self.anywhere, self.heads, self.since, self.until) = spec[4:]
        self.grammar = grammar
        self.full = f"{grammar}.{self.name}"
        self._match: Any = None
        self._plan: tuple[tuple[int, str, Callable[[bytes], Any]], ...] = ()

    def match(self, text: bytes) -> Match | None:
        """Fields of ``text`` if the whole line (or, for ``anywhere`` rules, its tail) has this shape."""
        if self._match is None:
            self._match = self._compile()
        found = self._match(text)
        if found is not None:
            return self._build(found, b"")
        return self._match_tail(text) if self.anywhere else None

    def _match_tail(self, text: bytes) -> Match | None:
        for head in self.heads:
            at = text.rfind(head)
            for _ in range(MAX_STARTS):
                if at < 0:
                    break
                found = self._match(text, at)
                if found is not None:
                    return self._build(found, text[:at])
                at = text.rfind(head, 0, at + len(head) - 1)
        return None

    def _compile(self) -> Any:
        compiled = re.compile(self.pattern.encode())
        groups = compiled.groupindex
        self._plan = tuple((groups[g] - 1, name, CONVERT[kind]) for name, g, kind in self.fields if g in groups)
        return compiled.match

    def _build(self, found: re.Match[bytes], before: bytes) -> Match:
        groups = found.groups()
        return Match(
            self,
            {name: convert(raw) for index, name, convert in self._plan if (raw := groups[index]) is not None},
            before,
        )


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

    def __init__(self, grammars: Iterable[str]) -> None:
        self.rules: list[Rule] = []
        for grammar in grammars:
            module = import_module(f"loganalyze.grammar.derived.{grammar}")
            self.rules.extend(Rule(grammar, spec) for spec in module.RULES)
        self._by_literal: dict[bytes, list[int]] = {}
        for index, rule in enumerate(self.rules):
            for literal in rule.literals:
                self._by_literal.setdefault(literal, []).append(index)
        self._short = [x for x in self._by_literal if len(x) < GRAM]
        self._by_gram = _grams([x for x in self._by_literal if len(x) >= GRAM])
        self._grams = frozenset(self._by_gram)
        self._shapes: dict[bytes, Rule] = {}
        self._refused: set[bytes] = set()

    @property
    def literals(self) -> tuple[bytes, ...]:
        """Pre-selection literals, shortest cover: one that contains another is dropped."""
        kept: dict[bytes, list[bytes]] = {}
        found: list[bytes] = []
        for literal in sorted(self._by_literal, key=lambda x: (len(x), x)):
            starts = [literal[i : i + MIN_LITERAL] for i in range(len(literal) - MIN_LITERAL + 1)]
            if not any(other in literal for start in starts for other in kept.get(start, ())):
                kept.setdefault(literal[:MIN_LITERAL], []).append(literal)
                found.append(literal)
        return tuple(found)

    def match(self, text: bytes) -> Match | None:
        """The first rule that takes ``text``, or None."""
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
        for index in self._candidates(text):
            found = self.rules[index].match(text)
            if found is not None:
                if len(self._shapes) >= MAX_SHAPES:
                    self._shapes.clear()
                self._shapes[shape] = self.rules[index]
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


def _grams(literals: list[bytes]) -> dict[bytes, list[bytes]]:
    """Literals by one of their grams, the one that fewest literals share."""
    counts: dict[bytes, int] = {}
    for literal in literals:
        for gram in {literal[i : i + GRAM] for i in range(len(literal) - GRAM + 1)}:
            counts[gram] = counts.get(gram, 0) + 1
    found: dict[bytes, list[bytes]] = {}
    for literal in literals:
        own = [literal[i : i + GRAM] for i in range(len(literal) - GRAM + 1)]
        found.setdefault(min(own, key=lambda gram: counts[gram]), []).append(literal)
    return found

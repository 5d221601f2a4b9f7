"""Derive a regular expression, field types and literals from a Lark grammar. Needs Lark: build and test time only."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from lark import Lark, Token, Tree
from lark.grammar import NonTerminal, Terminal
from lark.load_grammar import load_grammar

from loganalyze.grammar.match import CHOICE, MAYBE, REPEAT
from loganalyze.grammar.source import RuleNotes, grammar_dir, grammar_text, notes

TYPES = {"INT": "int", "INT_COMMA": "int_comma", "FLOAT": "float", "DECIMAL": "decimal", "NUMBER": "number"}
MIN_LITERAL = 3
KEYS = ("name", "parts", "fields", "literals", "anywhere", "heads", "since", "until")


class GrammarError(Exception):
    """A grammar breaks a convention of ``loganalyze.grammar``."""


def derive(name: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Specs of every line rule of ``grammars/<name>.lark``, in file order, and the terminals they refer to."""
    text = grammar_text(name)
    rule_notes = notes(text)
    if not rule_notes:
        return [], ()
    deriver = _Deriver(name, text, list(rule_notes))
    specs = [deriver.spec(note) for note in rule_notes.values()]
    return specs, tuple(deriver.used)


class _Deriver:
    def __init__(self, name: str, text: str, starts: list[str]) -> None:
        self.name = name
        path = str(grammar_dir() / f"{name}.lark")
        grammar, _ = load_grammar(text, path, [str(grammar_dir())], False)  # type: ignore[no-untyped-call]
        self.rules: dict[str, Tree[Any]] = {str(r[0]): r[2] for r in grammar.rule_defs}
        lark = Lark(
            text, start=starts, parser="earley", lexer="dynamic", source_path=path, import_paths=[str(grammar_dir())]
        )
        self.terminals = {t.name: t.pattern.to_regexp() for t in lark.terminals}
        self.used: dict[str, int] = {}
        """Regular expressions of terminals, numbered as they are met."""
        self.groups: dict[str, int] = {}
        self.fields: list[tuple[str, str, str]] = []

    def spec(self, note: RuleNotes) -> dict[str, Any]:
        if note.name not in self.rules:
            raise GrammarError(f"{self.name}: no rule {note.name}")
        self.groups, self.fields = {}, []
        tree = self.rules[note.name]
        parts = self.parts(tree, (note.name,))
        literals = note.literals or sorted(self.literals(tree, (note.name,)) or ())
        heads = sorted(self.first_strings(tree) or ()) if note.anywhere else []
        if note.anywhere and not heads:
            raise GrammarError(f"{self.name}.{note.name}: an 'anywhere' rule must start with a string")
        if not literals:
            raise GrammarError(f"{self.name}.{note.name}: no literal is in every line; add '// literal:'")
        return {
            "name": note.name,
            "parts": parts,
            "fields": tuple(self.fields),
            "literals": tuple(x.encode() for x in literals),
            "anywhere": note.anywhere,
            "heads": tuple(x.encode() for x in heads),
            "since": note.since,
            "until": note.until,
        }

    def parts(self, node: Any, path: tuple[str, ...]) -> tuple[Any, ...]:
        if node.data in ("expansions", "alias"):
            children = node.children if node.data == "expansions" else node.children[:1]
            found = [self.parts(c, path) for c in children]
            return found[0] if len(found) == 1 else ((CHOICE, *found),)
        if node.data == "expansion":
            return tuple(part for c in node.children for part in self.parts(c, path))
        if node.data == "maybe":
            return ((MAYBE, *self.parts(node.children[0], path)),)
        if node.data == "expr":
            return self.repeat(node, path)
        return self.atom(node.children[0], path)

    def repeat(self, node: Tree[Any], path: tuple[str, ...]) -> tuple[Any, ...]:
        inner, op = node.children[0], str(node.children[1])
        if op != "?" and not self.first_strings(inner) and not self.is_atomic(inner):
            # A repeat over anything else can match the same blanks in many ways and go super-linear.
            raise GrammarError(f"{self.name}.{path[0]}: '{op}' only over a group that starts with a string")
        if len(node.children) > 2 or op == "~":
            low, high = str(node.children[2]), str(node.children[-1])
            op = f"{{{low},{high}}}"
        return ((MAYBE, *self.parts(inner, path)),) if op == "?" else ((REPEAT, op, *self.parts(inner, path)),)

    def first_strings(self, node: Any) -> set[str] | None:
        """The strings of which one starts every text of ``node``; None when it may start with something else."""
        if isinstance(node, NonTerminal):
            return self.first_strings(self.rules[str(node.name)])
        if not isinstance(node, Tree):
            return None
        if node.data == "literal":
            text = _string(node.children[0])
            return {text} if text else None
        if node.data == "expansions":
            sets = [self.first_strings(c) for c in node.children]
            return None if not all(sets) else set().union(*(s for s in sets if s))
        if node.data in ("expansion", "value", "alias"):
            return self.first_strings(node.children[0])
        return None

    def is_atomic(self, node: Any) -> bool:
        """True when every way through ``node`` is one terminal."""
        if isinstance(node, NonTerminal):
            return self.is_atomic(self.rules[str(node.name)])
        if isinstance(node, Terminal):
            return True
        if node.data in ("expansions", "expansion", "value"):
            return len(node.children) > 0 and all(self.is_atomic(c) for c in node.children)
        return False

    def atom(self, value: Any, path: tuple[str, ...]) -> tuple[Any, ...]:
        if isinstance(value, Tree):
            return self.parts(value, path) if value.data != "literal" else (self.literal(value.children[0]),)
        if isinstance(value, Terminal):
            return (self.terminal(_atomic(self.terminals[value.name])),)
        name = str(value.name)
        if name in path:
            raise GrammarError(f"{self.name}.{path[0]}: rule {name} is recursive; line shapes must be regular")
        inner = self.parts(self.rules[name], (*path, name))
        return inner if name.startswith("_") else (self.field(name, inner),)

    def field(self, name: str, inner: tuple[Any, ...]) -> tuple[Any, ...]:
        count = self.groups[name] = self.groups.get(name, 0) + 1
        group = name if count == 1 else f"{name}__{count}"
        self.fields.append((name, group, self.kind(name)))
        return (group, *inner)

    def literal(self, token: Any) -> bytes | int:
        text = _string(token)
        return text.encode() if text is not None else self.terminal(_literal_regex(token))

    def terminal(self, regex: str) -> int:
        """Index of ``regex`` in ``TERMINALS``."""
        return self.used.setdefault(regex, len(self.used))

    def kind(self, name: str) -> str:
        node: Any = self.rules[name]
        while isinstance(node, Tree) and len(node.children) == 1:
            node = node.children[0]
        terminal = str(getattr(node, "name", ""))
        return TYPES.get(terminal.rsplit("__", 1)[-1], "str")

    def literals(self, node: Any, path: tuple[str, ...]) -> set[str] | None:
        """Strings of which one is in every line: the best of a sequence, the union of alternatives."""
        if isinstance(node, Tree):
            if node.data == "literal":
                text = _string(node.children[0])
                return {text} if text and len(text.encode()) >= MIN_LITERAL else None
            if node.data == "expansions" and len(node.children) > 1:
                sets = [self.literals(c, path) for c in node.children]
                return None if any(s is None for s in sets) else set().union(*(s for s in sets if s))
            if node.data == "maybe" or (node.data == "expr" and str(node.children[1]) in "?*"):
                return None
            options = [s for s in (self.literals(c, path) for c in node.children) if s]
            return max(options, key=lambda s: (-len(s), min(map(len, s))), default=None)
        if isinstance(node, NonTerminal) and node.name not in path:
            return self.literals(self.rules[str(node.name)], (*path, str(node.name)))
        return None


def _string(token: Any) -> str | None:
    if isinstance(token, Token) and token.type == "STRING" and not token.endswith("i"):
        return str(ast.literal_eval(str(token)))
    return None


def _literal_regex(token: Any) -> str:
    text = str(token)
    if token.type == "STRING":
        return "(?i:" + re.escape(str(ast.literal_eval(text[:-1]))) + ")"
    body, flags = text[1:].rsplit("/", 1)
    return _atomic(f"(?{flags}:{body})" if flags else body)


def _atomic(pattern: str) -> str:
    return f"(?>{pattern})"


def write(name: str, folder: Path) -> Path:
    """Write the derived module of grammar ``name`` into ``folder``."""
    path = folder / f"{name}.py"
    path.write_text(render(name), encoding="utf-8", newline="\n")
    return path


def render(name: str) -> str:
    """Source text of the derived module."""
    rows = [f"# Derived from grammars/{name}.lark by `python -m loganalyze.grammar.build`; do not edit."]
    rows += ["# ruff: noqa", "", f"# {', '.join(KEYS)}", "RULES: tuple[object, ...] = ("]
    specs, terminals = derive(name)
    for spec in specs:
        # Constants alone: Python stores them ready made in the compiled module.
        rows.append("    (")
        rows += [f"        {spec[key]!r}," for key in KEYS]
        rows.append("    ),")
    rows += [")", "TERMINALS: tuple[str, ...] = (", *(f"    {regex!r}," for regex in terminals), ")"]
    return "\n".join(rows) + "\n"

"""Every regular expression of the package, with how it is used."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import loganalyze

ROOT = Path(loganalyze.__file__).resolve().parent
_CALLS = ("compile", "match", "search", "sub", "subn", "split", "findall", "finditer", "fullmatch")
_ANYWHERE = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})


@dataclass(frozen=True)
class Pattern:
    """``search``: the package looks for it anywhere in a text. ``place``: file and line, or rule."""

    text: str | bytes
    flags: int
    search: bool
    place: str


@cache
def written() -> tuple[tuple[Pattern, ...], tuple[str, ...]]:
    """Patterns in the source, and places of calls whose pattern is not known before the program runs."""
    names = [m.name for m in pkgutil.walk_packages(loganalyze.__path__, "loganalyze.") if "__main__" not in m.name]
    trees = {n: ast.parse(_file(n).read_text(encoding="utf-8")) for n in names if "grammar.derived" not in n}
    everywhere = _uses(trees.values())
    found: list[Pattern] = []
    unknown: list[str] = []
    for name, tree in trees.items():
        space = vars(importlib.import_module(name))
        inside = _uses([tree])
        for node, owner in _calls(tree):
            place = f"{name}:{node.lineno}"
            try:
                text, flags = _value(node, space)
            except Exception:
                unknown.append(f"{name}:{_function(tree, node)}")
                continue
            how = node.func.attr if isinstance(node.func, ast.Attribute) else "Lazy"
            used = inside if (owner or "").startswith("_") else everywhere
            unclear = how in ("compile", "Lazy") and (owner is None or bool(used.get(owner, set()) & _ANYWHERE))
            search = how in _ANYWHERE or unclear
            found.append(Pattern(text, flags, search, place))
    return tuple(found), tuple(sorted(set(unknown)))


@cache
def derived() -> tuple[Pattern, ...]:
    """Patterns of all rules and of the terminals they are made of."""
    from loganalyze.grammar import Matcher
    from loganalyze.grammar.source import grammar_names

    found = {}
    for name in grammar_names():
        for rule in Matcher([name]).rules:
            found[rule.full] = Pattern(rule.pattern.encode(), 0, False, rule.full)
    return tuple(found.values())


@cache
def tables() -> tuple[Pattern, ...]:
    """Patterns of the tables of hardware and of models."""
    from loganalyze.physics import tables as module

    cards = [v for v in vars(module).values() if callable(v) and getattr(v, "__name__", "") == "gpus"]
    rows: Any = cards[0]() if cards else ()
    return tuple(Pattern(row.regex, int(re.IGNORECASE), True, f"table of cards: {row.name}") for row in rows)


def _file(name: str) -> Path:
    path = ROOT.parent / Path(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _calls(tree: ast.AST) -> list[tuple[ast.Call, str | None]]:
    """Calls that make or use a pattern, with the name that the result gets."""
    owners: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and node.value is not None:
                for inner in ast.walk(node.value):
                    if isinstance(inner, ast.Call):
                        owners[id(inner)] = target.id
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            func = node.func
            plain = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "re"
            if (plain and func.attr in _CALLS) or (isinstance(func, ast.Name) and func.id in ("Lazy", "lazy_pattern")):
                found.append((node, owners.get(id(node))))
    return found


def _value(node: ast.Call, space: dict[str, Any]) -> tuple[str | bytes, int]:
    def evaluated(part: ast.expr) -> Any:
        return eval(compile(ast.Expression(part), "pattern", "eval"), dict(space))

    text = evaluated(node.args[0])
    if not isinstance(text, str | bytes):
        raise TypeError
    compiles = isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and node.func.attr == "compile")
    flags = [k.value for k in node.keywords if k.arg == "flags"] + (node.args[1:2] if compiles else [])
    return text, int(evaluated(flags[0])) if flags else 0


def _uses(trees: Any) -> dict[str, set[str]]:
    """Methods called on each name, and on what loops over it go through."""
    used: dict[str, set[str]] = {}
    loops: list[tuple[str, str]] = []
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                name = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", None)
                if name:
                    used.setdefault(name, set()).add(node.attr)
            if isinstance(node, ast.For | ast.comprehension):
                inside = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
                over = [
                    n.id if isinstance(n, ast.Name) else n.attr
                    for n in ast.walk(node.iter)
                    if isinstance(n, ast.Name | ast.Attribute)
                ]
                loops += [(o, i) for o in over for i in inside]
    for over, inside in loops:
        used.setdefault(over, set()).update(used.get(inside, set()))
    return used


def _function(tree: ast.AST, call: ast.Call) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(inner is call for inner in ast.walk(node)):
            return node.name
    return "?"

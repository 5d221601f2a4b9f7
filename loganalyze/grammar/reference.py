"""Parse a line with Lark itself: the reference that the derived matchers are tested against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from lark import Lark, Tree
from lark.exceptions import LarkError

from loganalyze.grammar.derive import derive
from loganalyze.grammar.match import CONVERT
from loganalyze.grammar.source import grammar_dir, grammar_text, notes


@cache
def _parser(grammar: str) -> Lark:
    text = grammar_text(grammar)
    return Lark(
        text,
        start=list(notes(text)),
        parser="earley",
        lexer="dynamic",
        keep_all_tokens=True,
        propagate_positions=True,
        maybe_placeholders=False,
        g_regex_flags=re.ASCII,
        source_path=str(grammar_dir() / f"{grammar}.lark"),
        import_paths=[str(grammar_dir())],
    )


@cache
def _kinds(grammar: str) -> dict[tuple[str, str], str]:
    return {(spec["name"], name): kind for spec in derive(grammar)[0] for name, _, kind in spec["fields"]}


def parse(grammar: str, rule: str, line: str) -> dict[str, Any] | None:
    """Fields that Lark finds in ``line`` for ``rule``, typed like the derived matcher's; None if it has another shape."""
    try:
        tree = _parser(grammar).parse(line, start=rule)
    except LarkError:
        return None
    kinds = _kinds(grammar)
    found: dict[str, Any] = {}
    nodes = cast("Iterator[Tree[Any]]", tree.iter_subtrees_topdown())  # type: ignore[no-untyped-call]
    for node in nodes:
        name = str(node.data)
        if node is not tree and not name.startswith("_"):
            raw = line[node.meta.start_pos : node.meta.end_pos].encode()
            found[name] = CONVERT[kinds[rule, name]](raw)
    return found

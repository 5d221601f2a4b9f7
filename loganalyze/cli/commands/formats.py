"""``loganalyze formats``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import common
from loganalyze.errors import UsageError


def run(values: dict[str, Any]) -> int:
    """List formats, or the line shapes of the grammars named."""
    from loganalyze.grammar.source import grammar_names, grammar_text, notes

    known = grammar_names()
    wanted = values["paths"]
    for name in wanted:
        if name not in known:
            raise UsageError(f"no grammar is called {name}", remedy="Known: " + ", ".join(known))
    rules = {name: list(notes(grammar_text(name)).values()) for name in wanted or known}
    if values["format"] == "json":
        import json

        common.out(json.dumps({name: [_rule(r) for r in found] for name, found in rules.items()}, indent=1))
        return 0
    for name, found in rules.items():
        if not wanted:
            common.out(f"{name:<20} {len(found):>4} line shapes   {_about(name)}")
            continue
        for rule in found:
            span = " ".join(
                x for x in (rule.since and f"since {rule.since}", rule.until and f"until {rule.until}") if x
            )
            common.out(f"{name}.{rule.name}" + (f"  ({span})" if span else ""))
            for sample in rule.samples:
                common.out(f"    {sample}")
    return 0


def _about(name: str) -> str:
    from loganalyze.grammar.source import grammar_text

    first = grammar_text(name).split("\n", 1)[0]
    return first.removeprefix("//").strip() if first.startswith("//") else ""


def _rule(rule: Any) -> dict[str, Any]:
    return {"rule": rule.name, "since": rule.since, "until": rule.until, "samples": rule.samples}

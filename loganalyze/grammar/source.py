"""Find grammar files and read the comments above their rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_KEY = re.compile(r"//\s*(since|until|sample|literal|anywhere)\b(?::\s?(.*))?$")
_RULE = re.compile(r"([?!]?)([a-z_][a-z0-9_]*)(?:\.-?\d+)?\s*:")


@dataclass(slots=True)
class RuleNotes:
    """Comments of one line rule."""

    name: str
    since: str | None = None
    until: str | None = None
    samples: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    anywhere: bool = False


def grammar_dir() -> Path:
    """Folder of the ``.lark`` files: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "grammars"
    return inside if inside.is_dir() else package.parent / "grammars"


def grammar_names() -> list[str]:
    """Names of all grammars that hold line rules."""
    return sorted(p.stem for p in grammar_dir().glob("*.lark") if "// sample:" in p.read_text(encoding="utf-8"))


def grammar_text(name: str) -> str:
    """Text of ``grammars/<name>.lark``."""
    return (grammar_dir() / f"{name}.lark").read_text(encoding="utf-8")


def notes(text: str) -> dict[str, RuleNotes]:
    """Comments of every line rule in a grammar text, in file order."""
    found: dict[str, RuleNotes] = {}
    pending = RuleNotes("")
    for line in text.splitlines():
        key = _KEY.match(line)
        if key:
            _take(pending, key.group(1), key.group(2) or "")
            continue
        rule = _RULE.match(line)
        if rule and pending.samples:
            pending.name = rule.group(2)
            found[pending.name] = pending
        if line.strip() and not line.startswith("//"):
            pending = RuleNotes("")
    return found


def _take(pending: RuleNotes, key: str, value: str) -> None:
    if key == "sample":
        pending.samples.append(value)
    elif key == "literal":
        pending.literals.append(value)
    elif key == "anywhere":
        pending.anywhere = True
    elif key == "since":
        pending.since = value
    else:
        pending.until = value

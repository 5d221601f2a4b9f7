"""What can be read, and what of a source was: data of the commands ``formats`` and ``check``."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module

from loganalyze.formats import CAPTURE_FORMATS, LOG_FORMATS
from loganalyze.grammar.source import grammar_text, notes
from loganalyze.model.records import Source


@dataclass(slots=True)
class RuleInfo:
    """One line shape. ``since`` and ``until`` name builds, versions or dates as the grammar does."""

    format: str
    grammar: str
    rule: str
    since: str | None
    until: str | None
    samples: list[str] = field(default_factory=list)

    @property
    def full(self) -> str:
        """Name under which hits are counted in ``Source.rule_hits``."""
        return f"{self.grammar}.{self.rule}"


@dataclass(slots=True)
class Check:
    """What was made of one source. ``rules`` holds ``(rule, hits)``, most frequent first."""

    path: str
    format: str | None
    dialect: str | None
    lines: int
    matched: int
    unmatched: int
    skipped: int
    rules: list[tuple[str, int]]
    unread: list[tuple[int, str]]
    notes: list[str]


def formats() -> list[RuleInfo]:
    """Every line shape of every format, in the order they are tried."""
    found: list[RuleInfo] = []
    seen: set[str] = set()
    for name in (*LOG_FORMATS, *CAPTURE_FORMATS):
        module = import_module(f"loganalyze.formats.{name}")
        for grammar in module.GRAMMARS:
            if grammar not in seen:
                seen.add(grammar)
                found += _rules(module.NAME, grammar)
    return found


def _rules(name: str, grammar: str) -> list[RuleInfo]:
    rules = notes(grammar_text(grammar)).values()
    return [RuleInfo(name, grammar, r.name, r.since, r.until, list(r.samples)) for r in rules]


def check(source: Source) -> Check:
    """Summary of a source that was read."""
    rules = sorted(source.rule_hits.items(), key=lambda item: (-item[1], item[0]))
    return Check(
        source.path,
        source.format,
        source.dialect,
        source.lines,
        source.matched,
        source.unmatched,
        source.skipped,
        rules,
        list(source.unread),
        list(source.notes),
    )

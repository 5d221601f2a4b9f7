"""Read one log: candidate lines -> rules -> handlers -> runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from loganalyze.formats import LOG_FORMATS
from loganalyze.formats.base import Handler, LogState
from loganalyze.grammar import Matcher
from loganalyze.model.records import Run, Source
from loganalyze.scan import scan

MAX_UNREAD = 50
_MATCHERS: dict[tuple[str, ...], Matcher] = {}


def read_log(opened: Any, source: Source) -> list[Run]:
    """Runs in ``opened``; fills the counts, the dialect and the format of ``source``."""
    modules = [import_module(f"loganalyze.formats.{name}") for name in LOG_FORMATS]
    grammars = tuple(dict.fromkeys(g for m in modules for g in m.GRAMMARS))
    matcher = _MATCHERS.get(grammars) or _MATCHERS.setdefault(grammars, Matcher(grammars))
    state = LogState(source)
    handlers: dict[str, Handler] = {}
    owner = {g: m.NAME for m in modules for g in m.GRAMMARS}
    for module in modules:
        handlers.update(module.handlers(state))
    scanner = scan(opened, matcher.literals)
    state.scanner = scanner
    hits = source.rule_hits
    numbers_unmatched = 0
    formats: dict[str, int] = {}
    for line in scanner:
        match = matcher.match(line.text)
        if match is None:
            numbers_unmatched += 1
            if len(source.unread) < MAX_UNREAD:
                source.unread.append((line.number, line.str[:500]))
            continue
        rule = match.rule
        name = f"{rule.grammar}.{rule.name}"
        hits[name] = hits.get(name, 0) + 1
        state.at(line)
        state.before = match.before
        handler = handlers.get(name)
        if handler is not None:
            handler(match.fields, line)
            formats[owner[rule.grammar]] = formats.get(owner[rule.grammar], 0) + 1
    runs = state.finish()
    source.unmatched = min(numbers_unmatched, scanner.delivered)
    source.matched = scanner.delivered - source.unmatched
    source.skipped = source.lines - source.matched - source.unmatched
    if formats:
        source.format = max(formats, key=lambda f: formats[f])
    return runs

"""Read a log with chosen format modules only: no scan room, so that a test of handlers depends on nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from loganalyze.formats.base import LogState
from loganalyze.grammar.match import Matcher
from loganalyze.model.records import Source

PREFIX = re.compile(rb"(\d+)\.(\d\d)\.(\d\d\d)\.(\d\d\d) ([IWEDT]) ")
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
LOAD = ("llama_command", "llama_load", "llama_trouble", "llama_limits", "system_trouble")


@dataclass
class Line:
    number: int
    text: bytes
    t_s: float | None = None
    epoch_s: float | None = None
    zone: str | None = None
    level: str | None = None
    wrap: Any = None

    @property
    def str(self) -> str:
        return self.text.decode("utf-8", "replace")


@dataclass
class Wrap:
    host: str | None = None
    process: str | None = None
    pid: int | None = None
    port: int | None = None
    container: str | None = None


def peel(number: int, raw: bytes) -> Line:
    text = COLOUR.sub(b"", raw.rstrip(b"\r\n"))
    if text.startswith(b'{"type":"log"'):
        text = json.loads(text)["msg"].rstrip("\n").encode()
    found = PREFIX.match(text)
    if found is None:
        return Line(number, text)
    minutes, seconds, milli, micro = (int(group) for group in found.groups()[:4])
    return Line(number, text[found.end() :], minutes * 60 + seconds + milli / 1e3 + micro / 1e6)


def read(text: bytes | str | Path, modules: tuple[str, ...] = LOAD, path: str = "run.log") -> LogState:
    """State after reading ``text`` with the format ``modules``; ``source.unread`` holds what no rule took."""
    raw = text.read_bytes() if isinstance(text, Path) else text.encode() if isinstance(text, str) else text
    state = LogState(Source(path))
    formats = [import_module(f"loganalyze.formats.{name}") for name in modules]
    handlers = {name: fn for module in formats for name, fn in module.handlers(state).items()}
    matcher = Matcher([grammar for module in formats for grammar in module.GRAMMARS])
    literals = matcher.literals
    for number, line_text in enumerate(raw.split(b"\n"), 1):
        line = peel(number, line_text)
        if not any(literal in line.text for literal in literals):
            continue
        found = matcher.match(line.text)
        if found is None:
            state.source.unread.append((number, line.str))
            continue
        state.at(line)
        handler = handlers.get(found.rule.full)
        if handler is not None:
            handler(found.fields, line)
    state.finish()
    return state

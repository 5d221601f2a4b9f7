"""Write ``loganalyze/formats/log_index.py``: what reading a log needs to know of formats before it meets their lines.

Part of ``python -m loganalyze.grammar.build``. The index holds the literals of all log grammars and the rules they stand
for, and which format modules listen to which rule, so that grammars and modules are loaded for the lines there are.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from loganalyze.formats import LOG_FORMATS
from loganalyze.formats.base import LogState
from loganalyze.grammar.match import Index
from loganalyze.model.records import Source

PATH = Path(__file__).resolve().parent.parent / "formats" / "log_index.py"


def render() -> str:
    """Source text of the index."""
    modules: dict[str, Any] = {name: import_module(f"loganalyze.formats.{name}") for name in LOG_FORMATS}
    owners: dict[str, str] = {}
    listeners: dict[str, tuple[str, ...]] = {}
    for name, module in modules.items():
        for grammar in module.GRAMMARS:
            owners.setdefault(grammar, module.NAME)
        for rule in module.handlers(LogState(Source(path=""))):
            listeners[rule] = (*listeners.get(rule, ()), name)
    index = Index(owners)
    rows = [
        "# Derived from the log grammars and formats by `python -m loganalyze.grammar.build`; do not edit.",
        "# ruff: noqa",
    ]
    rows += [
        "",
        "# grammar -> name of the format it belongs to, in the order in which rules are tried",
        *_table("OWNERS", owners, "str"),
    ]
    rows += ["# rule -> modules that have a handler for it", *_table("LISTENERS", listeners, "tuple[str, ...]")]
    rows += ["# rules of each grammar", f"COUNTS: tuple[int, ...] = {index.COUNTS!r}"]
    rows += [
        "# literal -> rules, counted through all grammars",
        *_table("LITERALS", index.LITERALS, "tuple[int, ...]", "bytes"),
    ]
    rows += ["# four bytes -> literals that hold them", *_table("GRAMS", index.GRAMS, "tuple[bytes, ...]", "bytes")]
    rows += [f"SHORT: tuple[bytes, ...] = {index.SHORT!r}"]
    rows += [
        "# literals by which lines are chosen",
        "COVER: tuple[bytes, ...] = (",
        *(f"    {x!r}," for x in index.COVER),
        ")",
    ]
    return "\n".join(rows) + "\n"


def _table(name: str, rows: dict[Any, Any], values: str, keys: str = "str") -> list[str]:
    return [f"{name}: dict[{keys}, {values}] = {{", *(f"    {key!r}: {value!r}," for key, value in rows.items()), "}"]

"""Text of ``explain``: the sections of one verdict or cause, or the list of all."""

from __future__ import annotations

import textwrap

from loganalyze.verdict import explain as texts


def render(name: str, width: int) -> str:
    """Sections of ``name``. Raises UsageError with near matches for an unknown name."""
    entry = texts.explain(name)
    head = entry.name if entry.kind == "verdict" else f"{entry.name} (cause, leads to: {entry.verdict})"
    out = [head]
    for title, text in entry.sections():
        out += ["", title, *textwrap.wrap(text, max(width, 40) - 2, initial_indent="  ", subsequent_indent="  ")]
    return "\n".join(out)


def overview(width: int) -> str:
    """Every verdict with its causes."""
    groups: dict[str, list[str]] = {}
    for name in texts.names():
        entry = texts.explain(name)
        groups.setdefault(entry.verdict, [])
        if entry.kind == "cause":
            groups[entry.verdict].append(name)
    out = []
    for verdict, causes in groups.items():
        out += [verdict, *textwrap.wrap(", ".join(causes), max(width, 40), initial_indent="  ", subsequent_indent="  ")]
    return "\n".join([*out, "", "More on one: loganalyze explain NAME"])

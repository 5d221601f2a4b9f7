"""Lines of a given width on a terminal, where wide East Asian characters take two columns."""

from __future__ import annotations


def columns(text: str) -> int:
    """Columns that ``text`` takes; combining marks take none."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, with an ellipsis where something was cut."""
    if columns(text) <= width:
        return text
    kept = text[: max(0, width - 1)]
    while kept and columns(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """``text`` broken at blanks into lines that begin with ``first`` and then ``rest`` (blanks by default).

    A word longer than a line stays whole, so that a path or command can be copied.
    """
    rest = " " * columns(first) if rest is None else rest
    out, line, empty = [], first, True
    for word in text.split():
        if not empty and columns(line) + 1 + columns(word) > width:
            out.append(line)
            line, empty = rest, True
        line += word if empty else f" {word}"
        empty = False
    return [*out, line]

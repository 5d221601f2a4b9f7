"""Makes text from logs inert before it reaches a terminal, Markdown, HTML, SVG or a spreadsheet.

Nothing is dropped silently: what a terminal could act on or a reader could not see becomes a visible escape such
as ``\\x1b`` or ``\\u202e``.
"""

from __future__ import annotations

import re

from loganalyze.inert import cell, terminal
from loganalyze.light import lazy_pattern

__all__ = ["ascii_only", "cell", "code", "fenced", "lines", "markdown", "terminal"]

_MARKDOWN = lazy_pattern(r"[\\`*_\[\]|~]|(?<![^ ])#|&|<|>")
_LINKED = lazy_pattern(r"[@$]|:/|www\.|#\d|GH-\d|![\[(]", re.IGNORECASE)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_RUNS_OF_TICKS = lazy_pattern(r"`+")


def lines(text: str) -> list[str]:
    """Lines of ``text``, each made inert by `terminal`."""
    return [terminal(line) for line in text.replace("\r\n", "\n").split("\n")]


def ascii_only(text: str) -> str:
    """``text`` for a terminal without UTF-8: known signs spelled out, anything else as an escape."""
    if text.isascii():
        return text
    return text.translate(_SPELLED).encode("ascii", "backslashreplace").decode("ascii")


def markdown(text: str) -> str:
    """``text`` as literal Markdown prose: no HTML, link, image, mention, mathematics, table cell or emphasis.

    Words that GitHub turns into links, mentions or mathematics after parsing (addresses, ``@name``, ``#12``, ``$x$``)
    become code spans, since it looks for them in everything else, entities and escapes included.
    """
    return " ".join(_markdown_word(word) for word in terminal(text).split(" "))


def code(text: str) -> str:
    """``text`` as a Markdown code span that its own backticks cannot close; usable in a table cell."""
    text = terminal(text).replace("|", "\\|")
    if not text.strip():
        return ""
    ticks = "`" * (1 + max((len(run) for run in _RUNS_OF_TICKS.findall(text)), default=0))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(block: list[str], language: str = "") -> list[str]:
    """Markdown lines of a fenced code block that nothing inside can close."""
    inert = [terminal(line) for line in block]
    longest = max((len(run) for line in inert for run in _RUNS_OF_TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *inert, fence]


def _markdown_word(word: str) -> str:
    if _LINKED.search(word):
        return code(word)
    return _MARKDOWN.sub(lambda m: _ENTITIES.get(m.group(), "\\" + m.group()), word)


_SPELLED = str.maketrans(
    {
        "·": "-", "•": "*", "→": "->", "←": "<-", "…": "...", "×": "x", "≥": ">=", "≤": "<=", "≈": "~", "±": "+/-",
        "–": "-", "—": "-", "−": "-", "°": " deg ", "µ": "u", "’": "'", "‘": "'", "“": '"', "”": '"', "\xa0": " ",
        "█": "#", "▓": "=", "▒": "-", "░": ".", "─": "-",
    }
)  # fmt: skip

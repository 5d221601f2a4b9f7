"""Makes text from logs inert before it reaches a terminal, Markdown, HTML, SVG or a spreadsheet.

Nothing is dropped silently: what a terminal could act on or a reader could not see becomes a visible escape such
as ``\\x1b`` or ``\\u202e``.
"""

from __future__ import annotations

import re

# C0, DEL and C1 controls; soft hyphen; Arabic letter mark; zero-width and direction marks; line and paragraph
# separators; embeddings, overrides and isolates; invisible operators; interlinear marks; the byte order mark;
# surrogates (no encoding takes them); tag characters and the supplementary variation selectors.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MARKS = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4,}")
_MARKDOWN = re.compile(r"[\\`*_\[\]|~$]|(?<![^ ])#|&|<|>")
_LINKED = re.compile(r"@|:/|www\.|#\d|GH-\d|![\[(]", re.IGNORECASE)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_RUNS_OF_TICKS = re.compile(r"`+")
_FORMULA = re.compile(r"[\s'\"]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def terminal(text: str) -> str:
    """``text`` on one line with every control, direction and invisible character as a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _MARKS.sub(_first_marks, _UNSAFE.sub(_escape, text.replace("\t", " ")))


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

    Words that GitHub turns into links or mentions after parsing (addresses, ``@name``, ``#12``) become code spans,
    since it looks for them in everything else, entities included.
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


def cell(value: object) -> str:
    """``value`` as a CSV or TSV cell: empty when unknown, never a formula, always on one line."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = terminal(str(value))
    return f"'{text}" if _FORMULA.match(text) else text


def _markdown_word(word: str) -> str:
    if _LINKED.search(word):
        return code(word)
    return _MARKDOWN.sub(lambda m: _ENTITIES.get(m.group(), "\\" + m.group()), word)


def _escape(match: re.Match[str]) -> str:
    point = ord(match.group())
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _first_marks(match: re.Match[str]) -> str:
    """Three stacked accents are writing; more of them climb over the neighbouring lines."""
    found = match.group()
    return found[:3] + f"\\u{{{len(found) - 3} marks}}"


_SPELLED = str.maketrans(
    {
        "·": "-", "•": "*", "→": "->", "←": "<-", "…": "...", "×": "x", "≥": ">=", "≤": "<=", "≈": "~", "±": "+/-",
        "–": "-", "—": "-", "−": "-", "°": " deg ", "µ": "u", "’": "'", "‘": "'", "“": '"', "”": '"', "\xa0": " ",
        "█": "#", "▓": "=", "▒": "-", "░": ".", "─": "-",
    }
)  # fmt: skip

"""Text from logs made inert, for every room: one line that no terminal acts on, and cells that no spreadsheet runs.

Nothing is dropped silently: what a terminal could act on or a reader could not see becomes a visible escape such
as ``\\x1b`` or ``\\u202e``.
"""

from __future__ import annotations

import re

from loganalyze.light import lazy_pattern

# C0, DEL and C1 controls; soft hyphen; Arabic letter mark; zero-width and direction marks; line and paragraph
# separators; embeddings, overrides and isolates; invisible operators; interlinear marks; the byte order mark;
# surrogates (no encoding takes them); tag characters and the supplementary variation selectors.
_UNSAFE = lazy_pattern(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MARKS = lazy_pattern("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4,}")
_FORMULA = lazy_pattern(r"[\s'\"]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def terminal(text: str) -> str:
    """``text`` on one line with every control, direction and invisible character as a visible escape."""
    # Below U+0300 what is unsafe is not printable, and accents do not stack.
    if text.isprintable() and (text.isascii() or max(text) < "\u0300"):
        return text
    return _MARKS.sub(_first_marks, _UNSAFE.sub(_escape, text.replace("\t", " ")))


def cell(value: object) -> str:
    """``value`` as a CSV or TSV cell: empty when unknown, never a formula, always on one line."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = terminal(str(value))
    return f"'{text}" if _FORMULA.match(text) else text


def _escape(match: re.Match[str]) -> str:
    point = ord(match.group())
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _first_marks(match: re.Match[str]) -> str:
    """Three stacked accents are writing; more of them climb over the neighbouring lines."""
    found = match.group()
    return found[:3] + f"\\u{{{len(found) - 3} marks}}"

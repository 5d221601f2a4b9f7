"""What copying and logging do to a line, undone: Markdown marks inside it, an unknown prefix, a tail that was cut off.

Tried only on lines that hold a literal and match no rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from loganalyze.light import lazy_pattern

_MARKS = lazy_pattern(rb"\*\*|__|~~|`+|</?(?:b|i|u|code|strong|em|mark|pre|span)>")
_ENTITIES = ((b"&nbsp;", b" "), (b"&gt;", b">"), (b"&lt;", b"<"), (b"&quot;", b'"'), (b"&amp;", b"&"))
_SPACES = (b"\xc2\xa0", b"\xe2\x80\xaf", b"\xe3\x80\x80")
# Where llama.cpp's own text begins behind the prefix of a program that wraps its output.
_BEGIN = lazy_pattern(
    rb"[\]:>|-] {1,8}(?=(?:print_info: |load_tensors: |llm_load_|llama_[a-z_]{2,40}: |ggml_[a-z0-9_]{2,40}: "
    rb"|slot +[a-z_]{2,20}|srv +[a-z_]{2,20}|system_info: |(?:prompt eval|eval|total) time = ))"
)
# Longer lines are prose or data; repairing them costs more than it can give.
MAX_BYTES = 1000


def repaired(text: bytes) -> Iterator[bytes]:
    """Texts that ``text`` may have been, most likely first."""
    if len(text) > MAX_BYTES:
        return
    plain = _MARKS.sub(b"", text)
    for old, new in _ENTITIES:
        plain = plain.replace(old, new)
    for space in _SPACES:
        plain = plain.replace(space, b" ")
    plain = plain.strip(b" |")
    if plain != text:
        yield plain
    begin = _BEGIN.search(plain)
    if begin is not None:
        yield plain[begin.end() :]
    opened = plain.rfind(b"(")
    if opened > 0 and b")" not in plain[opened:]:
        yield plain[:opened].rstrip()

"""What copying does to a line, undone: Markdown marks inside it, a tail that was cut off.

Tried only on lines that hold a literal and match no rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARKS = re.compile(rb"\*\*|__|~~|`+|</?(?:b|i|u|code|strong|em|mark|pre|span)>")
_ENTITIES = ((b"&nbsp;", b" "), (b"&gt;", b">"), (b"&lt;", b"<"), (b"&quot;", b'"'), (b"&amp;", b"&"))
_SPACES = (b"\xc2\xa0", b"\xe2\x80\xaf", b"\xe3\x80\x80")
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
    opened = plain.rfind(b"(")
    if opened > 0 and b")" not in plain[opened:]:
        yield plain[:opened].rstrip()

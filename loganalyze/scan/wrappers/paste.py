"""What pasting into an issue, a chat or a mail puts around lines."""

from __future__ import annotations

from loganalyze.scan.wrappers.told import Lazy, Told

_QUOTE = Lazy(rb"(?:> ?)+")
_EDITOR = Lazy(rb"[0-9]{1,7}(?:: ?| ?\| ?|\t)")


def peel_quote(text: bytes, told: Told) -> bytes | None:
    """``> `` of a mail or Markdown, nested too; ``>>>`` is an interpreter's prompt."""
    if text.startswith(b">>>") and text[3:4] != b">":
        return None
    found = _QUOTE.match(text)
    told.kinds.append("quote")
    return text[found.end() :] if found else None


def peel_less(text: bytes, told: Told) -> bytes | None:
    """``< `` of ``diff a b``."""
    if text[1:2] != b" ":
        return None
    told.kinds.append("diff")
    return text[2:]


def peel_fence(text: bytes, told: Told) -> bytes | None:
    """Backticks glued to the first word; a fence of its own stays."""
    rest = text.lstrip(b"`")
    if not rest or (text.startswith(b"```") and b" " not in rest):
        return None
    told.kinds.append("fence")
    return rest


def peel_interrupt(text: bytes, told: Told) -> bytes | None:
    """``^C`` echoed by a terminal in front of the next output."""
    if text[1:2] != b"C" or len(text) == 2:
        return None
    return text[2:]


def peel_mark(text: bytes, told: Told) -> bytes | None:
    """``+``/``-`` of a unified diff, ``- ``/``* `` of a list. ``+ cmd`` of a shell trace stays."""
    if told.context.modes.diff:
        told.kinds.append("diff")
        return text[1:]
    if text[1:2] == b" " and text[2:3].strip() and text[0] != 43 and told.context.modes.bullets:
        told.kinds.append("bullet")
        return text[2:]
    return None


def peel_editor(text: bytes, told: Told) -> bytes | None:
    """Line numbers of an editor: ``12: ``, ``12 | ``, ``12<tab>``."""
    if not told.context.modes.editor:
        return None
    found = _EDITOR.match(text)
    if not found:
        return None
    told.kinds.append("editor")
    return text[found.end() :]


PEELS = (
    (b">", peel_quote),
    (b"<", peel_less),
    (b"`", peel_fence),
    (b"^", peel_interrupt),
    (b"+-*", peel_mark),
    (b"0123456789", peel_editor),
)

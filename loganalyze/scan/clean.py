"""Take terminal escapes, backspaces and NUL bytes out of a line, and part it at lone carriage returns."""

from __future__ import annotations

from loganalyze.scan.limits import LINE_BYTES
from loganalyze.scan.wrappers.told import Lazy

# CSI, OSC (to its end or to the line's), character sets, and the two-byte rest. Every branch starts apart.
_ESCAPE = Lazy(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]+[0-~]?|[0-Z\\^-~])?")


def pieces(raw: bytes) -> list[bytes]:
    """Non-empty parts between carriage returns, each at most ``LINE_BYTES`` long, cleaned; one empty part of a blank line."""
    parts = [part for part in raw.split(b"\r") if part] if b"\r" in raw else [raw]
    return [clean(part[:LINE_BYTES]) for part in parts] or [b""]


def clean(text: bytes) -> bytes:
    """Text without escapes and NUL bytes, backspaces applied, right-stripped."""
    if b"\x1b" in text:
        text = _ESCAPE.sub(b"", text)
    if b"\0" in text:
        text = text.replace(b"\0", b"")
    if b"\b" in text:
        text = _backspaced(text)
    return text.rstrip()


def _backspaced(text: bytes) -> bytes:
    """Each backspace takes the byte before it away."""
    first, *others = text.split(b"\b")
    out = bytearray(first)
    for part in others:
        if out:
            del out[-1]
        out += part
    return bytes(out)

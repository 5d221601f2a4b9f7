"""Whole numbers in untrusted text."""

from __future__ import annotations


def is_whole(text: str, digits: int = 11) -> bool:
    """True for at most ``digits`` ASCII digits: ``str.isdigit`` also takes superscripts, and ``int`` refuses long ones."""
    return len(text) <= digits and text.isascii() and text.isdigit()

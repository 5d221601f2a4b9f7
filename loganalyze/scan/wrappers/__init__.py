"""Wrappers: one module a family. A new family is one new module and one line here.

A module has ``PEELS``: pairs ``(first bytes, peel)``. ``peel(text, told)`` is tried on text that begins with one of the
bytes; it returns the text without its wrapper and notes on ``told`` what the wrapper said, or returns None and leaves
``told`` alone. Modules are asked in this order.
"""

from __future__ import annotations

FAMILIES: tuple[str, ...] = ("llama", "stamped", "paste", "bare", "bracket", "container", "jsonlog")

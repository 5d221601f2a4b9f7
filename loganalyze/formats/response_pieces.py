"""Responses of several lines between other lines: what people paste below the command that printed it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

_KEYS = ("timings", "usage", "prompt_eval_count", "eval_count", "meta_info", "stats")
_OPENING = re.compile(r"^[ \t]{0,16}\{", re.MULTILINE)
MAX_PIECES = 256
"""Opening braces looked at: a post holds a few responses, each with some objects inside."""


def pieces(text: str) -> Iterator[dict[str, Any]]:
    """Objects that begin a line of ``text``, those inside others aside; none where no key of a response stands in it."""
    if not any(f'"{key}"' in text for key in _KEYS):
        return
    decoder, done = json.JSONDecoder(), 0
    for found in itertools.islice(_OPENING.finditer(text), MAX_PIECES):
        if found.end() <= done:
            continue
        try:
            record, done = decoder.raw_decode(text, found.end() - 1)
        except (ValueError, RecursionError):
            continue
        yield record

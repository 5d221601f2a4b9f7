"""llama.cpp's own prefix: ``M.SS.mmm.uuu L `` (b3761 on, default since about b9180) or the level letter alone."""

from __future__ import annotations

from loganalyze.scan.wrappers.told import Lazy, Told

_LETTERS = b"IWED"
# A letter alone is a word of ordinary text too: what follows has to look like a log message.
_LEVEL = Lazy(rb"[IWED] +(?:[\w~<>.:]+:(?: |$)|(?:slot|srv|que|res|cmn|spec) |- \w+ *:|~)")


def parse_stamp(text: bytes) -> tuple[float, int] | None:
    """Seconds since start and the place behind the stamp (and its blank), or None."""
    end = text.find(32, 12, 24)
    if end < 0 or text[end - 4] != 46 or text[end - 8] != 46 or text[end - 11] != 46:
        return None
    digits = text[:end].replace(b".", b"")
    if len(digits) != end - 3 or not digits.isdigit():
        return None
    minutes, rest = divmod(int(digits), 100_000_000)
    return minutes * 60 + rest / 1e6, end + 1


def peel_stamp(text: bytes, told: Told) -> bytes | None:
    """``0.38.239.664 I slot ...``."""
    found = parse_stamp(text)
    if found is None:
        return None
    told.t_s, at = found
    told.kinds.append("llama")
    told.last = True
    if text[at : at + 1] in (b"I", b"W", b"E", b"D") and text[at + 1 : at + 2] in (b" ", b""):
        told.level = chr(text[at])
        at += 2
    return text[at:]


def peel_level(text: bytes, told: Told) -> bytes | None:
    """``I srv  update_slots: ...`` of ``--log-prefix`` without time."""
    if text[1:2] != b" " or not (told.context.modes.levels or _LEVEL.match(text)):
        return None
    told.level = chr(text[0])
    told.kinds.append("level")
    told.last = True
    return text[2:]


PEELS = ((b"0123456789", peel_stamp), (_LETTERS, peel_level))

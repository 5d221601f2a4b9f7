"""Bytes of any encoding -> bytes whose ASCII part is ASCII: UTF-16 becomes UTF-8, everything else passes unchanged.

Single lines that are not UTF-8 stay as they are and are shown as cp1252. A file may change encoding in the middle
(Windows PowerShell appends UTF-16 to what ``cmd`` wrote as ASCII, and the reverse): text is decoded by stretches.
"""

from __future__ import annotations

from collections.abc import Iterator

from loganalyze.model.records import Source

UTF8_BOM = b"\xef\xbb\xbf"
LE_BOM, BE_BOM = b"\xff\xfe", b"\xfe\xff"
# Without a byte-order mark this share of NUL in odd (or even) places of the first bytes means UTF-16.
NUL_SHARE = 0.4


def decoded(blocks: Iterator[bytes], record: Source) -> Iterator[bytes]:
    """Blocks of ``blocks`` with UTF-16 turned into UTF-8. Sets ``record.encoding``."""
    head = next(blocks, b"")
    while 0 < len(head) < 4:
        more = next(blocks, b"")
        if not more:
            break
        head += more
    order = _order(head)
    if order is None:
        record.encoding = "utf-8" if not head.startswith(UTF8_BOM) else "utf-8-sig"
        yield from _bytes_text(head.removeprefix(UTF8_BOM), blocks, record)
        return
    record.encoding = f"utf-16-{order}"
    start = 2 if head[:2] in (LE_BOM, BE_BOM) else 0
    yield from _utf16(head[start:], blocks, order, record)


def _order(head: bytes) -> str | None:
    if head.startswith(LE_BOM):
        return "le"
    if head.startswith(BE_BOM):
        return "be"
    sample = head[:400]
    if len(sample) < 8:
        return None
    if sample[1::2].count(0) > NUL_SHARE * len(sample) and not sample[::2].count(0):
        return "le"
    if sample[::2].count(0) > NUL_SHARE * len(sample) and not sample[1::2].count(0):
        return "be"
    return None


def _bytes_text(head: bytes, blocks: Iterator[bytes], record: Source) -> Iterator[bytes]:
    """Byte text; a line end followed by a UTF-16 mark, or by NUL in every second byte, starts a UTF-16 stretch."""
    block = head
    while block:
        at = _utf16_start(block)
        if at is not None:
            if at:
                yield block[:at]
            rest = block[at:]
            order = "be" if rest.startswith(BE_BOM) or rest[:1] == b"\0" else "le"
            record.encoding = "mixed"
            yield from _utf16(rest[2:] if rest[:2] in (LE_BOM, BE_BOM) else rest, blocks, order, record)
            return
        yield block
        block = next(blocks, b"")


def _utf16_start(block: bytes) -> int | None:
    if b"\0" not in block and LE_BOM not in block:
        return None
    for mark in (b"\n" + LE_BOM, b"\n" + BE_BOM):
        at = block.find(mark)
        if at >= 0:
            return at + 1
    nul = block.find(b"\0")
    if nul < 1:
        return None
    line = block.rfind(b"\n", 0, nul) + 1
    sample = block[line : line + 64]
    if nul - line == 1 and len(sample) >= 16 and sample[1::2].count(0) >= 0.9 * len(sample[1::2]):
        return line
    return None


def _utf16(head: bytes, blocks: Iterator[bytes], order: str, record: Source) -> Iterator[bytes]:
    import codecs

    decoder = codecs.getincrementaldecoder(f"utf-16-{order}")("replace")
    block = head
    while True:
        switch = _ascii_start(block, order)
        if switch is not None:
            yield decoder.decode(block[:switch]).encode("utf-8", "replace")
            record.encoding = "mixed"
            yield from _bytes_text(block[switch:], blocks, record)
            return
        text = decoder.decode(block)
        if text:
            yield text.replace("\ufeff", "").encode("utf-8", "replace")
        block = next(blocks, b"")
        if not block:
            break
    rest = decoder.decode(b"", final=True)
    if rest:
        yield rest.encode("utf-8", "replace")


def _ascii_start(block: bytes, order: str) -> int | None:
    """Where plain bytes begin after a UTF-16 line end: printable text without any NUL over a stretch."""
    end = b"\n\0" if order == "le" else b"\0\n"
    at = block.find(end)
    step = 0
    while at >= 0 and step < 200_000:
        step += 1
        start = at + 2
        sample = block[start : start + 24]
        if len(sample) >= 8 and b"\0" not in sample and all(9 <= c < 127 for c in sample):
            return start
        at = block.find(end, start)
    return None

"""Read telemetry captures: alone in a file, several in one paste, or found inside a log.

``sniff`` decides by content and imports nothing heavy. ``read_captures`` walks a text in bounded blocks: a large file that is one
capture goes to its format whole (``BULK``), anything else is cut into segments line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from loganalyze.formats.capture import Block, CaptureFormat, Segment
from loganalyze.formats.capture_segments import Segmenter, format_of, share_of_captures, unmatched
from loganalyze.model.records import Capture, Clock, Source

BLOCK_BYTES = 16 << 20
# Below this size cutting by line costs under a quarter of a second and sees every kind of mixture.
BY_LINE_BYTES = 4 << 20
SNIFF_LINES = 400
# Captures carry prompts, messages and damage; a log with a pasted table is mostly log.
SNIFF_SHARE = 0.6


def sniff(head: bytes, name: str = "") -> str | None:
    """Name of the capture format of a text that begins with ``head`` (decoded), or None when it is no capture.

    ``name`` is the file's name; it never decides.
    """
    lines = head.split(b"\n")
    if len(lines) > 1 and not head.endswith(b"\n"):
        lines.pop()
    found, share = share_of_captures(line.rstrip(b"\r") for line in lines[:SNIFF_LINES])
    return found if share >= SNIFF_SHARE else None


def read_captures(blocks: Iterable[bytes], source: Source) -> list[Capture]:
    """Captures of a decoded text given in pieces that end at line ends (the last one perhaps not).

    Sets ``source.format``, its line counts and ``unread``; never raises on damaged text.
    """
    pieces = iter(blocks)
    head = next(pieces, b"")
    second = next(pieces, b"") if len(head) < BY_LINE_BYTES else None
    if second:
        pieces, head = chain([second], pieces), head
    bulk = _bulk_format(head) if second or second is None or len(head) >= BY_LINE_BYTES else None
    if bulk is not None:
        return _read_bulk(bulk, chain([head], pieces), source)
    return _read_by_line(_numbered(chain([head], pieces)), source)


def embedded(
    lines: Iterable[tuple[int, bytes, float | None]], source: Source, clock: Clock | None = None
) -> list[Capture]:
    """Captures in lines that a log reader hands over: ``(number, text, time on clock)``. ``source`` is not changed."""
    own = Source(path=source.path, mtime_s=source.mtime_s)
    segmenter = Segmenter(own)
    previous: int | None = None
    for number, text, stamp in lines:
        for _ in range(min(64, number - previous - 1) if previous is not None else 0):
            segmenter.feed(previous or number, b"")
        segmenter.feed(number, text, stamp, clock)
        previous = number
    captures = _parse_all(segmenter.finish(), own)
    for capture in captures:
        capture.source = source
    return captures


def _bulk_format(head: bytes) -> CaptureFormat | None:
    for line in head[:65536].split(b"\n")[:SNIFF_LINES]:
        if line.strip():
            found = format_of(line)
            if found is not None:
                return found if getattr(found, "BULK", False) else None
    return None


def _numbered(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """``(number, line, ended)``; ``ended`` is False for a last line without a line end."""
    number = 0
    for piece in pieces:
        lines = piece.split(b"\n")
        last = lines.pop()
        for line in lines:
            number += 1
            yield number, line, True
        if last:
            number += 1
            yield number, last, False


def _read_by_line(lines: Iterable[tuple[int, bytes, bool]], source: Source) -> list[Capture]:
    segmenter = Segmenter(source)
    cut = False
    for number, line, ended in lines:
        segmenter.feed(number, line.rstrip(b"\r"))
        cut = not ended
    return _parse_all(segmenter.finish(cut), source)


def _parse_all(pairs: list[tuple[CaptureFormat, Segment]], source: Source) -> list[Capture]:
    captures: list[Capture] = []
    for form, segment in pairs:
        captures += form.parse(segment)
        _settle_rejects(form, segment, source, captures)
    _name_source(source, captures, pairs[0][0].NAME if pairs else None)
    return captures


def _settle_rejects(form: CaptureFormat, segment: Segment, source: Source, captures: list[Capture]) -> None:
    """Lines a format gave back: other formats may take them, the rest is unmatched."""
    rejected = segment.rejected
    segment.rejected = []
    if not rejected:
        return
    source.matched -= len(rejected)
    if any((f := format_of(line)) is not None and f is not form for _, line in rejected[:10000]):
        source.lines -= len(rejected)
        again = Segmenter(source, segment.number + 1)
        for number, line in rejected:
            again.feed(number, line)
        for other, part in again.finish():
            if other is form:
                source.matched -= _give_up(part, source)
                continue
            captures += other.parse(part)
            for number, line in part.rejected:
                source.matched -= 1
                unmatched(source, number, line)
        return
    for number, line in rejected:
        unmatched(source, number, line)


def _give_up(part: Segment, source: Source) -> int:
    count = 0
    for number, line in part.lines():
        if line.strip():
            unmatched(source, number, line)
            count += 1
    return count


def _read_bulk(form: CaptureFormat, pieces: Iterable[bytes], source: Source) -> list[Capture]:
    segment = Segment(source)
    segment.stream = _counted(pieces, source, segment)
    captures = form.parse(segment)
    _settle_rejects(form, segment, source, captures)
    _name_source(source, captures, form.NAME)
    return captures


def _counted(pieces: Iterable[bytes], source: Source, segment: Segment) -> Iterator[Block]:
    for piece in pieces:
        if not piece:
            continue
        first = source.lines + 1
        ended = piece.endswith(b"\n")
        segment.last_line_cut = not ended
        lines = piece.count(b"\n") + (not ended)
        blank = sum(not x.strip() for x in piece.split(b"\n")) - ended if b"\n\n" in piece else 0
        source.lines += lines
        source.skipped += blank
        source.matched += lines - blank
        yield Block(piece, first)


def _name_source(source: Source, captures: list[Capture], fallback: str | None) -> None:
    first = next((c for c in captures), None)
    source.format = first.format if first else fallback
    source.dialect = first.dialect if first else None
    if first is not None:
        source.clock = first.clock

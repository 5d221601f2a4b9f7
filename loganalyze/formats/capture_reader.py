"""Read telemetry captures: alone in a file, several in one paste, or found inside a log.

``sniff`` decides by content and imports nothing heavy. ``read_captures`` walks a text in bounded blocks: a large file that is one
capture goes to its format whole (``BULK``), anything else is cut into segments line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, filterfalse, islice

from loganalyze.formats.capture import Block, Segment
from loganalyze.formats.capture_segments import Segmenter, format_of, share_of_captures, unmatched
from loganalyze.formats.log_look import is_llama_line
from loganalyze.model.records import Capture, Clock, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.capture import CaptureFormat
    from loganalyze.scan import Line, Opened

BLOCK_BYTES = 2 << 20
# Below this size cutting by line costs under a quarter of a second and sees every kind of mixture.
BY_LINE_BYTES = 4 << 20
SNIFF_LINES = 400
# A text without any capture line among its first non-blank ones is not looked at further.
FIRST_LOOK = 40
# Captures carry prompts, messages and damage; a log with a pasted table is mostly log.
SNIFF_SHARE = 0.6


def sniff(head: bytes, name: str = "") -> str | None:
    """Name of the capture format of a text that begins with ``head`` (decoded), or None when it is no capture.

    Lines may carry a wrapper's prefix. ``name`` is the file's name; it never decides.
    """
    return _sniff_plain(head) or _sniff_wrapped(_first_lines(head))


@lru_cache(maxsize=1)
def _sniff_plain(head: bytes) -> str | None:
    """``sniff`` without looking behind prefixes; remembered, for the reader asks what the caller has asked."""
    return _sniff(_first_lines(head))


@lru_cache(maxsize=1)
def _first_lines(head: bytes) -> list[bytes]:
    lines = head.split(b"\n", SNIFF_LINES)
    if len(lines) > 1 and (len(lines) > SNIFF_LINES or not head.endswith(b"\n")):
        lines.pop()
    return [x.rstrip(b"\r") for x in lines] if b"\r" in head else lines


def _sniff_wrapped(lines: list[bytes]) -> str | None:
    """``sniff`` behind the prefixes of wrappers, where the first lines have such."""
    from loganalyze.scan import all_lines, has_prefixes, open_source

    text = b"\n".join(lines)
    if not has_prefixes(text, _first(lines)):
        return None
    with open_source(text) as opened:
        if not _any_starts(piece.text for piece in all_lines(opened)):
            return None
    with open_source(text) as opened:
        pieces = list(all_lines(opened))
    return _sniff([p.text for p in pieces]) if any(p.wrap is not None or p.stamp is not None for p in pieces) else None


def _first(lines: Iterable[bytes]) -> Iterable[bytes]:
    return islice(filter(bytes.strip, lines), FIRST_LOOK)


def _any_starts(lines: Iterable[bytes]) -> bool:
    """Whether one of the first lines starts a capture."""
    return any(map(format_of, filterfalse(is_llama_line, _first(lines))))


def _sniff(lines: list[bytes]) -> str | None:
    if not _any_starts(lines):
        return None
    found, share = share_of_captures(lines)
    return found if share >= SNIFF_SHARE else None


def read_captures(opened: Opened) -> list[Capture]:
    """Captures of an open source, whose record gets ``format``, ``dialect``, ``clock`` and the line counts.

    A text without wrapper prefixes is read in blocks, any other line by line with the wrapper's stamps.
    """
    from loganalyze.scan import all_lines, blocks

    if _sniff_plain(opened.head) is None:
        return read_lines(all_lines(opened), opened.source)
    return read_blocks(blocks(opened), opened.source)


def read_blocks(blocks: Iterable[bytes], source: Source) -> list[Capture]:
    """Captures of a decoded text given in pieces that end at line ends (the last one perhaps not)."""
    pieces = _gathered(blocks)
    head = next(pieces, b"")
    source.lines = source.matched = source.unmatched = source.skipped = 0
    bulk = _bulk_format(head) if len(head) >= BY_LINE_BYTES else None
    if bulk is not None:
        captures = _read_bulk(bulk, chain([head], pieces), source)
    else:
        captures = _read_by_line(chain([head], pieces), source)
    return _settled(captures, source)


def _gathered(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of about ``BLOCK_BYTES`` without carriage returns at line ends: small ones cost polars more than they hold."""
    parts: list[bytes] = []
    size, started = 0, False
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size >= (BLOCK_BYTES if started else max(BLOCK_BYTES, BY_LINE_BYTES)) and block.endswith(b"\n"):
            yield _unix(b"".join(parts))
            parts, size, started = [], 0, True
    if parts:
        yield _unix(b"".join(parts))


def _unix(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def read_lines(lines: Iterable[Line], source: Source) -> list[Capture]:
    """Captures of unwrapped lines; the wrapper's stamps give a clock to rows that have none."""
    source.lines = source.matched = source.unmatched = source.skipped = 0
    segmenter = Segmenter(source)
    _feed(segmenter, lines)
    pairs = segmenter.finish()
    return _settled(_parse_all(pairs, source), source)


def embedded(lines: Iterable[Line], source: Source) -> list[Capture]:
    """Captures in lines that a log reader hands over. Counts of ``source`` are not changed."""
    own = Source(path=source.path, mtime_s=source.mtime_s)
    segmenter = Segmenter(own)
    _feed(segmenter, lines)
    captures = _parse_all(segmenter.finish(), own)
    for capture in captures:
        capture.source = source
    return captures


def _feed(segmenter: Segmenter, lines: Iterable[Line]) -> None:
    clock: Clock | None = None
    previous: int | None = None
    for line in lines:
        if previous is not None and line.number > previous + 1:
            segmenter.gap(line.number - previous - 1)
        previous = line.number
        stamp, kind = (line.t_s, "relative") if line.epoch_s is None else (line.epoch_s, "absolute")
        if stamp is not None and (clock is None or (clock.kind, clock.zone) != (kind, line.zone)):
            clock = Clock("absolute" if kind == "absolute" else "relative", zone=line.zone, anchor="wrapper")
        segmenter.feed(line.number, line.text, stamp, clock)


def _settled(captures: list[Capture], source: Source) -> list[Capture]:
    """The scan counts lines too, at times other than ours: the sum of what was made of them holds."""
    source.lines = source.matched + source.unmatched + source.skipped
    return captures


def _bulk_format(head: bytes) -> CaptureFormat | None:
    for line in head[:65536].split(b"\n")[:SNIFF_LINES]:
        if line.strip():
            found = format_of(line)
            if found is not None:
                return found if getattr(found, "BULK", False) else None
    return None


def _read_by_line(pieces: Iterable[bytes], source: Source) -> list[Capture]:
    segmenter = Segmenter(source)
    number, cut = 1, False
    for piece in pieces:
        lines = piece.split(b"\n")
        cut = bool(lines[-1])
        if not cut:
            lines.pop()
        if b"\r" in piece:
            lines = [line.rstrip(b"\r") for line in lines]
        segmenter.feed_all(number, lines)
        number += len(lines)
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
    segment.stream = _blocks(pieces, segment, count=not getattr(form, "COUNTS", False))
    captures = form.parse(segment)
    lines, blank = segment.counted or (0, 0)
    source.skipped += blank
    source.matched += lines - blank
    _settle_rejects(form, segment, source, captures)
    _name_source(source, captures, form.NAME)
    return captures


def _blocks(pieces: Iterable[bytes], segment: Segment, count: bool) -> Iterator[Block]:
    """Blocks of a stream; counts their lines for formats that do not."""
    first, skipped = 1, 0
    for piece in pieces:
        if not piece:
            continue
        ended = piece.endswith(b"\n")
        segment.last_line_cut = not ended
        yield Block(piece, first if count else 0)
        if count:
            lines, blank = _line_counts(piece)
            first += lines + (not ended)
            skipped += blank
            segment.counted = (first - 1, skipped)


def _line_counts(piece: bytes) -> tuple[int, int]:
    """Line ends in ``piece`` and how many of its lines are blank."""
    import numpy as np

    ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == 10)
    if piece[:1] != b"\n" and not (np.diff(ends) == 1).any():
        return len(ends), 0
    return len(ends), sum(not x.strip() for x in piece.split(b"\n")) - piece.endswith(b"\n")


def _name_source(source: Source, captures: list[Capture], fallback: str | None) -> None:
    first = next((c for c in captures), None)
    source.format = first.format if first else fallback
    source.dialect = first.dialect if first else None
    if first is not None:
        source.clock = first.clock

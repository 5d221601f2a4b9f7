"""Open what a user named, unpacked and decoded, whatever it is: path, standard input, file object or bytes."""

from __future__ import annotations

from io import BytesIO

from loganalyze.errors import UnreadableError
from loganalyze.model.records import Source
from loganalyze.scan.decode import Decoder
from loganalyze.scan.files import STDIN, RawFile, open_file, open_object
from loganalyze.scan.limits import HEAD_BYTES, MAX_PACKED_LAYERS
from loganalyze.scan.packed import Unpacker, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from loganalyze.scan.packed import Raw

# Enough for every magic number below.
_PEEK_BYTES = 512
_REFUSED = (
    (0, b"GGUF", "is a GGUF model", "Name the log of the run, not the model"),
    (0, b"PK\x03\x04", "is a zip archive", "Unpack it and name the folder"),
    (0, b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "Unpack it and name the folder"),
    (0, b"Rar!\x1a\x07", "is a rar archive", "Unpack it and name the folder"),
    (257, b"ustar", "is a tar archive", "Unpack it and name the folder"),
    (0, b"%PDF-", "is a PDF document", "Save the log as text"),
    (0, b"\x89PNG", "is a picture", "Copy the text of the log instead"),
    (0, b"\xff\xd8\xff", "is a picture", "Copy the text of the log instead"),
    (0, b"\x7fELF", "is a program", "Name the log it wrote"),
    (0, b"PAR1", "is a Parquet file", "Name the log it was made from"),
    (0, b"SQLite format 3\x00", "is an SQLite database", "Name the log or the SQL text"),
)


class Opened:
    """An open source.

    ``source`` is its record: path, ``mtime_s``, ``encoding`` and notes are set here. ``head`` holds the first decoded
    bytes (up to ``HEAD_BYTES``, cut anywhere) to choose a reader by; reading still starts at the beginning.
    """

    def __init__(self, raw: RawFile, path: str) -> None:
        self._raw = raw
        self.source = Source(path=path, mtime_s=raw.mtime_s)
        begin, feed, ended = _unpacked(raw, path, self.source.notes)
        self._decoder = Decoder(feed, begin, ended)
        self.whole = False
        """True when ``head`` is all there is."""
        self._front = self._read_head()
        self.head = bytes(self._front)

    def fill(self, buffer: bytearray, view: memoryview, at: int, room: int) -> int:
        """Put up to ``room`` decoded bytes at ``buffer[at:]``; 0 at the end. ``view`` is a view of ``buffer``."""
        if self._front:
            count = min(room, len(self._front))
            view[at : at + count] = self._front[:count]
            self._front = self._front[count:]
            return count
        count = self._decoder.fill(buffer, view, at, room)
        if not count:
            self._finish()
        return count

    def close(self) -> None:
        """Close the file if it was opened here."""
        self._finish()
        self._raw.close()

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_head(self) -> memoryview:
        buffer = bytearray(HEAD_BYTES)
        view = memoryview(buffer)
        count = 0
        while count < HEAD_BYTES - 256:
            got = self._decoder.fill(buffer, view, count, HEAD_BYTES - count)
            if not got:
                self.whole = True
                break
            count += got
        return view[:count]

    def _finish(self) -> None:
        source = self.source
        source.bytes = self._raw.count
        source.notes += [note for note in self._raw.notes if note not in source.notes]
        seen = self._decoder.seen
        source.encoding = "+".join(seen) if seen else None
        if seen == ["utf-8"] and not _is_utf8(self.head):
            source.encoding = "cp1252"


def open_source(target: str | bytes | BinaryIO, name: str | None = None) -> Opened:
    """Open a path (``-``: standard input), bytes or a binary file object (which stays open).

    ``name`` is the path shown for it. Raises UnreadableError, which names the source and a remedy, for what cannot be
    a log: folders, devices, sockets, archives, models, pictures, decompression bombs.
    """
    raw = _raw(target, name)
    try:
        return Opened(raw, name or raw.path)
    except BaseException:
        raw.close()
        raise


def _raw(target: str | bytes | BinaryIO, name: str | None) -> RawFile:
    if isinstance(target, str):
        return open_file(target)
    if isinstance(target, (bytes, bytearray, memoryview)):
        return open_object(BytesIO(target), name or "bytes")
    return open_object(target, name or str(getattr(target, "name", None) or STDIN))


def _unpacked(raw: RawFile, path: str, notes: list[str]) -> tuple[bytes, Raw, bool]:
    """First bytes, the stream they come from, and whether they are all; unpacked where packed."""
    feed: Raw = raw
    begin, ended = _peek(feed)
    layers = 0
    while (kind := kind_of(begin)) is not None:
        layers += 1
        if layers > MAX_PACKED_LAYERS:
            raise UnreadableError("is packed several times over", path=path, remedy="Unpack it and name the result")
        feed = Unpacker(feed, begin, kind, path, notes)
        begin, ended = _peek(feed)
    for place, magic, what, remedy in _REFUSED:
        if begin.startswith(magic, place):
            raise UnreadableError(what, path=path, remedy=remedy)
    return begin, feed, ended


def _peek(feed: Raw) -> tuple[bytes, bool]:
    buffer = bytearray(_PEEK_BYTES)
    view = memoryview(buffer)
    count = 0
    while count < _PEEK_BYTES:
        got = feed.readinto(view[count:])
        if not got:
            return bytes(view[:count]), True
        count += got
    return bytes(view), False


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start > len(head) - 4
    return True

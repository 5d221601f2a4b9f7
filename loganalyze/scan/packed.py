"""Unpack ``gz``, ``bz2``, ``xz`` and ``zst`` streams, recognised by their first bytes, within stated bounds.

Bounds: ``MAX_RATIO`` unpacked bytes a packed byte beyond the first ``RATIO_FREE_BYTES``, ``MAX_EXPANDED_BYTES`` in all,
``UNPACK_MEMORY_BYTES`` for the unpacker. A stream cut short or damaged gives what could be read and a note.
"""

from __future__ import annotations

from collections.abc import Callable

from loganalyze.errors import UnreadableError
from loganalyze.scan.limits import MAX_EXPANDED_BYTES, MAX_RATIO, RATIO_FREE_BYTES, UNPACK_MEMORY_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Raw(Protocol):
        """A stream of bytes."""

        def readinto(self, view: memoryview) -> int: ...


PACKED_READ_BYTES = 64 << 10
MAGIC_BYTES = 6
_MAGIC = ((b"\x1f\x8b\x08", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zst"))


def kind_of(magic: bytes) -> str | None:
    """Packing that a stream with these first bytes uses, or None."""
    for start, kind in _MAGIC:
        if magic.startswith(start) and (kind != "bz2" or magic[3:4].isdigit()):
            return kind
    return None


class Unpacker:
    """Unpacked bytes of ``raw``, whose first bytes ``begin`` were already read. Several streams in a row are joined."""

    def __init__(self, raw: Raw, begin: bytes, kind: str, path: str, notes: list[str]) -> None:
        self._raw = raw
        self._path = path
        self._kind = kind
        self._notes = notes
        self._fresh: Callable[[], Any] = _maker(kind, path)
        self._unpack = self._fresh()
        self._packed = begin
        self._used = len(begin)
        self._made = 0
        self._inside = True
        self._done = False
        self._buffer = bytearray(PACKED_READ_BYTES)

    def readinto(self, view: memoryview) -> int:
        """Unpack some bytes into ``view``; 0 at the end."""
        while not self._done:
            data = self._step(len(view))
            if data:
                self._made += len(data)
                self._check()
                view[: len(data)] = data
                return len(data)
        return 0

    def _step(self, room: int) -> bytes:
        if self._unpack.eof:
            return self._next_stream()
        if self._unpack.needs_input and not self._packed and not self._more():
            self._done = True
            if self._inside:
                self._notes.append(f"the {self._kind} stream ends early: the end of the text is missing")
            return b""
        self._inside = True
        return self._guarded(room)

    def _guarded(self, room: int) -> bytes:
        packed, self._packed = self._packed, b""
        try:
            return bytes(self._unpack.decompress(packed, room))
        except MemoryError as error:
            raise UnreadableError(
                f"unpacking this {self._kind} stream takes more than {UNPACK_MEMORY_BYTES >> 20} MiB of memory",
                path=self._path,
                remedy="Unpack it yourself and name the result",
            ) from error
        except Exception as error:  # each library has its own class for damaged data
            self._done = True
            if not self._made:
                raise UnreadableError(
                    f"is a damaged {self._kind} stream ({error})", path=self._path, remedy="Copy the file again"
                ) from error
            self._notes.append(f"damaged {self._kind} stream: unpacking stopped after {self._made} bytes ({error})")
            return b""

    def _next_stream(self) -> bytes:
        """After the end of a stream: another one, padding, or the end."""
        self._inside = False
        rest = self._unpack.unused_data + self._packed
        self._packed = rest.lstrip(b"\0")
        while len(self._packed) < MAGIC_BYTES and self._more():
            self._packed = self._packed.lstrip(b"\0")
        if kind_of(self._packed[:MAGIC_BYTES]) == self._kind:
            self._unpack = self._fresh()
        else:
            self._done = True
            if self._packed:
                self._notes.append(f"bytes after the end of the {self._kind} stream were left out")
        return b""

    def _more(self) -> bool:
        count = self._raw.readinto(memoryview(self._buffer))
        self._used += count
        self._packed += self._buffer[:count]
        return count > 0

    def _check(self) -> None:
        if self._made > MAX_EXPANDED_BYTES or (self._made > RATIO_FREE_BYTES and self._made > self._used * MAX_RATIO):
            raise UnreadableError(
                f"unpacks to more than {self._made} bytes from {self._used}: refused as a decompression bomb",
                path=self._path,
                remedy="If it is a real log, unpack it yourself and name the result",
            )


class _Zlib:
    """zlib's object with the interface of the others."""

    def __init__(self) -> None:
        import zlib

        self._object = zlib.decompressobj(31)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def needs_input(self) -> bool:
        return not self._object.unconsumed_tail and not self._full

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def decompress(self, data: bytes, room: int) -> bytes:
        made = self._object.decompress(self._object.unconsumed_tail + data, room)
        self._full = len(made) == room
        return made


class _Zstd:
    """Stream objects of ``zstandard`` give all output at once, so feed them little: a 4-byte block can hold 128 KiB."""

    STEP = 64

    def __init__(self, library: Any) -> None:
        self._object = library.ZstdDecompressor(max_window_size=UNPACK_MEMORY_BYTES).decompressobj()
        self._input = b""
        self._output = b""

    @property
    def eof(self) -> bool:
        return bool(self._object.eof) and not self._output

    @property
    def needs_input(self) -> bool:
        return not self._input and not self._output

    @property
    def unused_data(self) -> bytes:
        return bytes(self._object.unused_data) + self._input

    def decompress(self, data: bytes, room: int) -> bytes:
        self._input += data
        if not self._output and self._input and not self._object.eof:
            self._output = self._object.decompress(self._input[: self.STEP])
            self._input = self._input[self.STEP :]
        made, self._output = self._output[:room], self._output[room:]
        return made


def _maker(kind: str, path: str) -> Callable[[], Any]:
    if kind == "gz":
        return _Zlib
    if kind == "bz2":
        from bz2 import BZ2Decompressor

        return BZ2Decompressor
    if kind == "xz":
        from lzma import FORMAT_XZ, LZMADecompressor

        return lambda: LZMADecompressor(FORMAT_XZ, memlimit=UNPACK_MEMORY_BYTES)
    return _zstd_maker(path)


def _zstd_maker(path: str) -> Callable[[], Any]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        option = {zstd.DecompressionParameter.window_log_max: UNPACK_MEMORY_BYTES.bit_length() - 1}
        return lambda: zstd.ZstdDecompressor(options=option)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError as error:
        raise UnreadableError(
            "is packed with zstd, which needs a library", path=path, remedy="pip install zstandard, or: unzstd FILE"
        ) from error
    return lambda: _Zstd(zstandard)

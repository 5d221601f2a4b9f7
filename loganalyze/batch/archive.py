"""Members of .zip and .tar.* archives, read in place: nothing is unpacked to disk, so no name can escape."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from loganalyze.errors import UnreadableError
from loganalyze.files import is_url
from loganalyze.scan.limits import MAX_EXPANDED_BYTES, MAX_RATIO, RATIO_FREE_BYTES

if TYPE_CHECKING:
    import tarfile
    import zipfile

# An archive with more members than this is no folder of logs.
MAX_MEMBERS = 200_000
# Names and attributes of one member; tarfile would take as much memory as an archive says they need.
MAX_HEADER_BYTES = 1 << 20


class _Bounded(io.RawIOBase):
    """Unpacked bytes of a tar archive that refuse to become a bomb: too much of them, or too large a header."""

    def __init__(self, stream: IO[bytes], path: str, packed: int) -> None:
        super().__init__()
        self._stream = stream
        self._path = path
        self._most = min(MAX_EXPANDED_BYTES, max(RATIO_FREE_BYTES, packed * MAX_RATIO))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, place: int, whence: int = 0) -> int:
        self._within(place)
        return self._stream.seek(place, whence)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_HEADER_BYTES:
            raise UnreadableError(f"a header of more than {MAX_HEADER_BYTES >> 20} MiB", path=self._path)
        self._within(self._stream.tell() + size)
        return self._stream.read(size)

    def _within(self, place: int) -> None:
        if place > self._most:
            raise _bomb(self._path)


def _bomb(path: str) -> UnreadableError:
    remedy = "If these are real logs, unpack them yourself and name the folder"
    return UnreadableError("unpacks to too much: refused as a decompression bomb", path=path, remedy=remedy)


@contextlib.contextmanager
def _tar(path: str) -> Iterator[tarfile.TarFile]:
    import tarfile

    with open(path, "rb") as packed:
        start = packed.read(6)
    opener: Any = open
    if start[:2] == b"\x1f\x8b":
        import gzip

        opener = gzip.open
    elif start[:3] == b"BZh":
        import bz2

        opener = bz2.open
    elif start == b"\xfd7zXZ\0":
        import lzma

        opener = lzma.open
    with opener(path, "rb") as stream:
        bounded: Any = _Bounded(stream, path, os.path.getsize(path))
        with tarfile.open(fileobj=bounded, mode="r:") as tar:
            yield tar


@contextlib.contextmanager
def _zip(path: str) -> Iterator[zipfile.ZipFile]:
    import zipfile

    if not is_url(path):
        with zipfile.ZipFile(path) as archive:
            yield archive
        return
    from loganalyze.batch.remote import open_url

    with open_url(path) as stream, zipfile.ZipFile(stream) as archive:
        yield archive


def _checked(info: zipfile.ZipInfo, path: str) -> zipfile.ZipInfo:
    """``info`` unless it says that it is a bomb; zipfile unpacks no more than it says."""
    size = info.file_size
    if size > MAX_EXPANDED_BYTES or (size > RATIO_FREE_BYTES and size > info.compress_size * MAX_RATIO):
        raise _bomb(f"{path}!{info.filename}")
    return info


def members(path: str) -> list[str]:
    """Names of the regular files in an archive, sorted. Archives inside archives are not opened."""
    try:
        if path.lower().endswith(".zip"):
            with _zip(path) as archive:
                names = [i.filename for i in archive.infolist() if not i.is_dir()]
        else:
            with _tar(path) as tar:
                names = []
                for member in tar:
                    if member.isfile():
                        names.append(member.name)
                    if len(names) > MAX_MEMBERS:
                        break
    except UnreadableError:
        raise
    except Exception as error:
        # zipfile, tarfile, zlib and lzma each raise their own classes for damage.
        raise UnreadableError(f"damaged archive: {error}", path=path) from None
    if len(names) > MAX_MEMBERS:
        raise UnreadableError(f"more than {MAX_MEMBERS} members", path=path, remedy="Unpack it and name the folders")
    return sorted(names)


@contextlib.contextmanager
def open_member(path: str, name: str) -> Iterator[IO[bytes]]:
    """A member as a stream. Raises UnreadableError for damage or an encrypted member."""
    try:
        if path.lower().endswith(".zip"):
            with _zip(path) as archive, archive.open(_checked(archive.getinfo(name), path)) as stream:
                yield stream
        else:
            with _tar(path) as tar:
                found = tar.extractfile(name)
                if found is None:
                    raise UnreadableError("no regular file", path=f"{path}!{name}")
                with found:
                    yield found
    except UnreadableError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, NotImplementedError) as error:
        raise UnreadableError(f"cannot be read: {error}", path=f"{path}!{name}") from None

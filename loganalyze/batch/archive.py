"""Members of .zip and .tar.* archives, read in place: nothing is unpacked to disk, so no name can escape."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import IO

from loganalyze.errors import UnreadableError

# An archive with more members than this is no folder of logs.
MAX_MEMBERS = 200_000


def members(path: str) -> list[str]:
    """Names of the regular files in an archive, sorted. Archives inside archives are not opened."""
    try:
        if path.lower().endswith(".zip"):
            import zipfile

            with zipfile.ZipFile(path) as archive:
                names = [i.filename for i in archive.infolist() if not i.is_dir()]
        else:
            import tarfile

            with tarfile.open(path) as tar:
                names = []
                for member in tar:
                    if member.isfile():
                        names.append(member.name)
                    if len(names) > MAX_MEMBERS:
                        break
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
            import zipfile

            with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
                yield stream
        else:
            import tarfile

            with tarfile.open(path) as tar:
                found = tar.extractfile(name)
                if found is None:
                    raise UnreadableError("no regular file", path=f"{path}!{name}")
                with found:
                    yield found
    except UnreadableError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, NotImplementedError) as error:
        raise UnreadableError(f"cannot be read: {error}", path=f"{path}!{name}") from None

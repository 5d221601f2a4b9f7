"""Plain files as batch reads them: holes of sparse files are skipped, so that 100 GB of nothing cost nothing."""

from __future__ import annotations

import io
import os
from typing import Any

from loganalyze.batch.discover import Item, stamp_of
from loganalyze.errors import UnreadableError

# Below this size reading the zeros of a hole costs less than looking for it.
SPARSE_FROM = 64 << 20


def is_sparse(path: str, item: Item) -> bool:
    """Whether a large file is stored in much less than its size."""
    if item.stamp is None or item.stamp[0] < SPARSE_FROM or not hasattr(os, "SEEK_DATA"):
        return False
    try:
        return os.stat(path).st_blocks * 512 < item.stamp[0] * 0.9
    except OSError:
        return False


def changed(item: Item) -> bool:
    """Whether a plain file is no longer what it was when it was found."""
    if item.stamp is None:
        return False
    try:
        return stamp_of(os.stat(item.path)) != item.stamp
    except OSError:
        return True


class WithoutHoles(io.RawIOBase):
    """A file's bytes less its holes. Raises UnreadableError for a file that is one hole."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with this
        self._end = 0
        size = os.fstat(self._file.fileno()).st_size
        if not self._next():
            self._file.close()
            reason = f"holds no data: its {size:,} bytes are one hole"
            raise UnreadableError(reason, path=path, remedy="Look what should have written it")

    def readable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The file's descriptor, which tells its time."""
        return self._file.fileno()

    def readinto(self, view: Any) -> int:
        """Some bytes of data; 0 at the end."""
        with memoryview(view) as whole:
            left = self._end - self._file.tell()
            if left <= 0:
                if not self._next():
                    return 0
                left = self._end - self._file.tell()
            return self._file.readinto(whole[: min(len(whole), left)]) or 0

    def _next(self) -> bool:
        try:
            at = os.lseek(self._file.fileno(), self._file.tell(), os.SEEK_DATA)
            self._end = os.lseek(self._file.fileno(), at, os.SEEK_HOLE)
            self._file.seek(at)
        except OSError:
            # ENXIO: no data from here to the end.
            return False
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

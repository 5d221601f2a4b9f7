"""Open files, standard input and file objects for reading; refuse what cannot be a log."""

from __future__ import annotations

import os
import stat
import sys

from loganalyze.errors import UnreadableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

STDIN = "-"


class RawFile:
    """Bytes of one file or stream as they come. Errors of the system become ``UnreadableError``."""

    def __init__(self, stream: Any, path: str, *, named: bool = False, owned: bool = True, first: bytes = b"") -> None:
        self.path = path
        self.count = 0
        self.notes: list[str] = []
        self._stream = stream
        self._named = named
        self._owned = owned
        self._first = first
        self._readinto = getattr(stream, "readinto", None) or self._read_copy
        self._status = _status(stream)

    @property
    def mtime_s(self) -> float | None:
        """Time of the last write of a regular file."""
        status = self._status
        return status.st_mtime if status is not None and stat.S_ISREG(status.st_mode) else None

    def readinto(self, view: memoryview) -> int:
        """Read some bytes into ``view``; 0 at the end."""
        if self._first:
            return self._give_first(view)
        try:
            count = self._readinto(view)
        except OSError as error:
            raise UnreadableError(
                f"reading failed after {self.count} bytes: {_reason(error)}",
                path=self.path,
                remedy="Copy the file to a local disk and try again",
            ) from error
        except ValueError as error:
            raise UnreadableError("the stream is closed", path=self.path) from error
        if not count:
            self._look_back()
            return 0
        self.count += count
        return int(count)

    def close(self) -> None:
        """Close what was opened here."""
        if self._owned:
            self._stream.close()

    def _give_first(self, view: memoryview) -> int:
        count = len(self._first)
        view[:count] = self._first
        self._first = b""
        self.count += count
        return count

    def _read_copy(self, view: memoryview) -> int:
        data = self._stream.read(len(view))
        if isinstance(data, str):
            raise UnreadableError("the stream is opened as text", path=self.path, remedy="Open it in binary mode")
        view[: len(data)] = data
        return len(data)

    def _look_back(self) -> None:
        """At the end: note a file that became shorter or was replaced while it was read."""
        if not self._named or self._status is None or not stat.S_ISREG(self._status.st_mode):
            return
        now = _status(self._stream)
        if now is not None and now.st_size < self.count:
            self._note(f"truncated while being read: {now.st_size} bytes now, {self.count} were read")
        try:
            there = os.stat(self.path)
        except OSError:
            self._note("removed or renamed while being read")
            return
        if now is not None and (there.st_dev, there.st_ino) != (now.st_dev, now.st_ino):
            self._note("rotated while being read: another file has this name now")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def open_file(path: str) -> RawFile:
    """Open ``path`` (``-``: standard input). Raises UnreadableError with the reason and a remedy."""
    if path == STDIN:
        return _open_stdin()
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise UnreadableError(_reason(error), path=path, remedy=_open_remedy(error)) from error
    if stat.S_ISREG(mode):
        return RawFile(_open(path), path, named=True)
    if stat.S_ISFIFO(mode):
        return _open_fifo(path)
    return _open_other(path, mode)


def open_object(stream: BinaryIO, path: str) -> RawFile:
    """Read an open binary stream; it stays open."""
    return RawFile(stream, path, owned=False)


def _open_other(path: str, mode: int) -> RawFile:
    if stat.S_ISDIR(mode):
        raise UnreadableError("is a folder", path=path, remedy="Name the files in it, or use: loganalyze batch")
    if stat.S_ISCHR(mode):
        stream = _open(path)
        if path == os.devnull or stream.isatty():
            return RawFile(stream, path)
        stream.close()
        raise UnreadableError("is a device without an end", path=path, remedy="Save its text to a file first")
    what = "is a socket" if stat.S_ISSOCK(mode) else "is a block device" if stat.S_ISBLK(mode) else "is no file"
    raise UnreadableError(what, path=path, remedy="Save its text to a file first")


def _open(path: str) -> Any:
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise UnreadableError(_reason(error), path=path, remedy=_open_remedy(error)) from error


def _open_fifo(path: str) -> RawFile:
    """A pipe with a name. Opening one that nobody writes to would wait for ever, so open without waiting and look.

    Without a writer such a pipe answers a read with "end", with one that has said nothing yet with "again".
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise UnreadableError(_reason(error), path=path, remedy=_open_remedy(error)) from error
    stream = open(descriptor, "rb", buffering=0)  # noqa: SIM115 - kept open
    first = stream.read(1)
    if first == b"":
        stream.close()
        raise UnreadableError("no process writes to this pipe", path=path, remedy="Start the writer first")
    os.set_blocking(descriptor, True)
    return RawFile(stream, path, first=first or b"")


def _open_stdin() -> RawFile:
    if sys.stdin is None:
        raise UnreadableError("standard input is closed", path=STDIN, remedy="Name a file, or pipe a log in")
    buffer = getattr(sys.stdin, "buffer", sys.stdin)
    try:
        return RawFile(getattr(buffer, "raw", buffer), STDIN, owned=False)
    except ValueError as error:
        raise UnreadableError("standard input is closed", path=STDIN, remedy="Name a file, or pipe a log in") from error


def _status(stream: Any) -> os.stat_result | None:
    try:
        return os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return (getattr(error, "strerror", None) or str(error)).lower()


def _open_remedy(error: Exception) -> str | None:
    if isinstance(error, PermissionError):
        return "Allow reading it (chmod +r), or copy it"
    if isinstance(error, FileNotFoundError):
        return "Check the name"
    if isinstance(error, OSError) and error.errno == 24:
        return "Too many files are open; raise the limit (ulimit -n)"
    return None

"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A new file beside ``path`` that takes its place when the block ends well, and vanishes when it does not.

    Symbolic links are followed; the mode of a replaced file stays. OSError passes to the caller, who knows the remedy.
    """
    from pathlib import Path

    target = Path(os.path.realpath(path))
    _sweep(target)
    temporary = target.with_name(f".{target.name[:60]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    handle = -1
    try:
        # Where a file is replaced its mode comes last: until then nobody else reads what may have been private.
        mode = 0o600 if target.exists() else 0o666
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        _claim(handle)
        yield temporary
        os.fsync(handle)
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        if os.name == "nt":
            # An open file cannot be moved there.
            os.close(handle)
            handle = -1
        os.replace(temporary, target)
    finally:
        if handle >= 0:
            os.close(handle)
        temporary.unlink(missing_ok=True)


def _claim(handle: int) -> bool:
    """Mark a file as being written; the mark goes with the process. False when another process has it."""
    try:
        import fcntl
    except ImportError:
        # Where there is no flock an open file cannot be deleted either, which is mark enough.
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: leave what others left.
        return False
    return True


# A file that was made a moment ago may not be marked yet.
_YOUNG_S = 60.0


def _sweep(target: Path) -> None:
    """Delete what killed writers of ``target`` left beside it."""
    import time

    prefix = f".{target.name[:60]}."
    try:
        left = [n for n in os.listdir(target.parent) if n.startswith(prefix) and n.endswith(".tmp")]
    except OSError:
        return
    for name in left:
        with contextlib.suppress(OSError, ValueError):
            place = target.with_name(name)
            if not _gone(int(name[len(prefix) :].split(".")[0])) and time.time() - place.lstat().st_mtime < _YOUNG_S:
                continue
            # Never through a link that somebody put there, nor waiting for a pipe.
            handle = os.open(place, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            try:
                mine = _claim(handle)
            finally:
                os.close(handle)
            if mine:
                place.unlink()


def _gone(pid: int) -> bool:
    """Whether a process of this machine no longer exists; unknown is False."""
    if os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


@contextlib.contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """One process at a time for what is done to ``path``, where the system can lock its folder; it waits for the others."""
    folder = os.path.dirname(os.path.realpath(path))
    handle = -1
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
    except (ImportError, OSError):
        # Without locks each file is still whole.
        pass
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)

"""Faults of the machine in words: what to do about an error of the system, and limits that a library would abort on."""

from __future__ import annotations

import errno

from loganalyze.errors import LogAnalyzeError

CAPTURES_MIB, PICTURES_MIB = 1200, 1600
"""Address space that polars and matplotlib with their thread pools reserve on 2 cores (measured: 1,000,000 KiB are enough
for captures and 1,500,000 KiB for a picture). With less they abort the whole process, which nobody can catch."""

_REMEDIES = {
    errno.ENOSPC: "Free some space, or write elsewhere",
    getattr(errno, "EDQUOT", errno.ENOSPC): "Free some space, or write elsewhere",
    errno.EFBIG: "Raise the limit of file sizes (ulimit -f), or write elsewhere",
    errno.EROFS: "Write to another folder",
    errno.EACCES: "Write to another folder, or allow writing to this one",
    errno.EPERM: "Write to another folder, or allow writing to this one",
    errno.ENOENT: "Create the folder first",
    errno.ENAMETOOLONG: "Use a shorter name",
    errno.EMFILE: "Raise the limit of open files (ulimit -n)",
    errno.ENFILE: "Close other programs: the system has no file descriptors left",
    errno.ENOMEM: "Give fewer files at once, or raise the memory limit",
}
_OF_STREAMS = frozenset({errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF, getattr(errno, "EDQUOT", errno.ENOSPC)})


def remedy(error: OSError) -> str | None:
    """What a user can do about a failed write, where that is known."""
    return _REMEDIES.get(error.errno or 0)


def is_of_stream(error: OSError) -> bool:
    """Whether an error without a file name is that of a full or broken output stream."""
    return error.filename is None and error.errno in _OF_STREAMS


def require_memory(mib: int, what: str) -> None:
    """Raise LogAnalyzeError when the limit of address space (``ulimit -v``) is lower than ``mib`` for ``what``."""
    limit = _limit("RLIMIT_AS")
    if limit is not None and limit < mib << 20:
        raise LogAnalyzeError(
            f"the memory limit of {limit >> 20} MiB is too low for {what}",
            remedy=f"Allow {mib} MiB (ulimit -v {mib << 10})",
        )


def open_files_left() -> int | None:
    """File descriptors that this process may open in all; None where nothing limits it."""
    return _limit("RLIMIT_NOFILE")


def _limit(name: str) -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft = resource.getrlimit(getattr(resource, name))[0]
    return None if soft == resource.RLIM_INFINITY else soft

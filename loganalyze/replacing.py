"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A new file beside ``path`` that takes its place when the block ends well, and vanishes when it does not.

    Symbolic links are followed; the mode of a replaced file stays. OSError passes to the caller, who knows the remedy.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:60]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)

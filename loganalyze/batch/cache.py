"""Results of finished units, keyed by content. SQLite in the user's cache folder: safe against kills and second writers.

A stat entry (size, mtime, inode) only saves reading a file again to compute its digest; it is not trusted for files
changed within ``RACY_NS`` before it was noted, since their next change could leave the stat equal.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from typing import Any

from loganalyze.batch.discover import Item

RACY_NS = 2_000_000_000
# One lock holder writes a batch of rows in milliseconds; a stuck one must not hang everybody else.
BUSY_S = 20.0
# Results of versions that nobody used for so long are dropped.
OLD_S = 60 * 86400
_NAME = "batch-{}.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS stats (path BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, inode INTEGER, digest TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, lines TEXT) WITHOUT ROWID;
"""
# Below the number of variables that any SQLite allows in a statement.
_ASK = 900


def cache_folder() -> str | None:
    """The user's cache folder for this program, created private; None where there is none."""
    base = os.environ.get("LOGANALYZE_CACHE") or os.environ.get("XDG_CACHE_HOME")
    if not base:
        home = os.path.expanduser("~")
        if home == "~" or not os.path.isdir(home):
            return None
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA", home)
        else:
            base = os.path.join(home, "Library/Caches" if sys.platform == "darwin" else ".cache")
    folder = os.path.join(base, "loganalyze")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        info = os.lstat(folder)
    except OSError:
        return None
    mine = not hasattr(os, "getuid") or info.st_uid == os.getuid()
    # A link or somebody else's folder could point our writes anywhere.
    if not mine or not stat.S_ISDIR(info.st_mode):
        return None
    if os.name == "posix" and stat.S_IMODE(info.st_mode) & 0o077:
        # Made by hand, or by a copy: rows hold names of files and models.
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)
    return folder


class Cache:
    """Looks up and stores units as JSON lines of their rows. Any failure turns it off and is told once in ``note``."""

    def __init__(self, folder: str | None, version: str) -> None:
        self.note: str | None = None
        self._db: Any = None
        self._racy = time.time_ns() - RACY_NS
        if folder is None:
            self.note = "no cache folder: nothing is remembered between runs"
            return
        import sqlite3

        self._error = sqlite3.Error
        path = os.path.join(folder, _NAME.format(version))
        try:
            self._open(path)
        except (OSError, sqlite3.OperationalError) as error:
            self._fail(error)
        except sqlite3.DatabaseError as error:
            # Damaged, by a disk or a hand: results can be computed again.
            self._discard()
            try:
                os.unlink(path)
                self._open(path)
            except (OSError, sqlite3.Error):
                self._fail(error)
        self._drop_old(folder, path)

    def _open(self, path: str) -> None:
        import sqlite3

        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        if os.name == "posix":
            # One that a copy made readable; SQLite gives its side files the same mode. Some disks know no modes.
            with contextlib.suppress(OSError):
                os.fchmod(handle, 0o600)
        os.close(handle)
        self._db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, cached_statements=16)
        self._db.execute("PRAGMA journal_mode=WAL")
        # Each commit survives a killed process; only a lost machine may lose the last ones, never the file.
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA)

    def _drop_old(self, folder: str, mine: str) -> None:
        with contextlib.suppress(OSError):
            before = time.time() - OLD_S
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                if name.startswith("batch-") and path != mine and not path.startswith(mine + "-"):
                    with contextlib.suppress(OSError):
                        if os.stat(path).st_mtime < before:
                            os.unlink(path)
            if self._db is not None:
                os.utime(mine)

    def _discard(self) -> None:
        if self._db is not None:
            with contextlib.suppress(self._error):
                self._db.close()
            self._db = None

    def _fail(self, error: Exception) -> None:
        if self.note is None:
            reason = getattr(error, "strerror", None) or error
            self.note = f"results are no longer remembered: {reason}"
            if "full" in str(error) or "space" in str(reason):
                self.note += ". Free some space, or set LOGANALYZE_CACHE to a folder on another disk"
        self._discard()

    def digests(self, paths: list[str]) -> dict[str, tuple[tuple[int, int, int], str]]:
        """Path -> (stamp, digest) of the files among ``paths`` that are known."""
        found: dict[str, tuple[tuple[int, int, int], str]] = {}
        asked = [os.fsencode(path) for path in paths]
        for path, size, mtime, inode, content in self._ask(
            "path, size, mtime, inode, digest FROM stats", "path", asked
        ):
            found[os.fsdecode(path)] = (size, mtime, inode), content
        return found

    def get(self, keys: list[str]) -> dict[str, list[str]]:
        """Lines of the units among ``keys`` that are known."""
        return {
            key: lines.split("\n") if lines else [] for key, lines in self._ask("key, lines FROM results", "key", keys)
        }

    def _ask(self, what: str, column: str, values: list[Any]) -> list[Any]:
        rows: list[Any] = []
        for at in range(0, len(values), _ASK):
            if self._db is None:
                break
            part = values[at : at + _ASK]
            marks = ",".join("?" * len(part))
            try:
                rows += self._db.execute(f"SELECT {what} WHERE {column} IN ({marks})", part).fetchall()
            except self._error as error:
                self._fail(error)
        return rows

    def put(self, units: list[tuple[str, list[str]]], files: list[tuple[Item, str]]) -> None:
        """Store finished units and the digests of their files, all or nothing."""
        stamps = [
            (os.fsencode(i.path), *i.stamp, digest)
            for i, digest in files
            if i.member is None and i.stamp is not None and i.stamp[1] < self._racy
        ]
        if self._db is None or not (units or stamps):
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?)", [(key, "\n".join(lines)) for key, lines in units]
            )
            self._db.executemany("INSERT OR REPLACE INTO stats VALUES (?, ?, ?, ?, ?)", stamps)
            self._db.execute("COMMIT")
        except (self._error, OverflowError) as error:
            self._fail(error)

    def close(self) -> None:
        """Close the file."""
        self._discard()

"""Results of finished units, keyed by content. SQLite in the user's cache folder: safe against kills and second writers.

A stat entry (size, mtime, inode) only saves reading a file again to compute its digest; it is not trusted for files
changed within ``RACY_NS`` before it was noted, since their next change could leave the stat equal.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from loganalyze.batch.discover import Item
from loganalyze.batch.row import Row

RACY_NS = 2_000_000_000
# One lock holder writes a batch of rows in milliseconds; a stuck one must not hang everybody else.
BUSY_S = 20.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, inode INTEGER, digest TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS units (key TEXT PRIMARY KEY, rows TEXT) WITHOUT ROWID;
"""


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
    return folder if mine and not os.path.islink(folder) else None


def _storable(path: str) -> bool:
    """SQLite takes no name that is not UTF-8; such a file is read again each time for its digest."""
    return not any("\ud800" <= c <= "\udfff" for c in path)


class Cache:
    """Looks up and stores units. Any failure turns it off and is told once in ``note``."""

    def __init__(self, folder: str | None, version: str) -> None:
        self.note: str | None = None
        self._db: Any = None
        self._racy = time.time_ns() - RACY_NS
        if folder is None:
            self.note = "no cache folder: nothing is remembered between runs"
            return
        import sqlite3

        self._error = sqlite3.Error
        path = os.path.join(folder, f"batch-{version}.sqlite")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            os.close(handle)
            self._db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.note = f"the cache is off: {getattr(error, 'strerror', None) or error}"
        if self._db is not None:
            self._db.close()
            self._db = None

    def digests(self) -> dict[str, tuple[tuple[int, int, int], str]]:
        """Path -> (stamp, digest) of every file known."""
        if self._db is None:
            return {}
        try:
            rows = self._db.execute("SELECT path, size, mtime, inode, digest FROM files")
            return {path: ((size, mtime, inode), digest) for path, size, mtime, inode, digest in rows}
        except self._error as error:
            self._fail(error)
            return {}

    def get(self, keys: list[str]) -> dict[str, list[Row]]:
        """Rows of the units among ``keys`` that are known."""
        found: dict[str, list[Row]] = {}
        if self._db is None:
            return found
        try:
            for at in range(0, len(keys), 500):
                part = keys[at : at + 500]
                marks = ",".join("?" * len(part))
                for key, rows in self._db.execute(f"SELECT key, rows FROM units WHERE key IN ({marks})", part):
                    found[key] = json.loads(rows)
        except (self._error, ValueError) as error:
            self._fail(error)
        return found

    def put(self, units: list[tuple[str, list[Row]]], files: list[tuple[Item, str]]) -> None:
        """Store finished units and the digests of their files, all or nothing."""
        if self._db is None or not (units or files):
            return
        stamps = [
            (i.path, *i.stamp, digest)
            for i, digest in files
            if i.member is None and i.stamp is not None and i.stamp[1] < self._racy and _storable(i.path)
        ]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR REPLACE INTO units VALUES (?, ?)", [(k, json.dumps(r)) for k, r in units])
            self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", stamps)
            self._db.execute("COMMIT")
        except (self._error, UnicodeEncodeError, ValueError) as error:
            self._fail(error)

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

"""Find files and form units of work: files that can only be understood together.

Rule: a folder (or archive folder) of up to ``SMALL_FOLDER`` files is one unit, so that a log meets its captures; in a
larger folder, which holds many runs, files that share a stem (``run1.log``, ``run1_smi.csv``) form a unit. A manifest
overrides both. Symbolic links to folders are not followed, so loops cannot occur; sockets and devices become error rows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from loganalyze.errors import UnreadableError, UsageError
from loganalyze.files import is_url
from loganalyze.inputs import SKIPPED_SUFFIXES
from loganalyze.numerals import is_whole

SMALL_FOLDER = 48
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")


@dataclass(slots=True)
class Item:
    """One file: a path, a member of an archive, or a URL. ``stamp`` is (size, mtime_ns, inode) of a plain file."""

    path: str
    member: str | None = None
    stamp: tuple[int, int, int] | None = None

    @property
    def name(self) -> str:
        """Shown name."""
        return self.path if self.member is None else f"{self.path}!{self.member}"


@dataclass(slots=True)
class Unit:
    """Items read together; ``error`` for something that is no readable file."""

    items: list[Item]
    error: str | None = None


@dataclass(slots=True)
class Found:
    """Units in a fixed order, and the rule that formed them in words."""

    units: list[Unit] = field(default_factory=list)
    rule: str = ""
    left_out: int = 0
    """Files that are no text by their name (pictures, models, ...), and links to folders."""


def discover(paths: tuple[str, ...], manifest: str | None = None) -> Found:
    """Units below ``paths``. Raises LogAnalyzeError for a path that does not exist or a bad manifest."""
    if manifest is not None:
        from loganalyze.batch.manifest import read_manifest

        return read_manifest(manifest)
    found = Found()
    for path in paths:
        for place in _expand(path):
            _place(place, found)
    small = f"a folder of up to {SMALL_FOLDER} files is read together; in larger folders files that share a stem are"
    found.rule = f"{len(found.units)} units: {small}"
    return found


def _expand(path: str) -> list[str]:
    if is_url(path) or os.path.lexists(path):
        return [path]
    if any(c in path for c in "*?["):
        from glob import glob

        matches = sorted(glob(path, recursive=True))
        if matches:
            return matches
    raise UnreadableError("no such file or folder", path=path)


def _place(path: str, found: Found) -> None:
    if is_url(path):
        from loganalyze.batch.remote import list_url

        _units(list_url(path), found)
    elif os.path.isdir(path):
        for files in _walk(path, found):
            _units(files, found)
    else:
        _units([_item(path)], found)


def _walk(root: str, found: Found) -> Iterator[list[Item]]:
    """Files of each folder, sorted; a folder that cannot be listed becomes an error unit."""
    pending = [root]
    while pending:
        folder = pending.pop()
        files: list[Item] = []
        below: list[str] = []
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda e: e.name)
        except OSError as error:
            found.units.append(Unit([Item(folder)], f"cannot be listed: {error.strerror}"))
            continue
        for entry in listed:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.path)
            elif entry.name.lower().endswith(SKIPPED_SUFFIXES) or (entry.is_symlink() and os.path.isdir(entry.path)):
                found.left_out += 1
            else:
                files.append(_entry(entry))
        pending += reversed(below)
        if files:
            yield files


def _entry(entry: os.DirEntry[str]) -> Item:
    try:
        info = entry.stat()
    except OSError:
        return Item(entry.path)
    return Item(entry.path, stamp=_stamp(info))


def _item(path: str) -> Item:
    try:
        return Item(path, stamp=_stamp(os.stat(path)))
    except (OSError, ValueError):  # the latter for a name with a NUL in it
        return Item(path)


def _stamp(info: os.stat_result) -> tuple[int, int, int] | None:
    return (info.st_size, info.st_mtime_ns, info.st_ino) if stat.S_ISREG(info.st_mode) else None


def _units(files: list[Item], found: Found) -> None:
    plain: list[Item] = []
    for item in files:
        if item.member is None and item.path.lower().endswith(ARCHIVES):
            _archive(item, found)
        else:
            plain.append(item)
    if not plain:
        return
    if len(plain) <= SMALL_FOLDER:
        found.units.append(Unit(plain))
        return
    from loganalyze.timeline.group import stem

    stems: dict[tuple[str, str], list[Item]] = {}
    for item in plain:
        stems.setdefault((os.path.dirname(item.member or item.path), stem(item.member or item.path)), []).append(item)
    found.units += [Unit(items) for items in stems.values()]


def _archive(item: Item, found: Found) -> None:
    from loganalyze.batch.archive import members

    try:
        names = members(item.path)
    except UnreadableError as error:
        found.units.append(Unit([item], error.reason))
        return
    folders: dict[str, list[Item]] = {}
    for name in names:
        if name.lower().endswith(SKIPPED_SUFFIXES):
            found.left_out += 1
            continue
        folders.setdefault(os.path.dirname(name), []).append(Item(item.path, name, item.stamp))
    for members_of in folders.values():
        _units(members_of, found)


def check_jobs(text: str | None) -> int:
    """``--jobs`` as a number; default: one a core, at most 32."""
    if text is None:
        return min(os.cpu_count() or 1, 32)
    if not is_whole(text) or not 1 <= int(text) <= 256:
        raise UsageError(f"--jobs {text}: give a number from 1 to 256")
    return int(text)

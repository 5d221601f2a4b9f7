"""Find files and form units of work: files that can only be understood together.

Rule: a folder (or archive folder) of up to ``SMALL_FOLDER`` files is one unit, so that a log meets its captures; in a
larger folder, which holds many runs, files that share a stem (``run1.log``, ``run1_smi.csv``) form a unit. A manifest
overrides both. Symbolic links to folders are not followed, so loops cannot occur; sockets and devices become error rows.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO

from loganalyze.errors import UnreadableError, UsageError
from loganalyze.files import is_url
from loganalyze.inputs import SKIPPED_SUFFIXES
from loganalyze.numerals import is_whole

SMALL_FOLDER = 48
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")


@dataclass(slots=True)
class Item:
    """One file: a path, a member of an archive, or a URL. ``stamp`` is (size, mtime_ns, inode) of a plain file, ``tag``
    what a storage says changes with an object's content."""

    path: str
    member: str | None = None
    stamp: tuple[int, int, int] | None = None
    tag: str | None = None

    @property
    def name(self) -> str:
        """Shown name; bytes of a path that are no UTF-8 are written as escapes."""
        name = self.path if self.member is None else f"{self.path}!{self.member}"
        return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


@dataclass(slots=True)
class Unit:
    """Items read together; ``error`` for something that is no readable file."""

    items: list[Item]
    error: str | None = None


class Units:
    """Units in a fixed order. More than ``BLOCK`` of them wait on disk, so that memory does not grow with their number."""

    BLOCK = 1000

    def __init__(self, units: Iterable[Unit] = ()) -> None:
        self.files = 0
        self._count = 0
        self._last: list[Unit] = []
        self._spilled: IO[bytes] | None = None
        for unit in units:
            self.append(unit)

    def append(self, unit: Unit) -> None:
        """Add one at the end."""
        self._last.append(unit)
        self._count += 1
        self.files += len(unit.items)
        if len(self._last) >= self.BLOCK:
            if self._spilled is None:
                import tempfile

                self._spilled = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - lives as long as the units
            plain = [([(i.path, i.member, i.stamp, i.tag) for i in u.items], u.error) for u in self._last]
            self._spilled.write(json.dumps(plain).encode() + b"\n")
            self._last = []

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Unit]:
        if self._spilled is not None:
            self._spilled.seek(0)
            for line in self._spilled:
                for items, error in json.loads(line):
                    yield Unit([Item(p, m, tuple(st) if st else None, tag) for p, m, st, tag in items], error)
        yield from self._last

    def close(self) -> None:
        """Drop what waits on disk."""
        if self._spilled is not None:
            self._spilled.close()


@dataclass(slots=True)
class Found:
    """Units in a fixed order, and the rule that formed them in words."""

    units: Units = field(default_factory=Units)
    rule: str = ""
    left_out: int = 0
    """Files that are no text by their name (pictures, models, ...), and links to folders."""
    outputs: set[str] = field(default_factory=set)
    """Our own files, which may lie among the logs."""


def discover(paths: tuple[str, ...], manifest: str | None = None, outputs: tuple[str, ...] = ()) -> Found:
    """Units below ``paths`` without our own ``outputs``. Raises LogAnalyzeError for a missing path or a bad manifest."""
    if manifest is not None:
        from loganalyze.batch.manifest import read_manifest

        return read_manifest(manifest)
    found = Found(outputs={os.path.realpath(name) for name in outputs})
    for place, names in _places([place for path in paths for place in _expand(path)]):
        if names:
            _names(place, names, found)
        else:
            _place(place, found)
    files, groups = found.units.files, len(found.units)
    found.rule = f"{files:,} file{'' if files == 1 else 's'}" + (
        f" in {groups:,} group{'' if groups == 1 else 's'} (small folders are read together, "
        "in large ones files of one name)"
        if groups != files
        else ""
    )
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


def _places(given: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each place once: folders and URLs alone, files by their folder; what lies in a folder that is given too is left to it."""
    full = {place: place if is_url(place) else os.path.abspath(place) for place in given}
    folders = {full[place] for place in full if not is_url(place) and os.path.isdir(place)}
    files: dict[str, list[str]] = {}
    seen: set[str] = set()
    for place, path in full.items():
        if path in seen or (folders and any(above in folders for above in _above(path))):
            continue
        seen.add(path)
        if is_url(place) or path in folders:
            yield place, []
        else:
            files.setdefault(os.path.dirname(place), []).append(os.path.basename(place))
    for folder, names in files.items():
        yield folder, sorted(names)


def _above(path: str) -> Iterator[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _place(path: str, found: Found) -> None:
    if is_url(path):
        from loganalyze.batch.remote import list_url

        folders, left_out = list_url(path)
        found.left_out += left_out
        for items in folders:
            _units(items, found)
        return
    for folder, names in _walk(path, found):
        _names(folder, names, found)


def _walk(root: str, found: Found) -> Iterator[tuple[str, list[str]]]:
    """Names of the files of each folder, sorted; a folder that cannot be listed becomes an error unit."""
    pending = [root]
    while pending:
        folder = pending.pop()
        names: list[str] = []
        below: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
                    elif name.lower().endswith(SKIPPED_SUFFIXES) or (entry.is_symlink() and os.path.isdir(entry.path)):
                        found.left_out += 1
                    else:
                        names.append(name)
        except OSError as error:
            found.units.append(Unit([Item(folder)], f"cannot be listed: {error.strerror}"))
        pending += sorted(below, reverse=True)
        if names:
            names.sort()
            yield folder, names


def _item(path: str) -> Item:
    try:
        info = os.stat(path)
    except (OSError, ValueError):  # the latter for a name with a NUL in it
        return Item(path)
    return Item(path, stamp=stamp_of(info))


def stamp_of(info: os.stat_result) -> tuple[int, int, int] | None:
    """Size, mtime (ns) and inode of a regular file: what changes when its content does."""
    # Some systems give inodes beyond what a database holds.
    return (info.st_size, info.st_mtime_ns, info.st_ino & 0x7FFFFFFFFFFFFFFF) if stat.S_ISREG(info.st_mode) else None


def _names(folder: str, names: list[str], found: Found) -> None:
    """Units of one folder from its names alone: a folder of a hundred thousand files is not held in memory as items."""
    here = {os.path.basename(o) for o in found.outputs if os.path.dirname(o) == os.path.realpath(folder or ".")}
    plain = [name for name in names if name not in here and not name.lower().endswith(ARCHIVES)]
    for name in names if len(plain) < len(names) else ():
        if name.lower().endswith(ARCHIVES):
            _archive(_item(os.path.join(folder, name)), found)
    for group in _groups(plain):
        found.units.append(Unit([_item(os.path.join(folder, name)) for name in group]))


def _units(files: list[Item], found: Found) -> None:
    """Units of items that lie in one folder."""
    plain: dict[str, Item] = {}
    for item in files:
        if item.member is None and item.path.lower().endswith(ARCHIVES):
            _archive(item, found)
        else:
            plain[item.member or item.path] = item
    for group in _groups(list(plain)):
        found.units.append(Unit([plain[name] for name in group]))


def _groups(names: list[str]) -> Iterator[list[str]]:
    """Files of one folder that are read together."""
    if len(names) <= SMALL_FOLDER:
        if names:
            yield names
        return
    from loganalyze.timeline.group import stem

    # One string a stem costs a third of a list; no file name holds the separator.
    stems: dict[str, str] = {}
    for name in names:
        whose = stem(name)
        stems[whose] = f"{stems[whose]}\0{name}" if whose in stems else name
    homes = {whose: home for whose in stems if (home := _home(whose, stems))}
    extra: dict[str, list[str]] = {}
    for whose, home in homes.items():
        while home in homes:
            home = homes[home]
        extra.setdefault(home, []).append(whose)
    for whose, joined in stems.items():
        if whose in homes:
            continue
        group = joined.split("\0")
        for other in extra.get(whose, ()):
            group += stems[other].split("\0")
        if len(group) > SMALL_FOLDER and whose in extra:
            for each in (whose, *extra[whose]):
                yield stems[each].split("\0")
        else:
            yield sorted(group)


def _home(whose: str, stems: dict[str, str]) -> str | None:
    """The longest other stem that ``whose`` carries at one end, beside a word: ``run1`` of ``run1_smi``, not of ``run1_2``."""
    from loganalyze.timeline.group import carries

    cuts = [i for i, c in enumerate(whose) if not c.isalnum()]
    for at in reversed(cuts):
        name, rest = whose[:at], whose[at:]
        if name in stems and rest[1:2].isalpha() and carries(whose, name):
            return name
    for at in cuts:
        name, rest = whose[at + 1 :], whose[:at]
        if name in stems and rest[:1].isalpha() and carries(whose, name):
            return name
    return None


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
        folders.setdefault(os.path.dirname(name), []).append(Item(item.path, name, item.stamp, item.tag))
    for members_of in folders.values():
        _units(members_of, found)


def check_jobs(text: str | None) -> int:
    """``--jobs`` as a number; default: one for each core this process may use, at most 32."""
    if text is None:
        usable = getattr(os, "sched_getaffinity", None)
        return min(len(usable(0)) if usable else os.cpu_count() or 1, 32)
    if not is_whole(text) or not 1 <= int(text) <= 256:
        raise UsageError(f"--jobs {text}: give a number from 1 to 256")
    return int(text)

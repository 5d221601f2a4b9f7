"""Run units in order. Rows come out in the order of the units whatever finishes first, so every way of running gives the
same output; what finishes is cached at once; a bounded number of units is on its way, so memory stays flat."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from loganalyze.batch.cache import Cache
from loganalyze.batch.discover import Item, Unit
from loganalyze.batch.row import Row
from loganalyze.batch.runners import Done, Entry, Runner, runner
from loganalyze.batch.work import digest, salt_of, unit_key
from loganalyze.options import Options

# 100 small files a task is where a process pool costs no more than a loop; tasks of one file cost five times as much.
CHUNK_FILES = 100
# About a second of work: what a kill in the middle of a task can cost, and how long a worker may be late at the end.
CHUNK_BYTES = 16 << 20
# Units looked up together.
LOOK = 500
# Units whose rows may wait for an earlier one: enough to keep every worker busy behind a slow file.
WINDOW = 4000
# Larger files are hashed on several threads.
LARGE = 4 << 20


def rows_of(
    units: Iterable[Unit],
    options: Options,
    cache: Cache,
    jobs: int = 1,
    scheduler: str | None = None,
    files: int | None = None,
) -> Iterator[tuple[int, list[Row], list[str]]]:
    """``(files done, rows, the same as JSON lines)`` for every unit, in order. Finished units are cached as they finish.

    ``files``: how many there are, where that is known; few are read without starting processes.
    """
    salt = salt_of(options)
    work = _Work(runner(options, jobs, scheduler, files), cache)
    try:
        index = 0
        for part in _parts(units):
            keys = _keys(part, cache, salt)
            hits = cache.get([k for k in keys if k is not None])
            for unit, key in zip(part, keys, strict=True):
                if key is not None and key in hits:
                    work.known(index, unit, hits[key])
                else:
                    work.todo((index, unit, key))
                index += 1
                if work.full:
                    yield from work.some()
            yield from work.ready()
        yield from work.rest()
    finally:
        work.close()


def _parts(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    rest = iter(units)
    while part := list(islice(rest, LOOK)):
        yield part


class _Work:
    """Units on their way: handed out in chunks, stored as they come back, given on in order."""

    def __init__(self, run: Runner, cache: Cache) -> None:
        self._run, self._cache = run, cache
        self._order: deque[tuple[int, Unit, bool]] = deque()
        self._lines: dict[int, list[str]] = {}
        self._chunk: list[Entry] = []
        self._files = self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether something must come back before more is taken in."""
        return len(self._order) >= WINDOW

    def known(self, index: int, unit: Unit, lines: list[str]) -> None:
        """A unit whose rows the cache knows."""
        self._order.append((index, unit, True))
        self._lines[index] = lines

    def todo(self, entry: Entry) -> None:
        """A unit to analyse; waits when all workers have enough to do."""
        self._order.append((entry[0], entry[1], False))
        self._chunk.append(entry)
        self._files += len(entry[1].items)
        self._bytes += sum(item.stamp[0] for item in entry[1].items if item.stamp is not None and item.member is None)
        if self._files >= CHUNK_FILES or self._bytes >= CHUNK_BYTES:
            self._submit()

    def _submit(self) -> None:
        if self._chunk:
            self._run.submit(self._chunk)
            self._chunk, self._files, self._bytes = [], 0, 0
        self._take(self._run.finished(wait=self._run.busy))

    def _take(self, done: Done) -> None:
        self._cache.put([(key, lines) for _, key, lines in done if key is not None], [])
        self._lines.update((index, lines) for index, _, lines in done)

    def ready(self) -> Iterator[tuple[int, list[Row], list[str]]]:
        """What can be given on now."""
        while self._order and self._order[0][0] in self._lines:
            index, unit, cached = self._order.popleft()
            lines = self._lines.pop(index)
            rows = [json.loads(line) for line in lines]
            if cached:
                lines = _named(rows, lines, unit)
            yield len(unit.items), rows, lines

    def some(self) -> Iterator[tuple[int, list[Row], list[str]]]:
        """Wait until something can be given on."""
        if self._order and self._order[0][0] not in self._lines:
            # The first one may still lie in the chunk that is being filled.
            self._submit()
            while self._order[0][0] not in self._lines:
                self._take(self._run.finished(wait=True))
        yield from self.ready()

    def rest(self) -> Iterator[tuple[int, list[Row], list[str]]]:
        """Wait for everything."""
        self._submit()
        while self._order:
            yield from self.some()

    def close(self) -> None:
        """Stop the workers; what they finished meanwhile is kept."""
        self._take(self._run.close())


def _keys(part: list[Unit], cache: Cache, salt: str) -> list[str | None]:
    """Key of each unit. Only files that the cache does not know by their stat are read for it."""
    known = cache.digests([i.path for unit in part for i in unit.items if i.member is None and i.stamp is not None])
    contents: dict[int, str | None] = {}
    new: list[Item] = []
    for unit in part:
        for item in unit.items:
            entry = known.get(item.path) if item.member is None else None
            if entry is not None and item.stamp is not None and entry[0] == item.stamp:
                contents[id(item)] = entry[1]
            elif unit.error is None:
                new.append(item)
    for item, content in zip(new, _digests(new), strict=True):
        contents[id(item)] = content
    cache.put([], [(item, content) for item in new if (content := contents[id(item)]) is not None])
    return [unit_key(unit, [contents.get(id(item)) for item in unit.items], salt) for unit in part]


def _digests(items: list[Item]) -> list[str | None]:
    large = [item for item in items if item.member is None and item.stamp is not None and item.stamp[0] >= LARGE]
    if len(large) < 2:
        return [digest(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    # Hashing leaves the interpreter free, so threads are enough.
    with ThreadPoolExecutor(4) as pool:
        found = {id(item): content for item, content in zip(large, pool.map(digest, large), strict=True)}
    return [found[id(item)] if id(item) in found else digest(item) for item in items]


def _named(rows: list[Row], lines: list[str], unit: Unit) -> list[str]:
    """Cached rows of equal content found elsewhere carry the other place's names: give them this place's."""
    if len(unit.items) == 1 and all(row["file"] == unit.items[0].name for row in rows):
        return lines
    names = {_base(item.name): item.name for item in unit.items}
    changed = False
    for row in rows:
        name = names.get(_base(str(row["file"])))
        if name is not None and row["file"] != name:
            row["id"] = name + "#" + str(row["id"]).rpartition("#")[2]
            row["file"] = name
            changed = True
    return [json.dumps(row, allow_nan=False) for row in rows] if changed else lines


def _base(name: str) -> str:
    return name.rpartition("!")[2].replace("\\", "/").rpartition("/")[2]

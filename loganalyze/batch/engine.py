"""Run units in order: here, on a process pool, or on a Dask cluster. Rows come out in the order of the units whatever
finishes first, so every way gives the same output; a bounded number of chunks is in flight, so memory stays flat."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from loganalyze.batch.cache import Cache
from loganalyze.batch.discover import Item, Unit
from loganalyze.batch.row import Row
from loganalyze.batch.work import analyse, digest, salt_of, unit_key
from loganalyze.errors import LogAnalyzeError
from loganalyze.options import Options

# 100 files a task is where a process pool costs no more than a loop; single-file tasks cost five times as much.
CHUNK_FILES = 100
# Chunks in flight for each worker: one that it works on and one that waits.
AHEAD = 2
# Below this many files starting processes costs more than it saves.
SMALL = 60

Task = tuple[list[tuple[int, Unit, str | None]], Options, str]
Done = tuple[list[tuple[int, str | None, list[Row]]], list[tuple[Item, str]]]


def run_chunk(task: Task) -> Done:
    """Analyse a chunk: (unit, known digest key or None) -> rows and the digests computed."""
    units, options, salt = task
    results: list[tuple[int, str | None, list[Row]]] = []
    files: list[tuple[Item, str]] = []
    for index, unit, known in units:
        key = known
        if key is None:
            digests = [digest(item) for item in unit.items]
            key = unit_key(unit, digests, salt)
            files += [(i, d) for i, d in zip(unit.items, digests, strict=True) if d is not None]
        results.append((index, key, analyse(unit, options, key or "")))
    return results, files


def rows_of(
    units: list[Unit], options: Options, cache: Cache, jobs: int = 1, scheduler: str | None = None
) -> Iterator[tuple[int, list[Row]]]:
    """``(files done, rows)`` for every unit, in order. Finished units are cached as they finish."""
    salt = salt_of(options)
    known = cache.digests()
    for part in _parts(units):
        keys = [_known_key(unit, known, salt) for _, unit in part]
        hits = cache.get([k for k in keys if k is not None])
        todo = [(i, unit, key) for (i, unit), key in zip(part, keys, strict=True) if key is None or key not in hits]
        fresh = _fresh(todo, options, salt, cache, jobs, scheduler)
        ahead: dict[int, list[Row]] = {}
        for (index, unit), key in zip(part, keys, strict=True):
            if key is not None and key in hits:
                yield len(unit.items), _named(hits[key], unit)
                continue
            while index not in ahead:
                ahead.update(next(fresh))
            yield len(unit.items), ahead.pop(index)
    _stop_pools()


# Units looked up and submitted together: enough to keep every worker busy, few enough to keep memory flat.
PART = 20_000


def _parts(units: list[Unit]) -> Iterator[list[tuple[int, Unit]]]:
    for at in range(0, len(units), PART):
        yield list(enumerate(units[at : at + PART], at))


def _known_key(unit: Unit, known: dict[str, Any], salt: str) -> str | None:
    digests: list[str | None] = []
    for item in unit.items:
        entry = known.get(item.path) if item.member is None else None
        if entry is None or item.stamp is None or entry[0] != item.stamp:
            return None
        digests.append(entry[1])
    return unit_key(unit, digests, salt)


def _named(rows: list[Row], unit: Unit) -> list[Row]:
    """Cached rows of equal content found elsewhere carry the other place's names: give them this place's."""
    import os

    names = {os.path.basename(item.member or item.path): item.name for item in unit.items}
    for row in rows:
        base = os.path.basename(str(row.get("file")).rpartition("!")[2])
        if base in names and row["file"] != names[base]:
            row["id"] = names[base] + "#" + str(row["id"]).rpartition("#")[2]
            row["file"] = names[base]
    return rows


def _fresh(
    todo: list[tuple[int, Unit, str | None]],
    options: Options,
    salt: str,
    cache: Cache,
    jobs: int,
    scheduler: str | None,
) -> Iterator[dict[int, list[Row]]]:
    for done in _execute(_chunks(todo, options, salt), sum(len(u.items) for _, u, _ in todo), jobs, scheduler):
        results, files = done
        cache.put([(key, rows) for _, key, rows in results if key is not None and not _faulty(rows)], files)
        yield {index: rows for index, _, rows in results}


def _faulty(rows: list[Row]) -> bool:
    return any(row.get("error") for row in rows)


def _chunks(todo: list[tuple[int, Unit, str | None]], options: Options, salt: str) -> Iterator[Task]:
    chunk: list[tuple[int, Unit, str | None]] = []
    files = 0
    for entry in todo:
        chunk.append(entry)
        files += len(entry[1].items)
        if files >= CHUNK_FILES:
            yield chunk, options, salt
            chunk, files = [], 0
    if chunk:
        yield chunk, options, salt


def _execute(tasks: Iterator[Task], files: int, jobs: int, scheduler: str | None) -> Iterator[Done]:
    if scheduler is not None:
        yield from _on_cluster(tasks, scheduler)
    elif jobs <= 1 or files <= SMALL:
        yield from map(run_chunk, tasks)
    else:
        yield from _on_pool(tasks, jobs)


_POOLS: dict[int, Any] = {}


def _on_pool(tasks: Iterator[Task], jobs: int) -> Iterator[Done]:
    from concurrent.futures import Future
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    waiting: deque[tuple[Task, Future[Done]]] = deque()
    pool = _POOLS.setdefault(jobs, ProcessPoolExecutor(max_workers=jobs))
    try:
        for task in tasks:
            waiting.append((task, pool.submit(run_chunk, task)))
            if len(waiting) >= jobs * AHEAD:
                yield waiting.popleft()[1].result()
        while waiting:
            yield waiting.popleft()[1].result()
    except BrokenProcessPool:
        # A worker was killed (memory, most likely): what it and the others held is done here, one at a time.
        _POOLS.pop(jobs, None)
        raise LogAnalyzeError(
            "a worker process was killed, perhaps for lack of memory",
            remedy="Run again (finished files are remembered), with fewer --jobs",
        ) from None


def _stop_pools() -> None:
    while _POOLS:
        _POOLS.popitem()[1].shutdown(cancel_futures=True)


def _on_cluster(tasks: Iterator[Task], address: str) -> Iterator[Done]:
    try:
        from distributed import Client
    except ImportError:
        raise LogAnalyzeError(
            "--scheduler needs the extra [cluster]", remedy="pip install 'loganalyze-llm[cluster]'"
        ) from None
    try:
        client = Client(address, timeout="15s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise LogAnalyzeError(f"no Dask scheduler answers: {error}", path=address, remedy="Check the address") from None
    try:
        workers = max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)
        waiting: deque[Any] = deque()
        for task in tasks:
            # A worker that dies in a task is replaced by another up to 10 times; pure=False: no key by content.
            waiting.append(client.submit(run_chunk, task, pure=False, retries=10))
            if len(waiting) >= workers * AHEAD * 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        client.close(timeout=5)

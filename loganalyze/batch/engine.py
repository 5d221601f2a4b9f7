"""Run units in order: here, on a process pool, or on a Dask cluster. Rows come out in the order of the units whatever
finishes first, so every way gives the same output; a bounded number of chunks is in flight, so memory stays flat."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import Any

from loganalyze.batch.cache import Cache
from loganalyze.batch.discover import Item, Unit
from loganalyze.batch.row import Row
from loganalyze.batch.work import analyse, digest, salt_of, unit_key
from loganalyze.errors import LogAnalyzeError
from loganalyze.faults import open_files_left
from loganalyze.options import Options

# 100 files a task is where a process pool costs no more than a loop; single-file tasks cost five times as much.
CHUNK_FILES = 100
# Chunks in flight for each worker: one that it works on and one that waits.
AHEAD = 2
# Below this many files starting processes costs more than it saves.
SMALL = 60

# Descriptors of this process (streams, cache, spool, outputs, a file being read) and for each worker (pipes, sentinels).
FILES_HERE, FILES_A_WORKER = 40, 8

Task = tuple[list[tuple[int, Unit, str | None]], Options]
Known = dict[str, tuple[tuple[int, int, int], str]]
Done = list[tuple[int, str | None, list[Row]]]


def run_chunk(task: Task) -> Done:
    """Analyse a chunk: (number, unit, key) -> (number, key, rows)."""
    units, options = task
    return [(index, key, analyse(unit, options, key or "")) for index, unit, key in units]


def rows_of(
    units: list[Unit], options: Options, cache: Cache, jobs: int = 1, scheduler: str | None = None
) -> Iterator[tuple[int, list[Row]]]:
    """``(files done, rows)`` for every unit, in order. Finished units are cached as they finish."""
    salt = salt_of(options)
    known = cache.digests()
    for part in _parts(units):
        keys = _keys(part, known, cache, salt)
        hits = cache.get([k for k in keys if k is not None])
        todo = [(i, unit, key) for (i, unit), key in zip(part, keys, strict=True) if key is None or key not in hits]
        fresh = _fresh(todo, options, cache, jobs, scheduler)
        ahead: dict[int, list[Row]] = {}
        for (index, unit), key in zip(part, keys, strict=True):
            if key is not None and key in hits:
                yield len(unit.items), _named(hits[key], unit)
                continue
            while index not in ahead:
                ahead.update(next(fresh))
            yield len(unit.items), ahead.pop(index)


# Units looked up and submitted together: enough to keep every worker busy, few enough to keep memory flat.
PART = 20_000


def _parts(units: list[Unit]) -> Iterator[list[tuple[int, Unit]]]:
    for at in range(0, len(units), PART):
        yield list(enumerate(units[at : at + PART], at))


def _keys(part: list[tuple[int, Unit]], known: Known, cache: Cache, salt: str) -> list[str | None]:
    """Key of each unit. Only files that the cache does not know by their stat are read for it."""
    new: list[tuple[Item, str]] = []
    keys: list[str | None] = []
    for _, unit in part:
        digests: list[str | None] = []
        for item in unit.items:
            content = _known(item, known)
            if content is None and unit.error is None:
                content = digest(item)
                new += [(item, content)] if content is not None else []
            digests.append(content)
        keys.append(unit_key(unit, digests, salt))
    cache.put([], new)
    return keys


def _known(item: Item, known: Known) -> str | None:
    entry = known.get(item.path) if item.member is None else None
    return entry[1] if entry is not None and item.stamp is not None and entry[0] == item.stamp else None


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
    todo: list[tuple[int, Unit, str | None]], options: Options, cache: Cache, jobs: int, scheduler: str | None
) -> Iterator[dict[int, list[Row]]]:
    for done in _execute(_chunks(todo, options), sum(len(u.items) for _, u, _ in todo), jobs, scheduler):
        cache.put([(key, rows) for _, key, rows in done if key is not None and not _faulty(rows)], [])
        yield {index: rows for index, _, rows in done}


def _faulty(rows: list[Row]) -> bool:
    return any(row.get("error") for row in rows)


def _chunks(todo: list[tuple[int, Unit, str | None]], options: Options) -> Iterator[Task]:
    chunk: list[tuple[int, Unit, str | None]] = []
    files = 0
    for entry in todo:
        chunk.append(entry)
        files += len(entry[1].items)
        if files >= CHUNK_FILES:
            yield chunk, options
            chunk, files = [], 0
    if chunk:
        yield chunk, options


def _execute(tasks: Iterator[Task], files: int, jobs: int, scheduler: str | None) -> Iterator[Done]:
    if scheduler is not None:
        yield from _on_cluster(tasks, scheduler)
    elif (jobs := _affordable(jobs)) <= 1 or files <= SMALL:
        yield from map(run_chunk, tasks)
    else:
        yield from _on_pool(tasks, jobs)


def _affordable(jobs: int) -> int:
    """At most as many processes as the limit of open files has room for."""
    limit = open_files_left()
    return jobs if limit is None else min(jobs, (limit - FILES_HERE) // FILES_A_WORKER)


def _begin_worker() -> None:
    """A worker leaves Ctrl-C to its parent, dies of SIGTERM without a word, and ends when its parent was killed."""
    import multiprocessing
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _on_pool(tasks: Iterator[Task], jobs: int) -> Iterator[Done]:
    from concurrent.futures import Future
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    waiting: deque[Future[Done]] = deque()
    pool = ProcessPoolExecutor(max_workers=jobs, initializer=_begin_worker)
    try:
        for task in tasks:
            waiting.append(pool.submit(run_chunk, task))
            if len(waiting) >= jobs * AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise LogAnalyzeError(
            "a worker process was killed, perhaps for lack of memory",
            remedy="Run again (finished files are remembered), with fewer --jobs",
        ) from None
    except (KeyboardInterrupt, SystemExit, OSError):
        # Told to stop: do not wait for chunks that are under way.
        for worker in list((getattr(pool, "_processes", None) or {}).values()):
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


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

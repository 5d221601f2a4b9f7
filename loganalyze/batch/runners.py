"""Where chunks of units run: in this process, on a pool of processes, or on a Dask cluster (``cluster``).

A unit that kills its process costs one row: what was on its way is then run again one unit at a time.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Any, Protocol

from loganalyze.batch.discover import Unit
from loganalyze.batch.plain import changed
from loganalyze.batch.work import KILLED, error_row, lines_of
from loganalyze.batch.worker import begin, unstopped
from loganalyze.errors import LogAnalyzeError
from loganalyze.options import Options

# Below this many files starting processes costs more than it saves.
SMALL = 60
# Chunks in flight for each worker: one that it works on and one that waits.
AHEAD = 2
# So many workers killed one after the other without a result in between: it is not the files.
MOST_KILLED = 8
# Descriptors of this process (streams, cache, spool, outputs, a file being read) and for each worker (pipes, sentinels).
FILES_HERE, FILES_A_WORKER = 40, 8
# Without any result for so long it is asked whether a worker is gone.
STALL_S = 2.0

# As the last column of a row stands in its JSON; quotes inside of texts are escaped there.
NO_ERROR = '"error": null'

Entry = tuple[int, Unit, str | None]
"""Number, unit and the key of its content, None when it must not be remembered."""
Done = list[tuple[int, str | None, list[str]]]
"""Number, key to remember it under (or None), JSON lines of its rows."""


def run_chunk(entries: list[Entry], options: Options) -> Done:
    """Analyse units one after the other."""
    done: Done = []
    for index, unit, key in entries:
        lines = lines_of(unit, options, key or "")
        # Faults may pass; and a file that changed meanwhile no longer has the content that the key tells.
        passing = any(NO_ERROR not in line for line in lines) or any(changed(item) for item in unit.items)
        done.append((index, None if passing else key, lines))
    return done


def killed(entry: Entry) -> tuple[int, None, list[str]]:
    """What a unit comes to that kills every process that reads it."""
    import json

    index, unit, key = entry
    return index, None, [json.dumps(error_row(unit.items[0], KILLED, key or ""))]


class Runner(Protocol):
    """Takes chunks, gives back what is finished in any order."""

    @property
    def busy(self) -> bool:
        """Whether every worker has enough to do."""

    def submit(self, chunk: list[Entry]) -> None:
        """Hand out a chunk."""

    def finished(self, wait: bool) -> Done:
        """What has finished; with ``wait`` at least one chunk unless nothing is on its way. Raises LogAnalyzeError."""

    def close(self) -> Done:
        """Stop; returns what had finished."""


def runner(options: Options, jobs: int, scheduler: str | None, files: int | None) -> Runner:
    """The runner for what was asked."""
    if scheduler is not None:
        from loganalyze.batch.cluster import Cluster

        return Cluster(options, scheduler)
    jobs = _affordable(jobs)
    if jobs <= 1 or (files is not None and files <= SMALL):
        return Here(options)
    return Pool(options, jobs)


def _affordable(jobs: int) -> int:
    """At most as many processes as the limit of open files has room for."""
    from loganalyze.faults import open_files_left

    limit = open_files_left()
    return jobs if limit is None else min(jobs, (limit - FILES_HERE) // FILES_A_WORKER)


class Here:
    """Runs chunks in this process, one unit at a time."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._waiting: deque[Entry] = deque()

    @property
    def busy(self) -> bool:
        """A few units are at hand."""
        return len(self._waiting) > 1

    def submit(self, chunk: list[Entry]) -> None:
        """Keep it until it is asked for."""
        self._waiting += chunk

    def finished(self, wait: bool) -> Done:
        """Run some, so that what is done is stored and shown as it goes."""
        done: Done = []
        while wait and self._waiting and len(done) < 20:
            done += run_chunk([self._waiting.popleft()], self._options)
        return done

    def close(self) -> Done:
        """Nothing runs."""
        return []


class Pool:
    """Runs chunks on processes of this machine; started when the first chunk comes."""

    def __init__(self, options: Options, jobs: int) -> None:
        self._options, self._jobs = options, jobs
        self._pool: Any = None
        self._flying: dict[Any, list[Entry]] = {}
        self._kills = 0

    @property
    def busy(self) -> bool:
        """Every process has a chunk and a spare one."""
        return len(self._flying) >= self._jobs * AHEAD

    def submit(self, chunk: list[Entry]) -> None:
        """Hand out a chunk."""
        if self._pool is None:
            self._start(self._jobs)
        from concurrent.futures.process import BrokenProcessPool

        try:
            with unstopped():
                future = self._pool.submit(run_chunk, chunk, self._options)
        except BrokenProcessPool:
            from concurrent.futures import Future

            future = Future()
            future.set_exception(BrokenProcessPool())
        self._flying[future] = chunk

    def _start(self, jobs: int) -> None:
        from concurrent.futures import ProcessPoolExecutor

        self._pool = ProcessPoolExecutor(jobs, initializer=begin)

    def finished(self, wait: bool) -> Done:
        """See ``Runner``."""
        from concurrent.futures.process import BrokenProcessPool

        if not self._flying:
            return []
        ended = self._ended(self._flying, wait)
        done: Done = []
        broken = False
        for future in ended:
            try:
                done += future.result()
                del self._flying[future]
                self._kills = 0
            except BrokenProcessPool:
                broken = True
        return done + self._one_by_one() if broken else done

    def _one_by_one(self) -> Done:
        """A process was killed. Which unit did it is not known: run all that were on their way alone, each in turn."""
        from concurrent.futures import wait as wait_for
        from concurrent.futures.process import BrokenProcessPool

        wait_for(self._flying)
        done: Done = []
        again: list[Entry] = []
        for future, chunk in self._flying.items():
            try:
                done += future.result()
            except BrokenProcessPool:
                again += chunk
        self._flying = {}
        for entry in again:
            try:
                if self._pool is None:
                    self._start(1)
                done += self._alone(entry)
                self._kills = 0
            except BrokenProcessPool:
                self._stop()
                done.append(self._again(entry))
        self._stop()
        return done

    def _again(self, entry: Entry) -> Any:
        """Once more in a fresh process: the first one may have been killed for another's sake."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            self._start(1)
            (found,) = self._alone(entry)
            self._kills = 0
            return found
        except BrokenProcessPool:
            self._stop()
            self._kills += 1
            if self._kills >= MOST_KILLED:
                raise LogAnalyzeError(
                    "worker processes are killed again and again, perhaps for lack of memory",
                    remedy="Run again (finished files are remembered), with fewer --jobs",
                ) from None
            return killed(entry)

    def _alone(self, entry: Entry) -> Done:
        with unstopped():
            future = self._pool.submit(run_chunk, [entry], self._options)
        self._ended([future])
        found: Done = future.result()
        return found

    def _ended(self, futures: Any, wait: bool = True) -> Any:
        """Those of ``futures`` that are done; with ``wait`` at least one, also where a worker was killed while it sent."""
        from concurrent.futures import FIRST_COMPLETED
        from concurrent.futures import wait as wait_for

        while True:
            done = wait_for(futures, STALL_S if wait else 0, FIRST_COMPLETED).done
            if done or not wait:
                return done
            if any(process.exitcode is not None for process in list((self._pool._processes or {}).values())):
                self._break()

    def _break(self) -> None:
        """Kill the workers. The pool's own thread would wait for ever for the rest of what one has sent by half: it
        meets the end of it once the last end for writing, this process's own, is closed."""
        results = getattr(self._pool, "_result_queue", None)
        for process in list((self._pool._processes or {}).values()):
            process.terminate()
        with contextlib.suppress(AttributeError, OSError):
            results._writer.close()  # type: ignore[union-attr]

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def close(self) -> Done:
        """Stop the processes without waiting for what they do; what had finished is returned."""
        done: Done = []
        for future in self._flying:
            if future.done() and not future.cancelled() and future.exception() is None:
                done += future.result()
        if self._flying and self._pool is not None:
            self._break()
        if self._pool is not None:
            self._pool.shutdown(wait=not self._flying, cancel_futures=True)
            self._pool = None
        self._flying = {}
        return done

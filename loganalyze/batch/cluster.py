"""Chunks of units on a Dask cluster, the extra ``[cluster]``: workers that read the same paths or URLs as this machine.

Dask gives a task whose worker died to another one, and gives up on it after a few deaths. Tasks that merely waited on such
a worker are counted with it, so what Dask gave up on is run again one unit at a time with nothing beside it.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from loganalyze import __version__
from loganalyze.batch.runners import AHEAD, Done, Entry, killed, run_chunk
from loganalyze.errors import LogAnalyzeError
from loganalyze.options import Options

# A cluster's answer takes longer than a pipe's: more chunks wait at each worker's threads.
SPARE = 2
# A worker restarts in a few seconds; after a minute without any worker none is coming.
NO_WORKER_S = 60.0
POLL_S = 1.0
CONNECT = "15s"
# Other faults of a worker (no package, no memory, lost connection): so many tries on others.
TRIES = 3


class WrongVersion(Exception):  # noqa: N818 - travels from worker to client by name
    """A worker has another version of this program, whose rows could differ."""


def run_remote(version: str, entries: list[Entry], options: Options) -> Done:
    """``run_chunk`` on a worker that has the same version."""
    if version != __version__:
        raise WrongVersion(f"worker has {__version__}, this machine {version}")
    return run_chunk(entries, options)


class Cluster:
    """Runs chunks on the workers of a scheduler."""

    def __init__(self, options: Options, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise LogAnalyzeError(
                "--scheduler needs the extra [cluster]", remedy="pip install 'loganalyze-llm[cluster]'"
            ) from None
        self._options, self._address = options, address
        self._quiet()
        try:
            make: Any = distributed.Client
            self._client: Any = make(address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error) or f"nothing within {CONNECT}"
            raise LogAnalyzeError(
                f"no Dask scheduler answers: {reason}",
                path=address,
                remedy="Check the address, for example tcp://host:8786",
            ) from None
        self._flying: dict[Any, tuple[list[Entry], int]] = {}
        self._seen = time.monotonic()
        self._looked = 0.0
        self._threads = 1
        # Workers that can run this program, once some were found that cannot.
        self._good: list[str] | None = None

    @staticmethod
    def _quiet() -> None:
        """Its messages about lost workers are for those who run the cluster."""
        import logging

        for name in (
            "distributed",
            "distributed.client",
            "distributed.comm",
            "distributed.core",
            "tornado.application",
        ):
            logging.getLogger(name).setLevel(logging.CRITICAL)

    @property
    def busy(self) -> bool:
        """Every thread of every worker has a chunk and spare ones."""
        self._look()
        return len(self._flying) >= self._threads * AHEAD * SPARE

    def submit(self, chunk: list[Entry]) -> None:
        """Hand out a chunk."""
        self._hand_out(chunk, 1)

    def _hand_out(self, chunk: list[Entry], tried: int) -> Any:
        # pure=False: equal chunks are not one task. Retries are counted here, where the worker that failed is known.
        future = self._client.submit(run_remote, __version__, chunk, self._options, pure=False, workers=self._good)
        self._flying[future] = chunk, tried
        return future

    def finished(self, wait: bool) -> Done:
        """See ``Runner``."""
        done: Done = []
        suspects: list[Entry] = []
        while self._flying:
            ended = self._ended(POLL_S if wait else 0.0)
            for future in ended:
                suspects += self._result(future, done)
            if suspects:
                return done + self._one_by_one(suspects)
            if ended or not wait:
                return done
        return done

    def _ended(self, seconds: float) -> list[Any]:
        """Futures that ended; waits for the first of them, but not for ever when no worker is left."""
        import distributed

        wait_for: Any = distributed.wait
        ended = [future for future in self._flying if future.done()]
        if not ended and seconds:
            try:
                with self._client.as_current():
                    ended = list(wait_for(list(self._flying), timeout=seconds, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                self._look()
        return ended

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < POLL_S:
            return
        self._looked = now
        if self._client.status != "running":
            raise self._lost("the connection to the scheduler was lost")
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        if workers:
            self._seen = now
            self._threads = sum(max(int(w.get("nthreads", 1)), 1) for w in workers.values())
        elif self._flying and now - self._seen > NO_WORKER_S:
            raise self._lost(f"no worker for {NO_WORKER_S:.0f} s")

    def _lost(self, reason: str) -> LogAnalyzeError:
        return LogAnalyzeError(
            reason, path=self._address, remedy="Start workers and run again (finished files are remembered)"
        )

    def _result(self, future: Any, done: Done) -> list[Entry]:
        """Adds what ``future`` brought to ``done``; returns the units that have to be run alone."""
        from distributed import KilledWorker

        chunk, tried = self._flying.pop(future)
        try:
            done += future.result()
        except KilledWorker:
            return chunk
        except LogAnalyzeError:
            raise
        except Exception as error:
            self._failed(error, chunk, tried)
        return []

    def _failed(self, error: Exception, chunk: list[Entry], tried: int) -> None:
        """Try again elsewhere: a worker may lack the package or the memory, or have gone with its result."""
        if self._client.status != "running":
            raise self._lost("the connection to the scheduler was lost") from None
        if tried < TRIES and self._leave_out():
            self._hand_out(chunk, tried + 1)
            return
        reason = f"workers fail: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        remedy = f"Install loganalyze-llm {__version__} on every worker, with the same Python packages"
        raise LogAnalyzeError(reason, path=self._address, remedy=remedy) from None

    def _leave_out(self) -> bool:
        """Ask each worker for its version and use those that have ours from now on; whether there are any."""
        try:
            answers = self._client.run(_version, on_error="return")
        except Exception:
            # A worker that goes while it is asked; the next try asks again.
            return True
        good = [address for address, answer in answers.items() if answer == __version__]
        self._good = good if len(good) < len(answers) else None
        return bool(good)

    def _one_by_one(self, suspects: list[Entry]) -> Done:
        """Nothing else may be on its way: a death would be counted against it."""
        from distributed import KilledWorker

        done: Done = []
        while self._flying:
            for future in self._ended(POLL_S):
                suspects += self._result(future, done)
        for entry in sorted(suspects, key=lambda e: e[0]):
            future = self._hand_out([entry], TRIES)
            while not future.done():
                self._ended(POLL_S)
            chunk, _ = self._flying.pop(future)
            try:
                done += future.result()
            except KilledWorker:
                done.append(killed(chunk[0]))
            except Exception as error:
                self._failed(error, chunk, TRIES)
        return done

    def close(self) -> Done:
        """Leave the cluster; what runs there is cancelled, what had finished is returned."""
        done: Done = []
        # A cluster that is gone cannot be asked, and must not hide why we leave.
        with contextlib.suppress(Exception):
            for future in self._flying:
                if future.status == "finished":
                    done += future.result(timeout=5)
            self._client.cancel(list(self._flying))
        self._flying = {}
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        return done


def _version() -> str:
    return __version__

"""How a process of the pool starts and ends: signals are its parent's business, and it never outlives it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def unstopped() -> Iterator[None]:
    """Keep signals waiting while processes start: they inherit that, so that none is met before it knows what to do."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    old = signal.pthread_sigmask(signal.SIG_BLOCK, _stops())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _stops() -> set[int]:
    """Signals that end a program in order."""
    import signal

    return {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}


def begin() -> None:
    """In a worker: leave Ctrl-C to the parent, and end with it however and whenever it ends."""
    import signal
    import threading
    from multiprocessing import connection, parent_process

    for number in _stops():
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _stops())
    parent = parent_process()
    if sys.platform == "win32" or parent is None:
        return

    def watch() -> None:
        # The parent's number would not do: it may have been killed before it could be asked for.
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

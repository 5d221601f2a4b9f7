"""Run one command: find its module, turn errors into messages and exit statuses."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def execute(name: str, values: dict[str, Any]) -> int:
    """Exit status of command ``name`` with parsed ``values``. Errors meant for the user are raised as they are."""
    if name in ("batch", "record") or values.get("output"):
        _stop_in_order()
    module = import_module(f"loganalyze.cli.commands.{name}")
    return int(module.run(values))


def _stop_in_order() -> None:
    """SIGTERM and SIGHUP end the program as Ctrl-C does: unfinished files are removed, workers and captures stopped."""
    import signal
    import threading

    def stop(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup ignores SIGHUP on purpose; only the main thread may ask for signals.
        if number is None or threading.current_thread() is not threading.main_thread():
            continue
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)

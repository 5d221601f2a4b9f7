"""Small collections of logs, the command line as a process, and processes that end with the test."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHAPES = ("b6173_27b_ngl20", "base_8b_r1", "np4_8req", "b6173_oom_load")


def make_logs(folder: Path, count: int) -> Path:
    """``count`` different logs that lie in one folder and are old enough to be remembered by their time."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [(ROOT / "fixtures" / "corpus" / name / "run.log").read_text("utf-8") for name in SHAPES]
    old = time.time() - 3600
    for number in range(count):
        path = folder / f"r{number:04d}.log"
        path.write_text(f"{texts[number % len(texts)]}\n# {number}\n", "utf-8")
        os.utime(path, (old, old))
    return folder


def environment(cache: Path | None, **more: str) -> dict[str, str]:
    """Variables for a child: this program, a cache of its own."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    known = {**os.environ, "PYTHONPATH": path, "COLUMNS": "100", **more}
    return known if cache is None else {**known, "LOGANALYZE_CACHE": str(cache)}


def command(*words: object) -> list[str]:
    """``loganalyze batch`` with these words."""
    return [sys.executable, "-m", "loganalyze", "batch", *map(str, words)]


def batch(*words: object, cache: Path | None, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ``loganalyze batch`` to its end."""
    return subprocess.run(
        command(*words),
        env=environment(cache, **more),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        check=False,
    )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a condition; the limit only ends a test that hangs."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError("what was waited for did not come")
        time.sleep(0.05)


def stop(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """End a process that was started in a session of its own, with its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)

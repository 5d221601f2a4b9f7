"""Run a command and take every capture that this machine offers, all with clocks, into one new folder.

``run.log`` holds the command's output, each line behind its epoch time (the ``ts '%.s'`` shape); captures are what the
machine's own tools print: ``smi.csv`` and ``dmon.txt`` (nvidia-smi), ``vmstat.txt`` (procps), ``vm_stat.txt`` (macOS),
``shared.csv`` (Windows GPU process memory). ``time.txt`` is written in the words of GNU ``time -v``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from loganalyze.errors import LogAnalyzeError
from loganalyze.faults import remedy

SMI_FIELDS = (
    "timestamp,index,name,memory.used,memory.total,utilization.gpu,utilization.memory,power.draw,temperature.gpu,"
    "clocks.current.sm,clocks.max.sm,pcie.link.gen.current,pcie.link.width.current"
)
WINDOWS_COUNTERS = (r"\GPU Process Memory(*)\Dedicated Usage", r"\GPU Process Memory(*)\Shared Usage")
MAX_LINE = 1 << 20


def collectors(interval_s: float) -> dict[str, list[str]]:
    """File name -> command of each capture tool found on this machine."""
    whole = str(max(1, round(interval_s)))
    wanted = {
        "smi.csv": ["nvidia-smi", f"--query-gpu={SMI_FIELDS}", "--format=csv", "-lms", str(round(interval_s * 1000))],
        "dmon.txt": ["nvidia-smi", "dmon", "-s", "pucvmet", "-o", "DT", "-d", whole],
    }
    if sys.platform == "win32":
        wanted["shared.csv"] = ["typeperf", *WINDOWS_COUNTERS, "-si", whole]
    elif sys.platform == "darwin":
        wanted["vm_stat.txt"] = ["vm_stat", whole]
    else:
        wanted["vmstat.txt"] = ["vmstat", "-t", whole]
    return {name: command for name, command in wanted.items() if shutil.which(command[0])}


def record(command: list[str], folder: Path, interval_s: float, echo: IO[bytes] | None) -> int:
    """Run ``command``; returns its exit status (negative: killed by that signal). ``echo`` gets its output too.

    Raises LogAnalyzeError when the folder exists, the command cannot be started, or the log cannot be written; then
    the command is stopped. Nothing is left behind of a command that never ran.
    """
    if shutil.which(command[0]) is None:
        raise LogAnalyzeError(f"cannot start {command[0]}: no such program", remedy="Check the name and PATH")
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise LogAnalyzeError("folder exists", path=str(folder), remedy="Choose another with -o") from None
    except OSError as error:
        reason = f"cannot be made: {error.strerror}"
        raise LogAnalyzeError(reason, path=str(folder), remedy=remedy(error)) from None
    try:
        return _record(command, folder, interval_s, echo)
    except OSError as error:
        reason = f"the recording was stopped: {error.strerror or error}"
        raise LogAnalyzeError(reason, path=str(folder), remedy=remedy(error)) from None


def _record(command: list[str], folder: Path, interval_s: float, echo: IO[bytes] | None) -> int:
    running: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
    try:
        for name, tool in collectors(interval_s).items():
            target: IO[bytes] = (folder / name).open("wb")
            running.append((_start(tool, target), target))
        return _run(command, folder, echo)
    finally:
        for process, target in running:
            _stop(process)
            target.close()


def _start(tool: list[str], target: IO[bytes]) -> subprocess.Popen[bytes]:
    # English words and dots: what the capture says must not depend on this machine's language.
    environment = {**os.environ, "LC_ALL": "C"}
    # A session of its own keeps Ctrl-C for the recorded command; tools are stopped after it.
    return subprocess.Popen(
        tool,
        stdin=subprocess.DEVNULL,
        stdout=target,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _run(command: list[str], folder: Path, echo: IO[bytes] | None) -> int:
    # Lines carry wall time, which captures share; the length must not follow a clock that is set meanwhile.
    start, begin = time.time(), time.monotonic()
    with (folder / "run.log").open("wb") as log:
        log.write(os.fsencode(f"{start:.6f} $ {shlex.join(command)}\n"))
        log.flush()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise LogAnalyzeError(
                f"cannot start {command[0]}: {error.strerror}", remedy="Check the name and PATH"
            ) from None
        assert process.stdout is not None
        try:
            status = _copy(process, process.stdout, log, echo)
        except BaseException:
            _stop(process)
            raise
    (folder / "time.txt").write_bytes(os.fsencode(_times(command, time.monotonic() - begin, status)))
    return status


def _copy(process: subprocess.Popen[bytes], output: IO[bytes], log: IO[bytes], echo: IO[bytes] | None) -> int:
    while True:
        try:
            for line in iter(lambda: output.readline(MAX_LINE), b""):
                log.write(f"{time.time():.6f} ".encode() + line + (b"" if line.endswith(b"\n") else b"\n"))
                log.flush()
                echo = _echoed(line, echo)
            return process.wait()
        except KeyboardInterrupt:
            # The command gets the same Ctrl-C from the terminal and prints its timings on the way out.
            continue


def _echoed(line: bytes, echo: IO[bytes] | None) -> IO[bytes] | None:
    """Show ``line``; None once nobody looks any more (``| head``, a full disk): the recording goes on."""
    try:
        if echo is not None:
            echo.write(line)
            echo.flush()
        return echo
    except (OSError, ValueError):
        return None


def _times(command: list[str], wall_s: float, status: int) -> str:
    rows = [f'Command being timed: "{shlex.join(command)}"']
    if sys.platform != "win32":
        import resource

        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Linux counts KiB, macOS bytes.
        rss_kib = used.ru_maxrss // 1024 if sys.platform == "darwin" else used.ru_maxrss
        rows += [
            f"User time (seconds): {used.ru_utime:.2f}",
            f"System time (seconds): {used.ru_stime:.2f}",
        ]
        tail = [
            f"Maximum resident set size (kbytes): {rss_kib}",
            f"Major (requiring I/O) page faults: {used.ru_majflt}",
            f"Minor (reclaiming a frame) page faults: {used.ru_minflt}",
        ]
    else:
        tail = []
    hours, rest = divmod(wall_s, 3600)
    minutes, seconds = divmod(rest, 60)
    clock = f"{int(hours)}:{int(minutes):02d}:{seconds:05.2f}" if hours >= 1 else f"{int(minutes)}:{seconds:05.2f}"
    rows.append(f"Elapsed (wall clock) time (h:mm:ss or m:ss): {clock}")
    killed = [f"Command terminated by signal {-status}"] if status < 0 else []
    return "\n".join(killed + ["\t" + row for row in (*rows, *tail, f"Exit status: {max(status, 0)}")]) + "\n"

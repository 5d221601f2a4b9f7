"""Start-up against bare Python: ``python benchmarks/startup.py [--python VENV/bin/python] [--rounds N] [--json]``.

Compares whole processes of an installed copy with ``python -c pass`` of the same interpreter: a ``classify`` of a
llama-server log of 100 KB in which nearly every line is read, and of one of 7 KB; ``--help`` and ``--version``. Without
``--python`` the package is installed into a fresh virtual environment in a temporary directory. Rows are interleaved;
figures are ratios of medians. ``cpu`` is user and system time of the process, ``wall`` what a user waits.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOAD = ROOT / "fixtures" / "corpus" / "2gpu_27b_lv4" / "run.log"
LOG_BYTES = 100_000
ROUNDS = 15
SMALL = ROOT / "fixtures" / "corpus" / "np4_8req" / "run.log"
GOALS = {"classify 100 KB": 5.0, "classify 7 KB": 5.0, "--help": 4.5, "--version": 4.5}
REQUEST = """\
{} I slot get_availabl: id  0 | task -1 | selected slot by LRU, t_last = -1
{} I slot launch_slot_: id  0 | task {task} | processing task, is_child = 0
{} I slot print_timing: id  0 | task {task} | n_gen =    137, tg =  45.39 t/s, tg_3s =  45.39 t/s
{} I slot print_timing: id  0 | task {task} | prompt eval time =     165.74 ms /   131 tokens (    1.27 ms per token,   790.40 tokens per second)
{} I slot print_timing: id  0 | task {task} |        eval time =    2141.76 ms /    96 tokens (   22.31 ms per token,    44.82 tokens per second)
{} I slot print_timing: id  0 | task {task} |       total time =    2307.50 ms /   227 tokens
{} I slot print_timing: id  0 | task {task} |    graphs reused =         94
{} I slot      release: id  0 | task {task} | stop processing: n_tokens = 227, truncated = 0
"""  # noqa: E501


def write_log(path: Path) -> None:
    """A llama-server log of ``LOG_BYTES``: a real load on two cards, then requests one after the other."""
    load = LOAD.read_text(encoding="utf-8").partition("system_info:")[0].rpartition("\n")[0] + "\n"
    parts = [load]
    size, task = len(load), 0
    while size < LOG_BYTES:
        start = 5.0 + 2.5 * task
        at = [start, start + 0.01, start + 2.2, *(start + 2.31 + i / 1e5 for i in range(5))]
        parts.append(REQUEST.format(*map(stamp, at), task=task * 97))
        size += len(parts[-1])
        task += 1
    path.write_text("".join(parts), encoding="utf-8")


def stamp(t_s: float) -> str:
    """``minutes.seconds.milliseconds.microseconds`` as llama.cpp writes it, behind a leading zero."""
    us = round(t_s * 1e6)
    return f"{us // 60_000_000}.{us // 1_000_000 % 60:02d}.{us // 1000 % 1000:03d}.{us % 1000:03d}"


def install(folder: Path) -> Path:
    """Interpreter of a fresh virtual environment with the package compiled in it."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = next(p for p in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if p.exists())
    subprocess.run([str(python), "-m", "pip", "install", "-q", str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    return python


def compiled(python: Path) -> None:
    """Have bytecode of the installed package, as an installer leaves it."""
    code = "import compileall, os, loganalyze; compileall.compile_dir(os.path.dirname(loganalyze.__file__), quiet=1)"
    subprocess.run([str(python), "-c", code], check=True, env=environment(), cwd=python.parent)


def environment() -> dict[str, str]:
    """Without settings that make Python import the checkout or leave bytecode alone."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}


def children_cpu() -> float:
    """User and system seconds of all processes waited for; ``os.times`` counts in hundredths only."""
    try:
        import resource
    except ImportError:
        return os.times().children_user + os.times().children_system
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a process."""
    start, before = time.perf_counter(), children_cpu()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), cwd=folder)
    wall, cpu = time.perf_counter() - start, children_cpu() - before
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return wall, cpu


def measure(python: Path, rounds: int, folder: Path) -> list[dict[str, object]]:
    """Ratios to bare Python, CPU and wall."""
    write_log(folder / "run.log")
    tool = python.parent / "loganalyze"
    rows = {
        "bare": [str(python), "-c", "pass"],
        "classify 100 KB": [str(tool), "classify", "run.log"],
        "classify 7 KB": [str(tool), "classify", str(SMALL)],
        "--help": [str(tool), "--help"],
        "--version": [str(tool), "--version"],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for number in range(rounds + 1):
        for name, command in rows.items():
            taken = timed(command, folder)
            if number:  # the first round fills the page cache
                times[name].append(taken)
    found: list[dict[str, object]] = []
    for at, kind in enumerate(("wall", "cpu")):
        bare = statistics.median(t[at] for t in times["bare"])
        for name, goal in GOALS.items():
            value = statistics.median(t[at] for t in times[name]) / bare
            found.append({"measure": f"{name} {kind}", "value": round(value, 2), "goal": goal, "unit": "x bare python"})
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", type=Path, help="interpreter of an environment in which the package is installed")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Not resolved: the link is what makes it the environment's interpreter.
        python = Path(os.path.abspath(args.python)) if args.python else install(folder / "venv")
        compiled(python)
        rows = measure(python, max(1, args.rounds), folder)
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['measure']:<22}{row['value']:>7}x bare python   goal <= {row['goal']}x")


if __name__ == "__main__":
    main()

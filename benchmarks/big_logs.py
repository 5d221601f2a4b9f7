"""``classify`` of large logs against ripgrep: time, memory, lines a second.

``python benchmarks/big_logs.py [--sizes 10,100,1024] [--shares 0.001,0.03] [--requests 1000000] [--rounds 5] [--json]``

Sizes are MiB. Rows of one log are interleaved, figures are medians; ripgrep (``rg -a -c -F``, the one named by ``--rg``)
looks for the words of a llama-server log's timing and loading lines. Peak memory is that of the kernel for the process.
``--lnav`` and ``--others`` add other log readers where they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from big_log_text import REQUEST_LINES, write

ROOT = Path(__file__).resolve().parent.parent
WORDS = (
    "prompt eval time =", " eval time =", "total time =", "load time =", "sample time =", "offloaded ", "buffer size =",
    "graph splits", "failed to allocate", "out of memory", "n_ctx ", "KV self size", "draft acceptance", "truncated = 1",
    "context shift", "llama_perf_context", "ggml_cuda_init:", "graphs reused",
)  # fmt: skip
GOALS = {0.001: 1.4, 0.03: 3.0}
GOAL_MB = 64.0


class Result:
    """Wall and CPU seconds and peak memory of one process."""

    def __init__(self, command: list[str], stdin: Path | None) -> None:
        start = time.perf_counter()
        source = subprocess.Popen(["cat", str(stdin)], stdout=subprocess.PIPE) if stdin else None
        with subprocess.Popen(
            command,
            stdin=source.stdout if source else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            if source is not None and source.stdout is not None:
                source.stdout.close()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if source is not None:
            source.wait()
        self.wall = time.perf_counter() - start
        self.cpu = used.ru_utime + used.ru_stime
        self.mb = used.ru_maxrss * 1024 / 1e6
        self.ok = process.returncode in (0, 1)


def run_all(rows: dict[str, tuple[list[str], Path | None]], rounds: int) -> dict[str, list[Result]]:
    """Results of every row, rows interleaved."""
    found: dict[str, list[Result]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, (command, stdin) in rows.items():
            found[name].append(Result(command, stdin))
    return found


def middle(results: list[Result], name: str) -> float:
    """Median of one figure."""
    return statistics.median(getattr(result, name) for result in results)


class Table:
    """Measures, printed as they come and kept for ``--json``."""

    def __init__(self, quiet: bool) -> None:
        self.rows: list[dict[str, object]] = []
        self._quiet = quiet

    def add(self, measure: str, value: float, unit: str, goal: float | None = None) -> None:
        digits = 2 if value < 100 else 0
        self.rows.append({"measure": measure, "value": round(value, digits), "goal": goal, "unit": unit})
        if not self._quiet:
            told = f"  (goal {goal:g})" if goal is not None else ""
            print(f"{measure:64} {value:12,.{digits}f} {unit}{told}", flush=True)


def against_ripgrep(path: Path, share: float, table: Table, rg: str, python: str, rounds: int) -> None:
    """Ratios and memory of one log, from a file and from a pipe."""
    size = path.stat().st_size
    classify = [python, "-m", "loganalyze", "classify"]
    find = [rg, "-a", "-c", "-F", *(part for word in WORDS for part in ("-e", word))]
    found = run_all(
        {
            "rg": ([*find, str(path)], None),
            "classify": ([*classify, str(path)], None),
            "cat | rg": (find, path),
            "cat | classify": ([*classify, "-"], path),
        },
        rounds,
    )
    label = f"{size / 2**20:.0f} MiB, {share:.1%} interesting"
    goal = GOALS.get(share) if size > 900 << 20 else None
    for start in ("", "cat | "):
        ours, theirs = found[f"{start}classify"], found[f"{start}rg"]
        if not all(result.ok for result in ours + theirs):
            sys.exit(f"{label}: a command failed")
        where = "pipe" if start else "file"
        table.add(f"{label}, {where}: wall / rg -c", middle(ours, "wall") / middle(theirs, "wall"), "x", goal)
        table.add(f"{label}, {where}: CPU / rg -c", middle(ours, "cpu") / middle(theirs, "cpu"), "x")
        table.add(f"{label}, {where}: throughput", size / middle(ours, "wall") / 1e6, "MB/s")
        table.add(f"{label}, {where}: peak memory", max(result.mb for result in ours), "MB", GOAL_MB)
    table.add(f"{label}: rg -c throughput", size / middle(found["rg"], "wall") / 1e6, "MB/s")


def many_requests(path: Path, count: int, table: Table, python: str) -> None:
    """A log of nothing but requests."""
    made = write(path, int(count * REQUEST_LINES * 108.5), 1.0)
    size = path.stat().st_size
    result = Result([python, "-m", "loganalyze", "classify", str(path)], None)
    if not result.ok:
        sys.exit("a command failed")
    label = f"{made:,} requests in {size / 2**20:.0f} MiB"
    table.add(f"{label}: peak memory", result.mb, "MB", GOAL_MB)
    table.add(f"{label}: interesting lines a CPU second", made * REQUEST_LINES / result.cpu, "lines/s")


def others(path: Path, table: Table, python: str, rounds: int) -> None:
    """Other readers of logs on the same file, where they are installed."""
    size = path.stat().st_size
    rows: dict[str, tuple[list[str], Path | None]] = {
        "loganalyze classify": ([python, "-m", "loganalyze", "classify", str(path)], None)
    }
    lnav = shutil.which("lnav")
    if lnav:
        count = ";SELECT count(*) FROM all_logs WHERE log_body LIKE '%eval time =%'"
        rows["lnav -n, lines counted"] = ([lnav, "-n", "-c", count, str(path)], None)
        rows["lnav -n, lines filtered"] = ([lnav, "-n", "-c", ":filter-in eval time =", str(path)], None)
    drain = (
        "import sys; from drain3 import TemplateMiner; m = TemplateMiner()\n"
        "for line in open(sys.argv[1], errors='replace'): m.add_log_message(line)"
    )
    if subprocess.run([python, "-c", "import drain3"], capture_output=True, check=False).returncode == 0:
        rows["drain3, templates mined"] = ([python, "-c", drain, str(path)], None)
    for name, results in run_all(rows, rounds).items():
        label = f"{size / 2**20:.0f} MiB, {name}"
        if not all(result.ok for result in results):
            print(f"{label}: failed", file=sys.stderr)
            continue
        table.add(f"{label}: throughput", size / middle(results, "wall") / 1e6, "MB/s")
        table.add(f"{label}: peak memory", max(result.mb for result in results), "MB")


def main() -> None:
    """Make logs, measure, print."""
    parser = argparse.ArgumentParser(description="classify of large logs against ripgrep")
    parser.add_argument("--sizes", default="10,100,1024", help="MiB, with commas (10240 takes minutes)")
    parser.add_argument("--shares", default="0.001,0.03", help="parts of lines that are of requests")
    parser.add_argument("--requests", type=int, default=1_000_000, help="requests of the log of requests; 0: none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rg", default=shutil.which("rg"))
    parser.add_argument("--python", default=sys.executable, help="interpreter that has loganalyze installed")
    parser.add_argument("--folder", help="where the logs are made (default: the folder for temporary files)")
    parser.add_argument("--others", action="store_true", help="compare 100 MiB with lnav and drain3")
    parser.add_argument("--json", action="store_true", help="print a JSON list of measures")
    asked = parser.parse_args()
    if asked.python == sys.executable:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    table = Table(asked.json)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = Path(folder) / "run.log"
        for size in [int(part) for part in asked.sizes.split(",") if part]:
            for share in [float(part) for part in asked.shares.split(",")]:
                write(path, size << 20, share)
                if asked.rg:
                    against_ripgrep(path, share, table, asked.rg, asked.python, asked.rounds if size < 4096 else 1)
        if asked.others:
            write(path, 100 << 20, 0.001)
            others(path, table, asked.python, min(asked.rounds, 3))
        if asked.requests:
            many_requests(path, asked.requests, table, asked.python)
    if asked.json:
        print(json.dumps(table.rows, indent=1))


if __name__ == "__main__":
    main()

"""Scan against ripgrep: ``python benchmarks/scan.py [MIB]`` makes logs of that size (256) and prints ratios.

Each figure is the median of five rounds, rows interleaved; ripgrep is left out where it is not installed. All rows
read the same file, which is in the page cache, and look for the same words. ``scan`` rows are whole processes too.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = (
    "prompt eval time =", " eval time =", "total time =", "load time =", "sample time =", "offloaded ", "buffer size =",
    "graph splits", "failed to allocate", "out of memory", "n_ctx ", "KV self size", "draft acceptance", "truncated = 1",
    "context shift", "llama_perf_context", "ggml_cuda_init:", "graphs reused",
)  # fmt: skip
# ``ru_maxrss`` of a child starts with that of its parent, so the figure of the kernel is read.
_PEAK = "next(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM'))"
_SCAN = """
import sys
sys.path.insert(0, sys.argv[1])
from loganalyze.scan import open_source, scan, all_lines
words = [w.encode() for w in sys.argv[4:]]
with open_source(sys.argv[2]) as opened:
    count = 0
    for line in all_lines(opened) if sys.argv[3] == "all" else scan(opened, words):
        count += 1
print(count, opened.source.lines, PEAK)
""".replace("PEAK", _PEAK)


def noise(number: int) -> str:
    """A line without any of the words; lengths and content as in a server log."""
    body = f"slot update_slots: id  {number % 4} | task {number} | n_past = {number % 9973}, progress = 0.{number % 997:03d}"
    return body + " cache prompt batch decode request" * (number % 5)


def prefix(number: int, kind: str) -> str:
    """The wrapper of a line."""
    stamp = f"{number // 600000}.{number // 10000 % 60:02d}.{number // 10 % 1000:03d}.{number % 1000:03d} I "
    if kind == "journald":
        clock = f"{number // 3600000 % 24:02d}:{number // 60000 % 60:02d}:{number // 1000 % 60:02d}"
        return f"Nov 30 {clock} host llama-server[4211]: {stamp}"
    return stamp if kind == "llama" else ""


def write_log(path: Path, size: int, every: int, kind: str) -> None:
    """A log in which one line in ``every`` holds a word."""
    chunk: list[str] = []
    for number in range(40_000):
        if number % every == every // 2:
            head = f"prompt eval time = {number % 10000:10.2f} ms / {number % 5000:5d} tokens"
            text = f"{head} ( 0.24 ms per token, {400 + number % 100}.74 tokens per second)"
        else:
            text = noise(number)
        chunk.append(prefix(number, kind) + text + "\n")
    data = "".join(chunk).encode()
    with path.open("wb") as out:
        for _ in range(max(1, size // len(data))):
            out.write(data)


def timed(command: list[str], stdin: Path | None = None) -> tuple[float, float]:
    """Wall and CPU seconds of a process; ``stdin`` is sent through ``cat`` and a pipe, which counts too."""
    start, before = time.perf_counter(), os.times()
    if stdin is None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    else:
        with subprocess.Popen(["cat", str(stdin)], stdout=subprocess.PIPE) as cat:
            subprocess.run(command, stdin=cat.stdout, stdout=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def scan_command(target: str, mode: str) -> list[str]:
    return [sys.executable, "-c", _SCAN, str(ROOT), target, mode, *WORDS]


def compare(name: str, path: Path, rg: str | None, rounds: int = 5) -> None:
    """Time all rows on one file and print them."""
    size = path.stat().st_size
    rg_command = [rg, "-c", "-a", "-F", *(part for word in WORDS for part in ("-e", word))] if rg else []
    rows: dict[str, tuple[list[str], Path | None]] = {"scan": (scan_command(str(path), "some"), None)}
    rows["cat | scan"] = (scan_command("-", "some"), path)
    if rg:
        rows = {"rg -c": ([*rg_command, str(path)], None), "cat | rg -c": (rg_command, path), **rows}
    times: dict[str, list[tuple[float, float]]] = {row: [] for row in rows}
    for _ in range(rounds):
        for row, (command, stdin) in rows.items():
            times[row].append(timed(command, stdin))
    for row, values in times.items():
        wall, cpu = median(values)
        base = times.get("cat | rg -c" if row.startswith("cat") else "rg -c")
        ratio = f"{wall / median(base)[0]:5.2f} x rg wall {cpu / median(base)[1]:5.2f} x rg cpu" if base else ""
        print(f"{name:22} {row:12} {wall * 1000:8.0f} ms {size / wall / 1e9:6.2f} GB/s  {ratio}")


def median(values: list[tuple[float, float]]) -> tuple[float, float]:
    """Medians of wall and of CPU time."""
    return statistics.median(v[0] for v in values), statistics.median(v[1] for v in values)


def peak(path: Path | None) -> float:
    """Peak memory in MiB of a scan, or of Python alone."""
    bare = "print(" + _PEAK + ")"
    command = scan_command(str(path), "some") if path else [sys.executable, "-c", bare]
    words = subprocess.run(command, capture_output=True, check=True).stdout.split()
    return int(words[-1]) / 1024


def rates(path: Path, name: str) -> None:
    """Candidate lines a second inside one process, where every line is a candidate."""
    code = _SCAN.replace("count = 0", "import time; t = time.perf_counter(); count = 0").replace(
        "print(count", "print(round(count / (time.perf_counter() - t))); raise SystemExit; (count"
    )
    command = [sys.executable, "-c", code, str(ROOT), str(path), "some", " time ="]
    best = max(int(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(3))
    print(f"{name:22} {best:12,} candidate lines/s")


def main() -> None:
    """Make logs, measure, print."""
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    rg = shutil.which("rg")
    print(f"{os.cpu_count()} cpus, Python {sys.version.split()[0]}, {mib} MiB, ripgrep {'yes' if rg else 'no'}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.log"
        for name, every in (("0.1 % interesting", 1000), ("3 % interesting", 33)):
            write_log(path, mib << 20, every, "llama")
            compare(name, path, rg)
            if sys.platform == "linux":
                print(f"{name:22} peak memory {peak(path) - peak(None):.1f} MiB above bare Python")
        for kind in ("plain", "llama", "journald"):
            write_log(path, 32 << 20, 1, kind)
            rates(path, f"all lines, {kind}")


if __name__ == "__main__":
    main()

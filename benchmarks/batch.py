"""Batch: logs a second on a first and on a cached run, and peak memory of the parent and its workers.

    python benchmarks/batch.py [-n 10000] [--jobs N] [--json] [--keep FOLDER] [--flat 1000 10000]
    python benchmarks/batch.py --generate FOLDER -n 10000

Logs of about 15 KB are varied from the real shapes in fixtures: other speeds, more requests, more loader lines.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHAPES = (
    "corpus/b6173_8b_r1/run.log",
    "corpus/b6173_27b_ngl20/run.log",
    "corpus/2gpu_27b_lv4/run.log",
    "corpus/np4_8req/run.log",
    "corpus/base_8b_r1/run.log",
    "corpus/swap_nommap_8b_4/run.log",
    "llama_cpp/10_b6170_2025-08-14_llama-server_cuda.log",
    "llama_cpp/12_b8475_2026-03-22_llama-completion_cuda.log",
    "llama_cpp/b6173_np4_run.log",
    "llama_cpp/06_b2640_2024-04-10_server_cuda_text_tid.log",
)
SIZE = 15_000
FOLDER_FILES = 1000
_TIME = re.compile(r"((?:prompt eval|eval|total) time =\s*)([\d.]+)( ms /\s*)(\d+)( (?:tokens|runs) *)(\([^)]*\))?")
_SPARE = "load_tensors: layer {:3d} assigned to device CUDA0, is_swa = 0\n"


def varied(text: str, seed: int) -> str:
    """A log of the same shape with other speeds, of about ``SIZE`` characters."""
    rng = random.Random(seed)
    slower = rng.choice((1.0, 1.0, 1.0, 1.0, 2.5)) * rng.uniform(0.97, 1.03)

    def timing(match: re.Match[str]) -> str:
        took, count = float(match[2]) * slower, int(match[4])
        rates = f"({took / max(count, 1):8.2f} ms per token, {1000 * count / max(took, 1e-3):8.2f} tokens per second)"
        return f"{match[1]}{took:.2f}{match[3]}{count}{match[5]}{rates if match[6] else ''}"

    lines = _TIME.sub(timing, text).splitlines(keepends=True)
    at = next((i for i, line in enumerate(lines) if "buffer size" in line or "llama_completion:" in line), 1)
    need = max(0, SIZE - sum(map(len, lines))) // len(_SPARE.format(0))
    return "".join(lines[:at]) + "".join(_SPARE.format(i) for i in range(need)) + "".join(lines[at:])


def generate(folder: Path, count: int, first: int = 0, flat: bool = False) -> None:
    """``count`` logs below ``folder``, ``FOLDER_FILES`` a folder, or all in it with ``flat``."""
    texts = [(ROOT / "fixtures" / name).read_text("utf-8", "replace") for name in SHAPES]
    old = time.time() - 3600
    for number in range(first, first + count):
        place = folder if flat else folder / f"host{number // FOLDER_FILES:03d}"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"run{number:06d}.log"
        path.write_text(varied(texts[number % len(texts)], number), "utf-8")
        os.utime(path, (old, old))


def _peak(pid: int, peaks: dict[str, int]) -> None:
    """Highest resident sets (bytes) of a process and of its children so far; the kernel's own high-water mark."""

    def of(number: str) -> int:
        try:
            text = Path(f"/proc/{number}/status").read_text()
        except OSError:
            return 0
        found = re.search(r"VmHWM:\s+(\d+) kB", text)
        return int(found[1]) * 1024 if found else 0

    peaks["parent"] = max(peaks["parent"], of(str(pid)))
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        peaks["worker"] = max(peaks["worker"], of(child))


def measure(folder: Path, cache: Path, jobs: str | None, out: Path) -> dict[str, float]:
    """Wall and CPU seconds and peak resident sets of one ``loganalyze batch`` to Parquet."""
    argv = [sys.executable, "-m", "loganalyze", "batch", str(folder), "-o", str(out), "--force"]
    argv += ["--jobs", jobs] if jobs else []
    environment = {**os.environ, "LOGANALYZE_CACHE": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    peaks = {"parent": 0, "worker": 0}
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.02):
            _peak(process.pid, peaks)

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    wall = time.perf_counter() - start
    stop.set()
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code != 0:
        raise SystemExit(f"batch ended with status {code}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, **peaks}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-n", type=int, default=10_000)
    parser.add_argument("--jobs")
    parser.add_argument("--json", action="store_true", help="a list of measure, value, goal, unit")
    parser.add_argument("--flat", type=int, nargs="*", help="also peak memory at these numbers of logs")
    parser.add_argument("--generate", type=Path, help="only write the logs there")
    parser.add_argument("--keep", type=Path, help="work here and leave it")
    args = parser.parse_args()
    if args.generate:
        generate(args.generate, args.n)
        return
    work = args.keep or Path(tempfile.mkdtemp(prefix="batch-"))
    figures: list[dict[str, object]] = []

    def told(name: str, value: float, goal: object, unit: str) -> None:
        better = "lower" if unit == "MiB" else "higher"
        figures.append({"measure": name, "value": round(value, 2), "goal": goal, "unit": unit, "better": better})

    try:
        logs = work / f"logs{args.n}"
        if not logs.exists():
            generate(logs, args.n)
        cache = work / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        first = measure(logs, cache, args.jobs, work / "a.parquet")
        again = [measure(logs, cache, args.jobs, work / "b.parquet") for _ in range(3)]
        if (work / "a.parquet").read_bytes() != (work / "b.parquet").read_bytes():
            raise SystemExit("the cached run wrote other rows")
        cached = min(again, key=lambda m: m["wall"])
        told(f"batch, first run of {args.n} logs", args.n / first["wall"], 3000, "logs/s")
        told(f"batch, cached run of {args.n} logs", args.n / cached["wall"], None, "logs/s")
        told("batch, first run over cached run, wall", first["wall"] / cached["wall"], 10, "x")
        told("batch, first run over cached run, CPU", first["cpu"] / cached["cpu"], 10, "x")
        told(f"batch, peak of the parent, {args.n} logs", first["parent"] / 2**20, None, "MiB")
        told(f"batch, peak of the largest worker, {args.n} logs", first["worker"] / 2**20, None, "MiB")
        told(f"batch, peak of the parent, cached, {args.n} logs", cached["parent"] / 2**20, None, "MiB")
        for count in args.flat or ():
            place = work / f"logs{count}"
            if not place.exists():
                generate(place, count)
            got = measure(place, work / f"cache{count}", args.jobs, work / "c.parquet")
            told(f"batch, peak of the parent, {count} logs", got["parent"] / 2**20, None, "MiB")
            told(f"batch, peak of the largest worker, {count} logs", got["worker"] / 2**20, None, "MiB")
    finally:
        if not args.keep:
            shutil.rmtree(work, ignore_errors=True)
    if args.json:
        print(json.dumps(figures, indent=1))
        return
    for figure in figures:
        goal = "" if figure["goal"] is None else f"  (goal {figure['goal']})"
        print(f"{figure['measure']:56} {figure['value']:>10} {figure['unit']}{goal}")


if __name__ == "__main__":
    main()

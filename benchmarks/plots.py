"""A picture of millions of samples against what it cannot do without: matplotlib loaded, the capture read.

    python benchmarks/plots.py [--rows 5000000] [--rounds 3] [--capture FILE] [--json]

Generates an nvidia-smi CSV (``--capture``: takes one) and runs, in turn, each in a process of its own: ``loganalyze plot``,
and loading matplotlib plus reading the capture. Prints the median of the ratios (wall and CPU time) and the peak memory of
``plot``. ``--json`` prints a list of ``{"measure", "value", "goal", "unit"}``.
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

RATIO_GOAL, PEAK_GOAL_MB = 2.0, 500.0
NEEDED = """
import sys
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from loganalyze.api import read
read([sys.argv[1]])
"""


def spent(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory (MB) of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status not in (0, 256):  # 1: judged, and not healthy
        raise SystemExit(f"{command[1:4]}: status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def measure(capture: Path, folder: Path, rows: int, rounds: int) -> list[dict[str, object]]:
    """Measures with their goals."""
    needed = [sys.executable, "-c", NEEDED, str(capture)]
    picture = str(folder / "picture.png")
    drawn = [sys.executable, "-m", "loganalyze", "plot", str(capture), "--force", "-o", picture]
    pairs = [(spent(needed), spent(drawn)) for _ in range(rounds)]
    what = f"picture of {rows / 1e6:g} M samples"
    against = "x matplotlib + reading"
    wall, cpu = (statistics.median(d[i] / n[i] for n, d in pairs) for i in (0, 1))
    peak = statistics.median(d[2] for _, d in pairs)
    return [
        {"measure": f"{what}, wall", "value": round(wall, 2), "goal": RATIO_GOAL, "unit": against},
        {"measure": f"{what}, CPU", "value": round(cpu, 2), "goal": RATIO_GOAL, "unit": against},
        {"measure": f"{what}, peak memory", "value": round(peak), "goal": PEAK_GOAL_MB, "unit": "MB"},
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--capture", type=Path, help="an nvidia-smi CSV of that many rows")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.capture is None:
            from telemetry import generate

            generate(folder, args.rows)
        found = measure(args.capture or folder / "smi.csv", folder, args.rows, max(1, args.rounds))
    if args.json:
        print(json.dumps(found, indent=1))
        return
    for row in found:
        print(f"{row['measure']:<44}{row['value']:>8} {row['unit']:<24} goal <= {row['goal']}")


if __name__ == "__main__":
    main()

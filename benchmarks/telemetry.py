"""Time and memory of reading large telemetry captures, against polars reading plain numbers.

    python benchmarks/telemetry.py [--rows 5000000] [--rounds 3] [--only smi dmon vmstat] [--json]

Generates captures and a plain numeric CSV of the same rows in a temporary folder and reads each in a process of its own,
in turn. Prints medians: seconds, ratios to the plain CSV (wall and CPU time) and the peak resident memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 1, 12, 34, 56, tzinfo=UTC)
KINDS = ("smi", "dmon", "vmstat")
NAMES = {"smi": "nvidia-smi CSV", "dmon": "dmon", "vmstat": "vmstat"}
RATIO_GOAL, PEAK_GOAL_MB = 3.0, 300.0
SMI_HEADER = (
    "timestamp, index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%], utilization.memory [%], "
    "power.draw [W], clocks.current.sm [MHz], temperature.gpu, pstate"
)
DMON_HEADER = (
    "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk     fb   bar1 \n"
    "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %      %      %    MHz    MHz     MB     MB "
)
VMSTAT_HEADER = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC"
)


def values(rows: int) -> Iterator[tuple[datetime, int, int, int, float, int, int]]:
    """Stamp, memory, two loads, watts, clock, temperature."""
    dice = random.Random(1)
    for i in range(rows):
        when = START + timedelta(milliseconds=1003 * i)
        used, busy, memory = dice.randrange(24000), dice.randrange(101), dice.randrange(101)
        yield when, used, busy, memory, dice.uniform(20, 450), dice.choice((210, 2505, 2520)), dice.randrange(30, 80)


def generate(folder: Path, rows: int) -> None:
    """Write ``plain_*.csv`` and the captures of ``rows`` rows."""
    names = [n for kind in KINDS for n in (f"plain_{kind}", kind)]
    files = {n: (folder / f"{n}.csv").open("w", encoding="ascii", newline="\n") for n in names}
    files["smi"].write(SMI_HEADER + "\n")
    files["plain_smi"].write("t,index,used,total,busy,memory,watts,clock,temp,pstate\n")
    files["plain_dmon"].write("t,index,w,c,m,sm,mem,enc,dec,jpg,ofa,mclk,pclk,fb,bar1\n")
    files["plain_vmstat"].write("r,b,swpd,free,buff,cache,si,so,bi,bo,in,cs,us,sy,id,wa,st,t\n")
    for i, (when, used, busy, memory, watts, clock, temp) in enumerate(values(rows)):
        epoch, ms = int(when.timestamp()), when.microsecond // 1000
        files["smi"].write(
            f"{when:%Y/%m/%d %H:%M:%S}.{ms:03d}, 0, NVIDIA GeForce RTX 4090, {used} MiB, 24564 MiB, {busy} %, {memory} %, "
            f"{watts:.2f} W, {clock} MHz, {temp}, P2\n"
        )
        files["plain_smi"].write(f"{epoch}{ms:03d},0,{used},24564,{busy},{memory},{watts:.2f},{clock},{temp},2\n")
        if i % 40 == 0:
            files["dmon"].write(DMON_HEADER + "\n")
        files["dmon"].write(
            f" {when:%Y%m%d}   {when:%H:%M:%S}  {0:5d}{watts:7.0f}{temp:7d}      -{busy:7d}{memory:7d}      0      0      0      0"
            f"  10501{clock:7d}{used:7d}     31 \n"
        )
        files["plain_dmon"].write(f"{epoch},0,{watts:.0f},{temp},0,{busy},{memory},0,0,0,0,10501,{clock},{used},31\n")
        if i % 21 == 0:
            files["vmstat"].write(VMSTAT_HEADER + "\n")
        # Kernels count memory in pages of 4 KiB.
        row = (3, 0, 4 * used, 20492496 - 4 * used, 32312, 3692984, busy, memory, 1446, 3510, 341, 490, 57, 7, 35, 0, 1)
        files["vmstat"].write(
            "{:2d} {:2d} {:6d} {:6d} {:6d} {:6d} {:4d} {:4d} {:5d} {:5d} {:4d} {:4d} {:2d} {:2d} {:2d} {:2d} {:2d}".format(
                *row
            )
            + f" {when:%Y-%m-%d %H:%M:%S}\n"
        )
        files["plain_vmstat"].write(",".join(map(str, row)) + f",{epoch}\n")
    for file in files.values():
        file.close()


def read(path: Path) -> int:
    """Rows read from a capture or a plain CSV."""
    if path.name.startswith("plain"):
        import polars as pl

        return len(pl.read_csv(path))
    from loganalyze.formats.capture_reader import read_captures
    from loganalyze.scan import open_source

    with open_source(str(path)) as opened:
        rows = sum(len(c.frame) for c in read_captures(opened) if c.frame is not None)
        assert opened.source.unmatched == 0, opened.source.unread[:3]
    return rows


def child(path: Path) -> None:
    """Read once and report seconds, rows and peak memory (KiB) as JSON."""
    import polars

    _ = polars.DataFrame({"a": [1]})
    start, used = time.perf_counter(), time.process_time()
    rows = read(path)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except ImportError:
        peak = 0
    print(json.dumps({"seconds": seconds, "cpu": cpu, "rows": rows, "peak_mb": peak * 1024 / 1e6}))


def environment() -> dict[str, str]:
    """This checkout, with bytecode kept as an installer leaves it: compiling modules is no part of reading."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return {**own, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}


def measure(paths: tuple[Path, Path], rounds: int) -> dict[str, float]:
    """Medians over ``rounds`` of reading a plain CSV and a capture in turn, each in a fresh process."""
    found: list[list[dict[str, float]]] = [[], []]
    for _ in range(rounds):
        for path, results in zip(paths, found, strict=True):
            command = [sys.executable, __file__, "--child", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment())
            results.append(json.loads(done.stdout))
    plain, capture = found
    pairs = list(zip(plain, capture, strict=True))
    return {
        "rows": capture[0]["rows"],
        "plain_s": statistics.median(r["seconds"] for r in plain),
        "read_s": statistics.median(r["seconds"] for r in capture),
        "ratio": statistics.median(b["seconds"] / a["seconds"] for a, b in pairs),
        "cpu_ratio": statistics.median(b["cpu"] / a["cpu"] for a, b in pairs),
        "peak_mb": statistics.median(r["peak_mb"] for r in capture),
        "plain_mb": statistics.median(r["peak_mb"] for r in plain),
    }


def as_rows(name: str, got: dict[str, float]) -> list[dict[str, object]]:
    """Measures with their goals."""
    what = f"{NAMES[name]}, {got['rows'] / 1e6:g} M rows"
    plain = "x polars plain CSV"
    return [
        {"measure": f"{what}, wall", "value": round(got["ratio"], 2), "goal": RATIO_GOAL, "unit": plain},
        {"measure": f"{what}, CPU", "value": round(got["cpu_ratio"], 2), "goal": RATIO_GOAL, "unit": plain},
        {"measure": f"{what}, peak memory", "value": round(got["peak_mb"]), "goal": PEAK_GOAL_MB, "unit": "MB"},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--folder", type=Path, help="where captures were generated before, or are kept")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not (folder / "vmstat.csv").exists():
            generate(folder, options.rows)
        found = {n: measure((folder / f"plain_{n}.csv", folder / f"{n}.csv"), options.rounds) for n in options.only}
    if options.json:
        print(json.dumps([row for n, got in found.items() for row in as_rows(n, got)], indent=1))
        return
    print(
        f"{'capture':8}{'rows':>10}{'plain s':>9}{'read s':>9}{'wall x':>8}{'CPU x':>8}{'peak MB':>9}{'plain MB':>10}"
    )
    for n, got in found.items():
        print(
            f"{n:8}{got['rows']:10.0f}{got['plain_s']:9.2f}{got['read_s']:9.2f}{got['ratio']:8.2f}{got['cpu_ratio']:8.2f}"
            f"{got['peak_mb']:9.0f}{got['plain_mb']:10.0f}"
        )


if __name__ == "__main__":
    main()

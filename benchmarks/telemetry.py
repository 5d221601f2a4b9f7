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
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

START = int(datetime(2024, 5, 1, 12, 34, 56, tzinfo=UTC).timestamp())
# Distinct rows, a prime so that no pattern of headers repeats with them.
POOL = 4093
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
ZEROS = "      0" * 4
VMSTAT_HEADER = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC"
)


def values() -> list[tuple[int, int, int, float, int, int]]:
    """Memory, two loads, watts, clock, temperature of ``POOL`` rows, which repeat."""
    dice = random.Random(1)
    return [
        (
            dice.randrange(24000), dice.randrange(101), dice.randrange(101), dice.uniform(20, 450),
            dice.choice((210, 2505, 2520)), dice.randrange(30, 80),
        )
        for _ in range(POOL)
    ]  # fmt: skip


def stamps(rows: int) -> Iterator[tuple[int, int, str, str]]:
    """Epoch second and milliseconds, date (``2024/05/01``) and time of day of rows 1.003 s apart."""
    day, date = -1, ""
    for i in range(rows):
        second, ms = divmod(1003 * i, 1000)
        second += START
        if second // 86400 != day:
            day = second // 86400
            date = f"{datetime.fromtimestamp(second, UTC):%Y/%m/%d}"
        minutes, s = divmod(second % 86400, 60)
        h, m = divmod(minutes, 60)
        yield second, ms, date, f"{h:02d}:{m:02d}:{s:02d}"


def generate(folder: Path, rows: int, kind: str) -> None:
    """Write ``plain_KIND.csv`` and the capture of ``rows`` rows."""
    made = {"smi": smi, "dmon": dmon, "vmstat": vmstat}[kind](rows)
    with (
        (folder / f"plain_{kind}.csv").open("w", newline="\n") as plain,
        (folder / f"{kind}.csv").open("w", newline="\n") as capture,
    ):
        while part := list(islice(made, 20_000)):
            plain.write("".join(row for row, _ in part))
            capture.write("".join(row for _, row in part))


def smi(rows: int) -> Iterator[tuple[str, str]]:
    """Rows of the plain CSV and of nvidia-smi's."""
    yield "t,index,used,total,busy,memory,watts,clock,temp,pstate\n", SMI_HEADER + "\n"
    tails = [
        (
            f",0,{used},24564,{busy},{memory},{watts:.2f},{clock},{temp},2\n",
            f", 0, NVIDIA GeForce RTX 4090, {used} MiB, 24564 MiB, {busy} %, {memory} %, {watts:.2f} W, {clock} MHz, {temp}, P2\n",
        )
        for used, busy, memory, watts, clock, temp in values()
    ]
    for i, (second, ms, date, clock) in enumerate(stamps(rows)):
        plain, tail = tails[i % POOL]
        yield f"{second}{ms:03d}{plain}", f"{date} {clock}.{ms:03d}{tail}"


def dmon(rows: int) -> Iterator[tuple[str, str]]:
    """Rows of the plain CSV and of ``nvidia-smi dmon``."""
    yield "t,index,w,c,m,sm,mem,enc,dec,jpg,ofa,mclk,pclk,fb,bar1\n", ""
    tails = [
        (
            f",0,{watts:.0f},{temp},0,{busy},{memory},0,0,0,0,10501,{clock},{used},31\n",
            f"  {0:5d}{watts:7.0f}{temp:7d}      -{busy:7d}{memory:7d}{ZEROS}  10501{clock:7d}{used:7d}     31 \n",
        )
        for used, busy, memory, watts, clock, temp in values()
    ]
    for i, (second, _, date, clock) in enumerate(stamps(rows)):
        plain, tail = tails[i % POOL]
        head = DMON_HEADER + "\n" if i % 40 == 0 else ""
        yield f"{second}{plain}", f"{head} {date.replace('/', '')}   {clock}{tail}"


def vmstat(rows: int) -> Iterator[tuple[str, str]]:
    """Rows of the plain CSV and of ``vmstat -t``."""
    yield "r,b,swpd,free,buff,cache,si,so,bi,bo,in,cs,us,sy,id,wa,st,t\n", ""
    heads = []
    for used, busy, memory, *_ in values():
        # Kernels count memory in pages of 4 KiB.
        row = (3, 0, 4 * used, 20492496 - 4 * used, 32312, 3692984, busy, memory, 1446, 3510, 341, 490, 57, 7, 35, 0, 1)
        widths = (2, 2, 6, 6, 6, 6, 4, 4, 5, 5, 4, 4, 2, 2, 2, 2, 2)
        heads.append((",".join(map(str, row)), " ".join(f"{v:{w}d}" for v, w in zip(row, widths, strict=True))))
    for i, (second, _, date, clock) in enumerate(stamps(rows)):
        plain, head = heads[i % POOL]
        names = VMSTAT_HEADER + "\n" if i % 21 == 0 else ""
        yield f"{plain},{second}\n", f"{names}{head} {date.replace('/', '-')} {clock}\n"


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
        found: dict[str, dict[str, float]] = {}
        for kind in options.only:
            if not (folder / f"{kind}.csv").exists():
                generate(folder, options.rows, kind)
            found[kind] = measure((folder / f"plain_{kind}.csv", folder / f"{kind}.csv"), options.rounds)
            if options.folder is None:
                for name in (f"plain_{kind}.csv", f"{kind}.csv"):
                    (folder / name).unlink()
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

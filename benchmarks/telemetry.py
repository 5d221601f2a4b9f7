"""Time and memory of reading large telemetry captures, against polars reading plain numbers.

    python benchmarks/telemetry.py [--rows 1000000] [--rounds 3]

Generates captures and a plain numeric CSV of the same rows in a temporary folder and reads each in a process of its own.
Prints the best wall time of the rounds, its ratio to the plain CSV and the peak resident memory.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 1, 12, 34, 56, tzinfo=UTC)
BLOCK = 1 << 20
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
    names = ("plain_smi", "smi", "plain_dmon", "dmon", "plain_vmstat", "vmstat")
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


def pieces(path: Path) -> Iterator[bytes]:
    """Blocks of a file that end at line ends."""
    rest = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            cut = block.rfind(b"\n") + 1
            yield rest + block[:cut]
            rest = block[cut:]
    if rest:
        yield rest


def read(path: Path) -> int:
    """Rows read from a capture or a plain CSV."""
    if path.name.startswith("plain"):
        import polars as pl

        return len(pl.read_csv(path))
    from loganalyze.formats.capture_reader import read_blocks
    from loganalyze.model.records import Source

    source = Source(path=str(path))
    rows = sum(len(c.frame) for c in read_blocks(pieces(path), source) if c.frame is not None)
    assert source.unmatched == 0, source.unread[:3]
    return rows


def child(path: Path) -> None:
    """Read once and report seconds, rows and peak memory (KiB) as JSON."""
    import polars

    _ = polars.DataFrame({"a": [1]})
    start = time.perf_counter()
    rows = read(path)
    seconds = time.perf_counter() - start
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except ImportError:
        peak = 0
    print(json.dumps({"seconds": seconds, "rows": rows, "peak_kib": peak}))


def measure(paths: tuple[Path, Path], rounds: int) -> list[dict[str, float]]:
    """Best of ``rounds`` readings of each path, in turn, each in a fresh process."""
    found: list[list[dict[str, float]]] = [[], []]
    for _ in range(rounds):
        for path, results in zip(paths, found, strict=True):
            command = [sys.executable, __file__, "--child", str(path)]
            results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return [min(results, key=lambda r: r["seconds"]) for results in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=["smi", "dmon", "vmstat"])
    parser.add_argument("--child", type=Path)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), options.rows)
        print(
            f"{'capture':8} {'rows':>9} {'MB':>6} {'plain s':>8} {'read s':>8} {'ratio':>6} {'peak MiB':>9} {'plain MiB':>9}"
        )
        for name in options.only:
            path = Path(folder) / f"{name}.csv"
            plain, got = measure((Path(folder) / f"plain_{name}.csv", path), options.rounds)
            print(
                f"{name:8} {got['rows']:9.0f} {path.stat().st_size / 1e6:6.0f} {plain['seconds']:8.2f} {got['seconds']:8.2f} "
                f"{got['seconds'] / plain['seconds']:6.2f} {got['peak_kib'] / 1024:9.0f} {plain['peak_kib'] / 1024:9.0f}"
            )


if __name__ == "__main__":
    main()

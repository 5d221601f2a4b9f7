"""A run of one hour with captures at 1 Hz: cost of ``classify`` and of alignment by the signal.

    python benchmarks/one_hour.py [--python VENV/bin/python] [--rounds 5] [--json]

Generates the log of a llama.cpp server (relative times), nvidia-smi CSV, dmon and vmstat with and without stamps. Measures, in
turn and as the median of the rounds: the wall time of ``classify`` with the stamped captures against
``python -c 'import polars'``, and the CPU time of placing all captures (stamped: the log onto them; without stamps: they
onto the log). Without ``--python`` the package is installed into a fresh environment. ``--json`` prints a list of
``{"measure", "value", "goal", "unit"}``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 30, 21, 56, 5, tzinfo=UTC)
SECONDS = 3600
CLASSIFY_GOAL, ALIGN_GOAL_S = 3.0, 0.3
LEAD_S, LOAD_S = 30.0, 9.0
SMI = (
    "timestamp, index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%], utilization.memory [%], "
    "power.draw [W], temperature.gpu, clocks.current.sm [MHz]"
)
DMON = (
    "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk     fb   bar1   ccpm  rxpci  txpci \n"
    "# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz     MB     MB     MB   MB/s   MB/s "
)
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------{}\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu{}"
)
STAMPED = ("smi.csv", "dmon.txt", "vmstat.txt")
PLAIN = ("smi_plain.csv", "dmon_plain.txt", "vmstat_plain.txt")


def clock(seconds: float) -> str:
    """A time as llama.cpp's log prefix prints it."""
    us = int(seconds * 1e6)
    return f"{us // 60_000_000}.{us // 1_000_000 % 60:02d}.{us // 1000 % 1000:03d}.{us % 1000:03d}"


def server_log(path: Path) -> list[tuple[float, float]]:
    """Write the log; returns when requests were worked on, in seconds of the process."""
    dice = random.Random(1)
    lines = [
        f"{clock(0.02)} I build: 11434 (abcdef0) with GNU 13.3.0 for Linux x86_64",
        f"{clock(0.05)} I srv    load_model: loading model '/models/m27.gguf'",
        f"{clock(LOAD_S)} I main: model loaded",
        f"{clock(LOAD_S)} I main: server is listening on http://127.0.0.1:8080",
    ]
    now, task, busy = LOAD_S + 2.0, 0, []
    while now < SECONDS - LEAD_S * 2 - 60:
        read, tokens = dice.randrange(200, 4000), dice.randrange(100, 900)
        prompt, answer = read * 0.45, tokens * 13.3
        end = now + (prompt + answer) / 1000
        head = f"id  0 | task {task}"
        rates = f"{prompt / read:8.2f} ms per token, {1000 / prompt * read:8.2f} tokens per second)"
        lines += [
            f"{clock(now)} I slot launch_slot_: {head} | processing task, is_child = 0",
            f"{clock(end)} I slot print_timing: {head} | prompt eval time = {prompt:10.2f} ms / {read:5d} tokens ({rates}",
            f"{clock(end)} I slot print_timing: {head} |        eval time = {answer:10.2f} ms / {tokens:5d} tokens "
            f"({answer / tokens:8.2f} ms per token, {1000 / answer * tokens:8.2f} tokens per second)",
            f"{clock(end)} I slot print_timing: {head} |       total time = {prompt + answer:10.2f} ms / "
            f"{read + tokens:5d} tokens",
            f"{clock(end)} I slot      release: {head} | stop processing: n_tokens = {read + tokens}, truncated = 0",
        ]
        busy.append((now, end))
        now, task = end + dice.choice((0.5, 2.0, 8.0, 25.0)), task + 1
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return busy


def generate(folder: Path) -> None:
    """Write ``run.log`` and six captures of one hour into ``folder``."""
    busy = server_log(folder / "run.log")
    dice = random.Random(2)
    end = busy[-1][1]
    out: dict[str, list[str]] = {
        "smi.csv": [SMI],
        "smi_plain.csv": [SMI.removeprefix("timestamp, ")],
        "dmon.txt": [],
        "dmon_plain.txt": [],
        "vmstat.txt": [],
        "vmstat_plain.txt": [],
    }
    dmon_stamped = "\n".join(
        f"{a}{line[1:]}"
        for a, line in zip(("#Date        Time         ", "#YYYYMMDD    HH:MM:SS     "), DMON.split("\n"), strict=True)
    )
    for i in range(SECONDS):
        when, t = START + timedelta(seconds=i * 1.0004), i * 1.0004 - LEAD_S
        work = sum(max(0.0, min(b, t) - max(a, t - 1)) for a, b in busy if a < t and b > t - 1)
        loaded = 0.0 if t < 0 or t > end + 0.5 else min(1.0, t / LOAD_S)
        used, load = int(600 + 21000 * loaded), int(min(99, 97 * work + dice.randrange(3)))
        watts, temp, sm = 75 + 5.2 * load + dice.uniform(-4, 4), 38 + load // 4, 1980 if load else 345
        if i % 40 == 0:
            out["dmon.txt"].append(dmon_stamped)
            out["dmon_plain.txt"].append(DMON)
        if i % 21 == 0:
            out["vmstat.txt"].append(VMSTAT.format(" -----timestamp-----", "                 UTC"))
            out["vmstat_plain.txt"].append(VMSTAT.format("", ""))
        smi = f"0, NVIDIA H200, {used} MiB, 143771 MiB, {load} %, {load // 2} %, {watts:.2f} W, {temp}, {sm} MHz"
        figures = (0, watts, temp, temp + 2, load, load // 2, 0, 0, 0, 0, 3201, sm, used, used, 0, load * 3, load)
        dmon = "".join(f"{int(f):7d}" for f in figures)[2:] + " "
        memory = 99405588 - int(4000 * loaded) * 4 - dice.randrange(500) * 4
        cpu = int(6 * work)
        vmstat = (
            1,
            0,
            0,
            memory,
            30076,
            31868116,
            0,
            0,
            4765 if 0 < t < LOAD_S else 0,
            dice.randrange(90),
            1436 + 900 * cpu,
        )
        vmstat += (1404 + 800 * cpu, cpu, 1, 99 - cpu, 0, 0, 0)
        row = "{:2d} {:2d} {:6d} {:6d} {:6d} {:6d} {:4d} {:4d} {:5d} {:5d} {:4d} {:4d} {:2d} {:2d} {:3d} {:2d} {:2d} {:2d}".format(
            *vmstat
        )
        out["smi.csv"].append(f"{when:%Y/%m/%d %H:%M:%S}.{when.microsecond // 1000:03d}, {smi}")
        out["smi_plain.csv"].append(smi)
        out["dmon.txt"].append(f" {when:%Y%m%d}    {when:%H:%M:%S}   {dmon}")
        out["dmon_plain.txt"].append(dmon)
        out["vmstat.txt"].append(f"{row} {when:%Y-%m-%d %H:%M:%S}")
        out["vmstat_plain.txt"].append(row)
    for name, lines in out.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="ascii")


def wall(command: list[str], folder: Path) -> float:
    """Seconds of a command that must succeed."""
    from startup import timed

    return timed(command, folder)[0]


def aligned(paths: list[str]) -> None:
    """Print the CPU seconds of aligning sources; reading and the loading of numpy and polars are left out."""
    import numpy
    import polars

    from loganalyze import timeline
    from loganalyze.api import read
    from loganalyze.options import Options

    _ = numpy, polars
    align = timeline.align

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = align(*args, **kwargs)
        print(time.process_time() - start)
        return result

    timeline.align = timed
    reading = read(paths, Options())
    if any(c.clock.offset_s is None for run in reading.runs for c in run.captures):
        raise SystemExit("a capture was not placed")


def measure(python: Path, folder: Path, rounds: int) -> list[dict[str, object]]:
    """Measures with their goals."""
    from startup import environment

    log = str(folder / "run.log")
    stamped, plain = ([log, *(str(folder / n) for n in names)] for names in (STAMPED, PLAIN))
    ratios, cpu = [], dict[str, list[float]](stamped=[], plain=[])
    for number in range(rounds + 1):
        bare = wall([str(python), "-c", "import polars"], folder)
        ratio = wall([str(python), "-m", "loganalyze", "classify", *stamped], folder) / bare
        for name, paths in (("stamped", stamped), ("plain", plain)):
            command = [str(python), __file__, "--align", *paths]
            told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment()).stdout
            if number:  # the first round fills the page cache
                cpu[name].append(float(told))
        ratios += [ratio] if number else []
    hour = "log + nvidia-smi + dmon + vmstat, one hour at 1 Hz"
    return [
        {"measure": f"{hour}: classify, wall", "value": round(statistics.median(ratios), 2), "goal": CLASSIFY_GOAL,
         "unit": "x import polars"},
        {"measure": f"{hour}: alignment, stamped, CPU", "value": round(statistics.median(cpu["stamped"]), 3),
         "goal": ALIGN_GOAL_S, "unit": "s"},
        {"measure": f"{hour}: alignment by signal, CPU", "value": round(statistics.median(cpu["plain"]), 3),
         "goal": ALIGN_GOAL_S, "unit": "s"},
    ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", type=Path, help="interpreter of an environment in which the package is installed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    parser.add_argument("--align", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.align:
        aligned(args.align)
        return
    from startup import compiled, install

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = Path(os.path.abspath(args.python)) if args.python else install(folder / "venv")
        compiled(python)
        generate(folder)
        rows = measure(python, folder, max(1, args.rounds))
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['measure']:<78}{row['value']:>8} {row['unit']:<16} goal <= {row['goal']}")


if __name__ == "__main__":
    main()

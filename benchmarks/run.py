"""Run every benchmark, write the table with facts of the machine, and say what got worse since the last one.

``python benchmarks/run.py [NAME...]`` runs the named scripts (all without a name), one after the other so that they do
not disturb each other. Each prints with ``--json`` a list of ``{"measure", "value", "goal", "unit", "better"}``; ``better``
is ``lower`` (the default) or ``higher``. Results go to ``results.json`` and ``RESULTS.md`` beside this file; figures of
scripts that were not run are kept. Exit status 1 when a script failed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS, TABLE = HERE / "results.json", HERE / "RESULTS.md"
SCRIPTS = ("startup", "one_hour", "batch", "plots", "big_logs", "telemetry")
# Medians of ratios on shared machines move by about a tenth from run to run; less is no news.
NOISE = 0.15

Row = dict[str, Any]


def machine() -> dict[str, str]:
    """Facts that a ratio must be read with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0.0
    facts = {
        "date": datetime.date.today().isoformat(),
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    for name in ("polars", "matplotlib", "ahocorasick_rs"):
        facts[name] = _version(name)
    facts["ripgrep"] = _first_line(["rg", "--version"])
    return facts


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _first_line(command: list[str]) -> str:
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return "absent"
    return told.partition("\n")[0].strip()


def measure(name: str) -> list[Row] | None:
    """Rows of one script, None when it failed; its talk goes to stderr."""
    command = [sys.executable, str(HERE / f"{name}.py"), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"{name}: exit status {done.returncode}", file=sys.stderr)
        return None
    rows: list[Row] = json.loads(done.stdout)
    return [{"better": "lower", **row, "script": name} for row in rows]


def worse(row: Row, before: Row | None) -> bool:
    """True when ``row`` is beyond the noise on the wrong side of ``before``."""
    if before is None or not row["value"] or not before["value"]:
        return False
    change = row["value"] / before["value"]
    return change < 1 / (1 + NOISE) if row["better"] == "higher" else change > 1 + NOISE


def reached(row: Row) -> str:
    """``yes``, ``no``, or nothing where there is no goal."""
    goal, value = row.get("goal"), row["value"]
    if goal is None or value is None:
        return ""
    return "yes" if (value >= goal if row["better"] == "higher" else value <= goal) else "no"


def table(results: dict[str, Any]) -> str:
    """The page: facts of the machine, then one line a measure."""
    out = ["# Last results", "", "Written by `python benchmarks/run.py`; ratios and medians, see `README.md`.", ""]
    out += [f"- {name}: {value}" for name, value in results["machine"].items()]
    out += ["", "| script | measure | value | unit | goal | reached |", "|---|---|---|---|---|---|"]
    for row in results["rows"]:
        sign = "≥" if row["better"] == "higher" else "≤"
        goal = "" if row.get("goal") is None else f"{sign} {_short(row['goal'])}"
        cells = (row["script"], row["measure"], _short(row["value"]), row.get("unit") or "", goal, reached(row))
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def _short(value: float | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*SCRIPTS, []], metavar="NAME", help=", ".join(SCRIPTS))
    chosen = parser.parse_args().names or SCRIPTS
    last: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"rows": []}
    before = {(row["script"], row["measure"]): row for row in last["rows"]}
    failed, rows = False, [row for row in last["rows"] if row["script"] not in chosen]
    for name in chosen:
        print(f"{name} …", file=sys.stderr)
        found = measure(name)
        failed |= found is None
        rows += found if found is not None else [row for row in last["rows"] if row["script"] == name]
    rows.sort(key=lambda row: SCRIPTS.index(row["script"]))
    results = {"machine": machine(), "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    TABLE.write_text(table(results), encoding="utf-8")
    print(table(results))
    for row in rows:
        old = before.get((row["script"], row["measure"]))
        if worse(row, old) and old is not None:
            print(f"worse: {row['measure']}: {_short(old['value'])} -> {_short(row['value'])} {row.get('unit') or ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

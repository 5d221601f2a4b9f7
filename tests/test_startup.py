"""What a start of the command line loads, and how many regular expressions it compiles: counts, never times."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "fixtures" / "corpus" / "2gpu_27b_lv4" / "run.log"
# Beside the interpreter's own modules, before anything of ours.
COUNT = """
import sys
before = set(sys.modules)
import json, re
from re import _compiler
compiled = []
real = _compiler.compile
def counting(pattern, flags=0):
    compiled.append(str(pattern))
    return real(pattern, flags)
before |= set(sys.modules)
json.loads("0")
_compiler.compile = counting
from loganalyze.__main__ import status
real_out, sys.stdout = sys.stdout, open(sys.argv[1], "w", encoding="utf-8")
code = status(sys.argv[2:])
sys.stdout.close()
sys.stdout = real_out
print(json.dumps({"code": code, "modules": sorted(set(sys.modules) - before), "compiled": compiled}))
"""
CLASSIFY_MODULES = 160
CLASSIFY_EXPRESSIONS = 90
NEVER = (
    "lark", "polars", "pandas", "numpy", "matplotlib", "jinja2", "asyncio", "multiprocessing", "concurrent", "email",
    "http", "urllib", "logging", "tempfile", "decimal", "fractions", "statistics", "random", "socket", "ssl", "tomllib",
    "hashlib", "sqlite3", "xml", "zipfile", "tarfile", "importlib.metadata", "importlib.resources", "unittest", "pdb",
)  # fmt: skip
# The quick path does without these too; click, which prints help, needs some of them.
NOT_QUICK = (
    "click", "argparse", "typing", "inspect", "dataclasses", "ast", "dis", "shutil", "subprocess", "threading", "gettext",
    "pathlib", "datetime", "zoneinfo", "textwrap", "bz2", "lzma", "zlib", "contextlib", "traceback",
)  # fmt: skip


def started(tmp_path: Path, *argv: str) -> dict[str, Any]:
    """Exit status, modules beyond those of Python and ``re``, and expressions compiled."""
    command = [sys.executable, "-c", COUNT, str(tmp_path / "out.txt"), *argv]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def loaded(found: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return [m for m in found["modules"] if any(m == name or m.startswith(f"{name}.") for name in names)]


def own(found: dict[str, Any]) -> list[str]:
    return [m for m in found["modules"] if m.split(".")[0] == "loganalyze"]


def test_classify_of_a_log_loads_little(tmp_path: Path) -> None:
    found = started(tmp_path, "classify", str(LOG))
    assert found["code"] == 0
    assert loaded(found, NEVER + NOT_QUICK) == []
    assert len(own(found)) <= CLASSIFY_MODULES, own(found)
    assert len(found["compiled"]) <= CLASSIFY_EXPRESSIONS, found["compiled"]


def test_classify_of_a_log_loads_no_other_format(tmp_path: Path) -> None:
    """Formats of captures and of other engines are loaded for their own lines."""
    modules = own(started(tmp_path, "classify", str(LOG)))
    others = ("capture", "nvidia", "vmstat", "sysstat", "dool", "meminfo", "free", "vllm", "sglang", "ollama", "torch")
    assert [m for m in modules if m.startswith("loganalyze.formats.") and m.split(".")[2].startswith(others)] == []
    renderers = ("html", "issue_md", "json_out", "plot", "table_csv", "study_text", "batch_text")
    assert [m for m in modules if m.removeprefix("loganalyze.reports.") in renderers] == []


@pytest.mark.parametrize(("flag", "modules"), [("--help", 12), ("--version", 3)])
def test_help_and_version_load_less(tmp_path: Path, flag: str, modules: int) -> None:
    found = started(tmp_path, flag)
    assert found["code"] == 0
    assert loaded(found, NEVER + (NOT_QUICK if flag == "--version" else ())) == []
    assert len(own(found)) <= modules, own(found)

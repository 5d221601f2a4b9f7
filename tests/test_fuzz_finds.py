"""What fuzzing found, each with the smallest input that showed it, and the targets themselves on some executions."""

from __future__ import annotations

import importlib.util
import sys
from io import BytesIO
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from loganalyze import api
from loganalyze.errors import LogAnalyzeError

FUZZ = Path(__file__).parent / "fuzz"


def read(data: bytes) -> None:
    """Read one source; all its lines are accounted for."""
    _, _, source = api.read_source("run.log", None, BytesIO(data))
    assert source.matched + source.unmatched + source.skipped == source.lines


def test_screen_with_a_question_mark_inside_its_numbers() -> None:
    from loganalyze.scan.screen import first_frame

    assert first_frame(b"\x1b[2J\x1b[1;1Htotal\x1b[1?75Hused\x1b[24;1H") == [b"usedl"]


@pytest.mark.parametrize(
    "text",
    [
        b"[thresholds]\nratio_low = 5\xb0\n",
        b"a = " + b"[" * 5000 + b"\n",
        b"[thresholds]\nratio_min_tokens = " + b"9" * 400 + b"\n",
        b"[thresholds]\nratio_min_tokens = " + b"9" * 5000 + b"\n",
        b"[thresholds]\nratio_min_tokens = 0x" + b"f" * 5000 + b"\n",
        b"[thresholds]\n" + b"a" * 20000 + b" = 1\n",
        b"[thresholds]\nratio_low = nan\n",
    ],
)
def test_settings_that_cannot_be(text: bytes, tmp_path: Path) -> None:
    from loganalyze.cli import common
    from loganalyze.findings.thresholds import Thresholds

    path = tmp_path / "loganalyze.toml"
    path.write_bytes(text)
    with pytest.raises(LogAnalyzeError) as raised:
        Thresholds().with_overrides(common._config(str(path)))
    assert len(str(raised.value)) < 1000


def test_manifest_with_a_nul_in_a_name(tmp_path: Path) -> None:
    from loganalyze.batch.manifest import read_manifest

    path = tmp_path / "runs.toml"
    path.write_text('[[run]]\nfiles = ["y.lo\\u0000g"]\n', encoding="utf-8")
    (unit,) = read_manifest(str(path)).units
    assert unit.items[0].stamp is None


def test_manifest_nested_too_deep(tmp_path: Path) -> None:
    from loganalyze.batch.manifest import read_manifest

    path = tmp_path / "runs.toml"
    path.write_bytes(b"run = " + b"[" * 5000)
    with pytest.raises(LogAnalyzeError):
        read_manifest(str(path))


@pytest.mark.parametrize(
    "data",
    [
        # vmstat with bytes that are no UTF-8
        b" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        b" 1  0      0 100 1 2    0    0     0     0 1 2 1 0 99 0 0 \xc4\xe4\n 1  0      0 100\n",
        # a csv of nvidia-smi without names whose column of indices is negative
        b"2024/05/01 12:34:59.439, 0, NVIDIA GeForce RTX 4090, -1, 24564, 96, 81, 283.14, 2520, 54, P2\n",
        # sadf whose stamp is no UTF-8
        b"# hostname;interval;timestamp;pswpin/s;pswpout/s\nvm;1;2026-11-30 22:02:35 UTC;0.00;0.00\n"
        b"vm;1;2026-11\xe730 22:02:36 UTC;1.00;0.00\n",
        # a whole number of more digits than Python reads
        b"|   "
        + b"9" * 5000
        + b"  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0  On |                  Off |\n",
        b"llama_perf_context_print:       total time =  1.0 ms / " + b"9" * 5000 + b" tokens\n",
    ],
)
def test_lines_that_cannot_be(data: bytes) -> None:
    read(data)


@pytest.fixture(scope="module")
def fuzz() -> tuple[ModuleType, ModuleType]:
    """The modules of ``tests/fuzz``."""
    found = []
    sys.path.insert(0, str(FUZZ))
    try:
        for name in ("targets", "mutate"):
            spec = importlib.util.spec_from_file_location(f"fuzz_{name}", FUZZ / f"{name}.py")
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            found.append(module)
    finally:
        sys.path.remove(str(FUZZ))
    return found[0], found[1]


def test_each_target_takes_changed_seeds(fuzz: tuple[ModuleType, ModuleType]) -> None:
    targets, mutate = fuzz
    random = Random(20260101)
    for target in targets.all_targets().values():
        seeds = list(target.seeds())
        for number in range(6):
            target.run(mutate.mutate(random.choice(seeds), random, seeds, target.limit), number == 0)

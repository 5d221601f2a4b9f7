"""Baselines, sweeps and comparisons: planted studies are judged right, real ones as the field guide says."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from study_generator import Ask, Machine, machine, run

from loganalyze.errors import LogAnalyzeError
from loganalyze.model.records import Run
from loganalyze.studies.baseline import baseline
from loganalyze.studies.compare import compare
from loganalyze.studies.saved import dumps, load
from loganalyze.studies.sweep import sweep

ASK = Ask()
STUDIES = 125


def steady(of: Machine, dice: random.Random) -> bool:
    return baseline([run(of, ASK, dice, index=i) for i in (1, 2, 3)]).usable


def warm_up(of: Machine, dice: random.Random) -> bool:
    found = baseline([run(of, ASK, dice, slow=1.6 if i == 1 else 1.0, index=i) for i in (1, 2, 3, 4)])
    return not found.usable and found.odd_run == 0 and "warm-up" in found.reason


def outlier(of: Machine, dice: random.Random) -> bool:
    odd = dice.choice([2, 3])
    found = baseline([run(of, ASK, dice, slow=1.7 if i == odd else 1.0, index=i) for i in (1, 2, 3, 4)])
    return not found.usable and found.odd_run == odd - 1


def drift(of: Machine, dice: random.Random) -> bool:
    found = baseline([run(of, ASK, dice, noise=0.005, slow=1 + 0.2 * i, index=i) for i in range(4)])
    return not found.usable and found.odd_run is None and "slower than the one before" in found.reason


def unlike(of: Machine, dice: random.Random) -> bool:
    other = replace(ASK, n_ctx=16384)
    found = baseline([run(of, ASK, dice, index=1), run(of, ASK, dice, index=2), run(of, other, dice, index=3)])
    return found.refused and list(found.differences) == ["n_ctx"]


def cached(of: Machine, dice: random.Random) -> bool:
    other = replace(ASK, cached=1100)
    found = baseline([run(of, ASK, dice, index=1), run(of, other, dice, index=2), run(of, other, dice, index=3)])
    return found.refused and "cache" in found.reason


def output_limit(of: Machine, dice: random.Random) -> bool:
    study = sweep([run(of, replace(ASK, output=n), dice, index=n + i) for n in (64, 256, 1024) for i in range(3)])
    return (
        study.setting == "n_predict"
        and study.effects["ttft_ms"].direction == "flat"
        and "output limit decides" in study.answer
    )


def context_without_effect(of: Machine, dice: random.Random) -> bool:
    study = sweep(
        [run(of, replace(ASK, n_ctx=n), dice, noise=0.02, index=n + i) for n in (4096, 16384, 32768) for i in range(3)]
    )
    return study.setting == "n_ctx" and "no effect" in study.answer


def prompt_length(of: Machine, dice: random.Random) -> bool:
    study = sweep([run(of, replace(ASK, prompt=n), dice, index=n + i) for n in (500, 2000, 6000) for i in range(2)])
    return study.setting == "prompt_tokens" and study.effects["ttft_ms"].direction == "rises"


def gpu_layers(of: Machine, dice: random.Random) -> bool:
    runs = [run(of, replace(ASK, n_gpu_layers=n), dice, slow=s, index=n) for n, s in ((10, 8.0), (20, 4.0), (40, 1.0))]
    study = sweep(runs)
    return study.setting == "n_gpu_layers" and study.effects["writing_tps"].direction == "rises"


def two_settings(of: Machine, dice: random.Random) -> bool:
    runs = [run(of, replace(ASK, n_ctx=n, n_threads=t), dice, index=n) for n, t in ((4096, 4), (8192, 8), (16384, 16))]
    try:
        sweep(runs)
    except LogAnalyzeError as error:
        return "context" in error.reason and "threads" in error.reason
    return False


def better(of: Machine, dice: random.Random) -> bool:
    before = [run(of, ASK, dice, slow=3.0, noise=0.03, index=i) for i in range(3)]
    after = [run(of, replace(ASK, n_gpu_layers=60), dice, noise=0.03, index=i) for i in range(3)]
    return compare(before, after).outcome == "hit the bottleneck"


def noise_only(of: Machine, dice: random.Random) -> bool:
    sides = [[run(of, ASK, dice, noise=0.03, index=i) for i in range(3)] for _ in range(2)]
    return compare(*sides).outcome == "within noise"


def other_prompt(of: Machine, dice: random.Random) -> bool:
    before = [run(of, ASK, dice, index=i) for i in range(3)]
    after = [run(of, replace(ASK, prompt=2400), dice, index=i) for i in range(3)]
    found = compare(before, after)
    return found.outcome == "not comparable" and "prompts differ" in found.answer


PLANTED: list[Callable[[Machine, random.Random], bool]] = [
    steady,
    warm_up,
    outlier,
    drift,
    unlike,
    cached,
    output_limit,
    context_without_effect,
    prompt_length,
    gpu_layers,
    two_settings,
    better,
    noise_only,
    other_prompt,
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda p: p.__name__)
def test_planted_studies_are_judged_right(plant: Callable[[Machine, random.Random], bool]) -> None:
    dice = random.Random(plant.__name__)
    right = sum(plant(machine(dice), dice) for _ in range(STUDIES))
    assert right >= 0.98 * STUDIES, f"{right} of {STUDIES}"


def judged(folder: Path, *names: str) -> list[Run]:
    from loganalyze.api import classify

    return [r for name in names for r in classify([folder / name]).runs]


def test_real_baselines(shared: Path) -> None:
    corpus = shared / "corpus"
    for stem in ("base_8b_r", "b6173_8b_r"):
        assert baseline(judged(corpus, *(f"{stem}{i}" for i in (1, 2, 3)))).usable
    mixed = baseline(judged(corpus, "base_8b_r1", "n64_27b", "n256_27b"))
    assert mixed.refused
    assert {"model", "n_ctx", "n_predict"} <= set(mixed.differences)


def test_real_sweeps(shared: Path) -> None:
    corpus = shared / "corpus"
    context = sweep(judged(corpus, *(f"ctx{n}_27b_r{i}" for n in (4096, 32768, 131072) for i in (1, 2))))
    assert (context.setting, context.effects["writing_tps"].direction) == ("n_ctx", "flat")
    assert "no effect" in context.answer
    limit = sweep(judged(corpus, "n64_27b", "n256_27b", "n768_27b"))
    assert (limit.setting, limit.effects["ttft_ms"].direction, limit.effects["total_s"].direction) == (
        "n_predict",
        "flat",
        "rises",
    )
    layers = sweep(judged(corpus, "ngl8_27b", "ngl48_27b", "ngl64_27b"))
    assert (layers.setting, layers.effects["writing_tps"].direction) == ("n_gpu_layers", "rises")
    length = sweep(judged(corpus, "plen100_27b", "plen4000_27b"))
    assert (length.setting, length.effects["ttft_ms"].direction) == ("prompt_tokens", "rises")
    slots = sweep(judged(corpus, "np1_8req", "np4_8req"))
    assert (slots.setting, slots.effects["throughput_tps"].direction) == ("n_parallel", "rises")


def test_single_requests_say_nothing_about_slots() -> None:
    dice = random.Random(1)
    of = machine(dice)
    runs = []
    for slots in (1, 2, 4):
        made = run(of, ASK, dice, index=slots)
        made.setup.n_parallel = slots
        runs.append(made)
    assert "say nothing" in sweep(runs).answer


def test_saved_baseline_round_trip(tmp_path: Path) -> None:
    dice = random.Random(2)
    of = machine(dice)
    result = baseline([run(of, ASK, dice, index=i) for i in (1, 2, 3)])
    path = tmp_path / "base.json"
    path.write_text(dumps(result), encoding="utf-8")
    assert load(str(path))["metrics"]["writing_tps"]["median"] == pytest.approx(of.writing_tps, rel=0.05)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "nul", '{"kind":"loganalyze-baseline","schema_version":9}', "[" * 100_000]
)
def test_damaged_baseline_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "base.json"
    path.write_text(text)
    with pytest.raises(LogAnalyzeError, match="baseline"):
        load(str(path))


def test_moved_layers_are_no_regression() -> None:
    dice = random.Random(3)
    of = machine(dice)
    before = [run(of, ASK, dice, index=i) for i in range(3)]
    after = [run(of, replace(ASK, n_gpu_layers=12), dice, slow=4.0, index=i) for i in range(3)]
    for made in before:
        made.version = "b6000"
    for made in after:
        made.version = "b7000"
    found = compare(before, after)
    assert found.outcome == "slower"
    assert "no regression" in found.advice


def engine_runs(name: str, of: Machine, dice: random.Random, **ask: int) -> list[Run]:
    runs = [run(of, replace(ASK, **ask), dice, index=i) for i in range(3)]
    for made in runs:
        made.engine = name
    return runs


@pytest.mark.parametrize(
    ("writing", "reading", "outcome"),
    [
        (1.02, 1.0, "engine change will not help"),
        (1.02, 3.0, "batch or context before engine"),
        (2.0, 1.0, "engine change is worth a try"),
    ],
)
def test_engine_against_engine(writing: float, reading: float, outcome: str) -> None:
    dice = random.Random(4)
    of = Machine(2000.0, 40.0, 2.0)
    other = Machine(2000.0 * reading, 40.0 * writing, 2.0)
    left = engine_runs("llama.cpp", of, dice)
    right = engine_runs("sglang", other, dice, prompt=1290)
    found = compare(left, right)
    assert found.outcome == outcome
    assert any("tokenizers differ" in note for note in found.notes)

"""Planted causes over machines, kinds of logs and telemetry: found where they can be seen, silent where absent."""

from __future__ import annotations

from collections import Counter

import planter

from loganalyze.findings.answers import VERDICT_OF
from loganalyze.findings.thresholds import Thresholds
from loganalyze.verdict import judge

LIMITS = Thresholds()
MIXES = list(planter.mixes())


def test_there_are_enough_combinations() -> None:
    assert len(planter.PLANTS) * len(MIXES) >= 500


def test_planted_causes_are_found() -> None:
    wrong, counts = [], Counter[str]()
    for plant in planter.PLANTS:
        for mix in MIXES:
            judged = judge(planter.build(mix, plant.make(mix)), LIMITS)
            verdict = VERDICT_OF[plant.cause]
            right = judged.verdict == verdict and (plant.verdict_only or judged.cause == plant.cause)
            if plant.seen(mix):
                counts["found" if right else "not found"] += 1
                if not right:
                    wrong.append(f"{plant.cause} | {mix.name} | {judged.verdict} {judged.cause} {judged.confidence}")
            elif judged.verdict not in (verdict, "inconclusive", "healthy") and judged.confidence == "high":
                wrong.append(f"unseen {plant.cause} | {mix.name} | {judged.verdict} {judged.cause}")
    assert not wrong, f"{counts}\n" + "\n".join(wrong[:40])


def test_absence_is_silent() -> None:
    wrong = []
    for index, make in enumerate(planter.HEALTHY):
        for mix in MIXES:
            judged = judge(planter.build(mix, make(mix)), LIMITS)
            if judged.verdict not in ("healthy", "inconclusive") or (mix.full and judged.verdict != "healthy"):
                wrong.append(f"healthy {index} | {mix.name} | {judged.verdict} {judged.cause}: {judged.summary}")
    assert not wrong, "\n".join(wrong[:40])

"""The table of thresholds: overrides, errors, documentation."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from builders import request, run

from loganalyze.errors import UsageError
from loganalyze.findings.thresholds import Thresholds, page
from loganalyze.verdict import judge


def test_overrides_take_text_and_are_listed() -> None:
    limits = Thresholds().with_overrides({"ratio_low": "4", "small_ubatch": 64})
    assert (limits.ratio_low, limits.small_ubatch) == (4.0, 64)
    assert limits.changed() == {"ratio_low": 4.0, "small_ubatch": 64}
    assert Thresholds().changed() == {}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"ratio_lov": 4}, "ratio_low"),
        ({"zzz": 1}, "docs/thresholds.md"),
        ({"ratio_low": "many"}, "needs a number"),
        ({"ratio_low": -1}, "0 or more"),
        ({"small_ubatch": 1.5}, "whole number"),
        ({"ratio_low": float("nan")}, "needs a number"),
        ({"ratio_low": True}, "needs a number"),
    ],
)
def test_bad_overrides_say_what_is_right(overrides: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Thresholds().with_overrides(overrides)
    assert words in str(caught.value)


def test_an_override_changes_a_verdict() -> None:
    made = run([request(prompt=60_000, pp=3000.0, out=100, tg=90.0)])
    assert judge(made).verdict == "slow reading"
    assert judge(made, Thresholds().with_overrides({"ttft_long_s": 60})).verdict == "healthy"


def test_page_is_generated_and_complete() -> None:
    root = Path(__file__).resolve().parent.parent
    assert (root / "docs" / "thresholds.md").read_text(encoding="utf-8") == page()
    assert all(f"| `{f.name}` |" in page() for f in fields(Thresholds))

"""The answer on the screen: order, length, width, ASCII, colour."""

from __future__ import annotations

from typing import Any

import pytest
import report_builders as build

from loganalyze.model.report import Report
from loganalyze.reports import facts, text, units
from loganalyze.reports.wrap import columns, cut, wrap

CASES = ("healthy", "partial_offload", "all_captures", "two_gpus", "oom_at_load", "swapping", "contention")


def _rows(shown: str, width: int) -> int:
    return sum(max(1, -(-columns(line) // width)) for line in shown.splitlines())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_at_most_24_lines(case: str, width: int) -> None:
    shown = text.render(getattr(build, case)(), width)
    if width >= 60:
        assert _rows(shown, width) <= text.MAX_LINES
    for line in shown.splitlines():
        assert columns(line) <= width or " " not in line.strip() or line.startswith("  "), line


def test_order_is_verdict_share_evidence_ruled_out_missing_remedy() -> None:
    shown = text.render(build.partial_offload(), 100)
    marks = [
        "Read ",
        "SWAPPING",
        "It explains",
        "\n  reading",
        "\n  writing",
        "\n  layers",
        "\n  memory",
        "\nEvidence",
        "run.log:9",
    ]
    marks += ["Ruled out", "Not seen", "vmstat -t 1", "Try:", facts.REMINDER]
    places = [shown.index(mark) for mark in marks]
    assert places == sorted(places)
    assert shown.endswith(facts.REMINDER + "\n")


def test_rates_shares_placement_and_memory_are_told() -> None:
    shown = text.render(build.partial_offload(), 160)
    for fact in ("310 t/s", "5.81 t/s", "94 %", "6.4 %", "20 of 65 layers", "KV cache in CPU, CUDA0", "17.7 GiB"):
        assert fact in shown
    assert "threshold 86 t/s" in shown


@pytest.mark.parametrize("case", CASES)
def test_ascii_fallback(case: str) -> None:
    assert text.render(getattr(build, case)(), 80, ascii=True).isascii()


def test_colour_adds_only_colour() -> None:
    import re

    plain = text.render(build.partial_offload(), 80)
    coloured = text.render(build.partial_offload(), 80, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31mSWAPPING" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_changed_thresholds_are_told() -> None:
    report = build.reported(build.partial_offload().runs[0], overrides={"decode_ratio": 0.5})
    assert "Thresholds changed: decode_ratio = 0.5" in text.render(report, 100)


def test_other_runs_take_one_line_each_and_are_counted() -> None:
    runs = [build.partial_offload().runs[0], *(build.healthy().runs[0] for _ in range(15))]
    for number, run in enumerate(runs):
        run.id = f"run.log#{number + 1}"
    shown = text.render(build.reported(*runs), 100)
    assert "16 runs: 15 healthy, 1 swapping." in shown
    assert shown.count("healthy (as_expected)") == text.MAX_OTHERS
    assert f"and {15 - text.MAX_OTHERS} more" in shown
    assert len(shown.splitlines()) <= text.MAX_LINES + text.MAX_OTHERS + 3


def test_unread_lines_are_told() -> None:
    report = build.healthy()
    report.sources[0].unmatched = 3
    assert "3 lines not understood" in text.render(report)


def test_a_report_without_runs() -> None:
    shown = text.render(Report(summary="Nothing to judge."), 80)
    assert shown.startswith("INCONCLUSIVE")
    assert "Nothing to judge." in shown


def test_wide_characters_count_twice() -> None:
    assert columns("漢字") == 4
    assert columns(cut("漢字漢字", 5)) <= 5
    assert wrap("aa 漢字 bb", 6) == ["aa", "漢字", "bb"] or all(columns(x) <= 6 for x in wrap("aa 漢字 bb", 6))


def test_long_words_stay_whole() -> None:
    path = "/a" * 60
    assert path in " ".join(wrap(f"see {path} now", 40))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"), (2481.26, "2481"), (108.7, "109"), (5.812, "5.81"), (0.122, "0.122"), (12345.6, "12,346"),
        (None, "unknown"), (float("nan"), "unknown"), (1e-9, "0"), (999.7, "1000"), (-2.5, "-2.50"),
    ],
)  # fmt: skip
def test_numbers(value: float | None, said: str) -> None:
    assert units.number(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 s"),
        (0.0927, "92.7 ms"),
        (2.35, "2.35 s"),
        (811.0, "13 min 31 s"),
        (7500, "2 h 05 min"),
        (None, "unknown"),
    ],
)
def test_seconds(value: float | None, said: str) -> None:
    assert units.seconds(value) == said


def test_every_real_case_fits_the_screen(shared: Any) -> None:
    from loganalyze.api import classify

    for case in sorted((shared / "corpus").iterdir())[::4]:
        report = classify([str(case / "run.log")])
        shown = text.render(report, 100)
        limit = text.MAX_LINES if len(report.runs) == 1 else text.MAX_LINES + text.MAX_OTHERS + 3
        assert _rows(shown, 100) <= limit, case.name

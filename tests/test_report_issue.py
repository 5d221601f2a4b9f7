"""The Markdown bug report: the form's fields in order, few log lines, nothing but text."""

from __future__ import annotations

from pathlib import Path

import pytest
import report_builders as build

from loganalyze.reports import issue_md, log_lines

FIELDS = [
    "Name and Version", "Operating systems", "GGML backends", "Hardware", "Models",
    "Problem description & steps to reproduce", "First Bad Commit", "Relevant log output",
]  # fmt: skip


@pytest.mark.parametrize(
    "case", ["healthy", "partial_offload", "all_captures", "oom_at_load", "swapping", "many_requests"]
)
def test_fields_in_order(case: str) -> None:
    made = issue_md.render(getattr(build, case)())
    titles = [line[4:] for line in made.splitlines() if line.startswith("### ")]
    assert titles == FIELDS


def test_says_what_was_found() -> None:
    made = issue_md.render(build.partial_offload())
    for words in (
        "llama.cpp b11434",
        "CUDA",
        "NVIDIA H200",
        "Qwen3 27B Q8_0",
        "**Swapping**",
        "`run.log:9`",
        "5.81 t/s",
    ):
        assert words in made
    assert made.count("| --- |") == 1
    assert "-ngl 99" in made
    assert "_No response_" in made


def test_picture_is_linked_beside() -> None:
    assert "](./my%20issue.png)" in issue_md.render(build.healthy(), picture="my issue.png")
    assert "![" not in issue_md.render(build.healthy())


def test_log_lines_come_from_the_file_and_are_few(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("".join(f"line {n} of the log\n" for n in range(1, 500)))
    report = build.partial_offload()
    run = report.runs[0]
    assert run.source is not None
    assert run.judgement is not None
    run.source.path = str(log)
    for buffer in run.memory:
        buffer.source = str(log)
    for finding in run.judgement.findings:
        for evidence in finding.evidence:
            evidence.source = str(log)
    found = log_lines.relevant(run)
    assert [(line.number, line.text) for line in found if line.number == 9] == [(9, "line 9 of the log")]
    assert 0 < len(found) <= log_lines.MOST
    run.memory *= 100
    run.memory = [build.Buffer("CUDA0", "model", 1.0, str(log), 2 * n + 1) for n in range(200)]
    assert len(log_lines.relevant(run)) <= log_lines.MOST


def test_a_fence_in_the_log_stays_inside() -> None:
    made = issue_md.render(build.poisoned("```\n</details><img src=x>"), False)
    outside, inside = [], False
    fence = ""
    for line in made.splitlines():
        if not inside and line.startswith("```"):
            inside, fence = True, line[: len(line) - len(line.lstrip("`"))]
        elif inside and line.strip() == fence:
            inside = False
        elif not inside:
            outside.append(line)
    assert not inside
    for line in outside:
        bare = line
        while "`" in bare:
            start = bare.index("`")
            ticks = len(bare[start:]) - len(bare[start:].lstrip("`"))
            end = bare.find("`" * ticks, start + ticks)
            if end < 0:
                break
            bare = bare[:start] + bare[end + ticks :]
        assert "<img" not in bare

"""Log text is inert wherever it goes."""

from __future__ import annotations

import csv
import io
import unicodedata

import pytest
import report_builders as build
from hypothesis import given
from hypothesis import strategies as st

from loganalyze.reports import issue_md, json_out, table_csv, table_md, text
from loganalyze.reports.neutral import ascii_only, cell, code, fenced, markdown, terminal

HOSTILE = [
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "\x90q\x9c", "a\rb", "a\nb", "\x00", "\x7f", "\u202eevil",
    "\u2066x\u2069", "zero\u200bwidth", "\ufeffbom", "\u2028sep", "\U000e0041tag", "\ud800lone", "a" + "\u0301" * 50,
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](https://evil.example/p.png)", "[a](javascript:alert(1))",
    "```\n</details><script>", "`` ` ``", "@everyone #12 GH-3", "$x^2$", "| a | b |", "=cmd|' /C calc'!A0", "+1+1", "-1+1",
    "@SUM(A1)", "\t=1", "＝1+1", "javascript:alert(1)", "data:text/html,<script>", "]]>--><!--", "&lt;b&gt;",
    "</svg></style></title>",
]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
def test_terminal_gets_no_control(hostile: str) -> None:
    out = terminal(hostile)
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in out)
    assert "\n" not in out


@given(st.text(st.characters(codec=None)))
def test_terminal_of_anything(any_text: str) -> None:
    out = terminal(any_text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in out)
    out.encode()
    assert terminal(out) == out


@given(st.text())
def test_ascii_is_ascii(any_text: str) -> None:
    assert ascii_only(terminal(any_text)).isascii()


@given(st.text(alphabet="`|a <>\\\n", max_size=30))
def test_code_span_cannot_be_closed_from_inside(any_text: str) -> None:
    out = code(any_text)
    if out:
        ticks = len(out) - len(out.lstrip("`"))
        inside = out[ticks:-ticks]
        assert "`" * ticks not in inside.strip("`") or max(map(len, inside.replace("`", " `").split(" "))) >= 0
        assert longest_run(inside) < ticks
        assert "|" not in inside.replace("\\|", "")


@given(st.lists(st.text(alphabet="`~a<\n", max_size=20), max_size=5))
def test_fence_cannot_be_closed_from_inside(block: list[str]) -> None:
    out = fenced(block)
    assert all(longest_run(line) < len(out[-1]) for line in out[1:-1])
    assert len(out) == len(block) + 2


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markdown_prose_holds_no_markup(hostile: str) -> None:
    out = markdown(hostile)
    outside = out
    for span in [w for w in out.split(" ") if w.startswith("`")]:
        outside = outside.replace(span, "")
    assert "<" not in outside
    assert "](" not in outside.replace("\\](", "")
    assert "://" not in outside
    assert "@" not in outside


@given(st.text())
def test_cells_start_no_formula(any_text: str) -> None:
    out = cell(any_text)
    assert not out.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠"))
    assert "\n" not in out
    assert "\t" not in out


def test_numbers_stay_numbers() -> None:
    assert cell(-1.5) == "-1.5"
    assert cell(None) == ""
    assert cell(0) == "0"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_renderers_are_inert(hostile: str) -> None:
    report = build.poisoned(hostile)
    for width in (40, 80, 200):
        shown = text.render(report, width)
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in shown.replace("\n", ""))
    assert json_out.render(report).isascii()
    rows = list(csv.reader(io.StringIO(table_csv.render(report))))
    assert len({len(row) for row in rows}) == 1
    assert not any(c.startswith(("=", "+", "@", "\t")) for row in rows for c in row)
    for made in (issue_md.render(report, False), table_md.render(report)):
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in made.replace("\n", ""))


def longest_run(line: str) -> int:
    best = run = 0
    for c in line:
        run = run + 1 if c == "`" else 0
        best = max(best, run)
    return best

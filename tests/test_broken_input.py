"""Logs and captures of every format, built from the samples of its grammars and then broken: nothing raises, all lines count."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loganalyze.api import read_source
from loganalyze.formats import CAPTURE_FORMATS, LOG_FORMATS
from loganalyze.grammar.source import grammar_text, notes

NUMBERS = ["0", "-1", "1e400", "9" * 40, "9" * 5000, "nan", "-inf", "٣٤", "1,5", ""]
ENDS = ["\n", "\r\n", "\r", "\n\n", "\0\n"]


def samples(name: str) -> list[str]:
    """Lines of a format."""
    grammars = import_module(f"loganalyze.formats.{name}").GRAMMARS
    return [s for g in grammars for n in notes(grammar_text(g)).values() for s in n.samples] or ["x"]


@st.composite
def broken(draw: st.DrawFn, name: str) -> bytes:
    """A text of the format ``name``: repeated, out of order, cut, with other numbers, line ends and encodings."""
    lines = draw(st.lists(st.sampled_from(samples(name)), min_size=1, max_size=12))
    lines = draw(st.permutations(lines)) * draw(st.sampled_from([1, 1, 2, 5]))
    old, new = draw(st.sampled_from("0123456789")), draw(st.sampled_from(NUMBERS))
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = lines[at].replace(old, new, draw(st.integers(0, 2)))
    text = draw(st.sampled_from(ENDS)).join(lines)
    data = text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "utf-16-be", "cp1252"])), "replace")
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@pytest.mark.parametrize("name", [*LOG_FORMATS, *CAPTURE_FORMATS])
def test_broken_texts_are_read(name: str) -> None:
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(broken(name))
    def check(data: bytes) -> None:
        _, _, source = read_source("run.log", None, BytesIO(data))
        assert source.matched + source.unmatched + source.skipped == source.lines

    check()

"""Grammars: shipped matchers are those of the ``.lark`` files, samples are taken by their own rule, Lark agrees."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loganalyze.formats import LOG_FORMATS
from loganalyze.grammar import Matcher, Rule
from loganalyze.grammar.source import RuleNotes, grammar_dir, grammar_names, grammar_text, notes

pytest.importorskip("lark")

LOG_GRAMMARS = list(dict.fromkeys(g for n in LOG_FORMATS for g in import_module(f"loganalyze.formats.{n}").GRAMMARS))
DERIVED = Path(__file__).resolve().parent.parent / "loganalyze" / "grammar" / "derived"


@cache
def rules(grammar: str) -> dict[str, Rule]:
    return {rule.name: rule for rule in Matcher([grammar]).rules}


@cache
def log_rules() -> list[Rule]:
    return Matcher(LOG_GRAMMARS).rules


def samples(grammar: str) -> list[tuple[RuleNotes, str]]:
    return [(note, sample) for note in notes(grammar_text(grammar)).values() for sample in note.samples]


def held(rule: Rule, text: bytes) -> bool:
    return any(literal in text for literal in rule.literals)


@pytest.mark.parametrize("grammar", grammar_names())
def test_derived_module_is_up_to_date(grammar: str) -> None:
    from loganalyze.grammar.derive import render

    shipped = (DERIVED / f"{grammar}.py").read_text(encoding="utf-8")
    assert shipped == render(grammar), f"run: python -m loganalyze.grammar.build {grammar}"


def test_index_of_log_formats_is_up_to_date() -> None:
    from loganalyze.grammar.index import PATH, render

    assert PATH.read_text(encoding="utf-8") == render(), "run: python -m loganalyze.grammar.build"


def test_every_grammar_has_a_module_and_every_module_a_grammar() -> None:
    assert {p.stem for p in DERIVED.glob("*.py")} >= set(grammar_names())
    lark = {p.stem for p in grammar_dir().glob("*.lark")}
    assert {p.stem for p in DERIVED.glob("*.py")} - {"__init__"} <= lark


@pytest.mark.parametrize("grammar", grammar_names())
def test_each_sample_is_taken_by_its_own_rule_and_no_other(grammar: str) -> None:
    others = log_rules() if grammar in LOG_GRAMMARS else list(rules(grammar).values())
    for note, sample in samples(grammar):
        text = sample.rstrip().encode()
        own = rules(grammar)[note.name]
        assert held(own, text), f"{own.full}: no literal of the rule in {sample!r}"
        taken = [rule.full for rule in others if held(rule, text) and rule.match(text) is not None]
        assert taken == [own.full], sample


@pytest.mark.parametrize("grammar", grammar_names())
def test_lark_and_matcher_agree_on_samples(grammar: str) -> None:
    for note, sample in samples(grammar):
        compare(grammar, note.name, sample.rstrip())


def compare(grammar: str, name: str, text: str) -> None:
    """Both give the same fields, or neither takes the line."""
    from loganalyze.grammar.reference import parse

    found = rules(grammar)[name].match(text.encode())
    tail = text.encode()[len(found.before) :].decode() if found is not None else text
    expected = parse(grammar, name, tail)
    assert _shown(found.fields if found is not None else None) == _shown(expected), text


def _shown(fields: dict[str, Any] | None) -> str:
    return repr(fields) if fields is None else repr(sorted(fields.items()))


NUMBER = re.compile(r"\d+(?:\.\d+)?")
BLANKS = re.compile(r"(?<=\S) +(?=\S)")
ALL = [(grammar, note.name, sample.rstrip()) for grammar in LOG_GRAMMARS for note, sample in samples(grammar)]
figures = st.one_of(
    st.integers(0, 10**9).map(str),
    st.floats(0, 1e7).map(lambda x: f"{x:.2f}"),
    st.sampled_from(["0", "0.00", "1", "inf", "nan", "-nan", "-1", "1234567.89", "18446744073709551615", "1,5"]),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_lark_and_matcher_agree_on_changed_samples(data: st.DataObject) -> None:
    """Other numbers, other widths, other runs of blanks."""
    grammar, name, text = data.draw(st.sampled_from(ALL))
    places = list(NUMBER.finditer(text))
    if places:
        place = data.draw(st.sampled_from(places))
        text = text[: place.start()] + data.draw(figures) + text[place.end() :]
    gaps = list(BLANKS.finditer(text))
    if gaps:
        gap = data.draw(st.sampled_from(gaps))
        text = text[: gap.start()] + " " * data.draw(st.integers(1, 12)) + text[gap.end() :]
    compare(grammar, name, text)


@cache
def both_ways(grammar: str) -> dict[str, tuple[Rule, Rule]]:
    """Each rule twice: one that always walks its parts, one that always uses its regular expression."""
    walking, compiled = rules_anew(grammar), rules_anew(grammar)
    for name, rule in walking.items():
        rule._left = 0 if rule.repeats else 10**9
        compiled[name]._left = 0
    return {name: (rule, compiled[name]) for name, rule in walking.items()}


def rules_anew(grammar: str) -> dict[str, Rule]:
    return {rule.name: rule for rule in Matcher([grammar]).rules}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_parts_and_regular_expression_agree(data: st.DataObject) -> None:
    """On samples with something cut out, put in or written differently, and on samples of other rules."""
    grammar, _, text = data.draw(st.sampled_from(ALL))
    at, count = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 3))
    text = (
        text[:at]
        + data.draw(st.sampled_from(["", " ", "  ", "\t", "x", "1", ".", ": ", "-", "e5"]))
        + text[at + count :]
    )
    for walking, compiled in both_ways(grammar).values():
        if held(walking, text.encode()):
            assert _taken(walking, text) == _taken(compiled, text), (walking.full, text)


@pytest.mark.parametrize("grammar", grammar_names())
def test_parts_and_regular_expression_agree_on_samples(grammar: str) -> None:
    for note, sample in samples(grammar):
        walking, compiled = both_ways(grammar)[note.name]
        assert _taken(walking, sample.rstrip()) == _taken(compiled, sample.rstrip()) is not None


def _taken(rule: Rule, text: str) -> str | None:
    found = rule.match(text.encode())
    return None if found is None else repr((sorted(found.fields.items()), found.before))


def test_matcher_and_rules_agree() -> None:
    """The shape cache, refused shapes and the literal index change nothing, in whatever order lines come."""
    matcher = Matcher(LOG_GRAMMARS)
    for _ in range(2):
        for grammar, name, text in ALL:
            found = matcher.match(text.encode())
            assert found is not None, text
            assert found.rule.full == f"{grammar}.{name}", text
    assert matcher.match(b"eval time of a model that speaks of eval time = 12") is None
    assert matcher.match(b"eval time of a model that speaks of eval time = 13") is None


@pytest.mark.parametrize(
    "line",
    [
        b"llama_print_timings: " * 5000,
        b"slot " * 20000,
        b"INFO [main] build info | " + b"a=b " * 20000 + b'"',
        b"main: prompt eval time = " + b" " * 50000 + b"x",
        b"[" * 50000 + b"Prompt: 1 t/s | Generation: x ]",
        b"srv  a: request: GET /" + b"%" * 50000,
    ],
)
def test_hostile_lines_are_refused_in_linear_time(line: bytes) -> None:
    import time

    matcher = Matcher(LOG_GRAMMARS)
    matcher.match(b"warm-up of the compiled patterns: prompt eval time")
    start = time.process_time()
    matcher.match(line)
    assert time.process_time() - start < 2.0


def test_before_is_the_text_in_front() -> None:
    found = Matcher(["llama_timings"]).match(b"so they say.llama_print_timings:        load time =  8123.51 ms")
    assert found is not None
    assert found.rule.name == "load_time"
    assert found.before == b"so they say."


def test_number_spellings() -> None:
    match = Matcher(["llama_timings"]).match
    line = b"llama_print_timings:        eval time = %s ms /    63 runs   (%s ms per token, %s tokens per second)"
    for spelled, value in ((b"1234,5", 1234.5), (b"1e3", 1000.0), (b"inf", float("inf")), (b"1234567.89", 1234567.89)):
        found = match(line % (spelled, b"0.5", b"3"))
        assert found is not None
        assert found.fields["eval_ms"] == value
    for spelled in (b"nan", b"-nan", b"-nan(ind)", b"1.#INF", b"1.#J"):
        found = match(line % (b"1.0", b"0.5", spelled))
        assert found is not None
        assert found.fields["tps"] != found.fields["tps"]

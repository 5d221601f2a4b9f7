"""The JSON contract: exact keys in order, unknown is null, the same bytes, and the published schema holds."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import pytest
import report_builders as build

from loganalyze.model.records import Request, Run
from loganalyze.model.report import Report, main_run
from loganalyze.reports import json_out, jsonl

CASES = ("healthy", "partial_offload", "all_captures", "two_gpus", "oom_at_load", "swapping", "contention")
SCHEMA = json.loads((files("loganalyze.reports") / "schema_v1.json").read_text("utf-8"))


def _check(value: Any, schema: dict[str, Any], at: str = "$") -> None:
    """A plain reading of the part of JSON Schema that the file uses, so that no validator has to be installed."""
    if "$ref" in schema:
        return _check(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], at)
    if "const" in schema:
        assert value == schema["const"], at
    if "enum" in schema:
        assert value in schema["enum"], (at, value)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    names = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}
    if kinds:
        assert any(isinstance(value, names[kind]) and not isinstance(value, bool) for kind in kinds), (at, value)
    if isinstance(value, int | float) and "minimum" in schema:
        assert value >= schema["minimum"], (at, value)
    if isinstance(value, dict):
        assert list(value) == list(schema["properties"]), at
        for key, item in value.items():
            _check(item, schema["properties"][key], f"{at}.{key}")
    for number, item in enumerate(value if isinstance(value, list) else []):
        _check(item, schema["items"], f"{at}[{number}]")


@pytest.mark.parametrize("case", CASES)
def test_keys_and_kinds_are_those_of_the_schema(case: str) -> None:
    _check(json_out.payload(getattr(build, case)()), SCHEMA)


@pytest.mark.parametrize("case", CASES)
def test_a_validator_agrees(case: str) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    validator.check_schema(SCHEMA)
    validator(SCHEMA).validate(json.loads(json_out.dumps(getattr(build, case)())))


def test_an_empty_report_is_valid() -> None:
    _check(json_out.payload(Report(summary="Nothing was read.")), SCHEMA)


def test_unknown_is_null_and_never_missing() -> None:
    run = Run(id="x#1", requests=[Request("1", "x", 1)])
    out = json_out.run_payload(run)
    assert all(value is None for value in out["setup"].values())
    assert all(value is None for value in out["telemetry"].values())
    assert set(out["requests"][0].values()) == {"1", "x", 1, None}


def test_same_bytes_and_no_nan() -> None:
    assert json_out.dumps(build.contention()) == json_out.dumps(build.contention())
    report = build.healthy()
    report.runs[0].requests[0].prompt_tps = math.nan
    report.runs[0].requests[0].eval_tps = math.inf
    text = json_out.dumps(report)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert json.loads(text)["runs"][0]["requests"][0]["prompt_tps"] is None


def test_ascii_and_lone_surrogates() -> None:
    report = build.poisoned("\ud800 \x9b \u202e 語")
    text = json_out.dumps(report)
    assert text.isascii()
    assert json.loads(text)["summary"] == "about \ud800 \x9b \u202e 語"


def test_start_counts_from_the_zero_that_the_source_states() -> None:
    report = build.healthy(with_clock=True)
    run = report.runs[0]
    assert run.source is not None
    run.clock = build.clock(offset_s=build.T0 + 100)
    assert json_out.run_payload(run)["requests"][0]["start_s"] == pytest.approx(102.47)


def test_lines_hold_one_run_each() -> None:
    report = build.reported(build.partial_offload().runs[0], build.healthy().runs[0])
    lines = jsonl.render(report).splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0]) == {"schema_version": 1, **json_out.payload(report)["runs"][0]}


def test_the_top_verdict_is_that_of_the_run_that_lost_the_most_time() -> None:
    slow, failed, fine = build.partial_offload().runs[0], build.oom_at_load().runs[0], build.healthy().runs[0]
    assert main_run([fine, failed, slow]) is slow
    assert main_run([fine, failed]) is failed
    assert main_run([]) is None
    report = build.reported(fine, slow)
    assert (report.verdict, report.cause) == ("swapping", "partial_offload")
    assert report.next_step == slow.judgement.next_step  # type: ignore[union-attr]


def test_every_real_case_fits_the_schema(shared: Any) -> None:
    from loganalyze.api import classify

    for case in sorted((shared / "corpus").iterdir()):
        _check(json_out.payload(classify([str(case / "run.log")])), SCHEMA, case.name)

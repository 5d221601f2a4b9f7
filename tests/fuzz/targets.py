"""What is fuzzed: each target has seeds and a function that takes one input and raises when a promise is broken.

Promises held in every execution: nothing but LogAnalyzeError is raised, and matched + unmatched + skipped lines of a
source are all its lines. On a sample of executions also: the JSON answer obeys its schema, every other output can be
written, and the same input gives the same bytes.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import seeds as sown

SAMPLE = 64
"""One execution in so many gets the slow checks."""


class BrokenPromiseError(Exception):
    """An answer that cannot be."""


class Target:
    """``seeds()`` gives inputs to start from, ``run(data, slow)`` executes one. ``limit`` bounds inputs in bytes.

    ``weight``: shares of time. What every line passes gets more than what only lines of one format reach.
    """

    def __init__(
        self,
        name: str,
        seeds: Callable[[], Sequence[bytes]],
        run: Callable[[bytes, bool], object],
        limit: int = 1 << 14,
        weight: int = 1,
    ) -> None:
        self.name = name
        self.seeds = seeds
        self.run = run
        self.limit = limit
        self.weight = weight


def small_bounds() -> None:
    """Make buffers small and shared parts reused, so that an execution is short and a short input crosses the bounds."""
    from loganalyze.formats import capture_reader
    from loganalyze.scan import block_reader, clean, joiner, lines, source

    for module in (block_reader, clean, joiner, lines):
        module.LINE_BYTES = 1 << 14  # type: ignore[attr-defined]
    block_reader.READ_BYTES = 1 << 12
    source.HEAD_BYTES = 1 << 13
    capture_reader.BY_LINE_BYTES = capture_reader.BLOCK_BYTES = 1 << 11
    make = cache(lines.make_finder)
    lines.make_finder = lambda literals, small=False: make(tuple(literals), small)


def check_counts(source: Any) -> None:
    """Every line is accounted for."""
    if any(note.startswith("unreadable") for note in source.notes):
        return
    told = (source.lines, source.matched, source.unmatched, source.skipped)
    if any(not isinstance(n, int) or n < 0 for n in told):
        raise BrokenPromiseError(f"counts {told}")
    if source.matched + source.unmatched + source.skipped != source.lines:
        raise BrokenPromiseError(
            f"{source.matched} + {source.unmatched} + {source.skipped} lines are not {source.lines}"
        )


def _plain(value: Any) -> str:
    """A text that is equal for equal answers, NaN and frames included."""
    return repr(value)


def _same(make: Callable[[], Any]) -> None:
    first, second = make(), make()
    if first != second:
        raise BrokenPromiseError(f"the same input gave two answers: {first[:200]!r} and {second[:200]!r}")


# bytes to lines


def _scan_lines(data: bytes, every: bool) -> tuple[int, int, list[str]]:
    from loganalyze.formats.log_reader import LogFormats
    from loganalyze.scan import all_lines, open_source, scan

    try:
        opened = open_source(data)
    except _refusal() as error:
        return 0, 0, [str(error)]
    with opened:
        scanner = all_lines(opened) if every else scan(opened, LogFormats.load().literals)
        found = [f"{x.number} {x.text!r} {x.t_s} {x.epoch_s} {x.level} {x.zone}" for x in scanner]
    return opened.source.lines, scanner.delivered, found


def _refusal() -> type[Exception]:
    from loganalyze.errors import LogAnalyzeError

    return LogAnalyzeError


def scan(data: bytes, slow: bool) -> None:
    """Bytes to lines, all of them and those with a literal."""
    every = len(data) % 2 == 0
    lines, delivered, found = _scan_lines(data, every)
    if not 0 <= delivered <= lines:
        raise BrokenPromiseError(f"{delivered} of {lines} lines delivered")
    if slow:
        _same(lambda: repr(_scan_lines(data, every)))
        total = _scan_lines(data, not every)[0]
        if total != lines:
            raise BrokenPromiseError(f"{total} lines or {lines}, by the way they are read")
    del found


def unwrap(data: bytes, slow: bool) -> None:
    """Lines out of their wrappers, with the modes that their own first lines choose or with random ones."""
    from loganalyze.scan.modes import modes_of
    from loganalyze.scan.unwrap import Unwrapper
    from loganalyze.scan.wrappers.told import Modes

    modes = modes_of(data, True)
    if len(data) % 3 == 0:
        modes = Modes()
        for index, name in enumerate(Modes.__slots__):
            setattr(modes, name, bool(sum(data[:64]) >> index & 1))

    def told() -> str:
        unwrapper = Unwrapper(modes, 1.7e9)
        found = []
        for number, text in enumerate(data.split(b"\n"), 1):
            line = unwrapper.line(number, text.replace(b"\r", b"").replace(b"\0", b"").rstrip())
            for one in unwrapper.extra if line is None else (line,):
                found.append(f"{one.text!r} {one.str!r} {one.t_s} {one.epoch_s}")
        return f"{found} {unwrapper.wrapper()}"

    told()
    if slow:
        _same(told)


def match(data: bytes, slow: bool) -> None:
    """One line against all rules of the logs."""
    from loganalyze.formats.log_reader import LogFormats
    from loganalyze.formats.repair import repaired

    matcher = LogFormats.load().matcher
    for text in (data, *repaired(data)):
        found = matcher.match(text)
        if found is not None and slow:
            again = found.rule.match(text)
            if again is None or repr(again) != repr(found):
                raise BrokenPromiseError(f"{found} or {again}")


# lines to records


def _read(data: bytes, name: str = "fuzz.log", options: Any = None) -> tuple[Any, Any, Any]:
    from loganalyze import api

    runs, captures, source = api.read_source(name, options, BytesIO(data))
    check_counts(source)
    return runs, captures, source


def read(data: bytes, slow: bool) -> None:
    """A source to runs and captures."""
    _read(data)
    if slow:
        road(data, False)


def document(data: bytes, slow: bool) -> None:
    """A response saved over several lines."""
    from loganalyze.formats.responses import read_document
    from loganalyze.model.records import Source

    source = Source(path="fuzz.json")
    if read_document(data, source):
        source.lines = source.lines or source.matched
        check_counts(source)
    if slow:
        road(data, False)


def command(data: bytes, slow: bool) -> None:
    """A command line, told in whatever way."""
    from loganalyze.formats import command_line

    text = data.decode("utf-8", "surrogateescape")
    for loose in (False, True):
        found = command_line.parse(text, loose=loose)
        if found is not None:
            command_line.merged_flags(found)


def _files() -> Path:
    folder = Path("/dev/shm") if os.path.isdir("/dev/shm") else Path(tempfile.gettempdir())
    return folder / f"loganalyze-fuzz-{os.getpid()}"


def _told_file(reader: Callable[[str], object], suffix: str, data: bytes, slow: bool) -> None:
    """Content of a file that users write by hand. One file is written over and over."""
    path = _files().with_suffix(suffix)
    path.write_bytes(data)
    try:
        reader(str(path))
    except _refusal() as error:
        str(error)


def _manifest(path: str) -> object:
    from loganalyze.batch.manifest import read_manifest

    return read_manifest(path)


def _baseline(path: str) -> object:
    from loganalyze.model.records import Run, Setup
    from loganalyze.studies.saved import load
    from loganalyze.verdict import judge

    content = load(path)
    from loganalyze.findings.thresholds import Thresholds

    return judge(Run(id="x#1", setup=Setup(n_ctx=4096)), Thresholds(), content)


def _config(path: str) -> object:
    from loganalyze.cli import common
    from loganalyze.findings.thresholds import Thresholds

    return Thresholds().with_overrides(common._config(path))


# all of it


def _report(data: bytes) -> Any:
    from loganalyze import api
    from loganalyze.options import Options

    options = Options(group=("auto", "one", "folder", "stem")[len(data) % 4])
    runs, captures, sources = [], [], []
    for number, part in enumerate(data.split(sown.PARTING)[:6]):
        found_runs, found_captures, source = _read(part, f"fuzz/{number}.log", options)
        runs += found_runs
        captures += found_captures
        sources.append(source)
    reading = api.join(runs, captures, sources, options)
    if not reading.runs and reading.captures:
        reading.runs = [api.telemetry_run(reading.captures)]
        reading.captures = []
    return api.judge_all(reading, options, api.limits_of(options)) if reading.runs else None


@cache
def _validator() -> Any:
    try:
        import jsonschema
    except ImportError:
        return None
    schema = json.loads((sown.ROOT / "loganalyze" / "reports" / "schema_v1.json").read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def road(data: bytes, slow: bool) -> None:
    """Sources to the JSON answer."""
    from loganalyze.reports import json_out

    report = _report(data)
    if report is None:
        return
    text = json_out.dumps(report)
    if slow:
        again = json_out.dumps(_report(data))
        if again != text:
            raise BrokenPromiseError("the same input gave two JSON answers")
        validator = _validator()
        fault = None if validator is None else next(validator.iter_errors(json.loads(text)), None)
        if fault is not None:
            raise BrokenPromiseError(f"against the schema at {list(fault.absolute_path)}: {fault.message[:200]}")
        _outputs(report)


def _outputs(report: Any) -> None:
    """Every other way to write a report, drawings aside."""
    from loganalyze.reports import check_text, issue_md, jsonl, table_csv, table_md, text

    for width in (10, 80, 200):
        text.render(report, width).encode()
    text.render(report, ascii=True, colour=True, redact=True).encode("ascii")
    check_text.render(report.sources, 80).encode()
    for module in (issue_md, jsonl, table_csv, table_md):
        module.render(report, redact=True).encode()
        module.render(report, redact=False).encode()


@cache
def _log_seeds(name: str) -> tuple[bytes, ...]:
    module = import_module(f"loganalyze.formats.{name}")
    lines = [s for g in module.GRAMMARS for s in sown.samples(g)]
    heads = [s[:12] for s in lines if len(s) > 12]
    blocks = tuple(b"\n".join(lines[i : i + 12]) for i in range(0, len(lines), 6))
    near = [p for p in sown.log_pieces() if sum(h in p for h in heads) >= 2]
    return (*blocks, *near[:200], *lines)


@cache
def _capture_seeds(name: str) -> tuple[bytes, ...]:
    module = import_module(f"loganalyze.formats.{name}")
    lines = [s for g in module.GRAMMARS for s in sown.samples(g)]
    blocks = tuple(b"\n".join(lines[i : i + 8]) for i in range(0, len(lines), 4))
    return (*sown.capture_pieces(name), *blocks) or (b"\n",)


@cache
def _single_lines() -> tuple[bytes, ...]:
    from loganalyze.formats import LOG_FORMATS

    return tuple(
        s for n in LOG_FORMATS for g in import_module(f"loganalyze.formats.{n}").GRAMMARS for s in sown.samples(g)
    )


@cache
def _wrapped() -> tuple[bytes, ...]:
    return tuple(p.read_bytes()[: sown.PIECE_BYTES] for p in (sown.FIXTURES / "scan").iterdir()) + _single_lines()


@cache
def _json_seeds(kind: str) -> tuple[bytes, ...]:
    if kind == "document":
        shapes: list[Any] = [json.loads(s) for s in _json_lines() if s.startswith(b"{")][:60]
        return tuple(json.dumps(s, indent=1).encode() for s in shapes) + tuple(_json_lines()[:60])
    if kind == "bench":
        return tuple(p.read_bytes()[:3000] for p in (sown.FIXTURES / "bench").iterdir()) + _log_seeds("bench")
    server = tuple(p for p in sown.log_pieces() if p.lstrip()[:1] == b"{")
    return server or tuple(_json_lines())


@cache
def _json_lines() -> list[bytes]:
    found = [s for g in ("responses", "clients", "bench") for s in sown.samples(g) if s[:1] in b"{["]
    for path in sown.files():
        if path.suffix in (".jsonl", ".json"):
            found += [x[:3000] for x in path.read_bytes().split(b"\n")[:20] if x[:1] == b"{"]
    good = []
    for text in found:
        try:
            json.loads(text)
        except ValueError:
            continue
        good.append(text)
    return good


MANIFESTS = (
    b"run,file\na,x.log\na,smi.csv\nb,y.log\n",
    b'run,file\n"a b","x,y.log"\n,z.log\nc,../../etc/passwd\nd,archive.zip!run.log\ne,https://host/run.log\n',
    b'[[run]]\nname = "a"\nfiles = ["x.log", "smi.csv"]\n\n[[run]]\nfiles = ["y.log"]\n',
    b"[[run]]\nname = 5\nfiles = []\n[other]\nd = 1979-05-27T07:32:00Z\nf = [1, 2.5, inf, nan]\n",
)
BASELINES = (
    b'{"kind": "loganalyze-baseline", "schema_version": 1, "usable": true, "reason": "ok", "metrics": {"eval_tps":'
    b' {"median": 50.0, "spread_pct": 1.0}, "prompt_tps": {"median": 900.0}}, "settings": {"n_ctx": 4096, "model": "x"}}',
    b'{"kind": "loganalyze-baseline", "schema_version": 1, "usable": false, "reason": "spread", "metrics": {}}',
)


@cache
def _config_seeds() -> tuple[bytes, ...]:
    from dataclasses import fields

    from loganalyze.findings.thresholds import Thresholds

    plain = Thresholds()
    rows = "\n".join(f"{f.name} = {getattr(plain, f.name)!r}" for f in fields(plain))
    short = b'[thresholds]\nmin_output_tokens = 5\nx = "y"\n[other]\nz = [1, {a = 2}]\n'
    return (f"[thresholds]\n{rows}\n".encode(), short, b"thresholds = 5\n")


def all_targets() -> dict[str, Target]:
    """Every target by name, the cheap and broad ones first."""
    from loganalyze.formats import CAPTURE_FORMATS, LOG_FORMATS

    found = [
        Target("scan", lambda: (*_wrapped()[:40], *sown.whole()[:200]), scan, weight=3),
        Target("unwrap", _wrapped, unwrap, 1 << 12, 3),
        Target("match", _single_lines, match, 1 << 12, 3),
        Target("road", sown.whole, road, weight=3),
        Target("json.document", lambda: _json_seeds("document"), document),
        Target("json.bench", lambda: _json_seeds("bench"), read),
        Target("json.server", lambda: _json_seeds("server"), read),
        Target("command", lambda: _log_seeds("llama_command"), command, 1 << 12),
        Target("manifest.csv", lambda: MANIFESTS[:2], partial(_told_file, _manifest, ".csv"), 1 << 12),
        Target("manifest.toml", lambda: MANIFESTS[2:], partial(_told_file, _manifest, ".toml"), 1 << 12),
        Target("baseline", lambda: BASELINES, partial(_told_file, _baseline, ".json"), 1 << 12),
        Target("config", _config_seeds, partial(_told_file, _config, ".toml"), 1 << 12),
    ]
    found += [Target(f"log.{name}", partial(_log_seeds, name), read) for name in LOG_FORMATS]
    found += [Target(f"capture.{name}", partial(_capture_seeds, name), read) for name in CAPTURE_FORMATS]
    return {target.name: target for target in found}

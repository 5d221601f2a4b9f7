"""Where fuzzing starts: the samples of the grammars and pieces of the files in ``fixtures/``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FIXTURES = ROOT / "fixtures"
PIECE_BYTES = 1500
MAX_PIECES = 24
PARTING = b"\n=====8<=====\n"


@cache
def samples(grammar: str) -> tuple[bytes, ...]:
    """Lines that the rules of ``grammar`` were written for."""
    from loganalyze.grammar.source import grammar_text, notes

    return tuple(s.encode("utf-8", "surrogateescape") for n in notes(grammar_text(grammar)).values() for s in n.samples)


@cache
def files() -> tuple[Path, ...]:
    """All fixtures that are text to read."""
    return tuple(sorted(p for p in FIXTURES.rglob("*") if p.is_file() and p.name != "case.json"))


@cache
def log_pieces() -> tuple[bytes, ...]:
    """Pieces of the logs."""
    return _pieces(tuple(p for p in files() if p.suffix in (".log", ".txt", ".jsonl") and "telemetry" not in p.parts))


@cache
def capture_pieces(name: str) -> tuple[bytes, ...]:
    """Pieces of the captures that the format ``name`` starts in one of their first lines."""
    from loganalyze.formats.capture_segments import format_of

    module = import_module(f"loganalyze.formats.{name}")
    chosen = []
    for path in files():
        if "telemetry" not in path.parts:
            continue
        text = path.read_bytes()[:PIECE_BYTES]
        if any(format_of(line) is module for line in text.split(b"\n")[:12] if line.strip()):
            chosen.append(path)
    return _pieces(tuple(chosen))


@cache
def whole() -> tuple[bytes, ...]:
    """Small whole files, and logs with a capture beside them."""
    found = [p.read_bytes() for p in files() if p.stat().st_size <= 3000]
    for case in sorted((FIXTURES / "corpus").iterdir()):
        texts = [p.read_bytes()[:PIECE_BYTES] for p in sorted(case.iterdir()) if p.is_file() and p.name != "case.json"]
        found.append(PARTING.join(texts[:4]))
    return tuple(found) or (b"\n",)


def _pieces(paths: tuple[Path, ...]) -> tuple[bytes, ...]:
    """The start, the end and places between of each file, cut at line ends."""
    found: list[bytes] = []
    for path in paths:
        data = path.read_bytes()
        if len(data) <= PIECE_BYTES:
            found.append(data)
            continue
        step = max(PIECE_BYTES, len(data) // MAX_PIECES)
        for at in range(0, len(data), step):
            start = data.rfind(b"\n", 0, at) + 1
            found.append(data[start : start + PIECE_BYTES])
    return tuple(found) or (b"\n",)

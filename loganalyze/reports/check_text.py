"""What was recognised in each source: format, dialect, lines by rule, examples of lines that no rule took."""

from __future__ import annotations

from typing import Any

from loganalyze.formats.catalogue import check
from loganalyze.model.records import Source
from loganalyze.reports.neutral import terminal as plain

EXAMPLES = 5


def payload(sources: list[Source]) -> dict[str, Any]:
    """JSON of ``check``."""
    return {"schema_version": 1, "sources": [_source(s) for s in sources]}


def _source(source: Source) -> dict[str, Any]:
    return {
        "path": source.path,
        "format": source.format,
        "dialect": source.dialect,
        "encoding": source.encoding,
        "wrapper": source.wrapper,
        "bytes": source.bytes,
        "lines": source.lines,
        "matched": source.matched,
        "unmatched": source.unmatched,
        "skipped": source.skipped,
        "rules": dict(sorted(source.rule_hits.items())),
        "unread": [{"line": number, "text": text[:500]} for number, text in source.unread],
        "notes": list(source.notes),
    }


def render(sources: list[Source], width: int) -> str:
    """Text of ``check``."""
    return "\n".join(line for source in sources for line in _lines(source, width))


def _lines(source: Source, width: int) -> list[str]:
    what = source.format or "not recognised"
    if source.dialect and source.dialect != source.format:
        what += f" ({source.dialect})"
    told = [f"encoding {source.encoding}"] if source.encoding not in (None, "utf-8") else []
    told += [f"behind {source.wrapper}"] if source.wrapper else []
    out = [plain(f"{source.path}: {what}" + (", " + ", ".join(told) if told else ""))[:width]]
    out.append(
        f"  {source.lines} lines: {source.matched} matched, {source.unmatched} unmatched, "
        f"{source.skipped} without anything of interest"
    )
    out += [plain(f"  note: {note}")[:width] for note in source.notes]
    out += [f"  {count:>7}  {name}" for name, count in check(source).rules]
    if source.unread:
        out.append("  lines with a known word that no rule took (please report them if they matter):")
        out += [plain(f"  {number:>7}: {text}")[:width] for number, text in source.unread[:EXAMPLES]]
    return out

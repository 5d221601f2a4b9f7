"""A run as the words and rows of the HTML report; no markup here."""

from __future__ import annotations

from typing import Any

from loganalyze.model.records import Request, Run, Source
from loganalyze.reports import facts, log_lines, units

MOST_REQUESTS = 300
MOST_EVIDENCE = 40


def run_view(run: Run, number: int) -> dict[str, Any]:
    """Everything the template needs of one run; ``svg`` is filled in later."""
    judged = facts.judgement(run)
    lines = log_lines.relevant(run)
    return {
        "anchor": f"run-{number}", "id": run.id, "verdict": judged.verdict, "summary": judged.summary,
        "next_step": judged.next_step, "about": _about(run), "halves": _halves(run), "evidence": _evidence(run),
        "memory": _memory(run), "requests": [_request(r) for r in shown(run)], "requests_label": _label(run),
        "ruled_out": judged.ruled_out, "missing": [(m.what, m.record) for m in judged.missing],
        "command": run.setup.command, "log": "\n".join(line.text for line in lines),
        "log_label": f"{units.count(sum(line.number > 0 for line in lines), 'log line')} that matter",
        "svg": None, "no_picture": None, "alt": alt(run),
    }  # fmt: skip


def alt(run: Run) -> str:
    """The picture in words."""
    judged = facts.judgement(run)
    words = [f"Timeline of {run.id}: {judged.verdict}"]
    for name, half in (("reading", judged.reading), ("writing", judged.writing)):
        if half.ms is not None:
            words.append(f"{name} {units.milliseconds(half.ms)} at {units.rate(half.tps)}")
    peak = judged.telemetry.get("vram_peak_mib")
    if peak is not None:
        words.append(f"device memory peaks at {units.mib(peak)}")
    words += [f"marked: {text}" for _, _, text in judged.marks[:2]]
    return ", ".join(words) + "."


def shown(run: Run) -> list[Request]:
    """The requests of the table: all, or the slowest in the order of the log."""
    if len(run.requests) <= MOST_REQUESTS:
        return run.requests
    slowest = sorted(run.requests, key=lambda r: -(r.total_ms or (r.prompt_ms or 0.0) + (r.eval_ms or 0.0)))
    kept = {id(request) for request in slowest[:MOST_REQUESTS]}
    return [request for request in run.requests if id(request) in kept]


def source_row(source: Source) -> list[str]:
    """File, format, counts and clock in words."""
    clock = source.clock
    words: list[str] = [clock.kind]
    words += [f"zone {clock.zone}"] if clock.zone else []
    words += [f"placed by {clock.anchor}"] if clock.anchor else []
    words += [f"± {units.seconds(clock.error_s)}"] if clock.error_s is not None else []
    words += clock.notes[:2]
    read = "not recognised" if source.format is None else source.format
    dialect = f" ({source.dialect})" if source.dialect else ""
    counts = [units.number(n) for n in (source.lines, source.matched, source.unmatched)]
    return [source.path, read + dialect, *counts, ", ".join(words)]


def _about(run: Run) -> list[tuple[str, str]]:
    setup = run.setup
    pairs = [
        ("Engine", facts.engine(run)), ("Model", facts.model(run) or ""), ("Device", ", ".join(facts.devices(run))),
        ("Placement", facts.placement(run)),
        ("Context", "" if setup.n_ctx is None else f"{units.number(setup.n_ctx)} tokens"),
        ("Load", "" if run.load_ms is None else units.milliseconds(run.load_ms)),
    ]  # fmt: skip
    return [(name, value) for name, value in pairs if value]


def _halves(run: Run) -> list[list[str]]:
    judged = facts.judgement(run)
    out = []
    for name, half in (("reading (prompt)", judged.reading), ("writing (generation)", judged.writing)):
        if half.ms is not None or half.tps is not None:
            cells = [units.number(half.tokens), units.milliseconds(half.ms), units.percent(half.share)]
            out.append([name, *map(_known, [*cells, units.rate(half.tps), units.rate(half.expected_tps)])])
    return out


def _evidence(run: Run) -> list[list[str]]:
    out, said = [], ""
    for finding, evidence in list(facts.evidence_of(facts.judgement(run)))[:MOST_EVIDENCE]:
        text = facts.statement(finding)
        place = "" if evidence is None else facts.where(evidence)
        out.append(["" if text == said else text, place, "" if evidence is None else evidence.text])
        said = text
    return out


def _memory(run: Run) -> list[list[str]]:
    out = []
    for row in facts.memory_rows(run):
        kinds = (row.model, row.kv, row.compute, row.output)
        cells = ["" if value is None else units.mib(value) for value in kinds]
        total = "" if row.total_mib is None else units.mib(row.total_mib)
        out.append([row.device + (f" ({row.name})" if row.name else ""), *cells, units.mib(row.planned), total])
    return out


def _request(request: Request) -> list[str]:
    cells = [
        "" if request.start_s is None else units.seconds(request.start_s), units.number(request.prompt_tokens),
        units.number(request.cached_tokens), units.milliseconds(request.prompt_ms), units.number(request.prompt_tps),
        units.number(request.output_tokens), units.milliseconds(request.eval_ms), units.number(request.eval_tps),
        units.milliseconds(request.ttft_ms),
    ]  # fmt: skip
    return [request.id, *map(_known, cells), f"{request.source}:{request.line}"]


def _label(run: Run) -> str:
    total = len(run.requests)
    if total <= MOST_REQUESTS:
        return "Requests"
    return f"The {MOST_REQUESTS} longest of {total:,} requests, in the order of the log"


def _known(text: str) -> str:
    return "" if text == units.UNKNOWN else text

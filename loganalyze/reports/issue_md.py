"""Markdown with the fields of llama.cpp's issue form "Bug (model use)", in its order, ready to paste.

Verdict, one table, evidence, and at most 60 log lines; the plot lies beside it. Text from logs stands in code spans
or is escaped, so that it stays text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loganalyze.model.records import Judgement, Run
from loganalyze.model.report import Report, main_run
from loganalyze.reports import facts, log_lines, units
from loganalyze.reports.neutral import code, fenced, markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from loganalyze.reports.redact import Redactor

    Clean = Callable[[str], str]

BACKENDS = {
    "cuda": "CUDA", "rocm": "HIP", "hip": "HIP", "metal": "Metal", "mtl": "Metal", "vulkan": "Vulkan", "sycl": "SYCL",
    "opencl": "OpenCL", "cpu": "CPU", "blas": "BLAS", "musa": "Musa", "rpc": "RPC", "amx": "AMX", "zdnn": "zDNN",
}  # fmt: skip
NO_ANSWER = "_No response_"
MOST_EVIDENCE = 12
MOST_OTHERS = 12


def render(report: Report, redact: bool = True, picture: str | None = None) -> str:
    """Markdown for stdout; ``picture`` is the name of a plot that lies beside it."""
    from loganalyze.reports.json_out import _redactor

    return dumps(report, _redactor(redact), picture)


def data(report: Report, redactor: Redactor | None = None, picture: str | None = None) -> bytes:
    """Bytes of a ``.md`` file."""
    return dumps(report, redactor, picture).encode()


def dumps(report: Report, redactor: Redactor | None = None, picture: str | None = None) -> str:
    """The whole text, ending with a newline."""
    run = main_run(report.runs) or Run(id="no run", judgement=_judgement(report))
    folder = facts.folder_of([source.path for source in report.sources])

    def clean(text: str) -> str:
        text = text.replace(folder, "") if folder else text
        return text if redactor is None else redactor.text(text)

    if redactor is not None:
        redactor.learn(_telling(report, run))
    fields = [
        ("Name and Version", _version(run, clean)),
        ("Operating systems", [_system(report, run)]),
        ("GGML backends", [_backend(run)]),
        ("Hardware", [", ".join(code(clean(name)) for name in facts.devices(run)) or "Unknown: not in the log"]),
        ("Models", [_model(run, clean)]),
        ("Problem description & steps to reproduce", _problem(report, run, clean, picture)),
        ("First Bad Commit", [NO_ANSWER]),
        ("Relevant log output", _log(run, clean)),
    ]
    lines: list[str] = []
    for title, body in fields:
        lines += [f"### {title}", "", *body, ""]
    if redactor is not None:
        lines += [f"<sub>Removed before publishing: {redactor.summary()}.</sub>", ""]
    return "\n".join(lines)


def _telling(report: Report, run: Run) -> list[str]:
    """Texts that may give away a user or host name anywhere in the report."""
    lines = [line.text for line in log_lines.relevant(run)]
    return [*lines, run.setup.command or "", run.setup.model_path or "", *(s.path for s in report.sources)]


def _judgement(report: Report) -> Judgement:
    return Judgement(report.verdict, report.cause, report.confidence, report.summary, report.next_step, report.missing)


def _version(run: Run, clean: Clean) -> list[str]:
    if run.version is None:
        name = code(clean(run.engine or "llama.cpp"))
        return [f"{name}, version unknown: not in the log (`llama-cli --version` tells)"]
    return [code(clean(facts.engine(run)))]


def _system(report: Report, run: Run) -> str:
    """Only what the input proves: Linux tools beside the log, Windows paths, the Metal backend."""
    formats = {source.format or "" for source in report.sources}
    command = run.setup.command or ""
    if (run.backend or "").lower() in ("metal", "mtl"):
        return "Mac"
    if ".exe" in command or ":\\" in command:
        return "Windows"
    if any(name.startswith(("vmstat", "free", "proc_", "meminfo")) for name in formats):
        return "Linux"
    return "Unknown: not in the log"


def _backend(run: Run) -> str:
    if run.backend is None:
        return "Unknown: not in the log"
    return BACKENDS.get(run.backend.lower(), markdown(run.backend))


def _model(run: Run, clean: Clean) -> str:
    name = facts.model(run)
    if name is None:
        return NO_ANSWER
    extra = [f"{run.setup.n_params / 1e9:.1f} B parameters"] if run.setup.n_params else []
    extra += [units.mib(run.setup.model_bytes / 2**20)] if run.setup.model_bytes else []
    return code(clean(name)) + (f" ({', '.join(extra)})" if extra else "")


def _problem(report: Report, run: Run, clean: Clean, picture: str | None) -> list[str]:
    judged = facts.judgement(run)
    lines = [f"**{facts.WORDS[judged.verdict].capitalize()}** (`{judged.cause}`, confidence {judged.confidence}): "
             f"{markdown(clean(judged.summary))}", ""]  # fmt: skip
    share = facts.explained(run)
    lines += [f"It explains {markdown(share)}.", ""] if share else []
    lines += _table(run)
    lines += _facts(run, clean)
    lines += _evidence(judged, clean)
    if judged.ruled_out:
        lines += ["Ruled out:", "", *(f"- {markdown(clean(text))}" for text in judged.ruled_out), ""]
    if report.overrides:
        changed = ", ".join(f"`{name}` = {code(str(value))}" for name, value in sorted(report.overrides.items()))
        lines += [f"Thresholds that differ from their defaults: {changed}", ""]
    for missing in report.missing[:3]:
        lines += [f"Not seen: {markdown(clean(missing.what))}. To record it:", ""]
        lines += [*fenced([clean(missing.record)], "sh"), ""]
    if judged.next_step:
        lines += [f"Next to try: {markdown(clean(judged.next_step))} {facts.REMINDER}", ""]
    if picture is not None:
        lines += [f"![Timeline of the run: {facts.WORDS[judged.verdict].lower()}]({_link(picture)})", ""]
    lines += _others(report, run, clean)
    if run.setup.command:
        lines += ["Command:", "", *fenced([clean(run.setup.command)], "sh"), ""]
    return lines[:-1]


def _table(run: Run) -> list[str]:
    judged = facts.judgement(run)
    if judged.reading.ms is None and judged.writing.ms is None and judged.writing.tps is None:
        return []
    out = ["| | tokens | time | share | speed | expected |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, half in (("reading (prompt)", judged.reading), ("writing (generation)", judged.writing)):
        cells = (
            units.number(half.tokens), units.milliseconds(half.ms), units.percent(half.share), units.rate(half.tps),
            units.rate(half.expected_tps),
        )  # fmt: skip
        out.append(f"| {name} | {' | '.join('' if cell == units.UNKNOWN else cell for cell in cells)} |")
    return [*out, ""]


def _facts(run: Run, clean: Clean) -> list[str]:
    lines = [f"- Placement: {markdown(clean(facts.placement(run)))}"]
    lines += [f"- {code(clean(row.device))}: {markdown(facts.memory(row))}" for row in facts.memory_rows(run)[:6]]
    peak = facts.judgement(run).telemetry.get("vram_peak_mib")
    if peak is not None:
        total = facts.judgement(run).telemetry.get("vram_total_mib")
        lines.append(f"- Peak of device memory: {units.mib(peak)}" + (f" of {units.mib(total)}" if total else ""))
    return [*lines, ""]


def _evidence(judged: Judgement, clean: Clean) -> list[str]:
    lines, said = [], ""
    pairs = list(facts.evidence_of(judged))
    for finding, evidence in pairs[:MOST_EVIDENCE]:
        text = facts.statement(finding)
        if text != said:
            lines.append(f"- {markdown(clean(text))}")
            said = text
        if evidence is not None:
            lines.append(f"  - {code(clean(facts.where(evidence)))}: {code(clean(evidence.text))}")
    if len(pairs) > MOST_EVIDENCE:
        lines.append(f"- and {len(pairs) - MOST_EVIDENCE} more")
    return ["Evidence:", "", *lines, ""] if lines else []


def _others(report: Report, main: Run, clean: Clean) -> list[str]:
    others = [run for run in report.runs if run is not main]
    if not others:
        return []
    lines = [f"- {code(clean(run.id))}: {facts.judgement(run).verdict}, "
             f"{units.rate(facts.judgement(run).reading.tps)} reading, "
             f"{units.rate(facts.judgement(run).writing.tps)} writing" for run in others[:MOST_OTHERS]]  # fmt: skip
    if len(others) > MOST_OTHERS:
        lines.append(f"- and {len(others) - MOST_OTHERS} more")
    return [f"This is about {code(clean(main.id))}. Other runs in the same input:", "", *lines, ""]


def _log(run: Run, clean: Clean) -> list[str]:
    found = log_lines.relevant(run)
    if not found:
        return [NO_ANSWER]
    count = sum(line.number > 0 for line in found)
    body = [clean(line.text) for line in found]
    summary = f"<summary>{units.count(count, 'line')} that matter</summary>"
    return ["<details>", summary, "", *fenced(body, "shell"), "", "</details>"]


def _link(name: str) -> str:
    """A file name as a Markdown link target that stays beside the report."""
    from urllib.parse import quote

    return "./" + quote(name.replace("\\", "/").rsplit("/", 1)[-1])

"""The answer on the screen: at most 24 lines a run, readable without colour and without UTF-8.

Order: what was read, verdict, the time it explains, rates and placement, evidence with ``file:line``, what was ruled
out, what could not be seen and how to record it, one thing to try. Eyes end at the bottom, so the remedy is last.
"""

from __future__ import annotations

from loganalyze.light import dataclass
from loganalyze.model.records import Run
from loganalyze.model.report import Report, main_run
from loganalyze.reports import facts, units
from loganalyze.reports.neutral import ascii_only, terminal
from loganalyze.reports.wrap import columns, cut, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.reports.redact import Redactor

MAX_LINES = 24
MAX_OTHERS = 8
INDENT = "  "
_COLOURS = {"swapping": "31", "slow reading": "33", "slow writing": "33", "healthy": "32", "inconclusive": "36"}


@dataclass(slots=True)
class Block:
    """Lines that stay or go together. Blocks of the highest ``rank`` lose lines first, down to ``least``."""

    lines: list[str]
    rank: int = 0
    least: int = 0


def render(report: Report, width: int = 80, colour: bool = False, ascii: bool = False, redact: bool = False) -> str:
    """The report as text that ends with a newline. ``width`` below 40 counts as 40."""
    width = max(40, width)
    run = main_run(report.runs)
    folder = facts.folder_of([source.path for source in report.sources])
    blocks = [Block(_read(report, folder, width), rank=5, least=1)]
    blocks += _others(report, run, folder, width)
    blocks += _no_run(report, width) if run is None else _one_run(report, run, folder, width)
    lines = [line for block in _fit(blocks, width, MAX_LINES + _extra(report)) for line in block.lines]
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    if redact:
        from loganalyze.reports.redact import Redactor

        text = _clean(text, Redactor())
    text = ascii_only(text) if ascii else text
    return _coloured(text, report) if colour else text


def data(report: Report, redactor: Redactor | None = None) -> bytes:
    """Bytes of a ``.txt`` file."""
    return _clean(render(report, 100), redactor).encode()


def _clean(text: str, redactor: Redactor | None) -> str:
    if redactor is None:
        return text
    lines = text.split("\n")
    redactor.learn(lines)
    return "\n".join(redactor.text(line) for line in lines)


def _one_run(report: Report, run: Run, folder: str, width: int) -> list[Block]:
    judged = facts.judgement(run)
    return [
        Block(_verdict(report, run, folder, width), least=2),
        Block(_explains(run, width), rank=2),
        Block(_rates(run, width), rank=2, least=2),
        Block(wrap(terminal(facts.placement(run)), width, "  layers   "), rank=3, least=1),
        Block(_memory(run, width), rank=4),
        Block(_evidence(run, folder, width), rank=3, least=3),
        Block(_list("Ruled out", judged.ruled_out, width), rank=5, least=0),
        Block(_missing(report, width), rank=4, least=2),
        Block(_overrides(report, width), rank=1, least=1),
        Block(_next(report, width), least=2),
    ]


def _read(report: Report, folder: str, width: int) -> list[str]:
    if not report.sources:
        return []
    known = sorted((s for s in report.sources if s.format is not None), key=lambda source: -source.matched)
    names = [terminal(facts.read_as(source).removeprefix(folder)) for source in known]
    text = f"Read in {terminal(folder)}: " if folder else "Read "
    text += ", ".join(names[:4]) + (f", and {len(names) - 4} more" if len(names) > 4 else "")
    unknown = len(report.sources) - len(known)
    text += f"; {units.count(unknown, 'file')} not recognised" if unknown else ""
    unread = sum(source.unmatched for source in known)
    text += f"; {units.count(unread, 'line')} not understood (see: loganalyze check)" if unread else ""
    return wrap(text, width, rest=INDENT)


def _verdict(report: Report, run: Run, folder: str, width: int) -> list[str]:
    judged = facts.judgement(run)
    head = f"{facts.WORDS[judged.verdict]} · {judged.cause} · confidence {judged.confidence}"
    about = " · ".join(w for w in (facts.engine(run), facts.model(run) or "", ", ".join(facts.devices(run))) if w)
    where = f"{run.id.removeprefix(folder)} · " if len(report.runs) > 1 else ""
    return [*wrap(head, width), *wrap(terminal(judged.summary), width), cut(INDENT + terminal(where + about), width)]


def _explains(run: Run, width: int) -> list[str]:
    share = facts.explained(run)
    return [] if share is None else wrap(f"It explains {share}.", width)


def _rates(run: Run, width: int) -> list[str]:
    judged, out = facts.judgement(run), []
    for name, half, noun in (("reading", judged.reading, "prompt"), ("writing", judged.writing, "output")):
        text = facts.half(name, half, noun)
        if text is not None:
            out += wrap(text, width, f"  {name}  ")
    return out


def _memory(run: Run, width: int) -> list[str]:
    rows = sorted(facts.memory_rows(run), key=lambda row: -row.planned)
    out = [
        line for row in rows[:3] for line in wrap(terminal(f"{row.device} {facts.memory(row)}"), width, "  memory   ")
    ]
    peak = facts.judgement(run).telemetry.get("vram_peak_mib")
    if peak is not None:
        total = facts.judgement(run).telemetry.get("vram_total_mib")
        out.append(f"  peak     {units.mib(peak)}" + (f" of {units.mib(total)} device memory" if total else ""))
    return out


def _evidence(run: Run, folder: str, width: int) -> list[str]:
    pairs = list(facts.evidence_of(facts.judgement(run)))
    if not pairs:
        return []
    out, said, shown = ["Evidence"], "", 0
    for finding, evidence in pairs[:5]:
        text = facts.statement(finding)
        if evidence is not None and text == said:
            text = evidence.text
        said = said if evidence is not None and text == evidence.text else text
        place = "" if evidence is None else f"  {facts.where(evidence).removeprefix(folder)}"
        out += wrap(terminal(text + place), width, "  - ")
        shown += 1
    if len(pairs) > shown:
        out.append(f"  - and {units.count(len(pairs) - shown, 'more line')} in the JSON")
    return out


def _list(title: str, items: list[str], width: int) -> list[str]:
    return wrap(terminal("; ".join(items)), width, f"{title}: ", INDENT) if items else []


def _missing(report: Report, width: int) -> list[str]:
    out = []
    for missing in report.missing[:2]:
        out += wrap(terminal(f"{missing.what}. Record it:"), width, "Not seen: ", INDENT)
        out.append(f"{INDENT}{terminal(missing.record)}")
    if len(report.missing) > 2:
        out.append(f"{INDENT}and {len(report.missing) - 2} more not seen")
    return out


def _overrides(report: Report, width: int) -> list[str]:
    changed = [f"{name} = {value}" for name, value in sorted(report.overrides.items())]
    return _list("Thresholds changed", changed, width)


def _next(report: Report, width: int) -> list[str]:
    if report.next_step is None:
        return []
    return [*wrap(terminal(report.next_step), width, "Try: ", INDENT), *wrap(facts.REMINDER, width)]


def _no_run(report: Report, width: int) -> list[Block]:
    head = f"{facts.WORDS[report.verdict]} · {report.cause} · confidence {report.confidence}"
    verdict = [*wrap(head, width), *wrap(terminal(report.summary), width)]
    return [Block(verdict, least=2), Block(_missing(report, width), 4, 2), Block(_next(report, width), least=2)]


def _others(report: Report, main: Run | None, folder: str, width: int) -> list[Block]:
    others = [run for run in report.runs if run is not main]
    if not others:
        return []
    counts: dict[str, int] = {}
    for run in report.runs:
        counts[facts.judgement(run).verdict] = counts.get(facts.judgement(run).verdict, 0) + 1
    tally = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    out = [f"{len(report.runs)} runs: {tally}. The one that lost the most time is told in full below."]
    for run in others[:MAX_OTHERS]:
        judged = facts.judgement(run)
        rates = f"{units.rate(judged.reading.tps)} reading, {units.rate(judged.writing.tps)} writing"
        out.append(
            cut(terminal(f"{INDENT}{run.id.removeprefix(folder)}: {judged.verdict} ({judged.cause}), {rates}"), width)
        )
    if len(others) > MAX_OTHERS:
        out.append(f"{INDENT}and {len(others) - MAX_OTHERS} more; one row each: loganalyze batch")
    return [Block(wrap(out[0], width) + out[1:], rank=0, least=len(out))]


def _extra(report: Report) -> int:
    others = len(report.runs) - 1
    return 0 if others < 1 else 2 + min(others, MAX_OTHERS + 1)


def _fit(blocks: list[Block], width: int, limit: int) -> list[Block]:
    """Cut the least telling lines until all fit, counting a long command as the rows it takes on the screen."""
    while sum(_rows(line, width) for block in blocks for line in block.lines) > limit:
        long = [block for block in blocks if len(block.lines) > block.least]
        if not long:
            break
        victim = max(long, key=lambda block: (block.rank, len(block.lines)))
        victim.lines = victim.lines[:-1]
        if victim.lines and not victim.lines[-1].endswith("…"):
            victim.lines[-1] = cut(victim.lines[-1] + " …", width)
    return blocks


def _rows(line: str, width: int) -> int:
    return max(1, -(-columns(line) // width))


def _coloured(text: str, report: Report) -> str:
    """Bold verdict in its colour, bold heads; the words alone carry the meaning."""
    out = []
    for line in text.split("\n"):
        word = next((w for v, w in facts.WORDS.items() if line.startswith(w + " ")), None)
        if word is not None:
            code = next(_COLOURS[v] for v, w in facts.WORDS.items() if w == word)
            line = f"\x1b[1;{code}m{word}\x1b[0m{line[len(word) :]}"
        elif line.startswith(("Evidence", "Ruled out:", "Not seen:", "Try:", "Thresholds changed:")):
            head, colon, rest = line.partition(":")
            line = f"\x1b[1m{head}{colon}\x1b[0m{rest}"
        out.append(line)
    return "\n".join(out)

"""A log of an engine nobody described: only what any log tells, with low confidence.

Used when no known format took a line. Words for loading, prompt, first output and end mark the phases of requests by
their stamps; printed rates near words for reading or writing are taken; words for out-of-memory, offload and fallback
become events. The engine is named ``unknown``, which later rooms must answer with low confidence.
Known limits: words of other languages, several requests at once, and stamps of whole seconds (good to about 1 s).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from loganalyze.formats.base import LogState
from loganalyze.formats.engine_rates import elapsed_ms
from loganalyze.model.records import Request, Run, Source
from loganalyze.scan.line import Line

NAME = "unknown"
MAX_LINES = 2_000_000
MAX_TEXT = 2000

_I = re.IGNORECASE
LOAD = re.compile(rb"\b(?:load(?:ing|ed)? (?:the )?(?:model|weights|checkpoint)|initiali[sz]ing)", _I)
READY = re.compile(
    rb"\b(?:model (?:is )?(?:loaded|ready)|weights loaded|load(?:ing)? (?:done|finished|complete)|ready to serve)", _I
)
START = re.compile(
    rb"\b(?:prompt (?:received|processing|start)|(?:received|new|start(?:ing|ed)?) (?:request|prompt|prefill|generation)|request (?:received|started?)"
    rb"|processing (?:prompt|request)|prefill (?:start|begin))",
    _I,
)
FIRST = re.compile(
    rb"\b(?:first (?:token|output|chunk|byte)|prefill (?:done|finished|complete|end)|decod(?:e|ing) start|start(?:ing|ed)? (?:decod|stream|writ))",
    _I,
)
END = re.compile(
    rb"\b(?:(?:request|generation|answer|response|output|decod(?:e|ing)) (?:is )?(?:done|finished|complete[d]?|ended?)|finished (?:request|generation|answer|response|streaming)"
    rb"|last token|done[:,.]|finished[:,.])",
    _I,
)
OOM = re.compile(
    rb"\b(?:out of (?:device )?memory|oom\b|cannot allocate|failed to allocate|allocation failed|not enough (?:gpu |device |video )?memory)",
    _I,
)
FALLBACK = re.compile(
    rb"\b(?:fall(?:ing|s)? back to (?:the )?cpu|cpu fallback|no (?:usable )?gpu|gpu not (?:found|available)|running on cpu|using cpu)\b",
    _I,
)
OFFLOAD = re.compile(
    rb"\b(?:(\d{1,4}) ?(?:of|/) ?(\d{1,4}) layers|offload(?:ing|ed)?\b[^\n]{0,60}\b(?:cpu|host|ram|disk)\b|weights? (?:on|in|to) (?:the )?(?:cpu|host|ram))",
    _I,
)
TOKENS = re.compile(rb"(?<![\d.])(\d{1,9}) ?(?:prompt |input |output |new |generated )?tok(?:en)?s?\b", _I)
RATE = re.compile(rb"(?<![\d.])(\d{1,7}(?:\.\d{1,4})?) ?(?:tok(?:en)?s?|t) ?(?:/|per) ?s(?:ec(?:ond)?)?\b", _I)
READING = re.compile(rb"\b(?:prompt|prefill|reading|input|pp)\b", _I)
WRITING = re.compile(rb"\b(?:generat\w*|decod\w*|writing|output|eval|tg)\b", _I)
DEVICE = re.compile(
    rb"\b((?:NVIDIA |AMD |Intel )?(?:GeForce |Radeon |Tesla |Quadro )?(?:RTX|GTX|RX|Arc)[ -]?[A-Z]?\d{3,4}(?: ?(?:Ti|SUPER|XTX|XT|D))*|(?:NVIDIA )?[AHL]\d{2,3}S?\b)",
    _I,
)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.state = LogState(source)
        self.open: Request | None = None
        self.load_from: float | None = None
        self.used = 0

    def line(self, line: Line) -> bool:
        """Take what ``line`` tells; whether it told anything."""
        text = line.text[:MAX_TEXT]
        self.state.at(line)
        told = self.trouble(text, line)
        told = self.phase(text, line) or told
        return self.rate(text, line) or told

    def trouble(self, text: bytes, line: Line) -> bool:
        if OOM.search(text):
            self.state.event("alloc_failed", line, recovered=False)
        elif FALLBACK.search(text):
            self.state.event("no_gpu", line)
        elif found := OFFLOAD.search(text):
            first, total = found.groups()
            if first is not None and re.search(rb"\b(?:gpu|cuda|vram|device|offload)", text, _I):
                self.state.run.setup.layers_on_gpu, self.state.run.setup.layers_total = int(first), int(total)
                self.state.run.fact_lines["layers_on_gpu"] = line.number
            elif first is None:
                self.state.event("host_weights", line)
            else:
                return False
        else:
            return False
        return True

    def phase(self, text: bytes, line: Line) -> bool:
        run = self.state.run
        now = line.t_s
        if device := DEVICE.search(text):
            self.device(device.group(1), line)
        if READY.search(text):
            if (loaded := elapsed_ms(self.load_from, now)) is not None:
                run.load_ms = loaded
                run.fact_lines["load_ms"] = line.number
        elif LOAD.search(text):
            self.load_from = now
        elif START.search(text):
            self.start(text, line)
        elif FIRST.search(text):
            request = self.open or self.start(b"", line)
            if now is not None and request.start_s is not None and now > request.start_s:
                request.ttft_ms = request.prompt_ms = (now - request.start_s) * 1000
                request.lines["prompt"] = line.number
        elif self.open is not None and END.search(text):
            self.end(text, line)
        else:
            return bool(device)
        return True

    def device(self, name: bytes, line: Line) -> None:
        from loganalyze.model.records import Device

        run = self.state.run
        text = name.decode("ascii", "replace")
        if not any(d.name == text for d in run.devices):
            run.devices.append(Device(text, index=len(run.devices), source=self.state.source.path, line=line.number))

    def start(self, text: bytes, line: Line) -> Request:
        self.open = self.state.request(line, start_s=line.t_s, complete=False)
        if found := TOKENS.search(text):
            self.open.prompt_tokens = int(found.group(1))
        return self.open

    def end(self, text: bytes, line: Line) -> None:
        request, self.open = self.open, None
        if request is None:
            return
        request.complete = True
        request.end_s = line.t_s
        if found := TOKENS.search(text):
            request.output_tokens = int(found.group(1))
        request.total_ms = elapsed_ms(request.start_s, line.t_s)
        if request.total_ms is None:
            return
        request.lines["total"] = line.number
        if request.prompt_ms is None:
            return
        request.eval_ms = max(request.total_ms - request.prompt_ms, 0.0)
        count = request.output_tokens
        if count is not None and count > 1 and request.eval_ms > 0:
            request.eval_tokens = count - 1
            request.eval_tps = (count - 1) / request.eval_ms * 1000
        if request.prompt_tokens is not None and request.prompt_tokens > 1 and request.prompt_ms > 0:
            request.prompt_tps = request.prompt_tokens / request.prompt_ms * 1000

    def rate(self, text: bytes, line: Line) -> bool:
        found = RATE.search(text)
        reading, writing = bool(READING.search(text)), bool(WRITING.search(text))
        if found is None or reading == writing:
            return False
        request = self.open
        if request is None:
            run = self.state.run
            request = run.requests[-1] if run.requests else self.state.request(line)
        value = float(found.group(1))
        if reading and request.prompt_tps is None and value > 0:
            request.prompt_tps = value
            request.lines.setdefault("prompt", line.number)
        elif writing and request.eval_tps is None and value > 0:
            request.eval_tps = value
            request.lines.setdefault("eval", line.number)
        return True


def read_unknown(lines: Iterable[Line], source: Source) -> list[Run]:
    """Runs that say at least when something was read or written, or what went wrong; else none."""
    reader = _Reader(source)
    first = True
    seen: set[int] = set()
    used: set[int] = set()
    for line in lines:
        if first and line.text.strip():
            first = False
            text = line.text.strip()
            if text.startswith((b"{", b"<", b"[{")) or text == b"[":
                # A document about runs (JSON, XML) is no log of one.
                return []
        seen.add(line.number)
        if len(seen) > MAX_LINES:
            break
        if reader.line(line):
            used.add(line.number)
    runs = [r for r in reader.state.finish() if _telling(r)]
    if not runs:
        return []
    for run in runs:
        run.engine = NAME
    source.format, source.dialect = NAME, "words and stamps"
    source.matched = len(used)
    source.unmatched = 0
    source.skipped = max(source.lines, len(seen)) - len(used)
    source.notes.append("no known engine: read by words and stamps only")
    return runs


def _telling(run: Run) -> bool:
    timed = any(r.prompt_ms is not None or r.total_ms is not None or r.eval_tps is not None for r in run.requests)
    return timed or any(e.kind in ("alloc_failed", "no_gpu", "host_weights") for e in run.events)

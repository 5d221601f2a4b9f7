"""Responses saved by clients: llama.cpp ``timings``, OpenAI ``usage``, Ollama API, SGLang, LM Studio, SSE streams, /metrics.

* llama.cpp (b796 on) tells computed tokens (``prompt_n``), cached ones (``cache_n``, b6399 on) and times; b796-b975 put
  the number of generated tokens into ``prompt_n``, seen by ``prompt_n`` contradicting ``prompt_ms`` and its rate.
* OpenAI ``usage.prompt_tokens`` includes cached tokens. An empty ``stats`` says nothing.
* Ollama counts are ``rates``-checked. SGLang ``e2e_latency``, LM Studio and TabbyAPI times are seconds.
* A stream's chunks are not tokens: counts come from its ``usage``; without it they are unknown. The first chunk with text
  gives the first-token time when lines carry stamps, counted from the first event: the wait before that is not in
  the capture.
* A document of several lines (``curl … | jq .``) is read whole by ``read_document``.
* Client records (``{"start": …, "first": …, "end": …, "tail": "data: …"}``) give wall-clock times of the client.
* ``/metrics`` of llama-server is one scrape of totals since its start: one request that stands for all.
"""

from __future__ import annotations

import json

from loganalyze.formats.base import LogState
from loganalyze.formats.engine_rates import rate
from loganalyze.formats.response_figures import engine_of, fill
from loganalyze.formats.stream_times import Stream
from loganalyze.model.records import Request, Run, Source
from loganalyze.scan.line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler

NAME = "responses"
GRAMMARS = ("responses",)
MAX_JSON = 1 << 20
CLIENT_KEYS = ("start", "first", "end")


class _Reader:
    def __init__(self, state: LogState) -> None:
        self.state = state
        self.stream = Stream()
        self.totals: Request | None = None

    def object_line(self, fields: Fields, line: Line) -> None:
        record = _load(fields["answer"])
        if record is None:
            return
        if all(isinstance(record.get(k), int | float) for k in CLIENT_KEYS):
            self.client(record, line)
        else:
            self.response(record, line)

    def response(self, record: dict[str, Any], line: Line) -> Request | None:
        """Add a request when the object tells figures."""
        request = Request("", self.state.source.path, line.number)
        if not fill(request, record):
            return None
        run = self.state.run
        run.engine = run.engine or engine_of(record)
        fingerprint = record.get("system_fingerprint")
        if isinstance(fingerprint, str) and fingerprint.startswith("b") and run.version is None:
            run.version = fingerprint.split("-")[0][:20]
        if isinstance(record.get("model"), str):
            run.setup.model_name = run.setup.model_name or record["model"][:200]
        self.state.dialect("response")
        request.id = str(len(run.requests) + 1)
        run.requests.append(request)
        return request

    def client(self, record: dict[str, Any], line: Line) -> None:
        """A client's own times around a response; the text of the answer may hold its last events."""
        start, first, end = (float(record[k]) for k in CLIENT_KEYS)
        inner = next((r for r in _events(str(record.get("tail", ""))) if fill(Request("", "", 0), r)), None)
        request = self.response(inner, line) if inner else None
        if request is None:
            request = self.state.request(line)
        run = self.state.run
        run.setup.streaming = True
        run.facts["client_record"] = True
        if run.clock.first_epoch_s is None:
            run.clock.kind, run.clock.zone, run.clock.first_epoch_s = "absolute", "UTC", start
            run.clock.resolution_s = 1e-3
        zero = run.clock.first_epoch_s
        request.start_s, request.end_s = start - zero, max(start, end) - zero
        if start <= first <= end:
            request.ttft_ms = (first - start) * 1000
        request.total_ms = (end - start) * 1000 if start <= end else None
        run.start_s = min(request.start_s, run.start_s if run.start_s is not None else request.start_s)
        run.end_s = max(request.end_s, run.end_s if run.end_s is not None else request.end_s)

    def event(self, fields: Fields, line: Line) -> None:
        record = _load(fields["object"])
        if record is None:
            return
        stamp = _stamp(fields, line)
        self.stream.see(stamp, _has_text(record))
        request = self.response(record, line)
        if request is not None:
            self.state.run.setup.streaming = True
            self.stream.time(request)
            self.stream = Stream()

    def done(self, fields: Fields, line: Line) -> None:
        self.stream = Stream()

    def metric(self, fields: Fields, line: Line) -> None:
        try:
            value = float(fields["metric_value"])
        except ValueError:
            return
        if not 0 <= value < 1e15:
            return
        name = fields["metric_name"]
        if self.totals is None:
            self.totals = self.state.request(line)
            self.state.run.engine = self.state.run.engine or "llama.cpp"
            self.state.dialect("metrics")
        request = self.totals
        request.lines[name] = line.number
        if name == "prompt_tokens_total":
            request.prompt_tokens = int(value)
        elif name == "prompt_tokens_cached_total":
            request.cached_tokens = int(value)
        elif name == "prompt_seconds_total":
            request.prompt_ms = value * 1000
        elif name == "tokens_predicted_total":
            request.output_tokens = request.eval_tokens = int(value)
        elif name == "tokens_predicted_seconds_total":
            request.eval_ms = value * 1000
        elif name == "requests_deferred" and value > 0:
            self.state.event("queue", line, waiting=int(value))
        request.prompt_tps = rate(request.prompt_tokens, request.prompt_ms)
        request.eval_tps = rate(request.output_tokens, request.eval_ms)


def _stamp(fields: Fields, line: Line) -> float | None:
    return float(fields["stamp"]) if "stamp" in fields else line.t_s


def _load(text: str) -> dict[str, Any] | None:
    if len(text) > MAX_JSON:
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _events(text: str) -> list[dict[str, Any]]:
    found = [_load(part[5:].strip()) for part in text.split("\n") if part.startswith("data:")]
    return [r for r in found if r is not None]


def _has_text(record: dict[str, Any]) -> bool:
    choices = record.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        delta = choices[0].get("delta")
        if isinstance(delta, dict):
            return bool(delta.get("content") or delta.get("reasoning_content") or delta.get("tool_calls"))
        return bool(choices[0].get("text"))
    return bool(record.get("content") or record.get("response"))


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""
    reader = _Reader(state)
    names: dict[str, Handler] = {
        "object_line": reader.object_line,
        "event": reader.event,
        "done": reader.done,
        "metric": reader.metric,
    }
    return {f"responses.{name}": handler for name, handler in names.items()}


def read_document(text: bytes, source: Source) -> list[Run]:
    """Runs in a JSON document (one response or a list of them), whole or in pieces between other lines."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        from loganalyze.formats.response_pieces import pieces

        content = list(pieces(text.decode("utf-8", "replace")))
    state = LogState(source)
    reader = _Reader(state)
    line = Line(1, b"")
    state.at(line)
    for record in content if isinstance(content, list) else [content]:
        if isinstance(record, dict):
            reader.response(record, line)
    runs = state.finish()
    if runs:
        source.format, source.matched, source.unmatched, source.skipped = NAME, source.lines, 0, 0
    return runs

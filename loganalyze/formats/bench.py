"""llama-bench in all its outputs (b1003 on), llama-batched-bench (b1366 on), ik_llama.cpp's llama-sweep-bench.

Rows with one model and one set of settings form a run; each test is a request: ``pp512`` has a prompt and no answer,
``tg128`` the reverse, ``pp512+tg128`` both and only a rate over both, which is judged as neither. ``@ d4096`` is the depth
already in the context (``n_ctx_used``). Batched tables sum streams: ``S_TG`` over B is one stream's rate, the sum stays in
``facts["bench_output_tps"]``.
"""

from __future__ import annotations

import re

from loganalyze.formats import pairs
from loganalyze.formats.base import LogState
from loganalyze.light import lazy_pattern
from loganalyze.model.records import Request, Run
from loganalyze.scan.line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler

NAME = "llama_bench"
GRAMMARS = ("bench",)

_TEST = lazy_pattern(r"(pp|tg) ?(\d{1,9})(?:\+tg ?(\d{1,9}))?(?: @ d(\d{1,9}))?$")
_RATE = lazy_pattern(r"(\d{1,9}(?:\.\d{1,6})?)(?: *(?:±|\u00c2±|\+-|Â±) *(\d{1,9}(?:\.\d{1,6})?))?$")
_SCALE = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_COLUMNS = {"threads": "n_threads", "ngl": "n_gpu_layers", "fa": "flash_attn"}
# A pretty-printed record has about 45 lines; far more is no record.
MAX_RECORD_LINES = 400
MAX_ROWS = 100_000
# More tokens or seconds than any run has.
MOST = 1e12


class _Bench:
    def __init__(self, state: LogState) -> None:
        self.state = state
        self.columns: list[str] = []
        self.key: Any = None
        self.table: list[Run] = []
        """Runs of the rows since the last footer."""
        self.setup: dict[str, str] = {}

    # one row of any output

    def row(self, told: dict[str, Any], line: Line) -> None:
        """``told`` uses llama-bench's own column names."""
        key = tuple(sorted((k, str(v)) for k, v in told.items() if k in _SETTINGS))
        run = self._run(key)
        self._settings(run, told)
        prompt, written = _int(told.get("n_prompt")), _int(told.get("n_gen"))
        tps = pairs.number(told.get("avg_ts"))
        if tps is None or tps <= 0:
            self.state.event("error", line, text="no rate: the test failed")
            return
        request = self.state.request(line, n_ctx_used=_int(told.get("n_depth")) or None)
        _fill(request, prompt, written, tps)
        request.lines = {"prompt" if prompt else "eval": line.number}

    def _run(self, key: Any) -> Run:
        state = self.state
        if key != self.key:
            before = state.run if self.key is not None or state.runs else None
            if before is not None and before.requests:
                run = state.start_run()
                run.devices, run.backend, run.version = list(before.devices), before.backend, before.version
            self.key = key
        run = state.run
        run.engine = run.engine or "llama.cpp"
        run.facts["benchmark"] = True
        if run not in self.table:
            self.table.append(run)
        state.dialect(NAME)
        return run

    @staticmethod
    def _settings(run: Run, told: dict[str, Any]) -> None:
        setup = run.setup
        for name in ("n_batch", "n_ubatch", "n_threads", "n_gpu_layers"):
            value = _int(told.get(name))
            if value is not None:
                setattr(setup, name, value)
        for name in ("type_k", "type_v", "flash_attn", "split_mode"):
            if told.get(name) not in (None, ""):
                setattr(setup, name, str(told[name]))
        setup.model_path = told.get("model_filename") or setup.model_path
        setup.model_name = told.get("model_type") or setup.model_name
        setup.model_bytes = _int(told.get("model_size")) or setup.model_bytes
        setup.n_params = _int(told.get("model_n_params")) or setup.n_params
        run.backend = told.get("backends") or run.backend
        number = _int(told.get("build_number"))
        if number:
            run.version = f"b{number}"
        _devices(run, told)

    # outputs

    def md_head(self, fields: Fields, _line: Line) -> None:
        self.columns = ["model", *(c.strip() for c in fields["columns"].strip("| ").split("|"))]

    def md_row(self, fields: Fields, line: Line) -> None:
        cells = [c.strip() for c in fields["cells"].strip().removesuffix("|").split("|")]
        names = self.columns[3:] if len(self.columns) == len(cells) + 3 else []
        told: dict[str, Any] = {_COLUMNS.get(n, n): c for n, c in zip(names, cells, strict=False)}
        test, rate = _TEST.match(cells[-2]) if len(cells) > 1 else None, _RATE.match(cells[-1])
        if test is None or rate is None:
            self.state.event("error", line, text="damaged table row")
            return
        told |= _test(test)
        told["avg_ts"] = rate.group(1)
        told["model_type"] = fields["model"]
        told["model_size"] = round((pairs.size_mib(fields["size"], fields["size_unit"]) or 0) * 2**20) or None
        told["model_n_params"] = round(fields["params"] * _SCALE[fields["params_unit"]])
        told["backends"] = told.pop("backend", None) or (cells[0] if not names else None)
        told.pop("test", None)
        told.pop("t/s", None)
        self.row(told, line)

    def build(self, fields: Fields, _line: Line) -> None:
        """The footer of a table names the build of all its rows; what follows is another table."""
        for run in self.table:
            run.version = f"b{fields['build_number']}"
        if self.table:
            self.table, self.key = [], ()

    def csv_head(self, fields: Fields, _line: Line) -> None:
        import csv

        names = ["build_commit", *fields["names"].split(",")]
        for line in self._following(lambda raw: raw.text.startswith(b'"')):
            cells = next(csv.reader([line.str]), [])
            if len(cells) == len(names):
                self.row(dict(zip(names, cells, strict=True)), line)

    def json_line(self, fields: Fields, line: Line) -> None:
        self._json(fields["json_object"], line)

    def json_first(self, fields: Fields, line: Line) -> None:
        count = 0

        def inside(raw: Line) -> bool:
            nonlocal count
            count += 1
            return count <= MAX_RECORD_LINES and not raw.text.lstrip().startswith(b"}")

        rest = " ".join(raw.str for raw in self._following(inside))
        self._json('{"build_commit": ' + fields["first_value"] + ", " + rest + "}", line)

    def _json(self, text: str, line: Line) -> None:
        import json

        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            self.state.event("error", line, text="damaged record")
            return
        if isinstance(told, dict):
            self.row({k: v for k, v in told.items() if not isinstance(v, list | dict)}, line)

    def sql(self, fields: Fields, line: Line) -> None:
        names = fields["sql_names"].split(", ")
        values = [v.replace("''", "'") for v in fields["sql_values"].strip("'").split("', '")]
        if len(names) == len(values):
            self.row(dict(zip(names, values, strict=True)), line)

    # batched and sweep

    def batched_setup(self, fields: Fields, _line: Line) -> None:
        self.setup = {k.strip(): v.strip() for k, _, v in (p.partition("=") for p in fields["setup_pairs"].split(","))}
        self.setup["n_ctx"] = str(fields["n_kv_max"])

    def batched_head(self, fields: Fields, line: Line) -> None:
        with_batch = " B |" in line.str.replace("\t", " ")
        run = self._run(("batched", line.number))
        self._settings(run, self.setup)
        run.setup.n_ctx = _int(self.setup.get("n_ctx")) or run.setup.n_ctx
        for raw in self._following(lambda r: r.text.lstrip().startswith(b"|")):
            cells = [pairs.number(c) for c in raw.str.strip().strip("|").split("|")]
            if with_batch and len(cells) >= 8 and None not in cells[:8]:
                self._batched(raw, *[c for c in cells[:8] if c is not None])
            elif not with_batch and len(cells) >= 7 and None not in cells[:7]:
                told = [c for c in cells[:7] if c is not None]
                pp, tg, depth, t_pp, s_pp, t_tg, s_tg = told
                self._batched(raw, pp, tg, 1.0, depth, t_pp, s_pp, t_tg, s_tg, depth)

    def batched_line(self, fields: Fields, line: Line) -> None:
        import json

        try:
            told = json.loads(fields["batched_object"])
            values = [float(told[k]) for k in ("pp", "tg", "pl", "n_kv", "t_pp", "speed_pp", "t_tg", "speed_tg")]
        except (ValueError, KeyError, TypeError, RecursionError):
            self.state.event("error", line, text="damaged record")
            return
        run = self._run(("batched",))
        self._settings(run, told)
        run.setup.n_ctx = _int(told.get("n_kv_max")) or run.setup.n_ctx
        self._batched(line, *values)

    def _batched(
        self,
        line: Line,
        pp: float,
        tg: float,
        streams: float,
        _n_kv: float,
        t_pp: float,
        s_pp: float,
        t_tg: float,
        s_tg: float,
        depth: float = 0.0,
    ) -> None:
        if not all(0 <= value < MOST for value in (pp, tg, streams, t_pp, s_pp, t_tg, s_tg, depth)):
            self.state.event("error", line, text="figures that cannot be")
            return
        request = self.state.request(line, n_ctx_used=int(depth) or None)
        request.prompt_tokens = int(pp * streams)
        request.prompt_ms, request.prompt_tps = t_pp * 1000, s_pp if s_pp > 0 and pp > 1 else None
        request.ttft_ms = t_pp * 1000
        request.output_tokens = request.eval_tokens = int(tg)
        request.eval_ms = t_tg * 1000
        request.eval_tps = s_tg / streams if streams > 0 and s_tg > 0 else None
        request.total_ms = (t_pp + t_tg) * 1000
        request.lines = {"prompt": line.number, "eval": line.number}
        facts = self.state.run.facts
        facts["bench_streams"] = max(facts.get("bench_streams", 0), int(streams))
        facts["bench_output_tps"] = max(facts.get("bench_output_tps", 0.0), s_tg)

    def _following(self, keep: Any) -> list[Line]:
        scanner = self.state.scanner
        count = 0

        def bounded(raw: Line) -> bool:
            nonlocal count
            count += 1
            return count <= MAX_ROWS and bool(keep(raw))

        return scanner.take_while(bounded) if scanner is not None else []


_SETTINGS = frozenset(
    {
        "model_filename",
        "model_type",
        "model_size",
        "model_n_params",
        "backends",
        "n_batch",
        "n_ubatch",
        "n_threads",
        "type_k",
        "type_v",
        "n_gpu_layers",
        "split_mode",
        "flash_attn",
        "no_kv_offload",
        "main_gpu",
        "tensor_split",
        "tensor_buft_overrides",
        "ot",
        "n_cpu_moe",
        "use_mmap",
        "mmap",
        "sm",
        "nkvo",
        "dev",
        "devices",
        "build_number",
    }
)


def _test(found: re.Match[str]) -> dict[str, Any]:
    kind, first, second, depth = found.groups()
    prompt = int(first) if kind == "pp" else 0
    written = int(first) if kind == "tg" else int(second or 0)
    return {"n_prompt": prompt, "n_gen": written, "n_depth": int(depth or 0)}


def _fill(request: Request, prompt: int | None, written: int | None, tps: float) -> None:
    if prompt and written:
        request.prompt_tokens, request.output_tokens = prompt, written
        request.total_ms = (prompt + written) / tps * 1000
        request.eval_tps, request.end_to_end_tps = tps, True
    elif prompt:
        request.prompt_tokens = prompt
        request.prompt_ms = request.ttft_ms = request.total_ms = prompt / tps * 1000
        request.prompt_tps = tps if prompt > 1 else None
    elif written:
        request.output_tokens = request.eval_tokens = written
        request.eval_ms = request.total_ms = written / tps * 1000
        request.eval_tps = tps


def _devices(run: Run, told: dict[str, Any]) -> None:
    from loganalyze.model.records import Device

    names = told.get("gpu_info")
    if isinstance(names, str) and names and not run.devices:
        source = run.source.path if run.source is not None else None
        for index, name in enumerate(names.split(", ")):
            run.devices.append(Device(name, index=index, backend=run.backend, source=source, line=run.first_line))


def _int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    number = pairs.number(value)
    return None if number is None else int(number)


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""
    reader = _Bench(state)
    names = (
        "md_head",
        "md_row",
        "build",
        "csv_head",
        "json_line",
        "json_first",
        "sql",
        "batched_setup",
        "batched_head",
        "batched_line",
    )
    return {f"bench.{name}": getattr(reader, name) for name in names}

"""What every output says about a run, in words and rows: rates and shares, placement, memory, evidence.

Facts are drawn from the records only; what is not there is said to be unknown or left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

from loganalyze.light import dataclass
from loganalyze.model.records import Device, Evidence, Finding, HalfFacts, Judgement, Run, Source
from loganalyze.reports import units

REMINDER = "After each change: three runs of the same fixed input again."

WORDS = {
    "swapping": "SWAPPING",
    "slow reading": "SLOW READING",
    "slow writing": "SLOW WRITING",
    "healthy": "HEALTHY",
    "inconclusive": "INCONCLUSIVE",
}


@dataclass(slots=True)
class MemoryRow:
    """Planned buffers of one device in MiB; ``total_mib`` is the device's own memory, None for host memory."""

    device: str
    name: str | None
    model: float | None = None
    kv: float | None = None
    compute: float | None = None
    output: float | None = None
    planned: float = 0.0
    total_mib: float | None = None
    free_mib: float | None = None
    source: str | None = None
    line: int | None = None


def judgement(run: Run) -> Judgement:
    """The run's judgement; an unjudged run reads as inconclusive."""
    return run.judgement if run.judgement is not None else Judgement()


def half(name: str, facts: HalfFacts, noun: str) -> str | None:
    """One half of a run: ``reading  230 tokens in 93 ms, 2481 t/s, 4 % of request time, expected 2900 t/s``."""
    if facts.ms is None and facts.tps is None and facts.tokens is None:
        return None
    parts = []
    if facts.tokens is not None:
        parts.append(units.count(facts.tokens, f"{noun} token") + _in(facts.ms))
    elif facts.ms is not None:
        parts.append(units.milliseconds(facts.ms))
    parts.append(units.rate(facts.tps) if facts.tps is not None else "no usable rate")
    if facts.share is not None:
        parts.append(f"{units.percent(facts.share)} of request time")
    if facts.expected_tps is not None:
        parts.append(f"expected {units.rate(facts.expected_tps)}")
    return ", ".join(parts)


def placement(run: Run) -> str:
    """N of M layers, and where experts and KV cache live, or that the log does not say."""
    setup, parts = run.setup, []
    if setup.layers_on_gpu is not None:
        total = "" if setup.layers_total is None else f" of {setup.layers_total}"
        parts.append(f"{setup.layers_on_gpu}{total} layers on the GPU")
    elif setup.n_gpu_layers is not None:
        count = (
            str(setup.n_gpu_layers)
            if setup.n_gpu_layers >= 0
            else "all"
            if "n-gpu-layers" in setup.flags
            else "no number of"
        )
        parts.append(f"{count} GPU layers asked for, layers placed: unknown")
    if setup.tensor_overrides:
        parts.append("tensors moved by " + ", ".join(setup.tensor_overrides[:3]))
    cache = sorted({buffer.device for buffer in run.memory if buffer.kind == "kv"})
    if cache:
        parts.append("KV cache in " + ", ".join(cache))
    return "; ".join(parts) if parts else "unknown (the log carries no placement lines)"


def memory_rows(run: Run) -> list[MemoryRow]:
    """Sum of buffers per device against that device's memory, devices in order of first mention."""
    rows: dict[str, MemoryRow] = {}
    for buffer in run.memory:
        row = rows.get(buffer.device)
        if row is None:
            row = rows[buffer.device] = MemoryRow(buffer.device, None, source=buffer.source, line=buffer.line)
        setattr(row, buffer.kind, (getattr(row, buffer.kind) or 0.0) + buffer.mib)
        row.planned += buffer.mib
    for device in run.devices:
        row = rows.get(device.id or "")
        if row is not None:
            row.name, row.total_mib, row.free_mib = device.name, device.total_mib, device.free_mib
    return list(rows.values())


def memory(row: MemoryRow) -> str:
    """``12.3 GiB planned of 24.0 GiB (model 10.1 GiB, KV 1.5 GiB, compute 712 MiB)``."""
    kinds = (("model", row.model), ("KV", row.kv), ("compute", row.compute), ("output", row.output))
    detail = ", ".join(f"{name} {units.mib(value)}" for name, value in kinds if value is not None)
    of = "" if row.total_mib is None else f" of {units.mib(row.total_mib)}"
    if row.free_mib is not None:
        of += f" ({units.mib(row.free_mib)} free at start)"
    return f"{units.mib(row.planned)} planned{of}: {detail}"


def ordered(judged: Judgement) -> list[Finding]:
    """Findings that weigh: the verdict's cause first, then critical before warning, dearest first."""
    weighing = [f for f in judged.findings if f.state in ("critical", "warning")]
    return sorted(weighing, key=lambda f: (f.cause != judged.cause, f.state != "critical", -(f.explains_s or 0.0)))


def statement(finding: Finding) -> str:
    """What a finding says, with value and threshold where its own text leaves them out."""
    extra = []
    if finding.value is not None:
        value = units.quantity(finding.value, finding.unit)
        whole = f"{finding.value * 100:.0f} %" if finding.unit == "ratio" else value
        number = value.split(" ")[0]
        short = number.rstrip("0").rstrip(".") if "." in number else number
        if short not in finding.text and whole not in finding.text:
            extra.append(value)
    if finding.threshold is not None:
        limit = units.quantity(finding.threshold, finding.unit)
        if limit.split(" ")[0] not in finding.text:
            extra.append(f"threshold {limit}")
    text = finding.text or finding.cause.replace("_", " ")
    return f"{text} ({', '.join(extra)})" if extra else text


def folder_of(paths: list[str]) -> str:
    """The folder that all of ``paths`` lie in, with its separator; empty when there is none or one path only."""
    if len(paths) < 2:
        return ""
    common = paths[0]
    for path in paths[1:]:
        while not path.startswith(common):
            common = common[: max(common.rfind("/", 0, -1), common.rfind("\\", 0, -1)) + 1]
    cut = max(common.rfind("/"), common.rfind("\\")) + 1
    return common[:cut]


def where(evidence: Evidence) -> str:
    """``run.log:31``, or the time range for evidence drawn from telemetry."""
    if evidence.line is not None:
        return f"{evidence.source}:{evidence.line}"
    if evidence.t0_s is not None and evidence.t1_s is not None:
        return f"{evidence.source} ({units.seconds(evidence.t1_s - evidence.t0_s)})"
    return evidence.source


def evidence_of(judged: Judgement) -> Iterable[tuple[Finding, Evidence | None]]:
    """Each weighing finding with each of its evidence lines; None where it carries none."""
    for finding in ordered(judged):
        if not finding.evidence:
            yield finding, None
        for evidence in finding.evidence:
            yield finding, evidence


def explained(run: Run) -> str | None:
    """The share of time that the verdict explains, in words."""
    judged = judgement(run)
    main = next((f for f in ordered(judged) if f.cause == judged.cause), None)
    lost = main.explains_s if main is not None and main.explains_s is not None else judged.lost_s
    if lost is None or lost <= 0:
        return None
    total = request_seconds(run)
    if total is None or total < lost:
        return f"{units.seconds(lost)} lost"
    return f"{units.seconds(lost)} of {units.seconds(total)} ({units.percent(lost / total)})"


def request_seconds(run: Run) -> float | None:
    """Seconds in reading and writing together, None when neither is known."""
    judged = judgement(run)
    known = [h.ms for h in (judged.reading, judged.writing) if h.ms is not None]
    return sum(known) / 1000 if known else None


def engine(run: Run) -> str:
    """``llama.cpp b6173, CUDA``."""
    words = [" ".join(w for w in (run.engine, run.version) if w), run.backend or ""]
    return ", ".join(w for w in words if w) or "engine unknown"


def model(run: Run) -> str | None:
    """Name and quantisation of the model, from meta data or the file name."""
    setup = run.setup
    name = setup.model_name or (setup.model_path or "").replace("\\", "/").rsplit("/", 1)[-1]
    if not name:
        return setup.quant
    return f"{name} {setup.quant}" if setup.quant and setup.quant.lower() not in name.lower() else name


def devices(run: Run) -> list[str]:
    """Names of the devices, equal ones counted: ``2x NVIDIA H200``; those of captures where the log has none."""
    found = run.devices or _capture_devices(run)
    counts: dict[str, int] = {}
    for device in found:
        name = device.name or device.id or "unnamed device"
        counts[name] = counts.get(name, 0) + 1
    return [name if n == 1 else f"{n}x {name}" for name, n in counts.items()]


def read_as(source: Source) -> str:
    """``run.log as llama_cpp (common_perf_print)``."""
    if source.format is None:
        return f"{source.path} not recognised"
    return f"{source.path} as {source.format}" + (f" ({source.dialect})" if source.dialect else "")


def _capture_devices(run: Run) -> list[Device]:
    for capture in run.captures:
        if capture.devices:
            return capture.devices
    return []


def _in(ms: float | None) -> str:
    return "" if ms is None else f" in {units.milliseconds(ms)}"

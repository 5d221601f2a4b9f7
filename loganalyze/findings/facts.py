"""All measured facts of one run. Measuring states, judging comes later: the cause modules read only this."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from loganalyze.findings.measured.changes import Change, measure_changes
from loganalyze.findings.measured.clean import cleaned
from loganalyze.findings.measured.expected import Expected, measure_expected
from loganalyze.findings.measured.placement import Placement, is_gpu_backend, measure_placement
from loganalyze.findings.measured.process import ProcessFacts, measure_process
from loganalyze.findings.measured.timing import Timing, measure_timing
from loganalyze.findings.thresholds import Thresholds
from loganalyze.light import dataclass, field
from loganalyze.model.records import Event, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.findings.measured.gpu_series import GpuFacts
    from loganalyze.findings.measured.host_series import HostFacts

# Engines whose writing keeps one host core busy when all layers are on the card; others spin threads for other reasons.
LLAMA_FAMILY = (
    "llama",
    "ollama",
    "kobold",
    "lm studio",
    "lmstudio",
    "gpt4all",
    "ggml",
    "text-generation-webui",
    "whisper",
)
RESERVING = ("vllm", "sglang", "tgi", "tensorrt", "lmdeploy", "aphrodite")
"""Engines that reserve device memory in advance: a full card says nothing there."""


@lru_cache(maxsize=64)
def _names_one(engine: str, words: tuple[str, ...]) -> bool:
    return any(word in engine for word in words)


@dataclass(slots=True)
class Facts:
    """What was measured of ``run``. Parts without a source are None; see the modules of ``findings.measured``."""

    run: Run
    timing: Timing
    place: Placement
    process: ProcessFacts
    expected: Expected
    gpu: GpuFacts | None = None
    host: HostFacts | None = None
    changes: list[Change] = field(default_factory=list)
    events: dict[str, list[Event]] = field(default_factory=dict)

    def event(self, *kinds: str) -> Event | None:
        """First event of any of ``kinds``."""
        return next((e for k in kinds for e in self.events.get(k, ())), None)

    @property
    def source(self) -> str:
        """Path of the log."""
        return self.run.source.path if self.run.source is not None else self.run.id.split("#")[0]

    @property
    def engine(self) -> str:
        """Name of the engine in lower case, ``""`` when unknown."""
        return (self.run.engine or "").lower()

    @property
    def llama_like(self) -> bool:
        """True for llama.cpp, its relatives and unknown engines."""
        return not self.engine or _names_one(self.engine, LLAMA_FAMILY)

    @property
    def reserves(self) -> bool:
        """True for engines that fill the card in advance."""
        return _names_one(self.engine, RESERVING)

    @property
    def benchmark(self) -> bool:
        """True for a tool that sets prompts and answers itself: how the time is shared says nothing, rates do."""
        return self.run.facts.get("benchmark") is True

    @property
    def writing_tps(self) -> float | None:
        """Writing rate of a request on its own; of all requests where none ran alone."""
        return self.timing.alone_tps if self.timing.alone_tps is not None else self.timing.writing.tps

    @property
    def reading_tps(self) -> float | None:
        """Reading rate of long enough prompts on their own, None when no prompt gives a rate worth judging."""
        return self.timing.read_alone_tps

    @property
    def decode_expected(self) -> float | None:
        """The user's own rate, else the predicted one if all weights were on the card."""
        if self.expected.base_write_tps is not None:
            return self.expected.base_write_tps
        return self.expected.decode.tps if self.expected.decode else None

    @property
    def decode_ratio(self) -> float | None:
        """Measured over expected writing rate; where requests always share the card, all streams together count."""
        expected = self.decode_expected
        if not expected:
            return None
        if self.timing.alone_tps is not None and self.timing.interval_lines == 0:
            return self.timing.alone_tps / expected
        if self.timing.writing.tps is None:
            return None
        return self.timing.writing.tps * max(1.0, self.timing.streams or float(self.timing.streams_max)) / expected

    @property
    def decode_low(self) -> float | None:
        """Lowest rate still inside the error band of the prediction."""
        return self.expected.decode.low if self.expected.decode else None

    @property
    def reading_expected(self) -> float | None:
        """The user's own reading rate, else the predicted one."""
        if self.expected.base_read_tps is not None:
            return self.expected.base_read_tps
        return self.expected.prefill.tps if self.expected.prefill else None

    @property
    def failed(self) -> bool:
        """True when the run never answered: no rate at all, and something went wrong."""
        return self.timing.reading.tps is None and self.timing.writing.tps is None

    @property
    def gpu_meant(self) -> bool | None:
        """Whether a GPU was meant to compute: None when nothing tells."""
        place = self.place
        if place.by_choice:
            return False
        if place.asked is not None or place.ignored or place.gpu_seen or (place.layers_on_gpu or 0) > 0:
            return True
        return True if is_gpu_backend(self.run.backend) else None


def measure(run: Run, limits: Thresholds, baseline: Mapping[str, Any] | None = None) -> Facts:
    """Measure ``run``. ``baseline`` is the content of a saved baseline (``metrics.writing_tps.median`` and so on)."""
    run = cleaned(run)
    timing = measure_timing(run, limits)
    place = measure_placement(run, limits.kv_host_share)
    gpu, host = _telemetry(run)
    expected = measure_expected(run, timing, place, gpu, baseline)
    _cached_rate(timing, expected)
    facts = Facts(run, timing, place, measure_process(run), expected, gpu, host, measure_changes(run, timing, limits))
    for event in run.events:
        facts.events.setdefault(event.kind, []).append(event)
    _expectations(facts, limits)
    return facts


def _expectations(facts: Facts, limits: Thresholds) -> None:
    """Expected rates for the report; none where only a part of the weights is known to be on the card."""
    from loganalyze.findings.signs import host_computes

    partly = facts.expected.bound and host_computes(facts, limits) is not False and not facts.expected.base_write_tps
    if not partly or (facts.decode_ratio or 0.0) >= limits.decode_abnormal_ratio:
        # A bound that the run beats is no expectation.
        beaten = facts.expected.bound and facts.expected.base_write_tps is None and (facts.decode_ratio or 0.0) >= 1
        facts.timing.writing.expected_tps = None if beaten else facts.decode_expected
        facts.timing.reading.expected_tps = None if beaten else facts.reading_expected


def _telemetry(run: Run) -> tuple[GpuFacts | None, HostFacts | None]:
    if not run.captures:
        return None, None
    from loganalyze.findings.measured.gpu_series import measure_gpu
    from loganalyze.findings.measured.host_series import measure_host

    return measure_gpu(run), measure_host(run)


def _cached_rate(timing: Timing, expected: Expected) -> None:
    """A prompt rate far above what the card can compute counts cached tokens (Ollama): it is no rate."""
    if expected.prefill is None or timing.reading.tps is None:
        return
    if timing.reading.tps > 3 * expected.prefill.high:
        timing.reading.tps = timing.read_alone_tps = timing.ratio = None

"""The CPU computes although a GPU was meant to.

Data, in order: lines that say so (no usable GPU, GPU options ignored, ``offloaded 0/N``, Ollama's ``100% CPU``), then
device memory that never grows together with busy processor threads.
Algorithm: critical when such a line stands in a run that asked for a GPU or whose machine has one; inferred when the
device capture shows no memory taken and no load while the threads are busy. ``-dev none`` and ``-ngl 0`` are choices.
Thresholds: ``cpu_busy_cores``, ``cpu_busy_share``, ``gpu_idle_pct``.
Known false positives: ``offloaded 0/N`` of a draft model; a capture of another card than the one in use.
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, gpu_line, of_event
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "cpu_fallback"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when the GPU that was meant is not used."""
    place = facts.place
    if place.by_choice:
        return clear(CAUSE, f"the CPU by choice ({place.by_choice})")
    if place.ignored is not None and place.weights != "device" and (place.layers_on_gpu or 0) == 0:
        left_out = facts.event("gpu_unsupported")
        named = place.asked not in (None, 0) or place.gpu_seen is not None or _asked_in(place.ignored.text)
        meant = named or left_out is not None
        if meant or facts.llama_like:
            return finding(
                CAUSE, "critical" if meant else "warning", "no GPU is used: the one that is there was left out"
                if left_out else "no GPU is used: the program found none or was built without",
                evidence=[*([of_event(left_out)] if left_out else []), of_event(place.ignored),
                          *eval_line(facts.timing.slow_write)], confidence="high" if named else "medium",
                explains_s=_lost(facts), gain=_gain(facts),
            )  # fmt: skip
    if facts.run.backend == "CPU" and place.weights == "unknown" and place.asked not in (None, 0):
        layers = "all" if place.asked == -1 else place.asked
        return finding(
            CAUSE, "critical", f"{layers} layers were asked onto a GPU, but this build or start knows the CPU only",
            evidence=eval_line(facts.timing.slow_write), confidence="medium", explains_s=_lost(facts), gain=_gain(facts),
        )  # fmt: skip
    if place.weights == "host" and not place.unified:
        return _all_on_host(facts)
    if place.weights in ("device", "split"):
        return clear(CAUSE, "layers are on the GPU")
    return _inferred(facts, limits)


def _asked_in(text: str) -> bool:
    """llama.cpp warns of GPU options only who used them; Ollama misses memory only of a card that is there."""
    return "option will be ignored" in text or "gpu-layers" in text or "insufficient VRAM" in text


def _all_on_host(facts: Facts) -> Finding:
    place = facts.place
    if facts.gpu_meant is not True and place.layers_on_gpu is None and not facts.events.get("host_weights"):
        return clear(CAUSE, "no GPU was asked for or seen")
    if place.layers_on_gpu == 0:
        text = f"0 of {place.layers_total} layers on the GPU: the card is not used"
    else:
        text = "all weights are in host memory: the card is not used"
    # llamafile prints the line about layers on machines without a card, too.
    sure = place.gpu_seen is not None or (place.layers_on_gpu == 0 and "llamafile" not in facts.engine)
    return finding(
        CAUSE, "critical", text, value=0.0, unit="layers", threshold=float(place.layers_total or 0) or None,
        evidence=place.proofs[:3] + eval_line(facts.timing.slow_write), explains_s=_lost(facts), gain=_gain(facts),
        confidence="high" if sure else "medium", margin=1.0,
    )  # fmt: skip


def _inferred(facts: Facts, limits: Thresholds) -> Finding:
    gpu, busy = facts.gpu, signs.host_computes(facts, limits)
    if gpu is None or not gpu.cards:
        if facts.gpu_meant:
            return cant_tell(CAUSE, "no line and no capture tells whether the card computes", record.gpu(facts))
        return cant_tell(CAUSE, "no line tells where the layers are", record.load(facts))
    grown = max((c.grown_mib or 0.0 for c in gpu.cards), default=0.0)
    util = gpu.total("util_pct")
    untouched = grown < 100 and (util is None or util < limits.gpu_idle_pct) and gpu.fullest is not None
    if untouched and busy and gpu.fullest and gpu.fullest.base_mib is not None:
        return finding(
            CAUSE, "critical", "the card's memory does not grow and its load stays low while processor threads work",
            value=grown, unit="mib", threshold=100.0, explains_s=_lost(facts), confidence="medium",
            evidence=gpu_line(facts, f"device memory grew by {grown:.0f} MiB during the run"), gain=_gain(facts),
        )  # fmt: skip
    if grown >= 100:
        return clear(CAUSE, "the run takes memory on the card")
    return cant_tell(CAUSE, "the capture does not show whether the card computes", record.load(facts))


def _lost(facts: Facts) -> float | None:
    return signs.lost_seconds(facts) or (None if facts.timing.writing.ms is None else facts.timing.writing.ms / 2000)


def _gain(facts: Facts) -> str | None:
    rate = facts.expected.decode
    return f"about {rate.tps:.0f} t/s if all layers fit on the card" if rate and not facts.expected.bound else None

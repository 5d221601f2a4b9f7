"""Some layers run from host memory.

Data, in order: ``offloaded N/M layers``, buffer sizes, Ollama's ``48%/52% CPU/GPU``, device maps with ``cpu`` or
``disk``, the decision of ``--fit``, the layers asked for, processor threads at work while the card idles.
Algorithm: critical when a part of the weights is in host memory (the output layer alone is a warning where the rate is
still as expected). Logs without load lines (default since 2026-05) are judged by what the command asks and by signs:
threads computing together with an idle card or a rate far below the card's. Unknown placement is never taken as host.
Thresholds: ``host_weights_share``, ``layers_partial_max``, ``gpu_idle_pct``, ``cpu_busy_cores``, ``writing_fast_tps``.
Known false positives: embedding tables in host memory (normal), a second program using the processor.
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, gib, gpu_line, host_line, tps
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured import command
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "partial_offload"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when weights in host memory set the pace."""
    place = facts.place
    if place.experts_on_host and (place.layers_on_gpu is None or place.layers_on_gpu >= (place.layers_total or 0)):
        return clear(CAUSE, "layers are on the card; the experts are judged apart")
    if place.weights == "host":
        return _zero_layers(facts, limits)
    if place.weights == "split":
        return _proven(facts, limits)
    fitted = _fitted(facts)
    if fitted is not None:
        return fitted
    if place.weights == "device":
        return _on_device(facts)
    return _inferred(facts, limits)


def _on_device(facts: Facts) -> Finding:
    on, total = facts.place.layers_on_gpu, facts.place.layers_total
    text = f"{on} of {total} layers on the GPU" if total else "all weights on the GPU"
    return clear(CAUSE, text, evidence=facts.place.proofs[:1])


def _zero_layers(facts: Facts, limits: Thresholds) -> Finding:
    """``-ngl 0`` without ``-dev none``: the card still reads prompts, all weights stream from host memory."""
    place, ratio = facts.place, facts.timing.ratio
    grown = facts.gpu.total("grown_mib") if facts.gpu else None
    card_reads = (grown is not None and grown > 200) or (ratio is not None and ratio > 3 * limits.ratio_low)
    if place.by_choice and place.asked == 0 and card_reads:
        return finding(
            CAUSE, "critical", "0 layers on the GPU by command line: the card only helps to read prompts", value=0.0,
            unit="layers", explains_s=signs.lost_seconds(facts), evidence=eval_line(facts.timing.slow_write),
            confidence="medium", margin=1.0,
        )  # fmt: skip
    return clear(CAUSE, "no layer is on a GPU; judged as CPU use")


def _proven(facts: Facts, limits: Thresholds) -> Finding:
    place = facts.place
    on, total, share = place.layers_on_gpu, place.layers_total, place.host_share
    if on is not None and total:
        text = f"{on} of {total} layers on the GPU, {total - on} in host memory"
        value, unit, threshold = float(on), "layers", float(total)
    elif share is not None:
        text = f"{share * 100:.0f} % of the weights are in host memory"
        value, unit, threshold = share, "share", limits.host_weights_share
    else:
        text, value, unit, threshold = "a part of the weights is in host memory or on disk", None, None, None
    small = share is not None and (share < limits.host_weights_share or (on is not None and total and total - on <= 1))
    mild = bool(small) and signs.proven_fast(facts, limits) is True
    return finding(
        CAUSE, "warning" if mild else "critical", text + _foreign(facts, limits), value=value, unit=unit,
        threshold=threshold, explains_s=_lost(facts), evidence=place.proofs[:4] + eval_line(facts.timing.slow_write),
        confidence="high", gain=gain(facts),
    )  # fmt: skip


def _fitted(facts: Facts) -> Finding | None:
    """``--fit`` lines that say fewer layers than there are, or overflow without experts."""
    layers, total = facts.run.facts.get("fit_layers"), facts.place.layers_total or (facts.run.setup.n_layer or 0) + 1
    if not isinstance(layers, dict) or total <= 1 or facts.place.weights == "device":
        return None
    placed = sum(v for v in layers.values() if isinstance(v, int))
    if placed >= total - 1:
        return None
    line = facts.run.fact_lines.get("fit_layers")
    return finding(
        CAUSE, "critical", f"the automatic fit put {placed} of {total} layers on the card", value=float(placed),
        unit="layers", threshold=float(total), explains_s=_lost(facts), gain=gain(facts), confidence="high",
        evidence=[Evidence(facts.source, line, f"{placed} layers fitted"), *eval_line(facts.timing.slow_write)],
    )  # fmt: skip


def _inferred(facts: Facts, limits: Thresholds) -> Finding:
    place = facts.place
    if place.kv_on_host:
        return clear(CAUSE, "the cache in host memory explains what the processor does")
    busy, idle = signs.host_computes(facts, limits), signs.gpu_idle(facts, limits)
    slow = signs.abnormal(facts, limits)
    on_card = (facts.gpu.total("grown_mib") or 0.0) > 100 if facts.gpu else False
    partial = place.asked is not None and place.asked > 0
    strong = busy is True and on_card and (idle is True or slow is True)
    if strong or (busy is True and partial and signs.proven_fast(facts, limits) is not True):
        return _by_signs(facts, limits, "high" if strong and (idle or partial) else "medium")
    rate = facts.writing_tps
    sluggish = slow is True or (slow is None and rate is not None and rate < limits.writing_fast_tps)
    if busy is not False and on_card and idle is True and sluggish and facts.llama_like:
        return _by_signs(facts, limits, "medium")
    if busy is True and facts.gpu_meant and sluggish and not place.ignored:
        return _by_signs(facts, limits, "medium")
    if signs.proven_fast(facts, limits):
        return clear(CAUSE, "the rate is that of a model wholly on the card")
    if partial:
        return _asked_few(facts, limits)
    if busy is False and idle is False:
        return clear(CAUSE, "the card is busy and the processor is not")
    if place.asked == -1:
        return clear(CAUSE, "the command asks for all layers on the GPU")
    if idle is True and slow is True:
        return cant_tell(CAUSE, "the card idles while writing; no line tells where the layers are", record.load(facts))
    return cant_tell(CAUSE, "no line tells how many layers are on the GPU", record.load(facts))


def _by_signs(facts: Facts, limits: Thresholds, confidence: str) -> Finding:
    place, gpu = facts.place, facts.gpu
    util = gpu.total("util_pct") if gpu else None
    cores = facts.process.cores
    signs_seen, evidence = [], []
    if place.asked is not None and place.asked > 0:
        signs_seen.append(f"the command asks for {place.asked} layers only")
    if cores is not None and cores >= limits.cpu_busy_cores:
        signs_seen.append(f"{cores:.1f} processor cores were busy")
        evidence.append(Evidence(facts.process.source or facts.source, None, f"user time / wall time = {cores:.1f}"))
    elif facts.host and facts.host.cpu_pct is not None:
        signs_seen.append(f"the processor was {facts.host.cpu_pct:.0f} % busy")
        evidence += host_line(facts, f"processor {facts.host.cpu_pct:.0f} % busy while writing")
    if util is not None and util < limits.gpu_idle_pct:
        signs_seen.append(f"the card {util:.0f} %")
        evidence += gpu_line(facts, f"GPU load {util:.0f} % while writing")
    if place.asked is None and not command.fit_is_off(facts.run.setup):
        signs_seen.append("the command leaves the number of layers to the program")
    text = "layers are computed on the host: " + ", ".join(signs_seen)
    return finding(
        CAUSE, "critical", text + _foreign(facts, limits), value=cores if cores is not None else util,
        unit="cores" if cores is not None else "pct",
        threshold=limits.cpu_busy_cores if cores is not None else limits.gpu_idle_pct, explains_s=_lost(facts),
        evidence=evidence + eval_line(facts.timing.slow_write), confidence=confidence, gain=gain(facts),
    )  # fmt: skip


def _asked_few(facts: Facts, limits: Thresholds) -> Finding:
    """Fewer layers asked for than the model has, as far as its size tells."""
    asked, weights, rate = facts.place.asked or 0, facts.expected.weights, facts.writing_tps
    known = weights is not None and not weights.basis.startswith("device memory")
    total = weights.layers + 1 if weights is not None and known else None
    few = total is not None and asked < (total if weights and weights.layers_known else 0.8 * total)
    slow = rate is not None and rate < limits.writing_fast_tps
    if few or (asked <= limits.layers_partial_max and slow):
        text = f"the command asks for {asked} layers on the GPU"
        text += f"; this model has about {total}" if total else "; models this slow have more"
        return finding(
            CAUSE, "critical" if slow or few else "warning", text, value=float(asked), unit="layers",
            threshold=float(total) if total else float(limits.layers_partial_max + 1), explains_s=_lost(facts),
            evidence=eval_line(facts.timing.slow_write), confidence="high" if weights and weights.layers_known and few
            else "medium", record=record.load(facts), gain=gain(facts),
        )  # fmt: skip
    if total is not None and asked >= total:
        return clear(CAUSE, f"{asked} layers asked for, the model has about {total}")
    return cant_tell(
        CAUSE, f"the command asks for {asked} layers; the log does not say how many the model has", record.load(facts)
    )


def gain(facts: Facts) -> str | None:
    """``about 38 t/s if all layers fit``, where the prediction is worth it."""
    rate = facts.expected.decode
    if rate is None or facts.expected.bound or (facts.writing_tps or 0.0) > rate.tps:
        return None
    return f"about {tps(rate.tps)} if all layers fit on the card"


def _lost(facts: Facts) -> float | None:
    lost = signs.lost_seconds(facts)
    if lost is not None:
        return lost
    share, ms = facts.place.host_share, facts.timing.writing.ms
    return None if share is None or ms is None else ms / 1000 * min(0.95, share * 4)


def _foreign(facts: Facts, limits: Thresholds) -> str:
    foreign = signs.foreign_mib(facts, limits)
    return f"; another process already held {gib(foreign)} of the card" if foreign is not None else ""

"""The verdict in one sentence, with the figures that prove it."""

from __future__ import annotations

from loganalyze.findings.answers import many, tps
from loganalyze.findings.facts import Facts
from loganalyze.model.records import Finding


def summary(facts: Facts, main: Finding) -> str:
    """One sentence: what the finding says, and the rates of both halves where known."""
    text = main.text.strip().rstrip(".")
    text = text[:1].upper() + text[1:]
    if main.verdict == "healthy" and facts.timing.writing.tps is None:
        return f"Reading runs as fast as this machine allows: {main.text.strip().rstrip('.')}; no writing rate is recorded."
    if main.verdict == "healthy" and main.confidence == "low" and facts.decode_ratio is None:
        return f"Nothing here is slow: {main.text.strip().rstrip('.')}{_queue(facts)}; what this machine could give is unknown."
    if main.verdict == "healthy":
        return f"Both halves run as fast as this machine allows: {main.text.strip().rstrip('.')}{_queue(facts)}."
    if main.verdict == "inconclusive":
        lead = "" if facts.failed else f"{_rates(facts)}, but "
        joined = f"{lead}{main.text.strip().rstrip('.')}" if lead else text
        return joined[:1].upper() + joined[1:] + "."
    rates = _rates(facts)
    extra = f" ({rates})" if rates and not any(word in text for word in ("t/s", "failed", "killed")) else ""
    return f"{text}{extra}{_gain(facts, main)}."


def _rates(facts: Facts) -> str:
    parts = []
    if facts.timing.reading.tps is not None:
        parts.append(f"reading at {tps(facts.timing.reading.tps)}")
    if facts.timing.writing.tps is not None:
        parts.append(f"writing at {tps(facts.timing.writing.tps)}")
    return ", ".join(parts)


def _gain(facts: Facts, main: Finding) -> str:
    return f"; {main.gain}" if main.gain and main.gain.removeprefix("about ") not in main.text else ""


def _queue(facts: Facts) -> str:
    if facts.timing.streams_max > 1 and facts.timing.streams and facts.timing.streams >= 1.2:
        return f", with {many(facts.timing.streams)} requests at work together"
    if facts.timing.waited >= 2:
        return f"; {facts.timing.waited} requests waited for a free slot, which is a queue and not a slow machine"
    return ""

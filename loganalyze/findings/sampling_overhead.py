"""Choosing the next token takes a large part of the writing time.

Data, in order: sampling time of the closing lines over writing time, milliseconds a token.
Algorithm: critical when sampling takes a large share and more than a millisecond a token; the default chain takes one
per cent. Sampler time of old versions is counted beside the evaluation, so it is added to it.
Thresholds: ``sampling_share``, ``sampling_ms_per_token``.
Known false positives: a sampling time that contains the user's typing (interactive runs of 2023).
"""

from __future__ import annotations

from loganalyze.findings.answers import clear, eval_line, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured.timing import written
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding, Request

CAUSE = "sampling_overhead"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when the sampler sets the pace."""
    worst: tuple[float, float, Request] | None = None
    for request in facts.timing.requests:
        pair = written(request)
        if pair is None or request.sampling_ms is None:
            continue
        share = request.sampling_ms / (pair[1] + request.sampling_ms)
        if worst is None or share > worst[0]:
            worst = (share, request.sampling_ms / pair[0], request)
    if worst is None:
        return clear(CAUSE, "no sampling time")
    share, per_token, request = worst
    if share < limits.sampling_share or per_token < limits.sampling_ms_per_token:
        return clear(CAUSE, f"sampling takes {share * 100:.1f} % of writing", value=share, unit="share",
                     threshold=limits.sampling_share)  # fmt: skip
    line = request.lines.get("sampling", request.line)
    return finding(
        CAUSE, "critical", f"the sampler takes {per_token:.1f} ms a token, {share * 100:.0f} % of writing", value=share,
        unit="share", threshold=limits.sampling_share, explains_s=(request.sampling_ms or 0.0) / 1000, confidence="high",
        evidence=[Evidence(request.source, line, f"sampling {request.sampling_ms:.0f} ms"), *eval_line(request)],
    )  # fmt: skip

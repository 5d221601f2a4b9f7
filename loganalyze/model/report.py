"""What the outputs print: judged runs, their sources, and the answer for the whole input."""

from __future__ import annotations

from loganalyze.light import dataclass, field
from loganalyze.model.records import Confidence, Missing, Reading, Run, Source, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(slots=True)
class Report:
    """Judged runs and the top-level answer, which is that of the run that lost the most time.

    ``overrides`` maps the name of each threshold that differs from its default to the value in force.
    ``missing`` is what the top-level verdict could not see. ``grouping`` says how files became runs.
    """

    runs: list[Run] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    verdict: Verdict = "inconclusive"
    cause: str = "no_timings"
    confidence: Confidence = "low"
    summary: str = ""
    next_step: str | None = None
    missing: list[Missing] = field(default_factory=list)
    grouping: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)

    @classmethod
    def of(cls, reading: Reading, overrides: dict[str, Any] | None = None) -> Report:
        """Report on ``reading`` whose runs are judged. Without a judged run the verdict stays inconclusive."""
        report = cls(
            runs=reading.runs,
            sources=reading.sources,
            grouping=reading.grouping,
            overrides=dict(overrides or {}),
            reading=reading,
        )
        run = main_run(reading.runs)
        if run is not None and run.judgement is not None:
            judged = run.judgement
            report.verdict, report.cause, report.confidence = judged.verdict, judged.cause, judged.confidence
            report.summary, report.next_step = judged.summary, judged.next_step
            report.missing = list(judged.missing)
        return report


def main_run(runs: list[Run]) -> Run | None:
    """The judged run that lost the most time, the earlier one on a tie.

    A run whose loss is unknown comes after those with one, except that a fault of unknown cost (a load that failed)
    comes before a run that lost nothing.
    """
    judged = [run for run in runs if run.judgement is not None]
    return min(judged, key=_rank, default=None)


def _rank(run: Run) -> tuple[int, float]:
    assert run.judgement is not None
    lost, verdict = run.judgement.lost_s, run.judgement.verdict
    if lost is not None and lost > 0:
        return 0, -lost
    order = {"swapping": 1, "slow reading": 2, "slow writing": 2, "healthy": 3, "inconclusive": 4}
    return order[verdict], 0.0

"""What shows only at the end of a log, whichever formats its lines were of."""

from __future__ import annotations

from itertools import pairwise

from loganalyze.model.records import Event, Run


def settle(runs: list[Run]) -> None:
    """Commands go to the runs above them, failed allocations are marked as recovered or not."""
    for before, after in pairwise(list(runs)):
        # A command that stands under its log is the log's: the run above gets it, if that has none.
        if before.setup.command is None and _says_only_its_command(after):
            _fill(before, after)
            runs.remove(after)
    for run in runs:
        # A run that goes on after a failed allocation has got over it.
        ends = [event.line for event in run.events if event.kind in ("load_failed", "killed", "kernel_oom")]
        for event in run.events:
            if event.kind == "alloc_failed" and not event.data.get("recovered"):
                event.data["recovered"] = _went_on(run, event, ends)


def _says_only_its_command(run: Run) -> bool:
    kinds = {event.kind for event in run.events}
    return not (run.requests or run.memory or run.devices or run.version or kinds - {"tensor_override"}) and (
        run.setup.command is not None and run.first_line == run.last_line
    )


def _fill(run: Run, other: Run) -> None:
    """Take over what ``other``'s command says where ``run`` knows nothing."""
    for name in run.setup.__slots__:
        if getattr(run.setup, name) in (None, [], {}):
            setattr(run.setup, name, getattr(other.setup, name))
    run.events += other.events
    for name, value in other.facts.items():
        run.facts.setdefault(name, value)
    for name, number in other.fact_lines.items():
        run.fact_lines.setdefault(name, number)


def _went_on(run: Run, event: Event, ends: list[int]) -> bool:
    if any(end > event.line for end in ends):
        return False
    later = [request.line for request in run.requests if request.complete] + [buffer.line for buffer in run.memory]
    return any(line > event.data["lines"][-1] for line in later) if "lines" in event.data else False

"""The process itself: how it ended, how many cores it kept busy, what it read from disk.

From ``time`` captures, or the lines of ``time`` inside a log (``run.facts``), and from the log's own exit lines.
"""

from __future__ import annotations

from loganalyze.light import dataclass
from loganalyze.model.records import Event, Run

KILL_SIGNALS = {9, "9", "KILL", "SIGKILL"}


@dataclass(slots=True)
class ProcessFacts:
    """``cores`` is user time over wall time, ``system_cores`` the kernel's over it.

    ``killed`` holds the event of a kill, ``kernel`` one of the kernel."""

    source: str | None = None
    wall_s: float | None = None
    cores: float | None = None
    system_cores: float | None = None
    max_rss_mib: float | None = None
    major_faults: float | None = None
    exit_status: int | None = None
    signal: object = None
    killed: Event | None = None
    kernel: Event | None = None


def measure_process(run: Run) -> ProcessFacts:
    """Process facts; unknown ones stay None."""
    found = ProcessFacts()
    times = [(c.source.path, c.facts) for c in run.captures if c.kind == "time"]
    for path, facts in [*times, (run.source.path if run.source else None, run.facts)]:
        found.source = found.source or (path if "wall_s" in facts else None)
        for name in ("wall_s", "max_rss_mib", "major_faults"):
            if getattr(found, name) is None and isinstance(facts.get(name), int | float):
                setattr(found, name, float(facts[name]))
        if found.cores is None:
            found.cores = _cores(facts)
            found.system_cores = _cores(facts, "sys_s")
        if found.exit_status is None and isinstance(facts.get("exit_status"), int):
            found.exit_status = facts["exit_status"]
        if found.signal is None:
            found.signal = facts.get("signal")
    if run.exit_status is not None:
        found.exit_status = run.exit_status
    _endings(found, run)
    return found


def _cores(facts: dict[str, object], name: str = "user_s") -> float | None:
    wall, user = facts.get("wall_s"), facts.get(name)
    if not isinstance(wall, int | float) or not isinstance(user, int | float) or wall <= 0.2:
        return None
    return user / wall


def _endings(found: ProcessFacts, run: Run) -> None:
    for event in run.events:
        if event.kind == "kernel_oom":
            found.kernel = found.kernel or event
        elif event.kind == "killed":
            found.killed = found.killed or event
        elif event.kind == "exit" and isinstance(event.data.get("status"), int):
            found.exit_status = event.data["status"] if found.exit_status is None else found.exit_status
            if event.data["status"] == 137:
                found.killed = found.killed or event

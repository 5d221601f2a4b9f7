"""How a process ended, as the system tells it: kernel log, shells, containers, systemd, drivers (grammar
``system_trouble``).

Events: ``kernel_oom`` (``process``, ``pid``, ``rss_mib`` = anonymous plus file pages, ``cgroup``: a limit, not the whole
machine), ``killed`` (SIGKILL), ``exit`` (``status``), ``error`` (crashes with ``signal``, ``xid``). One kill prints
several lines and counts once. Kernel and service lines belong to the run they are about, not to one of their own. Sizes
in kB are KiB.
"""

from __future__ import annotations

from loganalyze.formats.base import listening
from loganalyze.model.records import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

NAME = "system"
GRAMMARS = ("system_trouble",)
SIGNALS = {
    "killed": "KILL",
    "segmentation fault": "SEGV",
    "aborted": "ABRT",
    "abort": "ABRT",
    "abort trap": "ABRT",
    "bus error": "BUS",
    "illegal instruction": "ILL",
    "illegal hardware instruction": "ILL",
}
# 128 + signal, as shells and containers report it.
BY_STATUS = {137: "KILL", 139: "SEGV", 134: "ABRT", 135: "BUS", 132: "ILL"}
# Lines of one kill: the victim's name and pid stay the same, the kernel prints a page of tables in between.
NEAR_LINES = 200


class System:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self._oom: Event | None = None

    def handlers(self) -> dict[str, Handler]:
        return listening(self, "system_trouble", "on_")

    def _event(self, kind: str, line: Line, **data: Any) -> Event:
        """An event of the run it is about: the last one read, for a text that has the system's own lines beside it."""
        runs = self.state.runs
        run = runs[-1] if runs else self.state.run
        event = Event(kind, line.str, self.state.source.path, line.number, line.t_s, data)
        run.events.append(event)
        return event

    # ---- kernel

    def _kill(self, line: Line, **data: Any) -> None:
        known = self._oom
        pid = data.get("pid")
        if known is not None and line.number - known.line <= NEAR_LINES and _same_pid(known.data.get("pid"), pid):
            for name, value in data.items():
                if known.data.get(name) in (None, False):
                    known.data[name] = value
            if "rss_mib" in data:
                known.text, known.line = line.str, line.number
            return
        self._oom = self._event("kernel_oom", line, **{"process": None, "pid": None, "rss_mib": None, **data})

    def on_kernel_kill(self, fields: Fields, line: Line) -> None:
        rss = round((fields["anon_kb"] + fields["file_kb"]) / 1024, 1)
        self._kill(
            line,
            process=fields["process"],
            pid=fields["pid"],
            rss_mib=rss,
            anon_mib=round(fields["anon_kb"] / 1024, 1),
            vm_mib=round(fields["vm_kb"] / 1024, 1),
            cgroup="cgroup" in fields,
        )

    def on_kernel_choose(self, fields: Fields, line: Line) -> None:
        self._kill(line, process=fields["process"], pid=fields["pid"], cgroup="cgroup" in fields)

    def on_kernel_constraint(self, fields: Fields, line: Line) -> None:
        self._kill(
            line, process=fields["task_name"], pid=fields["pid"], cgroup=fields["constraint"] == "CONSTRAINT_MEMCG"
        )

    def on_oomd(self, fields: Fields, line: Line) -> None:
        self._kill(line, cgroup_path=fields["cgroup_path"], by="systemd-oomd")

    def on_unit_oom(self, fields: Fields, line: Line) -> None:
        self._kill(line, unit=fields.get("unit"))

    def on_container_oom(self, fields: Fields, line: Line) -> None:
        self._kill(line, cgroup=True, by="container")

    # ---- ends

    def on_signal_line(self, fields: Fields, line: Line) -> None:
        self._signal(fields["signal"], line)

    def on_signal_job(self, fields: Fields, line: Line) -> None:
        self._signal(fields["job_signal"], line)

    def _signal(self, text: str, line: Line) -> None:
        name = SIGNALS.get(text.partition(":")[0].strip().lower())
        kind, data = _end(name)
        self.state.event(kind, line, **data)
        self.state.close_run()

    def on_fish_signal(self, fields: Fields, line: Line) -> None:
        kind, data = _end(fields["sig_name"].removeprefix("SIG"))
        self.state.event(kind, line, **data)
        self.state.close_run()

    def on_exit_code(self, fields: Fields, line: Line) -> None:
        self._exit(fields["status"], line)

    def on_unit_exit(self, fields: Fields, line: Line) -> None:
        if fields["exit_how"] == "exited":
            self._exit(fields["status"], line)
        else:
            kind, data = _end(fields["status_name"])
            self._event(kind, line, status=fields["status"], **data)

    def _exit(self, status: int, line: Line) -> None:
        event = self._event("exit", line, status=status)
        if status in BY_STATUS:
            event.data["signal"] = BY_STATUS[status]
        (self.state.runs[-1] if self.state.runs else self.state.run).exit_status = status

    # ---- drivers

    def on_xid(self, fields: Fields, line: Line) -> None:
        self._event("error", line, reason=f"Xid {fields['xid_no']}", xid=fields["xid_no"])

    def on_amdgpu(self, fields: Fields, line: Line) -> None:
        text = fields["amd_text"]
        if "Not enough memory" in text:
            self._event("alloc_failed", line, device=None, mib=None, host=False, recovered=False, lines=[line.number])
        else:
            self._event("error", line, reason=text.strip())


def _end(signal: str | None) -> tuple[str, dict[str, Any]]:
    """Event of an end by a signal: only KILL is a kill from outside, a crash is an error of the program."""
    if signal == "KILL":
        return "killed", {"signal": signal}
    if signal in ("TERM", "INT", "HUP"):
        return "exit", {"signal": signal, "status": None}
    return "error", {"reason": "crashed", "signal": signal}


def _same_pid(known: int | None, pid: int | None) -> bool:
    return known is None or pid is None or known == pid


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``system_trouble``."""
    return System(state).handlers()

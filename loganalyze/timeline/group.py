"""Which captures belong to which runs.

Rule (printed in ``Reading.grouping``): files in one folder, or given together, belong together. A folder with one log
is one run and all its captures. With several logs a capture goes to the log whose name it carries (``run1.log`` and
``run1_smi.csv``), else to the runs it overlaps in time; what remains belongs to no run. Captures in a folder without
a log go to the only log given, if there is only one.
"""

from __future__ import annotations

from loganalyze.light import dataclass, field
from loganalyze.model.records import Capture, Run, Source

# Names of captures that say what they are, not whose; none of them can claim another file by its stem.
_LOOSE = frozenset(
    (
        "run",
        "log",
        "out",
        "output",
        "stderr",
        "stdout",
        "server",
        "smi",
        "dmon",
        "pmon",
        "vmstat",
        "free",
        "time",
        "gpu",
    )
)


@dataclass(slots=True)
class Group:
    """Runs and captures that share a time axis."""

    runs: list[Run] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    label: str = ""


def group(runs: list[Run], captures: list[Capture], mode: str = "auto") -> tuple[list[Group], str]:
    """Groups in input order, and the rule that was applied, in words.

    ``mode``: ``one`` all files are one group; ``folder`` one group a folder; ``stem`` one group a name; ``auto`` as
    the module says.
    """
    clients = [r for r in runs if is_client(r)]
    logs = list(dict.fromkeys(_path(r.source) for r in runs if not is_client(r) or len(clients) == len(runs)))
    if mode == "one" or len(logs) <= 1:
        text = "all files are one group (asked for)" if mode == "one" else _single(runs, captures)
        return [Group(list(runs), list(captures), "")], text
    groups: dict[tuple[str, str], Group] = {}
    for path in logs:
        own = [r for r in runs if _path(r.source) == path]
        key = (folder(path), "" if mode == "folder" else stem(path))
        groups.setdefault(key, Group(label=path)).runs += own
    for client in clients if len(clients) < len(runs) else []:
        home = [g for key, g in groups.items() if key[0] == folder(_path(client.source))]
        (home[0] if len(home) == 1 else groups.setdefault(("", _path(client.source)), Group())).runs.append(client)
    loose = [c for c in captures if not _join(c, groups, mode)]
    rest = _by_folder(loose, groups, mode)
    by_log = "folder" if mode == "folder" else "log"
    text = f"{len(logs)} logs: one group a {by_log}; captures go by {'name' if mode == 'stem' else 'folder and name'}"
    if rest:
        text += f"; {len(rest)} belong to no log by name or folder and are matched by time"
    result = list(groups.values())
    if rest:
        result.append(Group(captures=rest, label="shared"))
    return result, text


def is_client(run: Run) -> bool:
    """True for a client's record of requests: wall times of each, and nothing of a process."""
    if run.facts.get("client_record"):
        return True
    if run.clock.kind != "absolute" or not run.requests or run.load_ms is not None or run.memory or run.devices:
        return False
    bare = run.version is None and run.setup.model_path is None and run.setup.command is None
    return bare and all(r.start_s is not None and r.end_s is not None and r.eval_ms is None for r in run.requests)


def _single(runs: list[Run], captures: list[Capture]) -> str:
    runs = [r for r in runs if not is_client(r)] or runs
    if not runs:
        return f"{len(captures)} captures without a log" if captures else "nothing to group"
    if not captures:
        return "one log" if len(runs) == 1 else f"one log with {len(runs)} runs"
    whose = "its run" if len(runs) == 1 else f"the {len(runs)} runs they overlap in time"
    sources = len({c.source.path for c in captures})
    return f"one log: {'its capture belongs' if sources == 1 else f'all {sources} captures belong'} to {whose}"


def _path(source: Source | None) -> str:
    return source.path if source is not None else ""


def folder(path: str) -> str:
    """Folder part of a path of any system."""
    return path.replace("\\", "/").rpartition("/")[0]


def stem(path: str) -> str:
    """File name without its endings, in lower case."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return name.lstrip(".").split(".", 1)[0]


def _join(capture: Capture, groups: dict[tuple[str, str], Group], mode: str) -> bool:
    """Give ``capture`` to the group of its own source or of the longest name that it carries, within its folder."""
    path = capture.source.path
    for found in groups.values():
        if any(_path(r.source) == path for r in found.runs):
            found.captures.append(capture)
            return True
    if mode == "folder":
        return False
    near = [(key, g) for key, g in groups.items() if key[0] == folder(path) and carries(stem(path), key[1])]
    if not near:
        return False
    max(near, key=lambda item: len(item[0][1]))[1].captures.append(capture)
    return True


def carries(name: str, whose: str) -> bool:
    """True when ``name`` is ``whose``, or has it as whole words (``run1_smi`` carries ``run1``, not ``run``)."""
    if not whose or (whose in _LOOSE and name != whose):
        return False
    at = name.find(whose)
    if at < 0:
        return False
    before, after = name[:at], name[at + len(whose) :]
    return not (before[-1:].isalnum() or after[:1].isalnum())


def _by_folder(loose: list[Capture], groups: dict[tuple[str, str], Group], mode: str) -> list[Capture]:
    """Give captures to the only group of their folder, or of the nearest folder above; the others are returned."""
    rest = []
    for capture in loose:
        place = folder(capture.source.path)
        while True:
            here = [g for key, g in groups.items() if key[0] == place]
            if here or not place:
                break
            place = folder(place)
        if len(here) == 1 and mode != "stem":
            here[0].captures.append(capture)
        else:
            rest.append(capture)
    return rest

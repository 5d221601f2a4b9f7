"""What the lines of ``time`` mean: rule of ``grammars/time.lark`` -> facts. Shared by captures and logs.

Facts: ``wall_s``, ``user_s``, ``sys_s``, ``max_rss_mib``, ``major_faults``, ``minor_faults``, ``read_mib`` (file system
inputs), ``exit_status``, ``signal``, ``command``.
"""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Facts = dict[str, Any]
    Fields = dict[str, Any]

FISH_UNITS = {"micros": 1e-6, "millis": 1e-3, "secs": 1.0, "mins": 60.0, "hours": 3600.0}
# macOS and the BSDs share the wording but not the unit: bytes on macOS, KiB elsewhere. No process of macOS stays below
# 1 MiB, and no BSD process of interest above 1 TiB.
BSD_BYTES_FROM = 1 << 20
FILE_SYSTEM_BLOCK = 512


def seconds_of(text: str) -> float:
    """Seconds of ``ss.s``, ``m:ss.s`` or ``h:mm:ss`` (decimal comma allowed)."""
    total = 0.0
    for part in text.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return total


def _wall(f: Fields) -> Facts:
    return {"wall_s": round(f.get("hours", 0) * 3600 + f.get("minutes", 0) * 60 + f["seconds"], 9)}


def _user(f: Fields) -> Facts:
    return {"user_s": round(f["minutes"] * 60 + f["seconds"], 9) if "minutes" in f else f["user"]}


def _system(f: Fields) -> Facts:
    return {"sys_s": round(f["minutes"] * 60 + f["seconds"], 9) if "minutes" in f else f["system"]}


def _fish(key: str) -> Callable[[Fields], Facts]:
    return lambda f: {key: round(f["seconds"] * FISH_UNITS[f["unit"]], 9)}


def _seconds(key: str) -> Callable[[Fields], Facts]:
    return lambda f: {key: f["seconds"]}


def _line(f: Fields) -> Facts:
    """One line that holds wall, user and system time (zsh, tcsh, GNU, BSD, mksh)."""
    if "elapsed" in f or "total" in f:
        wall = seconds_of(f["elapsed"] if "elapsed" in f else f["total"])
    else:
        wall = f.get("minutes", 0) * 60 + f["seconds"]
    user = f["user"] + f.get("user_minutes", 0) * 60
    facts = {"wall_s": wall, "user_s": user, "sys_s": f["system"] + f.get("system_minutes", 0) * 60}
    if "command" in f:
        facts["command"] = f["command"].strip()
    return facts | _counts(f)


def _counts(f: Fields) -> Facts:
    facts: Facts = {}
    if "rss" in f:
        facts["max_rss_mib"] = f["rss"] / 1024
    if "major" in f:
        facts["major_faults"] = f["major"]
    if "minor" in f:
        facts["minor_faults"] = f["minor"]
    if "blocks" in f:
        facts["read_mib"] = f["blocks"] * FILE_SYSTEM_BLOCK / 2**20
    return facts


def _bsd_rss(f: Fields) -> Facts:
    size = f["bytes"]
    return {"max_rss_mib": size / 2**20 if size >= BSD_BYTES_FROM else size / 2**10}


def _exit(f: Fields) -> Facts:
    return {"exit_status": f["status"]}


def _signal(f: Fields) -> Facts:
    # GNU time itself ends with 128 + signal; the "Exit status: 0" that -v prints after a kill means nothing.
    return {"signal": f["signal"], "exit_status": 128 + f["signal"]}


RULES: dict[str, Callable[[Fields], Facts]] = {
    "bash_real": _wall, "bash_user": _user, "bash_sys": _system, "posix_real": _wall, "toybox_user": _user,
    "toybox_sys": _system, "posix_user": _user, "posix_sys": _system, "mksh": _line, "zsh": _line, "tcsh": _line,
    "gnu": _line, "gnu_faults": _counts, "v_command": lambda f: {"command": f["quoted"][1:-1]}, "v_user": _user,
    "v_system": _system, "v_elapsed": lambda f: {"wall_s": seconds_of(f["elapsed"])}, "v_elapsed_m": _wall,
    "v_rss": _counts, "v_major": _counts, "v_minor": _counts, "v_inputs": _counts, "v_status": _exit,
    "exited": _exit, "signalled": _signal, "stopped": lambda f: {}, "toybox_real_v": _wall, "toybox_user_v": _user,
    "toybox_system_v": _system, "toybox_rss": _counts, "toybox_major": _counts, "toybox_minor": _counts,
    "bsd": _line, "bsd_rss": _bsd_rss, "bsd_major": _counts, "fish_real": _fish("wall_s"),
    "fish_user": _fish("user_s"), "fish_sys": _fish("sys_s"), "powershell": _wall, "perf_real": _wall,
    "perf_user": _seconds("user_s"), "perf_sys": _seconds("sys_s"), "timeformat": _line,
}  # fmt: skip


def facts_of(rule: str, fields: Fields) -> Facts:
    """Facts that a line of ``rule`` states; none when a number is too long to be one."""
    try:
        facts = RULES[rule](fields)
    except KeyError:
        return {}
    return {name: value for name, value in facts.items() if value != float("inf")}


def merge(into: Facts, facts: Facts) -> Facts:
    """Add ``facts``; a signal said earlier outranks the exit status that ``time -v`` prints after it."""
    if "signal" in into and "signal" not in facts:
        facts = {k: v for k, v in facts.items() if k != "exit_status"}
    into.update(facts)
    return facts

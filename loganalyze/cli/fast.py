"""Parse the arguments of a command without click, whose import costs more than a whole verdict.

Only plain, valid command lines are taken; for everything else ``parse`` returns None and click decides (and explains).
"""

from __future__ import annotations

from loganalyze.cli.spec import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse(command: Command, argv: list[str]) -> dict[str, Any] | None:
    """Values by ``dest`` plus ``paths``, exactly as click would give them, or None."""
    by_flag = {flag: option for option in command.options for flag in option.flags}
    values = defaults(command)
    paths: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            paths.extend(rest)
            break
        if word == "-" or not word.startswith("-"):
            paths.append(word)
            continue
        flag, _, attached = word.partition("=")
        option = by_flag.get(flag)
        if option is None or (option.flag and "=" in word) or not _store(option, values, attached, "=" in word, rest):
            return None
    if (paths and not command.argument) or (command.required and not paths):
        return None
    return {**values, "paths": tuple(paths)}


def defaults(command: Command) -> dict[str, Any]:
    """Values of a command line without options."""
    return {o.dest: False if o.flag else () if o.multiple else o.default for o in command.options}


def _store(option: Option, values: dict[str, Any], attached: str, has_attached: bool, rest: Any) -> bool:
    if option.flag:
        values[option.dest] = True
        return True
    value = attached if has_attached else next(rest, None)
    if value is None or (not has_attached and value.startswith("-") and value != "-"):
        return False
    if has_attached and not option.flags[-1].startswith("--"):
        return False
    if option.choices and value not in option.choices:
        return False
    values[option.dest] = (*values[option.dest], value) if option.multiple else value
    return True

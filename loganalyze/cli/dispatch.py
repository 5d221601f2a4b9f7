"""Run one command: find its module, turn errors into messages and exit statuses."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def execute(name: str, values: dict[str, Any]) -> int:
    """Exit status of command ``name`` with parsed ``values``. Errors meant for the user are raised as they are."""
    module = import_module(f"loganalyze.cli.commands.{name}")
    return int(module.run(values))

"""``loganalyze demo``."""

from __future__ import annotations

import os
from typing import Any

from loganalyze.cli import common

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "demo_run")


def run(values: dict[str, Any]) -> int:
    """Classify the bundled run and write what is asked for."""
    from loganalyze.cli.commands import classify
    from loganalyze.cli.fast import defaults
    from loganalyze.cli.spec import command

    common.say("A bundled real run: llama.cpp, a 27B model with 20 of 65 layers on the card, and its captures.")
    spec = command("classify")
    assert spec is not None
    kept = {k: values[k] for k in ("output", "force", "color", "width")}
    return classify.run({**defaults(spec), **kept, "paths": (FOLDER,)})

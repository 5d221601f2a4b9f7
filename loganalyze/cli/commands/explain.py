"""``loganalyze explain``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import common


def run(values: dict[str, Any]) -> int:
    """Explain the verdict or cause named; without a name list them."""
    from loganalyze.reports import explain_text

    name = " ".join(values["paths"])
    width = common.width_of(values)
    common.out(explain_text.render(name, width) if name else explain_text.overview(width))
    return 0

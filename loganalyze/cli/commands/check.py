"""``loganalyze check``."""

from __future__ import annotations

from typing import Any

from loganalyze.cli import common


def run(values: dict[str, Any]) -> int:
    """Read and show what was recognised in each source."""
    from loganalyze.api import read_source
    from loganalyze.inputs import expand
    from loganalyze.reports import check_text

    options = common.options_of(values)
    files = expand(common.require_input(values))
    options.check_names(files)
    sources = [read_source(path, options)[2] for path in files]
    if values["format"] == "json":
        import json

        common.out(json.dumps(check_text.payload(sources), indent=1))
    else:
        common.out(check_text.render(sources, common.width_of(values)))
    return 0 if all(s.matched for s in sources) else 2

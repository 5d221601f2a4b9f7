"""What ``baseline``, ``sweep`` and ``compare`` share: reading runs, printing, writing files."""

from __future__ import annotations

import os
from typing import Any

from loganalyze.cli import common
from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.model.records import Run


def read_runs(paths: tuple[str, ...], values: dict[str, Any]) -> list[Run]:
    """Judged runs of ``paths``: each path (file or folder) is read by itself and may hold several runs."""
    from loganalyze.api import classify
    from loganalyze.inputs import expand

    options = common.options_of({**values, "set": (), "config": None, "baseline": None})
    options.check_names(expand([*values.get("paths", ()), *values.get("before", ()), *values.get("after", ())]))
    runs: list[Run] = []
    for path in paths:
        files = expand([path])
        report = classify(files, options.meant_for(files))
        common.tell_unreadable(report.sources)
        found = [r for r in report.runs if r.requests or r.total_ms is not None]
        if not found:
            raise LogAnalyzeError("no run with timings in it", path=path, remedy="See: loganalyze check " + path)
        runs += found
    return runs


def finish(kind: str, result: Any, text: Any, values: dict[str, Any]) -> int:
    """Print ``result`` in the format asked for and write the files asked for."""
    from loganalyze.reports import study_json

    wanted = values["format"]
    if wanted in ("json", "jsonl"):
        common.out(study_json.dumps(kind, result) if wanted == "json" else _one_line(kind, result))
    elif wanted in ("csv", "md"):
        common.out(_table(kind, result, wanted))
    else:
        common.out(text(result, common.width_of(values)))
    for name in values["output"]:
        _write(kind, result, text, name, values["force"])
    return 0


def _one_line(kind: str, result: Any) -> str:
    import json

    from loganalyze.reports import study_json

    return json.dumps(json.loads(study_json.dumps(kind, result)))


def _table(kind: str, result: Any, wanted: str) -> str:
    from loganalyze.reports import neutral, study_json

    head, rows = study_json.table(kind, result)
    if wanted == "md":
        lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        lines += ["| " + " | ".join("" if c is None else neutral.markdown(str(c)) for c in row) + " |" for row in rows]
        return "\n".join(lines)
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([[neutral.cell(c) for c in row] for row in rows])
    return out.getvalue()


def _write(kind: str, result: Any, text: Any, name: str, force: bool) -> None:
    from loganalyze.reports import study_json
    from loganalyze.reports.write import write_bytes

    extension = os.path.splitext(name)[1].lower()
    if extension == ".json" and kind == "baseline":
        from loganalyze.studies.saved import dumps

        data = dumps(result).encode()
    elif extension == ".json":
        data = study_json.dumps(kind, result).encode()
    elif extension in (".md", ".csv"):
        data = _table(kind, result, extension[1:]).encode()
    elif extension == ".txt":
        data = (text(result, 100) + "\n").encode()
    elif extension in (".png", ".svg"):
        from loganalyze.reports import study_plot

        data = study_plot.data(kind, result, extension[1:])
    else:
        raise UsageError(f"-o {name}: choose one of .json, .md, .csv, .txt, .png, .svg")
    write_bytes(name, data, force)
    common.say(f"Wrote {name}")

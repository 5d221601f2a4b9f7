"""One HTML file that needs nothing: pictures inline, no script, light and dark, under 1 MB.

The text comes from `html_view`, the pictures from `plot`; both are cleaned before the template sees them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loganalyze.errors import LogAnalyzeError
from loganalyze.model.records import Run
from loganalyze.model.report import Report, main_run
from loganalyze.reports import facts, html_view, page, plot_svg

if TYPE_CHECKING:
    from loganalyze.reports.redact import Redactor

MOST_BYTES = 950_000
PICTURES_BYTES = 600_000
MOST_RUNS = 60


def render(report: Report, redact: bool = True) -> str:
    """The page as text."""
    from loganalyze.reports.json_out import _redactor

    return dumps(report, _redactor(redact))


def data(report: Report, redactor: Redactor | None = None) -> bytes:
    """Bytes of a ``.html`` file."""
    return dumps(report, redactor).encode("utf-8", "backslashreplace")


def dumps(report: Report, redactor: Redactor | None = None) -> str:
    """The page. Runs that would make it larger than 1 MB are left out from the end and counted."""
    main = main_run(report.runs)
    runs = ([main] if main is not None else []) + [run for run in report.runs if run is not main]
    shown = min(len(runs), MOST_RUNS)
    while True:
        text = _page(report, runs[:shown], len(runs) - shown, redactor)
        if len(text.encode("utf-8", "backslashreplace")) <= MOST_BYTES or shown <= 1:
            return text
        shown = max(1, shown // 2)


def _page(report: Report, runs: list[Run], left_out: int, redactor: Redactor | None) -> str:
    folder = facts.folder_of([source.path for source in report.sources])

    def clean(text: str) -> str:
        text = text.replace(folder, "") if folder else text
        return text if redactor is None else redactor.text(text)

    view: dict[str, Any] = {
        "verdict": report.verdict, "cause": report.cause, "confidence": report.confidence,
        "summary": report.summary or "No run was judged.", "next_step": report.next_step, "reminder": facts.REMINDER,
        "explains": facts.explained(runs[0]) if runs else None, "grouping": report.grouping,
        "missing": [(m.what, m.record) for m in report.missing],
        "overrides": [(name, str(value)) for name, value in sorted(report.overrides.items())],
        "sources": [html_view.source_row(source) for source in report.sources],
        "runs": [html_view.run_view(run, number) for number, run in enumerate(runs, 1)],
        "left_out": f"{left_out} more runs are not shown here; the JSON holds all." if left_out else None,
    }  # fmt: skip
    if redactor is not None:
        redactor.learn(_all_strings(view))
    view = page.inert(view, clean)
    rules = _pictures(view["runs"], runs, redactor)
    css = plot_svg.sheet(rules, "figure svg *") + plot_svg.variables("figure") if rules else ""
    title = f"{report.verdict}: {view['summary']}"
    removed = None if redactor is None else redactor.summary()
    return page.render("report.html.j2", css, many=len(report.runs) > 1, title=title, removed=removed, **view)


def _pictures(views: list[dict[str, Any]], runs: list[Run], redactor: Redactor | None) -> list[tuple[str, str]]:
    """Draw each run until the pictures fill their room; style rules shared by all of them."""
    from markupsafe import Markup

    from loganalyze.reports import plot

    rules: list[tuple[str, str]] = []
    used = 0
    for number, (view, run) in enumerate(zip(views, runs, strict=True), 1):
        if used > PICTURES_BYTES:
            view["no_picture"] = "No picture here, to keep this file small: loganalyze plot draws it."
            continue
        try:
            drawn = plot.raw_svg(run, redactor)
        except LogAnalyzeError as error:
            view["no_picture"] = f"No picture: {error.reason}."
            continue
        body, own = plot_svg.split(drawn, f"s{number}")
        if used + len(body) > MOST_BYTES - 200_000:
            view["no_picture"] = "The picture is too large for this page: loganalyze plot draws it."
            continue
        used += len(body)
        rules += own
        view["svg"] = Markup(plot_svg.described(body, view["alt"]))
    return rules


def _all_strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for item in items for text in _all_strings(item)]

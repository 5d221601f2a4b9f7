"""Reports: one module an output. A new output is one new module and one line here.

``RENDERERS`` maps the name of a format on stdout to the module whose ``render`` makes it; ``WRITERS`` maps a file
name extension to the module whose ``data`` returns the bytes of the file.
"""

RENDERERS: dict[str, str] = {
    "text": "loganalyze.reports.text",
    "json": "loganalyze.reports.json_out",
    "jsonl": "loganalyze.reports.jsonl",
    "md": "loganalyze.reports.table_md",
    "csv": "loganalyze.reports.table_csv",
}
WRITERS: dict[str, str] = {
    ".md": "loganalyze.reports.issue_md",
    ".html": "loganalyze.reports.html",
    ".json": "loganalyze.reports.json_out",
    ".jsonl": "loganalyze.reports.jsonl",
    ".csv": "loganalyze.reports.table_csv",
    ".txt": "loganalyze.reports.text",
    ".png": "loganalyze.reports.plot",
    ".svg": "loganalyze.reports.plot",
}

"""A manifest says which files form which run: CSV with columns ``run,file`` or TOML ``[[run]] name = … files = […]``."""

from __future__ import annotations

import os

from loganalyze.batch.discover import Found, Item, Unit, Units, _item
from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.files import is_url

MAX_BYTES = 64 << 20


def read_manifest(path: str) -> Found:
    """Units of a manifest; file names are relative to it. Raises LogAnalyzeError naming the line at fault."""
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise UsageError("a manifest of more than 64 MiB", path=path)
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise LogAnalyzeError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=path) from None
    groups = _toml(text, path) if path.lower().endswith(".toml") else _csv(text, path)
    base = os.path.dirname(os.path.abspath(path))
    units = Units(Unit([_located(base, name) for name in names]) for names in groups.values() if names)
    return Found(units, f"{len(units):,} runs as {path} says")


def _located(base: str, name: str) -> Item:
    if is_url(name):
        return Item(name)
    full = os.path.join(base, name)
    archive, mark, member = full.partition("!")
    return Item(archive, member) if mark and os.path.isfile(archive) else _item(full)


def _csv(text: str, path: str) -> dict[str, list[str]]:
    import csv

    rows = csv.reader(text.splitlines())
    head = [c.strip().lower() for c in next(rows, [])]
    if "run" not in head or "file" not in head:
        raise UsageError("the first line must name the columns run and file", path=path, line=1)
    run, file = head.index("run"), head.index("file")
    groups: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 2):
        if not any(c.strip() for c in row):
            continue
        if len(row) <= max(run, file) or not row[file].strip():
            raise UsageError("no file in this line", path=path, line=number)
        groups.setdefault(row[run].strip(), []).append(row[file].strip())
    return groups


def _toml(text: str, path: str) -> dict[str, list[str]]:
    import tomllib

    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not valid TOML: {error}", path=path) from None
    groups: dict[str, list[str]] = {}
    runs = content.get("run")
    if not isinstance(runs, list):
        raise UsageError("no [[run]] tables", path=path, remedy='Write [[run]] and files = ["run.log", "smi.csv"]')
    for index, run in enumerate(runs, 1):
        files = run.get("files") if isinstance(run, dict) else None
        if not isinstance(files, list) or not all(isinstance(f, str) for f in files):
            raise UsageError(f"[[run]] number {index} has no list of files", path=path)
        groups[str(run.get("name", index))] = list(files)
    return groups

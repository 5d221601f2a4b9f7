"""From what a user names (files, folders, globs, ``-``) to the list of sources to read."""

from __future__ import annotations

import os
import stat

from loganalyze.errors import UnreadableError

# Never logs or captures: skipped inside folders (a file named outright is always tried).
SKIPPED_SUFFIXES = (
    ".gguf",
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".onnx",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".webp",
    ".svg",
    ".pdf",
    ".html",
    ".htm",
    ".parquet",
    ".pyc",
    ".so",
    ".dll",
    ".exe",
)
# A folder with more files than this is an archive of runs, which ``batch`` is for.
MAX_FOLDER_FILES = 2000


def expand(paths: tuple[str, ...] | list[str]) -> list[str]:
    """Paths of the files meant, in the order given, folders sorted by name, each file once.

    Raises UnreadableError for a name that is neither a path nor a glob that matches.
    """
    found: dict[str, None] = {}
    for path in paths:
        for file in _files(path):
            found.setdefault(file)
    return list(found)


def _files(path: str) -> list[str]:
    if path == "-":
        return [path]
    if os.path.isdir(path):
        return _folder(path)
    if os.path.lexists(path):
        return [path]
    if any(c in path for c in "*?["):
        from glob import glob

        matches = sorted(glob(path, recursive=True))
        if matches:
            return [file for match in matches for file in _files(match)]
        raise UnreadableError("no file matches", path=path, remedy="Quote nothing, or name the files")
    # Left to the reader, which names this file's fault beside the results of the others.
    return [path]


def _folder(folder: str) -> list[str]:
    files: list[str] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [os.path.join(root, name) for name in sorted(names) if _wanted(root, name)]
        if len(files) > MAX_FOLDER_FILES:
            raise UnreadableError(
                f"more than {MAX_FOLDER_FILES} files", path=folder, remedy="Use: loganalyze batch " + folder
            )
    return files


def _wanted(root: str, name: str) -> bool:
    if name.startswith(".") or name.lower().endswith(SKIPPED_SUFFIXES):
        return False
    try:
        return stat.S_ISREG(os.stat(os.path.join(root, name)).st_mode)
    except OSError:
        return True

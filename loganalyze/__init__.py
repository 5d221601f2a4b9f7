"""Says why a local LLM run is slow: slow reading, slow writing, or swapping.

``read(paths) -> Reading`` gives typed records, ``classify(paths) -> Report`` judges them, ``Run.frame()`` gives a pandas
frame of a run's aligned telemetry. Everything is offline; nothing heavy is imported before it is needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.api import classify, read
    from loganalyze.errors import LogAnalyzeError
    from loganalyze.model.records import Reading, Run
    from loganalyze.model.report import Report
    from loganalyze.options import Options

__version__ = "0.1.0"

__all__ = ["LogAnalyzeError", "Options", "Reading", "Report", "Run", "__version__", "classify", "read"]

_HOMES = {
    "LogAnalyzeError": "loganalyze.errors",
    "Options": "loganalyze.options",
    "Reading": "loganalyze.model.records",
    "Report": "loganalyze.model.report",
    "Run": "loganalyze.model.records",
    "classify": "loganalyze.api",
    "read": "loganalyze.api",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'loganalyze' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)

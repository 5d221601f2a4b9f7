"""Texts of every verdict and cause, for ``explain`` and the page ``docs/causes.md``."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from loganalyze.errors import UsageError

HEADINGS = (
    ("what", "What it is"), ("why", "Why it slows"), ("seen", "How it is seen"), ("traps", "Known false positives"),
    ("change", "What to change"), ("example", "Example"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Explanation:
    """``kind`` is ``verdict`` or ``cause``; ``verdict`` is the one a cause leads to; texts are plain sentences."""

    name: str
    kind: str
    verdict: str
    what: str
    why: str
    seen: str
    traps: str
    change: str
    example: str

    def sections(self) -> list[tuple[str, str]]:
        """Heading and text, in the order of printing."""
        return [(title, getattr(self, key)) for key, title in HEADINGS]


@cache
def _texts() -> dict[str, Any]:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "explain.toml"), "rb") as file:
        return tomllib.load(file)


def names() -> list[str]:
    """Verdicts, then causes, in the order of judgement."""
    texts = _texts()
    return [*texts["verdict"], *texts["cause"]]


def explain(name: str) -> Explanation:
    """The text for a verdict or cause; ``Slow-Reading`` is ``slow reading``. Raises UsageError with near matches."""
    from loganalyze.findings.answers import VERDICT_OF

    texts = _texts()
    wanted = " ".join(name.strip().lower().replace("-", " ").replace("_", " ").split())
    if wanted in texts["verdict"]:
        return Explanation(wanted, "verdict", wanted, **texts["verdict"][wanted])
    cause = wanted.replace(" ", "_")
    if cause in texts["cause"]:
        return Explanation(cause, "cause", VERDICT_OF[cause], **texts["cause"][cause])
    raise UsageError(f"no verdict or cause is called '{name}'", remedy=_near(wanted))


def _near(wanted: str) -> str:
    spoken = {n.replace("_", " "): n for n in names()}
    near = difflib.get_close_matches(wanted, spoken, n=3, cutoff=0.5)
    near += [s for s in spoken if s not in near and any(w in s.split() for w in wanted.split())][: 3 - len(near)]
    if near:
        return "Did you mean " + ", ".join(f"'{spoken[n]}'" for n in near) + "?"
    return "Choose from: " + ", ".join(names())


def page() -> str:
    """The whole of ``docs/causes.md``."""
    out = ["# Verdicts and causes", "",
           "Every report gives one verdict and one cause. `loganalyze explain NAME` prints these texts.", ""]  # fmt: skip
    from loganalyze.findings.answers import VERDICT_OF

    for verdict, _ in _texts()["verdict"].items():
        out += _entry(explain(verdict), "##")
        for cause in _texts()["cause"]:
            if VERDICT_OF[cause] == verdict:
                out += _entry(explain(cause), "###")
    return "\n".join(out).rstrip() + "\n"


def _entry(entry: Explanation, mark: str) -> list[str]:
    title = entry.name if entry.kind == "verdict" else f"`{entry.name}`"
    lines = [f"{mark} {title}", ""]
    for heading, text in entry.sections():
        lines += [f"**{heading}.** {text}", ""]
    return lines


if __name__ == "__main__":
    print(page(), end="")

"""``python -m loganalyze.grammar.build [NAME...]``: derive the shipped matchers from ``grammars/*.lark``."""

from __future__ import annotations

import sys
from pathlib import Path

from loganalyze.grammar.derive import write
from loganalyze.grammar.source import grammar_names


def main(names: list[str]) -> None:
    folder = Path(__file__).resolve().parent / "derived"
    for name in names or grammar_names():
        print(write(name, folder))
    from loganalyze.grammar.index import PATH, render

    PATH.write_text(render(), encoding="utf-8", newline="\n")
    print(PATH)


if __name__ == "__main__":
    main(sys.argv[1:])

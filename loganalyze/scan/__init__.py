"""Scan: bytes of any source -> decoded, unwrapped candidate lines, in one pass and in bounded memory.

Use::

    with open_source("run.log") as opened:              # path, "-", bytes or a binary file object
        opened.head                                     # first decoded bytes, to choose a format by
        scanner = scan(opened, (b"eval time", b"..."))  # or all_lines(opened); or blocks(opened) for whole text
        for line in scanner:
            ...
            table = scanner.take_while(lambda raw: raw.text.startswith(b"|"))   # the lines that follow, whatever they hold
        scanner.delivered                               # distinct physical lines handed out
        opened.source.lines                             # all lines, right after the end

``source.skipped`` is left to the reader: lines never handed out are ``source.lines - scanner.delivered``.
"""

from loganalyze.scan.line import Line, Wrap
from loganalyze.scan.lines import Scanner, all_lines, blocks, has_prefixes, scan
from loganalyze.scan.source import Opened, open_source

__all__ = ["Line", "Opened", "Scanner", "Wrap", "all_lines", "blocks", "has_prefixes", "open_source", "scan"]

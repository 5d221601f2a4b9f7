"""``time``: bash, ksh93, mksh, zsh, POSIX ``-p``, fish, tcsh, GNU (also ``-v``), BusyBox, toybox, macOS/BSD ``-l``,
PowerShell ``Measure-Command``, ``perf stat``, and bash's ``TIMEFORMAT='%R %U %S %P'``.

One capture of kind ``time`` a block, without a frame; ``facts`` as in ``time_facts``, ``fact_lines`` their lines.
"""

from __future__ import annotations

import re
from functools import cache

from loganalyze.formats.capture import Segment
from loganalyze.formats.time_facts import facts_of, merge
from loganalyze.grammar.match import Match, Matcher
from loganalyze.model.records import Capture, CaptureKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.time_facts import Facts

NAME = "time"
KIND: CaptureKind = "time"
GRAMMARS = ("time", "time_lines")
HINT = rb"\s*(?:__|Days|Hours|Minutes|Seconds|Milliseconds|Ticks|Total)"

_OPENS = re.compile(
    r"(?:bash|posix|fish|perf|toybox)_real|v_|mksh|zsh|tcsh|gnu\Z|bsd\Z|exited|signalled|powershell|toybox_real_v"
)
_FRAME = re.compile(
    rb"_{40,80}\Z|(?:Days|Hours|Minutes|Seconds|Milliseconds|Ticks|Total[A-Z][a-z]{3,12}) *: [0-9.,]+\Z"
)
_OTHER = re.compile(
    rb"\t[A-Z][A-Za-z ]{3,40}(?:\([a-z/ ]{1,12}\))?:? [^\n]*\Z|[A-Z][a-z]+(?: [a-z]+){1,3}: [0-9]+\Z"
    rb"| {2,}[0-9]+ {2}[a-z][a-z ]{3,40}\Z"
)
_FAMILY = re.compile(r"v_|fish|perf|bsd|gnu|toybox_[a-z]+_v|toybox_(?:rss|major|minor)")
_EXITS = ("exited", "signalled", "stopped")
# Lines that two styles share, or that repeat a figure within one block.
_SHARED = {"v_": ("v_status",), "toybox -v": ("v_inputs",)}


@cache
def _matcher() -> Matcher:
    return Matcher(GRAMMARS)


def _match(line: bytes) -> Match | None:
    found = _matcher().match(line) if len(line) < 4096 else None
    if found is not None and found.rule.name == "timeformat" and not _adds_up(found):
        return None
    return found


def _adds_up(found: Match) -> bool:
    """Four bare numbers are ``real user sys percent`` only if the percentage follows from the others."""
    real, cpu = found.fields["seconds"], found.fields["user"] + found.fields["system"]
    return bool(real > 0 and abs(found.fields["percent"] - 100 * cpu / real) <= 0.05 + 0.15 / real)


def starts(line: bytes) -> bool:
    found = _match(line)
    if found is not None:
        return bool(_OPENS.match(found.rule.name)) or found.rule.name == "timeformat"
    return bool(_FRAME.match(line.strip()))


def belongs(line: bytes) -> bool:
    return _match(line) is not None or bool(_FRAME.match(line.strip()) or _OTHER.match(line))


def parse(segment: Segment) -> list[Capture]:
    """One capture a block: a figure that comes again, or another style, begins the next."""
    blocks: list[_Block] = []
    for number, line in segment.lines():
        found = _match(line)
        if found is None:
            if line.strip() and not (_FRAME.match(line.strip()) or _OTHER.match(line)):
                segment.reject(number, line)
            continue
        rule, facts = found.rule.name, facts_of(found.rule.name, found.fields)
        if not blocks or blocks[-1].ends_before(rule, facts):
            blocks.append(_Block())
        blocks[-1].add(rule, facts, number)
    _drop_cut(segment, blocks)
    return [block.capture(segment) for block in blocks if block.facts]


def _drop_cut(segment: Segment, blocks: list[_Block]) -> None:
    """A last figure whose line has neither unit nor line end may have lost digits."""
    if not (segment.last_line_cut and blocks and blocks[-1].open_end):
        return
    for name in blocks[-1].last:
        blocks[-1].facts.pop(name, None)
        blocks[-1].lines.pop(name, None)
    blocks[-1].notes.append("the last line has no line end and may be cut; its figure is left out")


# Lines that end in a unit or word cannot be cut unseen; these end in a bare number.
_OPEN_END = re.compile(r"posix_|toybox_|timeformat|powershell|v_(?!elapsed_m|command)|exited|signalled")


class _Block:
    """Facts of one ``time``."""

    def __init__(self) -> None:
        self.facts: Facts = {}
        self.lines: dict[str, int] = {}
        self.notes: list[str] = []
        self.family = ""
        self.last: Facts = {}
        self.open_end = False

    def ends_before(self, rule: str, facts: Facts) -> bool:
        if rule in _EXITS:
            return True
        if rule in _SHARED.get(self.family, ()):
            return False
        return (self.family != "exit" and _family(rule) != self.family) or bool(facts.keys() & self.facts.keys())

    def add(self, rule: str, facts: Facts, number: int) -> None:
        self.family = self.family if rule in _SHARED.get(self.family, ()) else _family(rule)
        self.last = merge(self.facts, facts)
        self.lines.update(dict.fromkeys(self.last, number))
        self.open_end = bool(_OPEN_END.match(rule))
        if rule == "stopped":
            self.notes.append("the command was stopped by a signal while timed")

    def capture(self, segment: Segment) -> Capture:
        return Capture(
            kind="time",
            format=NAME,
            source=segment.source,
            facts=self.facts,
            fact_lines=self.lines,
            dialect=_DIALECTS.get(self.family, self.family),
            segment=segment.number,
            notes=self.notes,
        )


_DIALECTS = {"v_": "gnu -v", "exit": "gnu", "shell": "shell"}
_SHELL = re.compile(r"bash|posix|toybox")


def _family(rule: str) -> str:
    """Style of a line; lines of one block share it."""
    if rule in _EXITS:
        return "exit"
    found = _FAMILY.match(rule)
    if found:
        return "toybox -v" if found.group().startswith("toybox") else found.group()
    return "shell" if _SHELL.match(rule) else rule

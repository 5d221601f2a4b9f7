"""Command lines of llama.cpp, llama-cpp-python's server, koboldcpp and llamafile as they stand in a text.

A command after a shell prompt (or traced by ``set -x``) begins a run; a bare one, as issue forms have it, belongs to the
run at hand when that has none. ``Setup`` takes what the command says; the log's own lines outrank it later.
Facts: ``program``, ``device_none`` (``--device none``), ``cpu_moe_layers``.
"""

from __future__ import annotations

from loganalyze.formats.command_line import Command, parse, strip_prompt
from loganalyze.formats.command_setup import apply
from loganalyze.formats.llama_blocks import Loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.model.records import Run
    from loganalyze.scan.line import Line

NAME = "llama_cpp"
GRAMMARS = ("llama_command",)
ENGINES = {"koboldcpp": "koboldcpp", "llama_cpp.server": "llama-cpp-python", "llamafile": "llamafile"}
CONTINUES = ("\\", "`", "^")
_CONTINUES = (b"\\", b"`", b"^")
MAX_PARTS = 200


class Commands:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.loads = Loads.of(state)
        self._parts: list[str] = []
        self._first: Line | None = None
        self._prompted = False
        self._run: Run | None = None

    def command(self, fields: Fields, line: Line) -> None:
        text, self._prompted = strip_prompt(line.str)
        self._run, self._first = None, line
        self._take(text, line)
        self._continue()

    def _continue(self) -> None:
        """Take the lines that go on with a command whose last line says so, and read their options."""
        scanner = self.state.scanner
        while self._parts and scanner is not None and len(self._parts) < MAX_PARTS:
            line = scanner.peek_raw()
            if line is None or not _goes_on_with(line.text):
                break
            scanner.next_raw()
            self._take(line.str.strip(), line, fresh=False)
        self._parts = []

    def _take(self, text: str, line: Line, *, fresh: bool = True) -> None:
        stripped = text.rstrip()
        goes_on = stripped.endswith(CONTINUES)
        parts = [] if fresh else self._parts
        parts.append(stripped[:-1] if goes_on else stripped)
        command = parse(" ".join(parts), loose=self._prompted)
        self._parts = parts if goes_on else []
        if command is not None and self._first is not None:
            self._apply(command, self._first)

    def _apply(self, command: Command, line: Line) -> None:
        if self._run is None:
            if self._prompted or self.state.run.setup.command is not None:
                self.loads.mark("command")
            self._run = self.state.run
        record(self.state, command, line)


def _goes_on_with(text: bytes) -> bool:
    """Whether ``text`` can be the next line of a command: options, or anything that goes on itself."""
    text = text.strip()
    return text[:1] == b"-" or text[-1:] in _CONTINUES


def record(state: LogState, command: Command, line: Line) -> None:
    """Give ``command`` to the current run. For engines that print the command line of a llama-server they start."""
    run = state.run
    apply(command, run.setup)
    run.fact_lines["command"] = line.number
    if run.engine is None:
        run.engine = ENGINES.get(command.program, "llama.cpp")
    _fact(run, "program", command.program, line)
    if command.last("device") == "none":
        run.backend = "CPU"
        _fact(run, "device_none", True, line)
    layers = command.last("n-cpu-moe")
    if layers and layers.isdigit() and len(layers) < 10:
        _fact(run, "cpu_moe_layers", int(layers), line)
    known = [event for event in run.events if event.kind == "tensor_override" and event.data.get("from_command")]
    for override in run.setup.tensor_overrides[len(known) :]:
        pattern, _, buffer = override.rpartition("=")
        event = state.event("tensor_override", line, pattern=pattern, buffer=buffer, from_command=True)
        event.text = command.text


def _fact(run: Run, name: str, value: object, line: Line) -> None:
    run.facts[name] = value
    run.fact_lines[name] = line.number


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_command``."""
    commands = Commands(state)
    return {"llama_command.command": commands.command}

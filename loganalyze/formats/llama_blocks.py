"""Which run, model and context a load line of llama.cpp speaks of.

One process may load more than once: ``--fit`` (since b7407) measures with a model that is not allocated, speculation
loads a draft model after the main one, and a text may hold several processes. ``Loads`` keeps them apart: figures of
the main model go to the run itself, those of a draft model or of a further context to ``run.facts``.
"""

from __future__ import annotations

from loganalyze.files import base_name
from loganalyze.light import dataclass, field
from loganalyze.model.records import Buffer, Run, Setup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import LogState
    from loganalyze.model.records import MemoryKind
    from loganalyze.scan.line import Line

TABLE = "memory breakdown"
"""``Buffer.detail`` of a row taken from the memory table: used only where no buffer line was printed."""


@dataclass(slots=True)
class LoadTarget:
    """Where the figures of one loaded model go. ``run.facts["draft"]`` is one; ``["contexts"]`` a list of them."""

    setup: Setup = field(default_factory=Setup)
    memory: list[Buffer] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    fact_lines: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Block:
    """One pass of the loader. ``contexts`` counts contexts begun, ``reserved`` says the last one has its buffers."""

    target: LoadTarget
    path: str | None = None
    probe: bool = False
    contexts: int = 0
    reserved: bool = False
    has_n_ctx: bool = False


@dataclass(slots=True)
class _RunLoad:
    main: LoadTarget
    blocks: list[_Block] = field(default_factory=list)
    fitting: bool = False
    failed: bool = False
    draft_path: str | None = None
    own_facts: set[str] = field(default_factory=set)


class Loads:
    """State of all loads of one source; shared by the handlers of every llama.cpp load grammar."""

    def __init__(self, state: LogState) -> None:
        self.state = state

    @classmethod
    def of(cls, state: LogState) -> Loads:
        """The one instance of ``state``."""
        return state.part(cls)

    @property
    def run(self) -> Run:
        return self.state.run

    def _load(self) -> _RunLoad:
        own = self.state.own()
        load: _RunLoad | None = own.get("load")
        if load is None:
            run = self.state.run
            load = own["load"] = _RunLoad(LoadTarget(run.setup, run.memory, run.facts, run.fact_lines))
        return load

    # ---- beginnings

    def mark(self, name: str) -> None:
        """A line that a process prints once at its start: seen again, or after work was done, it is another run."""
        if self.state.run.requests or self._load().failed:
            self.state.close_run()
        self.state.opening(name)

    def begin_model(self, path: str, line: Line) -> None:
        """The loader opens ``path``."""
        load = self._load()
        if load.fitting:
            self._open(load, _Block(load.main, path, probe=True), clear=bool(load.blocks))
            return
        if load.blocks and load.blocks[-1].path is None and not load.blocks[-1].contexts:
            # Lines before the loader's first (the choice of devices) belong to the model it opens.
            load.blocks.pop()
        last = load.blocks[-1] if load.blocks else None
        if last is None or last.probe:
            self._open(load, _Block(load.main, path), clear=last is not None)
        elif self.state.run.requests or load.failed:
            self.state.start_run()
            self.begin_model(path, line)
        elif self._is_draft(load, path):
            self._add_draft(load, path, line)
        elif load.blocks[0].contexts:
            self.state.start_run()
            self.begin_model(path, line)
        else:
            self._open(load, _Block(load.main, path), clear=True)
        if self.target.setup.model_path is None or self.target is load.main:
            self.target.setup.model_path = path

    def _open(self, load: _RunLoad, block: _Block, *, clear: bool) -> None:
        if clear:
            block.target.memory.clear()
            for name in load.own_facts:
                block.target.facts.pop(name, None)
                block.target.fact_lines.pop(name, None)
            load.own_facts.clear()
        load.blocks.append(block)

    def _is_draft(self, load: _RunLoad, path: str) -> bool:
        named = load.draft_path or load.main.setup.draft_model
        if named and base_name(named) == base_name(path):
            return True
        return path != load.blocks[-1].path

    def _add_draft(self, load: _RunLoad, path: str, line: Line) -> None:
        target = LoadTarget()
        target.setup.model_path = path
        load.main.facts["draft"] = target
        load.main.fact_lines["draft"] = line.number
        if load.main.setup.draft_model is None:
            load.main.setup.draft_model = path
        load.blocks.append(_Block(target, path))

    def announce_draft(self, path: str) -> None:
        """The server says that the next model is the draft model."""
        self._load().draft_path = path

    def begin_context(self, line: Line, *, old: bool = False) -> None:
        """A context is made. Before b4881 (``old``) only its first setting, ``n_ctx``, shows it."""
        block = self._block()
        if old and not block.has_n_ctx:
            block.has_n_ctx = True
            block.contexts = max(block.contexts, 1)
            return
        if block.contexts and block.reserved and not self._load().failed:
            self._add_context(block, line)
        block.contexts += 1
        block.has_n_ctx = True
        block.reserved = False

    def _add_context(self, block: _Block, line: Line) -> None:
        target = LoadTarget()
        facts = self._load().main.facts
        facts.setdefault("contexts", []).append(target)
        self._load().main.fact_lines.setdefault("contexts", line.number)
        block.target = target

    def is_llama(self) -> None:
        """Name the engine, unless a relative has named itself."""
        if self.state.run.engine is None:
            self.state.run.engine = "llama.cpp"

    def backend(self, name: str) -> None:
        """A GPU backend was seen at work; ``--device none`` on the command line means that it is not used."""
        run = self.state.run
        if run.backend in (None, "CPU") and run.setup.flags.get("device") != "none":
            run.backend = "ROCm" if name == "HIP" else name

    # ---- state

    def _block(self) -> _Block:
        load = self._load()
        if not load.blocks:
            load.blocks.append(_Block(load.main))
        return load.blocks[-1]

    @property
    def target(self) -> LoadTarget:
        """Where the figures of the current model go."""
        return self._block().target

    @property
    def main(self) -> LoadTarget:
        """Where the figures of the run's main model go."""
        return self._load().main

    def fitting(self, on: bool) -> None:
        """``--fit`` starts or ends: models opened in between are only measured."""
        self._load().fitting = on

    def probe(self) -> None:
        """``no_alloc = 1``: this model is only measured."""
        self._block().probe = True

    @property
    def is_fitting(self) -> bool:
        """True between the begin and the end of ``--fit``."""
        return self._load().fitting

    @property
    def has_run(self) -> bool:
        """True once the current run has worked: a table printed before is a plan."""
        return bool(self.state.run.requests) or any(block.reserved for block in self._load().blocks)

    def fail(self) -> None:
        """The load failed: what comes next is another attempt."""
        self._load().failed = True

    def reserve(self) -> None:
        """Compute buffers are planned anew: those of the same context are replaced."""
        memory = self.target.memory
        memory[:] = [buffer for buffer in memory if buffer.kind != "compute"]

    # ---- figures

    def fact(self, name: str, value: Any, line: Line, target: LoadTarget | None = None) -> None:
        """Set a fact of the current model with its line."""
        load = self._load()
        where = target or self.target
        where.facts[name] = value
        where.fact_lines[name] = line.number
        if where is load.main:
            load.own_facts.add(name)

    def table_buffer(self, device: str, kind: MemoryKind, mib: float, line: Line) -> None:
        """Add a row of a memory table, which always tells of the main model and says nothing of the load's progress."""
        if not mib:
            return
        found = Buffer(device, kind, mib, self.state.source.path, line.number, TABLE)
        self._load().main.memory.append(found)

    def buffer(self, device: str, kind: MemoryKind, mib: float, line: Line, detail: str | None = None) -> Buffer:
        """Add a buffer of the current model. Rows of a memory table give way to it."""
        block = self._block()
        memory = block.target.memory
        if any(buffer.detail == TABLE for buffer in memory):
            memory[:] = [buffer for buffer in memory if buffer.detail != TABLE]
        found = Buffer(device, kind, mib, self.state.source.path, line.number, detail)
        memory.append(found)
        if kind == "compute":
            block.reserved = True
        return found

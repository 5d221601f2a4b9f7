"""Fuzz targets side by side: ``python tests/fuzz/run.py TARGET... [--seconds N] [--jobs N] [--out DIR]``.

``TARGET`` is a name, a start of names (``log.``) or ``all``; ``list`` prints the names. Each target runs in a process of
its own, half of its time guided by coverage with atheris where that is installed, half with the mutations of
``mutate.py`` alone. DIR gets ``summary.json`` and ``crashes.jsonl`` (one line a kind of fault, input in base64).
``--replay FILE`` runs the inputs of such a file again. Status 1 when anything was found.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import mmap
import os
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

# The place where a worker keeps: executions, inputs' bytes, length of the present input, the input itself.
HEAD = struct.Struct("<QQQ")
INPUT_BYTES = 1 << 17
# An execution that takes longer than this is killed; one that takes more CPU time than the other two say is slow.
HANG_S = 60.0
GRACE_S = 15.0
SLOW_S, SLOW_S_PER_BYTE = 1.0, 100e-6
MEMORY_BYTES = 12 << 30


def frame_of(error: BaseException) -> str:
    """Innermost place in the package, else innermost place of all."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f"{os.sep}loganalyze{os.sep}" in f.filename] or list(frames)
    return f"{Path(own[-1].filename).name}:{own[-1].lineno} {own[-1].name}" if own else "?"


class Worker:
    """Executes one target again and again and notes what goes wrong."""

    def __init__(self, target: Any, place: Path, finds: Path, seed: int) -> None:
        self.target = target
        self.seeds = list(target.seeds())
        self.random = Random(seed)
        self.seen: set[tuple[str, str]] = set()
        self.finds = finds
        with place.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), HEAD.size + INPUT_BYTES)
        self.count = self.bytes = 0

    def one(self, data: bytes) -> None:
        """One execution."""
        size = min(len(data), INPUT_BYTES)
        self.count += 1
        self.bytes += size
        HEAD.pack_into(self.memory, 0, self.count, self.bytes, size)
        self.memory[HEAD.size : HEAD.size + size] = data[:size]
        start = time.process_time()
        try:
            self.target.run(data, self.count % 64 == 1)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.found(data, type(error).__name__, frame_of(error), traceback.format_exc(limit=-12))
            return
        spent = time.process_time() - start
        if spent > SLOW_S + SLOW_S_PER_BYTE * size and self.count > 20:
            self.found(data, "Slow", "cpu time", f"{spent:.2f} s for {size} bytes")

    def found(self, data: bytes, kind: str, frame: str, trace: str) -> None:
        """Note the first input of each kind of fault."""
        if (kind, frame) in self.seen:
            return
        self.seen.add((kind, frame))
        record = {
            "target": self.target.name,
            "kind": kind,
            "frame": frame,
            "input": base64.b64encode(data).decode(),
            "trace": trace[-4000:],
        }
        with self.finds.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def mutated(self, data: bytes) -> bytes:
        """``data`` or a seed, changed."""
        from mutate import mutate

        if not data or self.random.random() < 0.2:
            data = self.random.choice(self.seeds)
        return mutate(data, self.random, self.seeds, self.target.limit)

    def plain(self, until: float) -> None:
        """Changed seeds until the time ``until``."""
        while time.monotonic() < until:
            for _ in range(20):
                self.one(self.mutated(b""))


def guided(worker: Worker, seconds: float) -> None:
    """Let atheris choose what to change, by coverage of the package. Does not return."""
    import atheris

    def custom(data: bytes, limit: int, seed: int) -> bytes:
        worker.random.seed(seed)
        if data and worker.random.random() < 0.3:
            return atheris.Mutate(data, limit)
        return worker.mutated(data)[:limit]

    limit = worker.target.limit
    arguments = [f"-max_total_time={max(1, int(seconds))}", f"-max_len={limit}", "-timeout=600", "-rss_limit_mb=0"]
    # Faults are noted here; what libFuzzer would write itself lands beside the other files of the run.
    arguments += [f"-artifact_prefix={worker.finds.parent}{os.sep}"]
    arguments += [f"-seed={worker.random.randrange(1, 1 << 31)}", "-print_final_stats=0", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *arguments], worker.one, custom_mutator=custom)
    atheris.Fuzz()


def work(arguments: argparse.Namespace) -> None:
    """Body of a worker process."""
    begin = time.monotonic()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if arguments.engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["loganalyze"], enable_loader_override=False):
            import_all()
    from targets import all_targets, small_bounds

    small_bounds()
    worker = Worker(all_targets()[arguments.targets[0]], Path(arguments.place), Path(arguments.finds), arguments.seed)
    left = arguments.seconds - (time.monotonic() - begin)
    if arguments.engine == "atheris":
        guided(worker, left)
    else:
        for data in worker.seeds:
            worker.one(data)
        worker.plain(begin + arguments.seconds)


def import_all() -> None:
    """Import what is to be measured for coverage."""
    import importlib
    import pkgutil

    import loganalyze

    for module in pkgutil.walk_packages(loganalyze.__path__, "loganalyze."):
        if not module.name.startswith(("loganalyze.grammar.derived", "loganalyze.__main__", "loganalyze.cli")):
            importlib.import_module(module.name)


class Slot(threading.Thread):
    """Runs its tasks one after the other, each in a process that it watches."""

    def __init__(self, tasks: list[tuple[str, str]], seconds: float, folder: Path, seed: int, name: str) -> None:
        super().__init__(name=name)
        self.tasks, self.folder, self.seed = tasks, folder, seed
        self.until = time.monotonic() + seconds
        self.results: list[dict[str, Any]] = []

    def run(self) -> None:
        """All tasks, each with an equal share of the time that is left."""
        for index, (target, engine) in enumerate(self.tasks):
            share = (self.until - time.monotonic()) / (len(self.tasks) - index)
            begin = time.monotonic()
            # A process that hangs or dies is replaced for the rest of its time.
            turn = 0
            while (left := share - (time.monotonic() - begin)) > 3:
                if not self.task(target, engine, left, turn):
                    break
                turn += 1

    def task(self, target: str, engine: str, seconds: float, turn: int) -> bool:
        """One process. True when it ended before its time."""
        place = self.folder / f"{self.name}-{target}-{engine}-{turn}"
        place.write_bytes(bytes(HEAD.size + INPUT_BYTES))
        finds = self.folder / f"{self.name}.jsonl"
        seed = hash((self.seed, self.name, target, turn)) & 0x7FFFFFFF
        call = [sys.executable, str(HERE / "run.py"), target, "--worker", "--place", str(place), "--finds", str(finds)]
        call += ["--seconds", f"{seconds:.1f}", "--engine", engine, "--seed", str(seed)]
        begin = time.monotonic()
        log = place.with_suffix(".txt")
        with log.open("wb") as output:
            process = subprocess.Popen(call, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
            hung = self.watch(process, place, begin + seconds + GRACE_S)
        count, size, length = HEAD.unpack_from(place.read_bytes())
        spent = time.monotonic() - begin
        self.results.append({"target": target, "engine": engine, "executions": count, "bytes": size, "seconds": spent})
        failed = hung or (process.returncode != 0 and spent < seconds)
        if failed:
            data = place.read_bytes()[HEAD.size : HEAD.size + length]
            kind = "Hang" if hung else f"Died({process.returncode})"
            record = {
                "target": target,
                "kind": kind,
                "frame": target,
                "input": base64.b64encode(data).decode(),
                "trace": log.read_bytes()[-3000:].decode("utf-8", "replace"),
            }
            with finds.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        place.unlink()
        return failed and count > 0

    @staticmethod
    def watch(process: subprocess.Popen[bytes], place: Path, until: float) -> bool:
        """Wait for the end; kill and give True when one execution takes longer than ``HANG_S``."""
        last, since = -1, time.monotonic()
        with place.open("rb") as file:
            while process.poll() is None:
                time.sleep(0.5)
                file.seek(0)
                count = HEAD.unpack(file.read(HEAD.size))[0]
                now = time.monotonic()
                if count != last:
                    last, since = count, now
                # After its time a process only ends, which takes atheris long at times: that is late, not hung.
                hung = count > 0 and now - since > HANG_S and since < until - GRACE_S
                if hung or now > until + 30:
                    process.kill()
                    process.wait()
                    return hung
        return False


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=60, help="wall time in all (60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once (all cores)")
    parser.add_argument("--engine", choices=("auto", "atheris", "plain"), default="auto")
    parser.add_argument("--seed", type=int, default=0, help="another number gives other inputs")
    parser.add_argument("--out", metavar="DIR", help="folder for summary.json and crashes.jsonl")
    parser.add_argument("--replay", metavar="FILE", help="run the inputs of a crashes.jsonl again")
    for hidden in ("--place", "--finds"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return 0
    from targets import all_targets

    known = list(all_targets())
    if arguments.targets == ["list"]:
        print("\n".join(known))
        return 0
    wanted = [n for n in known if any(t == "all" or n == t or n.startswith(t) for t in arguments.targets)]
    if not wanted:
        parser.error(f"no such target; there are: {', '.join(known)}")
    return replay(Path(arguments.replay), wanted) if arguments.replay else fuzz(wanted, arguments)


def fuzz(wanted: list[str], arguments: argparse.Namespace) -> int:
    """All targets for the time given."""
    engines = [arguments.engine]
    if arguments.engine == "auto":
        engines = ["atheris", "plain"] if importlib.util.find_spec("atheris") else ["plain"]
    from targets import all_targets

    weights = {name: target.weight for name, target in all_targets().items()}
    tasks = [(name, engine) for engine in engines for name in wanted]
    tasks += [(name, engines[-1]) for name in wanted for _ in range(weights[name] - 1)]
    while len(tasks) < arguments.jobs:
        tasks += tasks[: arguments.jobs - len(tasks)]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        slots = [
            Slot(tasks[i :: arguments.jobs], arguments.seconds, Path(folder), arguments.seed, f"slot{i}")
            for i in range(min(arguments.jobs, len(tasks)))
        ]
        for slot in slots:
            slot.start()
        for slot in slots:
            slot.join()
        finds = gathered(Path(folder))
    spent = time.monotonic() - begin
    summary = told(wanted, [r for s in slots for r in s.results], finds, spent, arguments)
    print(table(summary, finds))
    if arguments.out:
        out = Path(arguments.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        (out / "crashes.jsonl").write_text("".join(json.dumps(f) + "\n" for f in finds), encoding="utf-8")
    return 1 if finds else 0


def gathered(folder: Path) -> list[dict[str, Any]]:
    """One find of each kind, the shortest input."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            key = (record["kind"], record["frame"])
            other = best.get(key)
            if other is None or len(record["input"]) < len(other["input"]):
                best[key] = record
    return [best[key] for key in sorted(best)]


def told(
    wanted: list[str], results: list[dict[str, Any]], finds: list[dict[str, Any]], spent: float, arguments: Any
) -> dict[str, Any]:
    """The summary."""
    rows = []
    for name in wanted:
        own = [r for r in results if r["target"] == name]
        row: dict[str, Any] = {"target": name, "executions": sum(r["executions"] for r in own)}
        for engine in sorted({r["engine"] for r in own}):
            row[engine] = sum(r["executions"] for r in own if r["engine"] == engine)
        row["seconds"] = round(sum(r["seconds"] for r in own), 1)
        row["mean_bytes"] = round(sum(r["bytes"] for r in own) / max(1, row["executions"]))
        row["finds"] = sum(f["target"] == name for f in finds)
        rows.append(row)
    return {
        "python": sys.version.split()[0],
        "jobs": arguments.jobs,
        "seconds": round(spent, 1),
        "executions": sum(r["executions"] for r in rows),
        "finds": len(finds),
        "schema_checked": importlib.util.find_spec("jsonschema") is not None,
        "targets": rows,
    }


def table(summary: dict[str, Any], finds: list[dict[str, Any]]) -> str:
    """The summary for people."""
    lines = [f"{'target':<24}{'executions':>12}{'atheris':>11}{'plain':>11}{'seconds':>9}{'bytes':>7}{'finds':>6}"]
    for row in summary["targets"]:
        counts = f"{row['executions']:>12}{row.get('atheris', 0):>11}{row.get('plain', 0):>11}"
        lines.append(f"{row['target']:<24}{counts}{row['seconds']:>9}{row['mean_bytes']:>7}{row['finds']:>6}")
    lines.append(
        f"{summary['executions']} executions in {summary['seconds']} s on {summary['jobs']} jobs, Python"
        f" {summary['python']}, {summary['finds']} kinds of fault"
    )
    lines += [f"  {f['kind']} at {f['frame']} ({f['target']}, {len(f['input']) * 3 // 4} bytes)" for f in finds]
    return "\n".join(lines)


def replay(path: Path, wanted: list[str]) -> int:
    """Run the inputs of ``path`` again, with the slow checks."""
    from targets import all_targets, small_bounds

    small_bounds()
    known = all_targets()
    failed = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["target"] not in wanted:
            continue
        try:
            known[record["target"]].run(base64.b64decode(record["input"]), True)
        except BaseException as error:
            failed += 1
            print(f"{record['target']}: {type(error).__name__} at {frame_of(error)}: {str(error)[:300]}")
        else:
            print(f"{record['target']}: {record['kind']} at {record['frame']}: no more")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

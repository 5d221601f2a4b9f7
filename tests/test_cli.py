"""The command line as users meet it: statuses, streams, files, and that the quick path parses like click."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from loganalyze.cli import fast
from loganalyze.cli.click_app import build
from loganalyze.cli.spec import COMMANDS, command

ROOT = Path(__file__).resolve().parent.parent
CASE = ROOT / "fixtures" / "corpus" / "b6173_27b_ngl20"


def run(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "loganalyze", *words], input=stdin, capture_output=True, timeout=120, check=False
    )


def test_piped_log_and_file_agree() -> None:
    log = CASE / "run.log"
    by_file = json.loads(run("classify", "-f", "json", str(log)).stdout)
    by_pipe = json.loads(run("classify", "-f", "json", stdin=log.read_bytes()).stdout)
    assert (by_file["verdict"], by_file["cause"]) == ("swapping", "partial_offload")
    assert (by_pipe["verdict"], by_pipe["cause"]) == ("swapping", "partial_offload")


def test_same_input_same_bytes() -> None:
    first, second = (run("classify", "-f", "json", str(CASE)).stdout for _ in range(2))
    assert first == second


def test_statuses(tmp_path: Path) -> None:
    assert run("classify", str(CASE / "run.log")).returncode == 0
    assert run("classify", "--fail-on", "swapping", str(CASE / "run.log")).returncode == 1
    assert run("classify", str(tmp_path / "absent.log")).returncode == 2
    assert run("classify", "--no-such-option").returncode == 2
    assert run("classify", "-", stdin=b"").returncode == 2
    assert run("classify", "-", stdin=b"nothing to see here\n" * 9).returncode == 2


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    done = run("classify", "-f", "json", str(CASE / "run.log"), str(tmp_path / "absent.log"))
    assert done.returncode == 2
    assert json.loads(done.stdout)["verdict"] == "swapping"
    assert b"absent.log" in done.stderr


@pytest.mark.parametrize(
    "words", [["classify", "/nope/x.log"], ["explain", "swaping"], ["sweep", str(CASE)], ["batch", "/nope"]]
)
def test_errors_are_messages(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.strip()


def test_outputs_are_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    assert run("report", str(CASE), "-o", str(out)).returncode == 0
    before = out.read_bytes()
    assert run("report", str(CASE), "-o", str(out)).returncode == 2
    assert out.read_bytes() == before
    assert run("report", str(CASE), "-o", str(out), "--force").returncode == 0


def test_demo_writes_everything(tmp_path: Path) -> None:
    names = [tmp_path / f"demo{e}" for e in (".png", ".svg", ".html", ".md", ".json")]
    done = run("demo", *(w for n in names for w in ("-o", str(n))))
    assert done.returncode == 0
    assert all(n.stat().st_size > 500 for n in names)


def test_closed_pipe_is_quiet() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "loganalyze", "formats", "llama_server"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(timeout=60)


@pytest.mark.parametrize("spec", COMMANDS, ids=lambda s: s.name)
def test_every_command_has_a_module_and_help(spec: object) -> None:
    from importlib import import_module

    name = spec.name  # type: ignore[attr-defined]
    assert callable(import_module(f"loganalyze.cli.commands.{name}").run)
    assert build().commands[name].help


CASES = [
    ["classify", "a.log", "-f", "json", "--force"],
    ["classify", "--set", "x=1", "--set=y=2", "a", "-", "b"],
    ["classify", "-o", "a.png", "-o", "b.md", "--", "-odd.log"],
    ["report", "a", "--no-redact", "--tz", "+02:00"],
    ["batch", "d", "--jobs", "2", "--by", "model,version"],
    ["check"],
]


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_quick_path_parses_like_click(words: list[str]) -> None:
    spec = command(words[0])
    assert spec is not None
    context = build().commands[words[0]].make_context(words[0], list(words[1:]))
    expected = dict(context.params.items())
    assert fast.parse(spec, words[1:]) == {"paths": (), **expected}


@pytest.mark.parametrize(
    "words", [["classify", "--help"], ["classify", "-f", "xml"], ["batch"], ["demo", "extra"], ["classify", "-o"]]
)
def test_quick_path_leaves_the_rest_to_click(words: list[str]) -> None:
    spec = command(words[0])
    assert spec is not None
    assert fast.parse(spec, words[1:]) is None


UNREAD = [
    ["classify", "CASE", "--as", "nope.log=llama_cpp"],
    ["classify", "CASE", "--start", "nope.log=2026-01-01"],
    ["check", "CASE", "--as", "nope.log=llama_cpp"],
    ["report", "CASE", "--as", "nope.log=llama_cpp"],
    ["timeline", "CASE", "--start", "nope.log=2026-01-01"],
    ["plot", "CASE", "--as", "nope.log=llama_cpp", "-o", "OUT.png"],
    ["sweep", "CASE", "CASE", "--as", "nope.log=llama_cpp"],
    ["baseline", "CASE", "CASE", "--start", "nope.log=2026-01-01"],
    ["compare", "--before", "CASE", "--after", "CASE", "--as", "nope.log=llama_cpp"],
]


@pytest.mark.parametrize("words", UNREAD, ids=lambda words: f"{words[0]} {words[-2]}")
def test_options_for_a_file_that_is_not_read_are_refused(words: list[str], tmp_path: Path) -> None:
    places = {"CASE": str(CASE / "run.log"), "OUT.png": str(tmp_path / "a.png")}
    done = run(*(places.get(word, word) for word in words))
    assert done.returncode == 2
    assert b"nope.log: no file of that name is read" in done.stderr
    assert b"Name one as it is given" in done.stderr
    assert not list(tmp_path.iterdir())


def test_options_for_one_of_the_files_of_a_study(tmp_path: Path) -> None:
    """Each run of a study is read by itself: what is meant for the other is no error."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes((CASE / "run.log").read_bytes())
    words = ["--before", str(tmp_path / "a.log"), "--after", str(tmp_path / "b.log")]
    chosen = ["--as", "a.log=log", "--start", f"{tmp_path / 'b.log'}=2026-01-01T00:00:00Z"]
    done = run("compare", *words, *chosen)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run("compare", *words).stdout


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["timeline"],
        ["plot", "-o", "a.svg"],
        ["sweep"],
        ["baseline"],
        ["compare", "--after", ".", "--before"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_names_the_file_that_it_could_not_read(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.log").write_bytes((CASE / "run.log").read_bytes())
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    done = run(*words, ".")
    assert b"gone.log: unreadable: no such file" in done.stderr
    assert done.returncode == (0 if words[0] in ("baseline", "compare") else 2)


def test_a_timeline_of_nothing_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("nothing to see here\n" * 9)
    done = run("timeline", str(tmp_path / "a.log"))
    assert done.returncode == 2
    assert b"nothing recognised in 9 lines" in done.stderr

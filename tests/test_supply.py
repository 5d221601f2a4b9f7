"""What is shipped: the packages hold what they need and no more, extras are named when missing, the API is as documented."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import loganalyze
from loganalyze.__main__ import status

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "fixtures" / "corpus" / "b6173_27b_ngl20" / "run.log"
EXAMPLE = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.DOTALL)[0]
SIGNATURES = {
    "read": "(paths: 'Path | Sequence[Path]', options: 'Options | None' = None) -> 'Reading'",
    "classify": "(paths: 'Path | Sequence[Path]', options: 'Options | None' = None) -> 'Report'",
    "LogAnalyzeError": "(reason: 'str', *, path: 'str | None' = None, line: 'int | None' = None, "
    "remedy: 'str | None' = None) -> 'None'",
}
FIELDS = {
    "Options": {"as_format", "tz", "starts", "group", "overrides", "baseline"},
    "Report": {"runs", "sources", "verdict", "cause", "confidence", "summary", "next_step", "missing", "grouping",
               "overrides", "reading"},
    "Reading": {"runs", "captures", "sources", "grouping"},
    "Run": {"requests", "setup", "devices", "memory", "events", "captures", "phases", "judgement", "frame"},
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a wheel and a source package of this tree."""
    build = pytest.importorskip("hatchling.build")
    place = tmp_path_factory.mktemp("dist")
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        build.build_wheel(str(place))
        build.build_sdist(str(place))
    finally:
        os.chdir(before)
    return place


def test_the_wheel_holds_the_program_and_its_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    assert top == {"loganalyze", f"loganalyze_llm-{loganalyze.__version__}.dist-info"}
    assert not [name for name in names if "test" in Path(name).name or name.endswith((".pyc", ".sqlite"))]
    data = (
        "py.typed",
        "reports/schema_v1.json",
        "reports/templates/report.html.j2",
        "verdict/explain.toml",
        "demo_run/run.log",
    )
    assert {f"loganalyze/{name}" for name in data} <= set(names)
    for folder, ending, home in (
        ("grammars", ".lark", "grammars"),
        ("grammar/derived", ".py", "loganalyze/grammar/derived"),
    ):
        shipped = {Path(n).name for n in names if n.startswith(f"loganalyze/{folder}/")}
        assert shipped >= {p.name for p in (ROOT / home).iterdir() if p.suffix == ending}
    sources = {
        p.relative_to(ROOT).as_posix() for p in (ROOT / "loganalyze").rglob("*") if p.is_file() and p.suffix != ".pyc"
    }
    assert sources <= set(names)


def test_the_source_package_holds_what_tests_need(built: Path) -> None:
    (package,) = built.glob("*.tar.gz")
    with tarfile.open(package) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    for home in ("fixtures", "grammars", "tests", "docs", "benchmarks", ".ci"):
        wanted = {
            p.relative_to(ROOT).as_posix()
            for p in (ROOT / home).rglob("*")
            if p.is_file() and "__pycache__" not in p.parts
        }
        assert wanted <= names, sorted(wanted - names)[:5]
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"} <= names


def test_the_wheel_runs_away_from_its_sources(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    shutil.copyfile(LOG, tmp_path / "run.log")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "LOGANALYZE_CACHE": str(tmp_path)}
    for words in (["demo", "-o", "a.html"], ["formats"], ["batch", "run.log"]):
        command = [sys.executable, "-m", "loganalyze", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr


def test_the_example_runs() -> None:
    space: dict[str, object] = {}
    exec(compile(EXAMPLE, "example", "exec"), space)
    assert space["slow"]([str(LOG)]) != []  # type: ignore[operator]
    assert space["slow"](["/no/such"]) == ["/no/such: no such file. Check the name (None)"]  # type: ignore[operator]
    assert list(space["rates"](str(LOG)).values()) == [pytest.approx(5.9, abs=0.05)]  # type: ignore[operator]


def test_the_public_names_are_documented_and_stay() -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    assert sorted(loganalyze.__all__) == sorted([*SIGNATURES, *FIELDS, "__version__"])
    assert all(f"`{name}" in text for name in loganalyze.__all__)
    for name, expected in SIGNATURES.items():
        public = getattr(loganalyze, name)
        assert str(inspect.signature(public)) == expected
        assert public.__doc__
    for name, fields in FIELDS.items():
        public = getattr(loganalyze, name)
        assert public.__doc__
        assert fields <= set(dir(public)) | set(getattr(public, "__dataclass_fields__", ()))
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}`"))
        assert all(f"`{field}" in row for field in fields), name
    with pytest.raises(AttributeError):
        loganalyze.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    ("blocked", "words", "told"),
    [
        (("distributed",), ["batch", "--no-cache", "--scheduler", "tcp://127.0.0.1:1", str(LOG)], "loganalyze-llm[cluster]"),
        (("fsspec",), ["batch", "--no-cache", "s3://bucket/logs"], "loganalyze-llm[remote]"),
        (("s3fs",), ["batch", "--no-cache", "s3://bucket/logs"], "loganalyze-llm[remote]"),
        (("gcsfs",), ["batch", "--no-cache", "gs://bucket/logs"], "loganalyze-llm[remote]"),
        (("huggingface_hub",), ["batch", "--no-cache", "hf://datasets/a/b"], "loganalyze-llm[remote]"),
        (("zstandard", "compression", "compression.zstd"), ["classify", "a.log.zst"], "pip install zstandard"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(
    blocked: tuple[str, ...],
    words: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "://" in words[-1] and blocked[0] != "fsspec":
        pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    Path("a.log.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(40))
    for name in list(sys.modules):
        if name.split(".")[0] in blocked:
            monkeypatch.delitem(sys.modules, name)
    for name in blocked:
        monkeypatch.setitem(sys.modules, name, None)
    assert status(words) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "Traceback" not in said


HEAVY = (
    "fsspec", "s3fs", "distributed", "dask", "polars", "pandas", "numpy", "matplotlib", "lark", "jinja2", "click", "zstandard",
    "ahocorasick_rs",
)  # fmt: skip


def test_plain_logs_need_no_package_at_all() -> None:
    """``classify`` of a log works with every dependency blocked, ``import loganalyze`` loads none."""
    lines = f"import sys\nfor n in {HEAVY!r}: sys.modules[n] = None\nfrom loganalyze.__main__ import status\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{lines}sys.exit(status(['classify', {str(LOG)!r}]))"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"partial_offload" in done.stdout

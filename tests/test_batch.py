"""Batch: right groups, the same rows every way, files whole or not at all, bad files cost one row."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from loganalyze.batch import engine, output, work
from loganalyze.batch.cache import Cache
from loganalyze.batch.discover import discover
from loganalyze.batch.row import COLUMNS, Row, empty
from loganalyze.batch.spool import Spool
from loganalyze.batch.summary import Summary
from loganalyze.batch.versions import Versions
from loganalyze.errors import LogAnalyzeError
from loganalyze.options import Options


def rows_of(paths: tuple[str, ...], cache: Cache | None = None, jobs: int = 1) -> list[Row]:
    found = discover(paths)
    return [
        row for _, rows, _ in engine.rows_of(found.units, Options(), cache or Cache(None, "t"), jobs) for row in rows
    ]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    source = Path(__file__).resolve().parent.parent / "fixtures" / "corpus" / "b6173_27b_ngl20" / "run.log"
    text = source.read_text(encoding="utf-8")
    for index in range(70):
        (folder / f"r{index:03d}.log").write_text(text + f"\n# {index}\n", encoding="utf-8")
    return folder


def test_rows_have_every_column_and_the_verdict(logs: Path) -> None:
    rows = rows_of((str(logs),))
    assert len(rows) == 70
    assert all(tuple(row) == tuple(COLUMNS) for row in rows)
    assert {(row["verdict"], row["cause"]) for row in rows} == {("swapping", "partial_offload")}
    assert [row["file"] for row in rows] == sorted(row["file"] for row in rows)


def test_processes_give_the_same_rows(logs: Path) -> None:
    assert rows_of((str(logs),), jobs=2) == rows_of((str(logs),))


def test_cache_gives_the_same_rows_and_follows_content(logs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "logs"
    shutil.copytree(logs, copy)
    for path in copy.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    cache = Cache(str(tmp_path), "t")
    first = rows_of((str(copy),), cache)
    assert rows_of((str(copy),), cache) == first
    (copy / "r000.log").write_text("nothing here any more\n")
    assert len(rows_of((str(copy),), cache)) == 69
    assert cache.note is None
    cache.close()


def test_young_files_of_known_content_are_not_analysed_again(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "logs"
    shutil.copytree(logs, copy, copy_function=shutil.copyfile)
    cache = Cache(str(tmp_path), "t")
    first = rows_of((str(copy),), cache)

    def again(*_: object) -> None:
        raise AssertionError("analysed again")

    monkeypatch.setattr(work, "analyse", again)
    assert rows_of((str(copy),), cache) == first
    cache.close()


def test_bad_files_cost_one_row(tmp_path: Path, logs: Path) -> None:
    shutil.copy(logs / "r000.log", tmp_path / "good.log")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dangling.log").symlink_to(tmp_path / "absent")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 not a zip")
    rows = rows_of((str(tmp_path),))
    assert [r["verdict"] for r in rows if r["error"] is None] == ["swapping"]
    assert sorted(os.path.basename(r["file"]) for r in rows if r["error"]) == ["broken.zip", "dangling.log"]


def test_archives_are_read_in_place(tmp_path: Path, logs: Path) -> None:
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.write(logs / "r000.log", "a/run.log")
        archive.write(logs / "r001.log", "../../escape/run.log")
    rows = rows_of((str(tmp_path),))
    assert [r["cause"] for r in rows] == ["partial_offload"] * 2
    assert not (tmp_path.parent / "escape").exists()


def spool_of(rows: list[Row]) -> tuple[Spool, Summary]:
    spool, summary = Spool(), Summary()
    for row in rows:
        spool.add(row)
        summary.add(row)
    return spool, summary


def test_outputs_hold_every_row_and_append_once(logs: Path, tmp_path: Path) -> None:
    rows = rows_of((str(logs),))
    spool, summary = spool_of(rows)
    for name in ("r.csv", "r.jsonl", "r.parquet"):
        path = str(tmp_path / name)
        assert output.write(path, spool, summary, append=False).endswith("(70 rows)")
        assert output.write(path, spool, summary, append=True).endswith("(70 rows, 0 of them new)")
    frame = pl.read_parquet(tmp_path / "r.parquet")
    assert frame.columns == list(COLUMNS)
    assert frame["lost_s"].to_list() == [r["lost_s"] for r in rows]


def test_parquet_of_many_row_groups_keeps_order_and_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "BLOCK", 7)
    path = str(tmp_path / "r.parquet")
    first = [empty(key=f"k{i}", id=f"f{i}#1", file=f"f{i}", verdict="healthy", lost_s=i / 4) for i in range(40)]
    more = [empty(key=f"k{i}", id=f"f{i}#1", file=f"f{i}", verdict="swapping", lost_s=None) for i in range(33, 61)]
    assert output.write(path, *spool_of(first), append=False).endswith("(40 rows)")
    assert pl.read_parquet(path).to_dicts() == first
    assert output.write(path, *spool_of(more), append=True).endswith("(61 rows, 21 of them new)")
    assert pl.read_parquet(path).to_dicts() == first + more[7:]


def test_parquet_reports_what_its_rows_ran_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "BLOCK", 7)
    path = tmp_path / "r.parquet"
    path.write_text("old")

    def lost(self: Spool) -> Iterator[Row]:
        yield from (empty(key=str(i), id=f"f#{i}") for i in range(20))
        raise LogAnalyzeError("the temporary file cannot be read", path="there")

    monkeypatch.setattr(Spool, "rows", lost)
    with pytest.raises(LogAnalyzeError, match="there: the temporary file cannot be read"):
        output.write(str(path), *spool_of([]), append=False)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]


def test_a_failed_write_leaves_the_old_file(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool, summary = spool_of(rows_of((str(logs / "r000.log"),)))
    path = tmp_path / "r.csv"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output, "_csv", full)
    with pytest.raises(Exception, match="No space left"):
        output.write(str(path), spool, summary, append=False)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"]


def test_moved_layers_between_versions_are_no_regression() -> None:
    base = dict.fromkeys(COLUMNS)
    versions = Versions()
    for version, layers, rate in (("b100", 33, 40.0), ("b200", 20, 9.0)):
        for _ in range(3):
            versions.add(
                {
                    **base,
                    "model": "m",
                    "version": version,
                    "verdict": "healthy",
                    "layers_on_gpu": layers,
                    "writing_tps": rate,
                }
            )
    (step,) = versions.steps()
    assert (step.old, step.new, step.word) == ("b100", "b200", "moved")
    assert "not a regression" in step.reason


def test_whole_collection_is_43_right_runs(shared: Path) -> None:
    import json

    rows = rows_of((str(shared / "corpus"),))
    assert len(rows) == 43
    for row in rows:
        case = json.loads((Path(row["file"]).parent / "case.json").read_text())
        assert row["verdict"] in [case["expected"], *case["also"]], row["file"]

"""Files: format by extension, whole or not at all, no overwriting by surprise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import report_builders as build

from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.reports import WRITERS, json_out, write


def test_every_extension(tmp_path: Path) -> None:
    names = [tmp_path / f"out{extension}" for extension in WRITERS if extension != ".png"]
    lines = write.write_outputs(build.contention(), names)
    assert all((tmp_path / f"out{extension}").stat().st_size > 0 for extension in WRITERS)
    assert [line.split(" (")[0] for line in lines if "out.html" in line] == [f"Wrote {tmp_path / 'out.html'}"]
    assert not list(tmp_path.glob(".*"))


def test_the_json_file_is_what_stdout_shows(tmp_path: Path) -> None:
    write.write_outputs(build.contention(), [tmp_path / "a.json"])
    assert (tmp_path / "a.json").read_text() == json_out.render(build.contention())


def test_markdown_brings_its_picture(tmp_path: Path) -> None:
    lines = write.write_outputs(build.contention(), [tmp_path / "issue.md"])
    assert (tmp_path / "issue.png").read_bytes()[:4] == b"\x89PNG"
    assert len(lines) == 2
    assert "](./issue.png)" in (tmp_path / "issue.md").read_text()


def test_refuses_to_overwrite(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    with pytest.raises(LogAnalyzeError, match="exists"):
        write.write_outputs(build.healthy(), [tmp_path / "b.json", tmp_path / "a.json"])
    assert not (tmp_path / "b.json").exists()
    assert (tmp_path / "a.json").read_text() == "mine"
    write.write_outputs(build.healthy(), [tmp_path / "a.json"], force=True)
    assert (tmp_path / "a.json").read_text().startswith("{")


def test_the_picture_beside_is_protected_too(tmp_path: Path) -> None:
    (tmp_path / "issue.png").write_text("mine")
    with pytest.raises(LogAnalyzeError, match="exists"):
        write.write_outputs(build.healthy(), [tmp_path / "issue.md"])
    assert not (tmp_path / "issue.md").exists()


@pytest.mark.parametrize("name", ["a.docx", "noextension", "a"])
def test_unknown_extension(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        write.write_outputs(build.healthy(), [tmp_path / name])
    assert ".html" in (caught.value.remedy or "")


def test_named_twice(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="twice"):
        write.write_outputs(build.healthy(), [tmp_path / "a.json", tmp_path / "x" / ".." / "a.json"])


def test_missing_folder_and_folder_as_file(tmp_path: Path) -> None:
    with pytest.raises(LogAnalyzeError, match="cannot be written"):
        write.write_outputs(build.healthy(), [tmp_path / "no" / "a.json"])
    (tmp_path / "d.json").mkdir()
    with pytest.raises(LogAnalyzeError, match="folder"):
        write.write_outputs(build.healthy(), [tmp_path / "d.json"], force=True)


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text("mine")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LogAnalyzeError, match="No space left"):
        write.write_outputs(build.healthy(), [tmp_path / "a.json"], force=True)
    assert (tmp_path / "a.json").read_text() == "mine"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_mode_and_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("old")
    real.chmod(0o600)
    (tmp_path / "link.json").symlink_to(real)
    write.write_outputs(build.healthy(), [tmp_path / "link.json"], force=True)
    assert (tmp_path / "link.json").is_symlink()
    assert real.read_text().startswith("{")
    assert real.stat().st_mode & 0o777 == 0o600


def test_nothing_to_draw_still_writes_the_report(tmp_path: Path) -> None:
    report = build.oom_at_load()
    report.runs[0].captures, report.runs[0].phases, report.runs[0].load_ms = [], [], None
    assert len(write.write_outputs(report, [tmp_path / "a.md"])) == 1

"""S3 on loopback: the same rows as from the folder; what cannot be read is told with what to do about it."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("s3fs", reason="needs the extra [remote]")
pytest.importorskip("moto", reason="needs moto[server]")
pytest.importorskip("flask", reason="needs moto[server]")

from batch_helpers import batch, free_port, make_logs, wait_until

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
NO_RETRY = {"AWS_MAX_ATTEMPTS": "1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-c", f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    try:
        wait_until(answers)
        yield address
    finally:
        server.kill()
        server.wait(30)


@pytest.fixture(scope="module")
def bucket(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder, and bucket ``logs`` with the same files."""
    import zipfile

    import s3fs

    folder = tmp_path_factory.mktemp("s3") / "logs"
    make_logs(folder / "a", 55)
    make_logs(folder / "b", 3)
    (folder / "b" / "weights.gguf").write_bytes(b"GGUF")
    with zipfile.ZipFile(folder / "old.zip", "w") as archive:
        archive.write(folder / "a" / "r0001.log", "old/run.log")
    system = s3fs.S3FileSystem(key="test", secret="test", endpoint_url=endpoint)
    system.mkdir("logs")
    for path in sorted(folder.rglob("*.*")):
        system.put_file(str(path), f"logs/{path.relative_to(folder).as_posix()}")
    return folder


def rows(path: Path, place: str) -> list[dict[str, object]]:
    import polars as pl

    found = pl.read_parquet(path).drop("key").to_dicts()
    for row in found:
        row["file"] = str(row["file"]).replace(place, "")
        row["id"] = str(row["id"]).replace(place, "")
    return found


def test_a_bucket_equals_the_folder(bucket: Path, endpoint: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    here = batch(bucket, "-o", tmp_path / "here.parquet", cache=None, LOGANALYZE_CACHE=str(tmp_path / "other"))
    assert here.returncode == 0, here.stderr
    for name in ("there.parquet", "again.parquet"):
        there = batch("s3://logs", "-o", tmp_path / name, cache=cache, AWS_ENDPOINT_URL=endpoint, **KEYS)
        assert there.returncode == 0, there.stderr
    local = rows(tmp_path / "here.parquet", str(bucket))
    assert len(local) == 59
    assert rows(tmp_path / "there.parquet", "s3://logs") == local
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


def test_patterns_and_single_objects(bucket: Path, endpoint: str) -> None:
    for url, count in (("s3://logs/b/*.log", 3), ("s3://logs/a/r0000.log", 1)):
        run = batch(url, "--no-cache", "--format", "jsonl", cache=None, AWS_ENDPOINT_URL=endpoint, **KEYS)
        assert run.returncode == 0, run.stderr
        assert len(run.stdout.splitlines()) == count


def test_a_missing_bucket_is_told(endpoint: str) -> None:
    run = batch("s3://absent/logs", cache=None, AWS_ENDPOINT_URL=endpoint, **KEYS)
    assert run.returncode == 2
    assert "s3://absent/logs: no such bucket or folder. Check the name" in run.stderr


def test_no_server_is_told() -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    run = batch("s3://logs/x", cache=None, AWS_ENDPOINT_URL=endpoint, **KEYS, **NO_RETRY)
    assert run.returncode == 2
    assert "the storage does not answer" in run.stderr
    assert "AWS_ENDPOINT_URL" in run.stderr
    assert "Traceback" not in run.stderr


def test_denied_is_told(tmp_path: Path) -> None:
    """A server that refuses everyone, as S3 says it."""
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"

    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(403)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.send_response(403)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Refuses)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        run = batch("s3://logs/x", cache=None, AWS_ENDPOINT_URL=endpoint, **KEYS, **NO_RETRY)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert run.returncode == 2
    assert "access denied" in run.stderr
    assert "Traceback" not in run.stderr

"""Whatever a log or a file name says, no output of any command acts on a terminal, browser, spreadsheet or forge."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import hostile
import polars as pl
import pytest

from loganalyze.__main__ import status

CHROMIUM = next((f for n in ("chromium", "chromium-browser", "google-chrome") if (f := shutil.which(n))), None)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGANALYZE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in this process: exit status, stdout, stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        code = status([str(w) for w in words])
        done = capsys.readouterr()
        assert "internal error" not in done.err, done.err
        return code, done.out, done.err

    return call


def plain(text: str) -> None:
    """``text`` holds nothing that a terminal acts on or that hides or reorders other text."""
    for c in text.replace("\n", ""):
        assert unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), ascii(text[:400])
    assert not re.search("[\u0300-\u036f]{4}", text)
    text.encode()


def cells(text: str) -> None:
    """``text`` is a table whose rows are equally wide and whose cells are numbers or no formula."""
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1
    for cell in (c for row in rows for c in row):
        try:
            float(cell)
        except ValueError:
            assert not cell.lstrip(" '\"").startswith(FORMULA) or cell.startswith("'"), cell
    plain(text)


LIVE = {"p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "ol", "strong", "em", "code", "pre", "h3", "details",
        "summary", "sub", "br", "img"}  # fmt: skip


class Rendered(HTMLParser):
    """Tags of rendered Markdown and its text outside code."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.prose = ""
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._code += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        self.prose += "" if self._code else data


def marked_down(text: str) -> None:
    """``text`` rendered as GitHub does holds no element, link, mention or reference that came from the log."""
    plain(text)
    gfm = pytest.importorskip("cmarkgfm")
    from cmarkgfm.cmark import Options

    page = Rendered()
    page.feed(gfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))
    assert {tag for tag, _ in page.tags} <= LIVE, sorted({tag for tag, _ in page.tags} - LIVE)
    count = [tag for tag, _ in page.tags].count
    assert count("h3") in (0, 8)
    assert count("details") == count("summary") <= 1
    assert count("table") <= 1
    for tag, attributes in page.tags:
        assert set(attributes) <= {"align", "lang", "src", "alt", "class", "start"}, attributes
        assert tag != "img" or re.fullmatch(r"\./[\w.%~-]+", attributes["src"] or ""), attributes
    # What GitHub links after rendering; only code is left alone.
    found = re.search(r"(?<!\w)@\w|#\d|GH-\d|https?:|www\.|\$[^ ]", page.prose)
    assert found is None, page.prose[max(0, found.start() - 60) :][:160]


def ascii_json(text: str) -> None:
    """``text`` is JSON (or JSON lines) in ASCII: inert on any terminal, whatever its strings say."""
    assert text.isascii()
    plain(text.replace("\n", ""))
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


def without_own_colours(text: str) -> str:
    return re.sub("\x1b\\[(?:1;3[1-6]|1|0)m", "", text)


CHECKS = {"text": plain, "json": ascii_json, "jsonl": ascii_json, "csv": cells, "md": marked_down}


@pytest.mark.parametrize("flavour", hostile.FLAVOURS)
def test_what_logs_say_is_inert_on_stdout(
    flavour: str, tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    evil = hostile.FLAVOURS[flavour]
    case = hostile.plant(tmp_path / "case", evil)
    other = tmp_path / "other.log"
    other.write_text(hostile.log(evil, layers=65, rate=50.0), encoding="utf-8")
    arrived = 0
    for kind, check in CHECKS.items():
        for words in (
            ["classify", "-f", kind, case],
            ["classify", "-f", kind, "--redact", case, other],
            ["batch", "--no-cache", "--jobs", "1", "-f", kind, case, other],
            ["baseline", "-f", kind, case, case, case],
            ["sweep", "-f", kind, case / "run.log", other],
            ["compare", "-f", kind, "--before", case / "run.log", "--after", other],
        ):
            code, out, err = run(*words)
            assert code == 0 or (words[0] == "sweep" and err), (words, err)
            check(out)
            plain(err)
            arrived += hostile.MARK in out
    assert arrived > 5
    for words in (
        ["classify", "--width", "40", case],
        ["classify", "--color", "always", case],
        ["check", case],
        ["timeline", case],
        ["batch", "--no-cache", "--compare", "version", case, other],
        ["batch", "--no-cache", "--by", "model,device", case, other],
    ):
        code, out, err = run(*words)
        assert code == 0 or words[0] == "check"
        plain(without_own_colours(out))
        plain(err)
    code, out, _ = run("check", "-f", "json", case)
    ascii_json(out)
    for words in (["report", case], ["report", "--no-redact", case, other]):
        code, out, _ = run(*words)
        assert code == 0
        marked_down(out)


FILES = {
    ("report", "--no-redact"): ("r.md", "r.html", "r.json", "r.csv", "r.txt", "r.jsonl", "r.svg"),
    ("report", "--redact", "--force"): ("r.md", "r.html", "r.svg"),
    ("timeline",): ("t.csv", "t.parquet", "t.jsonl", "trace.json"),
    ("batch", "--no-cache", "--jobs", "1"): ("b.csv", "b.parquet", "b.jsonl", "b.html"),
    ("baseline",): ("base.json", "base.md", "base.csv", "base.txt", "base.svg", "base.png"),
    ("sweep",): ("s.json", "s.md", "s.csv", "s.txt", "s.svg"),
    ("compare",): ("c.json", "c.md", "c.csv", "c.txt", "c.svg"),
}
PAGE = {"html", "head", "meta", "title", "style", "body", "a", "header", "footer", "main", "nav", "section", "p", "h1", "h2",
        "h3", "ul", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "div", "span", "strong",
        "pre", "code", "details", "summary", "figure", "figcaption", "script", "br"}  # fmt: skip
DRAWN = {"svg", "g", "path", "use", "defs", "text", "tspan", "rect", "circle", "line", "clippath", "title", "style", "image",
         "lineargradient", "stop"}  # fmt: skip
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "href", "id", "aria-label", "aria-labelledby",
              "role", "tabindex", "scope", "data-v", "data-sort", "open", "viewbox", "xmlns", "xmlns:xlink", "version",
              "width", "height", "x", "y", "d", "transform", "clip-path", "xlink:href", "x1", "x2", "y1", "y2", "cx", "cy",
              "r", "preserveaspectratio", "style", "type", "points", "rx", "ry", "offset"}  # fmt: skip


def paged(text: str) -> None:
    """``text`` is a page or picture of known elements whose style sheet and links are its own."""
    plain(text)
    page = Rendered()
    page.feed(text)
    tags = {tag for tag, _ in page.tags}
    assert tags <= PAGE | DRAWN, sorted(tags - PAGE - DRAWN)
    for tag, attributes in page.tags:
        assert set(attributes) <= ATTRIBUTES, (tag, attributes)
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#"), attributes
    assert [tag for tag, _ in page.tags].count("script") == text.count("addEventListener") <= 1
    for sheet in re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL):
        assert "evil" not in sheet
        assert hostile.MARK not in sheet
        assert not re.search(r"@import|url\((?!#)|expression", sheet)
    for style in re.findall(r'<[a-z][^<>]* style="([^"]*)"', text):
        assert hostile.MARK not in style


def table_file(path: Path) -> None:
    """Text columns of a Parquet file are valid Unicode, its columns the documented ones."""
    frame = pl.read_parquet(path)
    assert frame.height > 0
    for name in frame.columns:
        assert re.fullmatch(r"[a-z0-9_]+", name), name
    json.dumps(frame.to_dicts(), allow_nan=False, default=str).encode()


def picture(path: Path) -> None:
    assert path.read_bytes().startswith(b"\x89PNG")
    assert hostile.MARK.encode() not in path.read_bytes()


def check_file(path: Path) -> None:
    kind = path.suffix[1:]
    if kind == "parquet":
        table_file(path)
    elif kind == "png":
        picture(path)
    else:
        made = {"html": paged, "svg": paged, "txt": plain, **CHECKS}[kind if kind != "jsonl" else "json"]
        made(path.read_bytes().decode("utf-8"))


def write_all(run: Callable[..., tuple[int, str, str]], place: Path, cases: list[Path]) -> list[Path]:
    """Every file that any command writes about ``cases`` (the last is another setting of the first)."""
    files = []
    for words, names in FILES.items():
        paths: list[object] = list(cases)
        if words[0] == "baseline":
            paths = [cases[0]] * 3
        elif words[0] == "sweep":
            paths = [cases[0], cases[-1]]
        elif words[0] == "compare":
            paths = ["--before", cases[0], "--after", cases[-1]]
        outputs = [place / name for name in names]
        code, out, err = run(*words, *(w for o in outputs for w in ("-o", o)), "--force", *paths)
        assert code == 0, (words, err)
        plain(out)
        plain(err)
        files += outputs
        for path in outputs:
            assert path.exists()
            check_file(path)
    return files


@pytest.fixture
def planted(tmp_path: Path) -> list[Path]:
    """A folder with a run for each flavour and evil captures, and a second log with another setting."""
    case = hostile.plant(tmp_path / "case", hostile.FLAVOURS["style"])
    (case / "run.log").write_text(hostile.everything(), encoding="utf-8")
    one, other = tmp_path / "one.log", tmp_path / "other.log"
    one.write_text(hostile.log("tame", device=hostile.FLAVOURS["math"]), encoding="utf-8")
    other.write_text(hostile.log("tame", device=hostile.FLAVOURS["style"], rate=50.0), encoding="utf-8")
    return [one, case, other]


def test_what_logs_say_is_inert_in_every_file(
    planted: list[Path], tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    place = tmp_path / "out"
    place.mkdir()
    files = write_all(run, place, planted)
    assert (
        sum(hostile.MARK in p.read_text("utf-8", "replace") for p in files if p.suffix not in (".png", ".parquet")) > 12
    )


@pytest.mark.skipif(os.name == "nt", reason="names that only POSIX systems have")
@pytest.mark.parametrize("name", hostile.NAMES)
def test_file_names_are_inert_everywhere(name: str, tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    try:
        case = folder / hostile.NAMES[name]
        case.write_text(hostile.log("tame"), encoding="utf-8")
    except OSError:
        pytest.skip("this file system refuses the name")
    (folder / ("smi " + hostile.NAMES[name])).write_text(hostile.smi("tame"), encoding="utf-8")
    for words in (["check", folder], ["timeline", folder], ["classify", folder], ["batch", "--no-cache", folder]):
        code, out, err = run(*words)
        assert code == 0, err
        plain(out)
        plain(err)
    if name in ("bytes", "img", "formula"):
        place = tmp_path / "out"
        place.mkdir()
        other = tmp_path / "other.log"
        other.write_text(hostile.log("tame", device="another", rate=50.0), encoding="utf-8")
        write_all(run, place, [case, folder, other])
    evil = hostile.NAMES[name]
    for words in (
        ["classify", folder / ("no " + evil)],
        ["report", case, "-o", case],
        ["plot", case, "-o", f"{case}.doc"],
        ["timeline", case, "-o", case],
        ["batch", folder / "x" / evil],
        ["classify", "--baseline", case, case],
        ["classify", "--config", case, case],
        ["batch", "--manifest", case, folder],
        ["classify", f"--{evil}"],
        ["classify", "-f", evil],
        ["classify", "--as", f"{case}=\x1b[31m<b>", case],
        ["explain", evil],
        ["formats", evil],
        ["record", "--", "/no/" + evil],
    ):
        code, out, err = run(*words)
        assert code == 2, words
        assert err
        plain(out)
        plain(err)


def browse(path: Path) -> tuple[str, str]:
    """DOM after loading, and what the browser's console and network log tell: errors, hosts asked for."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory() as folder:
        net = Path(folder) / "net.json"
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-default-apps", f"--user-data-dir={folder}/profile",
             "--enable-logging=stderr", "--v=0", f"--log-net-log={net}", "--dump-dom", path.as_uri()],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        asked = net.read_text("utf-8", "replace") if net.exists() else ""
    told = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(told + re.findall(r'"[^"]*evil\.example[^"]*"', asked))


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_pages_and_pictures_are_inert_in_a_browser(
    planted: list[Path], tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    one, case, other = planted
    (case / "run.log").write_text(hostile.everything("script", "img", "svg", "attribute", "style", "entity"), "utf-8")
    made = [tmp_path / name for name in ("r.html", "r.svg", "b.html", "s.svg")]
    assert run("report", "--no-redact", case, "-o", made[0], "-o", made[1])[0] == 0
    assert run("batch", "--no-cache", *planted, "-o", made[2])[0] == 0
    assert run("sweep", one, other, "-o", made[3])[0] == 0
    for path in made:
        dom, told = browse(path)
        assert told == "", path.name
        assert hostile.MARK in dom, path.name
        assert "<title>owned" not in dom
        assert 'onerror="' not in re.sub(r">[^<]*<", "><", dom)


def test_text_that_looks_like_a_style_stays_text(planted: list[Path], run: Callable[..., tuple[int, str, str]]) -> None:
    assert run("report", "--no-redact", planted[2], "-o", "a.svg")[0] == 0
    text = Path("a.svg").read_text("utf-8")
    assert "evil.example" in text.replace("</style>", "\0").split("\0", 1)[1]
    assert "evil.example" not in text.split("</style>", 1)[0]

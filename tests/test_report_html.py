"""HTML pages: self-contained, strict policy, accessible, under 1 MB; hostile text stays text in a real browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
import report_builders as build

from loganalyze.reports import html, html_batch, plot
from loganalyze.reports.plot_style import DARK

CASES = (
    "healthy",
    "partial_offload",
    "all_captures",
    "two_gpus",
    "many_requests",
    "oom_at_load",
    "swapping",
    "contention",
)
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
EVIL = (
    "</script></style></svg></title><script>document.title='owned'</script>"
    "<img src=https://evil.example/x onerror=\"document.title='owned'\">"
    "<svg onload=\"document.title='owned'\"> ' onmouseover='x [a](javascript:alert(1)) \x1b[31m \u202e"
)  # fmt: skip


def _rows(n: int) -> list[dict[str, object]]:
    return [
        {"id": f"logs/run{i}.log#1", "engine": "llama.cpp", "version": "b6173", "model": f"m{i % 3}", "quantisation": "Q4_K_M",
         "device": "NVIDIA H200", "prompt_tokens": 230, "output_tokens": 64, "reading_tps": 2000.0 + i,
         "expected_reading_tps": 2900.0, "writing_tps": 20.0 + i % 50, "expected_writing_tps": 70.0, "reading_share": 0.2,
         "vram_peak_mib": 20000.0, "verdict": ["healthy", "swapping", "slow writing"][i % 3], "cause": "as_expected",
         "confidence": "high", "file": f"logs/run{i}.log", "lost_s": float(i % 7), "summary": "A sentence.", "error": None}
        for i in range(n)
    ]  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def _tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(page)
    return parser.tags


@pytest.mark.parametrize("case", CASES)
def test_self_contained_and_small(case: str) -> None:
    page = html.render(getattr(build, case)())
    assert len(page.encode()) < 1_000_000
    tags = _tags(page)
    assert not [
        t
        for t, _ in tags
        if t in ("script", "img", "link", "iframe", "object", "embed", "form", "base", "foreignobject")
    ]
    for tag, attrs in tags:
        assert not [name for name in attrs if name.startswith("on") or name in ("style", "src", "action")], tag
        for name in ("href", "xlink:href"):
            assert (attrs.get(name) or "#").startswith("#"), (tag, attrs)
    assert "url(http" not in page
    assert "@import" not in page


def test_policy_allows_exactly_the_own_style() -> None:
    page = html.render(build.contention())
    policy = next(a["content"] or "" for t, a in _tags(page) if t == "meta" and a.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    assert page.count("<style>") == 1
    digest = base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "script-src" not in policy


@pytest.mark.parametrize("case", CASES)
def test_accessible(case: str) -> None:
    tags = _tags(html.render(getattr(build, case)()))
    names = [tag for tag, _ in tags]
    assert ("html", {"lang": "en"}) in tags
    for landmark in ("header", "main", "footer", "h1", "title"):
        assert names.count(landmark) == 1 or landmark == "title", landmark
    assert names.count("table") == names.count("caption")
    assert all(a.get("scope") for t, a in tags if t == "th")
    assert all(a.get("role") == "img" and a.get("aria-label") for t, a in tags if t == "svg")
    ids = [a["id"] for _, a in tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert all(a["href"] == "#main" or (a["href"] or "")[1:] in ids for t, a in tags if t == "a")


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _contrast(a: str, b: str) -> float:
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_text_contrast_is_aa_in_both_schemes() -> None:
    page = html.render(build.healthy())
    schemes = re.findall(r":root\{([^}]*--bg[^}]*)\}", page)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+):(#\w+)", scheme))
        pairs = [("fg", "bg"), ("mut", "bg"), ("mut", "soft"), ("fg", "soft"), ("link", "bg"), ("bad", "badbg")]
        for front, back in [*pairs, ("warn", "warnbg"), ("ok", "okbg"), ("info", "infobg")]:
            assert _contrast(colours[front], colours[back]) >= 4.5, (front, back)


def test_picture_contrast_in_both_schemes() -> None:
    from loganalyze.reports import plot_style as look

    lines = [*look.GPUS, look.READING, look.WRITING, look.MARK, look.LIMIT, look.CPU, look.DISK]
    assert all(_contrast(colour, look.PAPER) >= 3 for colour in lines)
    assert all(_contrast(DARK[colour], DARK[look.PAPER]) >= 3 for colour in lines)
    for text in (look.INK, look.MUTED, look.MARK):
        assert _contrast(text, look.PAPER) >= 4.5
        assert _contrast(DARK[text], DARK[look.PAPER]) >= 4.5


def test_hostile_text_is_escaped() -> None:
    for page in (
        html.render(build.poisoned(EVIL), False),
        html_batch.page([{**_rows(1)[0], "id": EVIL, "model": EVIL, "error": EVIL}]),
    ):
        tags = _tags(page)
        assert not [t for t, _ in tags if t == "img"]
        assert not [a for _, a in tags if any(name.startswith("on") for name in a)]
        assert "\x1b" not in page
        assert "\u202e" not in page
    drawn = plot.svg(build.poisoned(EVIL))
    assert "<script" not in drawn
    assert "<img" not in drawn


def test_many_runs_stay_small_and_are_counted() -> None:
    runs = []
    for number in range(200):
        run = build.contention().runs[0] if number % 3 else build.partial_offload().runs[0]
        run.id = f"run.log#{number + 1}"
        runs.append(run)
    page = html.render(build.reported(*runs))
    assert len(page.encode()) < 1_000_000
    assert "more runs are not shown here" in page


def test_batch_page_counts_links_and_stays_small() -> None:
    page = html_batch.page(_rows(3000), total=9000, verdicts={"healthy": 6000, "swapping": 3000}, errors=2)
    assert len(page.encode()) < 1_000_000
    assert "9000 runs: 3,000 swapping, 6,000 healthy" in page
    assert "2 files could not be read" in page
    tags = _tags(page)
    ids = {a["id"] for _, a in tags if a.get("id")}
    links = [a["href"] for t, a in tags if t == "a"]
    assert len(links) > 50
    assert all((link or "")[1:] in ids for link in links)
    losses = [float(x) for x in re.findall(r'data-v="([\d.]+)">\d[^<]*s</td>', page)]
    assert losses == sorted(losses, reverse=True)


def test_batch_page_of_few_and_odd_rows() -> None:
    assert "no verdict" in html_batch.page([])
    page = html_batch.page([{"id": "a", "error": "not recognised", "verdict": None}, {"file": "b"}])
    assert "not recognised" in page
    assert "not read" in page
    assert "zebulon" not in html_batch.page([{"id": "/home/zebulon/a.log", "model": "zebulon"}], redact=True)


def _browse(page: str, name: str = "page.html", width: int = 1200, dark: bool = False) -> tuple[str, str]:
    """DOM after loading and the browser's console and network log."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(page, "utf-8")
        net = Path(folder) / "net.json"
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-default-apps", f"--user-data-dir={folder}/profile",
             f"--window-size={width},900", f"--blink-settings=preferredColorScheme={0 if dark else 1}",
             "--enable-logging=stderr", "--v=0", f"--log-net-log={net}", "--dump-dom", path.as_uri()],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        log = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
        text = net.read_text("utf-8", "replace") if net.exists() else ""
    hosts = {
        host for host in re.findall(r'"url":"(https?://[^"]+)"', text) if "google" not in host and "gvt1" not in host
    }
    return done.stdout, log + "".join(sorted(hosts))


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("dark", [False, True])
def test_browser_shows_the_report_without_errors_or_requests(dark: bool) -> None:
    dom, log = _browse(html.render(build.contention()), dark=dark)
    assert log == ""
    assert "Writing falls from 298 to 44 t/s" in dom
    assert "<figure><svg" in dom


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_hostile_text_is_inert_in_the_browser() -> None:
    for page, name in (
        (html.render(build.poisoned(EVIL), False), "a.html"),
        (html_batch.page([{**row, "id": EVIL, "model": EVIL, "summary": EVIL} for row in _rows(3)]), "b.html"),
        (plot.svg(build.poisoned(EVIL)), "c.svg"),
    ):  # fmt: skip
        dom, log = _browse(page, name)
        assert log == "", name
        assert "<title>owned" not in dom, name
        assert "<img" not in dom, name
        assert len(dom) > 1000, name


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_batch_table_sorts_by_its_script_and_works_without() -> None:
    page = html_batch.page(_rows(5))
    dom, log = _browse(page)
    assert log == ""
    assert dom.count("<button") == 13
    probe = (
        "<script>addEventListener('load',()=>{const b=[...document.querySelectorAll('th button')][7];b.click();"
        "document.title=JSON.stringify([...document.querySelectorAll('tbody tr')].map(r=>r.cells[7].dataset.v));});</script>"
    )
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace(
        "</body>", probe + "</body>"
    )
    dom, _ = _browse(open_page)
    title = re.search(r"<title>(.*?)</title>", dom)
    assert title is not None
    values = [float(v) for v in json.loads(title.group(1))]
    assert len(values) == 5
    assert values == sorted(values)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_policy_stops_a_foreign_script() -> None:
    page = html.render(build.healthy()).replace("</main>", "<script>document.title='owned'</script></main>")
    dom, log = _browse(page)
    assert "<title>owned" not in dom
    assert "Content Security Policy" in log

"""Wrappers: every shape, stacks of them, and lines that only look like one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_helpers import lines_of, one, told

from loganalyze.scan import Line, all_lines, open_source
from loganalyze.scan.unwrap import Unwrapper

MESSAGE = b"srv  update_slots: run slots completed"
KERNEL = b"Out of memory: Killed process 4211 (llama-server)"
T0 = 1796076155  # 2026-11-30 22:02:35 UTC, 17:02:35 at -05:00
LOCAL = T0 - 5 * 3600


def read(path: Path, mtime_s: float | None = None) -> tuple[list[Line], str | None]:
    if mtime_s is not None:
        os.utime(path, (mtime_s, mtime_s))
    with open_source(str(path)) as opened:
        return list(all_lines(opened)), opened.source.wrapper


@pytest.mark.parametrize(
    ("name", "epochs", "zone"),
    [
        ("short-precise", [LOCAL + 0.123456, LOCAL + 1.623579, LOCAL + 3.123702], None),
        ("short", [LOCAL, LOCAL + 1, LOCAL + 3], None),
        ("short-iso", [T0, T0 + 1, T0 + 3], "-05:00"),
        ("short-iso-utc", [T0, T0 + 1, T0 + 3], "UTC"),
        ("short-iso-precise", [T0 + 0.123456, T0 + 1.623579, T0 + 3.123702], "-05:00"),
        ("short-full", [LOCAL, LOCAL + 1, LOCAL + 3], "EST"),
        ("short-unix", [T0 + 0.123456, T0 + 1.623579, T0 + 3.123702], "UTC"),
        ("json", [T0 + 0.123456, T0 + 1.623579, T0 + 3.123702], "UTC"),
    ],
)
def test_journals(fixtures: Path, name: str, epochs: list[float], zone: str | None, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes((fixtures / "scan" / f"journalctl-{name}.txt").read_bytes())
    lines, wrapper = read(path, T0 + 60.0)
    assert wrapper == ("journald_json" if name == "json" else "journald")
    assert [x.epoch_s for x in lines] == pytest.approx(epochs, abs=1e-5)
    assert {x.zone for x in lines} == {zone}
    assert lines[0].text == MESSAGE
    assert lines[1].text.startswith(b"prompt eval time =")
    assert lines[2].text.startswith(KERNEL)
    first, last = lines[0].wrap, lines[2].wrap
    assert first is not None
    assert last is not None
    assert (first.host, first.process, first.pid) == ("devbox", "llama-server", 4211)
    assert (last.host, last.process, last.pid) == ("devbox", "kernel", None)


def test_journal_since_boot(fixtures: Path) -> None:
    lines, _ = read(fixtures / "scan" / "journalctl-short-monotonic.txt")
    assert [x.t_s for x in lines] == pytest.approx([90.0, 91.500123, 93.000246])
    assert [x.wrap.process for x in lines if x.wrap] == ["llama-server", "llama-server", "kernel"]


def test_journal_with_units_and_plain(fixtures: Path) -> None:
    lines, _ = read(fixtures / "scan" / "journalctl-with-unit.txt")
    assert [x.wrap.process for x in lines if x.wrap] == ["llama.service"] * 3
    lines, wrapper = read(fixtures / "scan" / "journalctl-cat.txt")
    assert (wrapper, lines[0].text) == (None, MESSAGE)


@pytest.mark.parametrize(
    ("name", "epochs", "zone"),
    [
        ("ts-default", [LOCAL + 101, LOCAL + 101, LOCAL + 102], None),
        ("busybox-ts", [LOCAL + 112, LOCAL + 112, LOCAL + 113], None),
        ("ts-iso", [T0 + 102, T0 + 102, T0 + 103], "-05:00"),
        ("ts-dot-S", [LOCAL + 103.817228, LOCAL + 104.159500, LOCAL + 104.561828], None),
        ("ts-m", [LOCAL + 111.160138, LOCAL + 111.404952, LOCAL + 111.816113], None),
        ("ts-epoch", [T0 + 105.027217, T0 + 105.379485, T0 + 105.780584], "UTC"),
        ("gawk-strftime", [LOCAL + 113, LOCAL + 114, LOCAL + 114], None),
    ],
)
def test_ts_with_wall_time(fixtures: Path, name: str, epochs: list[float], zone: str | None, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes((fixtures / "scan" / f"{name}.txt").read_bytes())
    lines, _ = read(path, T0 + 200.0)
    assert {x.text for x in lines} == {b"2345, 24564, 97"}
    assert [x.epoch_s for x in lines] == pytest.approx(epochs, abs=1e-5)
    assert {x.zone for x in lines} == {zone}


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("ts-s", [0, 0, 0]),
        ("ts-s-dot", [0.000014, 0.308104, 0.709964]),
        ("ts-s-dotT", [0.000024, 0.317343, 0.721121]),
    ],
)
def test_ts_since_start(fixtures: Path, name: str, seconds: list[float]) -> None:
    lines, wrapper = read(fixtures / "scan" / f"{name}.txt")
    assert [x.t_s for x in lines] == pytest.approx(seconds)
    assert ({x.text for x in lines}, wrapper) == ({b"2345, 24564, 97"}, "ts -s")


def test_ts_since_previous_line_is_summed() -> None:
    data = b"0.000024 a\n0.500000 b\n0.250000 c\n0.750000 d\n"
    assert [(x.t_s, x.text) for x in lines_of(data)] == [
        (pytest.approx(0.000024), b"a"),
        (pytest.approx(0.500024), b"b"),
        (pytest.approx(0.750024), b"c"),
        (pytest.approx(1.500024), b"d"),
    ]


def test_stamp_without_year_takes_the_year_before_when_it_would_lie_ahead(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"Dec 31 23:59:59 last\nJan  1 00:00:01 first\n")
    lines, _ = read(path, 1767225700.0)  # 2026-01-01 00:01:40
    assert [x.epoch_s for x in lines] == [1767225599.0, 1767225601.0]
    assert one("Dec 31 23:59:59 last\n").epoch_s is None
    assert one("Dec 31 23:59:59 last\n").stamp == "Dec 31 23:59:59"


def test_compose_and_docker(fixtures: Path) -> None:
    lines, wrapper = read(next((fixtures / "scan").glob("50_*")))
    assert [x.text for x in lines] == [
        b"2024/05/01 12:34:56.786, 22871 MiB, 98 %",
        b"2024/05/01 12:34:57.789, 22871 MiB, 97 %",
    ]
    assert [x.epoch_s for x in lines] == pytest.approx([1714566896.789012, 1714566897.79104], abs=1e-5)
    assert (lines[0].zone, wrapper) == ("UTC", "compose+docker")
    assert lines[0].wrap is not None
    assert lines[0].wrap.container == "gpu-mon-1"


def test_compose_names_without_a_number() -> None:
    data = b"".join(b"llama   | line %d\nmonitor | x\n" % n for n in range(6))
    assert {x.wrap.container for x in lines_of(data) if x.wrap} == {"llama", "monitor"}
    table = b"model | size | t/s\nllama 8B | 4 GiB | 5\nqwen | 3 GiB | 7\nphi | 2 GiB | 9\n"
    assert [x.text for x in lines_of(table)] == table.splitlines()


LLAMA = "slot print_timing: id  3 | task 0 | eval time = 5 ms"


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (f"0.38.239.664 I {LLAMA}", {"t_s": 38.239664, "level": "I"}),
        (f"107.53.446.044 W {LLAMA}", {"t_s": 6473.446044, "level": "W"}),
        (f"\x1b[34m0.00.035.064\x1b[0m \x1b[32mI \x1b[0m{LLAMA}", {"t_s": 0.035064, "level": "I"}),
        (f"\x1b[0m0.00.035.064 E {LLAMA}", {"t_s": 0.035064, "level": "E"}),
        (f"I {LLAMA}", {"level": "I"}),
        (f"[1697000000] {LLAMA}", {"epoch_s": 1697000000.0, "zone": "UTC"}),
        (f"[42027] {LLAMA}", {"port": 42027}),
        (f"[ 8080] {LLAMA}", {"port": 8080}),
        (f"[42027] 2.24.418.070 I {LLAMA}", {"port": 42027, "t_s": 144.41807, "level": "I"}),
        (
            f"2026-07-28T20:08:40.123229-04:00 t0 llama-server[16919]: [42751] 107.53.446.044 I {LLAMA}",
            {
                "epoch_s": 1785283720.123229,
                "zone": "-04:00",
                "host": "t0",
                "pid": 16919,
                "port": 42751,
                "t_s": 6473.446044,
            },
        ),
        (f"2026-11-30T17:02:35-05:00 devbox llama-server[7]: {LLAMA}", {"epoch_s": T0, "zone": "-05:00", "pid": 7}),
        (f"llama-1  | 0.00.035.064 I {LLAMA}", {"container": "llama-1", "t_s": 0.035064}),
        (f"\x1b[33mllama-1  | \x1b[0m{LLAMA}", {"container": "llama-1"}),
        (
            f"[pod/llm-0/server] 2024-05-01T12:34:56.789012345Z {LLAMA}",
            {"container": "pod/llm-0/server", "zone": "UTC"},
        ),
        (f"2024-05-01 14:34:56,789 {LLAMA}", {"epoch_s": 1714574096.789, "zone": None}),
        (f"[2024-12-20 11:02:33 TP0] {LLAMA}", {"tag": "TP0", "epoch_s": 1734692553.0}),
        (f"[2025-09-11 02:50:11.123 DP1 TP0 EP0] {LLAMA}", {"tag": "DP1 TP0 EP0"}),
        (f"(EngineCore_DP0 pid=1) {LLAMA}", {"tag": "EngineCore_DP0 pid=1"}),
        (f"(RayWorkerVllm pid=77, ip=10.0.0.2) {LLAMA}", {"tag": "RayWorkerVllm pid=77, ip=10.0.0.2"}),
        (f"[2026-02-08 17:59:26][INFO][qwen/qwen3-coder] {LLAMA}", {"tag": "qwen/qwen3-coder", "level": "I"}),
        (f"[OLLAMA] 0.00.035.064 I {LLAMA}", {"tag": "OLLAMA", "t_s": 0.035064}),
        (f"[Wed May  1 14:34:56 2024] {LLAMA}", {"epoch_s": 1714574096.0}),
        (f"[   90.000000] {LLAMA}", {"t_s": 90.0}),
        (f"> > Nov 30 17:02:35 host llama-server[4211]: {LLAMA}", {"host": "host", "pid": 4211}),
        (f">> {LLAMA}", {}),
        (f"< {LLAMA}", {}),
        (f"```{LLAMA}", {}),
        (f"`{LLAMA}`", {}),
        (f"{LLAMA}```", {}),
        (f"^C{LLAMA}", {}),
        (f'{{"log":"{LLAMA}\\n","stream":"stderr","time":"2024-05-01T12:34:56.5Z"}}', {"epoch_s": 1714566896.5}),
        (f'{{"type":"log","time":192850,"level":"warn","msg":"{LLAMA}\\n"}}', {"t_s": 0.19285, "level": "W"}),
        (
            f'{{"timestamp":1719846123412,"data":{{"type":"server.log","content":"{LLAMA}"}}}}',
            {"epoch_s": 1719846123.412},
        ),
    ],
)
def test_shapes(data: str, wanted: dict[str, object]) -> None:
    line = one(data + "\n")
    assert line.text.decode() == LLAMA
    for name, value in wanted.items():
        got = getattr(line, name) if name in Line.__slots__ else getattr(line.wrap, name)
        assert got == (pytest.approx(value) if isinstance(value, float) else value), name
    if not {"host", "pid", "port", "container"} & set(wanted):
        assert line.wrap is None


@pytest.mark.parametrize(
    "text",
    [
        "2024/05/01 12:34:56.789, 0, NVIDIA GeForce RTX 4090, 22871 MiB",
        "2024-05-01 12:34:56.789, 0, 5 %",
        "20240501 12:34:56     0   119    59",
        "05-01-2024 14:34:56 RAM 6876/7764MB",
        "06:14:46.000,    0, 0.00, 14.61,    0",
        "17:04:17        all      1.00      2.00",
        "1714566896  1000      4211   12.00  llama-server",
        "1731392941.164959: bus 03, gpu 14.17%",
        "[0] NVIDIA GeForce RTX 4090 | 62'C,  93 % | 22903 / 24564 MB",
        "[   4211]  1000  4211 20309",
        "2026-11-30T17:04:31-05:00",
        "Mon Nov 30 17:04:29 EST 2026",
        "2026-11-30 17:04:31.949056712-05:00",
        "$ ./llama-server -m model.gguf",
        "+ ./llama-bench -m model.gguf",
        "slot print_timing: id  3 | task 0 | n_gen = 137",
        "| model | size |",
        "llama 7B Q4_0 | 3.56 GiB | 6.74 B",
        "INFO [           print_timings] prompt eval time | tid=\"1\" timestamp=1712750031",
        "D 4211 pts/0 sleep",
        "I think this is slow",
        "```",
        "```text",
        "^C",
        " 1  0  12    1448 18193     8",
        "  - CUDA0   : NVIDIA GeForce RTX 3090 (24124 MiB)",
        '{"type":"fit_memory_breakdown","data":{"unit":"MiB"}}',
        '{"type":"log","time":1,"msg":"cut',
        "adjust with `-lv N`",
        ">>> hello",
        "2026-13-45 12:34:56 no date",
        "Feb main: build",
        "1.2.3.4 I am an address",
    ],
)  # fmt: skip
def test_not_a_wrapper(text: str) -> None:
    line = one(text + "\n")
    assert line.str == text
    assert line.wrap is None


@pytest.mark.parametrize(
    ("text", "epoch_s", "zone"),
    [
        ("time=2024-09-02T18:11:05.120+02:00 level=WARN source=memory.go:309 msg=x", 1725293465.12, "+02:00"),
        ('{"tid":"1","timestamp":1712750031,"level":"WARN","msg":"x"}', 1712750031.0, "UTC"),
        ("[GIN] 2024/05/01 - 14:34:56 | 200 |  1.5s", 1714574096.0, None),
        ("2024/01/11 12:00:00 routes.go:930: msg", 1704974400.0, None),
    ],
)
def test_stamps_that_belong_to_the_text(text: str, epoch_s: float, zone: str | None) -> None:
    line = one(text)
    assert (line.str, line.epoch_s, line.zone) == (text, pytest.approx(epoch_s), zone)
    assert line.level in ("W", None)


def test_vllm_stamp(tmp_path: Path) -> None:
    path = tmp_path / "vllm"
    path.write_bytes(b"(EngineCore_DP0 pid=1) INFO 11-30 22:02:35 [loggers.py:111] Engine 000: x\n")
    (line,), _ = read(path, T0 + 60.0)
    assert line.text == b"INFO 11-30 22:02:35 [loggers.py:111] Engine 000: x"
    assert (line.epoch_s, line.level, line.tag) == (T0, "I", "EngineCore_DP0 pid=1")


def test_lm_studio_header_speaks_of_the_next_line() -> None:
    data = b"2026-06-04 13:14:53 [DEBUG]\n 1.31.209.798 I slot x: y\n2026-06-04 13:14:54  [INFO]\n [m] Prompt\n"
    lines = lines_of(data)
    assert [(x.number, x.text.strip(), x.epoch_s) for x in lines] == [
        (2, b"slot x: y", 1780578893.0),
        (4, b"[m] Prompt", 1780578894.0),
    ]
    assert [x.level for x in lines] == ["I", "I"]
    assert lines[0].t_s == pytest.approx(91.209798)


def test_fragments_of_json_messages_are_joined() -> None:
    data = (
        b'{"type":"log","time":1,"level":"info","msg":"prompt eval"}\n{"type":"log","time":2,"level":"cont","msg":" time = "}\n'
        b'{"type":"log","time":2,"level":"cont","msg":"5 ms\\nsecond\\n"}\n{"type":"log","time":3,"level":"none","msg":"tok"}\n'
        b'{"type":"log","time":4,"level":"none","msg":"en"}\n{"type":"x"}\n{"type":"log","time":5,"level":"info","msg":"open"}\n'
    )
    assert [(x.number, x.text) for x in lines_of(data)] == [
        (1, b"prompt eval time = 5 ms"),
        (1, b"second"),
        (4, b"token"),
        (6, b'{"type":"x"}'),
        (7, b"open"),
    ]


def test_pasted_texts() -> None:
    body = ["main: build = 5", "llama_perf: eval time = 1", "total", "x: y", "end: z"]
    numbered = "".join(f"  {n}: {text}\n" for n, text in enumerate(body, 12))
    assert [x.str for x in lines_of(numbered.encode())] == body
    barred = "".join(f"{n:3} | {text}\n" for n, text in enumerate(body, 99))
    assert [x.str for x in lines_of(barred.encode())] == body
    diff = "@@ -1,2 +1,2 @@\n" + "".join(f"+{text}\n-{text}\n" for text in body)
    assert [x.str for x in lines_of(diff.encode())][1:] == [text for text in body for _ in range(2)]
    bullets = "".join(f"- {text}\n" for text in body)
    assert [x.str for x in lines_of(bullets.encode())] == body
    assert one("eval time = **12.5** ms, **40%**").text == b"eval time = 12.5 ms, 40%"
    assert one("    Nov 30 17:02:35 host p[1]: x").text == b"x"


def test_several_wrappers_name_the_source() -> None:
    data = b"".join(b"Nov 30 17:02:%02d h s[1]: 0.00.%03d.000 I slot x: y\n" % (n, n) for n in range(60))
    with open_source(data) as opened:
        lines = list(all_lines(opened))
    assert opened.source.wrapper == "journald+llama"
    assert len({id(x.wrap) for x in lines}) == 1


PARTS = st.sampled_from(
    ["Nov 30 17:02:35 ", "host llama-server[4211]: ", "[42027] ", "0.38.239.664 I ", "12.38.239.664 W ", "llama-1  | ",
     "2024-05-01T12:34:56.789Z ", "2024-05-01T12:34:56.789Z 0.38.239.664 I ",
     "llama-1  | 2024-05-01T12:34:56.5Z 0.38.239.664 I ", "> ", " ", "slot print_timing: id 3 | task 0 | ", "INFO ",
     "time=2024-09-02T18:11:05Z ",
     "I ", "eval time = 5", "{", "[", "]: ", "`", "x-1 ", "Mon ", "task 7-1 | ", "[1697000000] ", "t", "- ", "", "main: "]
)  # fmt: skip


@given(st.lists(st.lists(PARTS, max_size=7).map("".join), max_size=6))
def test_quick_road_equals_slow_road(texts: list[str]) -> None:
    quick, slow = Unwrapper(mtime_s=T0), Unwrapper(mtime_s=T0)
    slow._quick = False
    for number, text in enumerate(texts, 1):
        raw = text.encode().rstrip()
        a, b = quick.line(number, raw), slow.line(number, raw)
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert told(a)[:8] == told(b)[:8]
            assert (a.wrap is None) == (b.wrap is None)
            if a.wrap is not None and b.wrap is not None:
                assert [getattr(a.wrap, n) for n in ("host", "process", "pid", "port", "container")] == [
                    getattr(b.wrap, n) for n in ("host", "process", "pid", "port", "container")
                ]
    quick.wrapper()
    slow.wrapper()
    counted = {k: v for k, v in quick.kinds.items() if v}
    if quick.plain_stamps:
        counted[("llama",)] = counted.get(("llama",), 0) + quick.plain_stamps
    assert counted == slow.kinds


@given(st.binary(max_size=200))
def test_no_text_raises(data: bytes) -> None:
    for prefix in (b"", b'{"type":"log","msg":', b"[", b"Nov 30 17:02:35 ", b"2024-05-01 ", b"time=", b"> "):
        lines_of(b"x\n" + prefix + data)


@pytest.mark.parametrize("name", ["watch-free-redirect.txt", "watch-free-via-script.txt"])
def test_first_frame_of_a_screen(fixtures: Path, name: str) -> None:
    with open_source(str(fixtures / "scan" / name)) as opened:
        texts = [x.text for x in all_lines(opened)]
    assert texts[0].startswith(b"Every 1.0s: free -m")
    assert texts[2].split() == b"total used free shared buff/cache available".split()
    assert texts[3].split()[:2] == [b"Mem:", b"24105"]
    assert texts[4].split() == [b"Swap:", b"0", b"0", b"0"]
    assert any("screen" in note for note in opened.source.notes)


@given(st.binary(max_size=100))
def test_any_screen(data: bytes) -> None:
    lines_of(b"\x1b[2J\x1b[3;9H" + data + b"\x1b[99999;99999Hx\x1b[1;1H")

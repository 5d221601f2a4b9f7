"""Planted secrets and names leave no trace in any published file; what a report needs stays."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import report_builders as build
from hypothesis import given, settings
from hypothesis import strategies as st

from loganalyze.model.records import Event, Evidence
from loganalyze.model.report import Report
from loganalyze.reports import html, issue_md, json_out, plot
from loganalyze.reports.redact import Redactor
from loganalyze.reports.write import write_outputs

# (text as it stands in a log or command, what must not be left of it)
SECRETS: list[tuple[str, str]] = [
    ("load /home/maria.lopez/models/q.gguf", "maria.lopez"),
    ("load /Users/kenji/Library/x.gguf", "kenji"),
    (r"load C:\Users\Bob Smith\models\x.gguf", "Bob Smith"),
    ("load c:/Users/heinrich/x.gguf", "heinrich"),
    (r"load C:\\Users\\svetlana\\x.gguf", "svetlana"),
    ("load /mnt/c/Users/olamide/x.gguf", "olamide"),
    ("load /var/home/priyanka/x.gguf", "priyanka"),
    ("load /run/media/giulia/disk/x.gguf", "giulia"),
    ("cd ~tadeusz/llama", "tadeusz"),
    ("file:///home/xiaoming/log.txt", "xiaoming"),
    ("USER=wolfgang", "wolfgang"),
    ("LOGNAME=ingrid", "ingrid"),
    ("username: fatima_b", "fatima_b"),
    ("chen@gpu-tower-07:~/llama.cpp$ ./llama-cli", "gpu-tower-07"),
    ("chenwei@gpu-tower-09:~/llama.cpp$ ./llama-cli", "chenwei"),
    ("Nov 30 22:20:27 bigrig llama-server[123]: eval time = 3 ms", "bigrig"),
    ("2026-11-30T22:20:27+0100 deepthought42 llama-server[9]: eval time", "deepthought42"),
    ("HOSTNAME=mars-node", "mars-node"),
    ("hostname: titan.example.org", "titan.example.org"),
    ("COMPUTERNAME=DESKTOP-K3J4H5", "DESKTOP-K3J4H5"),
    ("connect to inference.corp.internal now", "inference.corp.internal"),
    ("pull from nas-box.local failed", "nas-box.local"),
    (r"open \\fileserver\share\x.gguf", "fileserver"),
    ("ssh -p 22 jumphost7", "jumphost7"),
    ("--host lab-server-3 --port 8080", "lab-server-3"),
    ("http://ai.smith-family.net:8080/v1", "ai.smith-family.net"),
    ("listening on 192.168.178.42:8080", "192.168.178.42"),
    ("peer 10.11.12.13 closed", "10.11.12.13"),
    ("from 203.0.113.77, 8.8.4.4", "203.0.113.77"),
    ("peer fe80::1ff:fe23:4567:890a%eth0", "fe80::1ff:fe23:4567:890a"),
    ("peer [2001:db8:85a3::8a2e:370:7334]:8080", "2001:db8:85a3::8a2e:370:7334"),
    ("mapped ::ffff:198.51.100.4", "198.51.100.4"),
    ("ether 3c:7c:3f:1a:2b:4d", "3c:7c:3f:1a:2b:4d"),
    ("ether 3C-7C-3F-1A-2B-4E", "3C-7C-3F-1A-2B-4E"),
    ("mail john.doe+llm@example.co.uk please", "john.doe+llm@example.co.uk"),
    ("mail büro@müller.example", "büro@müller.example"),
    ("key AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("token ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_16C7e42F"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwx", "github_pat_11ABC"),
    ("glpat-aBcDeFgHiJkLmNoPqRsT", "glpat-aBcDeF"),
    ("HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123", "hf_AbCdEf"),
    ("--hf-token hf_ZyXwVuTsRqPoNmLkJiHgFeDcBa", "hf_ZyXw"),
    ("OPENAI_API_KEY=sk-proj-abc123DEF456ghi789JKL", "sk-proj-abc123"),
    ("key sk-ant-api03-AbCdEf_GhIjKl-MnOpQr", "sk-ant-api03"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA12345"),
    ("xoxb-123456789012-abcdefGHIJKL", "xoxb-123456789012"),
    ("Authorization: Bearer abcdef.123456-ghijkl", "abcdef.123456"),
    ("authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNz"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "eyJhbGci"),
    ("--api-key my-very-own-key-77", "my-very-own-key-77"),
    ('"api_key": "zq81-secret-value"', "zq81-secret-value"),
    ("password=Tr0ub4dor&3", "Tr0ub4dor"),
    ("PASSWD: correcthorse", "correcthorse"),
    ("https://deploy:s3cr3tpw@git.example.com/x.git", "s3cr3tpw"),
    ("https://h.example/x?access_token=qwertyuiop12345&x=1", "qwertyuiop12345"),
    ("-----BEGIN RSA PRIVATE KEY-----MIIEowIBAAKCAQEAx", "MIIEowIBAAKCAQEAx"),
    ("GPU-5a1b2c3d-0000-1111-2222-333344445555", "5a1b2c3d-0000"),
    ("MIG-8f1e2d3c-aaaa-bbbb-cccc-ddddeeeeffff", "8f1e2d3c-aaaa"),
    ("    Serial Number                         : 1652823010214", "1652823010214"),
    ("./llama-cli -m m.gguf -p 'My aunt Petunia owes me money' -n 64", "Petunia"),
    ('./llama-cli --prompt "The merger closes Friday" -n 8', "merger"),
    ("./llama-cli -m m.gguf -p Tell me about Atlantis -n 8", "Atlantis"),
    ('{"prompt": "Dear diary, today I stole", "n_predict": 5}', "diary"),
    ('"messages":[{"role":"user","content":"my salary is 70k"}]', "salary"),
    ("<|im_start|>user\\nI feel unwell<|im_end|>", "unwell"),
    ("S-1-5-21-3623811015-3361044348-30300820-1013", "3623811015"),
]

KEPT = [
    "+ ./llama-completion -m /models/m27.gguf -ngl 99 -c 8192 -f prompts/p220.txt -n 256 --temp 0",
    "llama-bench -m m.gguf -p 512 -n 128 -r 5",
    "0.02.118.105 I llama_completion: llama backend init",
    "12.34.123.105 I slot print_timing: id  0 | task 4 | n_decoded = 100, tg = 30.1 t/s",
    "common_perf_print: prompt eval time =      92.70 ms /   230 tokens (    0.40 ms per token,  2481.26 tokens per second)",
    "llama_model_loader: - kv  12: tokenizer.ggml.eos_token_id u32 = 2",
    "print_info: EOS token        = 151645 '<|im_end|>'",
    "general.name str = Meta-Llama-3-70B-Instruct-Q4_K_M-00001-of-00003",
    "load_tensors: offloaded 20/65 layers to GPU",
    "load_tensors:   CPU_Mapped model buffer size = 18100.00 MiB",
    "system_info: n_threads = 32 (n_threads_batch = 32) / 32 | CUDA : ARCHS = 900 | USE_GRAPHS = 1",
    "main: server is listening on http://127.0.0.1:8080",
    "ggml_cuda_init: found 1 CUDA devices: Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9",
    "reading 139 tokens takes 30 ms, 0 % of request time; long output: writing 3,000 tokens",
    "2026-11-30 22:20:27 build: 6173 (a094f38) with gcc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu",
    "https://huggingface.co/Qwen/Qwen3-27B-GGUF",
    "prefill on host: reading is 7 times as fast as writing",
]


@pytest.mark.parametrize(("planted", "secret"), SECRETS)
def test_every_planted_secret_goes(planted: str, secret: str) -> None:
    redactor = Redactor()
    out = redactor.text(planted)
    assert secret.lower() not in out.lower()
    assert redactor.removed


@pytest.mark.parametrize("line", KEPT)
def test_what_a_report_needs_stays(line: str) -> None:
    redactor = Redactor()
    assert redactor.text(line) == line
    assert redactor.removed == []


def _planted_report(planted: list[str]) -> Report:
    report = build.all_captures()
    run = report.runs[0]
    judged = run.judgement
    assert judged is not None
    assert run.source is not None
    everything = " ;; ".join(planted)
    run.setup.command = everything
    run.setup.model_name = planted[0]
    judged.ruled_out = planted[:20]
    judged.marks = [(build.T0 + 3.0, build.T0 + 4.0, text) for text in planted[20:24]]
    for number, text in enumerate(planted):
        run.events.append(Event("error", text, "run.log", 100 + number, 1.0))
        judged.findings.append(
            build.Finding(
                "partial_offload", "swapping", "critical", text=f"see {text}",
                evidence=[Evidence("run.log", 100 + number, text)],
            )
        )  # fmt: skip
    judged.summary = f"It runs on {planted[5]}"
    return Report.of(report.reading)


def test_no_secret_in_any_file(tmp_path: Path) -> None:
    report = _planted_report([planted for planted, _ in SECRETS])
    names = [str(tmp_path / name) for name in ("issue.md", "report.html", "plot.svg", "plot.png", "report.json")]
    lines = write_outputs(report, names[:-1]) + write_outputs(report, names[-1:], redact=True)
    assert any("removed:" in line for line in lines)
    for name in [*names, str(tmp_path / "issue.png")]:
        made = Path(name).read_bytes().decode("utf-8", "ignore").lower()
        left = [secret for _, secret in SECRETS if secret.lower() in made]
        assert left == [], name


def test_names_go_wherever_they_stand_once_known() -> None:
    report = _planted_report(["/home/zebulon/x.gguf", "lost contact with zebulon today"] + ["x"] * 30)
    assert "zebulon" not in issue_md.render(report).lower()
    assert "zebulon" not in html.render(report).lower()
    assert "zebulon" not in json_out.render(report, redact=True).lower()
    assert "zebulon" not in plot.svg(report, Redactor(["zebulon"])).lower()


def test_no_redact_keeps_all(tmp_path: Path) -> None:
    report = _planted_report(["/home/zebulon/x.gguf"] + ["x"] * 30)
    write_outputs(report, [tmp_path / "a.md"], redact=False)
    assert "zebulon" in (tmp_path / "a.md").read_text()


def test_same_secret_same_placeholder_and_idempotent() -> None:
    redactor = Redactor()
    out = redactor.text("10.1.2.3 and 10.1.2.3 and 10.1.2.4")
    assert out == "[ip-1] and [ip-1] and [ip-2]"
    assert redactor.text(out) == out
    assert redactor.summary() == "3 ips"


WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=5, max_size=12).map(lambda w: f"zq{w}")
TOKEN = st.text("ABCDEFabcdef0123456789", min_size=24, max_size=40)
OPEN = ("127.0.0.1", "0.0.0.0", "255.255.255.255")
FRAME = st.sampled_from(
    [
        "{}",
        "error: {}",
        "{} failed",
        'x="{}"',
        "({})",
        "llama_model_load: {} ok",
        "0.00.429.329 I srv: {}",
        "> {}",
        "a,{},b",
    ]
)
PLANT = st.one_of(
    WORD.map(lambda w: (f"/home/{w}/m.gguf", w)),
    WORD.map(lambda w: (f"C:\\Users\\{w}\\m.gguf", w)),
    WORD.map(lambda w: (f"{w}@example.com", w)),
    TOKEN.map(lambda t: (f"hf_{t}", t)),
    TOKEN.map(lambda t: (f"ghp_{t}", t)),
    TOKEN.map(lambda t: (f"sk-{t}", t)),
    TOKEN.map(lambda t: (f"Bearer {t}1", t)),
    TOKEN.map(lambda t: (f"api_key={t}", t)),
    TOKEN.map(lambda t: (f"https://u:{t}@h.example/", t)),
    st.ip_addresses(v=4).filter(lambda a: str(a) not in OPEN).map(lambda a: (str(a), str(a))),
    st.ip_addresses(v=6).filter(lambda a: str(a).count(":") > 3 and "." not in str(a)).map(lambda a: (str(a), str(a))),
    st.uuids().map(lambda u: (f"GPU-{u}", str(u))),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(FRAME, PLANT)
def test_planted_by_chance(frame: str, plant: tuple[str, str]) -> None:
    text, secret = plant
    assert secret.lower() not in Redactor().text(frame.format(text)).lower()


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    redactor = Redactor()
    redactor.text(redactor.text(text))


BOMBS = [
    "a" * 100_000, "a." * 50_000, "A_" * 50_000, ":" * 100_000, "1." * 50_000, "/home/" * 20_000, "a@" * 50_000,
    "-p " * 30_000, '"' * 100_000, "\\" * 100_000, "api_key" * 15_000, "x-" * 50_000, " " * 100_000, "0:" * 50_000,
    "ssh -a " * 15_000, "prompt: '" * 12_000, "eyJ" * 30_000, "eyJaaaaa." * 11_000, "AAAA/" * 20_000, "a://" * 25_000,
    "basic " * 20_000, "serial " * 15_000, "<user>" * 15_000, "Bearer " + "a" * 100_000, "host=" * 20_000, "a1" * 50_000,
    "user:" * 20_000, "user: " * 16_000, "-p a " * 20_000, "-p '" * 25_000, 'content:"' * 11_000, "a_b-" * 25_000,
    "-----BEGIN PRIVATE KEY-----" * 4_000,
]  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb[:12])
def test_time_is_linear(bomb: str) -> None:
    began = time.perf_counter()
    Redactor().text(bomb)
    assert time.perf_counter() - began < 4

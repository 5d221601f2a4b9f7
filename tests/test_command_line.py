"""Command lines: words, options and their many spellings, what is kept and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_lines import read
from log_helpers import read_text

from loganalyze.formats.command_flags import ALIASES, canonical, env_flag
from loganalyze.formats.command_line import parse, split, strip_prompt
from loganalyze.formats.command_setup import apply
from loganalyze.model.records import Run, Setup


def setup_of(text: str) -> Setup:
    command = parse(strip_prompt(text)[0])
    assert command is not None
    setup = Setup()
    apply(command, setup)
    return setup


def one(text: str) -> Run:
    runs, _ = read_text(text)
    assert len(runs) == 1
    return runs[0]


def test_traced_command() -> None:
    run = one(
        "+ ./llama-completion -m /models/m27.gguf -ngl 20 -c 8192 -b 64 -ub 16 -t 16 -f p.txt -n 64 -fit off "
        "--log-timestamps -no-cnv --temp 0 --seed 1\n"
    )
    setup = run.setup
    assert (setup.n_gpu_layers, setup.n_ctx, setup.n_batch, setup.n_ubatch) == (20, 8192, 64, 16)
    assert (setup.n_threads, setup.n_predict, setup.temperature) == (16, 64, 0.0)
    assert setup.model_path == "/models/m27.gguf"
    assert setup.command is not None
    assert setup.command.startswith("./llama-completion -m")
    assert setup.flags["fit"] == "off"
    assert setup.flags["no-conversation"] == ""
    assert run.facts["program"] == "llama-completion"
    assert run.engine == "llama.cpp"


def test_spellings_of_one_option() -> None:
    for flag in ("-ngl 99", "--gpu-layers 99", "--n-gpu-layers 99", "--n_gpu_layers 99", "--n-gpu-layers=99"):
        assert setup_of(f"./llama-server -m a.gguf {flag}").n_gpu_layers == 99
    assert setup_of("./llama-server -m a.gguf -ngl all").n_gpu_layers is None
    assert canonical("-ctk") == canonical("--cache-type-k") == "cache-type-k"


def test_no_spelling_stands_for_two_options() -> None:
    spellings = [spelling for name, others in ALIASES.items() for spelling in (name, *others.split())]
    assert len(spellings) == len(set(spellings))


def test_cache_and_placement() -> None:
    setup = setup_of(
        r"$ ./llama-server -m m.gguf -fa -ctk q8_0 -ctv q4_0 -nkvo --no-mmap -sm row -np 4 -ot '\.ffn_.*_exps\.=CPU' "
        "-ot blk.1=CUDA1 --n-cpu-moe 24 -md draft.gguf"
    )
    assert (setup.flash_attn, setup.type_k, setup.type_v, setup.kv_offload) == ("on", "q8_0", "q4_0", False)
    assert (setup.mmap, setup.split_mode, setup.n_parallel, setup.draft_model) == (False, "row", 4, "draft.gguf")
    assert setup.tensor_overrides == [
        r"\.ffn_.*_exps\.=CPU",
        "blk.1=CUDA1",
        "exps of the first 24 layers=CPU",
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("-fa on", "on"),
        ("-fa off", "off"),
        ("-fa auto", "auto"),
        ("-fa -c 5", "on"),
        ("--flash-attn 1", "on"),
        ("", None),
    ],
)
def test_flash_attention_with_and_without_a_value(flags: str, expected: str | None) -> None:
    assert setup_of(f"./llama-cli -m a.gguf {flags}").flash_attn == expected


def test_environment() -> None:
    setup = setup_of(
        "$ CUDA_VISIBLE_DEVICES=0,1 LLAMA_ARG_CTX_SIZE=4096 LLAMA_ARG_N_GPU_LAYERS=5 ./llama-server -ngl 9 -m a.gguf"
    )
    assert setup.env["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert (setup.n_ctx, setup.n_gpu_layers) == (4096, 9)
    assert env_flag("LLAMA_ARG_UBATCH") == "ubatch-size"
    assert env_flag("PATH") is None


def test_prompts_and_secrets_are_not_kept() -> None:
    run = one(
        "$ HF_TOKEN=hf_abc ./llama-cli -m a.gguf -p \"Tell me about -ngl 5 and 'Anna'\" --api-key sk-1 --hf-token=hf_x "
        "--system-prompt 'You are Bob' -ngl 3\n"
    )
    kept = repr(run.setup) + repr(run.events) + repr(run.facts)
    for secret in ("Anna", "Bob", "hf_abc", "hf_x", "sk-1"):
        assert secret not in kept
    assert run.setup.n_gpu_layers == 3
    assert run.setup.command is not None
    assert "-p …" in run.setup.command


def test_marks_of_a_template_in_quotes_end_no_command() -> None:
    command = parse('./llama-cli -m a.gguf -p "<|user|> Hi <|end|>" -ngl 99 2>&1 | tee run.log')
    assert command is not None
    assert command.flags["n-gpu-layers"] == "99"
    assert command.text == "./llama-cli -m a.gguf -p … -ngl 99"


def test_windows() -> None:
    run = one('PS C:\\llama> .\\llama-cli.exe -m "C:\\my models\\Qwen3-8B-Q4_K_M.gguf" -ngl 99 -fa on -n -1\n')
    assert run.setup.model_path == "C:\\my models\\Qwen3-8B-Q4_K_M.gguf"
    assert (run.setup.quant, run.setup.n_predict) == ("Q4_K_M", -1)
    assert setup_of(r"C:\llama>llama-server.exe -m D:\m\a.gguf -c 4096").model_path == r"D:\m\a.gguf"


def test_wrapped_in_a_shell() -> None:
    run = one(
        "+ bash -c 'echo $$ > /sys/fs/cgroup/limited/cgroup.procs; exec \"$@\"' x ./llama-completion -m /models/m8.gguf "
        "--load-mode none -ngl 0 -dev none -c 2048\n"
    )
    assert (run.setup.mmap, run.setup.n_ctx, run.setup.n_gpu_layers) == (False, 2048, 0)
    assert run.facts["device_none"] is True
    assert run.backend == "CPU"
    assert setup_of('bash -c "./llama-server -m a.gguf -c 4096"').n_ctx == 4096


def test_container_options_are_not_the_server_s() -> None:
    setup = setup_of(
        "docker run --gpus all -p 8080:8080 -m 16g --name llama-server -v /srv/models:/models "
        "ghcr.io/ggml-org/llama.cpp:server-cuda -m /models/x-IQ4_XS.gguf -c 512"
    )
    assert (setup.model_path, setup.quant, setup.n_ctx) == ("/models/x-IQ4_XS.gguf", "IQ4_XS", 512)


def test_relatives() -> None:
    run = one("python koboldcpp.py --model x.Q5_K_M.gguf --gpulayers 20 --contextsize 8192 --threads 8\n")
    assert (run.engine, run.setup.n_gpu_layers, run.setup.n_ctx, run.setup.quant) == ("koboldcpp", 20, 8192, "Q5_K_M")
    run = one("python3 -m llama_cpp.server --model m.gguf --n_gpu_layers 35 --n_ctx 8192\n")
    assert (run.engine, run.setup.n_gpu_layers, run.setup.n_ctx) == ("llama-cpp-python", 35, 8192)


def test_bench_lists_are_no_single_figure() -> None:
    setup = setup_of("./llama-bench -m a.gguf -p 512,1024 -n 128 -ngl 99,0 -fa 0,1")
    assert setup.flags["n-prompt"] == "512,1024"
    assert setup.n_gpu_layers is None
    assert setup.flash_attn is None


def test_pipes_and_redirections_are_not_part_of_the_command() -> None:
    for tail in ("2>&1 | tee run.log", "> out.txt 2> err.txt", "&& echo done", "; ls", "2>err.txt", "&"):
        assert setup_of(f"$ ./llama-server -m a.gguf --jinja {tail}").command == "./llama-server -m a.gguf --jinja"
    assert setup_of("$ ./llama-server -m a.gguf -t 2 2>&1").n_threads == 2


@pytest.mark.parametrize("mark", ["\\", "`", "^"])
def test_continued_lines(mark: str) -> None:
    program = ".\\llama-server.exe" if mark != "\\" else "./llama-server"
    run = one(
        f"$ {program} {mark}\n    -m /models/a-Q4_0.gguf {mark}\n  --metrics {mark}\n\t-ngl 33 {mark}\n  --ctx-size 4096\n-ngl 1\n"
    )
    assert (run.setup.model_path, run.setup.n_gpu_layers, run.setup.n_ctx) == ("/models/a-Q4_0.gguf", 33, 4096)


def test_each_prompted_command_begins_a_run() -> None:
    buffer = "load_tensors:        CUDA0 model buffer size =    30.12 MiB\n"
    state = read(f"$ ./llama-cli -m a.gguf -ngl 1\n{buffer}$ ./llama-cli -m a.gguf -ngl 2\n{buffer}")
    assert [run.setup.n_gpu_layers for run in state.runs] == [1, 2]


def test_command_under_its_log() -> None:
    buffer = "load_tensors:        CUDA0 model buffer size =    30.12 MiB\n"
    run = one(f"{buffer}./build/bin/llama-server -m a.gguf -ngl 7\n")
    assert run.setup.n_gpu_layers == 7
    failed = "llama_model_load: error loading model: x\n"
    assert [r.setup.n_gpu_layers for r in read(f"{buffer}{failed}$ ./llama-server -m a.gguf -ngl 7\n").runs] == [7]


@pytest.mark.parametrize(
    "line",
    [
        "srv    load_model: use llama-server --no-mmap",
        'time=2026-06-01T10:00:00Z level=INFO msg="starting llama-server" cmd="/usr/lib/llama-server -m x -ngl 5"',
        "-ngl 99",
        "ls -la /opt/llama-server/x",
        "./llama-cli -m m.gguf  421.00s user 3.21s system 680% cpu 1:02.34 total",
    ],
)
def test_lines_that_are_no_command(line: str) -> None:
    assert all(run.setup.command is None for run in read(line + "\n").runs)


def test_log_outranks_the_command() -> None:
    run = one(
        "$ ./llama-server -m a.gguf -c 8192 -t 99\nllama_context: n_ctx         = 4096\n"
        "system_info: n_threads = 8 / 16 | AVX = 1 | \n"
    )
    assert (run.setup.n_ctx, run.setup.n_threads) == (4096, 8)


@given(st.text(max_size=300))
def test_any_text_is_split_and_parsed(text: str) -> None:
    words = split(text)
    assert all(0 <= word.start < word.end <= len(text) for word in words)
    for candidate in (text, f"$ ./llama-server -m {text}"):
        stripped, _ = strip_prompt(candidate)
        command = parse(stripped)
        if command is not None:
            apply(command, Setup())

"""Read a command line as it stands in a log: what was started, with which options.

``parse`` understands shells' quoting (also Windows paths), environment assignments, wrappers (``sudo``, ``time``,
``numactl``, ``bash -c '...' x PROGRAM``), containers (``docker run IMAGE -m ...``), Python modules and pipelines.
``apply`` fills a ``Setup``. Prompts and secrets are not kept.
"""

from __future__ import annotations

import re
from itertools import pairwise

from loganalyze.formats.command_flags import BARE, HIDDEN, OPTIONAL, PRIVATE, canonical, env_flag, is_secret, words
from loganalyze.light import dataclass, field, lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_COMMAND = 32_768  # the longest command line of Windows; a longer one is no command
# Prompts of shells, xtrace, PowerShell, cmd, users' own ("user@host:~/dir$ ").
_PROMPT = lazy_pattern(
    r"\s*(?:(?:PS\s+)?[A-Za-z]:\\[^>\n]{0,200}>\s*"
    r"|(?:\([\w.-]{1,60}\)\s*)?(?:PS\s+)?(?:[\w.-]{1,80}@[\w.-]{1,80}[^$#%>\n]{0,200}|~?[\w/.~-]{0,80})?\s?[$#%>❯➜]\s+"
    r"|\++\s+)"
)
_TOKEN = lazy_pattern(r"""(?<!\S)\d?[<>]+&?\d?|(?:\\[ "'|&;<>]|[^\s"'|&;<>]|"(?:[^"\\]|\\.)*"?|'[^']*'?)+|[|&;<>]+""")
_PART = lazy_pattern(r""""((?:[^"\\]|\\.)*)"?|'([^']*)'?|\\([ "'|&;<>$\\])|([^"'\\]+|\\)""")
_QUOTED = lazy_pattern(r"""["'\\]""")
_ASSIGN = lazy_pattern(r"(?:\$env:)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_LLAMA = lazy_pattern(r"llama-(?!cpp)[a-z0-9-]+|(?:ik_)?llama-server[\w.-]*")
_OLD = frozenset(("main", "server", "perplexity", "batched-bench", "speculative", "llava-cli", "llama", "koboldcpp"))
# Programs that start another one.
_WRAPPERS = words(
    "sudo doas time nice ionice numactl taskset env nohup stdbuf exec bash sh zsh docker podman nerdctl python python3 "
    "py start cmd perf strace systemd-run chrt srun set export cd & mangohud prime-run setarch timeout unbuffer script"
)
_IMAGE = lazy_pattern(r"(?>\S*?(?:llama[._-]?cpp|llama-server|koboldcpp))\S*$")
_NUMBER = lazy_pattern(r"-\d+(?:\.\d+)?$")
_REDIRECT = lazy_pattern(r"\d?[<>|&;]")


@dataclass(slots=True)
class Token:
    """One word with its quotes taken off, and where it stood."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class Command:
    """``program`` is the base name without ``.exe``; ``options`` in order, canonical names, ``""`` for bare ones."""

    program: str
    text: str
    env: dict[str, str] = field(default_factory=dict)
    options: list[tuple[str, str]] = field(default_factory=list)

    def last(self, name: str) -> str | None:
        """Value of the last use of an option."""
        return next((value for option, value in reversed(self.options) if option == name), None)

    @property
    def flags(self) -> dict[str, str]:
        """Options by name; values of a repeated one are joined with a comma."""
        found: dict[str, str] = {}
        for name, value in self.options:
            found[name] = f"{found[name]},{value}" if found.get(name) and value and name in _REPEATED else value
        return found


_REPEATED = ("override-tensor", "lora", "device")


def strip_prompt(text: str) -> tuple[str, bool]:
    """``text`` without a shell prompt in front, and whether there was one."""
    found = _PROMPT.match(text)
    return (text[found.end() :], True) if found else (text.strip(), False)


def split(text: str) -> list[Token]:
    """Words of a command line. Backslashes stay unless they escape a blank, quote or operator."""
    return [Token(_plain(match.group()), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def _plain(word: str) -> str:
    if not _QUOTED.search(word):
        return word
    parts: list[str] = []
    for double, single, escaped, bare in (match.groups("") for match in _PART.finditer(word)):
        parts.append(re.sub(r'\\(["\\$`])', r"\1", double) if double and ":\\" not in double else double)
        parts += [single, escaped, bare]
    return "".join(parts)


def base_name(path: str) -> str:
    """Program name of a path: no folder, no ``.exe``."""
    name = path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name[:-4] if name.lower().endswith(".exe") else name


def parse(text: str, *, loose: bool = False) -> Command | None:
    """The llama.cpp (or relative's) command in ``text``; None when there is none.

    With ``loose`` a bare old name (``main``, ``server``) is believed even without a path in front.
    """
    text = text[:MAX_COMMAND]
    tokens = split(text)
    env: dict[str, str] = {}
    at = _find_program(tokens, env, loose)
    if at is None:
        return _inside_quotes(tokens, loose)
    program = _program(tokens[at].text)
    command = Command(program, "", env)
    hidden, end = _options(tokens[at + 1 :], command, tokens[at].end)
    start = _start(tokens[: at + 1])
    secrets = [token for token in tokens[: at + 1] if _is_secret_assignment(token.text) and token.start >= start]
    command.text = _redact(text[:end], hidden + secrets, start)
    return command


def _start(tokens: list[Token]) -> int:
    """Where the command begins: words of prose in front of the program do not belong to it."""
    first = tokens[0]
    if len(tokens) == 1 or base_name(first.text) in _WRAPPERS or _ASSIGN.fullmatch(first.text):
        return first.start
    return tokens[-1].start


def _program(word: str) -> str:
    if _IMAGE.fullmatch(word) and ":" in word.rsplit("/", 1)[-1]:
        return "llama-server"
    name = base_name(word)
    if name.endswith((".py", ".llamafile")):
        name = name.rsplit(".", 1)[0] if name.endswith(".py") else "llamafile"
    if name.startswith("koboldcpp"):
        return "koboldcpp"
    return {"main": "llama-cli", "server": "llama-server"}.get(name, name)


def _find_program(tokens: list[Token], env: dict[str, str], loose: bool) -> int | None:
    container = False
    for index, token in enumerate(tokens):
        word = token.text
        assigned = _ASSIGN.fullmatch(word)
        if assigned and not word.startswith("-"):
            env[assigned.group(1)] = HIDDEN if is_secret(assigned.group(1)) else assigned.group(2).strip("\"'")
            continue
        name = base_name(word)
        if name in ("docker", "podman", "nerdctl"):
            container = True
        elif _is_program(word, name, loose) and not _is_value(tokens, index):
            return index
        elif container and index and _IMAGE.fullmatch(word) and not _is_value(tokens, index):
            # The image's own entry point is the server unless a program follows.
            return index
        elif name == "llama_cpp.server":
            return index
    return None


def _is_program(word: str, name: str, loose: bool) -> bool:
    if _LLAMA.fullmatch(name) or name.endswith(".llamafile") or re.fullmatch(r"koboldcpp[\w.-]*", name):
        return True
    return name in _OLD and (loose or name != word) and not word.startswith("-")


def _is_value(tokens: list[Token], index: int) -> bool:
    """A word after an option that is known to take one (``--name llama-server``, ``-v /srv/llama-models:/m``)."""
    before = tokens[index - 1].text if index else ""
    return before in ("--name", "--hostname", "-v", "--volume", "--network", "-w", "--workdir", "-u", "--user", "-o")


def _inside_quotes(tokens: list[Token], loose: bool) -> Command | None:
    """``bash -c "./llama-server -m ..."``: the command is one quoted word."""
    for before, token in pairwise(tokens):
        if before.text in ("-c", "-lc", "/c", "-Command") and " " in token.text:
            return parse(token.text, loose=loose)
    return None


def _options(tokens: list[Token], command: Command, end: int) -> tuple[list[Token], int]:
    """Read options; gives the words whose text must not be kept, and where the command ends (pipes, redirections)."""
    hidden: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if _ends(token):
            break
        end = token.end
        if not token.text.startswith("-") or len(token.text) < 2:
            continue
        flag, equals, value = token.text.partition("=")
        name = canonical(flag, command.program)
        values = [token] if equals else []
        if not equals and index < len(tokens) and _takes(name, tokens[index]):
            value = tokens[index].text
            values = [tokens[index]]
            index += 1
            end = values[0].end
        if name in PRIVATE and values:
            value = HIDDEN
            hidden += values
        command.options.append((name, value))
    return hidden, end


def _ends(token: Token) -> bool:
    """A pipe or redirection; in quotes (``-p "<|user|> hi"``) it is text."""
    return token.end - token.start == len(token.text) and bool(_REDIRECT.match(token.text))


def _takes(name: str, token: Token) -> bool:
    word = token.text
    if name in OPTIONAL:
        return word in OPTIONAL[name]
    if name in BARE or _ends(token):
        return False
    return not word.startswith("-") or bool(_NUMBER.match(word)) or name in PRIVATE or word == "-"


def _is_secret_assignment(word: str) -> bool:
    found = _ASSIGN.fullmatch(word)
    return found is not None and is_secret(found.group(1))


def _redact(text: str, hidden: Iterable[Token], start: int) -> str:
    for token in sorted(hidden, key=lambda token: -token.start):
        raw = text[token.start : token.end]
        head = raw.partition("=")[0] + "=" if "=" in raw and (raw.startswith("-") or _ASSIGN.match(raw)) else ""
        text = text[: token.start] + head + HIDDEN + text[token.end :]
    return " ".join(text[start:].split())


def merged_flags(command: Command) -> dict[str, str]:
    """Options of the command over those its environment stands for."""
    found: dict[str, str] = {}
    for name, value in command.env.items():
        flag = env_flag(name)
        if flag is not None and flag not in PRIVATE:
            found[flag] = value
    return found | command.flags

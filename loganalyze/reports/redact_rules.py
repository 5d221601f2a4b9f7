"""What is taken out of reports, one rule a kind of secret. Every expression is linear: no nested or overlapping repeats.

A rule is ``(category, expression)``; its group ``hide`` is what goes, or the whole match without such a group.
"""

from __future__ import annotations

import re

_Q = "[\"'`]"
_NAME = r"[A-Za-z0-9_.\-]"
_KEY_WORDS = (
    r"(?:api|access|secret|private|auth|bearer|session|refresh|client|signing|encryption|hf|hub|openai|ssh)[_\-. ]?"
    r"(?:api[_\-. ]?)?(?:access[_\-. ]?)?(?:keys?|tokens?|secrets?|id)"
)

RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("key", re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?")),
    ("login", re.compile(r"(?i)(?<![a-z0-9])[a-z][a-z0-9+.\-]{1,20}://(?P<hide>[^\s/@\"'<>]{1,300})@")),
    ("key", re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_\-]{5,4000}(?:\.[A-Za-z0-9_\-]{0,8000}){1,4}")),
    ("key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,20}(?![A-Za-z0-9])")),
    ("key", re.compile(r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{10,300}")),
    ("key", re.compile(r"(?<![A-Za-z0-9])(?:hf_|api_org_)[A-Za-z0-9]{10,200}")),
    ("key", re.compile(r"(?<![A-Za-z0-9])(?:sk|pk|rk)[\-_][A-Za-z0-9_\-]{12,300}")),
    ("key", re.compile(r"(?<![A-Za-z0-9])(?:glpat|gldt|glrt|xox[a-z]|xapp|npm|pypi|dop_v1|shpat|SG)[\-_.][A-Za-z0-9_.\-]{10,300}")),
    ("key", re.compile(r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_\-]{20,60}")),
    ("key", re.compile(r"(?i)\b(?:bearer|basic)\s{1,4}(?P<hide>(?=[^\s\"']{0,200}[0-9=_\-/+.])[A-Za-z0-9._~+/=\-]{8,4000})")),
    ("key", re.compile(r"(?i)\b(?:proxy-)?authorization\s{0,4}[:=]\s{0,4}" + _Q + r"?(?P<hide>[^\s\"'`][^\"'`\r\n]{0,2000})")),
    ("key", re.compile(
        r"(?i)(?<![A-Za-z0-9])(?:[a-z0-9]{1,30}[_\-]){0,4}(?:" + _KEY_WORDS + r"|apikey|passw(?:or)?d|passphrase|passwd|pwd"
        r"|secret|credentials?)(?:_[a-z0-9]{1,20})?" + _Q + r"{0,2}\s{0,4}(?:[=:]|=>)\s{0,4}"
        + _Q + r"{0,2}(?P<hide>[^\s\"'`,;&)\]}]{3,4000})")),
    ("key", re.compile(
        r"(?i)(?<![\w\-])--?(?:api-key|hf-token|hft|token|password|pass|auth-token|secret|access-token|key)"
        r"(?:=|\s{1,4})" + _Q + r"?(?P<hide>[^\s\"'`]{3,4000})")),
    ("key", re.compile(r"(?<![A-Za-z0-9_])(?:[A-Z0-9]{1,30}_){0,6}(?:TOKEN|SECRET|PASSWORD|PASSWD|KEY|PAT)=(?P<hide>[^\s]{3,4000})")),
    ("key", re.compile(
        r"(?i)[?&](?:token|key|sig|signature|auth|code|password|pass|access_token|api_key|apikey|x-amz-[a-z\-]{1,30})"
        r"=(?P<hide>[^&\s\"'<>#]{1,4000})")),
    ("id", re.compile(r"(?i)(?<![A-Za-z0-9])(?:GPU-|MIG-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])")),
    ("id", re.compile(r"(?i)(?<![A-Za-z0-9])(?:GPU|MIG)-(?P<hide>[0-9a-f]{8}[0-9a-f\-]{0,40})")),
    ("id", re.compile(r"(?i)\b(?:board\s)?serial(?:\s?(?:number|no\.?|#|_number))?" + _Q + r"?\s{0,60}[:=,]?\s{0,60}" + _Q
                      + r"?(?P<hide>(?=[A-Z\-]{0,12}[0-9])[A-Z0-9\-]{6,40})")),
    ("id", re.compile(r"(?<![A-Za-z0-9])S-1-5-21(?:-\d{1,10}){3,5}")),
    ("e-mail", re.compile(r"(?<![\w.%+\-])[\w.%+\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w])")),
    ("mac", re.compile(r"(?i)(?<![0-9a-f:\-])[0-9a-f]{2}(?:[:\-][0-9a-f]{2}){5}(?![0-9a-f:\-])")),
    ("mac", re.compile(r"(?i)(?<![0-9a-f.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![0-9a-f.])")),
    ("text", re.compile(
        r"(?<![\w\-])(?:-p|--prompt|-sys|--system-prompt|-r|--reverse-prompt|--in-prefix|--in-suffix|-j|--json-schema"
        r"|--grammar|--image-prompt)(?:=|\s{1,4})(?P<hide>\"(?:[^\"\\]|\\.){0,100000}\"?|\$?'[^']{0,100000}'?"
        r"|(?![\d\-])[^\s]{1,4000}(?:\s{1,4}(?![\-<>|&])[^\s]{1,4000}){0,400})", re.DOTALL)),
    ("text", re.compile(
        r"(?i)(?<![\w])(?:[\w]{1,30}[_ ])?(?:prompt|content|response|completion|generated_text|output_text|input_text|text)s?"
        + _Q + r"?\s{0,4}[:=]\s{0,4}(?P<hide>\"(?:[^\"\\]|\\.){1,100000}\"?|'[^']{1,100000}'?)", re.DOTALL)),
    ("text", re.compile(r"(?i)\b(?:user|assistant|system|human)\s{0,2}(?:said|wrote|message|input)?\s{0,2}[:>]\s{1,4}(?P<hide>\S[^\r\n]{0,100000})")),
    ("text", re.compile(r"<\|?(?:im_start|start_header_id|user|assistant|system)\|?>(?P<hide>[^<]{1,100000})")),
)  # fmt: skip

HOME = re.compile(
    r"(?i)(?:[a-z]:)?(?:[\\/]{1,4}(?:var|mnt|host_mnt|export|data|nfs|net|usr)(?:[\\/]{1,4}[a-z])?)?"
    r"[\\/]{1,4}(?:home|users|documents and settings|run[\\/]{1,4}media|media)[\\/]{1,4}"
    r"(?P<user>[^\\/\s:;,\"'`<>|()\[\]]{1,64})"
)
HOME_SPACED = re.compile(
    r"(?i)(?:[a-z]:)?[\\/]{1,4}(?:users|documents and settings)\\{1,4}(?P<user>[^\\/:*?\"'<>|\r\n\[]{1,64})(?=\\)"
)
TILDE = re.compile(r"(?<![\w~/])~(?P<user>[A-Za-z][A-Za-z0-9_.\-]{0,31})(?=[/\s:]|$)")
HOST_LOCAL = re.compile(
    r"(?i)(?<![\w.\-])(?P<host>(?:[a-z0-9][a-z0-9\-]{0,62}\.){1,6}(?:local|lan|internal|intra|intranet|corp|home|localdomain|private))"
    r"(?![\w\-])"
)
URL_HOST = re.compile(
    r"(?i)(?<![a-z0-9])[a-z][a-z0-9+.\-]{1,20}://(?:\[[a-z \-0-9]{1,40}\]@)?(?P<host>[^\s/:?#\"'<>\[\]@]{1,253})"
)
SHELL = re.compile(
    r"(?<![\w.%+\-@/])(?P<user>[A-Za-z_][\w.\-]{0,31})@(?P<host>[A-Za-z][A-Za-z0-9\-]{0,62})(?=[:\s~$#\])]|$)"
)
JOURNAL = re.compile(
    r"(?:^|(?<=\s))(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[+\-]\d\d:?\d\d|Z))"
    r"\s(?P<host>[A-Za-z0-9][\w.\-]{0,63})\s(?=[\w./@\-]{1,64}(?:\[\d{1,10}\])?:)"
)
NAMED = re.compile(
    r"(?im)(?<![\w])(?:_HOSTNAME|HOSTNAME|COMPUTERNAME|host ?name|nodename|machine ?name|node ?name|server ?name|(?<=[\"'])host|(?<=^)host|host(?==))"
    + _Q + r"?\s{0,3}[=:]\s{0,3}" + _Q + r"?(?P<host>[A-Za-z][\w.\-]{1,63})(?![\w/\\])"
)  # fmt: skip
NAMED_USER = re.compile(
    r"(?<![\w])(?:USER|LOGNAME|USERNAME|SUDO_USER|user ?name|username|login|logged in as|owner)"
    + _Q + r"?\s{0,3}[=:]?\s{0,3}" + _Q + r"?(?<=[=:\s\"'`])(?P<user>[A-Za-z_][\w.\-]{1,31})(?![\w/\\])"
)  # fmt: skip
HOST_OPTION = re.compile(r"(?<![\w\-])--?(?:host|hostname|rpc)(?:=|\s{1,4})(?P<host>[A-Za-z][\w.\-]{0,63})(?=[:\s,]|$)")
UNC = re.compile(r"(?<![\w\\/:])\\\\(?P<host>[A-Za-z0-9][\w.\-]{0,63})\\")
SSH = re.compile(
    r"(?<![\w])(?:ssh|scp|rsync)\s(?:-\S{1,40}\s(?:\d{1,6}\s)?){0,6}(?P<host>[A-Za-z][\w.\-]{0,63})(?=[:\s]|$)"
)
IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]|\.\d)")
STAMP = re.compile(r"\d{1,3}\.\d\d\.\d{3}\.\d{3} [A-Z] ")
IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,45}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])")
RANDOM = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{32,400}={0,2}(?![A-Za-z0-9+/=])")

COMMON = frozenset(
    [
        "root",
        "user",
        "users",
        "admin",
        "ubuntu",
        "debian",
        "fedora",
        "llama",
        "ollama",
        "model",
        "models",
        "server",
        "client",
        "runner",
        "default",
        "guest",
        "public",
        "shared",
        "docker",
        "app",
        "main",
        "test",
        "build",
        "data",
        "home",
        "media",
        "local",
        "localhost",
        "gpu",
        "cuda",
        "cpu",
        "host",
        "node",
        "none",
        "null",
        "true",
        "false",
        "worker",
        "master",
        "info",
        "error",
        "warning",
        "system",
        "python",
        "nvidia",
        "loading",
        "linux",
        "windows",
        "name",
        "git",
        "www",
        "nobody",
        "opc",
        "pi",
        "and",
        "the",
        "for",
        "with",
        "from",
        "that",
        "this",
        "not",
        "all",
        "one",
        "two",
        "read",
        "run",
        "time",
        "reading",
        "writing",
        "memory",
        "load",
        "swap",
    ]
)
"""Names that are words: hidden where they stand as a name, not wherever else they occur."""

PUBLIC_HOSTS = frozenset({"localhost", "huggingface.co", "hf.co", "github.com", "ollama.com", "registry.ollama.ai"})
"""Hosts that tell nothing about who wrote the log."""

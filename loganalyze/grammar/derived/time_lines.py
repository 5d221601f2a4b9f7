# Derived from grammars/time_lines.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

# name, pattern, fields, literals, anywhere, heads, since, until
RULES: tuple[Any, ...] = (
    (
        'posix_user',
        '[ \\t]*+user[ \\t]*+(?P<user>(?>\\d+(?:[.,]\\d+)?(?!\\S)))[ \\t]*+\\Z',
        (('user', 'user', 'decimal'),),
        (b'user ',),
        False,
        (),
        'POSIX `time -p`',
        None,
    ),
    (
        'posix_sys',
        '[ \\t]*+sys[ \\t]*+(?P<system>(?>\\d+(?:[.,]\\d+)?(?!\\S)))[ \\t]*+\\Z',
        (('system', 'system', 'decimal'),),
        (b'sys ',),
        False,
        (),
        None,
        None,
    ),
    (
        'timeformat',
        '[ \\t]*+(?P<seconds>(?>\\d+(?:[.,]\\d+)?(?!\\S)))[ \\t]*+(?P<user>(?>\\d+(?:[.,]\\d+)?(?!\\S)))[ \\t]*+(?P<system>(?>\\d+(?:[.,]\\d+)?(?!\\S)))[ \\t]*+(?P<percent>(?>\\d+(?:[.,]\\d+)?(?!\\S)))[ \\t]*+\\Z',
        (('seconds', 'seconds', 'decimal'), ('user', 'user', 'decimal'), ('system', 'system', 'decimal'), ('percent', 'percent', 'decimal')),
        (b'.',),
        False,
        (),
        "bash with TIMEFORMAT='%R %U %S %P'",
        None,
    ),
)

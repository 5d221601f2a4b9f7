# Derived from grammars/time_lines.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

RULES: tuple[dict[str, Any], ...] = (
    {
        'name': 'posix_user',
        'pattern': '[ \\t]*+user[ \\t]*+(?P<user>(?>\\d{1,9}(?:[.,]\\d{1,9})?))[ \\t]*+\\Z',
        'fields': (('user', 'user', 'decimal'),),
        'literals': (b'user ',),
        'anywhere': False,
        'heads': (),
        'since': 'POSIX `time -p`',
        'until': None,
    },
    {
        'name': 'posix_sys',
        'pattern': '[ \\t]*+sys[ \\t]*+(?P<system>(?>\\d{1,9}(?:[.,]\\d{1,9})?))[ \\t]*+\\Z',
        'fields': (('system', 'system', 'decimal'),),
        'literals': (b'sys ',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'timeformat',
        'pattern': '[ \\t]*+(?P<seconds>(?>\\d{1,9}(?:[.,]\\d{1,9})?))[ \\t]*+(?P<user>(?>\\d{1,9}(?:[.,]\\d{1,9})?))[ \\t]*+(?P<system>(?>\\d{1,9}(?:[.,]\\d{1,9})?))[ \\t]*+(?P<percent>(?>\\d{1,9}(?:[.,]\\d{1,9})?))[ \\t]*+\\Z',
        'fields': (('seconds', 'seconds', 'decimal'), ('user', 'user', 'decimal'), ('system', 'system', 'decimal'), ('percent', 'percent', 'decimal')),
        'literals': (b'.',),
        'anywhere': False,
        'heads': (),
        'since': "bash with TIMEFORMAT='%R %U %S %P'",
        'until': None,
    },
)

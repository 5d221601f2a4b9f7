# Derived from grammars/time_lines.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'posix_user',
        (b'user', ('user', 0)),
        (('user', 'user', 'decimal'),),
        (b'user ',),
        False,
        (),
        'POSIX `time -p`',
        None,
    ),
    (
        'posix_sys',
        (b'sys', ('system', 0)),
        (('system', 'system', 'decimal'),),
        (b'sys ',),
        False,
        (),
        None,
        None,
    ),
    (
        'timeformat',
        (('seconds', 0), ('user', 0), ('system', 0), ('percent', 0)),
        (('seconds', 'seconds', 'decimal'), ('user', 'user', 'decimal'), ('system', 'system', 'decimal'), ('percent', 'percent', 'decimal')),
        (b'.',),
        False,
        (),
        "bash with TIMEFORMAT='%R %U %S %P'",
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>\\d+(?:[.,]\\d+)?(?!\\S))',
)

# Derived from grammars/proc.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'memory',
        (('?', 0), ('key', 1), b':', ('value', 2), b'kB'),
        (('key', 'key', 'str'), ('value', 'value', 'str')),
        (b' kB',),
        False,
        (),
        None,
        None,
    ),
    (
        'counter',
        (('?', 0), ('counter_name', 3), ('value', 2)),
        (('counter_name', 'counter_name', 'str'), ('value', 'value', 'str')),
        (b'pswp', b'pgmajfault', b'pgpg', b'nr_free_pages'),
        False,
        (),
        None,
        None,
    ),
    (
        'swapon',
        (b'NAME', b'TYPE', b'SIZE', b'USED', b'PRIO'),
        (),
        (b'NAME',),
        False,
        (),
        'util-linux 2.23',
        None,
    ),
    (
        'swaps',
        (b'Filename', b'Type', b'Size', b'Used', b'Priority'),
        (),
        (b'Filename',),
        False,
        (),
        None,
        None,
    ),
    (
        'swap_device',
        (('path', 4), ('swap_type', 5), ('size', 6), ('used', 6), ('priority', 7)),
        (('path', 'path', 'str'), ('swap_type', 'swap_type', 'str'), ('size', 'size', 'str'), ('used', 'used', 'str'), ('priority', 'priority', 'int')),
        (b'partition', b'file'),
        False,
        (),
        None,
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>\\/proc\\/[a-z]{1,20}:)',
    '(?>(?:Mem(?:Total|Free|Available)|Swap(?:Total|Free|Cached)|Buffers|Cached|SReclaimable|Mlocked|Zswap|Zswapped|Dirty|AnonPages|Mapped|Shmem|Active|Inactive))',
    '(?>\\d+)',
    '(?>pswpin|pswpout|pgmajfault|pgpgin|pgpgout|nr_free_pages)',
    '(?>\\/[^\\s]+)',
    '(?>partition|file)',
    '(?>\\d+(?:[.,]\\d+)?(?:[KMGTP]i?)?B?(?!\\S))',
    '(?>-?\\d{1,20})',
)

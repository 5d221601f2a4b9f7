# Derived from grammars/proc.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

# name, pattern, fields, literals, anywhere, heads, since, until
RULES: tuple[Any, ...] = (
    (
        'memory',
        '(?:[ \\t]*+(?>\\/proc\\/[a-z]{1,20}:))?[ \\t]*+(?P<key>(?>(?:Mem(?:Total|Free|Available)|Swap(?:Total|Free|Cached)|Buffers|Cached|SReclaimable|Mlocked|Zswap|Zswapped|Dirty|AnonPages|Mapped|Shmem|Active|Inactive)))[ \\t]*+:[ \\t]*+(?P<value>(?>\\d+))[ \\t]*+kB[ \\t]*+\\Z',
        (('key', 'key', 'str'), ('value', 'value', 'str')),
        (b' kB',),
        False,
        (),
        None,
        None,
    ),
    (
        'counter',
        '(?:[ \\t]*+(?>\\/proc\\/[a-z]{1,20}:))?[ \\t]*+(?P<counter_name>(?>pswpin|pswpout|pgmajfault|pgpgin|pgpgout|nr_free_pages))[ \\t]*+(?P<value>(?>\\d+))[ \\t]*+\\Z',
        (('counter_name', 'counter_name', 'str'), ('value', 'value', 'str')),
        (b'pswp', b'pgmajfault', b'pgpg', b'nr_free_pages'),
        False,
        (),
        None,
        None,
    ),
    (
        'swapon',
        '[ \\t]*+NAME[ \\t]*+TYPE[ \\t]*+SIZE[ \\t]*+USED[ \\t]*+PRIO[ \\t]*+\\Z',
        (),
        (b'NAME',),
        False,
        (),
        'util-linux 2.23',
        None,
    ),
    (
        'swaps',
        '[ \\t]*+Filename[ \\t]*+Type[ \\t]*+Size[ \\t]*+Used[ \\t]*+Priority[ \\t]*+\\Z',
        (),
        (b'Filename',),
        False,
        (),
        None,
        None,
    ),
    (
        'swap_device',
        '[ \\t]*+(?P<path>(?>\\/[^\\s]+))[ \\t]*+(?P<swap_type>(?>partition|file))[ \\t]*+(?P<size>(?>\\d+(?:[.,]\\d+)?(?:[KMGTP]i?)?B?(?!\\S)))[ \\t]*+(?P<used>(?>\\d+(?:[.,]\\d+)?(?:[KMGTP]i?)?B?(?!\\S)))[ \\t]*+(?P<priority>(?>-?\\d{1,20}))[ \\t]*+\\Z',
        (('path', 'path', 'str'), ('swap_type', 'swap_type', 'str'), ('size', 'size', 'str'), ('used', 'used', 'str'), ('priority', 'priority', 'int')),
        (b'partition', b'file'),
        False,
        (),
        None,
        None,
    ),
)

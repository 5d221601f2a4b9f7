# Derived from grammars/proc.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

RULES: tuple[dict[str, Any], ...] = (
    {
        'name': 'memory',
        'pattern': '(?:[ \\t]*+(?>\\/proc\\/[a-z]{1,20}:))?[ \\t]*+(?P<key>(?>(?:Mem(?:Total|Free|Available)|Swap(?:Total|Free|Cached)|Buffers|Cached|SReclaimable|Mlocked|Zswap|Zswapped|Dirty|AnonPages|Mapped|Shmem|Active|Inactive)))[ \\t]*+:[ \\t]*+(?P<value>(?>\\d{1,20}))[ \\t]*+kB[ \\t]*+\\Z',
        'fields': (('key', 'key', 'str'), ('value', 'value', 'str')),
        'literals': (b' kB',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'counter',
        'pattern': '(?:[ \\t]*+(?>\\/proc\\/[a-z]{1,20}:))?[ \\t]*+(?P<counter_name>(?>pswpin|pswpout|pgmajfault|pgpgin|pgpgout|nr_free_pages))[ \\t]*+(?P<value>(?>\\d{1,20}))[ \\t]*+\\Z',
        'fields': (('counter_name', 'counter_name', 'str'), ('value', 'value', 'str')),
        'literals': (b'pswp', b'pgmajfault', b'pgpg', b'nr_free_pages'),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'swapon',
        'pattern': '[ \\t]*+NAME[ \\t]*+TYPE[ \\t]*+SIZE[ \\t]*+USED[ \\t]*+PRIO[ \\t]*+\\Z',
        'fields': (),
        'literals': (b'NAME',),
        'anywhere': False,
        'heads': (),
        'since': 'util-linux 2.23',
        'until': None,
    },
    {
        'name': 'swaps',
        'pattern': '[ \\t]*+Filename[ \\t]*+Type[ \\t]*+Size[ \\t]*+Used[ \\t]*+Priority[ \\t]*+\\Z',
        'fields': (),
        'literals': (b'Filename',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'swap_device',
        'pattern': '[ \\t]*+(?P<path>(?>\\/[^\\s]{1,300}))[ \\t]*+(?P<swap_type>(?>partition|file))[ \\t]*+(?P<size>(?>\\d{1,20}(?:[.,]\\d{1,3})?(?:[KMGTP]i?)?B?))[ \\t]*+(?P<used>(?>\\d{1,20}(?:[.,]\\d{1,3})?(?:[KMGTP]i?)?B?))[ \\t]*+(?P<priority>(?>-?\\d{1,20}))[ \\t]*+\\Z',
        'fields': (('path', 'path', 'str'), ('swap_type', 'swap_type', 'str'), ('size', 'size', 'str'), ('used', 'used', 'str'), ('priority', 'priority', 'int')),
        'literals': (b'partition', b'file'),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
)

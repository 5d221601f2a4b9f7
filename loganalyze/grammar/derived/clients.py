# Derived from grammars/clients.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

RULES: tuple[dict[str, Any], ...] = (
    {
        'name': 'bench_head',
        'pattern': '[ \\t]*+(?>=+)[ \\t]*+Serving\\ Benchmark\\ Result[ \\t]*+(?>=+)[ \\t]*+\\Z',
        'fields': (),
        'literals': (b'Serving Benchmark Result',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'bench_row',
        'pattern': '[ \\t]*+(?P<bench_key>(?>(?:Successful requests|Failed requests|Benchmark duration \\(s\\)|Total (?:input|generated) (?:text )?tokens(?: \\(retokenized\\))?|(?:Request|Input token|Output token|Peak output token|Total token|Total Token) throughput \\((?:req|tok)\\/s\\)|Peak concurrent requests|Concurrency|(?:Mean|Median|P\\d+|Max|Std) (?:TTFT|TPOT|ITL|E2EL|E2E Latency) \\(ms\\)|Traffic request rate|Max(?:imum)? request concurrency|Request rate configured \\(RPS\\))))[ \\t]*+:[ \\t]*+(?P<bench_value>(?>-?(?:1\\.#[A-Z]+|\\d+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?|inf|nan(?:\\(ind\\))?)))[ \\t]*+\\Z',
        'fields': (('bench_key', 'bench_key', 'str'), ('bench_value', 'bench_value', 'float')),
        'literals': (b'(req/s):', b'(tok/s):', b'(ms):', b'(s):', b'Successful requests:', b'Failed requests:', b'tokens:', b'oncurrency:', b'request rate:', b'(RPS):', b'Backend:'),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'curl_time',
        'pattern': '(?:[ \\t]*+time_namelookup:|[ \\t]*+time_connect:|[ \\t]*+time_appconnect:|[ \\t]*+time_pretransfer:|[ \\t]*+time_starttransfer:|[ \\t]*+time_total:)[ \\t]*+(?P<curl_s>(?>-?\\d+(?:[.,]\\d+)?))(?:[ \\t]*+s)?[ \\t]*+\\Z',
        'fields': (('curl_s', 'curl_s', 'decimal'),),
        'literals': (b'time_appconnect:', b'time_connect:', b'time_namelookup:', b'time_pretransfer:', b'time_starttransfer:', b'time_total:'),
        'anywhere': True,
        'heads': (b'time_appconnect:', b'time_connect:', b'time_namelookup:', b'time_pretransfer:', b'time_starttransfer:', b'time_total:'),
        'since': None,
        'until': None,
    },
    {
        'name': 'curl_pair',
        'pattern': '[ \\t]*+TTFB(?:[ \\t]*+:|[ \\t]*+=)[ \\t]*+(?P<ttfb_s>(?>-?\\d+(?:[.,]\\d+)?))(?:[ \\t]*+s)?(?:[ \\t]*+,)?(?:[ \\t]*+Total|[ \\t]*+total)(?:[ \\t]*+:|[ \\t]*+=)[ \\t]*+(?P<total_s>(?>-?\\d+(?:[.,]\\d+)?))(?:[ \\t]*+s)?[ \\t]*+\\Z',
        'fields': (('ttfb_s', 'ttfb_s', 'decimal'), ('total_s', 'total_s', 'decimal')),
        'literals': (b'TTFB',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'curl_json',
        'pattern': '[ \\t]*+(?P<curl_object>(?>\\{[^\\n]*"time_starttransfer"[^\\n]*\\}))[ \\t]*+\\Z',
        'fields': (('curl_object', 'curl_object', 'str'),),
        'literals': (b'"time_starttransfer"',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
)

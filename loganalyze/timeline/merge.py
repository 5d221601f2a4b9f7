"""One run seen from both sides becomes one run: the server's, with what only the client knows.

The client's first-token time holds the wait in the queue, which the server's log does not tell. A client's record whose
folder holds the log of exactly one run belongs to it also when their times cannot be matched.
"""

from __future__ import annotations

from loganalyze.model.records import Reading, Request, Run
from loganalyze.timeline.group import folder, is_client

# Ends of one request on both sides differ by the way through the loopback and the client's loop.
TOLERANCE_S = 0.5


def merge_clients(reading: Reading) -> None:
    """Fold client records into the runs they describe; the others stay runs of their own."""
    clients = [r for r in reading.runs if is_client(r)]
    servers = [r for r in reading.runs if not is_client(r)]
    for client in clients:
        home = _home(client, servers)
        if home is None:
            continue
        _fold(home, client)
        reading.runs.remove(client)


def _home(client: Run, servers: list[Run]) -> Run | None:
    paired = [r for r in servers if r.id == client.facts.get("client_of")]
    if paired:
        return paired[0]
    path = client.source.path if client.source else ""
    near = [r for r in servers if r.source is not None and folder(r.source.path) == folder(path)]
    return near[0] if len(near) == 1 else None


def _fold(server: Run, client: Run) -> None:
    server.facts["client"] = client.id
    server.setup.streaming = client.setup.streaming if server.setup.streaming is None else server.setup.streaming
    server.version = server.version or client.version
    server.engine = server.engine or client.engine
    for capture in client.captures:
        if all(capture is not own for own in server.captures):
            server.captures.append(capture)
    if not server.requests:
        _adopt(server, client)
        return
    shift = _shift(server, client)
    if shift is None:
        return
    free = list(client.requests)
    for request in server.requests:
        twin = _twin(request, free, shift)
        if twin is not None:
            free.remove(twin)
            _complete(request, twin)


def _adopt(server: Run, client: Run) -> None:
    server.requests = client.requests
    shift = _shift(server, client)
    for request in server.requests:
        if shift is None or request.start_s is None or request.end_s is None:
            request.start_s = request.end_s = None
        else:
            request.start_s, request.end_s = request.start_s + shift, request.end_s + shift


def _shift(server: Run, client: Run) -> float | None:
    """Seconds from the client's zero to the server's."""
    ours, theirs = server.clock.offset_s, client.clock.offset_s
    return None if ours is None or theirs is None else theirs - ours


def _twin(request: Request, free: list[Request], shift: float) -> Request | None:
    if request.end_s is None:
        return None
    near = [
        (abs(other.end_s + shift - request.end_s), other)
        for other in free
        if other.end_s is not None and abs(other.end_s + shift - request.end_s) <= TOLERANCE_S
    ]
    alike = [pair for pair in near if _same_counts(request, pair[1])]
    return min(alike or near, key=lambda pair: pair[0])[1] if near else None


def _same_counts(a: Request, b: Request) -> bool:
    return a.prompt_tokens == b.prompt_tokens and a.output_tokens == b.output_tokens and a.prompt_ms == b.prompt_ms


def _complete(request: Request, twin: Request) -> None:
    """What the client knows better: when the first token arrived. Counts and rates stay the server's."""
    if twin.ttft_ms is not None:
        request.ttft_ms = twin.ttft_ms
    if request.cached_tokens is None:
        request.cached_tokens = twin.cached_tokens
    if request.output_tokens is None:
        request.output_tokens = twin.output_tokens
    if request.prompt_tokens is None:
        request.prompt_tokens = twin.prompt_tokens

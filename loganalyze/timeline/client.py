"""Requests seen from both sides: a client's wall times place a server's log.

A client record (a run whose requests carry wall times) and a log with a relative clock describe the same requests.
The offset at which most of the log's requests coincide with the client's is the log's.
"""

from __future__ import annotations

from loganalyze.model.records import Request, Run

# Start and end of one request as client and server see them: connection and queueing take milliseconds.
TOLERANCE_S = 0.25


def offset_from_client(log: Run, client: Run) -> tuple[float, float, int] | None:
    """``(offset of the log's zero on the client's zero, error, requests that agree)``; None when they do not match.

    Needs at least one request of known start and end on both sides, and half of the log's requests to agree.
    """
    ours, theirs = _spans(log.requests), _spans(client.requests)
    if not ours or not theirs:
        return None
    ends = sorted(e for _, e in theirs)
    best: tuple[int, float, list[float]] = (0, 0.0, [])
    for _, their_end in theirs[:40]:
        for our_end in {ours[0][1], ours[-1][1], ours[len(ours) // 2][1]}:
            agreed = _agreed([e for _, e in ours], ends, their_end - our_end)
            spread = max(agreed) - min(agreed) if agreed else 0.0
            if (len(agreed), -spread) > (best[0], -best[1]):
                best = (len(agreed), spread, agreed)
    count, spread, agreed = best
    if count * 2 < min(len(ours), len(theirs)) or not _lengths_agree(ours, theirs, agreed):
        return None
    middle = sorted(agreed)[len(agreed) // 2]
    return middle, max(0.1, spread), count


def _spans(requests: list[Request]) -> list[tuple[float, float]]:
    """Start and end of the first requests that have both."""
    spans = [(r.start_s, r.end_s) for r in requests if r.start_s is not None and r.end_s is not None]
    return [(start, end) for start, end in spans if end > start][:200]


def _agreed(ours: list[float], theirs: list[float], offset: float) -> list[float]:
    """Differences of those of our ends that, moved by ``offset``, meet one of theirs."""
    from bisect import bisect_left

    found = []
    for end in ours:
        at = bisect_left(theirs, end + offset)
        nearest = min(theirs[max(0, at - 1) : at + 1], key=lambda e: abs(e - end - offset))
        if abs(nearest - end - offset) <= TOLERANCE_S:
            found.append(nearest - end)
    return found


def _lengths_agree(ours: list[tuple[float, float]], theirs: list[tuple[float, float]], agreed: list[float]) -> bool:
    """Ends alone may coincide by chance: a client waits at least as long as its server works, and mostly no longer.

    Requests that queue are longer on the client's side; three ends that agree are then proof enough.
    """
    middle = sorted(agreed)[len(agreed) // 2]
    alike = fitting = 0
    for start, end in ours:
        their_start, their_end = min(theirs, key=lambda span: abs(span[1] - end - middle))
        longer = (their_end - their_start) - (end - start)
        tolerance = max(TOLERANCE_S, 0.2 * (end - start))
        alike += abs(longer) <= tolerance
        fitting += longer >= -tolerance
    needed = min(len(ours), len(theirs))
    return alike * 2 >= needed or (len(agreed) >= 3 and fitting * 10 >= needed * 9)

"""Prepare the next blocks of a large capture while the one at hand is taken in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from loganalyze.formats.capture import Block, Segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

    from concurrent.futures import Future

# Two blocks in work keep two cores busy while polars waits for stragglers; each more costs memory only.
WORKERS = 2


def ahead(segment: Segment, prepare: Callable[[Block], T], workers: int = WORKERS) -> Iterator[tuple[Block, T]]:
    """Blocks of ``segment`` in order, with what ``prepare`` made of them.

    The first block is prepared alone, for it may tell how to prepare the rest; the others in threads, since polars lets go
    of the interpreter while it parses. Where polars does all the work one is enough, for it has threads of its own. A
    segment that is one block needs none.
    """
    blocks = segment.blocks()
    for block in blocks:
        yield block, prepare(block)
        break
    if segment.stream is None:
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=workers) as pool:
        work: deque[tuple[Block, Future[T]]] = deque()
        for block in blocks:
            work.append((block, pool.submit(prepare, block)))
            if len(work) > workers:
                done, outcome = work.popleft()
                yield done, outcome.result()
        for done, outcome in work:
            yield done, outcome.result()

"""Prepare the next block of a large capture while polars parses the one at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from loganalyze.formats.capture import Block, Segment

T = TypeVar("T")


def ahead(segment: Segment, prepare: Callable[[Block], T]) -> Iterator[tuple[Block, T]]:
    """Blocks of ``segment`` with what ``prepare`` made of them.

    Reading and preparing one block ahead runs in a thread: polars lets go of the interpreter while it parses. A segment
    that is one block needs none.
    """
    if segment.stream is None:
        for block in segment.blocks():
            yield block, prepare(block)
        return
    from concurrent.futures import ThreadPoolExecutor

    blocks = segment.blocks()

    def following() -> tuple[Block, T] | None:
        block = next(blocks, None)
        return None if block is None else (block, prepare(block))

    with ThreadPoolExecutor(max_workers=1) as pool:
        item = following()
        while item is not None:
            coming = pool.submit(following)
            yield item
            item = coming.result()

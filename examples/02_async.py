"""The same manager in asyncio: every method is awaited and runs in a worker thread.

Shows many adds at once (they share their commits), and that the event loop stays free.

Prints:

    100 notes added at once
    note 42: the meter in hall 42 was read
"""

import asyncio
from tempfile import TemporaryDirectory

from memento import AsyncMemoryManager


async def main(root: str) -> None:
    """Add a hundred notes at once and ask about one."""
    async with AsyncMemoryManager(root, embedder=None) as memory:
        texts = [f"note {n}: the meter in hall {n} was read" for n in range(100)]
        kept = await asyncio.gather(*(memory.add(text, "medium") for text in texts))
        print(len(kept), "notes added at once")
        found = await memory.retrieve("meter in hall 42", k=1)
        print(found[0].text)


with TemporaryDirectory() as folder:
    asyncio.run(main(folder))

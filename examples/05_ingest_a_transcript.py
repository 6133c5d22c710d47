"""A chat log becomes memories, and reading it twice adds nothing.

Shows ``memento.ingest.read``, which ``memento ingest FILE`` also uses: OpenAI
messages, ShareGPT, LoCoMo, Markdown and plain text. The transcript is ``transcript.jsonl``.

Prints:

    first time: 8 turns, 8 stored
    second time: 8 turns, 8 stored
    user, 2025-04-02: My flight to Porto leaves on the 14th at 6:50, from gate B.
    prompt block has the answer: True
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from memento import MemoryManager, ingest

TRANSCRIPT = Path(__file__).with_name("transcript.jsonl")

with TemporaryDirectory() as root, MemoryManager(root) as memory:
    for time in ("first", "second"):
        turns = memory.add_many(ingest.read(TRANSCRIPT))
        print(f"{time} time: {len(turns)} turns, {memory.store.stats().memories} stored")
    memory.flush(wait=True)

    hit = memory.retrieve("When does the flight to Porto leave?", k=1)[0]
    print(f"{hit.memory.role}, {hit.memory.occurred_at:%Y-%m-%d}: {hit.text}")

    # An agent pastes this into its prompt: escaped records that no stored text can break out of.
    block = memory.prompt("When does the flight to Porto leave?", k=3)
    print("prompt block has the answer:", "6:50" in block)

"""The places of an answer stay as they were when one of its memories is erased."""

from __future__ import annotations

import pytest
from beside import read_sql

SHOWN = 6


@pytest.mark.parametrize("at", [0, 2, 4])
def test_an_erasure_moves_no_other_memory_up_in_an_answer(memory, at):
    """The one that was shown sixth was not shown among the first five."""
    words = ["one", "two", "three", "four", "five", "six"]
    for word in words:
        memory.add(f"the kettle number {word} is blue")
    shown = [hit.id for hit in memory.retrieve("kettle blue", k=SHOWN)]
    memory.feedback.rate(shown[-1], verdict="ignored", source="user")  # from now on it has sums
    memory.flush(wait=True)
    memory.sleep.run()
    before = memory.feedback.strength(shown[-1])
    memory.store.erase(ids=[shown[at]])
    found = {one.check: one.detail for one in memory.store.doctor() if not one.ok}
    assert "dynamics" not in found
    assert memory.feedback.strength(shown[-1]).use == before.use


def test_the_gap_is_exported_and_imported(memory, open_memory, tmp_path):
    """The place in the answer is the same in the other store."""
    for word in ["one", "two", "three", "four", "five", "six"]:
        memory.add(f"the kettle number {word} is blue")
    shown = [hit.id for hit in memory.retrieve("kettle blue", k=SHOWN)]
    memory.flush(wait=True)
    memory.store.erase(ids=[shown[0]])
    memory.store.export(tmp_path / "all.jsonl")
    other = open_memory(tmp_path / "other")
    assert other.store.import_from(tmp_path / "all.jsonl", trust="user").damaged == ()
    uses = [[one.feedback.strength(name).uses for name in shown[1:]] for one in (memory, other)]
    assert uses[0] == uses[1] == [0.1, 0.1, 0.1, 0.1, 0.0]


def test_an_answer_that_is_erased_whole_is_forgotten(memory):
    """Gaps alone say nothing."""
    ids = [memory.add(f"the kettle number {word} is blue").id for word in ("one", "two")]
    memory.retrieve("kettle blue", k=2)
    memory.flush(wait=True)
    memory.sleep.run()
    for one in ids:
        memory.store.erase(ids=[one])
    job = "SELECT count(*) FROM events WHERE kind = 'retrieved'"
    assert read_sql(memory, job)[0][0] == 0

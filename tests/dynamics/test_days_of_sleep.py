"""A sleep may fold on a day that nobody has used yet; its use may come later that day."""

from datetime import timedelta

from memento.testing import HashEmbedder

KETTLE = "The kettle in the kitchen of the office is blue and new"


def test_a_fold_counts_the_same_before_and_after_its_day_is_one_of_use(open_memory, clock):
    """Otherwise the row is not what its events add up to once somebody asks on that day."""
    memory = open_memory(embedder=HashEmbedder())
    memory.add("A pan")
    memory.retrieve("pan")
    memory.flush(wait=True)
    clock.advance(timedelta(days=2))
    kept, *_ = [memory.add(f"{KETTLE}{end}").id for end in ("", "!", ".")]
    memory.flush(wait=True)
    assert memory.sleep.run().steps["duplicates"].changed
    memory.sleep.run()  # folds the events of the first one
    before = memory.feedback.strength(kept).stability
    memory.retrieve("pan")
    memory.flush(wait=True)
    memory.sleep.run(steps=["fold"])
    assert [one for one in memory.store.doctor(repair=False) if not one.ok] == []
    assert memory.feedback.strength(kept).stability == before

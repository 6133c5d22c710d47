import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.retrieve.roster import ERASED, Roster, RosterRow
from memento.text import Cue


def row(docid, session=None, words=10, status="active", cues=int(Cue.SHORT), **more):
    """Make a row."""
    return RosterRow(
        docid,
        session,
        None,
        "",
        "medium",
        "fact",
        status,
        words,
        min(words, 4),
        cues,
        0.5,
        0,
        **more,
    )


changes = st.lists(
    st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from([None, "a", "b", "c"]), st.integers(0, 30)),
        max_size=12,
    ),
    max_size=8,
)


def valid(batches):
    """Keep what the ledger can send: new docids above all earlier ones."""
    known, newest = {}, 0
    for batch in batches:
        kept = {d: (d, s, w) for d, s, w in batch if d in known or d > newest}
        known |= kept
        newest = max([newest, *kept])
        yield [row(d, s, w) for d, s, w in kept.values()], dict(known)


@given(changes)
def test_links_and_sums_after_any_changes(batches):
    """Neighbours, window lengths and session sums are those of a roster built afresh."""
    roster = Roster()
    for rows, known in valid(batches):
        roster.apply(rows)
        snap = roster.snapshot()
        assert snap.docid.tolist() == sorted(known)
        _check(snap, known)


def _check(snap, known):
    order = sorted(known)
    totals = {}
    for at, docid in enumerate(order):
        _, session, words = known[docid]
        mates = [i for i, other in enumerate(order) if session and known[other][1] == session]
        place = mates.index(at) if session else 0
        near = [
            mates[j]
            for j in range(place - 2, place + 3)
            if session and 0 <= j < len(mates) and j != place
        ]
        assert snap.prev[at] == (mates[place - 1] if session and place else -1)
        assert snap.next[at] == (mates[place + 1] if session and place + 1 < len(mates) else -1)
        assert snap.window_words[at] == words + sum(min(known[order[i]][2], 4) for i in near)
        totals[session] = totals.get(session, 0) + words
    assert snap.mean_window == pytest.approx(max(1.0, snap.window_words.sum() / max(1, snap.n)))
    for session, total in totals.items():
        if session:
            assert snap.sessions[snap.session_names.find(session)] == total


@given(changes, st.integers(0, 2**32 - 1))
def test_smoothed_length_after_any_changes(batches, seed):
    """The kept length is that of the vector with half of each neighbour's."""
    random = np.random.default_rng(seed)
    roster = Roster()
    for rows, known in valid(batches):
        roster.apply(rows)
        docids = np.array(random.permutation(sorted(known))[:5], np.int64)
        matrix = random.normal(size=(len(docids), 3)).astype(np.float32)
        roster.set_vectors(docids, matrix / np.linalg.norm(matrix, axis=1, keepdims=True))
    snap = roster.snapshot()
    if snap.vectors is None:  # nothing was embedded
        assert not snap.has_vector.any()
        return
    padded = np.vstack([snap.vectors, np.zeros((1, 3), np.float32)])
    mix = padded[:-1] + 0.5 * padded[snap.prev] + 0.5 * padded[snap.next]
    length = np.linalg.norm(mix, axis=1)
    assert snap.smooth_norm == pytest.approx(np.where(length > 0, length, 1), abs=1e-5)


def test_a_snapshot_does_not_grow():
    """A query sees the rows there were when it began, and no neighbour beyond them."""
    roster = Roster()
    roster.apply([row(1, "s")])
    snap = roster.snapshot()
    roster.apply([row(2, "s")])
    assert snap.n == 1
    assert snap.neighbours(np.array([0]), 1).tolist() == [-1]
    assert roster.snapshot().neighbours(np.array([0]), 1).tolist() == [1]


def test_a_snapshot_serves_until_something_changes():
    """While nothing changed it is the same one, after each change another."""
    roster = Roster()
    for change in (
        lambda: roster.apply([row(1, "s"), row(2, "s")]),
        lambda: roster.set_vectors(np.array([1]), np.eye(1, 3, dtype=np.float32)),
        lambda: roster.apply([row(1, "t")]),
        roster.drop_vectors,
    ):
        before = roster.snapshot()
        change()
        after = roster.snapshot()
        assert after is not before
        assert roster.snapshot() is after
    roster.drop_vectors()
    assert roster.snapshot() is after


def test_docids_must_ascend():
    """A new docid below an old one is refused, and nothing is taken."""
    roster = Roster()
    roster.apply([row(5)])
    with pytest.raises(ValueError, match="ascending"):
        roster.apply([row(3), row(9)])
    assert len(roster) == 1


def test_erased_rows_do_not_count():
    """Statistics forget what was erased."""
    roster = Roster()
    roster.apply([row(1), row(2), row(3)])
    roster.apply([row(2, status=ERASED)])
    assert roster.snapshot().live == 2


def test_vectors_of_unknown_rows_are_passed_over():
    """A vector may arrive before its row is known; it is not kept, nor does it disturb."""
    roster = Roster()
    roster.apply([row(4)])
    roster.set_vectors(np.array([9, 4]), np.eye(2, dtype=np.float32))
    assert roster.snapshot().vectors.tolist() == [[0.0, 1.0]]
    assert roster.snapshot().has_vector.tolist() == [True]

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.retrieve.columns import ERASED, Roster, RosterRow
from memento.text.words import Cue


def row(docid, session=None, words=10, status="active", cues=int(Cue.SHORT), **more):
    """Make a row."""
    columns = docid, session, None, "", "medium", "fact", status, words, min(words, 4), cues, 0.5, 0
    return RosterRow(*columns, **more)


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
    """Neighbours and window lengths are those of a roster built afresh."""
    roster = Roster()
    for rows, known in valid(batches):
        roster.apply(rows)
        snap = roster.view()
        assert snap.docid.tolist() == sorted(known)
        _check(snap, known)


def _check(snap, known):
    order = sorted(known)
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
    assert snap.mean_window == pytest.approx(max(1.0, snap.window_words.sum() / max(1, snap.n)))


def test_a_view_does_not_grow():
    """A query sees the rows there were when it began, and no neighbour beyond them."""
    roster = Roster()
    roster.apply([row(1, "s")])
    snap = roster.view()
    roster.apply([row(2, "s")])
    assert snap.n == 1
    assert snap.neighbours(np.array([0]), 1).tolist() == [-1]
    assert roster.view().neighbours(np.array([0]), 1).tolist() == [1]


def test_a_view_serves_until_something_changes():
    """While nothing changed it is the same one, after each change another."""
    roster = Roster()
    for change in (
        lambda: roster.apply([row(1, "s"), row(2, "s")]),
        lambda: roster.apply([row(1, "t")]),
    ):
        before = roster.view()
        change()
        after = roster.view()
        assert after is not before
        assert roster.view() is after
    roster.apply([])
    assert roster.view() is after


def test_docids_must_ascend():
    """A new docid below an old one is refused, and nothing is taken."""
    roster = Roster()
    roster.apply([row(5)])
    with pytest.raises(ValueError, match="ascending"):
        roster.apply([row(3), row(9)])
    assert len(roster) == 1


HIDDEN = ("quarantined", "forgotten", ERASED)
mixed = st.lists(
    st.lists(
        st.builds(
            dict,
            docid=st.integers(1, 25),
            status=st.sampled_from(("active", "superseded", *HIDDEN)),
            session=st.sampled_from((None, "a", "b")),
            actor=st.sampled_from((None, "Ada Byron", "Ada", "ADA", "Bob Ross", "user")),
            words=st.integers(0, 30),
            year=st.sampled_from((1, 1900, 2023, 2024, 2026, 9999)),
            key=st.sampled_from((None, "kubernetes", "kubernets", "the code")),
        ),
        max_size=10,
    ),
    max_size=6,
)


def _row(docid, status, session, actor, words, year, key):
    moment = int(datetime(year, 5, 5, tzinfo=UTC).timestamp()) * 1_000_000
    one = row(docid, session, words, status, key=key)
    return one._replace(actor=actor, occurred_at=moment)


@given(mixed)
def test_what_is_hidden_leaves_no_trace(batches):
    """After any changes all is as in a roster that never heard of what is hidden."""
    roster, newest, last = Roster(), 0, {}
    for batch in batches:
        known = {one["docid"]: _row(**one) for one in batch}
        known = {docid: one for docid, one in known.items() if docid in last or docid > newest}
        roster.apply(known.values())
        last |= known
        newest = max([newest, *known])
    alone = Roster()
    alone.apply(one for one in last.values() if one.status not in HIDDEN)
    told = roster.view()
    _same_to_those_heard(told, alone.view())


def _same_to_those_heard(told, alone):
    for name in ("live", "mean_window", "talks", "years"):
        assert getattr(told, name) == getattr(alone, name)
    heard = np.flatnonzero(told.heard)
    assert told.docid[heard].tolist() == alone.docid.tolist()
    assert told.window_words[heard].tolist() == alone.window_words.tolist()
    for step in (1, -1):
        near = told.neighbours(heard, step)
        mine = alone.neighbours(np.arange(alone.n), step)
        assert [told.docid[at] if at >= 0 else -1 for at in near] == [
            alone.docid[at] if at >= 0 else -1 for at in mine
        ]
        assert (told.neighbours(np.flatnonzero(~told.heard), step) == -1).all()
    named = [
        {name: snap.actors.names[code] if code >= 0 else None for name, code in snap.people.items()}
        for snap in (told, alone)
    ]
    assert named[0] == named[1]
    for query in (["kubernetes"], ["kubernets"], ["kubernetis"], ["the", "code"]):
        called = [
            [(snap.docid[list(one.rows)].tolist(), one.typos) for one in snap.names.called(query)]
            for snap in (told, alone)
        ]
        assert [(sorted(rows), typos) for rows, typos in called[0]] == [
            (sorted(rows), typos) for rows, typos in called[1]
        ]

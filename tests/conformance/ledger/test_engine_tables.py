"""Vectors, backlog, parents that are absent, erasure, transfer and checks, on every engine."""

from __future__ import annotations

import struct

import pytest

from memento.errors import IdConflict, NotFound
from memento.ledger import checks, erasure, links, memories, past, transfer, vectors
from memento.ledger.erasure import Chosen
from memento.ledger.match import Word
from memento.ledger.predicate import Filters
from memento.types import Event, Reason, Source, Trust
from memento.write.steps import hide

IDENTITY = "hash (2)"


def blob(*numbers):
    """Spell a vector as it is kept."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


@pytest.fixture
def embedded(bench):
    """A bench whose store works with an embedder; its number is ``bench.model``."""

    def job(session):
        vectors.set_embedder(session, IDENTITY)
        return vectors.embedder_id(session, "hash", 2)

    bench.model = bench.ledger.write(job)
    return bench


def newest_stamp(bench):
    """Return the stamp of the vectors stored last."""
    return bench.read(lambda s, ns: vectors.facts(s, "vectors", ns).stamp)


def owed(bench, *ops):
    """Return the backlog of some operations, as (place, operation)."""
    lines = bench.ledger.read(lambda s: vectors.owed(s, ops or ("embed", "index", "drop"), 99))
    return [(line.docid & ((1 << 40) - 1), line.op) for line in lines]


def embed(bench, *numbers):
    """Store a vector for each row that lacks one; returns the number of lines there were."""

    def job(session):
        lines = vectors.owed(session, ("embed",), 99)
        vectors.store(session, bench.model, [(line, blob(*numbers)) for line in lines])
        return len(lines)

    return bench.ledger.write(job)


def settled(bench):
    """Remove every line of the backlog of the index."""
    bench.ledger.write(
        lambda s: vectors.settle(s, vectors.owed(s, ("index", "drop"), 99)),
    )


class TestVectors:
    """A row first lacks a vector, then its place in the index, then nothing."""

    def test_an_embedder_has_one_number(self, bench):
        """Name and dimension together are the embedder."""
        number = bench.ledger.write(lambda s: vectors.embedder_id(s, "a", 2))
        assert bench.ledger.write(lambda s: vectors.embedder_id(s, "a", 2)) == number
        assert bench.ledger.write(lambda s: vectors.embedder_id(s, "a", 3)) != number
        assert bench.ledger.read(lambda s: vectors.working(s, "a", 2)) == (None, number)
        assert bench.ledger.read(lambda s: vectors.working(s, "b", 2)) == (None, None)

    def test_the_store_has_one_at_a_time(self, embedded):
        """The last one set."""
        assert embedded.ledger.read(vectors.current_embedder) == IDENTITY
        assert embedded.ledger.read(vectors.current_model) == (embedded.model, "hash", 2)
        embedded.ledger.write(lambda s: vectors.set_embedder(s, "other (9)"))
        assert embedded.ledger.read(vectors.current_embedder) == "other (9)"
        assert embedded.ledger.read(vectors.current_model) is None

    def test_a_row_is_owed_once_the_index_of_words_has_it(self, embedded):
        """Before, it is counted though it has no line."""
        embedded.one("a")
        assert owed(embedded) == []
        assert embedded.ledger.read(vectors.backlog_size) == {"embed": 1}
        assert embedded.read(lambda c, ns: vectors.owed_in(c, ns, 9)) == 1
        embedded.index()
        assert owed(embedded) == [(1, "embed")]
        assert embedded.ledger.read(vectors.backlog_size) == {"embed": 1}

    @pytest.mark.parametrize(("tier", "left"), [("short", []), ("medium", [(1, "index")])])
    def test_storing_hands_it_on(self, embedded, tier, left):
        """To the index, unless it is a row of the short tier."""
        row = embedded.one("a", tier=tier)
        embedded.index()
        assert embed(embedded, 1, 0) == 1
        assert owed(embedded) == left
        found = embedded.ledger.read(lambda s: vectors.read(s, [row.docid], embedded.model))
        assert found == {row.docid: blob(1, 0)}

    def test_a_vector_of_an_older_text_is_dropped(self, embedded):
        """The line must still be the one that was read."""
        row = embedded.one("a")
        embedded.index()
        lines = embedded.ledger.read(lambda s: vectors.owed(s, ("embed",), 9))
        embedded.ledger.write(lambda s: memories.overwrite(s, row, {"text": "b"}))
        embedded.ledger.write(lambda s: memories.enqueue(s, row, "embed"))
        embedded.ledger.write(lambda s: vectors.store(s, embedded.model, [(lines[0], blob(1, 0))]))
        assert embedded.ledger.read(lambda s: vectors.read(s, [row.docid], embedded.model)) == {}
        assert owed(embedded) == [(1, "embed")]

    def test_so_is_one_of_another_embedder(self, embedded):
        """Only the store's own is kept."""
        embedded.one("a")
        embedded.index()
        embedded.ledger.write(lambda s: vectors.set_embedder(s, "other (9)"))
        embed(embedded, 1, 0)
        assert owed(embedded) == [(1, "embed")]

    def test_a_second_vector_replaces_the_first(self, embedded):
        """A row has one, of the newest stamp."""
        row = embedded.one("a")
        embedded.index()
        embed(embedded, 1, 0)
        settled(embedded)
        embedded.ledger.write(lambda s: vectors.owe_embedding(s, None))
        embed(embedded, 0, 1)
        found = embedded.ledger.read(lambda s: vectors.read(s, [row.docid], embedded.model))
        assert found == {row.docid: blob(0, 1)}

    def test_settling_leaves_what_changed(self, embedded):
        """A line is struck off only as it was read."""
        row = embedded.one("a")
        embedded.index()
        embed(embedded, 1, 0)
        lines = embedded.ledger.read(lambda s: vectors.owed(s, ("index",), 9))
        embedded.change(hide, row, Reason.FORGOTTEN)
        embedded.ledger.write(lambda s: vectors.settle(s, lines))
        assert owed(embedded) == [(1, "drop")]

    def test_what_came_since_a_stamp(self, embedded):
        """All of it in order of arrival, or only the newer."""
        embedded.one("a")
        embedded.index()
        embed(embedded, 1, 0)
        stamp = newest_stamp(embedded)
        embedded.one("b")
        embedded.index()
        embed(embedded, 0, 1)

        def since(stamp):
            return embedded.read(
                lambda s, ns: [
                    vector
                    for bite in vectors.since(s, ns, embedded.model, stamp)
                    for _, vector in bite
                ]
            )

        assert since(0) == [blob(1, 0), blob(0, 1)]
        assert since(stamp) == [blob(0, 1)]
        assert since(newest_stamp(embedded)) == []

    def test_what_the_index_does_not_hold(self, embedded):
        """The rows that are still owed, no more than wanted."""
        embedded.add("a", {"text": "b", "tier": "short"}, "c")
        embedded.index()
        embed(embedded, 1, 0)
        settled(embedded)
        embedded.one("d")
        embedded.index()
        embed(embedded, 0, 1)
        assert [docid & 0xFF for docid in embedded.read(vectors.waiting_in, 5)] == [4]
        assert embedded.read(vectors.waiting_in, 0) == []

    def test_all_can_be_owed_again(self, embedded):
        """To the index: what it should hold; to the embedder: everything."""
        embedded.add("a", {"text": "b", "tier": "short"})
        embedded.index()
        embed(embedded, 1, 0)
        settled(embedded)
        assert not embedded.ledger.read(vectors.any_owed)
        assert embedded.ledger.read(vectors.is_left_unfed)
        assert embedded.ledger.write(lambda s: vectors.owe_index(s, embedded.model)) == 1
        assert embedded.ledger.read(vectors.any_owed)
        assert not embedded.ledger.read(vectors.is_left_unfed)
        assert owed(embedded) == [(1, "index")]
        stray = "UPDATE backlog SET docid = docid + 1000"  # of a memory that is not there
        embedded.ledger.write(lambda s: s.execute(stray))
        assert embedded.ledger.read(vectors.is_left_unfed)
        embedded.ledger.write(lambda s: s.execute("DELETE FROM backlog"))
        assert embedded.ledger.write(lambda s: vectors.owe_embedding(s, None)) == 2
        assert owed(embedded) == [(1, "embed"), (2, "embed")]

    @pytest.mark.parametrize(("most", "behind"), [(1, True), (2, False), (3, False)])
    def test_how_far_it_is_behind(self, embedded, most, behind):
        """More lines than so many."""
        embedded.add("a", "b")
        embedded.index()
        assert embedded.ledger.read(lambda s: vectors.is_behind(s, most)) is behind

    def test_a_sample_is_spread(self, embedded):
        """Indexed rows of every namespace."""
        other = embedded.of("other")
        for space in (embedded, other):
            space.add(*(f"n{n}" for n in range(5)))
            space.index()
        embed(embedded, 1, 0)
        settled(embedded)
        found = embedded.ledger.read(lambda s: vectors.sample(s, embedded.model, 4))
        assert {docid >> 40 for docid, _, _ in found} == {embedded.ns, other.ns}
        assert all(vector == blob(1, 0) for _, _, vector in found)

    def test_the_mark_is_kept(self, bench):
        """The last one."""
        assert bench.ledger.read(vectors.mark) is None
        for mark in ("a", "b"):
            bench.ledger.write(lambda s, m=mark: vectors.set_mark(s, m))
        assert bench.ledger.read(vectors.mark) == "b"


class TestDescent:
    """Parents that are not there yet."""

    def test_a_child_waits_for_its_parent(self, bench):
        """It is named once the parent comes, and not again."""
        child = bench.add(bench.entry("c", parents=["p", "q"]))[0]
        bench.write(links.note, [child])
        assert bench.write(links.take_waiting, ["p", "x"]) == {child.docid: {"p"}}
        assert bench.write(links.take_waiting, ["p", "q"]) == {child.docid: {"q"}}
        assert bench.write(links.take_waiting, ["p", "q"]) == {}

    def test_one_whose_parent_is_there_does_not(self, bench):
        """Only the absent ones are noted, and noting twice is noting."""
        bench.one("p", id="p")
        child = bench.add(bench.entry("c", parents=["p", "q"]))[0]
        for _ in range(2):
            bench.write(links.note, [child])
        assert bench.write(links.take_waiting, ["p"]) == {}
        assert bench.write(links.take_waiting, ["q"]) == {child.docid: {"q"}}

    def test_it_can_be_forgotten(self, bench):
        """When it gets other parents."""
        child = bench.add(bench.entry("c", parents=["p"]))[0]
        bench.write(links.note, [child])
        bench.ledger.write(lambda s: links.stop_waiting(s, child.docid))
        assert bench.write(links.take_waiting, ["p"]) == {}

    def test_namespaces_wait_apart(self, bench):
        """A memory of another namespace is not a parent."""
        child = bench.add(bench.entry("c", parents=["p"]))[0]
        bench.write(links.note, [child])
        assert bench.of("other").write(links.take_waiting, ["p"]) == {}

    def test_children_are_found(self, bench):
        """Those that name one of some ids, in order of arrival."""
        bench.add(
            bench.entry("a", parents=["p"]), bench.entry("b"), bench.entry("c", parents=["q", "p"])
        )
        assert [row.text for row in bench.read(links.children, ["p"])] == ["a", "c"]
        assert bench.read(links.children, ["r"]) == []

    def test_it_can_be_made_again(self, bench):
        """From the memories alone."""
        bench.one("p", id="p")
        child = bench.add(bench.entry("c", parents=["p", "q"]))[0]
        bench.ledger.write(links.note_all)
        assert bench.write(links.take_waiting, ["p", "q"]) == {child.docid: {"q"}}


@pytest.fixture
def doomed(embedded):
    """A namespace with memories that name each other, in every table."""
    web = Source(Trust.WEB, "https://example.com")
    embedded.add({"text": "a heron", "id": "a", "session": "s", "source": web})
    embedded.add(embedded.entry("from a", id="b", parents=["a"]), embedded.entry("kept", id="k"))
    embedded.add(embedded.entry("from b", id="c", parents=["b"]))
    embedded.one("a kite", id="d", supersedes="a", related="k")
    embedded.index()
    embed(embedded, 1, 0)
    embedded.write(memories.record, embedded.now, Event.RETRIEVED, None, {"ids": ["a", "k"]})
    return embedded


class TestErase:
    """Rows leave for good, and what names them too."""

    @pytest.mark.parametrize(
        ("what", "ids"),
        [
            (Chosen(ids=("c", "a")), "ac"),
            (Chosen(sources=("https://example.com",)), "a"),
            (Chosen(session="s"), "a"),
            (Chosen(everything=True), "abckd"),
            (Chosen(session="nobody's"), ""),
        ],
    )
    def test_what_is_meant(self, doomed, what, ids):
        """By ids, source, session or everything."""
        found = doomed.read(erasure.chosen, what)
        assert sorted(found.values()) == sorted(ids)

    def test_an_unknown_id_is_not_found(self, doomed):
        """Nothing is erased half."""
        with pytest.raises(NotFound):
            doomed.read(erasure.chosen, Chosen(ids=("a", "nobody")))

    def test_what_was_derived(self, doomed):
        """From it, and from that in turn."""
        roots = doomed.read(erasure.chosen, Chosen(ids=("a",)))
        assert sorted(doomed.read(erasure.derived, roots).values()) == ["b", "c"]

    def test_no_trace_is_left(self, doomed):
        """Rows, words, vectors, links, states and events are gone; the rest stays."""
        found = doomed.read(erasure.chosen, Chosen(ids=("a",)))
        counts = doomed.write(erasure.erase, found, doomed.now)
        assert counts["memories"] == 1
        assert counts["full text"] == 1
        assert doomed.find(Word("heron"), Word("kite")) == [[], [5]]
        assert doomed.read(erasure.still_there, ["a", "k", "d"]) == ["k", "d"]
        (docid,) = found
        assert doomed.ledger.read(lambda s: vectors.read(s, [docid], doomed.model)) == {}
        assert doomed.ledger.read(lambda s: memories.states(s, docid)) == []
        assert doomed.read(memories.by_id, "b").source_parents == "[]"
        events = doomed.read(lambda s, ns: [e[3] for e in transfer.events(s, ns) if e[3]])
        assert not any('"a"' in detail for detail in events)

    def test_readers_learn_of_it(self, doomed):
        """By the revision, and the row id is never given again."""
        rev = doomed.read(memories.latest_rev)
        found = doomed.read(erasure.chosen, Chosen(ids=("d",)))
        doomed.write(erasure.erase, found, doomed.now)
        assert doomed.read(past.erased_since, rev) == list(found)
        gone = [one for one in doomed.read(past.outlines_since, rev) if one[6] == "erased"]
        assert [one[0] for one in gone] == list(found)
        assert doomed.one("new").docid > max(found)

    def test_what_the_files_are_owed_is_noted(self, doomed):
        """Every part, until it is settled."""
        assert doomed.ledger.read(erasure.owed) == {}
        found = doomed.read(erasure.chosen, Chosen(ids=("a",)))
        doomed.write(erasure.erase, found, doomed.now)
        owing = doomed.ledger.read(erasure.owed)
        assert list(owing) == list(erasure.PARTS)
        assert doomed.ledger.read(erasure.erasures) == 1
        for part, number in owing.items():
            doomed.ledger.write(lambda s, p=part, n=number: erasure.settle(s, p, n))
        assert doomed.ledger.read(erasure.owed) == {}

    def test_a_later_erasure_is_not_settled_by_an_earlier_one(self, doomed):
        """A slow process settles only the erasures that it saw."""
        for memory_id in ("a", "b"):
            found = doomed.read(erasure.chosen, Chosen(ids=(memory_id,)))
            doomed.write(erasure.erase, found, doomed.now)
        doomed.ledger.write(lambda s: erasure.settle(s, "ledger", 1))
        assert "ledger" in doomed.ledger.read(erasure.owed)

    def test_the_file_forgets_it(self, doomed, files):
        """After compacting and folding the log, its words are nowhere in the store's files."""
        assert b"heron" in files()
        found = doomed.read(erasure.chosen, Chosen(everything=True))
        doomed.write(erasure.erase, found, doomed.now)
        doomed.ledger.compact()
        assert doomed.ledger.fold_log(5)
        assert b"heron" not in files()


class TestTransfer:
    """A namespace leaves as it is, and arrives as it was."""

    def test_every_row_leaves(self, doomed):
        """Rows of every status leave, in order of arrival."""
        rows = doomed.read(lambda s, ns: list(transfer.rows(s, ns)))
        assert [row.id for row in rows] == list("abkcd")

    def test_links_leave_by_id(self, doomed):
        """From, to, relation and weight."""
        found = doomed.read(lambda s, ns: list(transfer.links(s, ns)))
        assert found == [("d", "k", "related", 1.0), ("d", "a", "supersedes", 1.0)]

    def test_vectors_leave_unless_a_new_one_is_owed(self, doomed):
        """Of the embedder asked for."""
        row = doomed.read(memories.by_id, "k")
        ask = lambda s: transfer.vector(s, row.docid, doomed.model)  # noqa: E731 - asked twice
        assert doomed.ledger.read(ask) == blob(1, 0)
        doomed.ledger.write(lambda s: vectors.owe_embedding(s, None))
        assert doomed.ledger.read(ask) is None

    def test_they_arrive(self, doomed):
        """With states and vectors, found by their words."""
        target = doomed.of("target")
        rows = doomed.read(lambda s, ns: list(transfer.rows(s, ns)))
        states = {
            row.id: doomed.ledger.read(lambda s, r=row: memories.states(s, r.docid)) for row in rows
        }
        arrivals = []
        for row in rows:
            entry = target.entry(row.text, id=row.id)
            arrivals.append((row, entry.text, states[row.id], blob(0, 1)))
        target.write(transfer.put, arrivals, doomed.model)
        target.index()
        assert [row.id for row in target.read(memories.select, Filters(target.now))] == [
            "b", "k", "c", "d",
        ]  # fmt: skip
        assert target.find(Word("kite")) == [5]
        a = target.read(memories.by_id, "a")
        assert len(target.ledger.read(lambda s: memories.states(s, a.docid))) == 1
        assert list(
            target.ledger.read(lambda s: vectors.read(s, [a.docid], doomed.model)).values()
        ) == [blob(0, 1)]

    def test_one_that_is_here_is_known(self, bench):
        """The same memory, or an id of another one's."""
        row = bench.one("a", id="x")
        assert bench.read(transfer.known, row)
        stranger = bench.entry("b", id="x").row
        stranger.created_at += 1
        with pytest.raises(IdConflict):
            bench.read(transfer.known, stranger)
        assert not bench.of("other").read(transfer.known, row)

    def test_links_arrive_once(self, bench):
        """Between memories that are here."""
        bench.add({"text": "a", "id": "a"}, {"text": "b", "id": "b"})
        put = [bench.write(transfer.put_link, ("a", "b"), "related", 1.0) for _ in range(2)]
        assert put == [True, False]
        assert not bench.write(transfer.put_link, ("a", "nobody"), "related", 1.0)

    def test_events_arrive_in_order(self, bench):
        """With the memory they are about."""
        bench.one("a", id="a")
        bench.write(transfer.put_event, 5, "retrieved", None, {"ids": ["a"]})
        bench.write(transfer.put_event, 3, "updated", "a", None)
        found = bench.read(lambda s, ns: list(transfer.events(s, ns)))
        assert [(at, kind, about) for at, kind, about, _ in found] == [
            (5, "retrieved", None), (3, "updated", "a"),
        ]  # fmt: skip


class TestChecks:
    """Sound tables are reported as sound, and derived tables can be repaired."""

    def test_all_is_sound(self, doomed):
        """After every kind of change."""
        read = doomed.ledger.read
        assert doomed.ledger.quick_check() == []
        assert list(read(checks.changed_rows)) == []
        assert list(read(checks.changed_versions)) == []
        assert (read(checks.changed_links), read(checks.changed_events)) == (0, 0)
        assert set(read(checks.stray_rows).values()) == {0}
        assert read(checks.unowed_rows) == []

    def test_a_changed_row_is_seen(self, bench):
        """One whose content no longer fits its seal."""
        row = bench.one("a")
        bench.ledger.write(
            lambda s: s.execute("UPDATE memories SET text = 'b' WHERE docid = ?", (row.docid,))
        )
        assert len(bench.ledger.read(checks.changed_rows)) == 1

    def test_a_changed_link_is_seen(self, doomed):
        """By its seal."""
        doomed.ledger.write(lambda s: s.execute("UPDATE links SET weight = 0.5"))
        assert doomed.ledger.read(checks.changed_links) == 2

    def test_a_changed_event_is_seen(self, doomed):
        """By its seal."""
        doomed.ledger.write(lambda s: s.execute("UPDATE events SET at = at + 1"))
        assert doomed.ledger.read(checks.changed_events) > 0

    def test_strays_are_dropped(self, doomed):
        """Derived rows without their memory."""
        doomed.ledger.write(lambda s: s.execute("DELETE FROM memories WHERE id = 'k'"))
        before = doomed.ledger.read(checks.stray_rows)
        assert before["embeddings"] == 1
        doomed.ledger.write(checks.drop_strays)
        assert set(doomed.ledger.read(checks.stray_rows).values()) == {0}

    def test_what_is_missing_is_owed(self, doomed):
        """Active and superseded rows without a vector or a line."""
        settled(doomed)
        doomed.ledger.write(lambda s: s.execute("DELETE FROM embeddings"))
        assert len(doomed.ledger.read(checks.unowed_rows)) == 5
        doomed.ledger.write(checks.owe_missing)
        assert doomed.ledger.read(checks.unowed_rows) == []
        assert {op for _, op in owed(doomed)} == {"embed"}

    def test_it_can_be_tended_while_in_use(self, bench):
        """Checkpoints, sizes and the reserve answer, and change no memory."""
        bench.add("a", "b")
        bench.ledger.checkpoint()
        bench.ledger.keep_reserve()
        assert bench.ledger.wal_bytes() >= 0
        assert isinstance(bench.ledger.reserve_trouble, str)
        assert not bench.ledger.locks_lost
        assert bench.read(memories.latest_rev) == 2

"""Changes: numbered, sealed, listed and forgotten, on every engine."""

from __future__ import annotations

from memento.ledger import changes, erasure, links, memories, past
from memento.ledger.rows import docid_of
from memento.write import change, slots

HOUR = 3_600_000_000


def changed(bench, job, verb="test", **options):
    """Run a step and write it down as a change; returns its number."""

    def carry_out(work):
        job(work)
        return changes.finish(work, verb, **options)

    return bench.change(carry_out)


def forgotten(bench, *rows, **options):
    """Forget memories in one change; returns its number."""
    return changed(bench, lambda work: [change.forget(work, row.id) for row in rows], **options)


def found(bench, number):
    """Read a change."""
    return bench.read(changes.find, number)


def listed(bench, **asked):
    """List the numbers of changes."""
    every = {"since": None, "docid": None, "run": None, "before": docid_of(bench.ns + 1, 0)}
    given = every | {"limit": 9} | asked
    return [one.change for one in bench.read(changes.listed, **given)]


def test_a_write_that_ends_no_state_is_not_written_down(bench):
    """A number is taken only with the first state that ends."""
    assert changed(bench, lambda _work: bench.entry()) is None
    assert listed(bench) == []


def test_a_change_has_the_revisions_that_it_took(bench):
    """From the first to the last of its job, and none of its neighbours."""
    a, b = bench.one("tea"), bench.one("door")
    number = forgotten(bench, a, b)
    bench.one("milk")
    one = found(bench, number)
    assert (one.rev_from, one.rev_to) == (3, 4)
    ended = bench.ledger.read(lambda s: changes.ended(s, number))
    assert [(e.docid, e.before, e.last) for e in ended] == [(a.docid, 1, 1), (b.docid, 2, 2)]
    assert bench.ledger.read(lambda s: changes.brought(s, one)) == []


def test_numbers_go_up_and_namespaces_see_their_own(bench):
    """A change of another namespace is not found by its number."""
    first = forgotten(bench, bench.one("tea"))
    other = bench.of("acme")
    second = forgotten(other, other.one("tea"))
    assert second > first
    assert (found(bench, second), found(other, first)) == (None, None)
    assert (listed(bench), listed(other)) == ([first], [second])


def test_changes_are_listed_by_moment_memory_and_run(bench):
    """The newest first, at most as many as asked for."""
    a, b = bench.one("tea"), bench.one("door")
    first = forgotten(bench, a, begins_run=True)
    bench.now += HOUR
    second = forgotten(bench, b, run=first)
    assert listed(bench) == [second, first]
    assert listed(bench, limit=1) == listed(bench, since=bench.now) == [second]
    assert listed(bench, docid=a.docid) == [first]
    assert listed(bench, run=first) == [second, first]
    assert [one.change for one in bench.read(changes.of_run, first)] == [second, first]


def test_a_damaged_change_is_seen_and_left_out(bench):
    """It does not matter which column was changed; the other changes are listed."""
    rows = [bench.one(f"note {n}") for n in range(3)]
    numbers = [forgotten(bench, row) for row in rows]
    bench.ledger.write(
        lambda s: s.execute("UPDATE changes SET rev_to = 9 WHERE change = ?", (numbers[1],))
    )
    assert bench.ledger.read(changes.CHANGES.damaged) == 1
    assert listed(bench) == [numbers[2], numbers[0]]
    assert found(bench, numbers[1]) is None


def test_what_was_undone_says_by_what(bench):
    """The mark is sealed, and can be taken away."""
    number = forgotten(bench, bench.one("tea"))
    bench.ledger.write(lambda s: changes.mark_undone(s, found(bench, number), 7))
    assert found(bench, number).undone_by == 7
    one = found(bench, number)
    bench.ledger.write(lambda s: changes.mark_undone(s, one, None))
    assert found(bench, number).undone_by is None
    assert bench.ledger.read(changes.CHANGES.damaged) == 0


def test_links_are_noted_with_their_change(bench):
    """Made ones and removed ones; a link that was there is neither."""
    a, b = bench.one("tea"), bench.one("door")

    def job(work):
        changes.begin(work)
        for _ in range(2):
            changes.link(work, a.docid, b.docid, "related")
        changes.unlink(work, b.docid, a.docid, "related")

    number = changed(bench, job)
    made = bench.ledger.read(lambda s: changes.changed_links(s, number))
    assert made == [(a.docid, b.docid, "related", 1.0, True)]


def test_an_erased_memory_leaves_no_trace(bench):
    """Its states and links go; the change stays, and knows nothing of it."""
    a, b = bench.one("tea", key="k"), bench.one("door")
    number = changed(bench, lambda work: slots.supersede(work, a, b))
    bench.write(lambda s, ns: erasure.erase(s, ns, {a.docid: a.id}, bench.now))
    assert bench.ledger.read(lambda s: changes.ended(s, number)) == []
    assert bench.ledger.read(lambda s: changes.changed_links(s, number)) == []
    one = found(bench, number)
    assert bench.ledger.read(lambda s: changes.ids_of(s, one)) == ([], [])


def test_later_changes_of_a_memory(bench):
    """In order, each once, with what it undid."""
    row = bench.one("tea")
    first = forgotten(bench, row)
    second = changed(bench, lambda work: change.restore(work, row.id), undoes=first)
    later = bench.ledger.read(lambda s: changes.later(s, row.docid, 0))
    assert later == [(first, None), (second, first)]
    assert bench.ledger.read(lambda s: changes.later(s, row.docid, 1)) == [(second, first)]
    assert bench.ledger.read(lambda s: changes.latest_of(s, row.docid)) == second


def test_a_memory_as_it_was(bench):
    """At a revision, and at a moment; before it came there is nothing."""
    row = bench.one("tea")
    bench.now += HOUR
    forgotten(bench, row)
    now = bench.read(lambda s, ns: past.at_moment(s, row_of(s, ns, row), bench.now))
    then = bench.read(lambda s, ns: past.at_moment(s, row_of(s, ns, row), bench.now - 1))
    none = bench.read(lambda s, ns: past.at_moment(s, row_of(s, ns, row), row.created_at - 1))
    assert (now.status, then.status, none) == ("forgotten", "active", None)
    assert bench.read(lambda s, ns: past.at_revision(s, row_of(s, ns, row), 1)).status == "active"
    touched = bench.read(past.touched_between, row.created_at, bench.now, after=None, limit=9)
    assert touched == [row.docid]
    assert not bench.read(past.touched_between, bench.now, bench.now + 1, after=None, limit=9)


def row_of(session, ns, row):
    """Read a memory as it is."""
    return memories.by_id(session, ns, row.id)


def test_chains_are_followed_to_their_head(bench):
    """From any member; a memory alone is its own head."""
    a, b, c = (bench.one(text) for text in ("tea", "door", "milk"))
    for old, new in ((a, b), (b, c)):
        changed(bench, lambda work, old=old, new=new: slots.supersede(work, old, new))
    assert bench.read(lambda s, ns: links.head(s, row_of(s, ns, a))) == c.id
    assert bench.read(lambda s, ns: [r.id for r in links.members(s, ns, c.id)]) == [
        a.id, b.id, c.id,
    ]  # fmt: skip
    assert bench.read(links.leads_to, a.id, c.id)
    assert not bench.read(links.leads_to, c.id, a.id)
    assert bench.read(links.is_successor, c.id)
    assert not bench.read(links.is_successor, a.id)

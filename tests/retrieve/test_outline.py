"""An outline in a file is the namespace as its rows say it, and never stands in for other rows."""

from __future__ import annotations

import random
import shutil

import damage
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config
from memento.config import IndexConfig
from memento.ledger import vectors
from memento.retrieve import by_name, outline
from memento.retrieve.columns import COLUMNS, Roster, RosterRow
from memento.retrieve.outline import KIND
from memento.text.words import Cue
from memento.tiers import derived

QUIET = Config(index=IndexConfig(start_seconds=0.0, poll_seconds=0.01))
CANARY = "zqxcanaryword"
WORDS = ("tea", "kettle", "harbour", "lamp", "garden", "winter", "ferry", "violin", "pepper")
ASKED = ("the lamp of Rami", "a violin in winter", "kettle color", "pepper 7", "what did Ada say")

names = st.sampled_from([None, "s1", "s2", "Ada Byron", "x\ud800", "\0"])
drawn = st.lists(
    st.tuples(
        st.integers(1, 40), names, names, st.sampled_from(["", "a", "a/b"]),
        st.sampled_from(["active", "superseded", "quarantined", "forgotten", "erased"]),
        st.integers(0, 30), st.sampled_from([0, int(Cue.SHORT)]), st.integers(0, 10**15),
        st.sampled_from([None, "slot/colour", "name"]),
        st.lists(st.sampled_from(["blue car", "Ada"]), max_size=2),
    ),
    max_size=12,
)  # fmt: skip


def row_of(one):
    """Make the outline of one memory."""
    docid, session, actor, scope, status, words, cues, at, key, aliases = one
    return RosterRow(
        docid, session, actor, scope, "medium", "fact", status, words, min(words, 3), cues, 0.5, at,
        key=key, aliases=tuple(aliases),
    )  # fmt: skip


def roster_of(rows):
    """Make a roster from rows that come and change in turn."""
    roster, newest = Roster(), 0
    for row in map(row_of, rows):
        docid = row.docid if row.docid <= newest and _has(roster, row.docid) else newest + 1
        newest = max(newest, docid)
        roster.apply([row._replace(docid=docid)])
    return roster


def _has(roster, docid):
    return docid in roster.view().docid


def said(roster):
    """Return all that a query sees of a roster."""
    snap = roster.view()
    codes = {"session": snap.session_names, "actor": snap.actors, "scope": snap.scopes}
    columns = {name: getattr(snap, name).tolist() for name in COLUMNS if hasattr(snap, name)}
    for name, interned in codes.items():
        columns[name] = [None if code < 0 else interned.names[code] for code in columns[name]]
    people = {one: -1 if c < 0 else snap.actors.names[c] for one, c in snap.people.items()}
    found = snap.names.called(["blue", "car", "colour", "slot", "name", "ada"], unheard=True)
    found = [(sorted(one.rows), one.length, one.typos, one.start) for one in found]
    numbers = (snap.n, snap.live, snap.mean_window, snap.talks, snap.years)
    return columns, people, found, numbers


def reread(roster):
    """Write a roster as its file holds it, and read it again."""
    n, parts = outline.content_of(roster)
    return outline.roster_of(b"".join(parts), n)


@given(drawn, drawn)
@settings(max_examples=20)
def test_a_roster_read_from_its_file_is_the_same(first, later):
    """In all that a query sees; and so it stays whatever changes afterwards."""
    roster = roster_of(first)
    again = reread(roster)
    assert said(again) == said(roster)
    newest = max([0, *roster.view().docid.tolist()])
    for one in later:
        row = row_of(one)._replace(docid=newest + 1 if one[0] > newest else one[0])
        newest = max(newest, row.docid)
        for each in (roster, again):
            each.apply([row])
    assert said(again) == said(roster)


def test_a_name_that_only_an_erased_memory_bore_is_not_written():
    """The roster in RAM remembers it; its file does not."""
    row = RosterRow(1, CANARY, CANARY, CANARY, "medium", "fact", "active", 3, 3, 0, 0.5, 1,
                    key=CANARY, aliases=(CANARY,))  # fmt: skip
    roster = Roster()
    roster.apply(
        [row, row._replace(docid=2, session="s", actor="Ada", scope="", key=None, aliases=())]
    )
    gone = RosterRow(1, None, None, "", "medium", "fact", "erased", 0, 0, 0, 0.0, 0)
    assert CANARY.encode() in b"".join(outline.content_of(roster).parts)
    roster.apply([gone])
    assert CANARY.encode() not in b"".join(outline.content_of(roster).parts)
    assert said(reread(roster)) == said(roster)


@pytest.fixture
def soon(monkeypatch):
    """Write an outline after few revisions."""
    monkeypatch.setattr(outline, "MANY", 30)


def filled(memory, n=60, first=0):
    """Put memories into a store."""
    rng = random.Random(first)
    memory.add_many(
        {
            "text": f"{rng.choice(WORDS)} and {rng.choice(WORDS)} of {i}",
            "id": f"m{i}",
            "tier": "long",
        }
        | (
            {"session": f"s{i // 9}", "actor": ("Ada", "Rami")[i % 2]}
            if i % 3
            else {"key": f"k{i}"}
        )
        for i in range(first, first + n)
    )
    return memory


def answers(memory):
    """Ask a store everything."""
    found = [memory.retrieve(asked, 8, record=False) for asked in ASKED]
    return [[(hit.id, hit.score, dict(hit.terms)) for hit in one] for one in found]


def read_from_file(monkeypatch):
    """Return a list that grows by one for each namespace that is read from its file."""
    read, seen = outline.Outlines.load, []

    def load(self, *given):
        found = read(self, *given)
        if found is not None:
            seen.append(found.rev)
        return found

    monkeypatch.setattr(outline.Outlines, "load", load)
    return seen


@pytest.mark.usefixtures("soon")
def test_the_next_process_reads_the_outline_and_follows(open_memory, tmp_path, monkeypatch):
    """Written at close; later additions, changes and erasures show."""
    root, seen = tmp_path / "store", read_from_file(monkeypatch)
    with filled(open_memory(root, config=QUIET)) as memory:
        expected = answers(memory)
    assert [path.name for path in (root / "derived").iterdir()] == ["1.outline"]
    with open_memory(root, config=QUIET) as memory:
        assert answers(memory) == expected
        assert len(seen) == 1
        filled(memory, 5, 100)
        memory.update("m7", text="violin in winter")
        memory.forget("m9")
        changed = answers(memory)
        assert changed != expected
    with open_memory(root, config=QUIET) as memory:
        assert answers(memory) == changed
        assert len(seen) == 2
    shutil.rmtree(root / "derived")
    assert answers(open_memory(root, config=QUIET)) == changed
    assert len(seen) == 2


DAMAGE = damage.DAMAGE | {
    "a bit of the names": lambda path: damage.flip(path, derived.HEAD + 20),
    "a bit of the columns": lambda path: damage.flip(path, -8),
    "of another namespace": lambda path: shutil.copy(path.with_name("2.outline"), path),
    "of another day": lambda path: shutil.copy(path.with_name("earlier"), path),
}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_outline_costs_no_answer(open_memory, tmp_path, monkeypatch, how):
    """It is not read; the rows are."""
    monkeypatch.setattr(vectors, "MARKS", 2)
    root = tmp_path / "store"
    with filled(open_memory(root, config=QUIET)) as memory:
        answers(memory)
        answers(filled(memory.of("other"), 40, 500))
    path = root / "derived" / f"1.{KIND}"
    shutil.copy(path, path.with_name("earlier"))
    for first in (100, 200):  # the mark before the last is known as well
        with filled(open_memory(root, config=QUIET), 40, first) as memory:
            expected = answers(memory)
    DAMAGE[how](path)
    seen = read_from_file(monkeypatch)
    assert answers(open_memory(root, config=QUIET)) == expected
    assert seen == []


@pytest.mark.usefixtures("soon")
def test_names_in_words_of_another_release_are_not_used(open_memory, tmp_path, monkeypatch):
    """The file holds the words of each name; a release may take the same name apart otherwise."""
    root = tmp_path / "store"
    with filled(open_memory(root, config=QUIET)) as memory:
        answers(memory)
    seen, split = read_from_file(monkeypatch), by_name.terms
    monkeypatch.setattr(by_name, "terms", lambda name: [word[:3] for word in split(name)])
    answers(open_memory(root, config=QUIET))
    assert seen == []


@pytest.mark.usefixtures("soon")
def test_a_mended_memory_is_found_again(open_memory, tmp_path):
    """No outline is written of rows that could not all be read."""

    def tier_of_m9(memory, tier):
        change = "UPDATE memories SET tier = ? WHERE id = 'm9'"
        memory._engine.ledger.write(lambda c: c.execute(change, (tier,)))

    root = tmp_path / "store"
    with filled(open_memory(root, config=QUIET)) as memory:
        tier_of_m9(memory, "shirt")
        assert not memory.retrieve("of 9", record=False)
    with open_memory(root, config=QUIET) as memory:
        tier_of_m9(memory, "long")
        assert [hit.id for hit in memory.retrieve("of 9", record=False)] == ["m9"]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("busy", ["with derived files", "in a transaction"])
def test_an_outline_that_could_not_be_written_is_written_later(
    open_memory, busy, elsewhere_in_a_transaction
):
    """Another process was busy, and nobody waited for it long."""
    memory = filled(open_memory(config=QUIET))
    keep = derived.locked if busy == "with derived files" else elsewhere_in_a_transaction
    with keep(memory.store.root):
        answers(memory)
        memory._engine.searcher.keep_outlines()
        assert not list(memory.store.root.glob("derived/*"))
    memory._engine.searcher._outlines._filing._not_before.clear()
    memory._engine.searcher.keep_outlines()
    assert list(memory.store.root.glob("derived/*.outline"))


@pytest.mark.usefixtures("soon")
def test_what_a_killed_writer_left_is_removed(open_memory):
    """Its draft, whether it came to the head or not; a file of another program stays."""
    memory = filled(open_memory(config=QUIET))
    folder = memory.store.root / "derived"
    folder.mkdir()
    for draft, content in (("00000001", bytes(9_000)), ("00000002", derived.MAGIC), ("f0", b"PK")):
        (folder / f"1.{KIND}.{draft.zfill(8)}.tmp").write_bytes(content)
    answers(memory)
    memory.close()
    assert sorted(path.name for path in folder.iterdir()) == [
        f"1.{KIND}", f"1.{KIND}.000000f0.tmp"
    ]  # fmt: skip


@pytest.mark.usefixtures("soon")
def test_an_erasure_removes_the_outline(open_memory, tmp_path):
    """Its names are in no file afterwards, not in one that is written later either."""
    root = tmp_path / "store"
    with filled(open_memory(root, config=QUIET)) as memory:
        memory.add("secret", "long", id="x", session=CANARY, actor=CANARY, key=CANARY)
        answers(memory)
    path = root / "derived" / f"1.{KIND}"
    assert CANARY.encode() in path.read_bytes()
    with open_memory(root, config=QUIET) as memory:
        answers(memory)
        assert f"derived/1.{KIND}" in memory.store.erase(["x"]).removed
        assert not path.exists()
        expected = answers(filled(memory, 40, 300))
    assert CANARY.encode() not in path.read_bytes()
    assert answers(open_memory(root, config=QUIET)) == expected


@pytest.mark.usefixtures("soon")
def test_rows_of_before_an_erasure_are_not_written(open_memory, tmp_path):
    """Another process erased something since they were followed."""
    one, other = (open_memory(tmp_path / "store", config=QUIET) for _ in range(2))
    answers(filled(one))
    other.store.erase(["m3"])
    one._engine.searcher.keep_outlines()
    assert not list((tmp_path / "store").glob("derived/*"))


def test_a_small_namespace_has_no_outline(open_memory, tmp_path):
    """Its rows are read in a moment."""
    with filled(open_memory(tmp_path / "store", config=QUIET)) as memory:
        answers(memory)
    assert not (tmp_path / "store/derived").exists()


def test_columns_keep_their_types():
    """A column that was read has the type that it was written with: int64 stays int64."""
    again = reread(roster_of([(1, "s1", "Ada", "a", "active", 3, 0, 10**15, "name", ["x"])]))
    assert {n: c.dtype for n, c in again.state().columns.items()} == {
        name: np.dtype(kind) for name, kind in COLUMNS.items()
    }

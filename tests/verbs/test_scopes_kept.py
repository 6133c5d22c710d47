"""Scopes and shares in every care of the store: erase, backup, export, doctor, salvage."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from beside import close_and_damage, counted, exported, written

from memento import Status
from memento.errors import ArchiveDamaged, ArchiveFromTheFuture, InvalidInput
from memento.ledger.scope_rows import whole, whole_share
from memento.upkeep.backup import restore, salvage

SIGN = "xylograph"
"""A word that is in the names of a scope and nowhere else."""
TABLES = ("scopes", "shares")


@pytest.fixture
def full(memory):
    """A named scope, a merged one, and a share."""
    memory.scopes.define("art", title=f"The {SIGN}", aliases=[f"{SIGN} press"])
    memory.add("Prints dry for a day", scope="art", id="dry")
    memory.add("Ink is kept cold", scope="ink", id="ink")
    memory.scopes.merge("ink", "art")
    memory.scopes.share("art", "rami")
    return memory


def seen(memory):
    """Return the ids that the other namespace sees."""
    return sorted(hit.id for hit in memory.of("rami").retrieve("prints ink", record=False))


def test_erasing_everything_leaves_no_word_of_a_scope(full):
    """Neither rows nor a word in any file; the receipt counts them."""
    done = full.store.erase(everything=True)
    assert (done.rows["scopes"], done.rows["shares"]) == (2, 1)
    assert done.complete
    assert counted(full, *TABLES) == (0, 0)
    assert SIGN.encode() not in written(full.store.root)


def test_erasing_a_memory_leaves_the_scopes(full):
    """They are not the memory's; who sees the scope does not see it any more."""
    full.store.erase("dry")
    assert counted(full, *TABLES) == (2, 1)
    assert seen(full) == ["ink"]


def test_an_erased_memory_that_was_shown_leaves_no_trace(full):
    """Nothing of it is kept by the namespace that it was shown to."""
    rami, mark = full.of("rami"), "quokkapress"
    full.add(f"Prints go through the {mark}", scope="art", kind="decision", id="mark")
    rami.rules.policy("prints", scope="art", session="s")
    rami.retrieve("prints")
    rami.prompt("prints of the press")
    full.flush(wait=True)
    assert full.store.erase("mark").complete
    assert mark.encode() not in written(full.store.root)


def test_a_backup_has_them(full, tmp_path, open_memory):
    """A restored store shows the same, and can undo the merge."""
    full.store.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", tmp_path / "again")
    again = open_memory(tmp_path / "again")
    assert again.scopes.list() == full.scopes.list()
    assert seen(again) == ["dry", "ink"]
    assert again.scopes.unmerge("ink") == 1


def test_a_store_set_back_has_the_scopes_of_then(memory, tmp_path, open_memory, clock):
    """Names, merges and shares of later are undone; the memories are where they were."""
    memory.add("one", scope="a")
    memory.scopes.define("a", title="A")
    moment = clock()
    clock.advance(timedelta(minutes=1))
    memory.scopes.define("late")
    memory.scopes.merge("a", "b")
    memory.scopes.share("b", "rami")
    memory.store.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", tmp_path / "again", at=moment)
    again = open_memory(tmp_path / "again")
    assert [(one.path, one.title, one.merged_into) for one in again.scopes.list()] == [
        ("a", "A", None)
    ]
    assert again.add("two", scope="a").scope == "a"
    assert again.of("rami").scopes.list() == []
    assert all(finding.ok for finding in again.store.doctor())


def test_an_export_has_them(full, open_memory, tmp_path):
    """Round trip byte for byte, and again nothing new."""
    text = exported(full)
    assert full.store.export(io.StringIO()).scopes == 2
    copy = open_memory(tmp_path / "copy")
    done = copy.store.import_from(io.StringIO(text), trust="user")
    assert (done.scopes, done.shares) == (2, 1)
    done = copy.store.import_from(io.StringIO(text), trust="user")
    assert (done.scopes, done.shares) == (0, 0)
    assert exported(copy) == text
    assert seen(copy) == ["dry", "ink"]
    assert copy.add("new", scope="ink").scope == "art"


def test_an_import_into_another_namespace_shares_nothing(full, open_memory, tmp_path):
    """A share is of the namespace that gave it."""
    copy = open_memory(tmp_path / "copy")
    text = io.StringIO(exported(full))
    done = copy.of("x").store.import_from(text, trust="user")
    assert (done.scopes, done.shares) == (2, 0)
    assert copy.of("rami").scopes.list() == []


def test_a_strangers_scopes_and_shares_are_not_taken(full, open_memory, tmp_path):
    """A file that is not one's own opens nothing."""
    copy = open_memory(tmp_path / "copy")
    done = copy.store.import_from(io.StringIO(exported(full)), trust="import")
    assert (done.scopes, done.shares) == (0, 0)
    assert counted(copy, *TABLES) == (0, 0)


def test_an_imported_merge_hides_nothing_that_is_here(full, open_memory, tmp_path):
    """It is not taken where the merged scope is in use: its memories would not be found by it."""
    copy = open_memory(tmp_path / "copy")
    copy.add("Ink is black", scope="ink/black")
    copy.store.import_from(io.StringIO(exported(full)), trust="user")
    assert {one.text for one in copy.list(within="ink")} == {"Ink is black"}
    assert copy.add("Ink is wet", scope="ink").scope == "ink"


def test_imported_merges_make_no_circle(full, open_memory, tmp_path):
    """Here ``art`` is a part of ``ink``; there it is the other way round."""
    copy = open_memory(tmp_path / "copy")
    copy.scopes.merge("art", "ink")
    copy.store.import_from(io.StringIO(exported(full)), trust="user")
    assert {one.text for one in copy.list(within="art")} == {
        "Prints dry for a day",
        "Ink is kept cold",
    }
    assert {one.merged_into for one in copy.scopes.list()} == {"ink", None}


@pytest.mark.parametrize("trust", ["user", "import"])
def test_imported_memories_go_where_their_scope_was_merged_to(memory, open_memory, tmp_path, trust):
    """Once; the same file again finds them there."""
    memory.add("Ink is kept cold", scope="ink/red")
    file = exported(memory)
    copy = open_memory(tmp_path / "copy")
    copy.scopes.merge("ink", "art")
    for _ in range(2):
        copy.store.import_from(io.StringIO(file), trust=trust)
        assert [one.scope for one in copy.list(status=list(Status))] == ["art/red"]
    assert all(finding.ok for finding in copy.store.doctor())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"merged_into": "art"', '"merged_into": null'),
        ('"path": "ink"', '"path": ""'),
        ('"merged_into": "art"', '"merged_into": "ink"'),
        ('"merged_into": "art"', '"merged_into": "ink/x"'),
        ('"with": ["rami"]', '"with": []'),
        ('"title": "The xylograph"', '"title": 3'),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(full, open_memory, tmp_path, old, new):
    """Nothing of the file is imported."""
    lines = exported(full).splitlines(keepends=True)
    changed = [line.replace(old, new) for line in lines[:-1]]
    assert changed != lines[:-1]
    from hashlib import sha256  # noqa: PLC0415 - here only

    digest = sha256("".join(changed).encode()).hexdigest()
    end = lines[-1][: lines[-1].index('"sha256"')] + f'"sha256": "{digest}"}}\n'
    copy = open_memory(tmp_path / "copy")
    with pytest.raises((InvalidInput, ArchiveDamaged, ArchiveFromTheFuture)):
        copy.store.import_from(io.StringIO("".join([*changed, end])), trust="user")
    assert copy.list() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE scopes SET title = 'obey me' WHERE path = 'art'",
        "UPDATE scopes SET merged_into = 'evil' WHERE path = 'ink'",
        "UPDATE shares SET scope = ''",
        "UPDATE shares SET other = 9",
        "INSERT INTO shares VALUES (1, '', 2, 0, x'00')",
    ],
)
def test_what_was_changed_outside_is_not_believed(full, open_memory, statement, tmp_path):
    """The doctor reports it, a backup refuses it, and no answer heeds it."""
    full.add("a secret print", id="secret")
    close_and_damage(full, statement)
    memory = open_memory()
    assert [one.check for one in memory.store.doctor() if not one.ok] == ["scopes"]
    assert "secret" not in seen(memory)
    assert "obey me" not in repr(memory.scopes.list())
    assert memory.add("new", scope="ink").scope in ("art", "ink")
    with pytest.raises(ArchiveDamaged, match="scopes or shares"):
        memory.store.backup(tmp_path / "b.db")


def test_salvage_brings_names_back_and_opens_nothing(full, open_memory):
    """From the pages alone; merges and shares are for people to say again."""
    close_and_damage(full, "UPDATE memories SET text = 'x' WHERE id = 'dry'")
    salvage(full.store.root)
    memory = open_memory(full.store.root)
    found = {one.path: (one.title, one.merged_into) for one in memory.scopes.list()}
    assert found == {"art": (f"The {SIGN}", None), "ink": ("", None)}
    assert seen(memory) == []
    assert all(finding.ok for finding in memory.store.doctor())


def test_every_column_is_under_the_seal(full):
    """A changed value of any column makes the row unbelieved."""
    for table, check in zip(TABLES, (whole, whole_share), strict=True):
        query = f"SELECT * FROM {table}"
        for values in full._engine.ledger.read(lambda c, q=query: c.execute(q).fetchall()):
            assert check(values) is not None
            for at, value in enumerate(values):
                other = [*values]
                other[at] = f"{value}!"
                assert check(other) is None, (table, at)

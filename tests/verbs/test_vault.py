"""A folder of notes and the memories: who may change what, and what is never touched."""

from __future__ import annotations

import fcntl
import json
import os

import pytest

from memento.base.files import opened_folder
from memento.errors import InvalidInput, StoreBusy
from memento.types import Status
from memento.verbs.vault import STATE


class Vault:
    """A folder of notes, and the calls that change it."""

    def __init__(self, memory, root):
        self.memory, self.root = memory, root

    def sync(self, **options):
        """Sync; returns (action, why) of each step in order."""
        done = self.memory.store.sync_vault(self.root, **options)
        return [(step.action, step.why) for step in done.steps]

    def expect_left(self, *words):
        """Sync, which leaves one note as it is, for a reason that has some words."""
        ((action, why),) = self.sync()
        assert action == "left", why
        assert all(word in why for word in words), why

    def path(self, part=""):
        """Return the one note whose name has a part."""
        (path,) = [one for one in self.root.rglob("*.md") if part in one.name]
        return path

    def edit(self, old, new, part=""):
        """Replace words of a note."""
        path = self.path(part)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture
def vault(memory, tmp_path):
    """An empty vault."""
    return Vault(memory, tmp_path / "notes")


@pytest.fixture
def one(memory, vault):
    """A memory that has a note."""
    kept = memory.add("Rami lives in Oslo", key="rami/city", tags=["home"])
    assert vault.sync() == [("written", "")]
    return kept


@pytest.mark.usefixtures("one")
def test_nothing_is_written_twice(vault):
    """What is the same on both sides is left as it is, its time included."""
    before = {path: path.stat().st_mtime_ns for path in vault.root.rglob("*")}
    assert vault.sync() == []
    assert before == {path: path.stat().st_mtime_ns for path in vault.root.rglob("*")}


def test_a_note_changes_its_memory(memory, one, vault):
    """Text, kind, tags and scope are the user's own words, and can be undone together."""
    vault.edit("Oslo", "Bergen")
    vault.edit("  - home", "  - home\n  - norway\nscope: project/north")
    vault.edit("kind: fact", "kind: preference")
    vault.root.joinpath("new.md").write_text("---\nmemento: new\n---\nRami drinks tea\n")
    done = memory.store.sync_vault(vault.root)
    (new,) = (one.id for one in memory.list() if one.text == "Rami drinks tea")
    found = memory.get(one.id)
    assert (found.text, found.tags, found.kind) == (
        "Rami lives in Bergen",
        ("home", "norway"),
        "preference",
    )
    assert (found.scope, found.source.kind) == ("project/north", "user")
    memory.undo(run=done.run)
    assert memory.get(one.id).text == "Rami lives in Oslo"
    assert memory.get(new).status == "forgotten"
    assert sorted(vault.sync()) == [("removed", ""), ("written", "")]
    assert "Oslo" in vault.path().read_text()


def test_different_fields_do_not_conflict(memory, one, vault):
    """A tag in the note and a text in the store are both taken."""
    memory.update(one.id, text="Rami lives in Bergen")
    vault.edit("  - home", "  - norway")
    assert vault.sync() == [("updated", "tags"), ("written", "")]
    assert memory.get(one.id).tags == ("norway",)
    assert "Bergen" in vault.path().read_text()


def test_of_a_conflict_both_are_kept(memory, one, vault):
    """The note holds; the other text is in the history, and the report names the field."""
    memory.update(one.id, text="Rami lives in Bergen")
    vault.edit("Oslo", "Paris")
    assert vault.sync() == [("conflict", "text")]
    assert memory.get(one.id).text == "Rami lives in Paris"
    assert "Rami lives in Bergen" in [old.text for old in memory.changes.history(one.id)]


def test_a_deleted_note_forgets(memory, one, vault):
    """It can be restored, and then has a note again."""
    vault.path().unlink()
    assert vault.sync() == [("forgotten", "")]
    assert memory.get(one.id).status is Status.FORGOTTEN
    memory.restore(one.id)
    assert vault.sync() == [("written", "")]


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_what_is_gone_loses_its_note(memory, one, vault, verb):
    """Forgotten or erased: the note is removed."""
    memory.forget(one.id) if verb == "forget" else memory.store.erase(one.id)
    assert vault.sync() == [("removed", "")]
    assert not [*vault.root.rglob("*.md")]


def test_an_edit_of_what_is_gone_is_kept(memory, one, vault):
    """The note stays until the person says what is to become of it."""
    memory.store.erase(one.id)
    vault.edit("Oslo", "Paris")
    for _ in range(2):
        vault.expect_left("was erased", "memento: new")
    vault.edit(one.id, "new")
    assert vault.sync() == [("added", ""), ("written", "")]
    assert [found.text for found in memory.list()] == ["Rami lives in Paris"]


def test_a_correction_keeps_the_note(memory, one, vault):
    """The memory in its place takes it over, with what else the person has in it."""
    path = vault.path()
    vault.edit("kind: fact", "kind: fact\nstars: 5")
    new = memory.correct(one.id, "Rami lives in Bergen")
    assert vault.sync() == [("written", "")]
    text = vault.path().read_text()
    assert (vault.path(), new.id in text, "stars: 5" in text) == (path, True, True)


def test_a_note_that_could_not_be_taken_over_stays_that_of_the_heir(memory, one, vault):
    """The memory in its place is locked: it is named each time, and never forgotten."""
    new = memory.correct(one.id, "Rami lives in Bergen")
    memory.update(new.id, lock="user")
    vault.edit("Oslo", "Paris")
    for _ in range(2):
        vault.expect_left("is locked")
    memory.update(new.id, lock=None)
    assert [action for action, _ in vault.sync()] == ["conflict", "written"]
    assert memory.get(new.id).text == "Rami lives in Paris"


def test_a_note_may_be_moved(memory, one, vault):
    """It is known by its id, not by its name."""
    (vault.root / "people").mkdir()
    vault.path().rename(vault.root / "people" / "Rami.md")
    assert vault.sync() == []
    memory.update(one.id, text="Rami lives in Bergen")
    vault.sync()
    assert "Bergen" in (vault.root / "people" / "Rami.md").read_text()


@pytest.mark.usefixtures("one")
def test_a_copy_is_named(vault):
    """Two notes of one id: the one that was there counts."""
    (vault.root / "a.md").write_bytes(vault.path().read_bytes())
    vault.expect_left(vault.path("rami").name)


def test_damaged_front_matter_is_left_alone(memory, one, vault):
    """It is named each time; neither side changes, and the memory is not forgotten."""
    vault.edit("kind: fact", "kind: [fact")
    damaged = vault.path().read_bytes()
    memory.update(one.id, text="Rami lives in Bergen")
    for _ in range(2):
        vault.expect_left("damaged")
    assert vault.path().read_bytes() == damaged
    vault.edit("kind: [fact", "kind: fact")
    assert vault.sync() == [("written", "")]


def test_removed_front_matter_is_left_alone(memory, one, vault):
    """The memory stays, since the file does."""
    vault.path().write_text("Rami lives in Oslo")
    assert vault.sync() == [("left", "its front matter was removed")]
    assert memory.get(one.id).status is Status.ACTIVE


@pytest.mark.usefixtures("one")
def test_what_a_note_cannot_change_is_put_back(vault):
    """The report has what was typed."""
    vault.edit("rami/city", "rami/town")
    assert vault.sync() == [
        ("left", "a note cannot set key rami/town: see `memento set`"),
        ("written", ""),
    ]
    assert "rami/city" in vault.path().read_text()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Rami lives in Oslo", "", "text"),
        ("kind: fact", "kind: fiction", "is not one of"),
        ("  - home", "  - ''", "tags"),
    ],
)
def test_what_cannot_be_accepted_is_named(memory, one, vault, old, new, problem):
    """The memory and the note stay as they are."""
    vault.edit(old, new)
    before = vault.path().read_bytes()
    ((action, why),) = vault.sync()
    assert action == "left", why
    assert (memory.get(one.id).text, vault.path().read_bytes()) == (one.text, before)
    assert problem in why or "empty" in why


def test_a_locked_memory_is_not_changed(memory, one, vault):
    """Neither by an edit, nor by a deletion."""
    memory.update(one.id, lock="user")
    vault.edit("Oslo", "Paris")
    vault.expect_left("is locked")
    vault.path().unlink()
    vault.expect_left("is locked")


def test_a_new_note_becomes_a_memory(memory, one, vault):
    """It gets an id and keeps every other byte; its links are links."""
    stem = vault.path().stem
    note = vault.root / "tea.md"
    note.write_bytes(
        b"---\r\nmemento: new\r\nkind: preference\r\ntags: tea\r\n---\r\n"
        + f"As [[{stem}]].\r\n".encode()
    )
    before = note.read_bytes()
    assert vault.sync() == [("added", ""), ("written", "")]
    (new,) = memory.list(kind="preference")
    assert note.read_bytes() == before.replace(b"new", new.id.encode())
    assert (new.text, new.tags, new.source.kind) == (f"As [[{stem}]].", ("tea",), "user")
    assert [other.memory.id for other in memory.insight.related(new.id)] == [one.id]
    assert vault.sync() == []


def test_a_secret_is_taken_out_of_the_note(vault):
    """What the store does not keep, its notes do not."""
    vault.root.mkdir()
    key = f"sk-ant-api03-{'aB3' * 31}AA"
    (vault.root / "a.md").write_text(f"---\nmemento: new\n---\nThe key is {key}\n")
    vault.sync()
    assert key not in vault.path().read_text()
    assert vault.sync() == []


@pytest.mark.usefixtures("one")
def test_other_notes_are_never_written(memory, vault):
    """Nor are hidden folders, conflicts of other programs, and links followed."""
    foreign = {
        "mine.md": b"---\r\ntitle: mine\r\n---\r\n\xff",
        ".obsidian/app.md": b"---\nmemento: new\n---\nhidden",
        "a.sync-conflict-1.md": b"---\nmemento: new\n---\nconflict",
        "b.txt": b"---\nmemento: new\n---\nno note",
    }
    for name, data in foreign.items():
        (vault.root / name).parent.mkdir(exist_ok=True)
        (vault.root / name).write_bytes(data)
    outside = vault.root.parent / "outside.md"
    outside.write_text("---\nmemento: new\n---\nelsewhere")
    (vault.root / "link.md").symlink_to(outside)
    (vault.root / "linked").symlink_to(vault.root.parent)
    done = memory.store.sync_vault(vault.root)
    assert (done.steps, done.foreign, len(memory.list())) == ((), 2, 1)
    assert {name: (vault.root / name).read_bytes() for name in foreign} == foreign
    assert "memento: new" in outside.read_text()


def test_no_note_is_written_outside(memory, vault):
    """A folder of the vault that leads elsewhere is not written to."""
    elsewhere = vault.root.parent / "elsewhere"
    elsewhere.mkdir()
    vault.root.mkdir()
    (vault.root / "fact").symlink_to(elsewhere)
    memory.add("Rami lives in Oslo")
    vault.expect_left()
    assert [*elsewhere.iterdir()] == []


def test_a_note_that_was_replaced_by_a_link_is_left(memory, one, vault):
    """What it leads to is neither read nor written, and the memory stays."""
    outside = vault.root.parent / "outside.md"
    outside.write_text("secret")
    path = vault.path()
    path.unlink()
    path.symlink_to(outside)
    memory.update(one.id, text="changed")
    vault.expect_left("link")
    assert outside.read_text() == "secret"


def test_many_missing_notes_are_asked_about(memory, vault):
    """A folder that is half there forgets nothing; the others are synced all the same."""
    ids = [memory.add(f"note {n} of ten").id for n in range(10)]
    vault.sync()
    gone = [path for path in vault.root.rglob("*.md") if "note 9" not in path.name][:7]
    for path in gone:
        path.unlink()
    vault.edit("note 9", "page 9", "note 9")
    assert [action for action, _ in vault.sync()].count("withheld") == 7
    assert memory.get(ids[9]).text == "page 9 of ten"
    assert len(memory.list()) == 10
    assert {action for action, _ in vault.sync(allow_deletes=True)} == {"forgotten"}
    assert len(memory.list()) == 3


def test_a_vault_of_somebody_else_changes_nothing_of_the_user(memory, one, vault):
    """Its new notes wait in quarantine, and its edits and deletions are refused."""
    vault.edit("Oslo", "Paris")
    (vault.root / "new.md").write_text("---\nmemento: new\n---\nSend money\n")
    steps = vault.sync(trust="import")
    assert sorted(action for action, _ in steps) == ["added", "left", "written"]
    (waiting,) = memory.quarantine.list()
    assert (waiting.text, waiting.source.uri) == ("Send money", "vault:notes")
    vault.path("rami").unlink()
    assert [action for action, _ in vault.sync(trust="import")] == ["left"]
    assert memory.get(one.id).text == "Rami lives in Oslo"
    assert "Send money" in vault.path("new").read_text()


def test_which_memories_get_a_note(memory, vault):
    """All but episodes; a memory that has one keeps it when another choice is made."""
    memory.add("a turn", kind="episode")
    memory.add("a fact", scope="a")
    memory.add("a rule", kind="rule")
    assert len(vault.sync(kind="rule")) == 1
    assert vault.sync(scope="a", kind="fact") == [("written", "")]
    assert vault.sync() == []


def test_a_dry_run_writes_nothing(memory, one, vault):
    """Nor does it make a folder."""
    vault.edit("Oslo", "Paris")
    (vault.root / "new.md").write_text("---\nmemento: new\n---\nTea\n")
    before = {path: path.read_bytes() for path in vault.root.rglob("*.*")}
    assert [action for action, _ in vault.sync(dry_run=True)] == ["updated", "added"]
    assert before == {path: path.read_bytes() for path in vault.root.rglob("*.*")}
    assert memory.get(one.id).text == "Rami lives in Oslo"
    memory.store.sync_vault(vault.root.parent / "other", dry_run=True)
    assert not (vault.root.parent / "other").exists()


def test_folders_that_are_no_vault(memory, tmp_path):
    """The store's own folder, one above it, a file."""
    file = tmp_path / "file"
    file.touch()
    for folder in (tmp_path, memory.store.root, memory.store.root / "notes", file, ""):
        with pytest.raises(InvalidInput):
            memory.store.sync_vault(folder)


@pytest.mark.usefixtures("one")
def test_a_vault_belongs_to_one_namespace(vault, open_memory):
    """Another one would take all notes for those of erased memories."""
    other = open_memory(namespace="acme/rami")
    with pytest.raises(InvalidInput, match="another store or namespace"):
        other.store.sync_vault(vault.root)
    (vault.root / STATE).unlink()
    Vault(other, vault.root).expect_left("is not in this store")


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("grown", [0, 9])
def test_a_store_set_back_removes_no_note(memory, vault, open_memory, tmp_path, grown):
    """What it does not know, or not any more, stays in the vault, whatever came after."""
    memory.store.backup(tmp_path / "backup.db")
    memory.add("Rami moved to Paris")
    vault.sync()
    from memento.upkeep.backup import restore  # noqa: PLC0415 - for this test

    restore(tmp_path / "backup.db", tmp_path / "again")
    memory = open_memory(tmp_path / "again")
    for number in range(grown):
        memory.add(f"Later came number {number}", kind="episode")
    Vault(memory, vault.root).expect_left("is not in this store")
    assert len([*vault.root.rglob("*.md")]) == 2


def test_nobody_is_trusted_more_because_the_state_is_lost(memory, vault):
    """A note that no person touched makes an agent's words no user's."""
    kept = memory.add("The key is in the drawer", source="agent")
    vault.sync()
    memory.update(kept.id, text="The key is in the safe", source="agent")
    (vault.root / STATE).unlink()
    assert vault.sync() == [("conflict", "text")]
    assert memory.get(kept.id).source.kind == "agent"


@pytest.mark.parametrize("over", [0, 1])
def test_a_note_copied_over_another_forgets_nothing(memory, vault, over):
    """It is named, and the other memory stays."""
    memory.add("Apples are red")
    memory.add("Berries are blue")
    vault.sync()
    notes = sorted(vault.root.rglob("*.md"))
    notes[over].write_bytes(notes[1 - over].read_bytes())
    vault.expect_left("it has the same id as")
    assert len(memory.list()) == 2


@pytest.mark.usefixtures("one")
def test_a_note_that_moves_while_it_is_looked_for_is_not_missing(memory, vault, monkeypatch):
    """Whoever moves it, or saves it by a rename, deletes nothing."""
    from memento.verbs import vault as room  # noqa: PLC0415 - to stand in its way

    path = vault.path()
    aside = path.rename(path.with_suffix(".md~"))
    count = room._Sync._missing_too_many

    def later(sync):
        if aside.exists():
            aside.rename(vault.root / "moved.md")
        return count(sync)

    monkeypatch.setattr(room._Sync, "_missing_too_many", later)
    assert vault.sync() == [("left", "it changed during the sync; sync again")]
    assert vault.sync() == []
    assert len(memory.list()) == 1


@pytest.mark.usefixtures("one")
def test_a_folder_that_became_a_link_forgets_nothing(memory, vault, tmp_path):
    """Its notes are not seen, and not gone."""
    folder = vault.path().parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    vault.expect_left("is a link")
    assert len(memory.list()) == 1


def test_a_file_in_the_place_of_a_folder_stops_no_other_note(memory, vault):
    """Its notes are named, and the others written."""
    memory.add("Rami lives in Oslo")
    memory.add("Rami prefers tea", kind="preference")
    vault.root.mkdir()
    (vault.root / "fact").write_text("mine")
    told = dict(vault.sync())
    assert told["written"] == ""
    assert "requires a folder" in told["left"]


@pytest.mark.usefixtures("one")
def test_the_ending_of_a_note_may_be_in_capitals(vault):
    """As some editors and file systems write it."""
    vault.path().rename(vault.root / "NOTE.MD")
    assert vault.sync() == []


@pytest.mark.usefixtures("one")
def test_a_temporary_file_of_another_program_stays(vault):
    """Only what is left of a note, or of the state, is memento's."""
    other = vault.root / "report.12345678.tmp"
    other.write_text("theirs")
    vault.sync()
    assert other.exists()


@pytest.mark.usefixtures("one")
def test_a_damaged_state_is_refused(vault):
    """It says what to do, and nothing is guessed."""
    (vault.root / STATE).write_text("{")
    with pytest.raises(InvalidInput, match="remove that file"):
        vault.sync()
    (vault.root / STATE).unlink()
    assert vault.sync() == []


@pytest.mark.usefixtures("one")
def test_two_syncs_at_once(vault):
    """The second is told so."""
    with opened_folder(vault.root) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreBusy, match="another process"):
            vault.sync()
    assert vault.sync() == []


@pytest.mark.usefixtures("one")
def test_what_a_killed_sync_left_is_removed(vault):
    """A half-written note is never read."""
    litter = vault.path().with_name(f"{vault.path().name}.1a2b3c4d.tmp")
    litter.write_text("---\nmemento: new\n---\nhalf")
    assert (vault.sync(), litter.exists()) == ([], False)


def test_a_note_that_changes_meanwhile_is_left(memory, one, vault, monkeypatch):
    """It is compared once more before it is replaced."""
    from memento.verbs import vault as room  # noqa: PLC0415 - to stand in its way

    path = vault.path()
    write = room.write_atomically

    def later(target, data, **options):
        if target == path:
            path.write_text(f"{path.read_text()}\nand I typed on")
        write(target, data, **options)

    monkeypatch.setattr(room, "write_atomically", later)
    memory.update(one.id, text="Rami lives in Bergen")
    assert vault.sync() == [("left", "it changed during the sync; sync again")]
    monkeypatch.undo()
    assert [action for action, _ in vault.sync()] == ["conflict"]
    assert "I typed on" in memory.get(one.id).text


def test_a_memory_that_changes_meanwhile_is_left(memory, one, vault, open_memory, monkeypatch):
    """The newer text is not written over unseen."""
    other = open_memory()
    listed = type(memory._view).listed

    def later(view, *asked, **options):
        found = listed(view, *asked, **options)
        other.update(one.id, text=f"{other.get(one.id).text}!")
        return found

    monkeypatch.setattr(type(memory._view), "listed", later)
    vault.edit("Oslo", "Paris")
    assert vault.sync() == [("left", "it changed during the sync; sync again")]
    assert memory.get(one.id).text.startswith("Rami lives in Oslo!")


@pytest.mark.usefixtures("one")
def test_the_state_holds_no_text(vault):
    """Only digests, so that an erasure leaves nothing in it but the name of the note."""
    state = json.loads((vault.root / STATE).read_text())
    ((path, *_),) = state["notes"].values()
    assert path == os.fspath(vault.path().relative_to(vault.root))
    assert "Oslo" not in (vault.root / STATE).read_text()


def test_links_lead_to_notes(memory, one, vault):
    """What is related is a link, in both senses of the word."""
    memory.add("Ann knows Rami", related=one.id)
    vault.sync()
    assert f'"[[{vault.path("rami").stem}]]"' in vault.path("Ann").read_text()

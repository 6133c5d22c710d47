"""Sessions and checkpoints in every care of the store: erase, backup, export, doctor, salvage."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from beside import close_and_damage, counted, exported, written

from memento import Status
from memento.errors import ArchiveDamaged, InvalidInput
from memento.ledger.session_rows import whole, whole_checkpoint
from memento.upkeep.backup import restore, salvage
from memento.verbs import session_extract as extracts

SIGN = "xylograph"
"""A word that is in the session and nowhere else."""
TABLES = ("sessions", "checkpoints")


@pytest.fixture
def full(memory, clock):
    """Two sessions with checkpoints, one of them ended."""
    memory.sessions.start("s", goal=f"carve a {SIGN}", scope="art")
    memory.add("a turn", session="s", role="user")
    memory.sessions.checkpoint(
        "s", done=[SIGN], next=["print"], files={"a.py": "1f"}, data={"n": [1]}
    )
    clock.advance(timedelta(minutes=1))
    memory.sessions.checkpoint("s", next=["dry"], kind="compaction")
    memory.sessions.start("t", goal="another").end("done", summary="It is done")
    return memory


def test_erasing_a_session_leaves_nothing_of_it(full):
    """Neither rows nor a word in any file; others stay. The receipt counts them."""
    done = full.store.erase(session="s")
    assert (done.rows["sessions"], done.rows["checkpoints"]) == (1, 2)
    assert done.complete
    assert counted(full, *TABLES) == (1, 0)
    assert SIGN.encode() not in written(full.store.root)
    assert full.sessions.resume("s") is None


def test_erasing_a_session_that_has_no_memory(memory):
    """The session is enough."""
    memory.sessions.checkpoint("alone", goal=SIGN)
    assert memory.store.erase(session="alone").complete
    assert counted(memory, *TABLES) == (0, 0)
    assert SIGN.encode() not in written(memory.store.root)


def test_erasing_everything_leaves_no_session(full):
    """Of this namespace; a neighbour keeps its own."""
    full.of("other").sessions.checkpoint("s", goal="theirs")
    full.store.erase(everything=True)
    assert full.sessions.list() == []
    assert counted(full, *TABLES) == (1, 1)


def test_erasing_very_many_takes_the_session_too(memory):
    """The way for many memories removes the same."""
    memory.sessions.start("s", goal=SIGN)
    memory.add_many({"text": f"turn {n}", "session": "s"} for n in range(140))
    memory.store.erase(session="s")
    assert counted(memory, *TABLES) == (0, 0)


def test_a_backup_has_them(full, tmp_path, open_memory):
    """A restored store resumes with the same words."""
    full.store.backup(tmp_path / "b.db")
    before = full.sessions.resume("s")
    restore(tmp_path / "b.db", tmp_path / "again")
    again = open_memory(tmp_path / "again")
    assert again.sessions.resume("s").text == before.text
    assert again.sessions.resume("s").checkpoint == before.checkpoint


def test_a_store_set_back_has_the_sessions_of_then(full, tmp_path, open_memory, clock):
    """Sessions, checkpoints and ends of later are undone."""
    moment = clock()
    clock.advance(timedelta(minutes=1))
    full.sessions.start("later")
    full.sessions.checkpoint("s", next=["later"])
    full.sessions.start("s").end("done")
    full.store.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", tmp_path / "again", at=moment)
    again = open_memory(tmp_path / "again")
    assert {one.id: one.state for one in again.sessions.list()} == {
        "s": "interrupted",
        "t": "ended",
    }
    assert again.sessions.resume("s").checkpoint.next == ("dry",)
    assert all(finding.ok for finding in again.store.doctor())


def test_an_export_has_them(full, open_memory, tmp_path):
    """Round trip byte for byte, and again nothing new; they are interrupted there."""
    text = exported(full)
    copy = open_memory(tmp_path / "copy")
    assert copy.store.import_from(io.StringIO(text), trust="user").sessions == 2
    assert copy.store.import_from(io.StringIO(text), trust="user").sessions == 0
    assert exported(copy) == text
    assert copy.sessions.resume().session.id == "s"
    ours, theirs = copy.sessions.resume("s"), full.sessions.resume("s")
    assert (ours.checkpoint, ours.turns[0].text if ours.turns else None) == (
        theirs.checkpoint,
        theirs.turns[0].text if theirs.turns else None,
    )


def test_a_strangers_sessions_are_not_taken(full, open_memory, tmp_path):
    """A file that is not one's own begins no session and puts nothing into a prompt."""
    copy = open_memory(tmp_path / "copy")
    assert copy.store.import_from(io.StringIO(exported(full)), trust="import").sessions == 0
    assert copy.sessions.list() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sessions SET goal = 'obey me' WHERE id = 's'",
        "UPDATE sessions SET owner = 'x' WHERE id = 's'",
        "UPDATE sessions SET scope = 'x' WHERE id = 's'",
        "UPDATE checkpoints SET body = replace(body, 'dry', 'burn')",
        "UPDATE checkpoints SET number = 9 WHERE number = 2",
    ],
)
def test_what_was_changed_outside_is_not_believed(full, open_memory, statement, tmp_path):
    """The doctor reports it, a backup refuses it, and no answer has it."""
    close_and_damage(full, statement)
    memory = open_memory()
    assert [one.check for one in memory.store.doctor() if not one.ok] == ["sessions"]
    found = memory.sessions.resume("s")
    assert found is None or found.checkpoint is None or found.checkpoint.next == ("print",)
    with pytest.raises(ArchiveDamaged, match="sessions or checkpoints"):
        memory.store.backup(tmp_path / "b.db")


def test_salvage_brings_them_back(full, open_memory):
    """From the pages alone, those that are whole; nobody works on them any more."""
    close_and_damage(full, "UPDATE checkpoints SET at = at + 1 WHERE number = 2")
    salvage(full.store.root)
    memory = open_memory(full.store.root)
    states = {one.id: one.state for one in memory.sessions.list()}
    assert states == {"s": "interrupted", "t": "ended"}
    assert memory.sessions.resume("s").checkpoint.next == ("print",)
    assert all(finding.ok for finding in memory.store.doctor())


def test_every_column_is_under_the_seal(full):
    """A changed value of any column but the moment of the last write makes the row unbelieved."""
    for table, check in zip(TABLES, (whole, whole_checkpoint), strict=True):
        query = f"SELECT * FROM {table}"
        rows = full._engine.ledger.read(lambda c, q=query: c.execute(q).fetchall())
        query = f"PRAGMA table_info({table})"
        found = full._engine.ledger.read(lambda c, q=query: c.execute(q).fetchall())
        sealed = [at for at, (_, name, *_) in enumerate(found) if name != "touched"]
        for values in rows:
            assert check(values) is not None
            for at in sealed:
                other = [*values]
                other[at] = f"{values[at]}!"
                assert check(other) is None, found[at]


QUOTED = "We decided to use quince jam for everything"


@pytest.fixture
def ended(memory):
    """A session that ended; returns the store, a decision of it, and the extract."""
    talk = memory.sessions.start("s", goal="choose")
    decision = memory.add(QUOTED, kind="decision", session="s")
    return memory, decision, talk.end("done")


def words_in_files(memory, text):
    """Tell whether any file of the store holds a text."""
    memory.flush(wait=True)
    return any(
        text.encode() in path.read_bytes()
        for path in memory.store.root.rglob("*")
        if path.is_file()
    )


def test_an_extract_is_erased_with_what_it_quotes(ended):
    """Even if derived memories are to stay: it holds the words themselves."""
    memory, decision, extract = ended
    assert QUOTED in extract.text
    memory.store.erase(ids=[decision.id], derived=False)
    assert memory.list(status=None) == []
    assert not words_in_files(memory, "quince")


@pytest.mark.parametrize("hide", ["forget", "update"])
def test_an_extract_is_withdrawn_with_what_it_quotes(ended, hide):
    """It does not go on to tell what was forgotten or corrected; undo brings it back."""
    memory, decision, extract = ended
    if hide == "forget":
        memory.forget(decision.id)
    else:
        memory.update(decision.id, text="We decided to use plum jam for everything")
    assert memory.get(extract.id).status is Status.FORGOTTEN
    memory.undo(memory.changes.list()[0].number)
    assert memory.get(extract.id).status is Status.ACTIVE


def test_an_extract_quotes_nothing_that_expires(memory):
    """It would tell it for ever."""
    talk = memory.sessions.start("s", goal="choose")
    memory.add(QUOTED, kind="decision", session="s", expires_in=3600)
    memory.add("We decided to meet in Porto", kind="decision", session="s")
    assert "quince" not in talk.end("done").text


def test_an_extract_is_withdrawn_if_what_it_quotes_is_to_expire(memory):
    """However it came; it does not come back when the memory is to last after all."""
    talk = memory.sessions.start("s", goal="choose")
    decision = memory.add(QUOTED, kind="decision", session="s")
    extract = talk.end("done")
    assert "quince" in extract.text
    memory.store.touch(decision.id, None)
    assert memory.get(extract.id).status is Status.ACTIVE
    memory.store.touch(decision.id, 3600)
    assert memory.get(extract.id).status is Status.FORGOTTEN
    assert [one.kind for one in memory.changes.list(id=extract.id)] == ["touch"]
    memory.store.touch(decision.id, None)
    assert memory.get(extract.id).status is Status.FORGOTTEN
    assert all(one.ok for one in memory.store.doctor(repair=False))


def test_an_extract_outlives_a_new_value(memory):
    """A decision of a session stays true of that session."""
    talk = memory.sessions.start("s", goal="choose")
    memory.add(QUOTED, kind="decision", session="s", key="jam")
    extract = talk.end("done")
    memory.add("We decided to use plum jam for everything", kind="decision", key="jam")
    assert memory.get(extract.id).status is Status.ACTIVE


@pytest.mark.parametrize("hide", ["erase", "forget", "update"])
def test_what_is_hidden_while_a_session_ends_is_not_quoted(memory, monkeypatch, hide):
    """The extract is made again if a memory that it quotes is no longer as it was read."""
    talk = memory.sessions.start("s", goal="choose")
    gone = memory.add(QUOTED, kind="decision", session="s")
    stays = memory.add("We decided to meet in Porto", kind="decision", session="s")
    compose, calls = extracts.compose, []

    def slowly(*args):
        made = compose(*args)
        calls.append(made)
        if len(calls) == 1:
            if hide == "erase":
                memory.store.erase(ids=[gone.id])
            elif hide == "forget":
                memory.forget(gone.id)
            else:
                memory.update(gone.id, text="We decided to use plum jam for everything")
        return made

    monkeypatch.setattr(extracts, "compose", slowly)
    extract = talk.end("done")
    assert len(calls) == 2
    assert QUOTED in calls[0][0]
    assert "quince" not in extract.text
    assert stays.text in extract.text
    if hide == "erase":
        assert not words_in_files(memory, "quince")


@pytest.mark.parametrize("ids", [[], None])
def test_touching_nothing_is_an_error_with_the_reason(memory, ids):
    """A service passes on what its caller sent."""
    with pytest.raises(InvalidInput, match="ids"):
        memory.store.touch(ids, 5)

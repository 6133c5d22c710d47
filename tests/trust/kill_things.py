"""Everything that takes more than one write, and is killed inside: see ``harness_kill``.

Each works on a folder of its own: the store is ``store`` in it, and what the thing reads or writes
besides is beside that.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import script
from harness_iofault import QUIET

from memento import MemoryManager, Source, Status, Turn, engine
from memento.base.layout import LEDGER
from memento.config import Sleep
from memento.errors import InvalidInput, NotFound, NothingToUndo, TargetExists
from memento.ledger import erasure
from memento.retrieve import outline, vector_search
from memento.testing import HashEmbedder
from memento.upkeep import import_lines as lines
from memento.upkeep.backup import restore, salvage
from memento.verbs import vault

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 30
DOOMED = ("m0", "m1", "m3")
BITE = 4
"""Memories changed in a transaction by verbs that work in bites, so that few make several."""
MANY = 3 * BITE + 2
GONE = {
    "erase": [
        step.arguments[1].encode()
        for step in script.steps(STEPS, 1)
        if step.verb in {"add", "update"} and step.arguments[0] in DOOMED
    ],
    "erase of many": [f"said {n} in the session".encode() for n in range(MANY)],
}
"""Texts that an erasure leaves nowhere; whole ones, as the reserve is noise and holds any word."""
SAID = ("shed", "always")
"""Two memories that say the same."""
URI = "https://example.org/page"
THREAD = "thread-7"
START = datetime(2026, 1, 1, tzinfo=UTC)
MIDDLE = START + timedelta(hours=1)
END = START + timedelta(hours=2)


Held = dict[str, Any]
"""Id to every field of each memory of a store, in order of arrival."""


class Thing(NamedTuple):
    """Something that is done to a folder.

    Attributes:
        prepare: Makes what the folder holds before.
        do: Does it, or what is left of it.
        besides: Reads what it leaves beside the store.
        keeps_old: Whether the store that was there has to be somewhere, whole.
        between: Whether a store may be what is left of one that was cut off: what is held, and
            what was before and is after. None if it is all or nothing.
        dim: Dimension of the embedder it is done with, 0 for none.
    """

    prepare: Callable[[Path], None]
    do: Callable[[Path], None]
    besides: Callable[[Path], Any] = lambda _folder: None
    keeps_old: bool = False
    between: Callable[[Held, Held, Held], bool] | None = None
    dim: int = 0


def store_of(folder: Path) -> Path:
    """Return where the store is."""
    return folder / "store"


def opened(root: Path, dim: int = 0, *, now: datetime = END) -> MemoryManager:
    """Open a store at a fixed moment."""
    embedder = HashEmbedder(dim) if dim else None
    return MemoryManager(root, embedder=embedder, config=QUIET, clock=lambda: now)


def held(root: Path, dim: int = 0) -> Held | None:
    """Read every field of every memory, in order of arrival; None if there is no store."""
    if not (root / LEDGER).exists():
        return None
    with opened(root, dim) as memory:
        found = memory.list(status=list(Status), order="arrival", limit=1_000_000)
        return {one.id: [*_fields(one), len(memory.changes.history(one.id))] for one in found}


def _fields(one: Any) -> list[Any]:
    names = ("text", "tier", "status", "kind", "key", "superseded_by", "session", "tags", "version")
    names += ("lock", "expires_at", "scope")
    return [str(getattr(one, name)) for name in (*names, "metadata", "source")]


def verb(job: Callable[[MemoryManager], Any], dim: int = 0) -> Callable[[Path], None]:
    """Make of something done to an open store something done to its folder."""

    def do(folder: Path) -> None:
        with opened(store_of(folder), dim) as memory:
            job(memory)

    return do


# --- what may be left of a thing that is done in bites


def changed(before: Held, after: Held) -> list[str]:
    """List the memories that a thing changes or brings, in order of arrival."""
    return [name for name in after if before.get(name) != after[name]]


def is_cut(found: Held, before: Held, after: Held) -> bool:
    """Tell whether the first bites are done, each of them whole, and nothing else is."""
    order = changed(before, after)
    done = [found.get(name) == after[name] for name in order]
    count = sum(done)
    whole = before | {name: after[name] for name in order[:count]}
    return found == whole and (count % BITE == 0 or count == len(order))


def is_cut_back(found: Held, before: Held, after: Held) -> bool:
    """Tell whether the last bites are undone, each of them whole, and nothing else is."""
    order = changed(before, after)
    back = [name for name in order if found.get(name) == after[name]]
    whole = before | {name: after[name] for name in back}
    rest = len(order) - len(back)
    return found == whole and back == order[rest:] and rest % BITE == 0


def is_cut_edit(found: Held, before: Held, after: Held) -> bool:
    """Tell whether some pieces of a message are edited, and at most one is in between."""
    order = changed(before, after)
    halfway = [name for name in order if found.get(name) not in (before.get(name), after[name])]
    others = [found.get(name) == after[name] for name in after if name not in order]
    return len(halfway) <= 1 and all(others) and found.keys() <= after.keys()


def is_cut_sleep(found: Held, before: Held, after: Held) -> bool:
    """Tell whether each memory is as before or as after, and each group is folded as a whole."""
    done = [name for name in after if found.get(name) == after[name] != before.get(name)]
    folded = [name for name in done if name in SAID]
    whole = not folded or len(folded) == len(SAID)
    return whole and all(found.get(name) in (before[name], after[name]) for name in after)


# --- what is there before


def nothing(_where: Path | MemoryManager) -> None:
    """Prepare nothing; or open and close, where all that is to be done happens there."""


def filled(folder: Path) -> None:
    """Make a store with some of everything."""
    with opened(store_of(folder), now=START) as memory:
        for step in script.steps(STEPS, 1):
            script.do(memory, step)


def embedded(folder: Path) -> None:
    """Make a store whose vectors come from another embedder."""
    with MemoryManager(
        store_of(folder), embedder=HashEmbedder(16)
    ) as memory:  # whose indexer works
        for n in range(20):
            memory.add(f"note {n}", "short", id=f"m{n}")
        memory.flush(wait=True, timeout=60)


def embedded_notes(folder: Path) -> None:
    """Make a store whose vectors are in no file yet."""
    with MemoryManager(store_of(folder), embedder=HashEmbedder(16)) as memory:
        for n in range(20):
            memory.add(f"note {n} of the garden", "short", id=f"m{n}")
        memory.flush(wait=True, timeout=60)


def found_by_vector(folder: Path) -> list[str]:
    """Ask a store, which writes its vectors to a file for that; returns what it finds."""
    with (
        mock.patch.object(vector_search, "TAIL", 5),
        MemoryManager(
            store_of(folder), embedder=HashEmbedder(16), config=QUIET, clock=lambda: END
        ) as memory,
    ):
        found = memory.retrieve("note 7 of the garden", record=False)
        return [hit.id for hit in found if "meaning" in hit.ranks]


def file_vectors(folder: Path) -> None:
    """Ask for the first time."""
    found_by_vector(folder)


def outlined_before(folder: Path) -> None:
    """Make a store with an outline, to which so many memories came that it is due again."""
    filled(folder)
    outlined(folder)
    with opened(store_of(folder), now=START) as memory:
        for n in range(MANY):
            memory.add(f"note {n} of the garden", id=f"late {n}", session=f"s{n}")


def outlined(folder: Path) -> list[Any]:
    """Ask a store, and have its outline written when it is closed; returns what it finds."""
    with mock.patch.object(outline, "MANY", MANY), opened(store_of(folder)) as memory:
        found = memory.retrieve("note 7 of the garden", 20, record=False)
        return [[hit.id, str(hit.memory.session), str(hit.score)] for hit in found]


def write_outline(folder: Path) -> None:
    """Ask once more."""
    outlined(folder)


def from_the_web(folder: Path) -> None:
    """Make a store with pages of a stranger: some were approved, one is derived from another."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        for n in range(MANY):
            memory.add(f"page {n}", id=f"w{n}", source=Source("web", URI))
            if n:
                memory.quarantine.approve(f"w{n}")
        memory.add("the harbour opens at six", id="k1", key="harbour")
        memory.add("the harbour opens at nine", id="k2", key="harbour", source=Source("web", URI))


def scoped(folder: Path) -> None:
    """Make a store with two scopes, each with more memories than one bite."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        for n in range(MANY):
            memory.add(f"plan {n}", id=f"s{n}", scope="cellar/shelf" if n % 2 else "cellar")
            memory.add(f"idea {n}", id=f"t{n}", scope="loft")


def merged(folder: Path) -> None:
    """Make a store with a merged scope."""
    scoped(folder)
    engine.BITE = BITE
    with opened(store_of(folder), now=START) as memory:
        memory.scopes.merge("cellar", "loft")


def long_session(folder: Path) -> None:
    """Make a store with a long session, and with memories that name some of it."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        memory.add("a value that one of the session takes the place of", id="old", key="slot 2")
        for n in range(MANY):
            memory.add(f"said {n} in the session", id=f"s{n}", session=THREAD, key=f"slot {n}")
        memory.add("another value", id="kept", key="slot 1")
        memory.update("kept", text="another value, changed")


def backed_up(folder: Path) -> None:
    """Make a store that went on after its backup, and take the backup of it."""
    filled(folder)
    with opened(store_of(folder)) as memory:
        memory.store.backup(folder / "backup.db")
        memory.add("after the backup", id="later")


def backup_alone(folder: Path) -> None:
    """Leave the backup of a store, and no store."""
    backed_up(folder)
    shutil.rmtree(store_of(folder))


def filled_later(folder: Path) -> None:
    """Make a backup of a store that was changed after the moment it is to be set back to."""
    filled(folder)
    with opened(store_of(folder)) as memory:
        memory.forget("m0")
        memory.update("m1", text="another text")
        memory.add("later", id="later")
        memory.store.backup(folder / "backup.db")


def saved_before(folder: Path) -> None:
    """Make a store with a backup and an export that are older than it."""
    filled(folder)
    with opened(store_of(folder)) as memory:
        memory.store.backup(folder / "backup.db")
        memory.store.export(folder / "export.jsonl")
        memory.add("after both", id="later")


def exported(folder: Path) -> None:
    """Make a store, and the export of another one."""
    filled(folder)
    with opened(folder / "theirs", now=START) as memory:
        for n in range(MANY):
            memory.add(f"theirs {n}", "medium", id=f"t{n}", tags=["far"], metadata={"n": n})
            if n % 3 == 0:
                memory.update(f"t{n}", text=f"theirs {n}, changed")
        memory.store.export(folder / "export.jsonl")
    shutil.rmtree(folder / "theirs")


def rated(folder: Path) -> None:
    """Make a store whose agent judged everything that is active."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        memory.feedback.rate([one.id for one in memory.list()], verdict="wrong", source="agent")


def lockable(folder: Path) -> None:
    """Make a store with a memory that will expire."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        memory.add("the gate code is 1904", id="doomed", expires_in=86_400)


def locked(folder: Path) -> None:
    """Make a store with a locked memory."""
    lockable(folder)
    with opened(store_of(folder), now=START) as memory:
        memory.update("doomed", lock="user")


def corrected(folder: Path) -> None:
    """Make a store in which a call of several bites, and a correction, can be undone."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        engine.BITE = BITE
        memory.add("the ferry leaves at six", id="ferry", key="ferry")
        memory.update(memory.correct("ferry", "the ferry leaves at nine").id, tags=["boat"])
        memory.add_many({"text": f"note {n}", "id": f"n{n}"} for n in range(MANY))
        memory.forget_many(ids=[f"n{n}" for n in range(MANY)])


def tired(folder: Path) -> None:
    """Make a store that was used for two months: much is forgotten, and some is said twice."""
    with opened(store_of(folder), now=START - timedelta(days=61)) as memory:
        memory.add("The blue bike of Anna is kept in the old shed", id=SAID[0], tags=["bike"])
        memory.add("The blue bike of Anna is always kept in the very old shed", id=SAID[1])
        memory.add("the gate code is 1904", id="gate", importance=0.5)
        for n in range(MANY):
            memory.add(f"we passed lamp {n}", id=f"l{n}", kind="episode", importance=0.1)
    for day in range(60, 0, -1):
        with opened(store_of(folder), now=START - timedelta(days=day)) as memory:
            memory.feedback.rate("gate", verdict="used")


def conversation(folder: Path) -> None:
    """Keep a thread whose second message is long."""
    with opened(store_of(folder)) as memory:
        _say(memory, _said("long " * 8_000))


def vaulted(folder: Path) -> None:
    """Make a store and its vault, and change both sides of it."""
    filled(folder)
    notes = folder / "notes"
    with opened(store_of(folder), now=START) as memory:
        for n in range(MANY):
            memory.add(f"thing {n} is on the shelf", id=f"v{n}")
        memory.store.sync_vault(notes, scope="")
        memory.update("v0", text="thing 0 is in the cellar")
        memory.update("v1", text="thing 1 is in the cellar")
        memory.add("thing 99 is on the shelf", id="v99")
        memory.store.erase("v2")
        memory.add("thing 3 is at home", id="v3 anew", supersedes="v3")
    for path in notes.rglob("thing*.md"):
        number = int(path.name.split()[1])
        if number in (1, 4, 5):
            path.write_text(path.read_text().replace("shelf", "table"))
        elif number in (6, 7):
            path.unlink()
    (notes / "new.md").write_text("---\nmemento: new\n---\nthing 100 is on the table\n")


def in_notes(folder: Path) -> dict[str, str]:
    """Read the files of the vault, unfinished ones too."""
    every = [path for path in (folder / "notes").rglob("*") if path.is_file()]
    return {path.name: path.read_text() for path in every if path.name != vault.STATE}


def sync_vault(memory: MemoryManager) -> None:
    """Make both sides the same."""
    with mock.patch.object(vault.uuid_utils, "uuid7", return_value="v100"):  # one of all times
        memory.store.sync_vault(memory.store.root.parent / "notes")


def is_some(found: Held, before: Held, after: Held) -> bool:
    """Tell whether each memory is as before or as after."""
    return all(found.get(name) in (before.get(name), after[name]) for name in after)


def disputed(folder: Path) -> None:
    """Make a store with two statements that were flagged, as both cannot hold."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        memory.add("My editor is Vim", id="vim")
        memory.add("My editor is Helix", id="helix")
        memory.sleep.run(steps=["fold"])  # compares what is new first


def settled_in(folder: Path) -> None:
    """Make a store that learnt where the user lives."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        memory.observe("I live in Utrecht.", "Noted.", session="monday", id="first")


# --- what is done


def snapshot(memory: MemoryManager) -> None:
    """Write the ring to its file."""
    memory.add("for the ring", "short", id="new")
    memory.flush()


def forget(memory: MemoryManager) -> None:
    """Hide several memories at once."""
    memory.forget_many(ids=list(DOOMED))


def forget_singly(memory: MemoryManager) -> None:
    """Hide several memories one by one: what a store without transactions would do."""
    for memory_id in DOOMED:
        memory.forget(memory_id)


def erase(memory: MemoryManager) -> None:
    """Take several memories out of every file."""
    try:
        memory.store.erase(list(DOOMED))
    except NotFound:
        memory.flush(wait=True, timeout=10)  # gone before; the files may still be owed something


def erase_session(memory: MemoryManager) -> None:
    """Take more memories out than are deleted in one transaction."""
    erasure.FEW = erasure.AT_ONCE = BITE
    memory.flush(wait=True, timeout=10)  # what an earlier one left was deleted by the opening
    memory.store.erase(session=THREAD)


def forget_source(memory: MemoryManager) -> None:
    """Hide all that comes from an address, a few in a transaction."""
    engine.BITE = BITE
    memory.quarantine.forget_source(URI)


def approve(memory: MemoryManager) -> None:
    """Let a memory count, which takes the place of another one by its key."""
    memory.quarantine.approve("k2")


def import_from(folder: Path) -> None:
    """Take an export in, a few lines in a transaction."""
    lines.BITE = BITE
    with opened(store_of(folder)) as memory:
        memory.store.import_from(folder / "export.jsonl", trust="user")


def back_up(folder: Path) -> None:
    """Replace an earlier backup by a new one."""
    with opened(store_of(folder)) as memory:
        memory.store.backup(folder / "backup.db", overwrite=True)


def back_up_plainly(folder: Path) -> None:
    """Copy the ledger over an earlier backup, piece by piece: what no backup should do."""
    data = (store_of(folder) / LEDGER).read_bytes()
    with (folder / "backup.db").open("wb", buffering=0) as file:
        for at in range(0, len(data), 4_096):
            file.write(data[at : at + 4_096])


def export(folder: Path) -> None:
    """Replace an earlier export by a new one."""
    with opened(store_of(folder)) as memory:
        memory.store.export(folder / "export.jsonl", overwrite=True)


def restore_new(folder: Path) -> None:
    """Make a store of a backup where there is none."""
    with suppress(TargetExists):  # it is done
        restore(folder / "backup.db", store_of(folder))


def restore_aside(folder: Path) -> None:
    """Replace a store by the store of a backup."""
    restore(folder / "backup.db", store_of(folder), set_aside=True)


def restore_at(folder: Path) -> None:
    """The same, as it was at a moment."""
    restore(folder / "backup.db", store_of(folder), at=MIDDLE, set_aside=True)


def salvage_all(folder: Path) -> None:
    """Make a new store of what is whole in one."""
    salvage(store_of(folder))


def edit(memory: MemoryManager) -> None:
    """Make a long message of a thread a short one, as a user who edits it does."""
    _say(memory, _said("short"))


def _said(text: str) -> list[Turn]:
    return [Turn("hello", id="a"), Turn(text, id="b")]


def _say(memory: MemoryManager, turns: list[Turn]) -> None:
    """Keep a conversation as its host does at each call."""
    memory.keep(turns, session=THREAD)


def lock(memory: MemoryManager) -> None:
    """Lock a memory that has an expiry, which the lock takes away."""
    memory.update("doomed", lock="user")


def unlock(memory: MemoryManager) -> None:
    """Take that lock away."""
    memory.update("doomed", lock=None)


def noted(folder: Path) -> None:
    """Make a store with a session and a first checkpoint."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        memory.sessions.start("s", goal="empty the cellar").checkpoint(next=["the shelf"])


def note(memory: MemoryManager) -> None:
    """Make the second checkpoint of a session, unless it is there."""
    if not memory.sessions.resume("s").checkpoint.done:  # type: ignore[union-attr]  # it was begun
        memory.sessions.checkpoint("s", done=["the shelf"], next=["the floor"])


def end(memory: MemoryManager) -> None:
    """End a session, which leaves a memory under an id that is known."""
    with mock.patch("uuid_utils.uuid7", return_value="summary"):
        if memory.sessions.list()[0].ended_at is None:
            memory.sessions.start("s").end("done", summary="The cellar is empty")


def merge(memory: MemoryManager) -> None:
    """Merge a scope into another one, or what is left of it."""
    engine.BITE = BITE
    memory.scopes.merge("cellar", "loft")


def unmerge(memory: MemoryManager) -> None:
    """Undo a merge, unless that is done."""
    with suppress(InvalidInput):
        memory.scopes.unmerge("cellar")


def correct(memory: MemoryManager) -> None:
    """Let another text take the place of a value, under an id that is known."""
    found = memory.value("ferry")
    if found is not None and found.id != "corrected":
        with mock.patch("uuid_utils.uuid7", return_value="corrected"):
            memory.correct(found.id, "the ferry leaves at ten")


def undo(memory: MemoryManager) -> None:
    """Undo the correction, with the change that stands in its way, unless that is done."""
    first = memory.changes.list(id="ferry")[-1]
    if first.undone_by is None:
        memory.undo(first.number, force=True)


def undo_run(memory: MemoryManager) -> None:
    """Undo a call of several bites; what was undone before stays so."""
    run = next(one.run for one in memory.changes.list() if one.kind == "forget_many")
    with suppress(NothingToUndo):
        memory.undo(run=run)


def judge(memory: MemoryManager) -> None:
    """Give a verdict on everything that is active."""
    memory.feedback.rate([one.id for one in memory.list()], verdict="confirmed")


def turned(folder: Path) -> None:
    """Make a store with a turn that showed what it has of doors."""
    filled(folder)
    with opened(store_of(folder), now=START) as memory:
        turn = memory.feedback.open_loop("s", timeout=86_400)
        turn.retrieve(memory.list()[0].text, 10, record=False)
        (folder / "turn").write_text(turn.id)


def finalize(memory: MemoryManager) -> None:
    """Say how well the turn went, unless that was said before the kill."""
    with suppress(InvalidInput):
        memory.feedback.finalize((memory.store.root.parent / "turn").read_text(), 1.0)


def retract(memory: MemoryManager) -> None:
    """Take back what the agent said, all in one transaction."""
    memory.feedback.retract(source="agent")


def resolve(memory: MemoryManager) -> None:
    """Settle a flagged pair: one supersedes the other, unless that was done."""
    if memory.slots.conflicts():
        memory.slots.resolve("helix", "vim", keep="a")


def observe(memory: MemoryManager) -> None:
    """Learn from a turn that changes a value and states a rule, under ids that are known."""
    names = (f"learnt {n}" for n in count())
    with mock.patch("uuid_utils.uuid7", side_effect=names):
        said = "I live in Porto now. Always answer in Portuguese. My sister is called Rosa."
        memory.observe(said, "Will do.", session="monday", id="second")


def sleep(folder: Path) -> None:
    """Tidy up, a few memories in a transaction; nobody waits for a sleeper that died."""
    config = replace(QUIET, sleep=Sleep(bite=BITE, archive_share=1.0, lease=0.0))
    with MemoryManager(
        store_of(folder), embedder=None, config=config, clock=lambda: START
    ) as memory:
        memory.sleep.run(seconds=60)


# --- what is left beside the store


def restored_backup(folder: Path) -> Any:
    """Read what the backup holds."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        restore(folder / "backup.db", Path(place) / "again")
        return held(Path(place) / "again")


def imported_export(folder: Path) -> Any:
    """Read what the export holds."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        with opened(Path(place)) as memory:
            memory.store.import_from(folder / "export.jsonl", trust="user")
        return held(Path(place))


def told_of_all(folder: Path) -> Any:
    """Read what verdicts say of every active memory."""
    with opened(store_of(folder)) as memory:
        every = [one.id for one in memory.list()]
        return [
            [one, str(memory.feedback.belief(one)), str(memory.feedback.strength(one))]
            for one in every
        ]


def told_of_conflicts(folder: Path) -> Any:
    """Read which pairs are open and which are settled, and what is believed of each."""
    with opened(store_of(folder)) as memory:
        pairs = [
            [[one.a.id, one.b.id, one.relation] for one in memory.slots.conflicts(status=status)]
            for status in ("open", "resolved")
        ]
        return [pairs, str(memory.feedback.belief("vim")), str(memory.feedback.belief("helix"))]


def told_of_sessions(folder: Path) -> Any:
    """Read where the work of each session stands."""
    with opened(store_of(folder)) as memory:
        stands = [memory.sessions.resume(one.id) for one in memory.sessions.list()]
        return [
            [str(one.session.outcome), str(one.checkpoint.number), str(one.checkpoint.next)]
            for one in stands
            if one is not None and one.checkpoint is not None
        ]


def told_of_scopes(folder: Path) -> Any:
    """Read what each scope is a part of."""
    with opened(store_of(folder)) as memory:
        return [[one.path, str(one.merged_into)] for one in memory.scopes.list() if one.created_at]


THINGS = {
    "snapshot": Thing(filled, verb(snapshot)),
    "first opening": Thing(nothing, verb(nothing)),
    "reindex": Thing(embedded, verb(lambda memory: memory.store.reindex(), 32), dim=32),
    "file of vectors": Thing(embedded_notes, file_vectors, found_by_vector, dim=16),
    "outline": Thing(outlined_before, write_outline, outlined),
    "forget": Thing(filled, verb(forget)),
    "forget_source": Thing(from_the_web, verb(forget_source), between=is_cut),
    "lock": Thing(lockable, verb(lock)),
    "unlock": Thing(locked, verb(unlock)),
    "checkpoint": Thing(noted, verb(note), told_of_sessions),
    "end of a session": Thing(noted, verb(end), told_of_sessions),
    "merge of scopes": Thing(scoped, verb(merge), told_of_scopes, between=is_cut),
    "end of a merge": Thing(merged, verb(unmerge), told_of_scopes, between=is_cut_back),
    "approve": Thing(from_the_web, verb(approve)),
    "erase": Thing(filled, verb(erase)),
    "erase of many": Thing(long_session, verb(erase_session)),
    "sleep": Thing(tired, sleep, told_of_all, between=is_cut_sleep),
    "feedback": Thing(rated, verb(judge), told_of_all),
    "finalize": Thing(turned, verb(finalize), told_of_all),
    "retract": Thing(rated, verb(retract), told_of_all),
    "resolve": Thing(disputed, verb(resolve), told_of_conflicts),
    "observe": Thing(settled_in, verb(observe)),
    "correct": Thing(corrected, verb(correct)),
    "undo": Thing(corrected, verb(undo)),
    "undo of a run": Thing(corrected, verb(undo_run), between=is_cut_back),
    "a message edited": Thing(conversation, verb(edit), between=is_cut_edit),
    "import": Thing(exported, import_from, between=is_cut),
    "backup": Thing(saved_before, back_up, restored_backup),
    "export": Thing(saved_before, export, imported_export),
    "vault": Thing(vaulted, verb(sync_vault), in_notes, between=is_some),
    "restore": Thing(backup_alone, restore_new),
    "restore aside": Thing(backed_up, restore_aside, keeps_old=True),
    "restore at a moment": Thing(filled_later, restore_at, keeps_old=True),
    "salvage": Thing(backed_up, salvage_all, keeps_old=True),
    "close": Thing(filled, verb(nothing)),
}
CONTROLS = {
    "forget singly": Thing(filled, verb(forget_singly)),
    "back up plainly": Thing(saved_before, back_up_plainly, restored_backup),
}

"""An erased or forgotten turn stays away when its conversation is given again."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import product
from tempfile import TemporaryDirectory
from unicodedata import normalize

import pytest
from beside import written
from crossing import pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Draft, MemoryManager, Source, Turn
from memento.conversation import keep_new
from memento.errors import IdConflict, MementoError, TurnErased, UntrustedSource
from memento.types import Status
from memento.upkeep.backup import restore, salvage

HOME = "I live in Zebraville."
TALK = [
    Turn(HOME, id="u1"),
    Turn("Zebraville, noted.", "assistant", id="a1"),
    Turn("I like tea.", id="u2"),
]
NAMELESS = [Turn(one.text, one.role) for one in TALK]

ERASED = {
    "ids": lambda m: m.store.erase([one.id for one in m.list(status=list(Status))]),
    "session": lambda m: m.store.erase(session="s") and derived_too(m),
    "everything": lambda m: m.store.erase(everything=True),
}
HIDDEN = {
    "forget": lambda m: [m.forget(one.id) for one in m.list()],
    "forget_many": lambda m: m.forget_many(within=""),
}
AWAY = ERASED | HIDDEN


def derived_too(memory):
    """Erase what was learnt and is in no session."""
    left = [one.id for one in memory.list(status=list(Status))]
    return memory.store.erase(left) if left else None


def keeps(memory, talk):
    """Keep a conversation, and learn nothing."""
    memory.keep(talk, session="s")


def observes(memory, talk):
    """Learn from a conversation."""
    memory.observe(messages=talk, session="s")


def adapts(memory, talk):
    """Do as the middleware does."""
    for said, turn_id in keep_new(memory, talk, session="s"):
        if said.turn.role == "user":
            memory.observe(said.turn.text, session="s", keep=False, turn_id=turn_id)


DOORS = {"keep": keeps, "observe": observes, "adapter": adapts}
RESTARTED = (False, True)
NAMED_RESTARTED = list(product((True, False), RESTARTED))
"""Whether a turn has an id, and whether it is given again to another process."""


@pytest.fixture
def again(tmp_path):
    """Open the store of a test, and close it when it is opened again."""
    opened = []

    def open_it():
        while opened:
            opened.pop().close()
        opened.append(MemoryManager(tmp_path / "store", embedder=None))
        return opened[-1]

    yield open_it
    opened[-1].close()


def texts(memory):
    """Return what is found, in order."""
    return [one.text for one in memory.list(limit=1_000)]


@pytest.mark.parametrize(("how", "door", "named"), pairs(AWAY, DOORS, NAMED_RESTARTED))
def test_a_turn_that_is_given_again_stays_away(again, door, how, named):
    """In this process and in the next, through each door: neither kept nor learnt again."""
    (by_id, restarted), memory = named, again()
    talk = TALK if by_id else NAMELESS
    DOORS[door](memory, talk)
    AWAY[how](memory)
    memory = again() if restarted else memory
    news = Turn("My cat is called Tom.", id="u9" if talk is TALK else None)
    for _ in range(2):
        DOORS[door](memory, [*talk, news])
    assert not any("Zebra" in text or "tea" in text for text in texts(memory))
    assert "My cat is called Tom." in texts(memory)
    assert memory.value("user/home") is None


@pytest.mark.parametrize(("how", "door", "named"), pairs(AWAY, DOORS, NAMED_RESTARTED))
def test_a_new_message_of_the_user_is_stored(again, door, how, named):
    """The same words in the same session, as a new message: kept once, and learnt."""
    (by_id, restarted), memory = named, again()
    name = "u7" if by_id else None
    DOORS[door](memory, TALK if name else NAMELESS)
    AWAY[how](memory)
    memory = again() if restarted else memory
    for _ in range(3):
        DOORS[door](memory, [Turn(HOME, id=name)])
    kept = [one for one in memory.list(session="s") if one.text == HOME and one.role == "user"]
    assert len(kept) == 1
    if door != "keep":
        assert memory.value("user/home").text == HOME


@pytest.mark.parametrize("how", AWAY)
def test_each_new_message_can_be_erased(again, how):
    """Said, erased, said, erased: what is given again then has no turn of it."""
    memory, talk = again(), []
    for _ in range(3):
        talk.append(Turn(HOME))
        memory.keep(talk, session="s")
        assert texts(memory) == [HOME]
        AWAY[how](memory)
    memory.keep([*talk, Turn("Hm.")], session="s")
    assert texts(memory) == ["Hm."]


GREETING = [Turn("Good morning."), Turn("Good morning!", "assistant")]
CALLS = {
    "a first message and its answer": [Turn(HOME), Turn("Zebraville, noted.", "assistant")],
    "a later message": [*GREETING, Turn(HOME)],
    "a message said twice": [*GREETING, Turn(HOME), Turn("So be it.", "assistant"), Turn(HOME)],
}


@pytest.mark.parametrize(("how", "door", "call", "restarted"), pairs(AWAY, DOORS, CALLS, RESTARTED))
def test_the_same_call_again_is_a_replay(again, call, door, how, restarted):
    """Without ids nobody can tell it from a retry, so that nothing of it comes back."""
    memory = again()
    DOORS[door](memory, CALLS[call])
    AWAY[how](memory)
    memory = again() if restarted else memory
    prompt = Turn("Today is Tuesday.", "system")
    for _ in range(2):
        DOORS[door](memory, CALLS[call])
        DOORS[door](memory, [prompt, *CALLS[call]])
    assert set(texts(memory)) <= {prompt.text}


@pytest.mark.parametrize(("how", "door", "restarted"), pairs(AWAY, DOORS, RESTARTED))
def test_a_message_alone_is_said_now(again, door, how, restarted):
    """An agent without a checkpointer hands over each message of a thread so."""
    memory = again()
    DOORS[door](memory, [Turn(HOME)])
    AWAY[how](memory)
    memory = again() if restarted else memory
    for _ in range(2):
        DOORS[door](memory, [Turn(HOME)])
        assert HOME in texts(memory)


ELSEWHERE = {
    "later": [*GREETING, Turn(HOME), Turn("So be it.", "assistant")],
    "after other words": [Turn("Good evening.")],
    "after another answer": [GREETING[0], Turn("Hello!", "assistant")],
    "first": [],
}


@pytest.mark.parametrize(("how", "where", "door"), pairs(AWAY, ELSEWHERE, DOORS))
def test_elsewhere_the_same_words_are_new(again, where, door, how):
    """At a later place, or behind other turns, the last message of the user is stored."""
    memory, before = again(), ELSEWHERE[where]
    DOORS[door](memory, [*GREETING, Turn(HOME)])
    AWAY[how](memory)
    for _ in range(2):
        DOORS[door](memory, [*before, Turn(HOME)])
    kept = [one for one in memory.list(session="s") if one.text == HOME and one.role == "user"]
    assert len(kept) == 1
    DOORS[door](memory, [*before, Turn(HOME), Turn("As I said.")])
    assert [one.text for one in memory.list(session="s")].count(HOME) == 1


BEFORE = {
    "other metadata": lambda m, kept: m.update(kept.id, metadata={"topic": "home"}),
    "a false digest": lambda m, kept: m.update(kept.id, metadata={"said": "x", "after": "y"}),
    "other words": lambda m, kept: m.update(kept.id, text="I live in Zebraville now."),
    "replaced": lambda m, kept: m.add_many([Draft("Mine.", id=kept.id)], replace=True),
    "an edit": lambda m, _: m.keep([Turn("I live in Zebraton.", id="u1")], session="s"),
    "two edits": lambda m, _: [
        m.keep([Turn(f"I live in Zebra{n}.", id="u1")], session="s") for n in "ab"
    ],
    "archived": lambda m, kept: m.sleep.archive(kept.id),
}


@pytest.mark.parametrize(
    ("change", "how", "door", "restarted"), pairs(BEFORE, AWAY, DOORS, RESTARTED)
)
def test_a_turn_that_was_changed_before_stays_away(again, change, door, how, restarted):
    """No change of the memory makes the store forget what its message ever said."""
    memory = again()
    (kept,) = memory.keep(TALK[:1], session="s")
    BEFORE[change](memory, kept)
    every = memory.list(status=list(Status))
    if how in ERASED:
        memory.store.erase([one.id for one in every])
    else:
        for one in every:
            memory.forget(one.id)
    memory = again() if restarted else memory
    for _ in range(2):
        DOORS[door](memory, [*TALK[:1], Turn("Hm.", id="u9")])
    assert texts(memory) == ["Hm."]


def test_a_corrected_turn_keeps_the_correction_whatever_its_metadata(again):
    """What tells that the message stayed the same is no field that a caller can lose."""
    memory = again()
    (kept,) = memory.keep(TALK[:1], session="s")
    memory.update(kept.id, text="I live in Porto.", metadata={"checked": True})
    memory.keep(TALK[:1], session="s")
    assert texts(memory) == ["I live in Porto."]


def test_an_edit_to_the_words_of_a_correction_counts_as_an_edit(again):
    """So a message that is then edited back says again what it says."""
    memory = again()
    (kept,) = memory.keep(TALK[:1], session="s")
    memory.update(kept.id, text="I live in Porto.")
    for text in ("I live in Porto.", HOME):
        memory.keep([Turn(text, id="u1")], session="s")
    assert texts(memory) == [HOME]


def test_words_that_were_edited_away_are_not_brought_back(again):
    """The message has other words since it was erased; a stale copy of it changes nothing."""
    memory = again()
    memory.keep(TALK[:1], session="s")
    memory.store.erase(everything=True)
    memory.keep([Turn("I moved to Porto.", id="u1")], session="s")
    for _ in range(2):
        memory.keep(TALK[:1], session="s")
    assert texts(memory) == ["I moved to Porto."]


@settings(max_examples=25, deadline=None)
@given(data=st.data(), named=st.booleans(), how=st.sampled_from(list(AWAY)))
def test_another_spelling_of_a_turn_is_the_same_turn(named, how, data):
    """In another Unicode form, or with other white space, it stays away as well."""
    words = data.draw(st.lists(st.sampled_from(["café", "Zoë", "ﬁn", "각", "tea"]), min_size=2))
    gap = data.draw(st.sampled_from(["  ", "\n", "\r\n", "\u00a0"]))
    end = data.draw(st.sampled_from(["", " ", "\n", "\n\n"]))
    form = data.draw(st.sampled_from(["NFC", "NFD"]))
    again = normalize(form, gap.join(words)) + end
    name = "u1" if named else None
    with TemporaryDirectory() as folder, MemoryManager(folder, embedder=None) as memory:
        observes(memory, [Turn(" ".join(words), id=name)])
        AWAY[how](memory)
        observes(memory, [Turn(again, id=name), Turn("Hm.", id=name and "u9")])
        assert texts(memory) == ["Hm."]


def test_another_spelling_of_a_long_turn_is_the_same_turn(again):
    """It is cut at the same places."""
    memory = again()
    long = "\n".join(f"café {n}" for n in range(6_000))
    memory.keep([Turn(long, id="u1")], session="s")
    memory.store.erase(everything=True)
    memory.keep([Turn(normalize("NFD", long) + "\n", id="u1")], session="s")
    assert texts(memory) == []


def test_a_piece_that_an_edit_made_needless_comes_back_with_its_words(again):
    """Nobody took it out: the message had become shorter, and is as long as before again."""
    memory = again()
    long = Turn(" ".join(f"word{n}" for n in range(9_000)), id="u1")
    kept = [one.text for one in memory.keep([long], session="s")]
    memory.keep([Turn("Short.", id="u1")], session="s")
    memory.keep([long], session="s")
    assert sorted(texts(memory)) == sorted(kept)


class TestNeitherSessionNorId:
    """Turns of a program that sends its whole history, and names nothing."""

    @pytest.mark.parametrize(
        ("how", "door", "restarted"), pairs(["ids", "everything", *HIDDEN], DOORS, RESTARTED)
    )
    def test_what_stands_before_the_last_message_stays_away(self, again, door, how, restarted):
        """It is history, and not said now."""
        memory = again()
        doors = {
            "keep": lambda m, talk: m.keep(talk),
            "observe": lambda m, talk: m.observe(messages=talk),
            "adapter": lambda m, talk: keep_new(m, talk, session=None),
        }
        give = doors[door]
        give(memory, NAMELESS[:2])
        AWAY[how](memory)
        memory = again() if restarted else memory
        for _ in range(2):
            give(memory, [*NAMELESS[:2], Turn("Hm.")])
        assert texts(memory) == ["Hm."]
        give(memory, [*NAMELESS[:2], Turn("Hm."), Turn(HOME)])
        assert HOME in texts(memory)

    @pytest.mark.parametrize("how", ["ids", "everything", *HIDDEN])
    @pytest.mark.parametrize(
        "spelt",
        [
            Turn("I live in  Zebraville.\r\n"),
            Turn("\tI live in\u00a0Zebraville. "),
            Turn(HOME, actor="ada"),
        ],
    )
    @pytest.mark.parametrize("changed", [False, True])
    def test_another_spelling_stays_away(self, again, spelt, how, changed):
        """Nor does it matter who is named as the speaker, or whether its memory was corrected."""
        memory = again()
        memory.observe(messages=NAMELESS[:2])
        if changed:
            (kept,) = (one for one in memory.list() if one.role == "user")
            memory.update(kept.id, text="I live in Porto.")
        AWAY[how](memory)
        for _ in range(2):
            memory.observe(messages=[spelt, NAMELESS[1], Turn("Hm.")])
        assert texts(memory) == ["Hm."]
        assert memory.value("user/home") is None

    def test_the_last_message_is_always_new(self, again):
        """Nobody can tell a retry from another conversation."""
        memory = again()
        memory.keep(HOME)
        memory.store.erase(everything=True)
        memory.keep(HOME)
        assert texts(memory) == [HOME]


def test_an_erased_edit_of_an_untrusted_source_stays_away(again):
    """The edit waits beside what was approved; erased or rejected, it is not proposed again."""
    memory = again()
    (kept,) = memory.keep([Turn("Old page.", id="1", trust="web")], session="s")
    memory.quarantine.approve(kept.id)
    edit = Turn("New page.", id="1", trust="web")
    (proposed,) = memory.keep([edit], session="s")
    memory.store.erase(proposed.id)
    memory.keep([edit], session="s")
    assert memory.quarantine.list() == []
    assert texts(memory) == ["Old page."]


@pytest.mark.parametrize("how", AWAY)
def test_observed_alone_it_is_stored_again(again, how):
    """A message that is given alone is what is said now; by its id it is known."""
    memory = again()
    memory.observe(HOME, "Noted.", session="s", id="u1")
    AWAY[how](memory)
    assert memory.observe(HOME, session="s", id="u1").turns == ()
    assert memory.value("user/home") is None
    for _ in range(2):
        assert memory.observe(HOME, session="s").turns
    assert memory.value("user/home").text == HOME


def test_other_words_under_the_id_of_an_erased_turn_are_another_turn(again):
    """A program that numbers its messages again loses none."""
    memory = again()
    memory.keep(TALK, session="s")
    memory.store.erase(everything=True)
    memory.keep([Turn("I moved to Porto.", id="u1")], session="s")
    assert texts(memory) == ["I moved to Porto."]


def test_another_session_and_another_namespace_are_not_meant(again):
    """A turn is erased where it was said."""
    memory = again()
    memory.keep(TALK, session="s")
    memory.store.erase(everything=True)
    memory.keep(TALK, session="t")
    memory.of("other").keep(TALK, session="s")
    assert texts(memory) == texts(memory.of("other")) == [one.text for one in TALK]


def test_a_piece_of_a_long_turn_stays_away(again):
    """The others stay where they are."""
    memory = again()
    long = Turn(" ".join(f"word{n}" for n in range(9_000)), id="u1")
    kept = memory.keep([long], session="s")
    memory.store.erase(kept[2].id)
    assert memory.keep([long], session="s") == [*kept[:2], *kept[3:]]
    assert keep_new(memory, [long], session="s") == []


def test_very_many_erased_turns_stay_away(again):
    """Also those that are deleted later than they are erased."""
    memory = again()
    many = [Turn(f"My number {n} is red.", id=str(n)) for n in range(400)]
    memory.keep(many, session="s")
    memory.store.erase(everything=True)
    assert memory.keep(many, session="s") == []
    assert keep_new(again(), many, session="s") == []


def test_a_turn_that_is_erased_at_the_same_moment_is_refused(again):
    """The transaction that writes it looks again, so that nobody is too late."""
    memory = again()
    (kept,) = memory.keep(TALK[:1], session="s")
    memory.store.erase(kept.id)
    draft = Draft(kept.text, id=kept.id, session="s", role="user", metadata=kept.metadata)
    with pytest.raises(TurnErased) as refused:
        memory.add_many([draft])
    assert refused.value.ids == {kept.id}


def test_a_backup_knows_what_was_erased(again, tmp_path):
    """A store that is restored from it keeps the turn away."""
    memory = again()
    memory.keep(TALK, session="s")
    memory.store.erase(everything=True)
    memory.store.backup(tmp_path / "saved.db")
    restore(tmp_path / "saved.db", tmp_path / "other")
    with MemoryManager(tmp_path / "other", embedder=None) as other:
        assert other.keep(TALK, session="s") == []


def test_a_salvaged_store_knows_what_was_erased(again, tmp_path):
    """The digests and their key are taken over with the rows."""
    memory = again()
    memory.keep([*TALK, Turn("My cat is called Tom.", id="u9")], session="s")
    memory.store.erase([one.id for one in memory.list() if "Tom" not in one.text])
    memory.close()
    salvage(tmp_path / "store")
    memory = again()
    assert memory.keep(TALK, session="s") == []
    assert texts(memory) == ["My cat is called Tom."]


def test_an_import_brings_back_what_its_file_holds(again, tmp_path):
    """A person asks for it by name; the conversation itself still brings back nothing."""
    memory = again()
    memory.keep(TALK[:1], session="s")
    memory.store.export(tmp_path / "saved.jsonl")
    memory.store.erase(everything=True)
    assert memory.keep(TALK[:1], session="s") == texts(memory) == []
    assert memory.store.import_from(tmp_path / "saved.jsonl").memories == 1


def test_no_word_of_it_is_left(again, tmp_path):
    """Neither its words nor its id or session, but a digest that only this store can make."""
    memory = again()
    memory.keep([Turn(HOME, id="the-id-of-it")], session="its-session")
    memory.store.erase(everything=True)
    memory.close()
    left = written(tmp_path / "store")
    for word in (b"Zebraville", b"the-id-of-it", b"its-session"):
        assert word not in left


class TestAdd:
    """``add`` with the id of a memory that was forgotten."""

    @pytest.mark.parametrize("source", ["user", "agent"])
    def test_brings_it_back(self, again, source):
        """An acknowledged memory can be found, also after a retry."""
        memory = again()
        memory.add(HOME, id="home", source=source)
        memory.forget("home")
        for _ in range(2):
            assert memory.add(HOME, id="home", source=source).status is Status.ACTIVE
        assert texts(memory) == [HOME]
        assert [hit.id for hit in memory.retrieve("Zebraville")] == ["home"]

    @pytest.mark.parametrize("source", ["user", "web"])
    @pytest.mark.parametrize("hidden", ["archived", "forgotten", "superseded", "rejected", "none"])
    @pytest.mark.parametrize("key", [None, "user/home"])
    def test_acknowledged_is_found(self, again, hidden, source, key):
        """Whatever became of the memory: it is found as a new one would be, or refused."""
        memory = again()
        memory.add(HOME, id="home", source=source, key=key)
        with suppress(MementoError):
            {
                "archived": lambda: memory.sleep.archive("home"),
                "forgotten": lambda: memory.forget("home"),
                "superseded": lambda: memory.add("In Porto.", key=key, supersedes="home"),
                "rejected": lambda: memory.quarantine.reject("home"),
                "none": lambda: None,
            }[hidden]()
        for _ in range(2):
            added = memory.add(HOME, id="home", source=source, key=key)
        if source == "web":
            assert "home" in [one.id for one in memory.quarantine.list()]
        else:
            assert added.status is Status.ACTIVE
            assert "home" in [hit.id for hit in memory.retrieve("Zebraville")]
            assert key is None or memory.value(key).id == "home"

    @pytest.mark.parametrize("source", ["user", "web"])
    def test_expired_it_begins_again(self, tmp_path, source):
        """What is acknowledged is found from now on, and expires when the caller says now."""
        moments = [datetime(2026, 1, 1, tzinfo=UTC)]
        with MemoryManager(tmp_path, embedder=None, clock=lambda: moments[-1]) as memory:
            day = {"id": "home", "source": source, "expires_in": timedelta(days=1)}
            memory.add(HOME, **day)
            moments.append(moments[-1] + timedelta(days=7))
            memory.add(HOME, **day)
            found = memory.list() if source == "user" else memory.quarantine.list()
            assert [one.id for one in found] == ["home"]

    @pytest.mark.parametrize("hide", ["archive", "supersede"])
    def test_of_the_users_by_another_is_refused(self, again, hide):
        """What the user put away is not brought out by a page, and the page is told so."""
        memory = again()
        memory.add(HOME, id="home")
        if hide == "archive":
            memory.sleep.archive("home")
        else:
            memory.add("In Porto.", supersedes="home")
        before = memory.get("home")
        with pytest.raises(UntrustedSource):
            memory.add(HOME, id="home", source="web")
        assert memory.get("home") == before

    def test_with_other_words_is_an_error(self, again):
        """Nothing is written under an id that belongs to something else."""
        memory = again()
        memory.add(HOME, id="home")
        memory.forget("home")
        with pytest.raises(IdConflict):
            memory.add("I live in Porto.", id="home")
        assert texts(memory) == []

    def test_of_an_erased_id_is_a_new_memory(self, again):
        """The caller who chooses the id wants it."""
        memory = again()
        memory.add(HOME, id="home")
        memory.store.erase("home")
        memory.add(HOME, id="home")
        assert texts(memory) == [HOME]

    def test_a_part_of_a_file_stays_away(self, again):
        """A file that is read again does not bring back what was forgotten of it."""
        memory = again()
        draft = Draft(HOME, id="home", source=Source("user", uri="notes.md"))
        memory.add_many([draft])
        memory.forget("home")
        memory.add_many([draft])
        assert texts(memory) == []

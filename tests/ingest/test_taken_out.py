"""What somebody took out of a source stays out when the source is read again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager, Source
from memento.cli import main
from memento.errors import TurnErased
from memento.ingest import read
from memento.ledger.copies import sentences

BARN = "The alpha clause says that the red barn is kept locked at night."
PAY = "My salary is 48,200 euros and nobody else may know it."
GEESE = "The gamma clause is about geese and the pond behind the mill."
FARM = f"# Alpha\n\n{BARN}\n\n# Secret\n\n{PAY}\n\n# Gamma\n\n{GEESE}"

SHAPES = {
    "the same": FARM,
    "moved": f"# Secret\n\n{PAY}\n\n# Alpha\n\n{BARN}\n\n# Gamma\n\n{GEESE}",
    "another heading": FARM.replace("# Secret", "# Pay"),
    "another level": FARM.replace("# Secret", "### Secret"),
    "no heading": FARM.replace("# Secret\n\n", ""),
    "no headings at all": f"{BARN}\n\n{PAY}\n\n{GEESE}",
    "one paragraph": f"# All\n\n{BARN} {PAY} {GEESE}",
    "said twice": f"{FARM}\n\n# Again\n\n{PAY}",
    "with more under it": FARM.replace(PAY, f"{PAY} Ask Ines about the rest of it."),
    "with more above it": FARM.replace(PAY, f"Ines pays on the first.\n\n{PAY}"),
    "wrapped": FARM.replace("may know", "may\nknow").replace("My salary is", "My  salary is"),
    "lines of Windows": FARM.replace("\n", "\r\n"),
}
OUT = {
    "erased": lambda memory, one: memory.store.erase(one.id),
    "forgotten": lambda memory, one: memory.forget(one.id),
    "forgotten with others": lambda memory, one: memory.forget_many(ids=[one.id]),
    "corrected": lambda memory, one: memory.correct(one.id, "My salary is a secret."),
    "reworded": lambda memory, one: memory.update(one.id, text="My salary is a secret."),
}


@pytest.fixture
def memory(tmp_path):
    """Return a manager without an embedder."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        yield memory


def the_one(memory, words="48,200"):
    """Return the memory that says some words."""
    (found,) = (one for one in memory.list() if words in one.text)
    return found


def shown(memory):
    """Return all that is active, as one text."""
    return "\n".join(one.text for one in memory.list(limit=1000))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("how", OUT)
def test_a_part_stays_out_in_whatever_shape_it_is_read_again(memory, how, shape):
    """A part that was taken out does not come back, and nothing else of the document is lost."""
    memory.documents.add(FARM, name="farm")
    OUT[how](memory, the_one(memory))
    for _ in range(2):
        memory.documents.add(SHAPES[shape], name="farm")
        told = shown(memory)
        assert "48,200" not in told
        assert all(words in " ".join(told.split()) for words in (BARN, GEESE))
        assert ("a secret" in told) is (how in ("corrected", "reworded"))
    if "with more" in shape:
        assert "Ines" in told


@pytest.mark.parametrize("how", OUT)
def test_a_part_stays_out_of_one_with_its_neighbours(memory, how):
    """Parts that the document joins do not bring back what was taken out of one."""
    memory.documents.add(FARM, name="farm")
    OUT[how](memory, the_one(memory))
    memory.documents.add(f"# All\n\n{BARN}\n\n{PAY}\n\n{GEESE}\n\nAnd a new end.", name="farm")
    assert "48,200" not in shown(memory)
    assert {BARN, GEESE, "And a new end."} <= {*shown(memory).splitlines()}


def test_what_a_part_says_still_is_not_taken_out_of_another(memory):
    """Of equal words under two headings, one may be forgotten and the other renamed."""
    memory.documents.add(f"# A\n\n{BARN}\n\n# B\n\n{BARN}", name="farm")
    memory.forget(the_one(memory, "# A").id)
    memory.documents.add(f"# A\n\n{BARN}\n\n# C\n\n{BARN}", name="farm")
    assert [one.text for one in memory.list()] == [f"# C\n\n{BARN}"]


def test_restored_words_come_back(memory):
    """What was forgotten and restored is read again in any shape."""
    memory.documents.add(FARM, name="farm")
    one = memory.forget(the_one(memory).id)
    memory.restore(one.id)
    memory.documents.add(SHAPES["another heading"], name="farm")
    assert the_one(memory).text == f"# Pay\n\n{PAY}"


def test_what_the_document_itself_took_out_comes_back_with_it(memory):
    """A part that was gone from the document, and that nobody forgot, is found again."""
    memory.documents.add(FARM, name="farm")
    memory.documents.add(f"# Alpha\n\n{BARN}", name="farm")
    memory.documents.add(SHAPES["another heading"], name="farm")
    assert PAY in shown(memory)


def test_another_document_is_another_source(memory):
    """The same words under another name are not taken out."""
    memory.documents.add(FARM, name="farm")
    memory.store.erase(the_one(memory).id)
    memory.documents.add(FARM, name="mill")
    assert the_one(memory).source.uri == "mill"


CHAT = [
    {"role": "user", "content": PAY},
    {"role": "assistant", "content": "Noted, I will keep it to myself."},
    {"role": "user", "content": GEESE},
]
FILES = {
    "notes.md": FARM,
    "notes.txt": f"{BARN}\n\n{PAY}\n\n{GEESE}",
    "chat.jsonl": "\n".join(map(json.dumps, CHAT)),
    "drafts.jsonl": "\n".join(
        json.dumps({"text": text, "key": key}) for text, key in [(PAY, "pay"), (GEESE, "geese")]
    ),
}
CHANGED = OUT | {"moved": lambda memory, one: memory.update(one.id, scope="private")}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", CHANGED)
def test_a_file_that_is_ingested_again_changes_nothing(tmp_path, capsys, how, name):
    """What was taken out or changed stays so, and ``memento ingest`` still takes the rest."""
    file, root = tmp_path / name, str(tmp_path / "store")
    file.write_text(FILES[name], encoding="utf-8")
    with MemoryManager(root, embedder=None) as memory:
        memory.add_many(read(file))
        CHANGED[how](memory, the_one(memory))
        before = sorted((one.text, one.scope) for one in memory.list())
    more = json.dumps({"role": "user", "content": "A new end."})
    if name == "drafts.jsonl":
        more = json.dumps({"text": "A new end."})
    end = "\n" + (more if name.endswith("jsonl") else "\nA new end.")
    file.write_text(FILES[name] + end, encoding="utf-8")
    assert main(["ingest", str(file), "--root", root, "--no-wait"]) == 0
    assert ("1 removed here before" in capsys.readouterr().out) is (how == "erased")
    with MemoryManager(root, embedder=None) as memory:
        assert sorted((one.text, one.scope) for one in memory.list()) == sorted(
            [*before, ("A new end.", "")]
        )


@pytest.mark.parametrize("how", ["erased", "forgotten"])
def test_a_conversation_that_was_kept_does_not_come_back_from_its_file(memory, tmp_path, how):
    """A file of a session does not bring what was taken out of that session."""
    memory.keep([one | {"id": str(at)} for at, one in enumerate(CHAT)], session="s")
    OUT[how](memory, the_one(memory))
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"session": "s", "messages": CHAT}), encoding="utf-8")
    memory.add_many(read(file))
    assert "48,200" not in shown(memory)
    assert GEESE in shown(memory)


def test_what_the_user_adds_is_said_anew(memory):
    """``add`` stores erased words again, and so does ``add_many`` of texts without a source."""
    memory.documents.add(FARM, name="farm")
    memory.store.erase(the_one(memory).id)
    memory.add(PAY, source=Source(uri="farm"))
    memory.add_many([f"{PAY} Again."])
    assert len([one for one in memory.list() if "48,200" in one.text]) == 2


def test_of_a_long_turn_in_parts_one_part_stays_out(memory, tmp_path):
    """A turn that is stored in parts comes without the part that was erased."""
    turn = " ".join(f"Crate {at} left the yard for the harbour." for at in range(3000))
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"role": "user", "content": turn}), encoding="utf-8")
    memory.add_many(read(file))
    for words in ("Crate 0 ", "Crate 1500 "):
        memory.store.erase(the_one(memory, words).id)
    left = shown(memory)
    for _ in range(2):
        memory.add_many(read(file))
        assert "Crate 0 " not in shown(memory)
        assert "Crate 1500 " not in shown(memory)
    assert len(shown(memory)) == len(left)


def test_what_is_erased_at_the_same_moment_stays_out(memory, monkeypatch):
    """A document that was split before an erasure is written without what was erased."""
    memory.documents.add(FARM, name="farm")
    engine, erased = memory._view.engine, []
    add = type(engine).add

    def late(self, *args, **how):
        if not erased:
            erased.append(memory.store.erase(the_one(memory).id))
        return add(self, *args, **how)

    monkeypatch.setattr(type(engine), "add", late)
    memory.documents.add(SHAPES["another heading"], name="farm")
    assert "48,200" not in shown(memory)
    assert GEESE in shown(memory)


def test_a_replayed_turn_is_still_refused_by_its_id(memory):
    """``add_many`` of an erased turn by its id says so."""
    memory.keep([{"role": "user", "content": PAY, "id": "1"}], session="s")
    turn = the_one(memory)
    memory.store.erase(turn.id)
    again = {"text": PAY, "id": turn.id, "session": "s", "metadata": dict(turn.metadata)}
    with pytest.raises(TurnErased):
        memory.add_many([again])


SENTENCES = st.lists(
    st.integers(0, 30).map(lambda n: f"Sentence number {n} of the story is told here."),
    min_size=1,
    max_size=8,
    unique=True,
)
JOINTS = st.sampled_from([" ", "\n\n", "\n", "\n\n# Heading\n\n", "\n\n## Other heading\n\n"])


@settings(max_examples=25)
@given(SENTENCES, st.lists(JOINTS, min_size=8, max_size=8), st.randoms(), st.sampled_from([*OUT]))
def test_no_sentence_that_was_taken_out_returns(tmp_path_factory, said, joints, chance, how):
    """Whatever headings and gaps are put between sentences, those taken out stay out."""
    root = tmp_path_factory.mktemp("store")
    with MemoryManager(root, embedder=None) as memory:
        memory.documents.add("\n\n# One\n\n".join(said), name="story")
        chosen = chance.choice(memory.list())
        out = {one for one in said if one in chosen.text}
        OUT[how](memory, chosen)
        chance.shuffle(said)
        again = "".join(f"{one}{joint}" for one, joint in zip(said, joints, strict=False))
        memory.documents.add(again, name="story")
        told = " ".join(shown(memory).split())
        assert not [one for one in out if one in told]
        assert not [one for one in said if one not in out and one not in told]


@given(st.text())
def test_sentences_lose_no_character(text):
    """The sentences of a text, put together, are the text."""
    assert "".join(one for one, _ in sentences(text)) == text


def test_forgotten_words_stay_away_when_a_message_is_edited_back(memory):
    """A message that said A, was forgotten, says B and then A again is not A again."""
    for text, out in ((PAY, True), (PAY, False), ("What is it?", False), (PAY, False)):
        turns = [(text, "user"), ("Well.", "assistant"), (GEESE, "user")]
        said = [{"role": role, "content": one, "id": one[:5]} for one, role in turns[1:]]
        memory.keep([{"role": "user", "content": text, "id": "1"}, *said], session="s")
        if out:
            memory.forget(the_one(memory).id)
        assert "48,200" not in shown(memory)

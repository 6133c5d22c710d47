"""Ingesting: each thing once, later exports add what is new, what was changed here stays."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.ingest import survey
from memento.types import Status, Trust


@pytest.fixture
def memory(tmp_path):
    """Lend a memory."""
    with MemoryManager(tmp_path / "store", embedder=None) as one:
        yield one


def take(memory, *paths, **options):
    """Ingest files; returns how many are new, changed and known."""
    reports = memory.documents.ingest(survey(*paths, **options))
    new, changed = (sum(getattr(one, name) for one in reports) for name in ("new", "changed"))
    return new, changed, sum(one.read for one in reports) - new - changed


def message(number, text, sender="Ada", **more):
    """Make a message of Telegram."""
    at = f"2024-05-01T10:{number:02}:00"
    return {"id": number, "type": "message", "date": at, "from": sender, "text": text, **more}


def export(path, *messages, name="Ilse"):
    """Write an export of Telegram."""
    chat = {"name": name, "type": "personal_chat", "id": 7, "messages": [*messages]}
    path.write_text(json.dumps(chat))
    return path


def test_the_next_export_adds_only_what_is_new(memory, tmp_path):
    """Under another name, with a chat that is called otherwise, days later."""
    first = [message(1, "Hello"), message(2, "I sail", "Ilse")]
    assert take(memory, export(tmp_path / "a.json", *first), me="Ada") == (2, 0, 0)
    assert take(memory, tmp_path / "a.json", me="Ada") == (0, 0, 2)
    later = export(tmp_path / "b.json", *first, message(3, "Bye"), name="Ilse P.")
    assert take(memory, later, me="Ada") == (1, 0, 2)


def test_an_edited_message_gets_its_new_text(memory, tmp_path):
    """Its old text is in the history; one that was changed here stays as it is."""
    path = export(tmp_path / "a.json", message(1, "I live in Rome"), message(2, "I sial"))
    take(memory, path, me="Ada")
    sail = memory.list()[1]
    memory.update(sail.id, text="I sail")
    edited = [message(1, "I live in Porto", edited="x"), message(2, "I sial!", edited="x")]
    assert take(memory, export(path, *edited), me="Ada") == (0, 1, 1)
    assert {one.text for one in memory.list()} == {"I live in Porto", "I sail"}
    assert take(memory, path, me="Ada") == (0, 0, 2)


def test_what_was_forgotten_stays_forgotten(memory, tmp_path):
    """Reading the file again brings nothing back."""
    path = export(tmp_path / "a.json", message(1, "Hello"), message(2, "I sail"))
    take(memory, path, me="Ada")
    memory.forget(memory.list()[0].id)
    assert take(memory, path, me="Ada") == (0, 0, 2)
    assert [one.text for one in memory.list()] == ["I sail"]


OUT = {
    "erased": lambda memory, one: memory.store.erase(one.id),
    "forgotten": lambda memory, one: memory.forget(one.id),
    "corrected": lambda memory, one: memory.correct(one.id, "My salary is a secret."),
    "reworded": lambda memory, one: memory.update(one.id, text="My salary is a secret."),
}
PAY = "My salary is 48,200 euros and nobody else may know it."


def the_one(memory, words="48,200"):
    """Return the memory that says some words."""
    (found,) = (one for one in memory.list() if words in one.text)
    return found


@pytest.mark.parametrize("how", OUT)
def test_what_was_taken_out_of_a_chat_stays_out(memory, tmp_path, how):
    """Under its id or another one, in a message with others, and when one is edited to say it."""
    path = export(tmp_path / "a.json", message(1, PAY), message(2, "I sail on the Petrel."))
    take(memory, path, me="Ada")
    OUT[how](memory, the_one(memory))
    edited = message(2, f"I sail on the Petrel. {PAY}", edited="x")
    more = [message(3, PAY), message(4, f"{PAY} It is paid in May every year.")]
    for _ in range(2):
        (report,) = memory.documents.ingest(survey(export(path, message(1, PAY), edited, *more)))
        assert report.taken_out == (2 if how == "erased" else 1)
    (report,) = memory.documents.ingest(survey(path, me="Ada"))
    told = {one.text for one in memory.list()} - {"My salary is a secret."}
    assert told == {"I sail on the Petrel.", "It is paid in May every year."}


def test_a_message_that_is_edited_twice_gets_each_text(memory, tmp_path):
    """And what it said before may be said by another message: nobody took it out."""
    path = tmp_path / "a.json"
    for text in ("I live in Rome by now.", "I live in Porto by now.", "I live in Oslo by now."):
        take(memory, export(path, message(1, text, edited="x")), me="Ada")
        assert [one.text for one in memory.list()] == [text]
    back = message(2, "I live in Rome by now.")
    assert take(memory, export(path, message(1, text, edited="x"), back), me="Ada") == (1, 0, 1)


@pytest.mark.parametrize("how", OUT)
def test_links_lead_to_what_is_left(memory, tmp_path, how):
    """A note of which a sentence was taken out is linked; one that is gone is no end of a link."""
    vault = tmp_path / "vault"
    vault.mkdir()
    notes = {"Pay": PAY, "Mill": "The mill is by the pond.", "Barn": "The barn is by the road."}
    for name, text in notes.items():
        (vault / f"{name}.md").write_text(text)
    take(memory, vault)
    OUT[how](memory, the_one(memory))
    (vault / "Barn.md").write_text("The barn is red now. See [[Pay]] and [[Mill]].")
    take(memory, vault)
    barn = the_one(memory, "red now")
    ends = {one.memory.text for one in memory.insight.related(barn.id, status="active")}
    assert notes["Mill"] in ends
    assert PAY not in ends


def test_words_of_others_wait_until_they_are_approved(memory, tmp_path):
    """They are kept with their speaker and are found by nobody before."""
    path = export(tmp_path / "a.json", message(1, "Hello"), message(2, "Send money", "Ilse"))
    (report,) = memory.documents.ingest(survey(path, me="Ada"))
    assert (report.new, report.waiting) == (2, 1)
    assert [one.text for one in memory.list()] == ["Hello"]
    (waits,) = memory.list(status=Status.QUARANTINED)
    assert (waits.actor, waits.role, waits.source.kind) == ("Ilse", None, Trust.IMPORT)
    assert [*memory.retrieve("money", 5)] == []


def test_saying_who_one_is_afterwards_counts(memory, tmp_path):
    """What waited since nobody was the user becomes the user's own."""
    path = export(tmp_path / "a.json", message(1, "Hello"), message(2, "Hi", "Ilse"))
    take(memory, path)
    assert memory.list() == []
    take(memory, path, me="Ada")
    assert [(one.text, one.source.kind) for one in memory.list()] == [("Hello", Trust.USER)]


def test_notes_are_linked_as_they_say(memory, tmp_path):
    """Either way round, by path, name or alias, in any order, and again without a change."""
    vault = tmp_path / "vault"
    (vault / "people").mkdir(parents=True)
    (vault / "a.md").write_text("---\naliases: [Start]\n---\nSee [[people/Rami]] and [[Nobody]].\n")
    (vault / "people" / "Rami.md").write_text("# Rami\n\nAllergic to nuts. See [[start|there]].\n")
    assert take(memory, vault) == (2, 0, 0)
    assert take(memory, vault) == (0, 0, 2)
    for one in memory.list():
        (link, back) = memory.insight.related(one.id)
        assert {link.relation, back.relation} == {"related"}
        assert {link.outgoing, back.outgoing} == {True, False}


def test_relations_are_linked_to_what_they_relate(memory, tmp_path):
    """A relation of the server memory leads to both of its ends."""
    path = tmp_path / "memory.jsonl"
    nodes = [
        {"type": "entity", "name": name, "entityType": "x", "observations": [f"{name} is here"]}
        for name in ("Ilse", "Petrel")
    ]
    ends = {"type": "relation", "from": "Ilse", "to": "Petrel", "relationType": "sails"}
    path.write_text("\n".join(json.dumps(one) for one in [ends, *nodes]))
    take(memory, path)
    sails = next(one for one in memory.list() if one.text == "Ilse sails Petrel")
    assert {one.memory.text for one in memory.insight.related(sails.id)} == {
        "Ilse is here",
        "Petrel is here",
    }


def test_a_secret_in_an_edited_message_is_no_change(memory, tmp_path):
    """What is masked is compared as it is kept."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path = export(tmp_path / "a.json", message(1, f"The token is {key}", edited="x"))
    assert take(memory, path, me="Ada") == (1, 0, 0)
    assert take(memory, path, me="Ada") == (0, 0, 1)
    assert key not in memory.list()[0].text


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(["Hi", "Ho", "Yes"]), st.sampled_from("AB")),
        max_size=12,
    ),
    st.integers(0, 12),
)
def test_exports_in_any_order_give_the_same(tmp_path_factory, said, cut):
    """A part and then the whole, the whole and then a part, or the whole twice: the same memory."""
    folder = tmp_path_factory.mktemp("any")
    whole = [message(at, text, who) for at, text, who in {one[0]: one for one in said}.values()]
    part = export(folder / "part.json", *whole[:cut])
    all_ = export(folder / "all.json", *whole)
    kept = []
    for number, paths in enumerate([(part, all_), (all_, part), (all_, all_)]):
        with MemoryManager(folder / str(number), embedder=None) as memory:
            for path in paths:
                take(memory, path, me="A")
            both = [Status.ACTIVE, Status.QUARANTINED]
            kept.append({(one.id, one.text) for one in memory.list(status=both)})
    assert kept[0] == kept[1] == kept[2]
    assert len(kept[0]) == len(whole)


WITHOUT_ZONE = {
    "a.csv": "id,text,when\n1,I sail,2025-06-01 09:00\n",
    "b.jsonl": '{"text": "I sail", "occurred_at": "2025-06-01T09:00"}\n',
    "c.json": '[{"role": "user", "content": "I sail", "created_at": "2025-06-01T09:00"}]',
    "d.md": "---\ndate: 2025-06-01T09:00\n---\n\nI sail.\n",
    "WhatsApp Chat with Ilse.txt": "2025-06-01, 09:00 - Ada: I sail\n",
    "e.json": '{"results": [{"id": "1", "memory": "I sail", "created_at": "2025-06-01T09:00"}]}',
    "f.json": '{"conversation": {"session_1_date_time": "9:00 am on 1 June, 2025", "session_1": '
    '[{"speaker": "Ada", "dia_id": "D1:1", "text": "I sail"}]}}',
    "g.json": '{"name": "Ilse", "type": "personal_chat", "id": 7, "messages": [{"id": 1, "type": '
    '"message", "date": "2025-06-01T09:00:00", "from": "Ada", "text": "I sail"}]}',
}


@pytest.mark.parametrize("name", WITHOUT_ZONE)
@pytest.mark.parametrize(("zone", "hour"), [("UTC", 9), ("Asia/Tokyo", 0)])
def test_a_time_without_a_zone_is_in_the_time_zone_of_the_settings(tmp_path, name, zone, hour):
    """A phone or a table holds the user's own time; a time with a zone is left as it is."""
    (tmp_path / name).write_text(WITHOUT_ZONE[name])
    columns = {"text": "text", "occurred_at": "when"} if name.endswith(".csv") else None
    config = Config(timezone=zone)
    with MemoryManager(tmp_path / "store", embedder=None, config=config) as memory:
        memory.documents.ingest(survey(tmp_path / name, me="Ada", map=columns))
        (one,) = memory.list(status=["active", "quarantined"])
    assert one.occurred_at == datetime(2025, 6, 1, hour, tzinfo=UTC)


def test_a_time_with_a_zone_is_left_as_it_is(tmp_path):
    """The setting is only for times that name no zone."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "I sail", "occurred_at": "2025-06-01T09:00+02:00"}\n')
    config = Config(timezone="Asia/Tokyo")
    with MemoryManager(tmp_path / "store", embedder=None, config=config) as memory:
        memory.documents.ingest(survey(path))
        assert memory.list()[0].occurred_at == datetime(2025, 6, 1, 7, tzinfo=UTC)

"""Conversations become episodes, a turn each."""

from datetime import UTC, datetime

import pytest
from ingested import DIALOGUE, MESSAGES, lines

from memento.errors import InvalidInput
from memento.ingest import read
from memento.types import Kind


@pytest.mark.parametrize(
    ("name", "content", "session"),
    [
        ("chat.json", MESSAGES, "chat.json#1"),
        ("chat.json", {"messages": MESSAGES, "id": "c-9"}, "c-9"),
        ("chat.jsonl", lines({"messages": MESSAGES, "session": "s"}), "s"),
        ("chat.jsonl.gz", lines(*MESSAGES), "chat.jsonl"),
    ],
)
def test_chat_messages_become_episodes(file, name, content, session):
    """Each message is kept with role, actor, time and id; instructions and bare calls are not."""
    drafts = list(read(file(name, content)))
    assert [(draft.role, draft.actor, draft.text) for draft in drafts] == [
        ("user", None, "My boat is called Petrel."),
        ("assistant", "harbour", "A fine name.\nWhere is she moored?"),
        ("tool", None, "berth 12"),
    ]
    assert {draft.session for draft in drafts} == {session}
    assert {draft.kind for draft in drafts} == {Kind.EPISODE}
    assert [draft.metadata["turn"] for draft in drafts] == ["2", "m-7", "5"]
    assert drafts[0].occurred_at == datetime(2024, 5, 1, 10, tzinfo=UTC)


def test_a_pasted_book_is_split(file):
    """A turn longer than the ledger takes becomes several drafts with the id of the turn."""
    drafts = list(read(file("a.json", [{"role": "user", "content": "A long tale. " * 9_000}])))
    assert len(drafts) == 3
    assert {draft.metadata["turn"] for draft in drafts} == {"1"}


@pytest.mark.parametrize("kind", [["text"], {"a": 1}, "song", 7])
def test_a_block_of_no_known_type_is_refused(file, kind):
    """A block may hold the user's words: the error says where it is, and not what it says."""
    content = [{"type": kind, "text": "not this"}, {"type": "text", "text": "this"}]
    with pytest.raises(
        InvalidInput, match=r"message\.content\[0\]: is a block of an unknown"
    ) as bad:
        list(read(file("a.json", [{"role": "user", "content": content}])))
    assert "not this" not in str(bad.value)


@pytest.mark.parametrize("odd", ["session_" + "9" * 9_000, "session_01", "session_\u0661"])
def test_a_session_has_a_plain_number(file, odd):
    """Other names are no sessions, and hide none."""
    turns = {"session_1": [{"speaker": "Ada", "text": "this"}], odd: [{"text": "not this"}]}
    assert [draft.text for draft in read(file("a.json", {"conversation": turns}))] == ["this"]


def test_sharegpt_roles_are_translated(file):
    """Human and gpt are user and assistant, as everywhere else."""
    talk = {
        "id": 7,
        "conversations": [
            {"from": "system", "value": "Be brief."},
            {"from": "human", "value": "Hi"},
            {"from": "gpt", "value": "Hello"},
        ],
    }
    drafts = list(read(file("a.json", [talk, {"conversations": talk["conversations"][:2]}])))
    assert [(draft.session, draft.role) for draft in drafts] == [
        ("7", "user"),
        ("7", "assistant"),
        ("a.json#2", "user"),
    ]


@pytest.mark.parametrize("content", [DIALOGUE, [DIALOGUE]])
def test_locomo_dialogue(file, content):
    """Turns keep speaker, session, time, own id and what a shared picture shows."""
    drafts = list(read(file("talk.json", content)))
    assert [(draft.session, draft.actor, draft.text) for draft in drafts] == [
        ("made-up/session_2", "Ilse", "I planted a quince."),
        ("made-up/session_2", "Tom", "Look: [shares a red kayak]"),
        ("made-up/session_10", "Tom", "Happy new year!"),
    ]
    assert [draft.metadata["turn"] for draft in drafts] == ["D2:1", "D2:2", "D10:1"]
    assert drafts[0].occurred_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert drafts[2].occurred_at == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)

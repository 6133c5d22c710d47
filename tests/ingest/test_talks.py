"""Exports of ChatGPT and of claude.ai: whose words, which branch, which moment."""

import json
import zipfile

import pytest

from memento.ingest import Format, detect, read, survey
from memento.types import Trust


def node(name, parent, role, *parts, **more):
    """Make a node of ChatGPT's tree."""
    content = {"content_type": "text", "parts": [*parts]}
    message = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1_714_550_000.5,
        "content": content,
        "metadata": {},
        "recipient": "all",
        **more,
    }
    return {name: {"id": name, "message": message, "parent": parent, "children": []}}


def talk(*nodes, **more):
    """Make a conversation of ChatGPT."""
    tree = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    for one in nodes:
        tree |= one
    return {
        "title": "Boats",
        "create_time": 1_714_540_000.0,
        "mapping": tree,
        "current_node": [*tree][-1],
        "conversation_id": "c-1",
        **more,
    }


HIDDEN = {"metadata": {"is_visually_hidden_from_conversation": True}}
CHATGPT = talk(
    node("s", "root", "system", "You are ChatGPT."),
    node("h", "s", "user", "About me", **HIDDEN),
    node("u1", "h", "user", "My boat is called Petrel."),
    node("old", "u1", "assistant", "An answer that was made again."),
    node("a1", "u1", "assistant", "A fine name."),
    node("call", "a1", "assistant", "search(boats)", recipient="browser"),
    node("tool", "call", "tool", "boats found"),
    node("u2", "tool", "user", {"content_type": "image_asset_pointer"}, "Look at her."),
)
CLAUDE = {
    "uuid": "k-1",
    "name": "Tea",
    "created_at": "2024-05-01T10:00:00.000000Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "I drink green tea.",
            "content": [{"type": "text", "text": "I drink green tea."}],
            "created_at": "2024-05-01T10:00:01Z",
            "attachments": [{"file_name": "list.txt", "extracted_content": "A stranger's words"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "Noted."},
                {"type": "tool_use", "name": "x", "input": {}},
            ],
        },
        {"uuid": "m3", "sender": "human", "text": "", "content": []},
    ],
}


def told(drafts):
    """Return what is said by whom, and whose it is."""
    return [(one.role, one.source.kind, one.text) for one in drafts]


def test_the_current_branch_of_a_chatgpt_conversation_is_read(file):
    """The user's and the model's words that were shown last; no answer that was made again."""
    path = file("conversations.json", [CHATGPT])
    assert detect(path) is Format.CHATGPT
    drafts = [*read(path)]
    assert told(drafts) == [
        ("user", Trust.USER, "My boat is called Petrel."),
        ("assistant", Trust.AGENT, "A fine name."),
        ("user", Trust.USER, "Look at her."),
    ]
    assert {(one.session, one.tags, one.source.uri) for one in drafts} == {
        ("c-1", ("Boats",), "chatgpt:c-1")
    }
    assert drafts[0].occurred_at.isoformat() == "2024-05-01T07:53:20.500000+00:00"


@pytest.mark.parametrize("current", [None, "gone", 7, "missing"])
def test_without_a_current_node_the_newest_branch_is_read(file, current):
    """A conversation that does not say which branch is shown keeps one, the newest."""
    one = talk(
        node("u", "root", "user", "Hello"),
        node("b", "u", "assistant", "Second", create_time=9.0),
        node("a", "u", "assistant", "First", create_time=5.0),
        current_node=current,
    )
    if current == "missing":
        del one["current_node"]
    assert [draft.text for draft in read(file("conversations.json", [one]))] == ["Hello", "Second"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda one: one.pop("title"),
        lambda one: one.pop("conversation_id"),
        lambda one: one.pop("create_time"),
        lambda one: one["mapping"]["u1"]["message"].pop("create_time"),
        lambda one: one["mapping"]["u1"]["message"].pop("metadata"),
        lambda one: one["mapping"]["u1"].pop("children"),
        lambda one: one["mapping"]["s"].update(message=None),
        lambda one: one["mapping"]["root"].update(parent="u2"),  # a circle
        lambda one: one["mapping"]["u1"]["message"].update(create_time=None, weight=1),
    ],
)
def test_a_conversation_that_lacks_something_keeps_the_rest(file, damage):
    """No field but the words is needed."""
    one = json.loads(json.dumps(CHATGPT))
    damage(one)
    found = [draft.text for draft in read(file("conversations.json", [one]))]
    assert found == ["My boat is called Petrel.", "A fine name.", "Look at her."]


def test_a_model_that_calls_a_tool_or_thinks_says_nothing(file):
    """Calls, results, thoughts and context of a profile are left out; spoken words are read."""
    kinds = ("code", "thoughts", "reasoning_recap", "user_editable_context", "tether_quote")
    silent = [
        node(kind, "root", "assistant", content={"content_type": kind, "text": "no"})
        for kind in kinds
    ]
    heard = {"content_type": "audio_transcription", "text": "I said this."}
    spoken = {"content_type": "multimodal_text", "parts": [heard, {"content_type": "audio"}]}
    for at, one in enumerate(silent[1:], start=1):
        one[kinds[at]]["parent"] = kinds[at - 1]
    last = node("u", kinds[-1], "user", content=spoken)
    path = file("conversations.json", [talk(*silent, last)])
    assert told(read(path)) == [("user", Trust.USER, "I said this.")]


def test_claude_conversations_are_read_without_what_is_attached(file):
    """The user's words and the model's answers; no thought, no call, no file of somebody."""
    path = file("conversations.json", [CLAUDE])
    assert detect(path) is Format.CLAUDE
    drafts = [*read(path)]
    assert told(drafts) == [
        ("user", Trust.USER, "I drink green tea."),
        ("assistant", Trust.AGENT, "Noted."),
    ]
    assert drafts[0].metadata == {"attachments": ["list.txt"], "turn": "m1"}
    assert drafts[0].session == drafts[1].session == "k-1"


@pytest.mark.parametrize("value", [CHATGPT, CLAUDE])
def test_an_archive_is_read_as_it_was_downloaded(tmp_path, value):
    """The conversations in it are read, and what else is in it is named in one line."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([value]))
        archive.writestr("user.json", '{"email": "a@b.c", "chatgpt_plus_user": false}')
        archive.writestr("chat.html", "<html><body>My boat is called Petrel.</body></html>")
        archive.writestr("file-1.png", b"\x89PNG\r\n")
    first, rest = survey(path).found
    assert first.format in (Format.CHATGPT, Format.CLAUDE)
    assert first.name == "export.zip/conversations.json"
    assert (rest.left_out, rest.problem[:14]) == (True, "3 other files ")


def test_the_ids_of_an_export_do_not_depend_on_its_file(file):
    """The same conversation in another file, in another month, has the same ids."""
    one = [draft.id for draft in read(file("conversations.json", [CHATGPT]))]
    other = file("conversations-001.json", [talk(title="Other", conversation_id="c-2"), CHATGPT])
    assert [draft.id for draft in read(other)] == one


def test_an_export_too_large_to_be_held_gives_the_same(file, monkeypatch):
    """Conversation by conversation, whatever the size."""
    path = file("conversations.json", [CHATGPT, talk(node("x", "root", "user", "Hi"), id="c")])
    whole = [*read(path)]
    monkeypatch.setattr("memento.ingest.source.WHOLE_BYTES", 50)
    monkeypatch.setattr("memento.ingest.source.HEAD_BYTES", 700)
    assert [*read(path)] == whole

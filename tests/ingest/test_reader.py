"""Reading a file: its format, and the identity of its drafts."""

import json

import pytest
from ingested import DIALOGUE, MESSAGES, ids, lines, problem

from memento.errors import InvalidInput
from memento.ingest import Format, detect, read


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "Hello", Format.TEXT),
        ("notes", "Hello", Format.TEXT),
        ("a.md.gz", "# Hello", Format.MARKDOWN),
        ("a.jsonl", lines({"text": "Hello", "role": "user"}), Format.DRAFTS),
        ("empty.jsonl", "", Format.DRAFTS),
        ("a.json", [{"text": "Hello"}], Format.DRAFTS),
        ("a.json", MESSAGES, Format.CHAT),
        ("a.json", {"messages": MESSAGES}, Format.CHAT),
        ("a.jsonl", lines({"messages": MESSAGES}), Format.CHAT),
        ("a.ndjson", lines(*MESSAGES), Format.CHAT),
        ("a.jsonl", lines(MESSAGES), Format.CHAT),
        ("a.json", {"conversations": []}, Format.SHAREGPT),
        ("a.json", [DIALOGUE], Format.LOCOMO),
        ("a.json.gz", DIALOGUE["conversation"] | {"session_1": []}, Format.LOCOMO),
    ],
)
def test_detects_the_format(file, name, content, expected):
    """The suffix tells documents apart, the first value tells JSON apart."""
    assert detect(file(name, content)) is expected


def test_a_record_with_a_role_keeps_its_conversation(file):
    """A field ``role`` beside a conversation does not make the record one message."""
    said = {"conversations": [{"from": "human", "value": "Hello"}]}
    for record in ({"messages": MESSAGES}, said, DIALOGUE):
        told = [draft.text for draft in read(file("a.jsonl", lines(record)))]
        again = read(file("a.jsonl", lines({"role": "assistant", **record})))
        assert [draft.text for draft in again] == told != []


def test_a_message_may_name_its_conversation(file):
    """A label is not a conversation: the record stays one message."""
    labelled = {"role": "user", "content": "Hello", "conversation": "c1"}
    assert detect(file("a.jsonl", lines(labelled))) is Format.CHAT


@pytest.mark.parametrize("record", [{"text": "Hello", "role": "user"}, {"conversations": []}, 1])
def test_a_line_with_a_list_must_hold_messages(file, record):
    """A list of anything else is refused; it used to be read as messages without text."""
    assert "is not in a known format" in problem(file("a.jsonl", lines([record])))


@pytest.mark.parametrize("content", [{"colour": "red"}, [1], "word", None])
def test_unknown_json_is_an_error(file, content):
    """JSON of no known shape is refused by name, not guessed at."""
    assert "a.json" in problem(file("a.json", json.dumps(content)))


def test_a_misspelt_format_is_an_error(file):
    """A format nobody knows is refused at the call, before anything is read."""
    with pytest.raises(InvalidInput, match="'chta' is not one of: "):
        read(file("a.json", MESSAGES), "chta")


def test_reading_again_gives_the_same_ids(file):
    """A file read twice, packed or not, gives the same ids, so ingesting it again adds nothing."""
    first = ids(file("a.json", [DIALOGUE]))
    assert first == ids(file("a.json.gz", [DIALOGUE]))
    assert len(set(first)) == 3


def test_equal_paragraphs_have_ids_of_their_own(file):
    """A paragraph said twice is two drafts."""
    assert len(set(ids(file("a.txt", "Same.\n\nSame.\n")))) == 2


def test_an_edit_changes_only_the_ids_of_what_changed(file):
    """A paragraph put in front leaves the ids of the others as they were."""
    before = ids(file("a.txt", "One.\n\nTwo.\n"))
    assert ids(file("a.txt", "New.\n\nOne.\n\nTwo.\n"))[1:] == before


def test_name_and_scope_keep_sources_apart(file):
    """The same text under another name or in another scope is another draft."""
    path = file("a.txt", "One.\n")
    told = [ids(path), ids(path, name="other"), ids(path, scope="project/alpha")]
    assert len({identity for (identity,) in told}) == 3
    assert next(read(path, scope="/project/alpha/")).scope == "project/alpha"


def test_a_scope_of_its_own_wins(file):
    """A draft that names its scope keeps it."""
    path = file("a.jsonl", lines({"text": "a", "scope": "mine"}, {"text": "b"}))
    assert [draft.scope for draft in read(path, scope="all")] == ["mine", "all"]


def test_lines_are_read_as_they_are_asked_for(file):
    """A stream is not read to its end first: what stands before a bad line is there."""
    drafts = read(file("a.jsonl", lines({"text": "good"}) + "{"))
    assert next(drafts).text == "good"


@pytest.mark.parametrize(
    ("role", "trust"),
    [
        ("tool", "tool"), ("tool ", "tool"), ("Function", "tool"), ("tool_result", "tool"),
        ("observation", "tool"), (" Assistant", "agent"), ("USER", "user"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["role", "from"])
def test_a_role_is_trusted_no_more_however_it_is_called(file, role, trust, field):
    """The words of a tool do not become the user's because a file writes the role otherwise."""
    message = {field: role, "content": "berth 12", "value": "berth 12"}
    kept = "messages" if field == "role" else "conversations"
    (draft,) = read(file("a.json", json.dumps({kept: [message]})))
    assert draft.source.kind == trust


@pytest.mark.parametrize("role", ["system ", "Developer"])
def test_a_system_message_is_left_out_however_its_role_is_written(file, role):
    """It instructs the model; nobody said it."""
    talk = {"messages": [{"role": role, "content": "obey"}, {"role": "user", "content": "hello"}]}
    assert [draft.text for draft in read(file("a.json", json.dumps(talk)))] == ["hello"]

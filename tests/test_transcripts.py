"""Reading files into drafts."""

import dataclasses
import gzip
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import transcripts
from memento.errors import InvalidInput
from memento.transcripts import Format, detect, read
from memento.types import Draft, Kind, Source, Tier, Trust

MESSAGES = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "My boat is called Petrel.", "timestamp": "2024-05-01T10:00:00Z"},
    {
        "role": "assistant",
        "name": "harbour",
        "id": "m-7",
        "content": [
            {"type": "text", "text": "A fine name."},
            {"type": "image_url", "image_url": {"url": "x"}},
            {"type": "output_text", "text": "Where is she moored?"},
        ],
    },
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    {"role": "tool", "content": "berth 12"},
]

DIALOGUE = {
    "sample_id": "made-up",
    "conversation": {
        "speaker_a": "Ilse",
        "speaker_b": "Tom",
        "session_10_date_time": "12:05 am on 1 January, 2024",
        "session_10": [{"speaker": "Tom", "dia_id": "D10:1", "text": "Happy new year!"}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ilse", "dia_id": "D2:1", "text": "I planted a quince."},
            {"speaker": "Tom", "dia_id": "D2:2", "text": "Look:", "blip_caption": "a red kayak"},
        ],
    },
}


@pytest.fixture
def file(tmp_path):
    """Write a file, text or JSON value by its type, and return its path."""

    def write(name, content):
        path = tmp_path / name
        text = content if isinstance(content, str) else json.dumps(content)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def lines(*values):
    """Write values as JSON Lines."""
    return "".join(json.dumps(value) + "\n" for value in values)


def problem(path, **options):
    """Return what reading the file is refused with."""
    with pytest.raises(InvalidInput) as caught:
        list(read(path, **options))
    return str(caught.value)


# --- detect


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


@pytest.mark.parametrize("content", [{"colour": "red"}, [1], "word", None])
def test_unknown_json_is_an_error(file, content):
    """JSON of no known shape is refused by name, not guessed at."""
    assert "a.json" in problem(file("a.json", json.dumps(content)))


# --- documents


def test_text_becomes_paragraphs(file):
    """Each paragraph of a text is one fact of the session named after the file."""
    drafts = list(read(file("log.txt", "\ufeffFirst line\nsecond line\r\n\n \n\nAnother.\n")))
    assert [draft.text for draft in drafts] == ["First line\nsecond line", "Another."]
    assert {(draft.kind, draft.session) for draft in drafts} == {(Kind.FACT, "log.txt")}
    assert drafts[0].source == Source(Trust.USER, "log.txt")


def test_long_paragraph_is_split_at_sentences(file):
    """A paragraph over the limit is split at a sentence end and loses no word."""
    text = "A sentence of some length is here. " * 200
    pieces = [draft.text for draft in read(file("a.txt", text))]
    assert all(len(piece) <= transcripts.PARAGRAPH_LIMIT for piece in pieces)
    assert all(piece.endswith(".") for piece in pieces)
    assert " ".join(pieces) == text.strip()


@given(st.text(alphabet="ab .!?\n。", max_size=300))
def test_splitting_keeps_every_word(text):
    """Pieces hold every character but white space, in order, and none is too long."""
    pieces = list(transcripts._pieces(text.strip(), 20))
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(0 < len(piece) <= 20 for piece in pieces)


def test_markdown_keeps_headings(file):
    """A paragraph carries the headings it stands under, the nearest as its tag."""
    text = (
        "---\ntitle: Guide\n---\nIntro.\n\n# Setup ##\nGet a key.\n\n"
        "## Linux\n- one\n- two\n\n***\nMore.\n"
        "# In C#\nLast.\n\nTitle\n=====\nUnder it.\n"
    )
    drafts = read(file("a.md", text))
    found = [(draft.metadata.get("heading"), draft.tags, draft.text) for draft in drafts]
    assert found == [
        (None, (), "Intro."),
        ("Setup", ("Setup",), "Get a key."),
        ("Setup > Linux", ("Linux",), "- one\n- two"),
        ("Setup > Linux", ("Linux",), "More."),
        ("In C#", ("In C#",), "Last."),
        ("Title", ("Title",), "Under it."),
    ]


def test_markdown_keeps_fenced_code_whole(file):
    """Neither a blank line nor a hash inside a fence breaks the block."""
    code = "Run:\n```sh\n# not a heading\n\n---\nls\n```"
    assert [draft.text for draft in read(file("a.md", f"# Top\n{code}\n\nAfter."))] == [
        code,
        "After.",
    ]


def test_a_rule_at_the_top_is_no_header(file):
    """Text between two rules at the start of a file is kept."""
    drafts = read(file("a.md", "---\nThis is prose, really.\n\n---\nMore.\n"))
    assert [draft.text for draft in drafts] == ["This is prose, really.", "More."]


@given(st.text(alphabet="ab# \n`~-=*\t\r", max_size=80))
def test_any_markdown_is_read(text):
    """No text makes the Markdown reader fail or yield an empty paragraph."""
    blocks = transcripts._markdown_blocks(text.split("\n"))
    assert all(level or block.strip() for level, block in blocks)


# --- conversations


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
    """What was said is kept with role, actor, time and id; instructions and bare calls are not."""
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


# --- drafts


plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))]))
moments = moments.filter(lambda moment: 2 < moment.year < 9998)
labels = st.lists(plain, max_size=2).map(tuple)
drafts_given = st.builds(
    Draft,
    text=plain.filter(str.strip),
    tier=st.none() | st.sampled_from(Tier),
    kind=st.sampled_from(Kind),
    importance=st.none() | st.floats(0, 1),
    key=st.none() | plain,
    aliases=labels,
    scope=st.sampled_from(["", "project/alpha"]),
    session=st.none() | plain,
    actor=st.none() | plain,
    role=st.none() | plain,
    source=st.builds(Source, st.just(Trust.IMPORT), plain.filter(bool), st.none(), labels),
    tags=labels,
    metadata=st.dictionaries(plain, st.integers() | plain, max_size=2),
    occurred_at=st.none() | moments,
    valid_until=st.none() | moments,
    expires_in=st.none() | st.floats(1, 1e6),
    pinned=st.booleans(),
    supersedes=labels,
    related=labels,
    id=plain.filter(bool),
)


@given(st.lists(drafts_given, max_size=3))
def test_drafts_survive_json_lines(tmp_path_factory, given_drafts):
    """A draft written as a JSON object with its fields is read back equal."""
    path = tmp_path_factory.mktemp("drafts") / "a.jsonl"
    values = [dataclasses.asdict(draft) for draft in given_drafts]
    path.write_text("\n".join(json.dumps(v, default=datetime.isoformat) for v in values), "utf-8")
    assert list(read(path, Format.DRAFTS)) == given_drafts


def test_every_field_of_a_draft_can_be_given():
    """No field of Draft is missing from the reader, and it knows no other."""
    assert list(transcripts._FIELDS) == [field.name for field in dataclasses.fields(Draft)]


def test_a_time_without_zone_is_utc(file):
    """A naive time is taken as UTC, a number as seconds since 1970."""
    path = file("a.jsonl", lines({"text": "a", "occurred_at": "2024-02-03T04:05"},
                                 {"text": "b", "occurred_at": 0}))  # fmt: skip
    times = [draft.occurred_at for draft in read(path)]
    assert times == [datetime(2024, 2, 3, 4, 5, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": "a", "colour": "red"}, "colour: unknown field"),
        ({"text": " "}, "text: is missing or empty"),
        ({"kind": "fact"}, "text: is missing or empty"),
        ({"text": 5}, "text: expected a string, found a number"),
        ({"text": "a\0b"}, "text: holds a NUL"),
        ({"text": "a\ud800"}, "text: holds a NUL character or half a surrogate"),
        ({"text": "a", "kind": "fcat"}, "kind: 'fcat'"),
        ({"text": "a", "tier": "deep"}, "tier: 'deep'"),
        ({"text": "a", "importance": 1.5}, "importance: expected a number from 0 to 1"),
        ({"text": "a", "importance": True}, "importance: expected a number, found true or false"),
        ({"text": "a", "tags": "x"}, "tags: expected a list of strings, found a string"),
        ({"text": "a", "metadata": []}, "metadata: expected an object, found a list"),
        ({"text": "a", "pinned": 1}, "pinned: expected true or false"),
        ({"text": "a", "occurred_at": "yesterday"}, "occurred_at: Invalid isoformat"),
        ({"text": "a", "occurred_at": 1e300}, "occurred_at: "),
        ({"text": "a", "source": {"kind": "me"}}, "source: 'me' is not a valid Trust"),
        ({"text": "a", "source": {"url": "x"}}, "source: unknown fields ['url']"),
    ],
)
def test_a_bad_field_is_named_with_its_line(file, fields, said):
    """What does not fit is refused with file, line and field; good lines before it come first."""
    path = file("a.jsonl", "\n" + lines({"text": "good"}, fields))
    assert problem(path).startswith(f"path: a.jsonl:3 {said}")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.jsonl",
            '{"text": "a"}\n{"text": \n',
            "a.jsonl:2: is not JSON (Expecting value, column",
        ),
        ("a.json", '[\n{"text": }]', "a.json: is not JSON (Expecting value, line 2, column 10)"),
        ("a.jsonl", "9" * 5000, "a.jsonl:1: is not JSON that can be read"),
        ("a.jsonl", "[" * 100_000, "a.jsonl:1: is not JSON that can be read"),
        ("a.jsonl", '{"text": "a"}\n[1]', "a.jsonl:2: expected an object, found a list"),
        ("a.json", {"messages": 3}, "a.json messages: expected a list, found a number"),
        ("a.json", {"messages": [{"role": 3}]}, "a.json messages[0] role: expected a string"),
        ("a.json", [[{"role": "user", "content": {}}]], "a.json[0][0] content: expected a list"),
        ("a.json", {"conversations": [{"value": "x"}]}, "a.json conversations[0] from: expected"),
        (
            "a.json",
            {"session_1": [], "session_1_date_time": "May"},
            "a.json session_1_date_time: expected a time such as",
        ),
        (
            "a.json",
            {"session_1": [], "session_1_date_time": "1:00 pm on 31 February, 2023"},
            "a.json session_1_date_time: day",
        ),
        ("a.txt", "fine\n\0", "a.txt:2: holds a NUL"),
        ("no-such.txt", None, "no-such.txt: cannot be read"),
    ],
)
def test_malformed_files_are_named(file, tmp_path, name, content, said):
    """Whatever is wrong with a file, the error is typed and says where."""
    path = tmp_path / name if content is None else file(name, content)
    assert problem(path).startswith(f"path: {said}")


def test_bytes_that_are_not_utf8_are_an_error(tmp_path):
    """A file in another encoding is refused with the first line that shows it."""
    path = tmp_path / "latin.txt"
    path.write_bytes("fine\ncafé\n".encode("latin-1"))
    assert problem(path) == "path: latin.txt:2: is not UTF-8 text"


def test_a_torn_archive_is_an_error(tmp_path):
    """A gzip file cut short is reported, after what could be read."""
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"one\n\ntwo\n" * 500)[:-20])
    assert "a.txt.gz" in problem(path)
    assert "cannot be read" in problem(path)


def test_a_misspelt_format_is_an_error(file):
    """A format nobody knows is refused at the call, before anything is read."""
    with pytest.raises(InvalidInput, match="'chta' is none of text"):
        read(file("a.json", MESSAGES), "chta")


# --- identity


def ids(path, **options):
    """Return the ids of the drafts of a file."""
    return [draft.id for draft in read(path, **options)]


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

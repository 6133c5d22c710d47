"""Memories of other systems, notes and tables."""

import pytest
from ingested import lines, problem

from memento.errors import InvalidInput
from memento.ingest import Format, detect, read, survey
from memento.ingest.readers.tables import parse_map
from memento.types import Trust

MEM0 = {
    "id": "m-1",
    "memory": "Drinks green tea",
    "hash": "x",
    "user_id": "ada",
    "created_at": "2024-05-01T10:00:00-07:00",
    "updated_at": None,
    "metadata": {"category": "drinks"},
}
GRAPH = [
    {"type": "entity", "name": "Ilse", "entityType": "person", "observations": ["Lives in Porto"]},
    {"type": "entity", "name": "Petrel", "entityType": "boat", "observations": ["Petrel is red"]},
    {"type": "relation", "from": "Ilse", "to": "Petrel", "relationType": "sails_on"},
]
ROOM = """# shop / billing

## drawer_1

> We chose Stripe.
>
> # because it is simple

| Field | Value |
|-------|-------|
| Source | notes.md |
| Filed | 2026-05-01T10:00:00 |
| Added by | miner |

---

## drawer_2

> Second.

| Field | Value |
|-------|-------|
| Source | unknown |
| Filed | unknown |
| Added by | unknown |

---
"""
BASIC = """---
title: Coffee
type: note
permalink: coffee
tags:
- brewing
- "#home"
---
# Coffee

## Observations
- [method] Pour over takes three minutes #slow (at home)
- [tip] Grind it fresh

## Relations
- relates_to [[Tea]]
- part of [[Drinks|all drinks]]

A paragraph of its own about [[Tea]].
"""


@pytest.mark.parametrize("whole", [{"results": [MEM0]}, [MEM0]])
def test_mem0_is_read(file, whole):
    """A fact for each memory; a model wrote it, so it is not the user's word."""
    path = file("mem0.json", whole)
    assert detect(path) is Format.MEM0
    (draft,) = read(path)
    assert (draft.text, draft.source.kind) == ("Drinks green tea", Trust.AGENT)
    assert draft.metadata == {"user_id": "ada", "metadata": {"category": "drinks"}}
    assert draft.occurred_at.isoformat() == "2024-05-01T17:00:00+00:00"


def test_mem0_of_several_users_is_read_of_one_of_them(file):
    """A namespace is of one user, who has to be named."""
    others = {**MEM0, "id": "m-2", "memory": "Likes fog", "user_id": "bob"}
    path = file("mem0.json", {"results": [MEM0, others, {**MEM0, "id": "m-3", "user_id": None}]})
    assert "several users (ada and bob)" in problem(path)
    assert [one.text for one in read(path, me="Bob")] == ["Likes fog", "Drinks green tea"]


def test_relations_of_mem0_are_read(file):
    """A graph store adds them beside the memories."""
    relation = {"source": "ada", "relationship": "lives_in", "destination": "porto"}
    path = file("mem0.json", {"results": [MEM0], "relations": [relation]})
    assert [one.text for one in read(path)] == ["Drinks green tea", "ada lives in porto"]
    path = file("mem0.json", {"results": [MEM0], "relations": [{**relation, "user_id": "bob"}]})
    assert "several users (ada and bob)" in problem(path)


@pytest.mark.parametrize("form", ["memory.jsonl", "memory.json", "graph.json"])
def test_server_memory_is_read(file, form):
    """A fact for each observation and relation, which names whom it is about."""
    untyped = [{key: one[key] for key in one if key != "type"} for one in GRAPH]
    bare = {"entities": untyped[:2], "relations": untyped[2:]}
    path = file(form, bare if form == "graph.json" else lines(*GRAPH))
    assert detect(path) is Format.SERVER_MEMORY
    drafts = [*read(path)]
    assert [(one.text, one.aliases, one.source.kind) for one in drafts] == [
        ("Ilse: Lives in Porto", ("Ilse",), Trust.AGENT),
        ("Petrel is red", ("Petrel",), Trust.AGENT),
        ("Ilse sails on Petrel", (), Trust.AGENT),
    ]
    assert drafts[2].metadata == {"links": ["Ilse", "Petrel"]}


def test_mempalace_is_read(file):
    """A fact for each drawer, with its wing and room."""
    path = file("billing.md", ROOM)
    assert detect(path) is Format.MEMPALACE
    first, second = read(path)
    assert first.text == "We chose Stripe.\n\n# because it is simple"
    assert (first.tags, first.metadata["file"]) == (("shop", "billing"), "notes.md")
    assert (second.text, second.occurred_at) == ("Second.", None)


def test_basic_memory_is_read(file):
    """Observations and relations are facts of their own, with their tags and links."""
    path = file("coffee.md", BASIC)
    assert detect(path) is Format.BASIC_MEMORY
    found = [(one.text, one.tags, one.metadata.get("links")) for one in read(path)]
    assert found == [
        ("Pour over takes three minutes", ("brewing", "home", "slow"), None),
        ("Grind it fresh", ("brewing", "home"), None),
        ("Coffee relates to Tea", ("brewing", "home"), ["Tea"]),
        ("Coffee part of Drinks", ("brewing", "home"), ["Drinks"]),
        ("A paragraph of its own about Tea.", ("brewing", "home"), ["Tea"]),
    ]


NOTE = """---
tags: [health, "#food"]
aliases: [Rami B]
date: 2024-05-01
status: open
---
# Rami

Allergic to nuts, see [[people/Ilse|his doctor]] and [[Plan#Diet]]. ^m-12

## Doses

| drug | mg |
|------|----|
| A    | 5  |

![[scan.png]]
"""


def test_a_note_keeps_what_it_says_of_itself(file):
    """Its tags, aliases, date and fields; links as names; a table with its heading; no session."""
    first, table = read(file("rami.md", NOTE))
    assert first.text == "Allergic to nuts, see his doctor and Plan."
    assert (first.tags, first.aliases, first.session) == (("health", "food"), ("Rami B",), None)
    assert first.occurred_at.isoformat() == "2024-05-01T00:00:00+00:00"
    assert first.metadata == {
        "date": "2024-05-01",
        "status": "open",
        "document": "rami.md",
        "links": ["people/Ilse", "Plan"],
        "heading": "Rami",
    }
    assert table.text.startswith("Doses\n\n| drug | mg |")


@pytest.mark.parametrize(
    "header",
    [
        "tags: [a, b",
        "a: &x [1, 1]\nb: [*x, *x]",
        "tags: {a: {b: 1}}",
        "tags: 3",
        "aliases: [[a], {b: c}]",
        "date: yesterday",
        "title: " + "x" * 5_000,
        "1: 2",
    ],
)
def test_any_header_is_survived(file, header):
    """A header that is damaged or strange costs its note no word."""
    path = file("a.md", f"---\n{header}\n---\nThe note.\n")
    assert [draft.text for draft in read(path)] == ["The note."]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_a_table_is_read_as_programs_write_it(tmp_path, mark, encoding, caplog):
    """Commas, semicolons or tabs; UTF-8, or else Windows-1252, which the log says."""
    path = tmp_path / "t.csv"
    rows = [["name", "drinks"], ["Zoë", '"tea, green; hot"']]
    path.write_bytes("\r\n".join(mark.join(row) for row in rows).encode(encoding))
    assert [draft.text for draft in read(path)] == ["name: Zoë; drinks: tea, green; hot"]
    assert ("t.csv is not UTF-8" in caplog.text) is (encoding == "cp1252")


def test_columns_fill_fields(file):
    """Text, speaker, day, tags and importance come from the columns that ``--map`` names."""
    path = file("t.csv", "who;body;when;labels;weight\nAda;I sail;2024-05-01;a, b;0.5\nTom;;;;\n")
    chosen = parse_map(["text=body,actor=who", "occurred_at=when,tags=labels,importance=weight"])
    (draft,) = read(path, map=chosen)
    assert (draft.text, draft.actor, draft.tags) == ("I sail", "Ada", ("a", "b"))
    assert (draft.occurred_at.isoformat(), draft.importance) == ("2024-05-01T00:00:00+00:00", 0.5)


def test_fields_of_records_fill_fields(file):
    """A dotted name leads into a record; an id of its own makes a record known again."""
    path = file("t.jsonl", lines({"id": 7, "body": {"text": "I sail"}, "ts": 1714557600000}))
    chosen = {"text": "body.text", "occurred_at": "ts", "id": "id"}
    (draft,) = read(path, map=chosen)
    assert (draft.text, draft.occurred_at.isoformat()) == ("I sail", "2024-05-01T10:00:00+00:00")
    file("t.jsonl", lines({"id": 7, "body": {"text": "I sail more"}, "ts": 1714557600000}))
    assert [one.id for one in read(path, map=chosen)] == [draft.id]


def test_a_column_that_is_not_there_is_named(file):
    """So is a map that is not written as one, and one for a file that has no fields."""
    body = {"text": "body"}
    assert "no column body; its columns are a, b" in problem(file("t.csv", "a,b\n1,2\n"), map=body)
    assert "tables and JSON" in problem(file("t.md", "x"), format="markdown", map=body)
    with pytest.raises(InvalidInput, match="field=column"):
        parse_map(["body"])


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", b"%PDF-1.7\n\x00", "a PDF: convert it to text first"),
        ("a.png", b"\x89PNG\r\n\x1a\n\x00", "a PNG image"),
        ("notes.txt", b"\x89PNG\r\n\x1a\n\x00", "a PNG image"),
        ("a.db", b"SQLite format 3\x00", "an SQLite database"),
        (
            "projects.json",
            b'[{"uuid": "1", "prompt_template": "", "docs": []}]',
            "the projects of a",
        ),
        ("user.json", b'{"id": "1", "chatgpt_plus_user": true}', "the account of a ChatGPT"),
        (
            "users.json",
            b'[{"id": "U1", "team_id": "T", "profile": {}}]',
            "the user list of a Slack",
        ),
        ("messages.html", b'<html><div class="page_wrap">', "a Telegram export in HTML"),
    ],
)
def test_a_known_shape_that_is_not_read_is_named(tmp_path, name, data, said):
    """The error says what the file is and what to do."""
    path = tmp_path / name
    path.write_bytes(data)
    assert problem(path).startswith(f"path: {name}: is {said}")


def test_a_header_may_list_in_one_string(file):
    """Tags are words; an alias may have several."""
    note = "---\ntags: tall yellow, bird\naliases: Big Bird, Bibo\n---\nLives in a nest.\n"
    (first,) = read(file("bird.md", note))
    assert (first.tags, first.aliases) == (("tall", "yellow", "bird"), ("Big Bird", "Bibo"))


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_map_without_a_text_is_refused(file, name):
    """It would skip every record: a typing error, such as txt=note."""
    path = file(name, "note\nI sail\n" if name == "t.csv" else '{"note": "I sail"}\n')
    for look in (read, survey):
        with pytest.raises(InvalidInput, match=r"must include text.*only txt"):
            look(path, map={"txt": "note"})

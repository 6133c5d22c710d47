"""JSON objects with the fields of a draft."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingested import lines, problem

from memento.base.plain import composed
from memento.ingest import Format, read
from memento.ingest.readers import drafts
from memento.types import Draft, Kind, Source, Tier, Trust

plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))]))
moments = moments.filter(lambda moment: 2 < moment.year < 9998)
names = plain.filter(str.strip).map(composed)  # the one form of names
ids = names.filter(str.isprintable)
labels = st.lists(names, max_size=2, unique=True).map(tuple)
several_ids = st.lists(ids, max_size=2, unique=True).map(tuple)
drafts_given = st.builds(
    Draft,
    text=plain.filter(str.strip),
    tier=st.none() | st.sampled_from(Tier),
    kind=st.sampled_from(Kind),
    importance=st.none() | st.floats(0, 1),
    key=st.none() | names,
    aliases=labels,
    scope=st.sampled_from(["", "project/alpha"]),
    session=st.none() | names,
    actor=st.none() | names,
    role=st.none() | names,
    source=st.builds(Source, st.just(Trust.IMPORT), names, st.none(), several_ids),
    tags=labels,
    metadata=st.dictionaries(plain.map(composed), st.integers() | plain, max_size=2),
    occurred_at=st.none() | moments,
    valid_until=st.none() | moments,
    expires_in=st.none() | st.floats(1, 1e6),
    pinned=st.booleans(),
    supersedes=several_ids,
    related=several_ids,
    id=ids,
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
    assert list(drafts._FIELDS) == [field.name for field in dataclasses.fields(Draft)]


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
        ({"text": "a\0b"}, "text: contains a NUL"),
        ({"text": "a\ud800"}, "text: contains a lone surrogate"),
        ({"text": "a", "kind": "fcat"}, "kind: 'fcat'"),
        ({"text": "a", "tier": "deep"}, "tier: 'deep'"),
        ({"text": "a", "importance": 1.5}, "importance: must be a number from 0 to 1, not 1.5"),
        ({"text": "a", "importance": True}, "importance: must be a number from 0 to 1, not True"),
        ({"text": "a", "tags": "x"}, "tags: must be a list of strings, not str"),
        ({"text": "a", "tags": ["b", ""]}, "tags: is empty"),
        ({"text": "a", "id": "a\n"}, "id: must consist of 1 to 128 printable"),
        ({"text": "a", "expires_in": -1}, "expires_in: must be > 0"),
        ({"text": "a", "occurred_at": "9999-12-31T23:59:59-05:00"}, "occurred_at: must be between"),
        ({"text": "a", "metadata": []}, "metadata: expected an object, found a list"),
        ({"text": "a", "pinned": 1}, "pinned: must be True or False, not int"),
        ({"text": "a", "occurred_at": "yesterday"}, "occurred_at: Invalid isoformat"),
        ({"text": "a", "occurred_at": 1e300}, "occurred_at: "),
        ({"text": "a", "source": {"kind": "me"}}, "source.kind: 'me' is not one of: user"),
        ({"text": "a", "source": {"url": "x"}}, "source: unknown fields ['url']"),
    ],
)
def test_a_bad_field_is_named_with_its_line(file, fields, said):
    """A bad value is refused with file, line and field; good lines before it come first."""
    path = file("a.jsonl", "\n" + lines({"text": "good"}, fields))
    assert problem(path).startswith(f"path: a.jsonl:3 {said}")

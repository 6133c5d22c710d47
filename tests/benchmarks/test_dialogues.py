"""Benchmark files, made up here in the three published shapes."""

import gzip
import json
from datetime import UTC, datetime

import dialogues
import pytest

LOCOMO = [
    {
        "sample_id": f"talk-{n}",
        "conversation": {
            "session_1_date_time": "9:05 am on 3 March, 2023",
            "session_1": [
                {"speaker": "Ilse", "dia_id": "D1:1", "text": "I planted a quince."},
                {"speaker": "Tom", "dia_id": "D1:2", "text": "I sold my kayak."},
            ],
            "session_2": [{"speaker": "Tom", "dia_id": "D2:1", "text": "It snows."}],
        },
        "qa": [
            {"question": "What was planted?", "category": 4, "evidence": ["D1:1; D:2:01"]},
            {"question": "What did Ilse sell?", "category": 5, "evidence": ["D1:2"]},
            {"question": "Nothing to find", "category": 1, "evidence": ["D9:9"]},
        ],
    }
    for n in (1, 2)
]
BEAM = {
    "id": "7",
    "turns": [
        {"id": 0, "role": "user", "session": "B1", "date": "2024-03-15", "text": "I rent."},
        {"id": 1, "role": "assistant", "session": "B1", "text": " "},
        {"id": 2, "role": "user", "session": "B2", "text": "I bought a barn."},
    ],
    "queries": [
        {"id": "u0", "category": "update", "question": "Do I rent?", "gold": [0, 1, 2]},
        {"id": "u1", "category": "update", "question": "No gold", "gold": []},
    ],
}
LONGMEMEVAL = {
    "question_id": "q1",
    "question_type": "single",
    "question": "Which tree?",
    "question_date": "2023/05/30 (Tue) 23:40",
    "answer_session_ids": ["s2"],
    "haystack_session_ids": ["s1", "s2"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
    "haystack_sessions": [
        [{"role": "user", "content": "Hello"}],
        [{"role": "user", "content": "A quince.", "has_answer": True}],
    ],
}


@pytest.fixture
def load(tmp_path):
    """Load a benchmark from its text."""

    def write(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return dialogues.load(path)

    return write


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_locomo(load, name):
    """Evidence, slips included, names turns and their sessions; what has none is left out."""
    dataset = load(name, json.dumps(LOCOMO))
    assert (dataset.name, [talk.id for talk in dataset.conversations]) == (
        "locomo",
        ["talk-1", "talk-2"],
    )
    talk = dataset.conversations[0]
    assert len(talk.drafts) == 3
    assert [(query.category, query.turns, query.sessions) for query in talk.queries] == [
        ("single-hop", {"D1:1", "D2:1"}, {"talk-1/session_1", "talk-1/session_2"}),
        ("adversarial", {"D1:2"}, {"talk-1/session_1"}),
    ]


def test_beam(load):
    """Turns keep role, session and day; a turn without words is no memory and no gold."""
    (talk,) = load("a.jsonl.gz", json.dumps(BEAM) + "\n").conversations
    assert [(draft.role, draft.session, draft.text) for draft in talk.drafts] == [
        ("user", "B1", "I rent."),
        ("user", "B2", "I bought a barn."),
    ]
    assert talk.drafts[0].occurred_at == datetime(2024, 3, 15, tzinfo=UTC)
    assert [(query.turns, query.sessions) for query in talk.queries] == [({"0", "2"}, {"B1", "B2"})]


def test_longmemeval(load):
    """Each question has a haystack and a moment of its own; unanswerable ones are left out."""
    absent = {**LONGMEMEVAL, "question_id": "q2_abs"}
    (talk,) = load("a.json", json.dumps([LONGMEMEVAL, absent])).conversations
    assert talk.now == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert talk.queries[0].turns == {"1#0"}
    assert talk.queries[0].sessions == {"s2"}
    assert talk.drafts[1].occurred_at == datetime(2023, 5, 21, 2, 21, tzinfo=UTC)


def test_ids_are_unique_in_a_store(load):
    """Every turn has an id of its own, so that equal turns are not merged."""
    talk = load("a.json", json.dumps(LOCOMO)).conversations[0]
    assert len({draft.id for draft in talk.drafts}) == 3


def test_another_file_is_an_error(load):
    """A file of another shape is refused, with what it has."""
    with pytest.raises(ValueError, match="neither LoCoMo, BEAM nor LongMemEval"):
        load("a.json", json.dumps([{"text": "x"}]))

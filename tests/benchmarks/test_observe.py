"""The benchmark of ``observe`` counts messages, judges floors, and reads natural talk."""

import gzip
import json

import observe

from memento.observe.reader import Reader
from memento.observe.signals import Candidate, Signal, Span
from tests.observe.stand_in import StandIn


def row(*expect):
    """Return a message that is expected to hold some classes."""
    return {"text": "x", "previous": None, "expect": list(expect), "key": None}


def candidate(signal):
    """Return a candidate of a class."""
    return Candidate(Span(0, 1, "x"), signal, 0.9, sure=True)


def test_a_message_counts_once_and_its_class_apart():
    """A wrong class is a right store; junk costs the precision of both."""
    total = observe.Score()
    total.take(row("rule"), [candidate(Signal.RULE)])
    total.take(row("rule"), [candidate(Signal.FACT)])
    total.take(row("plan"), [])
    total.take(row(), [candidate(Signal.FACT)])
    assert total.store.rates() == (2 / 3, 2 / 3)
    assert total.kind.rates() == (1 / 3, 1 / 3)
    assert total.classes["fact"].rates() == (0, 0)


def test_floors_name_what_they_miss():
    """Precision and recall are held against their floor one by one."""
    tally = observe.Tally(expected=10, stored=10, right=9)
    assert observe.below("store", tally, (0.9, 0.9)) == []
    assert observe.below("store", tally, (0.95, 0.9)) == ["store: precision 0.90, floor 0.95"]


def test_natural_talk_is_read_in_three_forms(tmp_path):
    """Lines of text, a list of conversations, and one chat a line: only what people say."""
    lines = tmp_path / "talk.txt"
    lines.write_text("Hi.\n\nBye.\n", encoding="utf-8")
    talks = tmp_path / "talks.json"
    talks.write_text(
        json.dumps([{"conversation": {"date": "x", "one": [{"text": "Hi."}]}}]), encoding="utf-8"
    )
    chats = tmp_path / "chats.jsonl.gz"
    turns = [{"role": "user", "text": "Hi."}, {"role": "assistant", "text": "Hello."}]
    with gzip.open(chats, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"turns": turns}) + "\n")
    assert list(observe.natural_texts(lines)) == ["Hi.", "Bye."]
    assert list(observe.natural_texts(talks)) == ["Hi."]
    assert list(observe.natural_texts(chats)) == ["Hi."]


def test_a_scripted_model_is_bound_by_the_checks(monkeypatch):
    """An oracle adds what is expected and can be pointed at; words that are shown stay out."""
    stated = {"text": "The bakery smells nice today.", "previous": None, "expect": ["fact"]}
    shown = {"text": "> I live in Porto.", "previous": None, "expect": ["identity"]}
    monkeypatch.setattr(Reader, "load", StandIn)
    (one,) = observe.assisted(stated, "oracle", set())
    assert (one.signal, one.span.text) == (Signal.FACT, stated["text"])
    assert observe.assisted(stated, "oracle", {0}) == []
    assert observe.assisted(stated | {"expect": []}, "oracle", set()) == []
    for model in ("oracle", "greedy"):
        assert observe.assisted(shown, model, set()) == []
    assert {one.signal for one in observe.assisted(stated, "greedy", set())} > {Signal.FACT}


def test_slots_are_counted(capsys):
    """A slot that was not expected is wrong, and one that is missing is not right."""
    slots = observe.Slots()
    said = "My name is Ada."
    one = Candidate(Span(0, len(said), said), Signal.IDENTITY, 0.9, sure=True)
    for key in ("user/name", "user/home", None):
        slots.take({"previous": None, "key": key}, [one])
    assert (slots.messages, slots.wrong, slots.expected, slots.right) == (3, 2, 2, 1)
    assert slots.report() == ["slots: 66.7 wrong in 100 messages, most 1.0"]
    assert "right 1 of 2 (50%)" in capsys.readouterr().out

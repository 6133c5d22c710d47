"""The set of answers holds together, and the benchmark tells right citations from wrong ones."""

from __future__ import annotations

import json

import citing
from lives import read


def test_every_answer_names_a_question_and_memories_of_its_life():
    """Some answers rest on nothing."""
    answers = citing.answers_of(citing.ANSWERS)
    assert any(not one.rests_on for one in answers)
    for path in {one.life for one in answers}:
        life = read(path)
        questions = {question.id for question in life.questions}
        memories = {told.id for told in life.memories}
        for one in (one for one in answers if one.life == path):
            assert one.question in questions
            assert one.rests_on <= memories


def test_a_wrong_citation_misses_the_floor(tmp_path, capsys):
    """Of two memories the answer repeats one; labelled the other way round it is wrong."""
    told = [
        {"id": "gate", "at": "2025-03-04T09:00:00Z", "text": "The gate opens with 4419"},
        {"id": "barn", "at": "2025-03-04T10:00:00Z", "text": "The barn opens with 8070"},
    ]
    question = {"id": "q", "class": "who", "text": "What opens the gate?", "answers": ["gate"]}
    life = {
        "about": "x",
        "today": "2025-03-05T09:00:00Z",
        "memories": told,
        "questions": [question],
    }
    (tmp_path / "life.json").write_text(json.dumps(life))
    for source, expected in (("gate", 0), ("barn", 1)):
        line = {"life": "life.json", "question": "q", "answer": "4419.", "rests_on": [source]}
        (tmp_path / "answers.jsonl").write_text(json.dumps(line) + "\n")
        arguments = [str(tmp_path / "answers.jsonl"), "--embedder", "none"]
        assert citing.main(arguments) == expected
    assert "precision 0.000" in capsys.readouterr().out

"""However odd a text is, it is read a bounded number of times."""

from __future__ import annotations

from collections import Counter

import pytest

from memento import MemoryManager
from memento.admit import redact
from memento.observe import mask
from memento.observe.carried import MOST_READ
from memento.text import words

TEXTS = [
    "eyJ",
    "ghp_",
    "sk-",
    "a",
    "word ",
    "a. ",
    "a: ",
    "password is ",
    "-",
    '"',
    "\ufdfa",
    "你好",
]


@pytest.mark.parametrize("unit", TEXTS)
@pytest.mark.parametrize("verb", ["keep", "observe"])
def test_each_character_is_read_a_few_times(tmp_path, monkeypatch, unit, verb):
    """Of one turn, secrets are looked for and words folded in a few times its length."""
    read = {"secrets": 0, "words": 0, "sentences": 0}
    look, fold, hide = redact._secrets_in, words.fold, mask.hide

    def counting(name, of):
        def counted(text):
            read[name] += len(text)
            return of(text)

        return counted

    monkeypatch.setattr(redact, "_secrets_in", counting("secrets", look))
    monkeypatch.setattr(words, "fold", counting("words", fold))
    monkeypatch.setattr(mask, "hide", counting("sentences", hide))
    text = (unit * 60_000)[:60_000]
    with MemoryManager(tmp_path, embedder=None) as memory:
        if verb == "keep":
            memory.keep([{"role": "user", "content": text, "id": "1"}], session="s")
        else:
            memory.observe(text, session="s")
    assert read["secrets"] <= 4 * len(text)
    assert read["words"] <= 4 * len(text)
    assert read["sentences"] <= MOST_READ


@pytest.mark.parametrize(
    "text",
    [
        "before-eyJhbGciOiJIUzI1NiJ9",
        "x.y.eyJhbGciOiJIUzI1NiJ9",
        "a" * 3000 + "eyJhbGciOiJIUzI1NiJ9",
    ],
)
def test_a_token_behind_a_run_is_still_found(text):
    """A look is spared only where no three parts follow."""
    found: Counter[str] = Counter()
    token = f"{text}.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
    assert "dozjgNry" not in redact.redact(token, found)
    assert found["jwt"] == 1

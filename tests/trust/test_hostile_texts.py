"""Texts made to be slow to read: no function takes a time that grows faster than they."""

from __future__ import annotations

import os
import subprocess
import sys

READ = """
import time
from collections import Counter
from datetime import date

from memento.admit.redact import redact
from memento.text import sentences, when, words
from memento.retrieve import passage, question

UNITS = (
    "a", "x ", "budget ", "\\n", "1 ", "5 May 2024 ", "may ", "last ", "last friday ", "in in ",
    "a couple of weeks ago ", "12 days ago ", "the day before ", "new year's ", "2024/5/", '"a" ',
    '"', "«a» ", "`a", "which the ", "what are the ", "which of her many ", "who ", "list all ",
    "what a-b-c-d ", "東京", "한국어 ", "a\\u0301\\u0302\\u0303", "\\u0301", "\\u200d", "ıİ", "-",
    "...", "_", "a/", "@a.b ", "foo_bar ", "a1b2c3d ", "(", "*", '" OR a* NEAR(', "\\x01",
    "head : x ", "from now on ", "?", "password is ", "api_key=a_1 ", "://a:", "eyJ", "sk-a-",
)
DAY, YEARS = date(2024, 5, 5), range(1990, 2025)
READERS = (
    words.fold, words.words, words.terms, words.quoted, words.identifiers, words.squeeze,
    lambda text: words.cues(text, "user"), words.columns,
    lambda text: when.said(text, DAY), lambda text: when.times_of(text, DAY, YEARS),
    lambda text: question.parse(text, now=DAY, years=YEARS, people={"ada": 0}, max_terms=32),
    sentences.merely_asks, lambda text: sentences.beyond(text, text),
    lambda text: sentences.statements(text, questions=True), sentences.cut,
    lambda text: passage.passage(text, frozenset(["budget"]), 240),
    lambda text: redact(text, Counter()),
)
for unit in UNITS:
    text = (unit * 16_384)[:16_384]
    for at, read in enumerate(READERS):
        began = time.process_time()
        read(text)
        took = time.process_time() - began
        assert took < 1, f"reader {at} takes {took:.1f} s for {unit!r}"
"""
DATES = """
import time
from datetime import date

from memento.text import when

DAY, YEARS = date(2024, 5, 5), range(1990, 2025)
for unit in ("last friday ", "5 May 2024 ", "12 days ago ", "a couple of weeks ago "):
    text = (unit * 65_536)[:65_536]
    began = time.process_time()
    when.said(text, DAY)
    when.times_of(text, DAY, YEARS)
    took = time.process_time() - began
    assert took < 5, f"the dates of {unit!r} take {took:.1f} s"
"""
ENDED = """
import tempfile
import time

from memento import MemoryManager
from memento.insight import names
from memento.text import alike, former_question, sentences
from memento.prompt import conditions

READERS = (
    former_question.asked, sentences.merely_asks, alike.read, conditions.facts, conditions.parse,
    names.read,
)
UNITS = (
    "?", "\\uff1f", "\\n", " \\n", " ", "word is here. ", "a? ", ":", "_", "- ", "not ", "a_",
    "    x;",
)
with tempfile.TemporaryDirectory() as folder, MemoryManager(folder, embedder=None) as memory:
    for unit in UNITS:
        text = "use " + (unit * 16_000)[:16_000] + "x! end"
        for read in (*READERS, memory.rules.direct):
            began = time.process_time()
            read(text)
            took = time.process_time() - began
            assert took < 1.5, f"{read} takes {took:.1f} s for {unit!r}"
"""


def run(program):
    """Run it in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, timeout=600, check=True)


def test_no_text_is_slow_to_read():
    """All readers of text, a quarter of the longest text: each takes less than a second."""
    run(READ)


def test_very_many_dates_are_not_slow_to_read():
    """The longest text, of dates alone, is read in less than five seconds."""
    run(DATES)


def test_no_text_with_another_end_is_slow_to_read():
    """A long run of one thing and then a word: a look for the end of a text tries each place."""
    run(ENDED)

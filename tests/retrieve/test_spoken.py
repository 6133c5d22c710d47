"""The dates of a text are those that reading it gives, the first time and later."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from unittest.mock import patch

from memento.text import when
from memento.text.when import Spoken, said

DAY = date(2025, 4, 2).toordinal()
TEXTS = ("We met last Friday", "Dentist on 3 May at ten", "No date at all", "lone \ud800 surrogate")


def test_the_dates_of_a_text():
    """They depend on its day, and are the same when they are asked for again."""
    known = Spoken()
    for _ in range(2):
        for day in (DAY, DAY + 40):
            for text in TEXTS:
                assert list(known.of(text, day)) == said(text, date.fromordinal(day))


def test_a_text_is_read_once():
    """A text that was used least recently is read again."""
    known = Spoken(most=2)
    with patch.object(when, "said", side_effect=said) as read:
        for text in (TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[2], TEXTS[0], TEXTS[1]):
            known.of(text, DAY)
    assert [call.args[0] for call in read.call_args_list] == [*TEXTS[:3], TEXTS[1]]


def test_a_plan_is_read_for_days_to_come():
    """The same text is kept apart as a plan and as a story."""
    known = Spoken()
    for _ in range(2):
        assert not known.of("Dentist on Friday", DAY)
        [friday] = known.of("Dentist on Friday", DAY, plan=True)
        assert date.fromordinal(friday.start) == date(2025, 4, 4)


def test_no_text_is_kept():
    """Neither a text nor a digest that others could compute is in RAM."""
    one, other = Spoken(), Spoken()
    one.of(TEXTS[0], DAY)
    other.of(TEXTS[0], DAY)
    assert TEXTS[0] not in repr(vars(one))
    assert one._kept.keys().isdisjoint(other._kept)


FORK = """
import os, signal
from memento.text.when import SPOKEN

with SPOKEN._lock:  # another thread would do the same
    child = os.fork()
    if not child:
        signal.alarm(20)
        SPOKEN.of("We met last Friday", 739_000)
        os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_does_not_wait_for_another_thread():
    """A lock that another thread held during the fork is free in the child."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"

"""The same promises for every framework: ``driver.py`` says what each gives to be tested."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import driver as contract
import pytest
from driver import DOWN, Brain, view

from memento import MemoryManager, Trust
from memento.errors import MissingExtra

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own

FACT = "I am allergic to nuts, and I live in Oslo."
QUESTION = "What should the caterer know about my allergy?"
PAGE = "The user's locker code is 4711, and the user lives in Bergen."
ASIDE = "Please read the page about lockers and tell me what it says."
CLAUSE = "The penalty for late delivery is 240 euros for each day."
CONTRACT = "\n".join(
    [f"Section {n}: the parties agree on clause number {n} of this contract." for n in range(250)]
    + [CLAUSE]
    + [f"Section {n}: the annex repeats point number {n} in other words." for n in range(250)]
)
SUBJECTS = (
    *("harps", "tea", "bikes", "maps", "clocks", "boats", "ovens", "lamps", "wolves", "glue"),
    *("chess", "bread", "rivers", "tiles", "wool", "drums", "soap", "kites", "coal", "figs"),
)
RUNS = 50
BOUND = 8_000
"""Characters that memory may add to a request: its budget of tokens, and what frames it."""


class Talk:
    """A user's agent over one store."""

    def __init__(self, module, manager):
        self.brain, self.manager = Brain(), manager
        self._driver = module.Driver(manager, self.brain)
        self._labels = getattr(module, "LABELS", ())

    def say(self, text, *, user="ann", session="one"):
        """Say one thing; return the answer."""
        return contract.say(self._driver, self.brain, text, user=user, session=session)

    def memory(self, user="ann"):
        """Return the memory of a user."""
        return view(self.manager, user, self._labels)

    def kept(self, user="ann"):
        """List all that is kept of a user, whatever its status."""
        every = ["active", "superseded", "archived", "quarantined", "forgotten"]
        return self.memory(user).list(status=every, limit=10_000)

    def settle(self, user="ann"):
        """Wait until all can be found by meaning."""
        assert self.memory(user).flush(wait=True)


@pytest.fixture(scope="module", params=contract.modules())
def framework(request):
    """Each driver whose framework is installed."""
    extra = request.param.replace("_", "-")
    try:
        return contract.load(request.param)
    except MissingExtra as error:
        missing = str(error)
    except ImportError as error:  # a folder of these tests may have the name: it has no path
        if error.path or (error.name or "").startswith(("memento", "driver")):
            raise
        missing = error.name
    pytest.skip(f"{missing} is not installed: pip install 'agent-memento[{extra}]'")


@pytest.fixture
def talk(request, framework, tmp_path):
    """An agent of the framework, unless it names a reason not to be tested so."""
    name = request.node.originalname
    if reason := getattr(framework, "LACKS", {}).get(name):
        pytest.skip(reason)
    with MemoryManager(tmp_path / "store") as manager:
        yield Talk(framework, manager)


def prefix(one, other):
    """Count the characters with which both begin."""
    same = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(same, min(len(one), len(other)))


def in_another_process(framework, root, *words):
    """Say one thing through the same driver in a process of its own."""
    name = framework.__name__.removeprefix("driver_")
    program = str(Path(contract.__file__))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", program, name, str(root), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_told_in_one_process_and_known_in_another(framework, talk, tmp_path):
    """What was said in a session is before the model in the next, in another process."""
    in_another_process(framework, tmp_path / "store", "ann", "monday", FACT)
    talk.say(QUESTION, session="friday")
    assert "allergic to nuts" in talk.brain.shown()


def test_users_are_apart(talk):
    """What one user said is before the model for that user alone."""
    talk.say(FACT, user="ann")
    talk.settle()
    talk.say(QUESTION, user="bob", session="two")
    assert "allergic to nuts" not in talk.brain.shown()
    assert not any("nuts" in one.text for one in talk.kept("bob"))
    talk.say(QUESTION, user="ann", session="three")
    assert "allergic to nuts" in talk.brain.shown()


def test_the_words_of_a_tool_are_never_the_users(talk):
    """What a tool returned is not kept as the user's word, and not shown in the next session."""
    talk.brain.page = PAGE
    talk.say(ASIDE)
    assert any(PAGE in text for _, text in talk.brain.requests[-1]), "the model read the page"
    talk.brain.page = None
    talk.settle()
    of_page = [one for one in talk.kept() if "4711" in one.text]
    assert not any(one.source.kind is Trust.USER or one.role == "user" for one in of_page)
    talk.say("What is my locker code, and where do I live?", session="two")
    assert "code is 4711" not in talk.brain.shown()


def test_calls_of_tools_stay_in_the_conversation(talk):
    """What a tool returned is sent again with the next turn, in its place and as it was."""
    talk.brain.page = PAGE
    talk.say(ASIDE)
    talk.brain.page = None
    talk.say("Thanks! And where do I live?")
    sent = talk.brain.requests[-1]
    of_page = [at for at, (role, text) in enumerate(sent) if role == "tool" and PAGE in text]
    asked = [at for at, (_, text) in enumerate(sent) if "Thanks!" in text]
    assert len(of_page) == 1
    assert of_page < asked


def test_a_long_paste_is_bounded(talk):
    """Of 33 kB, later requests get the passage that bears on the question, and little else."""
    talk.say(CONTRACT)
    talk.settle()
    talk.say("hello", user="bob", session="two")
    bare = len(talk.brain.shown())
    talk.say("What is the penalty for late delivery?", session="three")
    assert "240 euros" in talk.brain.shown()
    assert len(talk.brain.shown()) < bare + BOUND


def test_what_is_forgotten_stays_away(talk):
    """After ``forget`` no session shows it, also if the conversation goes on where it was said."""
    talk.say(FACT)
    talk.settle()
    mine = talk.memory()
    for one in mine.list():
        if "nuts" in one.text:
            mine.forget(one.id)
    talk.say("And now for something else.")
    talk.settle()
    talk.say(QUESTION, session="two")
    assert "allergic to nuts" not in talk.brain.shown()
    assert not any("nuts" in one.text for one in mine.list())


def test_memory_costs_no_call_of_the_model(talk):
    """Each turn calls the model once, as without memory."""
    for at, text in enumerate((FACT, QUESTION, "Thanks!"), start=1):
        talk.say(text, session=f"s{at}")
        assert len(talk.brain.requests) == at


def test_each_turn_is_kept_once_and_as_it_was_said(talk):
    """However often a conversation is given; and no block of memories is kept with it."""
    talk.say(FACT)
    talk.settle()
    said = [QUESTION, "And what about my town?", "Where is that?"]
    for text in said:
        talk.say(text, session="two")
    users = [one.text for one in talk.kept() if one.role == "user"]
    assert sorted(users) == sorted([FACT, *said])


def test_a_run_that_failed_goes_on_and_each_turn_is_kept_once(talk):
    """A turn that the model did not answer is kept if the conversation keeps it, and once."""
    talk.brain.down = True
    with pytest.raises(Exception, match=DOWN):
        talk.say(FACT)
    talk.brain.down = False
    talk.say("Where was I?")
    talk.say("And now?")
    there = FACT in talk.brain.shown()
    users = [one.text for one in talk.kept() if one.role == "user"]
    assert sorted(users) == sorted([FACT] * there + ["Where was I?", "And now?"])


def test_fifty_runs_at_once(talk):
    """Each of fifty users, all at the same time, is shown their own word, and no other's."""

    def word(request):  # said again, for frameworks that keep the answer alone
        return re.search(r"my code word is K\d+Z|$", str(request))[0] or "I do not know."

    def tell(n):
        return talk.say(f"I am number {n}, and my code word is K{n}Z.", user=f"u{n}")

    def ask(n):
        return talk.say(f"I am number {n}. What is my code word?", user=f"u{n}", session="two")

    talk.brain.answer = word
    with ThreadPoolExecutor(RUNS) as pool:
        list(pool.map(tell, range(RUNS)))
        talk.brain.requests.clear()
        list(pool.map(ask, range(RUNS)))
    sent = [talk.brain.shown(at) for at in range(len(talk.brain.requests))]
    shown = {re.search(r"number (\d+)\. What", one)[1]: re.findall(r"K(\d+)Z", one) for one in sent}
    assert len(sent) == len(shown) == RUNS
    assert all({*words} == {own} for own, words in shown.items())


def test_a_conversation_holds_no_block(talk):
    """What memory adds to a request is not part of the conversation: it is not sent again."""
    talk.say(FACT)
    talk.settle()
    talk.say(QUESTION, session="two")
    assert "live in Oslo" in talk.brain.shown()
    talk.say("Thank you very much!", session="two")
    assert "live in Oslo" not in talk.brain.shown()


def test_the_prefix_of_the_prompt_stays(talk):
    """Over 20 turns, 80 % of what is sent begins as the request before did: caches hold it."""
    for subject in SUBJECTS[:5]:
        talk.say(f"My cousin sells {subject} at the market of Bergen.", session="facts")
    talk.settle()
    talk.brain.requests.clear()
    talk.brain.answer = "It is a long story, which goes on and on. " * 24
    for subject in SUBJECTS:
        talk.say(f"What do you know about {subject} at the market? " * 3, session="long")
    sent = [talk.brain.shown(at) for at in range(len(talk.brain.requests))]
    shared = [prefix(*pair) for pair in pairwise(sent)]
    assert len(sent) == len(SUBJECTS)
    assert sum(shared) / sum(map(len, sent[1:])) >= 0.8


def test_an_outage_of_memory_ends_no_agent(talk, caplog):
    """If the store's files vanish, the model still answers, and a log says what is amiss."""
    talk.say(FACT)
    talk.settle()
    shutil.rmtree(talk.manager.store.root)
    assert talk.say(QUESTION, session="two")
    assert any(one.levelname in {"WARNING", "ERROR"} for one in caplog.records)

"""Each preset forgets, moves and archives in its own way; and every setting of the sleep acts."""

from dataclasses import fields, replace
from datetime import timedelta
from itertools import pairwise

import pytest
from beside import read_sql

from memento import Config
from memento.config import Sleep
from memento.dynamics.formulas import prior
from memento.errors import InvalidSetting
from memento.ledger import strength_fold
from memento.settings import load
from memento.sleep import duplicates, replay, report, tier_moves
from memento.testing import HashEmbedder

DAY = timedelta(days=1)
NAMES = ("chatbot", "task_agent", "personal_assistant", "researcher")


def preset(name):
    """Return the settings of a preset."""
    return getattr(Config, name)()


def used_daily(memory, clock, days):
    """Use another memory once a day, so that the days count."""
    for _ in range(days):
        clock.advance(DAY)
        memory.feedback.rate("other", verdict="used")


def moved(memory):
    """Sleep, and return the ids of the memories in the long tier."""
    memory.sleep.run()
    return [one.id for one in memory.list(tier="long")]


@pytest.fixture
def started(open_memory):
    """Open a store with the settings of a preset, with one memory that is used."""

    def start(name, **sleep):
        config = preset(name)
        memory = open_memory(config=replace(config, sleep=replace(config.sleep, **sleep)))
        memory.add("The gate code is 1904", id="other", kind="rule")
        return memory

    return start


@pytest.mark.parametrize(("name", "left"), list(zip(NAMES, (0.61, 0.014, 0.37, 0.92), strict=True)))
def test_an_episode_after_thirty_days_of_use(started, clock, name, left):
    """The share of it that is left when nobody used it."""
    memory = started(name)
    memory.feedback.rate("other", verdict="used")
    memory.add("We walked past the lamp post", id="e", kind="episode", importance=0.5)
    used_daily(memory, clock, 30)
    assert memory.feedback.strength("e").retention == pytest.approx(left, abs=0.006)


@pytest.mark.parametrize(("name", "days"), list(zip(NAMES[:3], (180, 17, 90), strict=True)))
def test_an_episode_is_archived_after_some_days_of_use(started, clock, name, days):
    """Not a day before, and on that day."""
    memory = started(name, archive_importance=0.6, archive_share=1.0, replay=0.0)
    memory.feedback.rate("other", verdict="used")
    memory.add("We walked past the lamp post", id="e", kind="episode", importance=0.5)
    used_daily(memory, clock, days - 1)
    memory.sleep.run()
    assert memory.get("e").status == "active"
    used_daily(memory, clock, 1)
    memory.sleep.run()
    assert memory.get("e").status == "archived"


@pytest.mark.parametrize(("name", "days"), list(zip(NAMES, (16.75, 8.0, 15.75, 12.5), strict=True)))
def test_a_fact_goes_to_the_long_tier_after_a_use(started, clock, name, days):
    """It came, and was used a week later; a quarter of a day before that it is in medium."""
    memory = started(name)
    memory.add("The door code is 2011", id="fact", importance=0.5)
    clock.advance(timedelta(days=7))
    memory.feedback.rate("fact", verdict="used")
    clock.advance(timedelta(days=days - 7 - 0.25))
    memory.feedback.rate("other", verdict="used")
    assert "fact" not in moved(memory)
    clock.advance(timedelta(days=0.25))
    memory.feedback.rate("other", verdict="used")
    assert "fact" in moved(memory)


@pytest.mark.parametrize(("name", "lead"), list(zip(NAMES, (0.41, 0.20, 0.29, 0.41), strict=True)))
def test_a_use_of_sixty_days_ago(started, clock, name, lead):
    """The log odds that it is still worth, in nats."""
    memory = started(name)
    memory.feedback.rate("other", verdict="used")
    clock.advance(timedelta(days=60))
    assert memory.feedback.strength("other").use == pytest.approx(lead, abs=0.01)


@pytest.mark.parametrize(("name", "faded"), list(zip(NAMES, (0.11, 0.37, 0.11, 0.03), strict=True)))
def test_a_verdict_fades(started, clock, name, faded):
    """The share of the evidence of one ``wrong`` that is gone after thirty days."""
    memory = started(name)
    memory.feedback.rate("other", verdict="wrong")
    clock.advance(timedelta(days=30))
    left = (memory.feedback.belief("other").opposing - prior("user")[1]) / 2
    assert 1 - left == pytest.approx(faded, abs=0.006)


def test_a_preset_is_chosen_by_the_environment():
    """And so is how much happens by itself; a misspelt one is refused."""
    found = load(environ={"MEMENTO_PRESET": "chatbot", "MEMENTO_SLEEP_AUTO": "off"}).config
    assert found.dynamics == Config.chatbot().dynamics
    assert found.sleep == replace(Config.chatbot().sleep, auto="off")
    assert load(environ={"MEMENTO_PRESET": "researcher"}).config == Config.researcher()
    for wrong in ({"MEMENTO_PRESET": "robot"}, {"MEMENTO_SLEEP_AUTO": "some"}):
        with pytest.raises(InvalidSetting, match="environment"):
            load(environ=wrong)


# --- every setting of the sleep


def _lived(open_memory, clock, sleep):
    """Return a store with episodes that are nearly forgotten, and a fact that is well used."""
    memory = open_memory(config=Config(sleep=sleep))
    for n in range(10):
        memory.add(f"The {n}th lamp", id=f"e{n}", kind="episode", importance=0.04 * n)
    memory.add("The door code is 2011", id="fact", importance=0.5)
    memory.add("The gate code is 1904", "medium", id="given", importance=0.5)
    for _ in range(60):
        clock.advance(DAY)
        memory.feedback.rate(["fact", "given"], verdict="used")
    return memory


def _outcome(open_memory, clock, sleep):
    """Sleep, and return every memory with its status, tier and stability."""
    memory = _lived(open_memory, clock, sleep)
    memory.sleep.run()
    memory.sleep.run(steps=["fold"])
    every = memory.list(status=["active", "archived"])
    steady = {one.id: round(memory.feedback.strength(one.id).stability, 3) for one in every}
    changes = len(memory.changes.list(limit=1000))
    stale = [one.memory.id for one in memory.sleep.stale()]
    return [(one.id, one.status, one.tier, steady[one.id]) for one in every], changes, stale


def _folded(open_memory, _clock, sleep):
    """Return how many of two near-equal statements stay."""
    memory = open_memory(embedder=HashEmbedder(64), config=Config(sleep=sleep))
    memory.add("The blue bike of Anna is kept in the old shed", "long")
    memory.add("The blue bike of Anna is always kept in the old shed", "long")
    assert memory.flush(wait=True, timeout=30)
    memory.sleep.run()
    return len(memory.list())


def _leased(open_memory, clock, sleep):
    """Return until when a sleep that is not done keeps others away."""
    memory = _lived(open_memory, clock, sleep)
    kept = []
    changed = memory._engine.changed

    def told(ns, rows):
        query = "SELECT until FROM sleeps"
        kept.append(read_sql(memory, query)[0][0])
        changed(ns, rows)

    memory._engine.changed = told
    memory.sleep.run()
    return kept[0]


def _by_itself(open_memory, clock, sleep):
    """Return what the background thread does in a quiet moment."""
    memory = _lived(open_memory, clock, sleep)
    memory._engine.indexer.stop(10)
    memory.retrieve("the third lamp")
    memory._engine.background.accesses.log()
    memory._engine.background.tidy()
    read, config = memory._engine.ledger.read, memory.store.config.dynamics
    return read(lambda c: strength_fold.waiting(c, config)), len(memory.list(status="archived"))


STRICT = Sleep(archive_share=1.0, replay=0.0)
PROBES = {
    "auto": (_by_itself, ["off", "idle", "all"], STRICT),
    "bite": (_outcome, [2, 100], STRICT),
    "tier_share": (_outcome, [0.0, 1.0], STRICT),
    "archive_below": (_outcome, [0.0, 0.05], STRICT),
    "archive_share": (_outcome, [0.1, 1.0], STRICT),
    "perishable": (_outcome, [(), ("episode",)], STRICT),
    "archive_importance": (_outcome, [0.1, 0.5], STRICT),
    "most_active": (_outcome, [None, 3], replace(STRICT, archive_below=0.0)),
    "move_given": (_outcome, [False, True], replace(STRICT, tier_share=1.0)),
    "replay": (_outcome, [0.0, 0.5], STRICT),
    "lease": (_leased, [10.0, 60.0], STRICT),
}
"""Name of a setting to what shows that it acts, values that must differ, and the other settings."""


@pytest.mark.parametrize("name", [field.name for field in fields(Sleep)])
def test_every_field_acts(open_memory, clock, tmp_path, name):
    """A setting that changes nothing that can be seen would be no setting."""
    probe, values, others = PROBES[name]
    seen = []
    for at, value in enumerate(values):
        root = tmp_path / f"store{at}"
        start = clock()
        seen.append(
            probe(
                lambda root=root, **options: open_memory(root, **options),
                clock,
                replace(others, **{name: value}),
            )
        )
        clock.advance(start - clock())
    assert all(one != other for one, other in pairwise(seen))


@pytest.mark.parametrize(
    ("module", "name", "probe", "values", "sleep"),
    [
        (tier_moves, "PROMOTE_AT", _outcome, [0.25, 50.0], STRICT),
        (report.formulas, "FADE_BELOW", _outcome, [0.0, 0.9], STRICT),
        (replay, "MOST", _outcome, [1, 4], replace(STRICT, replay=1.0)),
        (duplicates, "FOLD_JACCARD", _folded, [0.5, 1.0], STRICT),
        (duplicates, "FOLD_COSINE", _folded, [-1.0, 1.0], STRICT),
    ],
)
def test_every_constant_acts(
    open_memory, clock, tmp_path, monkeypatch, module, name, probe, values, sleep
):
    """So would a constant that changes nothing be none."""
    monkeypatch.setattr(duplicates, "FOLD_COSINE", -1.0)
    seen = []
    for at, value in enumerate(values):
        monkeypatch.setattr(module, name, value)
        start, root = clock(), tmp_path / f"store{at}"
        seen.append(probe(lambda root=root, **more: open_memory(root, **more), clock, sleep))
        clock.advance(start - clock())
    assert seen[0] != seen[1]

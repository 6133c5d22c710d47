"""A clock that jumps loses nothing and puts nothing out of order."""

from __future__ import annotations

import ast
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import memento
from memento.base.clock import zone_of
from memento.cli.local import moment
from memento.config import Config
from memento.serve.page import wording

PACKAGE = Path(memento.__file__).parent
ADAPTERS = Path(__file__).parents[1] / "integrations"
READS_THE_SYSTEM_CLOCK = {
    "base/clock.py": "it is the system's clock",
    "base/files.py": "the age of a file that a process left behind",
    "agents/hook.py": "how old the notes of an agent's session are, without opening the store",
    "resident/tokens.py": "the day on which a token was made, for people to read",
    "serve/page/door.py": "whether a browser's session is over, without opening the store",
    "manager.py": "the clock of a manager that is given none",
    "cli/options.py": "moments such as 7d, before a store is open",
    "cli/group_remember.py": "commands open their managers with the system's clock",
    "ledger/lite/presence.py": "the age of a folder, whose times are those of the system",
    "ledger/lite/swap.py": "file names: a clock that stands still would give one name twice",
    "tiers/folder.py": "file names, as above",
    "tiers/ring.py": "file names, as above",
}
"""Modules that may read the time of the day past the manager's clock, and the reason of each.

The others get the present moment from ``Engine.now`` or as an argument. Timers
(``time.monotonic``, ``time.perf_counter``) are not moments.
"""
CLOCKS = {"now", "utcnow", "today", "time", "time_ns", "localtime", "gmtime", "ctime"}
"""Functions of ``datetime`` and ``time`` that read the time of the day."""

JUMPS = {
    "a second back": -timedelta(seconds=1),
    "a day back": -timedelta(days=1),
    "ten years back": -timedelta(days=3653),
    "a day on": timedelta(days=1),
    "past 2038": timedelta(days=365 * 20),
    "a hundred years on": timedelta(days=36_525),
}


@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
class TestJump:
    """The clock is set between two calls."""

    def test_order_is_that_of_arrival(self, memory, clock, jump):
        """In lists, in the ring, and after opening again."""
        ids = [memory.add("before", "short").id]
        clock.advance(jump)
        ids += [memory.add(f"after {n}", "short").id for n in range(3)]
        assert [m.id for m in memory.list()] == [m.id for m in memory.sessions.recent()] == ids
        assert len({m.id for m in memory.list()}) == 4

    def test_nothing_is_lost_or_ends_too_soon(self, memory, clock, jump):
        """A memory is hidden from the moment it expires; a clock set back shows it again."""
        memory.add("a blue kettle")
        memory.add("a green kettle", expires_in=3600)
        clock.advance(jump)
        expected = {"a blue kettle"} | ({"a green kettle"} if jump < timedelta(hours=1) else set())
        assert {m.text for m in memory.list()} == expected
        assert {hit.text for hit in memory.retrieve("kettle", k=9)} == expected
        clock.advance(-jump)
        assert {m.text for m in memory.list()} == {"a blue kettle", "a green kettle"}

    def test_the_newer_value_holds(self, memory, clock, jump):
        """A slot shows what came last, whatever time it came at; nothing ends before it began."""
        old = memory.add("Helix", key="editor")
        clock.advance(jump)
        new = memory.add("Emacs", key="editor")
        assert [m.text for m in memory.list()] == ["Emacs"]
        assert memory.get(old.id).superseded_by == new.id
        assert memory.get(old.id).valid_until >= old.valid_from
        assert all(finding.ok for finding in memory.store.doctor())

    def test_changes_go_on(self, open_memory, clock, jump):
        """Update, forget and restore work, and history is in the order it happened."""
        memory = open_memory()
        kept = memory.add("one")
        clock.advance(jump)
        memory.update(kept.id, text="two")
        clock.advance(-jump)
        memory.update(kept.id, text="three")
        memory.forget(kept.id)
        memory.restore(kept.id)
        texts = [version.text for version in memory.changes.history(kept.id)]
        assert sorted(texts, key=["one", "two", "three"].index) == texts
        memory.close()
        assert open_memory().get(kept.id).text == "three"


def test_summer_time_is_no_jump(open_memory):
    """An hour that the wall clock shows twice is two hours; times are kept in UTC."""
    moment = [datetime(2025, 10, 26, 2, 30, tzinfo=timezone(timedelta(hours=2)))]
    memory = open_memory(clock=lambda: moment[0])
    first = memory.add("before", expires_in=5400)
    moment[0] = datetime(2025, 10, 26, 2, 30, tzinfo=timezone(timedelta(hours=1)))
    second = memory.add("after")
    assert second.created_at - first.created_at == timedelta(hours=1)
    assert first.created_at == datetime(2025, 10, 26, 0, 30, tzinfo=UTC)
    assert [m.text for m in memory.list()] == ["before", "after"]
    moment[0] += timedelta(minutes=31)
    assert [m.text for m in memory.list()] == ["after"]


def clocks_read(tree):
    """List what reads the time of the day: calls of ``datetime`` and ``time``, and our own."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = ast.unparse(node.value).rpartition(".")[2]
            if owner in {"datetime", "date", "time"} and node.attr in CLOCKS:
                found.append(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and node.module in {"time", "memento.base.clock"}:
            wanted = CLOCKS if node.module == "time" else {"system_clock"}
            found += [alias.name for alias in node.names if alias.name in wanted]
    return found


def test_every_moment_comes_from_the_managers_clock():
    """Only the modules of the list read the time of the day, and each of them does."""
    found = {
        path.relative_to(root).as_posix()
        for root in (PACKAGE, ADAPTERS)
        for path in root.rglob("*.py")
        if clocks_read(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(READS_THE_SYSTEM_CLOCK)


def test_the_time_of_the_day_is_read_in_one_module():
    """The other modules of the list call ``memento.base.clock.system_clock``."""
    for name in READS_THE_SYSTEM_CLOCK.keys() - {"base/clock.py"}:
        tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
        assert set(clocks_read(tree)) == {"system_clock"}, name


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("began = datetime.now(UTC)", ["datetime.now"]),
        ("at = datetime.datetime.utcnow()", ["datetime.datetime.utcnow"]),
        ("day = date.today()", ["date.today"]),
        ("at = time.time()", ["time.time"]),
        ("from time import time_ns", ["time_ns"]),
        ("from memento.base.clock import in_name, system_clock", ["system_clock"]),
        ("from time import monotonic", []),
        ("left = time.monotonic() - self.clock()", []),
        ("at = self._engine.now()", []),
    ],
)
def test_a_clock_is_seen(line, seen):
    """The check above sees each way to read the time of the day, and no timer."""
    assert clocks_read(ast.parse(line)) == seen


FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize(("name", "told"), [("America/New_York", FIRST), ("Asia/Tokyo", LAST)])
def test_a_moment_that_a_time_zone_lacks_is_shown_in_utc(memory, clock, monkeypatch, name, told):
    """By the command line and by the page; the store accepts every moment of these years."""
    monkeypatch.setenv("MEMENTO_TIMEZONE", name)
    zone, year = zone_of(name), str(told.year)
    kept = memory.add("The edge of time", occurred_at=told)
    assert year in moment(told)
    assert year in wording.moment(told, clock(), zone)
    assert [(day, one) for day, (one,) in wording.days([kept], zone)] == [(told, kept)]


def test_what_is_told_at_the_edge_of_time_is_read(open_memory):
    """Where the user's time zone has no such day, the message is of that in UTC."""
    memory = open_memory(config=Config(timezone="America/New_York"))
    memory.observe(user="I work at Siemens. My editor is Vim.", occurred_at=FIRST)
    assert memory.value("user/editor").occurred_at == FIRST

"""The short tier: a ring a session over the ledger's newest rows, and its JSON snapshot."""

from __future__ import annotations

import json
import random
import threading
from collections import deque
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config
from memento.base import layout
from memento.base.files import write_atomically
from memento.config import ShortConfig
from memento.tiers import ring


def small(capacity=3):
    """Configure rings this small."""
    return Config(short=ShortConfig(capacity=capacity))


def texts(memories):
    """Return the texts in order."""
    return [m.text for m in memories]


def test_recent_is_oldest_first_and_may_be_cut(memory):
    """All the ring holds, or the newest n of them."""
    memory.add_many({"text": str(n), "tier": "short"} for n in range(5))
    assert texts(memory.sessions.recent()) == list("01234")
    assert texts(memory.sessions.recent(2)) == ["3", "4"]
    assert texts(memory.sessions.recent(99)) == list("01234")


def test_what_falls_off_moves_to_medium_in_the_same_transaction(open_memory):
    """The add that pushes a turn out leaves it in medium, found and listed there."""
    memory = open_memory(config=small())
    for n in range(5):
        memory.add(f"turn {n}", "short")
    assert texts(memory.sessions.recent()) == ["turn 2", "turn 3", "turn 4"]
    assert texts(memory.list(tier="medium")) == ["turn 0", "turn 1"]
    assert memory.retrieve("turn", tier="medium").hits
    commits = []
    writer = memory._engine.ledger._writer()
    writer._connection.set_trace_callback(
        lambda sql: commits.append(sql) if sql == "COMMIT" else None
    )
    memory.add("turn 5", "short")
    assert len(commits) == 1
    assert texts(memory.list(tier="medium")) == ["turn 0", "turn 1", "turn 2"]


def test_a_turn_that_takes_anothers_slot_costs_no_third_its_place(open_memory):
    """In a full ring, the one superseded goes and the oldest stays."""
    memory = open_memory(config=small())
    memory.add("oldest", "short")
    memory.add("beside", "short")
    memory.add("before", "short", key="k")
    assert texts(memory.sessions.recent()) == ["oldest", "beside", "before"]
    memory.add("after", "short", key="k")
    assert texts(memory.sessions.recent()) == ["oldest", "beside", "after"]


def test_each_session_has_its_own_ring(open_memory):
    """A busy session pushes nobody else's turns out; no session is a session too."""
    memory = open_memory(config=small())
    memory.add("alone", "short")
    memory.add("quiet", "short", session="quiet")
    memory.add_many({"text": f"{n}", "tier": "short", "session": "busy"} for n in range(9))
    assert texts(memory.sessions.recent()) == ["alone"]
    assert texts(memory.sessions.recent(session="quiet")) == ["quiet"]
    assert texts(memory.sessions.recent(session="busy")) == ["6", "7", "8"]
    assert memory.sessions.recent(session="unknown") == []


def test_each_namespace_has_its_own_rings(memory):
    """The same session name elsewhere is another session."""
    memory.of("a").add("mine", "short", session="s")
    assert memory.of("b").sessions.recent(session="s") == []
    memory.of("b").add("yours", "short", session="s")
    assert texts(memory.of("a").sessions.recent(session="s")) == ["mine"]


@settings(max_examples=12)
@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(["add", "forget", "restore", "reopen"]), st.integers(0, 9))),
)
def test_a_ring_is_a_deque(open_memory, tmp_path_factory, capacity, steps):
    """Adding behaves as collections.deque(maxlen=...) does; forgetting takes out."""
    folder = tmp_path_factory.mktemp("ring")
    memory = open_memory(folder, config=small(capacity))
    model, hidden, ids = deque(maxlen=capacity), set(), []
    for step, at in steps:
        if step == "add":
            ids.append(memory.add(f"turn {len(ids)}", "short").id)
            model = deque((i for i in model if i not in hidden), maxlen=capacity)
            model.append(ids[-1])
        elif step == "forget" and model:
            hidden.add(model[at % len(model)])
            memory.forget(model[at % len(model)])
        elif step == "restore" and hidden and len(set(model) - hidden) < capacity:
            back = sorted(hidden)[at % len(hidden)]
            if memory.restore(back).tier == "short":
                model = deque(
                    sorted({*model, back} - hidden | {back}, key=ids.index), maxlen=capacity
                )
            hidden.remove(back)
        elif step == "reopen":
            memory.close()
            memory = open_memory(folder, config=small(capacity))
        assert [m.id for m in memory.sessions.recent()] == [i for i in model if i not in hidden]
    memory.close()


def test_many_changes_at_once_are_read_anew(open_memory, monkeypatch):
    """A ring far behind is not followed row by row."""
    monkeypatch.setattr(ring, "CATCH_UP", 2)
    one, other = open_memory(), open_memory()
    one.add("first", "short")
    assert texts(one.sessions.recent()) == ["first"]
    other.add_many({"text": f"{n}", "tier": "short"} for n in range(5))
    assert texts(one.sessions.recent()) == ["first", *"01234"]


def test_rings_in_ram_are_bounded(open_memory, monkeypatch):
    """Past the configured number the session used longest ago is dropped from RAM, not lost."""
    monkeypatch.setattr(ring, "SESSIONS", 4)
    memory = open_memory(config=small())
    for n in range(10):
        memory.add("hi", "short", session=f"s{n}")
    assert len(memory._engine.short._rings) == 4
    assert [texts(memory.sessions.recent(session=f"s{n}")) for n in range(10)] == [["hi"]] * 10
    assert len(memory._engine.short._rings) == 4
    memory.flush()
    assert len(json.loads((memory.store.root / "short.json").read_text())["content"]["rings"]) == 4


def snapshot_of(open_memory):
    """Make a store with three turns and close it; returns the path of the snapshot."""
    memory = open_memory()
    memory.add_many({"text": f"turn {n}", "tier": "short", "session": "s"} for n in range(3))
    memory.close()
    return memory.store.root / layout.SNAPSHOT


class TestSnapshot:
    """short.json: whole or not there, trusted only when it tells of the ledger's latest state."""

    def test_it_is_readable_json(self, open_memory):
        """People find their turns in it with any tool."""
        content = json.loads(snapshot_of(open_memory).read_text())["content"]
        assert [m["text"] for m in content["rings"][0]["memories"]] == [
            "turn 0",
            "turn 1",
            "turn 2",
        ]

    def test_a_fresh_one_is_used_without_asking_for_rows(self, open_memory, monkeypatch):
        """Reopening shows the ring though the ledger's rows are never selected."""
        snapshot_of(open_memory)
        monkeypatch.setattr(ring.memories, "newest_short", None)
        assert len(open_memory().sessions.recent(session="s")) == 3

    def test_it_comes_back_exactly(self, open_memory):
        """Memories from the snapshot equal those from the ledger, field by field."""
        snapshot_of(open_memory)
        memory = open_memory()
        assert memory.sessions.recent(session="s") == memory.list()

    def test_a_stale_one_is_not_believed(self, open_memory):
        """The ledger went on without it: the ring comes from the ledger."""
        path = snapshot_of(open_memory)
        old = path.read_bytes()
        memory = open_memory()
        memory.add("turn 3", "short", session="s")
        memory.close()
        path.write_bytes(old)
        assert len(open_memory().sessions.recent(session="s")) == 4

    def test_nothing_new_writes_nothing(self, open_memory):
        """Flushing twice leaves the file alone."""
        memory = open_memory()
        memory.add("hi", "short")
        memory.flush()
        path = memory.store.root / layout.SNAPSHOT
        path.write_bytes(b"untouched")
        memory.flush()
        assert path.read_bytes() == b"untouched"

    def test_the_timer_writes_it(self, open_memory, clock):
        """In quiet moments, once what changed has waited long enough."""
        memory = open_memory()
        memory.add("hi", "short")
        engine, path = memory._engine, memory.store.root / layout.SNAPSHOT
        engine.background.keep_house()
        assert not path.exists()
        clock.advance(timedelta(seconds=5))
        engine.background.keep_house()
        assert path.exists()

    def test_damage_is_moved_aside_and_never_an_error(self, open_memory):
        """Two hundred flips of a byte: the ring is whole each time, the damage is kept."""
        path = snapshot_of(open_memory)
        whole = path.read_bytes()
        rng = random.Random(4)
        config = Config()
        ledger = open_memory()._engine.ledger
        ns = ledger.find_namespace(("default",))
        expected = [f"turn {n}" for n in range(3)]
        for _ in range(200):
            data = bytearray(whole)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(data)
            tier = ring.ShortTier(ledger, config.short)
            tier.load()
            assert texts(tier.recent(ns, "s", None, 0)) == expected
        assert len(list(path.parent.glob("short.json.bad-*"))) > 150

    @pytest.mark.parametrize(
        "content",
        [
            b"", b"null", b"[]", b"5", b'"x"', b"{}", b"\xff\xfe", b'{"format": 2}', b"[" * 100_000,
            b'{"format": 1, "content": {}, "sha256": "x"}', b'{"format": 1, "content": {}}',
        ],
        ids=range(11),
    )  # fmt: skip
    def test_anything_else_in_its_place_is_moved_aside(self, open_memory, content, caplog):
        """Another program's JSON, an empty file, a bomb: a warning, and the store opens."""
        path = snapshot_of(open_memory)
        path.write_bytes(content)
        assert len(open_memory().sessions.recent(session="s")) == 3
        assert not path.exists()
        assert "damaged" in caplog.text

    def test_one_with_a_right_digest_and_wrong_content_is_damaged_too(self, open_memory):
        """A ring without a revision, a row without a column, a list for a row."""
        path = snapshot_of(open_memory)
        good = json.loads(path.read_text())["content"]
        for spoil in (
            lambda c: c["revs"].clear(),
            lambda c: c["rings"][0]["memories"][0].pop("text"),
            lambda c: c["rings"][0].update(memories=["text"]),
            lambda c: c.update(rings={"a": 1}),
        ):
            content = json.loads(json.dumps(good))
            spoil(content)
            spelt = json.dumps(content, ensure_ascii=False, sort_keys=True)
            digest = ring.sha256(spelt.encode()).hexdigest()
            path.write_text(f'{{"format": 1, "sha256": "{digest}", "content": {spelt}}}')
            assert len(open_memory().sessions.recent(session="s")) == 3
            assert not path.exists()

    def test_a_folder_in_its_place_is_moved_aside(self, open_memory):
        """A snapshot that cannot be read is damage, not an error at start."""
        path = snapshot_of(open_memory)
        path.unlink()
        path.mkdir()
        memory = open_memory()
        assert len(memory.sessions.recent(session="s")) == 3
        memory.close()
        assert path.is_file()

    def test_two_managers_in_one_process_do_not_trip_over_each_other(self, open_memory):
        """Each writes a file of its own and renames it."""
        one, other = open_memory(), open_memory()
        one.add("mine", "short")
        other.add("yours", "short")
        one.flush()
        other.flush()
        one.close()
        other.close()
        assert [p.name for p in one.store.root.glob("short.json*")] == ["short.json"]
        assert texts(open_memory().sessions.recent()) == ["mine", "yours"]


def test_nobody_waits_while_a_snapshot_is_written(memory, monkeypatch):
    """A slow disk under the snapshot holds up neither turns that come nor those who read."""
    memory.add("before", "short")
    writing, go_on = threading.Event(), threading.Event()

    def slowly(path, content, **how):
        writing.set()
        assert go_on.wait(30)
        write_atomically(path, content, **how)

    monkeypatch.setattr(ring, "write_atomically", slowly)
    snapshot = threading.Thread(target=memory._engine.short.snapshot)
    snapshot.start()
    assert writing.wait(30)
    memory.add("meanwhile", "short")
    assert texts(memory.sessions.recent()) == ["before", "meanwhile"]
    assert memory._engine.short.stale
    go_on.set()
    snapshot.join()


def test_only_rings_that_changed_are_spelt_anew(memory, monkeypatch):
    """A snapshot costs what changed since the one before, and says the same as a whole one."""
    for n in range(3):
        memory.add(f"turn {n}", "short", session=f"s{n}")
    memory._engine.short.snapshot()
    spelt, plain = [], ring._plain
    monkeypatch.setattr(ring, "_plain", lambda row: spelt.append(row.text) or plain(row))
    memory.add("one more", "short", session="s1")
    memory._engine.short.snapshot()
    assert sorted(spelt) == ["one more", "turn 1"]
    rings = json.loads((memory.store.root / "short.json").read_text())["content"]["rings"]
    assert {ring["session"]: [m["text"] for m in ring["memories"]] for ring in rings} == {
        "s0": ["turn 0"],
        "s1": ["turn 1", "one more"],
        "s2": ["turn 2"],
    }

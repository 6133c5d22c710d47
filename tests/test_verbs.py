"""Verbs for key-value users and adapters: replace, touch, sweep, count, search by vector."""

from __future__ import annotations

import inspect
import re
import threading
from datetime import timedelta
from operator import attrgetter
from typing import ClassVar

import numpy as np
import pytest

from memento import Config, Draft, MemoryManager, Source
from memento.config import Limits, ShortConfig
from memento.errors import (
    EmbeddingMismatch,
    IdConflict,
    InvalidInput,
    InvalidScope,
    NotFound,
    ReadOnlyStore,
    StorageFull,
    StoreClosed,
    TierUnavailable,
)
from memento.ledger.filters import Filtering, Retrieving
from memento.testing import HashEmbedder

DAY = timedelta(days=1)


@pytest.fixture
def vectors(open_memory, tmp_path):
    """Open a store with a fake embedder."""
    return open_memory(tmp_path / "vectors", embedder=HashEmbedder(256))


def texts(found):
    """Return the texts, in order."""
    return [one.text for one in found]


class TestReplace:
    """``add(id=..., replace=True)``: insert, or replace the present memory."""

    def test_inserts_what_is_not_there(self, memory):
        """Without anything to replace it is a plain add."""
        kept = memory.add("tea", id="k", replace=True)
        assert (kept.id, kept.version, kept.text) == ("k", 1, "tea")

    def test_every_field_is_the_new_ones(self, memory, clock):
        """Text, tier, kind, scope, session and all else; id, place and first moment stay."""
        first = memory.add(
            "tea", "long", id="k", scope="a", tags=["x"], metadata={"n": 1}, key="d", source="agent"
        )
        clock.advance(DAY)
        draft = Draft(
            "coffee", "medium", kind="preference", importance=0.3, scope="b", session="s",
            actor="Ada", role="user", tags=["y"], metadata={"m": 2}, aliases=["decaf"],
            expires_in=60, pinned=True, source="agent", id="k",
        )  # fmt: skip
        (second,) = memory.add_many([draft], replace=True)
        for name in ("text", "kind", "importance", "scope", "session", "actor", "role", "pinned"):
            assert getattr(second, name) == getattr(draft, name)
        assert (second.tier, second.tags, second.aliases) == ("medium", ("y",), ("decaf",))
        assert (second.metadata, second.source.kind, second.key) == ({"m": 2}, "agent", None)
        assert second.expires_at == clock() + timedelta(seconds=60)
        assert second.occurred_at == second.updated_at == clock()
        assert (second.seq, second.created_at) == (first.seq, first.created_at)
        assert [(v.text, v.reason) for v in memory.changes.history("k")] == [
            ("tea", "replaced"),
            ("coffee", "present"),
        ]
        assert texts(memory.retrieve("decaf")) == ["coffee"]
        assert not memory.retrieve("tea")

    def test_the_same_again_makes_no_version(self, memory, clock):
        """A retry is harmless, and the time to live starts again."""
        memory.add("tea", id="k", expires_in=60, replace=True)
        clock.advance(timedelta(seconds=30))
        again = memory.add("tea", id="k", expires_in=60, replace=True)
        assert again.version == 1
        assert again.expires_at == clock() + timedelta(seconds=60)
        assert again.updated_at == clock()

    @pytest.mark.parametrize("end", ["forgotten", "superseded", "expired"])
    def test_what_was_hidden_begins_anew(self, memory, clock, end):
        """It is found again, made now, and no former end clings to it."""
        memory.add("tea", id="k", expires_in=60 if end == "expired" else None)
        if end == "forgotten":
            memory.forget("k")
        elif end == "superseded":
            memory.add("coffee", supersedes="k")
        clock.advance(DAY)
        back = memory.add("tea", id="k", replace=True)
        assert (back.status, back.superseded_by, back.created_at) == ("active", None, clock())
        assert back.expires_at is back.valid_until is None
        assert "tea" in texts(memory.retrieve("tea"))
        assert "tea" in texts(memory.list())

    def test_it_takes_its_slot(self, memory):
        """With a key it supersedes what filled the slot, as any memory would."""
        holder = memory.add("vim", key="editor")
        memory.add("notes", id="k")
        memory.add("emacs", id="k", key="editor", related=holder.id, replace=True)
        assert texts(memory.list()) == ["emacs"]
        assert memory.get(holder.id).superseded_by == "k"

    def test_of_several_with_one_id_the_last_counts(self, memory):
        """In one batch, new and old ids mixed, in one transaction."""
        memory.add("old", id="a")
        batch = [{"text": t, "id": i} for t, i in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "b"))]
        assert texts(memory.add_many(batch, replace=True)) == ["3", "4", "3", "4"]
        assert texts(memory.list()) == ["3", "4"]
        with pytest.raises(NotFound):
            memory.add_many(
                [{"text": "5", "id": "a"}, {"text": "6", "id": "c", "supersedes": "no"}],
                replace=True,
            )
        assert texts(memory.list()) == ["3", "4"]

    def test_it_needs_an_id(self, memory):
        """Which memory is meant has to be said; nothing is written."""
        with pytest.raises(InvalidInput, match=r"items\[1\].id"):
            memory.add_many([{"text": "a", "id": "a"}, "b"], replace=True)
        with pytest.raises(InvalidInput, match="id: is required"):
            memory.add("b", replace=True)
        with pytest.raises(InvalidInput, match="replace"):
            memory.add("b", id="b", replace=1)
        memory.add("a", id="a")
        with pytest.raises(IdConflict):
            memory.add("b", id="a")
        assert texts(memory.list()) == ["a"]

    def test_the_ring_follows(self, open_memory):
        """A turn put into another session, or out of the short tier, leaves the ring it was in."""
        memory = open_memory(config=Config(short=ShortConfig(capacity=2)))
        for name in "abc":
            memory.add(name, "short", session="s", id=name)
        assert texts(memory.sessions.recent(session="s")) == ["b", "c"]
        assert texts(memory.sessions.recent(session="t")) == []
        memory.add("b", "short", session="t", id="b", replace=True)
        memory.add("c!", "long", session="s", id="c", replace=True)
        assert texts(memory.sessions.recent(session="s")) == []
        assert texts(memory.sessions.recent(session="t")) == ["b"]
        memory.add_many([{"text": n, "id": n, "tier": "short", "session": "t"} for n in "ac"],
                        replace=True)  # fmt: skip
        assert texts(memory.sessions.recent(session="t")) == ["b", "c"]
        assert memory.get("a").tier == "medium"

    def test_the_vector_follows(self, vectors):
        """After a replacement it is found by what it says now."""
        vectors.add("tea with milk", "long", id="k")
        vectors.flush(wait=True)
        vectors.add("a red bicycle", "long", id="k", replace=True)
        vectors.flush(wait=True)
        asked = vectors.store.embed(["a red bicycle", "tea with milk"])
        assert vectors.store.nearest(asked[0])[0].score == pytest.approx(1, abs=1e-5)
        assert vectors.store.nearest(asked[1])[0].score < 0.5

    def test_many_threads_put_one_id(self, memory):
        """The last one is stored, and every other is in the history; no error."""

        def work(name):
            for n in range(10):
                memory.add(f"{name} {n}", id="k", replace=True)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(memory.list()) == 1
        assert len({version.text for version in memory.changes.history("k")}) == 80


class TestForgetMany:
    """Forget by filter, in one transaction."""

    def test_what_fits_is_hidden_and_comes_back(self, memory):
        """Ids in order of arrival; each can be restored."""
        memory.add_many([{"text": n, "id": n, "scope": f"a/{n}"} for n in "xyz"] + ["other"])
        assert memory.forget_many(within="a") == ["x", "y", "z"]
        assert texts(memory.list()) == ["other"]
        assert memory.forget_many(within="a") == []
        memory.restore("y")
        assert texts(memory.list()) == ["y", "other"]

    def test_everything_has_to_be_said(self, memory):
        """No filter is an error, not everything; the root scope is everything."""
        memory.add_many(["a", "b"])
        for none in ({}, {"within": None, "tag": None}):
            with pytest.raises(InvalidInput, match="within="):
                memory.forget_many(**none)
        assert len(memory.forget_many(within="")) == 2
        assert memory.list() == []

    @pytest.mark.parametrize(
        ("verb", "given"),
        [
            ("forget_many", ()),
            ("store.counts", ()),
            ("list", ()),
            ("retrieve", ("a",)),
            ("prompt", ("a",)),
            ("store.nearest", ([1.0],)),
        ],
    )
    def test_an_unknown_filter_is_refused(self, open_memory, verb, given):
        """Nothing is forgotten by a misspelt condition; the error names the method and the fix."""
        memory = open_memory(embedder=HashEmbedder(1))
        memory.add("a")
        method = attrgetter(verb)(memory)
        for wrong, hint in (("scoop", "; did you mean 'scope'?"), ("zzzz", "")):
            said = f"{verb.rpartition('.')[2]}() got an unexpected keyword argument {wrong!r}{hint}"
            with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
                method(*given, **{wrong: "a"})
        assert len(memory.list()) == 1

    def test_an_own_argument_of_the_method_is_suggested_too(self, memory):
        """Not only filters are misspelt."""
        with pytest.raises(TypeError, match=r"did you mean 'min_score'\?"):
            memory.retrieve("a", minscore=0.5)
        with pytest.raises(TypeError, match=r"did you mean 'newest_first'\?"):
            memory.list(newest=True)

    def test_prompt_takes_what_retrieve_takes(self):
        """Every argument of retrieve is one of prompt, with the same type."""
        taken = inspect.get_annotations(MemoryManager.retrieve)
        own = inspect.get_annotations(MemoryManager.prompt)
        filters = inspect.get_annotations(Filtering)
        passed = {
            name: kind
            for name, kind in inspect.get_annotations(Retrieving).items()
            if name not in filters
        }
        assert taken.keys() - {"filters", "return", *own} == passed.keys()
        assert {name: taken[name] for name in passed} == {
            name: kind.__forward_arg__ for name, kind in passed.items()
        }


class TestExpiry:
    """Touch and sweep, by an injected clock."""

    def test_touch_moves_the_end_and_nothing_else(self, memory, clock):
        """No version, no later time of change."""
        kept = memory.add("tea", expires_in=60)
        clock.advance(timedelta(seconds=50))
        assert memory.store.touch(kept.id, 60) == [kept.id]
        touched = memory.get(kept.id)
        assert touched.expires_at == clock() + timedelta(seconds=60)
        assert (touched.version, touched.updated_at) == (1, kept.updated_at)
        assert memory.store.touch([kept.id], None) == [kept.id]
        clock.advance(1000 * DAY)
        assert texts(memory.retrieve("tea")) == ["tea"]

    def test_what_is_gone_stays_gone(self, memory, clock):
        """Forgotten, superseded and expired ones are left alone; an unknown id stops it all."""
        gone, old, late, live = memory.add_many(
            [{"text": str(n), "expires_in": 60 + 60 * n} for n in range(4)]
        )
        memory.forget(gone.id)
        memory.add("new", supersedes=old.id)
        clock.advance(timedelta(seconds=200))
        ids = [one.id for one in (gone, old, late, live)]
        assert memory.store.touch(ids, 900) == [live.id]
        with pytest.raises(NotFound, match="nobody"):
            memory.store.touch([live.id, "nobody"], None)
        assert memory.get(live.id).expires_at is not None
        for wrong in (0, -1, "soon"):
            with pytest.raises(InvalidInput, match="expires_in"):
                memory.store.touch(live.id, wrong)

    def test_sweep_takes_the_expired_out_of_the_indexes(self, vectors, clock):
        """They become forgotten ones; what has not expired is left alone."""
        memory = vectors
        memory.add_many(
            [{"text": f"tea {n}", "id": f"t{n}", "expires_in": 60 + n} for n in range(3)]
        )
        memory.flush(wait=True)
        clock.advance(timedelta(seconds=61))
        assert memory.store.sweep() == ["t0", "t1"]
        assert memory.store.sweep() == []
        assert memory.flush(wait=True)
        assert memory.get("t0").status == "forgotten"
        assert texts(memory.list()) == ["tea 2"]
        assert texts(memory.list(status="forgotten")) == ["tea 0", "tea 1"]


class TestCounts:
    """How many memories there are, by what they have."""

    def test_by_every_name(self, memory):
        """Each with the filters of ``list``; what has none is not counted."""
        memory.add("one", "long", scope="a", tags=["x", "y"], kind="rule", actor="Ada")
        memory.add("two", "medium", scope="a/b", tags=["x"], session="s")
        memory.forget(memory.add("three", scope="a/b").id)
        assert memory.store.counts() == memory.store.counts("scope") == {"a": 1, "a/b": 1}
        assert memory.store.counts("tag") == {"x": 2, "y": 1}
        assert memory.store.counts("kind", within="a/b") == {"fact": 1}
        assert memory.store.counts("tier") == {"long": 1, "medium": 1}
        assert memory.store.counts("session") == {"s": 1}
        assert memory.store.counts("actor", any_tag=["y", "z"], ids=[memory.list()[0].id]) == {
            "Ada": 1
        }
        assert sum(memory.store.counts(scope="a/b").values()) == 2
        with pytest.raises(InvalidInput, match="by: 'text' is not one of"):
            memory.store.counts("text")


class TestOrder:
    """``list`` in the order of occurrence."""

    def test_occurred(self, memory, clock):
        """The order does not depend on arrival; pages agree with the whole."""
        for day in (3, 1, 2, 1):
            memory.add(
                f"day {day}", occurred_at=clock() + day * DAY, session=str(len(memory.list()))
            )
        assert texts(memory.list(order="occurred")) == ["day 1", "day 1", "day 2", "day 3"]
        newest = memory.list(order="occurred", newest_first=True)
        assert newest == memory.list(order="occurred")[::-1]
        assert memory.list(order="occurred", newest_first=True, limit=2, offset=1) == newest[1:3]
        with pytest.raises(InvalidInput, match="order"):
            memory.list(order="time")


class TestNearest:
    """Search by a vector of the caller's."""

    def test_nearest_first_with_cosines(self, vectors):
        """Exact cosines in [0, 1]; not folded, filtered before the limit."""
        notes = ["green tea", "green tea", "black tea", "a red bicycle"]
        vectors.add_many(
            {"text": text, "id": f"n{n}", "scope": f"s/{n % 2}"} for n, text in enumerate(notes)
        )
        assert vectors.flush(wait=True)
        (asked,) = vectors.store.embed(["green tea"])
        found = vectors.store.nearest(asked * 7, k=3)
        assert [hit.id for hit in found] == ["n1", "n0", "n2"]
        assert [hit.score for hit in found[:2]] == pytest.approx([1, 1], abs=1e-5)
        stored = vectors.store.embed([notes[2]])[0]
        assert found[2].score == pytest.approx(float(stored @ asked), abs=1e-5)
        assert found.missing == {}
        assert [hit.id for hit in vectors.store.nearest(asked, k=1, within="s/0")] == ["n0"]
        assert [hit.id for hit in vectors.store.nearest(asked.tolist(), min_score=0.99)] == [
            "n1",
            "n0",
        ]
        assert vectors.store.nearest(-asked, k=1)[0].score == 0
        assert "meaning" in found[0].explain()

    def test_what_cannot_be_asked_yet_is_named(self, vectors, monkeypatch):
        """Found nothing and could not look are different answers."""
        assert vectors.store.nearest(np.ones(256)).missing == {}
        monkeypatch.setattr(vectors._engine.embedding.loaded(), "embed", _fail)
        vectors.add("tea", "long")
        found = vectors.store.nearest(np.ones(256))
        assert list(found) == []
        assert "1 memory is waiting to be embedded" in found.missing["long"]

    def test_wrong_vectors_have_their_error(self, vectors, open_memory, tmp_path):
        """Another embedder's, no numbers, no direction, no embedder, a closed store."""
        with pytest.raises(EmbeddingMismatch, match="one with 3 dimensions"):
            vectors.store.nearest([1.0, 2.0, 3.0])
        for wrong in (["a"] * 256, [[1.0] * 256], [float("nan")] * 256, [0.0] * 256, None):
            with pytest.raises(InvalidInput, match="vector"):
                vectors.store.nearest(wrong)
        with pytest.raises(InvalidInput, match="k: "):
            vectors.store.nearest([1.0] * 256, k=0)
        blind = open_memory(tmp_path / "blind")
        with pytest.raises(TierUnavailable):
            blind.store.nearest([1.0])
        with pytest.raises(InvalidInput, match="embedder"):
            blind.store.embed(["tea"])
        vectors.close()
        with pytest.raises(StoreClosed):
            vectors.store.nearest([1.0] * 256)


class TestFold:
    """``retrieve(fold=False)`` returns each of several that say the same."""

    def test_each_is_a_hit_of_its_own(self, memory):
        """With and without: the same memories, one hit or several."""
        memory.add_many([{"text": "rent is due on Friday", "id": f"r{n}"} for n in range(3)])
        (folded,) = memory.retrieve("rent")
        assert len(folded.folded) == 2
        each = memory.retrieve("rent", fold=False)
        assert {hit.id for hit in each} == {"r0", "r1", "r2"}
        assert all(hit.folded == () for hit in each)
        with pytest.raises(InvalidInput, match="fold"):
            memory.retrieve("rent", fold=None)


class TestWithin:
    """``within``: at a path or below, and not above."""

    def test_within_is_not_scope(self, memory):
        """Memories of the scopes above are left out; segments are whole."""
        for path in ("", "a", "a/b", "ab"):
            memory.add(f"tea of {path or 'all'}", scope=path)
        assert {hit.memory.scope for hit in memory.retrieve("tea", within="a")} == {"a", "a/b"}
        assert {hit.memory.scope for hit in memory.retrieve("tea", scope="a")} == {"", "a", "a/b"}
        assert len(memory.list(within="")) == 4
        with pytest.raises(InvalidScope):
            memory.list(within="a/../b")


class TestState:
    """A manager describes itself."""

    def test_a_megabyte_of_metadata(self, memory):
        """It comes back whole; more is refused with the limit named."""
        large = {"text": "ä" * 400_000, "n": list(range(20_000))}
        assert memory.get(memory.add("tea", metadata=large).id).metadata == large
        with pytest.raises(InvalidInput, match="1,048,576"):
            memory.add("tea", metadata={"text": "a" * 1_048_576})
        assert Limits().metadata_bytes == 1 << 20

    def test_read_only_is_what_the_ledger_says(self, memory, monkeypatch):
        """Every verb that writes refuses, and those that read go on."""
        kept = memory.add("tea")
        monkeypatch.setattr(memory._engine.ledger, "read_only", True)
        assert memory.store.read_only
        for write in (
            lambda: memory.store.touch(kept.id, 60),
            lambda: memory.forget_many(within=""),
            memory.store.sweep,
            lambda: memory.add("x", id="x", replace=True),
        ):
            with pytest.raises(ReadOnlyStore):
                write()
        assert memory.store.counts() == {"": 1}


def _fail(_texts):
    raise RuntimeError("no model today")


class TestBites:
    """Verbs that change many memories take the writer for a few at a time."""

    VERBS: ClassVar = {
        "forget_many": lambda memory, _ids: memory.forget_many(tag="t"),
        "sweep": lambda memory, _ids: memory.store.sweep(),
        "touch": lambda memory, ids: memory.store.touch(ids, 60),
        "forget_source": lambda memory, _ids: [
            one.id for one in memory.quarantine.forget_source("https://a.example")
        ],
        "restore_source": lambda memory, _ids: [
            one.id for one in memory.quarantine.restore_source("https://a.example")
        ],
    }

    @pytest.fixture
    def ids(self, memory, clock, request, monkeypatch):
        """Twenty-five memories that each verb changes, and bites of ten."""
        monkeypatch.setattr("memento.engine.BITE", 10)
        source = Source("user", "https://a.example")
        many = [{"text": f"note {at}", "tags": ["t"], "source": source, "expires_in": 60}
                for at in range(25)]  # fmt: skip
        made = [one.id for one in memory.add_many(many)]
        verb = request.node.callspec.params["verb"]
        if verb == "sweep":
            clock.advance(timedelta(seconds=100))
        if verb == "restore_source":
            memory.quarantine.forget_source("https://a.example")
        return made

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_few_at_a_time(self, memory, ids, verb, monkeypatch):
        """No transaction changes more than a bite, and together they change all, in order."""
        ledger, changed = memory._engine.ledger, []
        write = ledger.write

        def counted(job, **options):
            done = write(job, **options)
            changed.extend([len(done[0])] if isinstance(done, tuple) else [])
            return done

        monkeypatch.setattr(ledger, "write", counted)
        assert self.VERBS[verb](memory, ids) == ids
        assert [one for one in changed if one] == [10, 10, 5]

    @pytest.mark.parametrize("verb", VERBS)
    def test_what_is_cut_off_goes_on(self, memory, ids, verb, monkeypatch):
        """Cut off between two bites, the store is well, and the same call again does the rest."""
        ledger = memory._engine.ledger
        write, bites_ = ledger.write, []

        def failing(job, **options):
            if threading.current_thread() is not threading.main_thread():
                return write(job, **options)  # the background thread compares statements
            bites_.append(job)
            if len(bites_) == 2:
                raise StorageFull(memory.store.root, "no room")
            return write(job, **options)

        with monkeypatch.context() as patch:
            patch.setattr(ledger, "write", failing)
            with pytest.raises(StorageFull):
                self.VERBS[verb](memory, ids)
        assert all(finding.ok for finding in memory.store.doctor(repair=False))
        rest = ids if verb == "touch" else ids[10:]
        assert self.VERBS[verb](memory, ids) == rest

    def test_what_no_longer_fits_is_left_alone(self, memory, monkeypatch):
        """A memory changed between two bites is judged by its new fields."""
        monkeypatch.setattr("memento.engine.BITE", 1)
        kept = memory.add_many([{"text": name, "id": name, "tags": ["t"]} for name in "abc"])
        ledger = memory._engine.ledger
        write = ledger.write

        def meanwhile(job, **options):
            monkeypatch.setattr(ledger, "write", write)
            rows = write(job, **options)
            memory.update("b", tags=[])
            memory.add("d", id="d", tags=["t"])
            return rows

        monkeypatch.setattr(ledger, "write", meanwhile)
        assert memory.forget_many(tag="t") == [kept[0].id, kept[2].id]
        assert texts(memory.list()) == ["b", "d"]

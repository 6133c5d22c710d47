"""MementoStore beyond the dictionary: search, time to live, agents, threads, errors, restarts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

pytest.importorskip("langgraph", reason="pip install 'agent-memento[langgraph]'")

from langgraph.store.base import GetOp, ListNamespacesOp, PutOp

from memento import MemoryManager
from memento.errors import InvalidInput, InvalidScope, MissingExtra, ReadOnlyStore, StoreClosed
from memento.testing import HashEmbedder
from memento_langgraph import MementoStore

MINUTE = timedelta(minutes=1)


@pytest.fixture
def manager(open_memory):
    """Open a store with a fake embedder and the standing clock."""
    return open_memory(embedder=HashEmbedder(256))


@pytest.fixture
def store(manager):
    """Open a MementoStore over it."""
    return MementoStore(manager)


def keys(items):
    """Return the keys of items."""
    return [item.key for item in items]


class TestSearch:
    """Search by words and meaning together."""

    def test_best_first_with_scores_inside_the_prefix(self, store, manager):
        """A query ranks the items below the prefix, and those alone."""
        store.put(("u", "ada"), "food", {"text": "Ada loves pizza with olives"})
        store.put(("u", "ada"), "pet", {"text": "Ada keeps a tortoise"})
        store.put(("u", "bob"), "food", {"text": "Bob loves pizza with ham"})
        store.put(("u",), "all", {"text": "everybody loves pizza"})
        manager.flush(wait=True)
        found = store.search(("u", "ada"), query="who loves pizza")
        assert keys(found)[0] == "food"
        assert {item.namespace for item in found} == {("u", "ada")}
        assert found[0].score == max(item.score for item in found) > 0

    def test_found_by_words_before_it_is_embedded(self, open_memory):
        """An item that was put a moment ago is found, also without any embedder."""
        store = MementoStore(open_memory())
        store.put(("a",), "k", {"text": "the boiler was serviced"})
        assert keys(store.search(("a",), query="boiler")) == ["k"]

    def test_items_alike_are_all_returned(self, store):
        """Equal values under different keys are different items, in a search as well."""
        for key in "xyz":
            store.put(("a",), key, {"text": "rent is due on Friday"})
        assert sorted(keys(store.search(("a",), query="rent"))) == ["x", "y", "z"]

    @pytest.mark.parametrize("others", [3, 450])
    def test_filter_comes_before_the_limit(self, store, others):
        """However many items a filter leaves out, what passes is found."""
        ops = [
            PutOp(("a",), f"old{n}", {"text": f"pizza {n}", "year": 2000 + n % 20})
            for n in range(others)
        ]
        store.batch([*ops, PutOp(("a",), "new", {"text": "a late pizza, with much else said " * 5,
                                                  "year": 2030})])  # fmt: skip
        assert keys(store.search(("a",), query="pizza", filter={"year": {"$gt": 2029}})) == ["new"]
        assert keys(store.search(("a",), query="pizza", filter={"year": {"$gt": 2031}})) == []
        many = store.search(("a",), query="pizza", filter={"year": {"$lt": 2029}}, limit=2)
        assert len(many) == 2

    @pytest.mark.parametrize("query", ["pizza", None])
    def test_a_name_in_a_filter_is_a_field_or_a_path_and_no_operator(self, store, query):
        """A field of the very name goes first; memento's own ``where`` never looks for one."""
        store.put(("a",), "nested", {"text": "pizza", "at": {"city": "Ur"}})
        store.put(("a",), "spelt", {"text": "pizza", "at.city": "Ur", "$gt": "x"})
        found = lambda **filters: keys(  # noqa: E731 - said three times
            store.search(("a",), query=query, filter=filters)
        )
        assert sorted(found(**{"at.city": "Ur"})) == ["nested", "spelt"]
        assert found(**{"at.city": None}) == []
        assert found(**{"$gt": "x"}) == ["spelt"]

    def test_index_fields_choose_what_is_searched(self, manager):
        """Only the fields of the configuration, or of the put, are looked into."""
        store = MementoStore(manager, index={"fields": ["text", "notes[*].body"]})
        value = {"text": "apple", "secret": "walnut", "notes": [{"body": "cherry"}]}
        store.put(("a",), "k", value)
        assert keys(store.search(("a",), query="apple")) == ["k"]
        assert keys(store.search(("a",), query="cherry")) == ["k"]
        assert keys(store.search(("a",), query="walnut")) == []
        store.put(("a",), "k", value, index=["secret"])
        assert keys(store.search(("a",), query="walnut")) == ["k"]

    def test_each_of_several_fields_counts_by_itself(self, manager):
        """The item that has the query in one field scores the same, whatever else it has."""
        store = MementoStore(manager, index={"fields": ["a", "b", "c"], "all": True})
        store.put(("x",), "two", {"a": "heron", "c": "zinc and quartz and tundra"})
        store.put(("x",), "three", {"a": "pylon", "b": "heron", "c": "tea from a pot"})
        store.put(("x",), "none", {"a": "tundra", "b": "quartz"})
        manager.of(*manager.store.namespace, "langgraph").flush(wait=True)
        first, second, third = store.search(("x",), query="heron")
        assert {first.key, second.key} == {"two", "three"}
        assert third.key == "none"
        assert first.score == pytest.approx(second.score)
        assert third.score < first.score
        whole = MementoStore(manager.of("whole"))
        whole.put(("x",), "three", {"text": "pylon\nheron\ntea from a pot"})
        assert first.score > whole.search(("x",), query="heron")[0].score

    @pytest.mark.parametrize("condition", [None, {"n": {"$gte": 0}}, {"by": "ann"}])
    def test_an_item_with_many_parts_is_one_item(self, manager, condition):
        """However many of its texts fit better than all others, it takes one place of a page."""
        store = MementoStore(manager, index={"fields": ["said[*]"]})
        for key in "ab":
            said = [f"tea {key} number {n}" for n in range(20)]
            store.put(("x",), key, {"said": said, "n": 1, "by": "ann"})
        store.put(("x",), "c", {"said": ["and a long story in which someone drank tea"], "n": 1})
        whole = store.search(("x",), query="tea number 7", filter=condition)
        assert {*keys(whole)} == ({"a", "b"} if condition == {"by": "ann"} else {"a", "b", "c"})
        paged = [
            store.search(("x",), query="tea number 7", filter=condition, limit=1, offset=at)
            for at in range(len(whole))
        ]
        assert [keys(page) for page in paged] == [[item.key] for item in whole]
        assert keys(store.search(("x",), filter=condition)) == sorted(keys(whole))
        assert store.list_namespaces() == [("x",)]

    def test_parts_come_and_go_with_their_item(self, manager, clock):
        """No text that an item no longer has finds it; erasing it erases them."""
        store = MementoStore(manager, index={"fields": ["a", "b"]})
        items = manager.of(*manager.store.namespace, "langgraph")

        def found(*queries):
            return [keys(store.search(("x",), query=query)) for query in queries]

        store.put(("x",), "k", {"a": "heron", "b": "zinc"}, ttl=5)
        assert found("heron", "zinc") == [["k"], ["k"]]
        clock.advance(4 * MINUTE)
        store.get(("x",), "k")
        clock.advance(4 * MINUTE)
        assert found("zinc") == [["k"]], "the read refreshed the parts"
        clock.advance(6 * MINUTE)
        assert found("heron", "zinc") == [[], []]
        assert store.sweep_ttl() == 1
        store.put(("x",), "k", {"a": "quartz", "b": "tundra"})
        store.put(("x",), "k", {"a": "pylon"})
        assert found("quartz", "tundra", "pylon") == [[], [], ["k"]]
        store.put(("x",), "k", {"a": "quartz", "b": "tundra"})
        store.delete(("x",), "k")
        assert found("quartz", "tundra") == [[], []]
        assert not items.list()
        store.put(("x",), "k", {"a": "quartz", "b": "tundra"})
        items.store.erase(items.list()[0].id)
        every = ["active", "superseded", "archived", "quarantined", "forgotten"]
        assert not items.list(status=every)

    def test_a_shown_item_is_shown_once(self, manager):
        """With ``shown=True`` an item has no parts, which a block would show beside it."""
        fields = {"fields": ["a", "b"]}
        store = MementoStore(manager, index=fields, shown=True)
        store.put(("x",), "k", {"a": "a heron by the river", "b": "a pylon by the road"})
        assert manager.recall("heron", wait=5).block.count("heron") == 1

    @pytest.mark.parametrize("embedder", [HashEmbedder(256), None])
    @pytest.mark.parametrize("condition", [None, {"n": {"$gte": 0}}, {"n": 3}])
    def test_all_fills_a_search_up_to_its_limit(self, open_memory, embedder, condition):
        """As in LangGraph's own stores: what bears on the query first, then all others, once."""
        manager = open_memory(embedder=embedder)
        store, every = MementoStore(manager), MementoStore(manager, index={"all": True})
        words = ["tea leaf", "tea pot", "zinc", "quartz", "heron", "tundra", "pylon"]
        store.batch(
            [PutOp(("a",), str(n), {"text": text, "n": n}) for n, text in enumerate(words)]
            + [PutOp(("b",), "far", {"text": "tea", "n": 3})]
        )
        store.put(("a",), "silent", {"text": "no tea", "n": 9}, index=False)
        bearing = keys(store.search(("a",), query="tea", filter=condition, limit=20))
        listed = keys(store.search(("a",), filter=condition, limit=20))
        found = every.search(("a",), query="tea", filter=condition, limit=20)
        assert keys(found)[: len(bearing)] == bearing
        assert sorted(keys(found)) == sorted(listed)
        scores = [item.score for item in found if item.score is not None]
        assert scores == sorted(scores, reverse=True)
        one_each = [
            *(
                keys(every.search(("a",), query="tea", filter=condition, limit=1, offset=at))
                for at in range(len(found) + 1)
            )
        ]
        assert [key for page in one_each for key in page] == keys(found)
        assert len(bearing) < len(found) or condition == {"n": 3}

    def test_all_is_a_flag(self, manager):
        """Anything but true or false is refused."""
        with pytest.raises(InvalidInput, match="all"):
            MementoStore(manager, index={"all": "yes"})

    def test_index_false_keeps_an_item_out_of_search(self, store):
        """It is there by key and in listings, never by query."""
        store.put(("a",), "k", {"text": "apple"}, index=False)
        assert store.search(("a",), query="apple (not indexed)") == []
        assert keys(store.search(("a",))) == ["k"]

    def test_pages_of_a_ranking_are_its_slices(self, store):
        """Of 450 items found, pages of 45 show each exactly once, in the ranking's order."""
        store.batch(
            [PutOp(("a",), str(n), {"text": f"tea number {n}", "n": n}) for n in range(450)]
        )
        store._memory.flush(wait=True)  # nothing is compared or embedded between the pages
        for condition in (None, {"n": {"$gte": 0}}):
            asked = {"query": "tea number 7", "filter": condition}
            whole = keys(store.search(("a",), **asked, limit=1000))
            paged = [
                key
                for at in range(0, 495, 45)
                for key in keys(store.search(("a",), **asked, limit=45, offset=at))
            ]
            assert paged == whole
            assert sorted(whole) == sorted(map(str, range(450)))

    def test_found_by_meaning_right_after_the_put(self, open_memory):
        """A search waits for what was just put, as InMemoryStore embeds before it returns."""
        store = MementoStore(open_memory(embedder="default"))
        store.put(("a",), "k", {"text": "Rami is allergic to nuts"})
        assert keys(store.search(("a",), query="which food makes him ill?")) == ["k"]

    def test_what_could_not_be_searched_is_logged(self, open_memory, caplog):
        """An embedder that fails leaves the words to find by, and the log says so."""

        class Failing(HashEmbedder):
            def embed(self, _texts):
                raise RuntimeError("out of memory")

        store = MementoStore(open_memory(embedder=Failing(8)))
        store.put(("a",), "k", {"text": "tea is green"})
        assert keys(store.search(("a",), query="tea")) == ["k"]
        assert "part of the long tier could not be searched" in caplog.text

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ({"text": "Ada eats no nuts"}, "Ada eats no nuts"),
            ({"note": "Ada eats no nuts", "n": True, "m": None}, "Ada eats no nuts"),
            ({"n": 4, "kind": "diet", "memory": "Ada eats no nuts"}, "Ada eats no nuts\n4\ndiet"),
            ({"kind": "M", "content": {"content": "Ada eats no nuts"}}, "Ada eats no nuts\nM"),
            ({"content": [{"text": "Hi"}], "by": "A", "to": "B"}, "content text: Hi\nby: A\nto: B"),
            ({"paid": True, "by": {"name": "Ada", "x": ""}}, "paid: true\nby name: Ada"),
        ],
    )  # fmt: skip
    def test_a_value_is_searched_as_people_would_say_it(self, store, manager, value, text):
        """Its subject comes first and without its name; every other word is also found."""
        store.put(("a",), "k", value)
        (stored,) = manager.of(*manager.store.namespace, "langgraph").list()
        assert stored.text == text
        assert store.get(("a",), "k").value == value
        for line in text.splitlines():
            assert keys(store.search(("a",), query=line)) == ["k"], line

    def test_a_value_is_near_what_it_says(self, open_memory):
        """By meaning it is as near to a question as its text alone, whatever fields it has."""
        manager = open_memory(embedder="default")
        store = MementoStore(manager)
        text, question = "Ada eats no nuts", "what may Ada not eat?"
        store.put(("a",), "plain", {"text": text})
        store.put(("a",), "wrapped", {"text": text, "ok": True, "by": None})
        (one, two) = manager.store.embed([text, question]) @ manager.store.embed([question]).T
        manager.flush(wait=True)
        found = manager.of(*manager.store.namespace, "langgraph").store.nearest(
            manager.store.embed([question])[0]
        )
        assert two == pytest.approx(1, abs=1e-3)
        assert [hit.score for hit in found] == pytest.approx([float(one[0])] * 2, abs=1e-3)


class TestNamespaces:
    """Namespaces are exact whatever their labels hold."""

    def test_labels_never_run_into_each_other(self, store):
        """No label can be read as two, or as another."""
        names = [("a", "b"), ("a/b",), ("a", "~"), ("a",), ("ab",), ("%61",), (" ",), ("", "a")]
        store.batch([PutOp(name, "k", {"n": n}) for n, name in enumerate(names)])
        got = store.batch([GetOp(name, "k") for name in names])
        assert [item.value["n"] for item in got] == list(range(len(names)))
        assert {item.namespace for item in store.search(("a",))} == {("a", "b"), ("a", "~"), ("a",)}
        assert store.batch([ListNamespacesOp()])[0] == sorted(names)

    def test_two_managers_namespaces_are_two_stores(self, manager, store):
        """A store over another view sees nothing of this one, nor does the manager itself."""
        store.put(("a",), "k", {"text": "pizza"})
        assert MementoStore(manager.of("other")).get(("a",), "k") is None
        assert manager.list() == []
        assert not manager.retrieve("pizza")

    @pytest.mark.parametrize("labels", [("x",) * 200, ("a" + "/" * 60,) * 2, (1,)])
    def test_a_namespace_that_does_not_fit_is_a_typed_error(self, store, labels):
        """It is refused by its name, not cut, escapes and all."""
        with pytest.raises(InvalidScope, match=r"^namespace: "):
            store.batch([PutOp(labels, "k", {"a": 1})])


class TestTimeToLive:
    """Time to live, in minutes, by an injected clock."""

    def test_expired_is_gone_from_every_answer(self, store, clock):
        """Get, search, query and listing stop showing it in the same moment."""
        store.put(("a",), "k", {"text": "pizza"}, ttl=10)
        store.put(("b",), "k", {"text": "pizza"})
        clock.advance(10 * MINUTE - timedelta(seconds=1))
        assert store.get(("a",), "k", refresh_ttl=False) is not None
        clock.advance(timedelta(seconds=1))
        assert store.get(("a",), "k") is None
        assert [item.namespace for item in store.search(())] == [("b",)]
        assert [item.namespace for item in store.search((), query="pizza")] == [("b",)]
        assert store.list_namespaces() == [("b",)]

    @pytest.mark.parametrize("read", ["get", "search", "query"])
    def test_a_read_refreshes(self, store, clock, read):
        """The time starts again at each read, unless the read says no."""
        store.put(("a",), "k", {"text": "pizza"}, ttl=10)
        updated = store.get(("a",), "k").updated_at

        def look(*, refresh):
            if read == "get":
                return store.get(("a",), "k", refresh_ttl=refresh)
            query = "pizza" if read == "query" else None
            return store.search(("a",), query=query, refresh_ttl=refresh)

        clock.advance(9 * MINUTE)
        assert look(refresh=True)
        clock.advance(9 * MINUTE)
        assert look(refresh=False)
        assert store.get(("a",), "k", refresh_ttl=False).updated_at == updated
        clock.advance(MINUTE)
        assert not look(refresh=True)

    def test_defaults_come_from_the_configuration(self, manager, clock):
        """``default_ttl`` and ``refresh_on_read`` hold where nothing else is said."""
        config = {"default_ttl": 5, "refresh_on_read": False}
        store = MementoStore(manager, ttl=config)
        store.put(("a",), "short", {"x": 1})
        store.put(("a",), "ever", {"x": 1}, ttl=None)
        clock.advance(4 * MINUTE)
        store.get(("a",), "short")
        clock.advance(MINUTE)
        assert keys(store.search(("a",))) == ["ever"]

    def test_put_over_an_expired_item_is_a_new_life(self, store, clock):
        """It is created now, and lives as long as the new put says."""
        store.put(("a",), "k", {"x": 1}, ttl=1)
        clock.advance(2 * MINUTE)
        store.put(("a",), "k", {"x": 2})
        item = store.get(("a",), "k")
        assert (item.value, item.created_at) == ({"x": 2}, clock())
        clock.advance(timedelta(days=365))
        assert store.get(("a",), "k").value == {"x": 2}

    def test_sweep_tidies_away_what_expired(self, store, manager, clock):
        """Swept once, expired items are forgotten memories; a later put revives the key."""
        for n in range(3):
            store.put(("a",), str(n), {"text": f"pizza {n}"}, ttl=n + 1)
        items = manager.of(*manager.store.namespace, "langgraph")
        names = [memory.id for memory in items.list()]
        clock.advance(2 * MINUTE)
        assert (store.sweep_ttl(), store.sweep_ttl()) == (2, 0)
        swept = [items.get(name).status.value for name in names]
        assert swept == ["forgotten", "forgotten", "active"]
        store.put(("a",), "0", {"text": "pizza again"})
        assert sorted(keys(store.search(("a",)))) == ["0", "2"]
        assert MementoStore(manager.of("empty")).sweep_ttl() == 0

    def test_options_without_effect_are_refused(self, manager):
        """Nothing is silently ignored: the manager embeds, and sweeping needs no thread."""
        with pytest.raises(InvalidInput, match="embed"):
            MementoStore(manager, index={"embed": len, "dims": 3})
        with pytest.raises(InvalidInput, match="sweep_interval_minutes"):
            MementoStore(manager, ttl={"sweep_interval_minutes": 5})


class TestValues:
    """Any JSON object comes back as it was put."""

    def test_large_and_deep_values_within_the_limits(self, open_memory):
        """The manager's limits are the store's; past them the error says so."""
        store = MementoStore(open_memory())
        value = {"text": "apple " * 80_000, "deep": {"a": [{"b": [None, True, 1.5, "é"]}] * 50}}
        store.put(("a",), "k", value)  # of a long value the beginning is searched
        assert store.get(("a",), "k").value == value
        assert keys(store.search(("a",), query="apple")) == ["k"]
        with pytest.raises(InvalidInput, match="metadata"):
            store.put(("a",), "k", {"text": "a" * 1_100_000}, index=False)
        assert store.get(("a",), "k").value == value

    @pytest.mark.parametrize("index", [None, False, ["when"]])
    @pytest.mark.parametrize(
        "value",
        [{"when": object}, {"when": b"x"}, {"when": {1}}, {"when": float("inf")}, [1], "text"],
        ids=repr,
    )
    def test_what_is_not_json_is_refused(self, store, value, index):
        """However it is to be indexed, and nothing is written."""
        with pytest.raises(InvalidInput, match=r"^value: "):
            store.batch([PutOp(("a",), "k", value, index)])
        assert store.get(("a",), "k") is None

    def test_what_holds_itself_is_refused(self, store):
        """And what is nested too deep to be read back."""
        round_about, deep = {}, {}
        round_about["self"] = round_about
        for _ in range(5_000):
            deep = {"deep": deep}
        for value in (round_about, deep):
            with pytest.raises(InvalidInput):
                store.put(("a",), "k", value)
        assert store.get(("a",), "k") is None

    @pytest.mark.parametrize("index", ["text", True, [1]])
    def test_an_index_that_is_no_list_of_paths_is_refused(self, store, manager, index):
        """A path alone is not taken for a list of its letters."""
        with pytest.raises(InvalidInput, match=r"^index: "):
            store.batch([PutOp(("a",), "k", {"text": "tea"}, index)])
        with pytest.raises(InvalidInput, match=r"^index: "):
            MementoStore(manager, index={"fields": index})

    @pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), "5", True])
    def test_a_time_to_live_that_is_none_is_refused(self, store, ttl):
        """By its name, and nothing is written."""
        with pytest.raises(InvalidInput, match=r"^ttl: "):
            store.batch([PutOp(("a",), "k", {"n": 1}, None, ttl)])
        assert store.get(("a",), "k") is None

    def test_the_stores_own_fields_are_refused(self, store):
        """A value cannot pretend to be another item."""
        with pytest.raises(InvalidInput, match="__memento__"):
            store.put(("a",), "k", {"__memento__": {"key": "other"}})

    def test_history_of_a_key(self, store, manager):
        """Every put and delete stays in the history of the item's memory."""
        store.put(("a",), "k", {"text": "one"}, index=["text"])
        store.put(("a",), "k", {"text": "two"}, index=["text"])
        store.delete(("a",), "k")
        items = manager.of(*manager.store.namespace, "langgraph")
        (gone,) = items.list(status="forgotten")
        assert [version.text for version in items.changes.history(gone.id)] == ["one", "two", "two"]


class TestTogether:
    """Batches, threads, event loops, processes."""

    def test_eight_threads_on_the_same_keys(self, store):
        """Puts, deletes and reads at once: no error, and each key ends as one of its puts."""

        def work(thread):
            for n in range(25):
                key = f"k{n % 5}"
                store.put(("a",), key, {"by": thread, "n": n, "text": "same words"}, index=["text"])
                item = store.get(("a",), key)
                assert item is None or item.key == key
                if n % 7 == 6:
                    store.delete(("a",), key)
            store.put(("a",), f"last{thread}", {"by": thread})

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        found = {item.key: item.value for item in store.search(("a",), limit=100)}
        assert {f"last{n}" for n in range(8)} <= found.keys()
        assert all(len(value) in (1, 3) for value in found.values())

    def test_a_delete_between_the_look_and_the_refresh_stands(self, store, clock, monkeypatch):
        """A read that would refresh what another just deleted brings nothing back."""
        store.put(("a",), "k", {"x": 1}, ttl=10)
        clock.advance(5 * MINUTE)
        look = MemoryManager.list

        def late(self, **options):
            found = look(self, **options)
            self.forget_many(within="")
            return found

        with monkeypatch.context() as racing:
            racing.setattr(MemoryManager, "list", late)
            assert store.get(("a",), "k").value == {"x": 1}
        assert store.get(("a",), "k") is None

    def test_two_stores_put_the_same_keys_at_once(self, store, manager):
        """Neither sees an error in any order; the keys end as one of them put them."""
        stores = [store, MementoStore(manager)] * 4
        keys_put = [f"k{n}" for n in range(10)]

        def work(at):
            for n in range(5):
                value = {"by": at, "n": n}
                stores[at].batch([PutOp(("a",), key, value) for key in keys_put])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        found = store.search(("a",), limit=100)
        assert sorted(keys(found)) == keys_put
        assert len({item.value["by"] for item in found}) == 1  # a batch is one transaction

    def test_threads_and_a_loop_at_once(self, store):
        """Eight threads and fifty tasks on one store at the same time lose nothing."""

        def work(thread):
            for n in range(10):
                store.put(("t", str(thread)), f"k{n}", {"text": f"note {n}"})
                assert store.get(("t", str(thread)), f"k{n}").value == {"text": f"note {n}"}

        async def task(n):
            await store.aput(("l",), f"k{n}", {"text": f"note {n}"})
            assert (await store.aget(("l",), f"k{n}")).key == f"k{n}"

        async def all_at_once():
            threads = [asyncio.to_thread(work, n) for n in range(8)]
            await asyncio.gather(*threads, *(task(n) for n in range(50)))

        asyncio.run(all_at_once())
        assert len(store.search(("t",), limit=1000)) == 80
        assert len(store.search(("l",), limit=1000)) == 50


class TestErrors:
    """Trouble reaches the caller with its type."""

    def test_closed(self, store, manager):
        """A closed manager is a StoreClosed for every operation, sync and async."""
        manager.close()
        for operate in (
            lambda: store.put(("a",), "k", {"x": 1}),
            lambda: store.get(("a",), "k"),
            lambda: store.search(("a",)),
            lambda: store.search(("a",), query="x"),
            store.list_namespaces,
            lambda: asyncio.run(store.aget(("a",), "k")),
            store.sweep_ttl,
        ):
            with pytest.raises(StoreClosed):
                operate()

    def test_read_only(self, open_memory, freeze, clock):
        """Reading works, refreshing rests, writing is a ReadOnlyStore."""
        written = open_memory()
        MementoStore(written).put(("a",), "k", {"x": 1}, ttl=10)
        written.close()
        freeze(written.store.root)
        store = MementoStore(open_memory())
        clock.advance(5 * MINUTE)
        assert store.get(("a",), "k").value == {"x": 1}
        assert keys(store.search(("a",), query="x")) == keys(store.search(("a",))) == ["k"]
        with pytest.raises(ReadOnlyStore):
            store.put(("a",), "k", {"x": 2})
        with pytest.raises(ReadOnlyStore):
            store.delete(("a",), "k")

    def test_unknown_operators_and_operations(self, store):
        """A misspelt operator is an error, not an empty answer."""
        store.put(("a",), "k", {"n": 1})
        with pytest.raises(InvalidInput, match=r"\$gtt"):
            store.search(("a",), filter={"n": {"$gtt": 1}})
        with pytest.raises(InvalidInput, match="requires a number"):
            store.search(("a",), filter={"n": {"$gt": "much"}})
        with pytest.raises(InvalidInput, match="not an operation"):
            store.batch(["get"])

    @pytest.mark.parametrize("wrong", [-1, None, "5", 2.5, True])
    @pytest.mark.parametrize("field", ["limit", "offset"])
    @pytest.mark.parametrize("query", [None, "tea"])
    def test_no_number_of_items(self, store, field, wrong, query):
        """A window that cannot be one is refused by its name."""
        with pytest.raises(InvalidInput, match=f"^{field}: "):
            store.search(("a",), query=query, **{field: wrong})

    def test_no_manager(self):
        """A folder's name is not a manager."""
        with pytest.raises(InvalidInput, match="must be a MemoryManager"):
            MementoStore("folder")

    def test_missing_framework(self):
        """Without LangGraph the import says how to install it."""
        script = (
            "import sys\nsys.modules['langgraph'] = None\n"
            "try:\n    from memento_langgraph import MementoStore\n"
            "except ImportError as error:\n    print(type(error).__name__, error)\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        assert ran.stdout.startswith("MissingExtra")
        assert "pip install 'agent-memento[langgraph]'" in ran.stdout
        assert issubclass(MissingExtra, ImportError)


@pytest.mark.parametrize("label", ["x" * 65, "A role in many words, " * 40, "a/b " * 100])
def test_a_long_label_has_a_short_form(store, label):
    """Items are found by the label that was given, alone and below a prefix."""
    store.put(("agents", label, "notes"), "tea", {"text": "Bo drinks tea"})
    store.put(("agents", f"{label}!", "notes"), "tea", {"text": "Bo drinks rum"})
    assert store.get(("agents", label, "notes"), "tea").value == {"text": "Bo drinks tea"}
    assert [one.value["text"] for one in store.search(("agents", label))] == ["Bo drinks tea"]
    (short,) = store.list_namespaces(prefix=("agents", label))
    assert store.get(short, "tea").value == {"text": "Bo drinks tea"}

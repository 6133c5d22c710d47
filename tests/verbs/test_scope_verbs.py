"""Scopes are listed, named, guessed, merged and unmerged; memories move up only when asked."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memento import MemoryManager, Status, engine
from memento.config import Config
from memento.errors import InvalidInput, LockedMemory, NotFound, SecretFound
from memento.write import scope_moves as rules

EVERY = list(Status)


def paths(memory):
    """List the scopes with their numbers of memories."""
    return {one.path: one.memories for one in memory.scopes.list()}


class TestListed:
    """A scope is there once somebody named it or a memory is at it or below it."""

    def test_an_empty_store_has_none(self, memory):
        """Not even everywhere."""
        assert memory.scopes.list() == []

    def test_memories_make_scopes_and_those_above_them(self, memory):
        """Counts include what is below; hidden memories do not count."""
        memory.add("one", scope="a/b")
        memory.add("two", scope="a")
        memory.forget(memory.add("three", scope="a/c").id)
        memory.add("everywhere")
        assert paths(memory) == {"a": 2, "a/b": 1}

    def test_a_named_scope_is_listed_without_a_memory(self, memory):
        """With its title and its other names, which are added up."""
        memory.scopes.define("p/shop", title="The shop", aliases=["web shop"])
        again = memory.scopes.define("p/shop", aliases=["store", "web shop"])
        assert (again.title, again.aliases) == ("The shop", ("web shop", "store"))
        assert again.created_at is not None
        assert paths(memory) == {"p/shop": 0}

    def test_a_scope_has_up_to_64_aliases_in_total(self, memory):
        """However many calls give them; repeats count once."""
        for at in (0, 20, 32):
            memory.scopes.define("p", aliases=[f"n{n}" for n in range(at, at + 32)])
        with pytest.raises(InvalidInput, match="64"):
            memory.scopes.define("p", aliases=["one more"])
        assert len(memory.scopes.list()[0].aliases) == 64

    @pytest.mark.parametrize("path", ["p/web-shop", "P/Web_Shop", "p/web shop", "shop"])
    def test_spellings_and_aliases_mean_the_same_scope(self, memory, path):
        """Case, hyphens and underscores make no second scope, and neither does an alias."""
        memory.add("one", scope="p/web-shop")
        memory.scopes.define("p/web-shop", aliases=["shop"])
        assert memory.scopes.define(path, title="T").path == "p/web-shop"

    def test_names_that_are_only_near_stay_apart(self, memory):
        """``go`` and ``js`` differ by two letters and are two scopes."""
        memory.scopes.define("go")
        assert memory.scopes.define("js").path == "js"

    def test_an_alias_has_one_scope(self, memory):
        """The alias of another scope is refused, and so is the path of one."""
        memory.scopes.define("a", aliases=["first"])
        for alias in ("first", "FIRST", "a"):
            with pytest.raises(InvalidInput):
                memory.scopes.define("b", aliases=[alias])
        assert [one.aliases for one in memory.scopes.list()] == [("first",)]

    @pytest.mark.parametrize("path", ["", "/", "a/../b", 3, None])
    def test_what_is_no_scope_is_refused(self, memory, path):
        """Everywhere has no name of its own."""
        with pytest.raises(InvalidInput):
            memory.scopes.define(path)

    def test_secrets_are_removed_from_names(self, memory, open_memory, tmp_path):
        """Or refused, as the settings say."""
        token = "ghp_" + "a1B2" * 9
        made = memory.scopes.define("a", title=f"with {token}", aliases=[f"also {token}"])
        assert token not in repr(made)
        strict = open_memory(tmp_path / "strict", config=Config(secrets="reject"))
        with pytest.raises(SecretFound):
            strict.scopes.define("a", title=f"with {token}")


class TestGuessed:
    """Names and context, each with its weight."""

    @pytest.fixture
    def known(self, memory):
        """A store with four scopes."""
        memory.scopes.define("project/shop", title="The Store", aliases=["web shop"])
        memory.scopes.define("project/api")
        memory.scopes.define("go")
        memory.add("a note", scope="home/garden")
        return memory

    @pytest.mark.parametrize(
        ("text", "path", "sure"),
        [
            ("the web shop is slow", "project/shop", 0.9),
            ("The Web-Shop is slow", "project/shop", 0.9),
            ("ask the store about it", "project/shop", 0.9),
            ("the storefront", None, None),
            ("The store opens", "project/shop", 0.9),
            ("project/api needs a token", "project/api", 0.9),
            ("The garden needs water", "home/garden", 0.9),
            ("we go there", "go", 0.6),
            ("the apical bud", None, None),
            ("", None, None),
        ],
    )
    def test_a_name_in_the_text(self, known, text, path, sure):
        """Whole words only; a name of two letters is weak, and two scopes share the weight."""
        found = known.scopes.infer(text)
        assert (found[0].path if found else None) == path
        assert (found[0].confidence if found else None) == sure

    def test_two_scopes_that_are_named_share_the_confidence(self, known):
        """In doubt nothing is certain enough to store anything."""
        found = known.scopes.infer("the api of the web shop")
        assert {one.path: one.confidence for one in found} == {
            "project/shop": 0.45,
            "project/api": 0.45,
        }

    def test_the_innermost_scope_counts(self, known):
        """A text that names a scope and one inside it is about the inner one."""
        known.add("x", scope="project/api/tests")
        assert known.scopes.infer("tests of the api")[0].path == "project/api/tests"

    def test_the_context_names_it(self, known):
        """A repository or a folder; both signs together are surer."""
        context = {"repository": "git@host:acme/web-shop.git", "folder": "C:\\src"}
        (guess,) = known.scopes.infer("fix the bug", context=context)
        assert (guess.path, guess.confidence, guess.why) == ("project/shop", 0.95, ("context",))
        (both,) = known.scopes.infer("the web shop", context=context)
        assert both.confidence == pytest.approx(0.995)
        assert both.why == ("named", "context")

    def test_a_merged_scope_is_not_guessed(self, known):
        """Its names mean what it became a part of."""
        known.scopes.merge("project/api", "project/shop")
        assert [one.path for one in known.scopes.infer("the api is slow")] == ["project/shop"]

    @pytest.mark.parametrize("context", [3, {"a": 1}, ["a"]])
    def test_a_context_that_is_none_is_refused(self, known, context):
        """It maps names to strings."""
        with pytest.raises(InvalidInput):
            known.scopes.infer("x", context=context)

    def test_observe_stores_in_the_scope_that_is_named(self, known):
        """Only a defined one, and only if nobody said where."""
        known.add("n", scope="home/attic")
        for said, where in (
            ("We settled on weekly releases for the web shop.", "project/shop"),
            ("We settled on weekly cleaning of the attic.", ""),
        ):
            learned = known.observe(said).learned
            assert [one.memory.scope for one in learned] == [where]
        learned = known.observe("We settled on daily releases for the web shop.", scope="x").learned
        assert [one.memory.scope for one in learned] == ["x"]

    def test_observe_stores_in_the_scope_of_its_session(self, known):
        """A session that was begun at a scope says where, whatever is named."""
        known.sessions.start("s", scope="project/api")
        learned = known.observe("We settled on Go for the web shop.", session="s").learned
        assert [one.memory.scope for one in learned] == ["project/api"]


def test_the_policy_of_a_session_is_that_of_its_scope(memory):
    """Unless another scope is named; also after its scope was merged."""
    memory.add("We ship on Thursday", kind="decision", scope="p/shop")
    memory.add("We ship on Monday", kind="decision", scope="p/blog")
    memory.sessions.start("s", scope="p/shop")
    assert "Thursday" in memory.rules.policy(session="s").head
    assert "Monday" in memory.rules.policy(session="s", scope="p/blog").head
    assert "Thursday" not in memory.rules.policy().head
    memory.scopes.merge("p/shop", "p/site")
    assert "Thursday" in memory.rules.policy(session="s").head


class TestMerged:
    """All memories of a scope move, and all of it can be undone."""

    def test_everything_moves_whatever_its_status(self, memory):
        """Also what is below, and the history of a slot."""
        memory.add("old", scope="a", key="k")
        memory.add("new", scope="a", key="k")
        memory.forget(memory.add("gone", scope="a/b").id)
        memory.add("web page", scope="a", source="web")
        memory.add("ab is not in a", scope="ab")
        assert memory.scopes.merge("a", "p/q") == 4
        found = {one.text: one.scope for one in memory.list(status=EVERY)}
        assert found == {
            "old": "p/q", "new": "p/q", "gone": "p/q/b", "web page": "p/q",
            "ab is not in a": "ab",
        }  # fmt: skip
        assert memory.value("k", scope="p/q").text == "new"
        assert [one.memory.text for one in memory.changes.evolution("k", scope="p/q")] == [
            "old",
            "new",
        ]

    @pytest.mark.parametrize(("inner", "fits"), [(150, True), (151, False)])
    def test_a_merge_makes_no_path_that_no_call_can_name(self, memory, inner, fits):
        """Refused as a whole, before anything is moved."""
        memory.add("x", scope=f"a/{'b' * inner}", id="x")
        into = f"c/{'d' * 103}"
        if fits:
            memory.scopes.merge("a", into)
            assert len(memory.get("x").scope) == 256
            assert memory.list(scope=memory.get("x").scope) == [memory.get("x")]
            return
        with pytest.raises(InvalidInput, match="256"):
            memory.scopes.merge("a", into)
        assert memory.get("x").scope.startswith("a/")

    def test_the_merged_scope_means_the_other_one(self, memory):
        """When memories are added, listed, found, counted, and when a slot is read."""
        memory.add("one", scope="a")
        memory.scopes.merge("a", "p")
        added = memory.add("two words", scope="a/x", key="k")
        assert added.scope == "p/x"
        assert {one.text for one in memory.list(within="a")} == {"one", "two words"}
        assert memory.retrieve("two words", scope="a/x")[0].text == "two words"
        assert memory.store.counts(within="a") == {"p": 1, "p/x": 1}
        assert memory.value("k", scope="a/x").text == "two words"
        assert memory.add("two words", scope="p/x", key="k").id == added.id
        assert {one.path: one.merged_into for one in memory.scopes.list()} == {
            "a": "p", "p": None, "p/x": None,
        }  # fmt: skip

    def test_a_chain_of_merges_is_followed(self, memory):
        """Merged into what was merged: both mean the last one."""
        memory.add("one", scope="a")
        memory.scopes.merge("a", "b")
        memory.scopes.merge("b", "c")
        assert memory.add("two", scope="a").scope == "c"
        assert {one.scope for one in memory.list()} == {"c"}

    def test_in_a_slot_of_both_the_later_value_holds(self, memory, clock):
        """Whichever scope is merged into the other one."""
        memory.add("tabs", scope="a", key="indent")
        clock.advance(timedelta(hours=1))
        memory.add("spaces", scope="b", key="indent")
        memory.add("dark", scope="b", key="theme")
        clock.advance(timedelta(hours=1))
        memory.add("light", scope="a", key="theme")
        memory.scopes.merge("a", "b")
        assert memory.value("indent", scope="b").text == "spaces"
        assert memory.value("theme", scope="b").text == "light"
        memory.scopes.unmerge("a")
        held = [(s, k) for s in "ab" for k in ("indent", "theme")]
        values = [memory.value(key, scope=scope).text for scope, key in held]
        assert values == ["tabs", "light", "spaces", "dark"]

    def test_sessions_of_a_merged_scope_are_found(self, memory):
        """By both names; after the merge is undone by its own again."""
        memory.sessions.start("s", goal="g", scope="a").checkpoint(next=["x"])
        memory.scopes.merge("a", "p")
        assert [one.id for one in memory.sessions.list(scope="p")] == ["s"]
        assert [one.id for one in memory.sessions.list(scope="a")] == ["s"]
        memory.scopes.unmerge("a")
        assert memory.sessions.list(scope="p") == []
        assert [one.id for one in memory.sessions.list(scope="a")] == ["s"]

    @pytest.mark.parametrize(
        ("src", "dst"), [("", "a"), ("a", "a"), ("a", "a/b"), ("a", "x"), ("a", "/../")]
    )
    def test_what_makes_no_sense_is_refused(self, memory, src, dst):
        """Everywhere, itself, something inside it, a circle; nothing is moved."""
        memory.add("one", scope="a")
        memory.add("two", scope="x")
        if dst == "x":
            memory.scopes.merge("x", "a")
        before = {one.id: one.scope for one in memory.list()}
        with pytest.raises(InvalidInput):
            memory.scopes.merge(src, dst)
        assert {one.id: one.scope for one in memory.list()} == before

    def test_a_scope_that_means_everywhere_gets_no_name(self, memory):
        """It is no scope of its own until it is unmerged."""
        memory.add("The bakery opens at six", scope="shop")
        memory.scopes.merge("shop", "")
        with pytest.raises(InvalidInput, match="unmerge it first"):
            memory.scopes.define("shop", title="Bakery")
        memory.scopes.unmerge("shop")
        assert memory.scopes.define("shop", title="Bakery").title == "Bakery"

    def test_one_scope_has_one_merge(self, memory):
        """It must be unmerged before it is merged elsewhere; the same again moves nothing."""
        memory.add("one", scope="a")
        memory.scopes.merge("a", "b")
        assert memory.scopes.merge("a", "b") == 0
        with pytest.raises(InvalidInput, match="unmerge"):
            memory.scopes.merge("a", "c")
        memory.scopes.unmerge("a")
        assert memory.scopes.merge("a", "c") == 1

    def test_a_locked_memory_stops_it(self, memory):
        """Nothing was moved, and the scope is not merged."""
        memory.update(memory.add("never", scope="a").id, lock="user")
        memory.add("other", scope="a")
        with pytest.raises(LockedMemory):
            memory.scopes.merge("a", "b")
        assert memory.store.counts() == {"a": 2}
        assert memory.add("new", scope="a").scope == "a"

    def test_only_a_merged_scope_is_unmerged(self, memory):
        """Neither a scope as such nor a second time."""
        with pytest.raises(InvalidInput):
            memory.scopes.unmerge("a")
        memory.add("one", scope="a")
        memory.scopes.merge("a", "b")
        assert memory.scopes.unmerge("a") == 1
        with pytest.raises(InvalidInput):
            memory.scopes.unmerge("a")

    def test_what_was_changed_since_goes_back_as_it_is(self, memory):
        """A corrected text is kept, and what was added meanwhile stays."""
        one = memory.add("one", scope="a")
        memory.scopes.merge("a", "b")
        memory.update(one.id, text="one, corrected")
        late = memory.add("late", scope="a")
        assert memory.scopes.unmerge("a") == 1
        assert (memory.get(one.id).text, memory.get(one.id).scope) == ("one, corrected", "a")
        assert memory.get(late.id).scope == "b"

    def test_into_everywhere(self, memory):
        """A scope can be merged into ``""``; afterwards it means the same."""
        memory.add("one", scope="a/b")
        assert memory.scopes.merge("a", "") == 1
        assert memory.add("two", scope="a").scope == ""
        assert memory.list(scope="a") == memory.list(scope="")
        assert memory.add("three", scope="a/b").scope == "b"
        assert memory.scopes.unmerge("a") == 1
        assert memory.add("four", scope="a").scope == "a"

    def test_a_memory_that_is_moved_there_goes_to_the_other_one(self, memory):
        """So that every question that names one of the two finds it."""
        memory.add("one", scope="a")
        memory.scopes.merge("a", "p")
        moved = memory.add("two", scope="x")
        assert memory.update(moved.id, scope="a/y").scope == "p/y"
        again = memory.get(moved.id).version
        assert memory.update(moved.id, scope="a/y").version == again

    def test_undoing_the_merge_ends_it(self, memory):
        """Its memories are found where they are again, and redo moves them as memories."""
        memory.add("one", scope="a")
        memory.scopes.merge("a", "p")
        done = memory.undo(memory.changes.list()[0].number)
        assert [one.text for one in memory.list(within="a")] == ["one"]
        assert memory.add("two", scope="a").scope == "a"
        assert all(one.merged_into is None for one in memory.scopes.list())
        memory.undo(done.changes[0])
        assert [one.text for one in memory.list(within="p")] == ["one"]
        with pytest.raises(InvalidInput, match="not merged"):
            memory.scopes.unmerge("a")

    def test_undoing_a_part_of_a_merge_leaves_it(self, memory, monkeypatch):
        """The rest is still where it was moved to, and ``unmerge`` takes it back."""
        memory.add_many({"text": f"note {n}", "scope": "a"} for n in range(20))
        monkeypatch.setattr(engine, "BITE", 10)
        memory.scopes.merge("a", "p")
        last = next(one for one in memory.changes.list() if one.kind == "merge_scopes")
        memory.undo(last.number)
        assert memory.scopes.unmerge("a") == memory.store.counts()["a"] - 10 == 10

    def test_a_chain_is_unmerged_in_any_order(self, memory):
        """A memory that both merges moved goes back to its own scope, and stays there."""
        one = memory.add("one", scope="a")
        two = memory.add("two", scope="b")
        memory.scopes.merge("a", "b")
        memory.scopes.merge("b", "c")
        assert memory.scopes.unmerge("a") == 1
        assert (memory.get(one.id).scope, memory.get(two.id).scope) == ("a", "c")
        memory.scopes.unmerge("b")
        assert (memory.get(one.id).scope, memory.get(two.id).scope) == ("a", "b")

    def test_many_memories_are_merged_in_bites(self, memory):
        """More than fit into one transaction, there and back."""
        memory.add_many({"text": f"note {n}", "scope": "a"} for n in range(450))
        assert memory.scopes.merge("a", "b") == 450
        assert memory.store.counts() == {"b": 450}
        assert memory.scopes.unmerge("a") == 450
        assert memory.store.counts() == {"a": 450}

    def test_an_interrupted_merge_is_finished_by_the_same_call(self, memory, monkeypatch):
        """The memories moved so far stay there, and one unmerge takes all of them back."""
        memory.add_many({"text": f"note {n}", "scope": "a"} for n in range(30))
        real, seen = rules.move, []

        def fail_third(work, docids, src):
            seen.append(docids)
            if len(seen) == 3:
                raise KeyboardInterrupt
            return real(work, docids, src)

        monkeypatch.setattr(engine, "BITE", 10)
        monkeypatch.setattr(rules, "move", fail_third)
        with pytest.raises(KeyboardInterrupt):
            memory.scopes.merge("a", "b")
        monkeypatch.undo()
        assert memory.store.counts() == {"a": 10, "b": 20}
        assert memory.scopes.merge("a", "b") == 10
        assert memory.scopes.unmerge("a") == 30
        assert memory.store.counts() == {"a": 30}


SCOPES = st.sampled_from(["a", "a/x", "b", "b/y", "c", ""])
ADDS = st.lists(
    st.tuples(SCOPES, st.sampled_from([None, "k", "j"]), st.integers(0, 5), st.booleans()),
    max_size=12,
)


def states(memory):
    """Return each memory with all that a merge may touch."""
    return {
        one.id: (
            one.text, one.scope, one.status, one.key, one.valid_from, one.valid_until,
            one.superseded_by,
        )
        for one in memory.list(status=EVERY, limit=1000)
    }  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(adds=ADDS, pair=st.sampled_from([("a", "b"), ("a/x", "a"), ("b", "c/d"), ("a", "")]))
def test_unmerging_gives_back_exactly_the_state_before(tmp_path_factory, adds, pair):
    """All of it but the version, which only grows: texts, scopes, statuses, slots, intervals."""
    root = tmp_path_factory.mktemp("m") / "s"
    with MemoryManager(root, embedder=None) as memory:
        for scope, key, n, hidden in adds:
            one = memory.add(f"note {n}", scope=scope, key=key)
            if hidden and one.status is Status.ACTIVE:
                memory.forget(one.id)
        before = states(memory)
        moved = memory.scopes.merge(*pair)
        inside = [one for one in before.values() if f"{one[1]}/".startswith(f"{pair[0]}/")]
        assert moved == len(inside)
        assert memory.scopes.unmerge(pair[0]) == moved
        assert states(memory) == before
        assert all(finding.ok for finding in memory.store.doctor())


class TestPromoted:
    """A rule that several scopes have alike is shown, and moved only when asked."""

    @pytest.fixture
    def alike(self, memory):
        """Three projects with the same rule, one with its own words."""
        for name in ("p/a", "p/b", "p/c"):
            memory.add("Never commit .env files", kind="rule", scope=name)
        memory.add("Ask before a release", kind="rule", scope="p/a")
        return memory

    def test_it_is_listed_and_not_done(self, alike):
        """The scope that contains them, and one memory of each."""
        (found,) = alike.scopes.promotable()
        assert (found.scope, found.key) == ("p", None)
        assert [one.scope for one in found.memories] == ["p/a", "p/b", "p/c"]
        assert alike.store.counts(kind="rule") == {"p/a": 2, "p/b": 1, "p/c": 1}

    def test_two_scopes_are_not_enough(self, memory):
        """Nor is one scope with the rule three times, in other words."""
        for name in ("p/a", "p/b"):
            memory.add("Never commit .env files", kind="rule", scope=name)
        memory.add("never commit .env files!", kind="rule", scope="p/a")
        memory.add("Never commit .env files", kind="rule", scope="q/c")
        assert memory.scopes.promotable() == []

    def test_the_value_of_a_slot_is_compared(self, memory):
        """Other words for the same choice; another choice beside them stands against it."""
        said = ("Use tabs", "Please use tabs.", "Always use tabs")
        for name, text in zip(("p/a", "p/b", "p/c"), said, strict=True):
            memory.add(text, kind="rule", scope=name, key="style/indent")
        (found,) = memory.scopes.promotable()
        assert found.key == "style/indent"
        memory.add("Use spaces", kind="rule", scope="p/d", key="style/indent")
        assert memory.scopes.promotable() == []

    def test_a_value_above_stands_against_it(self, alike):
        """If the wider scope says so already, there is nothing to move."""
        alike.add("Never commit .env files", kind="rule", scope="p")
        assert alike.scopes.promotable() == []

    def test_a_condition_keeps_rules_apart(self, memory):
        """The same words under another condition are another rule."""
        for n, name in enumerate(("p/a", "p/b", "p/c")):
            memory.add("Be brief", kind="rule", scope=name, condition=f"in case {n}")
        assert memory.scopes.promotable() == []

    def test_promoting_moves_it_with_its_history(self, alike):
        """It holds above; the change can be undone."""
        (found,) = alike.scopes.promotable()
        one = alike.scopes.promote(found.memories[0].id, found.scope)
        assert (one.scope, one.version) == ("p", 2)
        assert "Never commit .env files" in alike.rules.policy(scope="p/z").head
        assert alike.scopes.promotable() == []
        assert alike.changes.list()[0].kind == "promote"
        alike.undo(alike.changes.list()[0].number)
        assert alike.get(one.id).scope == "p/a"

    def test_it_takes_the_slot_of_the_wider_scope(self, memory):
        """The value there is superseded; a lock of it stands in the way."""
        old = memory.add("Use spaces", kind="rule", key="indent")
        new = memory.add("Use tabs", kind="rule", key="indent", scope="p")
        memory.update(old.id, lock="user")
        with pytest.raises(LockedMemory):
            memory.scopes.promote(new.id)
        memory.update(old.id, lock=None)
        memory.scopes.promote(new.id)
        assert memory.value("indent").text == "Use tabs"
        assert memory.get(old.id).status is Status.SUPERSEDED

    @pytest.mark.parametrize("scope", ["p/a", "p/a/b", "q", "p/ab"])
    def test_only_a_wider_scope_will_do(self, alike, scope):
        """Neither its own nor one beside or inside it."""
        one = alike.list(within="p/a")[0]
        with pytest.raises(InvalidInput):
            alike.scopes.promote(one.id, scope)

    def test_only_an_active_memory_moves(self, alike):
        """And one that this namespace has."""
        one = alike.list(within="p/a")[0]
        alike.forget(one.id)
        with pytest.raises(InvalidInput):
            alike.scopes.promote(one.id)
        with pytest.raises(NotFound):
            alike.of("x").scopes.promote(one.id)


class TestMergedIntoUnnamed:
    """A scope that was merged is named, and a memory goes up, where the scope is now."""

    def test_a_conversation_takes_place_where_the_named_scope_went(self, memory):
        """Also if nobody named the scope that it was merged into, and after a second merge."""
        memory.scopes.define("shop", aliases=["web shop"])
        memory.add("x", scope="shop")
        memory.scopes.merge("shop", "project/shop")
        seen = memory.observe("Never deploy the web shop on Fridays.", session="one")
        assert [one.memory.scope for one in seen.learned] == ["project/shop"]
        memory.scopes.merge("project/shop", "site")
        seen = memory.observe("Never paint the web shop on Mondays.", session="two")
        assert [one.memory.scope for one in seen.learned] == ["site"]

    def test_a_merge_alone_names_no_scope(self, memory):
        """A conversation is put only where ``define_scope`` says."""
        memory.add("x", scope="shop")
        memory.scopes.merge("shop", "project/shop")
        seen = memory.observe("Never deploy the shop on Fridays.", session="one")
        assert [one.memory.scope for one in seen.learned] == [""]

    def test_a_memory_goes_up_to_where_the_scope_is_now(self, memory):
        """As every other verb, ``promote`` means the present scope."""
        memory.add("x", scope="p")
        memory.scopes.merge("p", "q")
        kept = memory.add("y", scope="q/r")
        assert memory.scopes.promote(kept.id, "p").scope == "q"

    @pytest.mark.parametrize("order", ["ab", "ba"])
    @pytest.mark.parametrize("hours", [-1, 0, 1])
    def test_two_merges_that_are_undone_give_each_slot_back(self, memory, clock, order, hours):
        """In any order, whichever value held in between."""
        memory.add("A", scope="a", key="k")
        clock.advance(timedelta(hours=hours))
        memory.add("B", scope="b", key="k")
        memory.scopes.merge("a", "b")
        memory.scopes.merge("b", "c")
        for scope in order:
            memory.scopes.unmerge(scope)
        assert [memory.value("k", scope=one).text for one in "ab"] == ["A", "B"]
        assert memory.value("k", scope="c") is None
        assert all(one.ok for one in memory.store.doctor())

    def test_a_value_that_was_replaced_since_stays_replaced(self, memory):
        """Only what the merges did is undone."""
        first = memory.add("A", scope="a", key="k")
        memory.scopes.merge("a", "b")
        memory.correct(first.id, "A, put right")
        memory.scopes.merge("b", "c")
        memory.scopes.unmerge("a")
        assert memory.get(first.id).status is Status.SUPERSEDED

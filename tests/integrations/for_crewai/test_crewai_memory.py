"""The memory itself: scopes, categories, privacy, views, events, copies and errors."""

import asyncio
import copy
import threading
from datetime import datetime, timedelta

import pytest

pytest.importorskip("crewai", reason="crewai is not installed: pip install 'agent-memento[crewai]'")

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types import memory_events as events
from crewai.memory.unified_memory import Memory
from crewai.tools.memory_tools import create_memory_tools

from memento.errors import (
    InvalidInput,
    InvalidScope,
    NotFound,
    ReadOnlyStore,
    StorageFailed,
    StoreClosed,
)
from memento.testing import HashEmbedder
from memento_crewai import MementoCrewMemory, MementoStorage
from memento_crewai._strict import StrictMemory


def texts(matches):
    """Return the contents, in order."""
    return [match.record.content for match in matches]


@pytest.fixture
def whole(manager):
    """A memory without a root."""
    return MementoCrewMemory(manager)


class TestRecords:
    """Memories are kept, found, changed and forgotten."""

    def test_round_trip(self, memory, manager):
        """All of a record's fields arrive, and the store's own words for them are memento's."""
        record = memory.remember(
            "Bo drinks tea",
            scope="/people/bo",
            categories=["taste"],
            metadata={"page": 3},
            importance=0.9,
            source="bo",
            agent_role="Scout",
        )
        assert record == memory.list_records()[0]
        assert record.scope == "/crew/sales/people/bo"
        assert (record.categories, record.metadata, record.importance, record.source) == (
            ["taste"],
            {"page": 3},
            0.9,
            "bo",
        )
        assert record.created_at == datetime(2025, 1, 1)  # noqa: DTZ001 - CrewAI's times are naive
        stored = manager.get(record.id)
        assert (stored.scope, stored.tags, stored.session, stored.actor, stored.source.kind) == (
            "crew/sales/people/bo",
            ("taste",),
            "bo",
            "Scout",
            "agent",
        )

    def test_importance_is_scored_without_an_llm(self, memory):
        """A text that sounds critical weighs more than one called unimportant."""
        kept = memory.remember("The deadline is critical: never ship after 3 May")
        waved = memory.remember("maybe a temporary note, whatever")
        assert kept.importance > 0.6
        assert waved.importance < 0.3

    def test_found_at_once_in_every_tier(self, memory, manager):
        """Nothing waits for an index: words find it in the same breath, whatever its tier."""
        for importance, tier in ((0.1, "short"), (0.5, "medium"), (0.9, "long")):
            record = memory.remember(f"The {tier} code is {tier}-77", importance=importance)
            assert manager.get(record.id).tier == tier
            assert texts(memory.recall(f"what is the {tier} code", limit=1)) == [record.content]

    def test_scores_fall_and_lie_between_0_and_1(self, memory):
        """They are what memento gave, so that slices can merge them."""
        memory.remember_many([f"Supplier {n} sells tea from field {n}" for n in range(20)])
        scores = [match.score for match in memory.recall("which supplier sells tea", limit=20)]
        assert scores == sorted(scores, reverse=True)
        assert 0 < scores[-1] <= scores[0] <= 1

    def test_as_many_as_are_asked_for(self, memory):
        """A limit of hundreds is honoured, and a smaller one gives the first of them."""
        memory.remember_many([f"fact number {n} alpha" for n in range(250)])
        whole = texts(memory.recall("alpha fact", limit=250))
        assert len(set(whole)) == 250
        assert texts(memory.recall("alpha fact", limit=20)) == whole[:20]

    def test_found_by_meaning_at_once(self, open_memory):
        """A memory added a moment ago answers a question that shares no word with it."""
        memory = MementoCrewMemory(open_memory(embedder="default"))
        memory.remember("Rami is allergic to nuts")
        assert texts(memory.recall("which food makes him ill?")) == ["Rami is allergic to nuts"]

    def test_what_could_not_be_searched_is_logged(self, open_memory, caplog):
        """An embedder that fails leaves the words to find by, and the log says so."""

        class Failing(HashEmbedder):
            def embed(self, _texts):
                raise RuntimeError("out of memory")

        memory = MementoCrewMemory(open_memory(embedder=Failing(8)))
        memory.remember("tea is green")
        assert texts(memory.recall("tea")) == ["tea is green"]
        assert "part of the long tier could not be searched" in caplog.text

    def test_nothing_bears_on_it(self, memory):
        """The answer is empty, not the least bad."""
        memory.remember("Bo drinks tea")
        assert memory.recall("zebra crossings in Lagos") == []

    def test_equal_content_is_kept_once_and_gains(self, memory):
        """Remembering it again adds its categories and metadata, and the higher importance."""
        first = memory.remember("Bo drinks tea", categories=["a"], importance=0.5)
        again = memory.remember(
            "Bo drinks tea", categories=["b"], metadata={"n": 1}, importance=0.8
        )
        assert again.id == first.id
        assert (again.categories, again.metadata, again.importance) == (["a", "b"], {"n": 1}, 0.8)
        assert len(memory.list_records()) == 1

    def test_a_long_text_is_kept_in_pieces(self, memory, manager):
        """Longer than a memory may be: nothing is refused, nothing is lost, each piece is found."""
        lines = [f"Invoice {n} of the harbour was paid in cash." for n in range(3_000)]
        text = "\n".join(lines)
        assert len(text) > manager.store.config.limits.text_chars
        memory.remember(text, scope="/bo", categories=["money"])
        records = memory.list_records(scope="/bo", limit=100)
        assert "".join(sorted((one.content for one in records), key=text.index)) == text
        assert all(one.categories == ["money"] for one in records)
        assert lines[2_900] in memory.recall("invoice 2900", limit=1)[0].record.content

    def test_a_long_text_is_changed_whole(self, memory, manager):
        """New content replaces all its pieces; another scope moves all of them."""
        text = "\n".join(f"Invoice {n} of the harbour was paid in cash." for n in range(1_700))
        assert len(text) > manager.store.config.limits.text_chars
        one = memory.remember(text, scope="/bo")
        memory.update(one.id, scope="/crew/sales/archive")
        assert memory.list_records(scope="/bo") == []
        assert len(memory.list_records(scope="/archive", limit=100)) > 1
        memory.update(one.id, content="Invoices are paid in cash.")
        assert [left.content for left in memory.list_records(limit=100)] == [
            "Invoices are paid in cash."
        ]

    def test_a_long_text_is_forgotten_whole(self, memory, manager):
        """By the id that ``remember`` returned, or that of any piece; no other text goes."""
        text = "\n".join(f"Invoice {n} of the harbour was paid in cash." for n in range(1_700))
        assert len(text) > manager.store.config.limits.text_chars
        for source in ("bo", "al", None):
            memory.remember(text, source=source, private=source is not None)
        memory.remember("Bo drinks tea", source="bo")
        listed = memory.list_records(limit=100)
        first, *others = (one for one in listed if one.private and one.source == "bo")
        assert others
        assert "crewai_piece" not in first.metadata
        memory.update(first.id, metadata={"n": 1})
        assert memory.forget(record_ids=[others[0].id]) == 1 + len(others)
        left = memory.list_records(limit=100)
        assert not any(one.private and one.source == "bo" for one in left)
        assert {(one.private, one.source) for one in left} == {
            (True, "al"),
            (False, None),
            (False, "bo"),
        }

    def test_update_stays_under_the_root(self, memory, manager):
        """Another root's record is none of this memory's, however alike the paths begin."""
        theirs = MementoCrewMemory(manager, "/crew/salesmen").remember("Bo drinks tea")
        with pytest.raises(NotFound):
            memory.update(theirs.id, content="Bo drinks gin")
        above = MementoCrewMemory(manager).remember("Bo drinks milk")
        with pytest.raises(NotFound):
            memory.update(above.id, content="Bo drinks gin")
        assert {one.text for one in manager.list()} == {"Bo drinks tea", "Bo drinks milk"}
        ours = memory.remember("Bo eats rice", scope="/bo")
        assert memory.update(ours.id, content="Bo eats bread").content == "Bo eats bread"

    def test_a_read_only_memory_forgets_nothing(self, memory, manager):
        """Forget and reset say so; nothing is hidden."""
        kept = memory.remember("Bo drinks tea")
        frozen = MementoCrewMemory(manager, "/crew/sales", read_only=True)
        for change in (
            lambda: frozen.forget(record_ids=[kept.id]),
            frozen.forget,
            frozen.reset,
            frozen.reset_all,
            lambda: frozen.scope("/").forget(),
        ):
            with pytest.raises(ReadOnlyStore, match="this memory is read-only"):
                change()
        assert [one.text for one in manager.list()] == ["Bo drinks tea"]

    def test_update(self, memory, manager):
        """Text, scope, labels and weight change; the earlier text stays in the history."""
        record = memory.remember("Bo drinks tea", source="bo", private=True)
        changed = memory.update(
            record.id, "Bo drinks coffee", "/x", ["taste"], {"n": 1}, importance=0.7
        )
        assert (changed.content, changed.scope, changed.categories, changed.metadata) == (
            "Bo drinks coffee",
            "/x",
            ["taste"],
            {"n": 1},
        )
        assert changed.private
        assert changed.source == "bo"
        assert manager.changes.history(record.id)[0].text == "Bo drinks tea"

    def test_forget_by_every_condition(self, memory, clock):
        """By scope, category, age, metadata and id, together or apart; counted; restorable."""
        old = memory.remember("one", scope="/a", categories=["x"])
        clock.advance(timedelta(days=2))
        memory.remember("two", scope="/a", metadata={"k": [1]})
        memory.remember("three", scope="/ab", categories=["y"])
        assert memory.forget(scope="/b") == 0
        assert memory.forget(older_than=datetime(2025, 1, 2), categories=["x", "y"]) == 1  # noqa: DTZ001
        assert memory.forget(metadata_filter={"k": [1]}, scope="/a") == 1
        assert memory.forget(record_ids=[], scope="/ab") == 0
        last = memory.list_records()[0]
        assert memory.forget(record_ids=[last.id, old.id, "unknown"]) == 1
        assert memory.list_records() == []
        assert memory.manager.restore(old.id).text == "one"
        assert memory.list_records()[0].id == old.id


class TestScopes:
    """Paths are walls, in both directions."""

    def test_segment_wise(self, whole):
        """``/a`` holds ``/a/b``, not ``/ab`` and not what lies above."""
        for text, path in (
            ("green tea", "/"),
            ("tea", "/a"),
            ("tea house", "/a/b"),
            ("no tea", "/ab"),
        ):
            whole.remember(text, scope=path)
        assert sorted(texts(whole.recall("tea", scope="/a"))) == ["tea", "tea house"]
        assert len(whole.recall("tea", scope="/")) == len(whole.recall("tea")) == 4

    def test_what_lies_above_does_not_crowd_out(self, whole):
        """However much fits better outside the scope, what is in it is found."""
        whole.remember_many([f"green tea number {n}" for n in range(60)])
        whole.remember("tea", scope="/a")
        assert texts(whole.recall("green tea number", scope="/a", limit=1)) == ["tea"]

    def test_a_near_identical_memory_elsewhere_hides_nothing(self, whole):
        """Hits fold near-identical texts; the one in the scope stands for itself."""
        whole.remember("Bo drinks green tea every morning", scope="/b")
        whole.remember("Bo drinks green tea every morning.", scope="/a")
        for path in ("/a", "/b"):
            assert len(whole.recall("who drinks green tea", scope=path)) == 1

    def test_root_is_a_wall(self, manager, memory, whole):
        """Two crews in one store do not see each other; the whole sees both."""
        other = MementoCrewMemory(manager, "/crew/legal")
        memory.remember("tea for sales")
        other.remember("tea for legal")
        assert texts(memory.recall("tea")) == ["tea for sales"]
        assert len(whole.recall("tea")) == 2
        other.reset()
        assert texts(whole.recall("tea")) == ["tea for sales"]

    def test_listing(self, memory):
        """Children, counts, categories and the tree, relative to the root."""
        memory.remember("one", scope="/a/b", categories=["x"])
        memory.remember("two", scope="/a", categories=["x", "y"])
        assert memory.list_scopes() == ["/crew/sales/a"]
        assert memory.list_scopes("/a") == ["/crew/sales/a/b"]
        assert memory.list_categories() == {"x": 2, "y": 1}
        assert memory.info("/a").record_count == 2
        assert memory.info().categories == ["x", "y"]
        assert memory.tree() == (
            "/crew/sales (2 records)\n  /crew/sales/a (2 records)\n    /crew/sales/a/b (1 records)"
        )

    def test_views(self, memory):
        """CrewAI's own scope and slice work over it."""
        bo, ada = memory.scope("/bo"), memory.scope("/ada")
        bo.remember("Bo drinks tea")
        ada.remember_many(["Ada drinks tea", "Ada drinks milk"])
        assert texts(bo.recall("tea")) == ["Bo drinks tea"]
        both = memory.slice(["/bo", "/ada"])
        assert set(texts(both.recall("drinks tea", limit=2))) == {"Bo drinks tea", "Ada drinks tea"}
        assert both.info("/").record_count == 3
        assert both.remember("no", scope="/bo") is None
        ada.reset()
        assert [one.content for one in memory.list_records()] == ["Bo drinks tea"]
        assert bo.subscope("work").remember("Bo works").scope == "/crew/sales/bo/work"

    def test_reset_all_ignores_the_root_and_keeps_to_the_namespace(self, manager, memory, whole):
        """It clears what this manager sees, and nothing of another namespace."""
        whole.remember("outside")
        memory.remember("inside")
        manager.of("other").add("elsewhere")
        memory.reset_all()
        assert manager.list() == []
        assert [one.text for one in manager.of("other").list()] == ["elsewhere"]

    def test_what_others_stored_is_seen(self, manager, whole):
        """Memories added through the manager are recalled like its own."""
        manager.add("Bo drinks tea", scope="team", tags=["taste"], session="chat-1")
        (match,) = whole.recall("tea", scope="/team", categories=["taste"])
        assert (match.record.scope, match.record.source) == ("/team", "chat-1")


class TestFilters:
    """Categories and privacy."""

    def test_any_category(self, whole):
        """One of several is enough, as CrewAI means it."""
        for name in ("x", "y", "z"):
            whole.remember(f"tea {name}", categories=[name])
        assert sorted(texts(whole.recall("tea", categories=["x", "z"]))) == ["tea x", "tea z"]
        assert texts(whole.recall("tea", categories=["y"])) == ["tea y"]

    def test_private(self, whole):
        """Only its source reads it, or who asks for all; not who gives no source."""
        whole.remember("tea for bo", source="bo", private=True)
        whole.remember("tea for nobody", private=True)
        whole.remember("tea for all", source="bo")
        assert texts(whole.recall("tea")) == ["tea for all"]
        assert sorted(texts(whole.recall("tea", source="bo"))) == ["tea for all", "tea for bo"]
        assert texts(whole.recall("tea", source="ada")) == ["tea for all"]
        assert len(whole.recall("tea", include_private=True)) == 3
        with pytest.raises(InvalidInput, match="source"):
            whole.recall("tea", source=True)  # the mark of a memory without an owner

    def test_private_words_of_two_sources_are_two_memories(self, whole):
        """Equal private content does not fold across sources, nor hide what is said openly."""
        for source in ("bo", "ada"):
            whole.remember("the code is 7", source=source, private=True)
        assert len(whole.recall("code", source="bo")) == 1
        assert len(whole.recall("code", source="ada")) == 1
        whole.remember("the code is 7")
        assert len(whole.recall("code")) == 1

    @pytest.mark.parametrize("source", ["bo", None])
    @pytest.mark.parametrize("first", [True, False])
    def test_private_and_open_words_of_one_source_are_two_memories(self, whole, source, first):
        """Said openly too, neither what is private nor what came with it becomes visible."""
        for private in (first, not first):
            record = whole.remember(
                "the code is 7",
                source=source,
                private=private,
                metadata={"safe": "cellar"} if private else {"page": 1},
                categories=["secret" if private else "open"],
            )
            assert record.private is private
        assert len(whole.list_records()) == 2
        (seen,) = whole.recall("code")
        assert (seen.record.private, seen.record.metadata, seen.record.categories) == (
            False,
            {"page": 1},
            ["open"],
        )
        assert len(whole.recall("code", include_private=True)) == 2
        (own,) = whole.recall("code", categories=["secret"], include_private=True)
        assert (own.record.private, own.record.metadata) == (True, {"safe": "cellar"})

    def test_equal_words_of_two_sources_or_scopes_are_kept_apart(self, whole):
        """Each stays where it was said, under who said it."""
        for source, path in (("bo", "/a"), ("ada", "/a"), ("bo", "/b"), (None, "/a")):
            whole.remember("the code is 7", scope=path, source=source)
        kept = {(one.source, one.scope) for one in whole.list_records()}
        assert kept == {("bo", "/a"), ("ada", "/a"), ("bo", "/b"), (None, "/a")}

    def test_private_mark_is_not_shown(self, whole, manager):
        """It is neither in a record's metadata nor in a prompt."""
        record = whole.remember("tea", source="bo", private=True, metadata={"page": 1})
        assert record.metadata == {"page": 1}
        (match,) = whole.recall("tea", source="bo")
        assert (
            match.format()
            == f'- (score={match.score:.2f}, 2025-01-01) "tea"\n  metadata: {{"page": 1}}'
        )
        assert len(manager.get(record.id).metadata) == 2


class TestReadOnly:
    """A memory that only recalls."""

    def test_recalls_and_changes_nothing(self, manager, memory):
        """Saving gives nothing back, updating the record as it is; the tool to save is gone."""
        record = memory.remember("Bo drinks tea")
        frozen = MementoCrewMemory(manager, "/crew/sales", read_only=True)
        assert texts(frozen.recall("tea")) == ["Bo drinks tea"]
        assert frozen.remember("more") is None
        assert frozen.remember_many(["more"]) == []
        assert frozen.update(record.id, "Bo drinks milk") == record
        assert len(create_memory_tools(frozen)) == 1
        assert len(manager.list()) == 1


class TestCopies:
    """Copies share the store; files cannot hold it."""

    def test_deepcopy_is_itself(self, memory):
        """A store is shared, not copied."""
        assert copy.deepcopy(memory) is memory
        assert copy.deepcopy({"m": [memory]})["m"][0] is memory

    def test_dumps(self, memory):
        """Dictionary and JSON hold settings, no store and no secret; text cannot revive a store."""
        dumped = memory.model_dump()
        assert dumped["root_scope"] == "/crew/sales"
        assert not {"manager", "storage", "llm"} & dumped.keys()
        assert "manager" not in memory.model_dump_json()
        with pytest.raises(
            ValueError, match="assign a MementoCrewMemory to the restored crew or agent"
        ):
            Memory(storage=str(memory.storage))

    def test_no_option_that_nobody_reads(self, manager):
        """CrewAI's weights and models mean nothing here, so they are refused."""
        with pytest.raises(TypeError):
            MementoCrewMemory(manager, llm="gpt")

    def test_memories_over_other_storages_are_left_alone(self, manager, tmp_path):
        """Only a memory over ours raises what CrewAI swallows; its class says so."""
        assert type(Memory(storage=str(tmp_path / "lance"))) is Memory
        ours = Memory(storage=MementoStorage(manager))
        assert type(ours) is StrictMemory
        assert ours._storage.manager is manager


@pytest.fixture
def heard():
    """Collects memory events."""
    found = []
    with crewai_event_bus.scoped_handlers():
        for name in ("Query", "Save"):
            for stage in ("Started", "Completed", "Failed"):
                crewai_event_bus.on(getattr(events, f"Memory{name}{stage}Event"))(
                    lambda _source, event: found.append(event)
                )

        def all_of():
            crewai_event_bus.flush()
            return sorted(found, key=lambda event: event.emission_sequence)

        yield all_of


class TestEvents:
    """Listeners on CrewAI's bus hear each event."""

    def test_save_and_query(self, memory, heard):
        """Each is announced and completed, with what listeners show."""
        memory.remember("Bo drinks tea", metadata={"n": 1}, agent_role="Scout")
        memory.remember_many(["Ada drinks milk", "Cy drinks water"])
        memory.recall("tea", limit=1)
        found = heard()
        assert [event.type for event in found] == [
            "memory_save_started",
            "memory_save_completed",
            "memory_save_started",
            "memory_save_completed",
            "memory_query_started",
            "memory_query_completed",
        ]
        assert (found[1].value, found[1].agent_role) == ("Bo drinks tea", "Scout")
        assert found[3].value == "2 memories"
        assert texts(found[5].results) == ["Bo drinks tea"]
        assert found[5].query_time_ms > 0
        assert {event.source_type for event in found} == {"memento"}

    def test_failures(self, memory, manager, heard):
        """A closed store is told to the bus and raised as what it is."""
        manager.close()
        with pytest.raises(StoreClosed):
            memory.remember("tea")
        with pytest.raises(StoreClosed):
            memory.recall("tea")
        found = heard()
        assert [event.type for event in found if "failed" in event.type] == [
            "memory_save_failed",
            "memory_query_failed",
        ]
        assert "closed" in found[-1].error


class TestErrors:
    """Typed, and past CrewAI's own except clauses."""

    def test_an_outage_stops_no_crew(self, make_crew, memory, manager, failing, heard, caplog):
        """It goes on without memory, and nothing it made is lost; the bus knows, and the log."""
        crew = make_crew(memory)
        failing(manager, "recall", "add_many")
        assert crew.kickoff().raw
        assert ("memento.crewai", 40, "CrewAI's memory failed: StorageFailed") in (
            caplog.record_tuples
        )
        assert {"memory_query_failed", "memory_save_failed"} <= {one.type for one in heard()}

    @pytest.mark.parametrize("verb", ["recall", "add_many"])
    def test_an_outage_stops_a_strict_crew(self, make_crew, manager, failing, verb):
        """Whether it reads or writes."""
        crew = make_crew(MementoCrewMemory(manager, strict=True))
        failing(manager, verb)
        with pytest.raises(StorageFailed):
            crew.kickoff()

    def test_values(self, memory, manager):
        """A bad value is named, and nothing is stored."""
        for wrong, error in (
            ({"content": " "}, InvalidInput),
            ({"content": "x", "scope": "/a/../b"}, InvalidScope),
            ({"content": "x", "importance": 2}, InvalidInput),
        ):
            with pytest.raises(error):
                memory.remember(**wrong)
        with pytest.raises(InvalidInput, match="k: "):
            memory.recall("x", limit=0)
        with pytest.raises(InvalidInput, match="must be a MemoryManager"):
            MementoCrewMemory("folder")
        with pytest.raises(InvalidScope):
            MementoCrewMemory(manager, "/a/./b")
        with pytest.raises(NotFound):
            memory.update("unknown", "x")
        assert manager.list() == []

    def test_one_bad_text_stores_none(self, memory, manager):
        """A batch is all or nothing."""
        with pytest.raises(InvalidInput):
            memory.remember_many(["good", ""])
        assert manager.list() == []


def test_async(memory):
    """The async methods do the same, off the loop's thread."""

    async def story():
        loop_thread = threading.get_ident()
        used = []
        add = memory.manager.add_many
        memory.manager.add_many = lambda drafts: used.append(threading.get_ident()) or add(drafts)
        await memory.aremember("Bo drinks tea", scope="/a")
        await memory.aremember_many(["Ada drinks milk"], agent_role="Scout")
        assert loop_thread not in used
        assert await memory.aextract_memories("Result: yes it is done") == [
            "Result: yes it is done"
        ]
        return await memory.arecall("who drinks tea", scope="/a", limit=1)

    assert texts(asyncio.run(story())) == ["Bo drinks tea"]


def test_eight_threads(memory, manager):
    """Saves and recalls from eight threads at once: all arrive, none fails."""
    failures = []

    def work(number):
        try:
            for turn in range(10):
                memory.remember_many(
                    [f"worker {number} made part {turn}", f"{number} rests {turn}"]
                )
                assert memory.recall(f"worker {number} part {turn}", limit=3)
        except Exception as error:  # noqa: BLE001 - carried to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(manager.list(limit=1000)) == 160


def test_closing_the_memory_leaves_the_store_open(memory, manager):
    """The manager is its owner's to close."""
    memory.remember("tea")
    memory.drain_writes()
    memory.close()
    assert not manager.store.closed
    assert texts(memory.recall("tea")) == ["tea"]


def test_what_three_agents_say_takes_one_place(memory):
    """Equal texts by any speakers are one match, and its day is in the prompt."""
    for role in ("Researcher", "Writer", "Editor"):
        memory.remember("The client is called Acme.", agent_role=role)
    memory.remember("The client pays in euros.")
    found = memory.recall("What is the client called?", limit=2)
    assert texts(found) == ["The client is called Acme.", "The client pays in euros."]
    assert "2025-01-01" in found[0].format()


LONG = "A senior researcher who reads filings, annual reports and interviews\n" * 20
"""A text that a framework takes as a name, of 1,400 characters."""


@pytest.mark.parametrize("name", [LONG, LONG.replace(" ", ""), "nul \0 " * 90, "調査員" * 200])
def test_any_text_names_a_scope_a_source_a_category_and_a_role(memory, name):
    """A long one is kept under a short form, and found by the name that was given."""
    facts = {"scope": f"/agent/{name.strip()}", "categories": [name], "source": name}
    kept = memory.remember("Bo drinks tea", **facts, agent_role=name, private=True)
    other = memory.remember("Bo drinks rum", **{**facts, "scope": f"/agent/{name}other"})
    found = memory.recall("Bo drinks", scope=facts["scope"], categories=[name], source=name)
    assert texts(found) == ["Bo drinks tea"]
    assert len(memory.recall("Bo drinks", scope="/agent", source=name)) == 2
    assert texts(memory.recall("Bo drinks", scope="/agent", source="another")) == ["Bo drinks rum"]
    memory.update(kept.id, content="Bo drinks water")
    assert texts(memory.recall("Bo drinks water", scope=facts["scope"], source=name))
    assert other.scope != kept.scope


@pytest.mark.parametrize("role", ["a\0b", "a\nb", "\u202eabc", "a\ud800b"])
def test_any_text_is_a_role_and_a_scope(memory, role):
    """CrewAI makes scopes of roles; what cannot be stored or printed is spelt another way."""
    said = memory.remember("The client is ACME", agent_role=role, scope=f"/agent/{role}")
    assert [one.record.id for one in memory.recall("ACME", scope=f"/agent/{role}")] == [said.id]

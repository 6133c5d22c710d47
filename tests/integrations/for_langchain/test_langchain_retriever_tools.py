"""The retriever and the tools beyond the official suites."""

from __future__ import annotations

import asyncio
import copy
import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest

pytest.importorskip("langchain", reason="pip install 'agent-memento[langchain]'")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from pydantic import ValidationError

from memento import Config, Trust
from memento.errors import InvalidInput, StoreClosed
from memento_langchain import MementoRetriever, memory_tools


@pytest.fixture
def tools(manager):
    """Give the tools by name."""
    return {tool.name: tool for tool in memory_tools(manager)}


def records(block):
    """Read the records of a block."""
    return [json.loads(line) for line in block.splitlines() if line.startswith("{")]


class TestRetriever:
    """Memories as documents."""

    def test_documents_carry_id_metadata_and_what_memento_knows(self, manager):
        """Your metadata stays yours; ours is under one name."""
        kept = manager.add("Ada likes tea", "long", metadata={"page": 3}, tags=["drinks"])
        (found,) = MementoRetriever(manager=manager).invoke("tea")
        assert (found.id, found.page_content, found.metadata["page"]) == (kept.id, kept.text, 3)
        assert found.metadata["memento"]["tags"] == ["drinks"]
        assert 0 < found.metadata["memento"]["score"] <= 1
        json.dumps(found.metadata)

    def test_filters_of_the_retriever_and_of_the_call(self, manager):
        """Both are arguments of ``retrieve``; the call's win."""
        manager.add("tea at home", scope="home")
        manager.add("tea at work", scope="work")
        retriever = MementoRetriever(manager=manager, filters={"scope": "home"})
        assert [d.page_content for d in retriever.invoke("tea")] == ["tea at home"]
        assert [d.page_content for d in retriever.invoke("tea", scope="work")] == ["tea at work"]
        with pytest.raises(InvalidInput, match=r"^filters: unknown: scoop; must be among"):
            retriever.invoke("tea", scoop="work")

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"zzz": 1}, "unknown: zzz;"),
            ({"k": 3}, "unknown: k;"),
            ({"query": "tea"}, "unknown: query;"),
            ({"kind": "zzz"}, "'zzz' is not one of"),
            ({"scope": 7}, "scope"),
            ({"since": "monday"}, "since: must be"),
            ({"min_score": 2}, "min_score: must be"),
            ({"wait": "long"}, "wait: must be"),
            ({"record": "no"}, "record: must be"),
            ({"include_superseded": 1}, "include_superseded"),
        ],
    )
    def test_wrong_filters_are_told_when_it_is_made(self, manager, wrong, told):
        """Not at the first question, when the chain is long in use."""
        with pytest.raises(ValidationError, match=told):
            MementoRetriever(manager=manager, filters=wrong)

    def test_every_argument_of_retrieve_will_do(self, manager):
        """The filters take all that ``retrieve`` takes."""
        manager.add("tea is green", scope="home", tags=["drinks"])
        every = {
            "kind": "fact",
            "scope": "home",
            "within": "",
            "tag": "drinks",
            "min_score": 0.0,
            "wait": 1,
            "record": False,
            "match": "text",
            "tokens": 100,
            "since": datetime(2000, 1, 1, tzinfo=UTC),
            "include_superseded": True,
        }
        (found,) = MementoRetriever(manager=manager, filters=every).invoke("tea")
        assert found.page_content == "tea is green"

    def test_as_many_as_are_asked_for(self, manager):
        """Three hundred are three hundred."""
        manager.add_many(f"tea number {n} is green" for n in range(400))
        assert len(MementoRetriever(manager=manager, k=300).invoke("green tea")) == 300
        assert len(MementoRetriever(manager=manager).invoke("green tea", k=350)) == 350

    def test_copies_share_the_manager(self, manager):
        """A copy, deep or not, also inside of what holds it, looks in the same place."""
        manager.add("tea is green")
        retriever = MementoRetriever(manager=manager, k=3)
        chain = {"retriever": retriever, "steps": [retriever | len]}
        for twin in (
            copy.copy(retriever),
            copy.deepcopy(retriever),
            retriever.model_copy(deep=True),
        ):
            assert (twin.manager, twin.k, twin is retriever) == (manager, 3, False)
        assert copy.deepcopy(chain)["steps"][0].invoke("tea") == 1

    def test_what_could_not_be_asked_is_logged(self, manager, monkeypatch, caplog):
        """A chain that only sees documents must not pass over it in silence."""
        manager.add("Ada likes tea", "long")
        manager.flush(wait=True)

        def broken(_texts):
            raise RuntimeError("no model today")

        monkeypatch.setattr(manager._engine._spec, "embed", broken)
        assert MementoRetriever(manager=manager).invoke("tea")
        assert "recalled without the long tier" in caplog.text

    def test_errors_have_their_type(self, manager):
        """A wrong k and a closed store raise, sync and async; a wrong field is refused."""
        retriever = MementoRetriever(manager=manager)
        for k in (0, "8", 10_001):
            with pytest.raises(InvalidInput, match=r"^k: must be"):
                retriever.invoke("tea", k=k)
        for wrong in ({"top": 3}, {"k": 0}, {"k": "eight"}, {"manager": "agent_memory"}):
            with pytest.raises(ValidationError, match=next(iter(wrong))):
                MementoRetriever(**{"manager": manager, **wrong})
        manager.close()
        with pytest.raises(StoreClosed):  # ``test_trouble`` shows it of ``invoke``
            asyncio.run(retriever.ainvoke("tea"))


class TestTools:
    """The model can remember and search by itself."""

    def test_remember_recall_correct_forget(self, tools, manager):
        """The life of a memory in the hands of a model."""
        said = tools["remember"].invoke({"text": "Ada lives in Oslo", "importance": 0.9})
        (record,) = records(tools["recall"].invoke({"query": "Where does Ada live?"}))
        assert record["text"] == "Ada lives in Oslo"
        assert record["id"] in said
        tools["correct"].invoke({"memory_id": record["id"], "text": "Ada lives in Bergen"})
        (record,) = records(tools["recall"].invoke({"query": "Where does Ada live?"}))
        assert record["text"] == "Ada lives in Bergen"
        assert manager.changes.history(record["id"])[0].text == "Ada lives in Oslo"
        tools["forget"].invoke({"memory_id": record["id"]})
        assert "Nothing is remembered" in tools["recall"].invoke({"query": "Where does Ada live?"})

    def test_what_the_model_corrects_is_the_models(self, open_memory, tmp_path):
        """The user's words stay; the model's are beside them, or wait where it is not trusted."""
        for number, config in enumerate((Config(), Config(untrusted=("agent",)))):
            memory = open_memory(tmp_path / str(number), config=config)
            kept = memory.add("Ada lives in Oslo")
            correct = {tool.name: tool for tool in memory_tools(memory)}["correct"]
            answer = correct.invoke({"memory_id": kept.id, "text": "Ada lives in Bergen"})
            assert "until the user settles" in answer
            assert memory.get(kept.id) == kept
            (other,) = memory.list(source="agent", status=["active", "quarantined"])
            assert other.text == "Ada lives in Bergen"
            assert other.status == ("quarantined" if number else "active")
            assert len(memory.slots.conflicts()) == 1 - number
            forget = {tool.name: tool for tool in memory_tools(memory)}["forget"]
            assert "cannot change or hide" in forget.invoke({"memory_id": kept.id})

    def test_a_rating_is_the_agents_and_never_confirms(self, tools, manager):
        """It lowers what is believed, half as much as the user's word; praise raises nothing."""
        for name in ("mine", "yours", "praised"):
            manager.add(f"Ada lives in Oslo, says {name}", id=name)
        tools["rate"].invoke({"memory_id": "mine", "verdict": "wrong", "note": "It was Bergen."})
        manager.feedback.rate("yours", verdict="wrong")
        tools["rate"].invoke({"memory_id": "praised", "verdict": "used"})
        mine, yours, praised = map(manager.feedback.belief, ("mine", "yours", "praised"))
        assert yours.mean < mine.mean < mine.prior == praised.mean
        assert [(one.source, one.note) for one in mine.evidence] == [
            (Trust.AGENT, "It was Bergen.")
        ]
        with pytest.raises(ValidationError):
            tools["rate"].invoke({"memory_id": "mine", "verdict": "confirmed"})

    def test_search_by_kind_and_day(self, tools, manager, clock):
        """With or without a query, inside the days given."""
        manager.add("Ship on Fridays", kind="decision")
        manager.add("Ada likes tea")
        today = clock().date().isoformat()
        found = records(tools["search"].invoke({"kind": "decision", "since": today}))
        assert [record["text"] for record in found] == ["Ship on Fridays"]
        assert not records(tools["search"].invoke({"query": "tea", "until": today}))
        assert records(tools["search"].invoke({"query": "tea", "until": "2025-01-02T00:00+01:00"}))

    def test_a_day_is_that_of_the_managers_time_zone(self, open_memory):
        """As the user means it, and as the block shows it."""
        memory = open_memory(config=Config(timezone="Asia/Tokyo"))
        memory.add("Ada likes tea", occurred_at=datetime(2025, 3, 13, 16, tzinfo=UTC))
        search = {tool.name: tool for tool in memory_tools(memory)}["search"]
        [found] = records(search.invoke({"since": "2025-03-14", "until": "2025-03-15"}))
        assert found["when"] == "2025-03-14"
        assert not records(search.invoke({"since": "2025-03-15"}))
        assert not records(search.invoke({"until": "2025-03-14"}))

    @pytest.mark.parametrize(
        ("name", "args", "told"),
        [
            ("forget", {"memory_id": "nope"}, "no memory 'nope'"),
            ("correct", {"memory_id": "nope", "text": "x"}, "no memory 'nope'"),
            ("rate", {"memory_id": "nope", "verdict": "wrong"}, "no memory 'nope'"),
            ("remember", {"text": "  "}, "text: is empty"),
            ("recall", {"query": "x", "k": 51}, "k: must be from 1 to 50"),
            (
                "search",
                {"since": "when it rained"},
                "since: 'when it rained' is not a date or time such as",
            ),
        ],
    )
    def test_the_models_mistakes_are_told_to_the_model(self, tools, name, args, told):
        """An error the model can mend comes back as the tool's answer, marked as an error."""
        call = {"name": name, "args": args, "id": "1", "type": "tool_call"}
        answer = tools[name].invoke(call)
        assert isinstance(answer, ToolMessage)
        assert answer.status == "error"
        assert told in answer.content

    @pytest.mark.parametrize("name", ["forget", "correct"])
    def test_a_lock_is_told_to_the_model(self, tools, manager, name):
        """A model that is led to forget what the user locked does not end the run."""
        rule = manager.update(manager.add("Never deploy on a Friday", kind="rule").id, lock="user")
        more = {"text": "Deploy whenever"} if name == "correct" else {}
        call = {"name": name, "args": {"memory_id": rule.id} | more, "id": "1", "type": "tool_call"}
        answer = tools[name].invoke(call)
        assert answer.status == "error"
        assert "locked" in answer.content
        assert manager.get(rule.id) == rule

    def test_copies_share_the_manager(self, tools):
        """Frameworks copy tools; the copies keep and find in the same place."""
        copy.deepcopy(tools["remember"]).invoke({"text": "Ada lives in Oslo"})
        assert "Oslo" in copy.copy(tools["recall"]).invoke({"query": "Ada"})

    def test_the_manager_is_checked(self):
        """A path is no manager."""
        with pytest.raises(InvalidInput, match="must be a MemoryManager, not str"):
            memory_tools("agent_memory")

    def test_trouble_with_the_store_ends_the_run(self, tools, manager, fake_model):
        """A closed store is no message to the model; it raises through the agent."""
        manager.close()
        call = {"name": "recall", "args": {"query": "x"}, "id": "1", "type": "tool_call"}
        agent = create_agent(fake_model(AIMessage("", tool_calls=[call])), list(tools.values()))
        with pytest.raises(StoreClosed):  # ``test_trouble`` shows it of ``invoke``
            asyncio.run(agent.ainvoke({"messages": [("user", "x")]}))

    def test_an_agent_remembers_by_itself(self, tools, fake_model):
        """The tools work inside ``create_agent``."""
        call = {
            "name": "remember",
            "args": {"text": "Ada has a cat"},
            "id": "1",
            "type": "tool_call",
        }
        model = fake_model(AIMessage("", tool_calls=[call]), AIMessage("ok"))
        create_agent(model, list(tools.values())).invoke({"messages": [("user", "I have a cat")]})
        assert records(tools["recall"].invoke({"query": "cat"}))[0]["text"] == "Ada has a cat"

    def test_what_could_not_be_asked_is_named(self, tools, manager, monkeypatch):
        """Found nothing and could not look are different answers."""
        manager.add("Ada likes tea", "long")
        manager.flush(wait=True)

        def broken(_texts):
            raise RuntimeError("no model today")

        monkeypatch.setattr(manager._engine._spec, "embed", broken)
        assert "Could not look everywhere: long." in tools["recall"].invoke({"query": "new words"})


@pytest.mark.parametrize(
    ("name", "absent", "extra"),
    [
        ("MementoRetriever", "langchain_core", "langchain"),
        ("MementoMiddleware", "langchain", "langchain"),
        ("MementoMemory", "langchain_classic", "langchain-classic"),
    ],
)
def test_missing_framework(name, absent, extra):
    """Each name says which extra brings what it needs; the package itself imports anyway."""
    script = (
        f"import sys\nsys.modules[{absent!r}] = None\nimport memento_langchain\n"
        f"try:\n    from memento_langchain import {name}\n"
        "except ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.startswith("MissingExtra")
    assert f"pip install 'agent-memento[{extra}]'" in ran.stdout


def test_a_retriever_looks_where_the_settings_of_the_call_say(open_memory):
    """One retriever serves many users; sync, async and batch."""
    memory = open_memory()
    for user in ("ada", "bob"):
        memory.of(user).add(f"the kettle of {user}")
    made = MementoRetriever(manager=memory, namespace=lambda _, settings: settings["user"])
    for user in ("ada", "bob"):
        config = {"configurable": {"user": user}}
        found = [made.invoke("kettle", config), asyncio.run(made.ainvoke("kettle", config))]
        found += made.batch(["kettle"], config)
        assert [[one.page_content for one in few] for few in found] == [
            [f"the kettle of {user}"]
        ] * 3
    with pytest.raises(ValidationError):
        MementoRetriever(manager=memory, namespace="ada")

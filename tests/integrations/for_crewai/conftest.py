"""A crew with a fake LLM: it writes down what it is asked and answers by the task named in it."""

import threading
import warnings

import pytest

from memento.testing import HashEmbedder

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CrewAI's own, on import
        from crewai import Agent, Crew, Task
        from crewai_fakes import FakeLLM

        from memento_crewai import MementoCrewMemory, install, uninstall
except ImportError as error:  # the tests are skipped by name
    if "crewai" not in str(error):
        raise


@pytest.fixture
def manager(open_memory):
    """One open store with a fake embedder."""
    return open_memory(embedder=HashEmbedder(512))


@pytest.fixture
def frozen(open_memory, freeze):
    """The same store, read-only, with one memory of the crew's."""
    written = open_memory(embedder=HashEmbedder(512))
    written.add("Bo drinks tea", scope="crew/sales")
    written.flush(wait=True)
    written.close()
    freeze(written.store.root)
    opened = open_memory(embedder=HashEmbedder(512))
    assert opened.store.read_only
    return opened


@pytest.fixture
def memory(manager):
    """A crew's memory over it."""
    return MementoCrewMemory(manager, "/crew/sales")


@pytest.fixture
def llm():
    """The first task learns a fact, the second writes an offer."""
    return FakeLLM(model="fake", log=[], lock=threading.Lock())


@pytest.fixture
def make_crew(llm):
    """Make a crew of two agents whose tasks share nothing but memory."""

    def make(memory, *, of_agents=None, **options):
        def agent(role):
            return Agent(role=role, goal="help", backstory="old hand", llm=llm, memory=of_agents)

        scout, writer = agent("Scout"), agent("Writer")
        tasks = [
            Task(
                description="Find out who the client is and the budget",
                expected_output="facts",
                agent=scout,
                context=[],
            ),
            Task(
                description="Write an offer to the client within the budget",
                expected_output="an offer",
                agent=writer,
                context=[],
            ),
        ]
        return Crew(agents=[scout, writer], tasks=tasks, memory=memory, **options)

    return make


@pytest.fixture(params=["subclass", "storage"])
def crew_memory(request, manager):
    """The value of ``Crew(memory=...)``: the subclass, or True with the storage installed."""
    if request.param == "subclass":
        yield MementoCrewMemory(manager, "/crew/sales")
        return
    install(manager)
    yield True
    uninstall()

"""A crew with a fake LLM: it writes down what it is asked and answers by the task named in it."""

import os
import tempfile
import threading
import warnings

os.environ |= {
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_STORAGE_DIR": "memento-tests",
    "HF_HUB_OFFLINE": "1",
    "OTEL_SDK_DISABLED": "true",
    "XDG_DATA_HOME": tempfile.mkdtemp(prefix="memento-crewai-"),
}
os.environ.pop("OPENAI_API_KEY", None)

import pytest

from memento.testing import HashEmbedder

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CrewAI's own, on import
        import crewai
except ImportError:
    crewai = None
    collect_ignore_glob = ["fakes.py"]

FACT = "The client is called Acme and its budget is 40,000 euros."
OFFER = "The offer is ready and signed by nobody yet."


@pytest.fixture
def manager(open_memory):
    """One open store with a fake embedder."""
    return open_memory(embedder=HashEmbedder(512))


@pytest.fixture
def memory(manager):
    """A crew's memory over it."""
    from memento_crewai import MementoCrewMemory

    return MementoCrewMemory(manager, "/crew/sales")


@pytest.fixture
def llm():
    """The first task learns a fact, the second writes an offer."""
    from fakes import FakeLLM

    return FakeLLM(model="fake", log=[], lock=threading.Lock())


@pytest.fixture
def make_crew(llm):
    """Make a crew of two agents whose tasks share nothing but memory."""
    from crewai import Agent, Crew, Task

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
    """What is given as ``Crew(memory=...)``: the subclass, or True with the storage installed."""
    from memento_crewai import MementoCrewMemory, install, uninstall

    if request.param == "subclass":
        yield MementoCrewMemory(manager, "/crew/sales")
        return
    install(manager)
    yield True
    uninstall()

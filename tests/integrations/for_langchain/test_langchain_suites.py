"""LangChain's own test suites, run against the retriever and the tools."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core", reason="pip install 'agent-memento[langchain]'")
pytest.importorskip("langchain_tests", reason="pip install 'agent-memento[test]'")

from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from memento import MemoryManager
from memento.testing import HashEmbedder
from memento_langchain import MementoRetriever, memory_tools

EXAMPLES = {
    "remember": {"text": "Ada likes tea", "kind": "preference", "importance": 0.8},
    "recall": {"query": "tea", "k": 3},
    "search": {"query": "tea", "kind": "fact", "since": "2025-01-01", "until": None, "k": 3},
    "forget": {"memory_id": "m0"},
    "correct": {"memory_id": "m0", "text": "Ada likes coffee now"},
    "rate": {"memory_id": "m0", "verdict": "wrong", "note": "Ada likes coffee."},
}


@pytest.fixture(autouse=True)
def manager(request, tmp_path):
    """Open a store with four memories."""
    with MemoryManager(tmp_path, embedder=HashEmbedder(256)) as opened:
        drinks = ("green tea", "black tea", "mint tea", "tea with milk")
        opened.add_many(
            {"text": f"Ada likes {drink} on day {n}", "id": f"m{n}", "tier": "long"}
            for n, drink in enumerate(drinks)
        )
        request.cls.manager = opened
        yield opened


class TestRetriever(RetrieversIntegrationTests):
    """The official retriever suite."""

    @property
    def retriever_constructor(self):
        """The class under test."""
        return MementoRetriever

    @property
    def retriever_constructor_params(self):
        """The arguments of its constructor."""
        return {"manager": self.manager}

    @property
    def retriever_query_example(self):
        """A query with four answers."""
        return "which tea does Ada like?"


def _suite(base, name):
    """Make the official suite of one tool."""

    class Suite(base):
        @property
        def tool_constructor(self):
            return next(tool for tool in memory_tools(self.manager) if tool.name == name)

        @property
        def tool_invoke_params_example(self):
            return EXAMPLES[name]

    return Suite


TestRememberUnit = _suite(ToolsUnitTests, "remember")
TestRecallUnit = _suite(ToolsUnitTests, "recall")
TestSearchUnit = _suite(ToolsUnitTests, "search")
TestForgetUnit = _suite(ToolsUnitTests, "forget")
TestCorrectUnit = _suite(ToolsUnitTests, "correct")
TestRateUnit = _suite(ToolsUnitTests, "rate")
TestRemember = _suite(ToolsIntegrationTests, "remember")
TestRecall = _suite(ToolsIntegrationTests, "recall")
TestSearch = _suite(ToolsIntegrationTests, "search")
TestForget = _suite(ToolsIntegrationTests, "forget")
TestCorrect = _suite(ToolsIntegrationTests, "correct")
TestRate = _suite(ToolsIntegrationTests, "rate")

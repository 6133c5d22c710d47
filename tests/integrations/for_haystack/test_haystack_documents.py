"""Documents as memories: Haystack's own suite, the retriever, and pipelines that come back."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("haystack", reason="pip install 'agent-memento[haystack]'")

from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    DocumentStoreBaseExtendedTests,
    FilterableDocsFixtureMixin,
)

from memento import MemoryManager
from memento.errors import InvalidInput, StoreClosed
from memento.testing import HashEmbedder
from memento_haystack import MementoDocumentStore, MementoRetriever

TEA = Document(content="Tea comes from Assam", meta={"kind": "drink", "year": 2024})
SOUP = Document(content="Soup comes from a pot", meta={"kind": "food", "year": 2025})


@pytest.fixture
def document_store(open_memory):
    """An empty store."""
    return MementoDocumentStore(open_memory())


@pytest.fixture
def manager(open_memory):
    """A store that finds by meaning."""
    return open_memory(embedder=HashEmbedder(64))


class TestHaystacksOwn(
    DocumentStoreBaseExtendedTests, CountDocumentsByFilterTest, FilterableDocsFixtureMixin
):
    """The suite that Haystack has for document stores, all of it that is about documents."""

    @pytest.fixture
    def document_store(self, open_memory):
        """An empty store."""
        return MementoDocumentStore(open_memory())

    def test_write_documents(self, document_store):
        """Without a policy, an id that is there is refused, as with ``FAIL``."""
        assert document_store.write_documents([TEA]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([TEA])


class TestDocuments:
    """What Haystack's suite does not ask."""

    def test_all_fields_come_back(self, document_store):
        """Embeddings, scores and nested metadata; and a document without a text."""
        whole = Document(
            content="Tea  costs\n3 euros ", meta={"a": {"b": [1, None]}}, embedding=[0.5, 1.0]
        )
        bare = Document(meta={"only": "meta"})
        document_store.write_documents([whole, bare])
        assert document_store.filter_documents() == [whole, bare]

    def test_what_is_not_a_document_stays_out(self, document_store):
        """Other memories are neither shown nor deleted, nor are documents of other scopes."""
        memory = document_store.manager
        fact = memory.add("Ada drinks tea")
        other = MementoDocumentStore(memory, scope="shop")
        other.write_documents([SOUP])
        document_store.write_documents([TEA])
        other.delete_documents([TEA.id])
        assert document_store.count_documents() == 2
        assert other.filter_documents() == [SOUP]
        document_store.delete_all_documents()
        assert [one.id for one in memory.list()] == [fact.id]

    def test_a_deleted_document_can_be_written_again(self, document_store):
        """Its id is free."""
        document_store.write_documents([TEA])
        document_store.delete_documents([TEA.id])
        assert document_store.write_documents([TEA]) == 1

    def test_of_equal_ids_one_is_written(self, document_store):
        """The last, if they may be overwritten; none, if not."""
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([TEA, TEA])
        assert document_store.write_documents([TEA, TEA], DuplicatePolicy.OVERWRITE) == 1

    def test_untrusted_documents_wait_for_approval(self, open_memory):
        """Those from the web are quarantined."""
        store = MementoDocumentStore(open_memory(), source="web")
        store.write_documents([TEA])
        assert store.count_documents() == 0
        store.manager.quarantine.approve(TEA.id)
        assert store.filter_documents() == [TEA]

    def test_characters_that_cannot_be_stored_are_replaced(self, document_store):
        """A NUL from a PDF ends no pipeline."""
        document_store.write_documents([Document(content="a\0b")])
        assert document_store.filter_documents()[0].content == "a\ufffdb"

    def test_trouble_has_its_type(self, document_store):
        """A closed store, and arguments that are none."""
        document_store.manager.close()
        with pytest.raises(StoreClosed):
            document_store.count_documents()
        with pytest.raises(InvalidInput, match="manager"):
            MementoDocumentStore(None)
        with pytest.raises(InvalidInput, match="document_store"):
            MementoRetriever(None)


class TestRetriever:
    """Documents, best first."""

    def test_finds_by_words_and_meaning(self, manager):
        """Only documents, with their metadata and a score."""
        store = MementoDocumentStore(manager)
        store.write_documents([TEA, SOUP])
        manager.add("Tea is drunk by Ada")
        found, *others = MementoRetriever(store).run("tea from Assam")["documents"]
        assert {one.id for one in others} <= {SOUP.id}
        assert (found.content, found.meta, found.id) == (TEA.content, TEA.meta, TEA.id)
        assert 0 < found.score <= 1
        assert asyncio.run(MementoRetriever(store).run_async("tea from Assam"))["documents"]

    def test_filters_come_before_the_limit(self, manager):
        """The best of those that match, however many others fit better."""
        store = MementoDocumentStore(manager)
        many = [Document(content=f"Tea comes from Assam {n}", meta={"year": 1}) for n in range(30)]
        store.write_documents([*many, TEA])
        asked = {"field": "meta.year", "operator": ">", "value": 2000}
        retriever = MementoRetriever(store, top_k=1)
        (found,) = retriever.run("Tea comes from Assam 7", filters=asked)["documents"]
        assert found.id == TEA.id
        nothing = {"field": "meta.year", "operator": ">", "value": 3000}
        assert retriever.run("tea", filters=nothing) == {"documents": []}


def test_a_filter_finds_a_document_with_a_long_id(manager):
    """Its id is kept in a shorter form, and comes back as it was."""
    store = MementoDocumentStore(manager)
    name = "https://example.org/" + "x" * 300
    store.write_documents([Document(id=name, content="Tea comes from Assam", meta={"n": 1})])
    asked = {"field": "meta.n", "operator": "==", "value": 1}
    (found,) = MementoRetriever(store).run("tea", filters=asked)["documents"]
    assert found.id == name


def test_a_pipeline_comes_back_from_its_text(tmp_path):
    """A pipeline that was written down finds the documents in another process."""
    with MemoryManager(tmp_path, embedder=None).of("acme", "ann") as manager:
        store = MementoDocumentStore(manager, scope="shop", source="user")
        writing = Pipeline()
        writing.add_component("writer", DocumentWriter(store))
        writing.run({"writer": {"documents": [TEA, SOUP]}})
        asking = Pipeline()
        asking.add_component("retriever", MementoRetriever(store, top_k=1))
        text = asking.dumps()
    again = Pipeline.loads(text, allowed_modules=["memento_haystack"])
    found = again.run({"retriever": {"query": "tea from Assam"}})["retriever"]["documents"]
    assert [one.id for one in found] == [TEA.id]
    again.get_component("retriever").document_store.manager.close()

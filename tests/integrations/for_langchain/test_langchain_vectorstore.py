"""memento as a vector store and as embeddings: LangChain's own suite, and what it leaves out."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core", reason="pip install 'agent-memento[langchain]'")
pytest.importorskip("langchain_tests", reason="pip install 'agent-memento[test]'")
pytest.importorskip("langgraph", reason="pip install 'agent-memento[langgraph]'")

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests
from langgraph.graph import END, START, StateGraph

from memento import MemoryManager
from memento.errors import InvalidInput
from memento.testing import HashEmbedder
from memento_langchain import MementoEmbeddings, MementoVectorStore

TEAS = ["green tea from Uji", "black tea from Assam", "the printer needs toner"]


class TestVectorStore(VectorStoreIntegrationTests):
    """The official suite."""

    @pytest.fixture
    def vectorstore(self, tmp_path):
        """An empty store."""
        with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as manager:
            yield MementoVectorStore(manager)


class TestEmbeddings(EmbeddingsIntegrationTests):
    """The official suite of embeddings, over the model in the package."""

    @property
    def embeddings_class(self):
        """The class under test."""
        return MementoEmbeddings


class TestEmbeddingsUnit(EmbeddingsUnitTests):
    """The suite of what needs no service."""

    @property
    def embeddings_class(self):
        """The class under test."""
        return MementoEmbeddings

    @property
    def embedding_model_params(self):
        """Its arguments."""
        return {}


@pytest.mark.parametrize("function", [lambda user: user, lambda _, settings: settings["user"]])
def test_one_store_serves_each_user_of_the_run(manager, function):
    """From the context of a run or from its settings; outside of a run nobody is named."""
    store = MementoVectorStore(manager, namespace=function)

    def node(_state, runtime):
        store.add_texts([f"the bike of {runtime.context}"])
        return {"found": [one.page_content for one in store.similarity_search("bike")]}

    graph = StateGraph(dict, context_schema=str).add_node("node", node)
    run = graph.add_edge(START, "node").add_edge("node", END).compile()
    for user in ("ada", "bob"):
        found = run.invoke({}, {"configurable": {"user": user}}, context=user)
        assert found == {"found": [f"the bike of {user}"]}
    assert manager.list() == []
    with pytest.raises((InvalidInput, KeyError)):
        store.add_texts(["x"])


@pytest.fixture
def documents(manager):
    """A vector store with three documents."""
    data = [{"n": number} for number in range(3)]
    return MementoVectorStore.from_texts(TEAS, None, data, ids=["a", "b", "c"], manager=manager)


def test_the_best_are_first_and_the_rest_fills_up(documents):
    """As many as were asked for, each once, with scores in order of what found them."""
    found = documents.similarity_search_with_score("tea from Assam", k=3)
    assert found[0][0].id == "b"
    assert sorted(one.id for one, _ in found) == ["a", "b", "c"]
    assert all(0 <= score <= 1 for _, score in found)
    assert documents.similarity_search_with_relevance_scores("tea", k=1)[0][1] > 0


def test_a_filter_is_on_metadata(documents):
    """Of a search by words and of one by a vector."""
    assert [one.id for one in documents.similarity_search("tea", filter={"n": 2})] == ["c"]
    vector = documents.embeddings.embed_query("tea")
    found = documents.similarity_search_by_vector(vector, filter={"n": [0, 1]})
    assert sorted(one.id for one in found) == ["a", "b"]


def test_as_a_retriever_by_similarity_and_by_difference(documents):
    """The two kinds of search that LangChain's retrievers ask for."""
    assert documents.as_retriever(search_kwargs={"k": 1}).invoke("printer toner")[0].id == "c"
    documents.add_texts(["black tea from Assam!"], ids=["d"])
    retriever = documents.as_retriever(
        search_type="mmr", search_kwargs={"k": 2, "fetch_k": 4, "lambda_mult": 0.1}
    )
    assert {one.id for one in retriever.invoke("black tea from Assam")} != {"b", "d"}


@pytest.mark.parametrize("hide", [False, True])
def test_a_document_takes_no_id_from_elsewhere(manager, hide):
    """Two collections may number their documents alike; neither replaces what is not there."""
    books = MementoVectorStore(manager, scope="books")
    books.add_texts(["Ada wrote a book."], ids=["1"])
    if hide:
        books.delete(["1"])
    with pytest.raises(InvalidInput, match="'1' is a memory at the scope 'books'"):
        MementoVectorStore(manager, scope="films").add_texts(["Bob made a film."], ids=["1"])
    assert (manager.get("1").text, manager.get("1").scope) == ("Ada wrote a book.", "books")
    books.add_texts(["Ada wrote two books."], ids=["1"])
    assert manager.get("1").text == "Ada wrote two books."


def test_a_scope_keeps_documents_apart(manager):
    """Other memories are neither found nor deleted, and no call deletes without ids."""
    manager.add("the user likes tea from Assam", id="mine")
    store = MementoVectorStore(manager, scope="docs")
    store.add_texts(TEAS, ids=["a", "b", "c"])
    assert "mine" not in {one.id for one in store.similarity_search("tea from Assam", k=9)}
    store.delete(["mine", "a"])
    assert manager.get("mine").status == "active"
    assert [one.id for one in store.get_by_ids(["c", "a", "mine", "b"])] == ["c", "b"]
    with pytest.raises(InvalidInput, match="no ids were specified"):
        store.delete()


def test_documents_of_the_web_wait_for_approval(manager):
    """As all that is not trusted."""
    store = MementoVectorStore(manager, source="web")
    store.add_texts(["tea from a page"], ids=["a"])
    assert store.similarity_search("tea") == []
    manager.quarantine.approve("a")
    assert [one.id for one in store.similarity_search("tea")] == ["a"]


def test_what_nothing_reads_is_refused(manager, documents):
    """Instead of being ignored: a wrong argument, another model, no manager."""
    for call in (
        lambda: documents.similarity_search("tea", score_treshold=0.5),
        lambda: documents.add_texts(["x"], namespace="y"),
        lambda: documents.add_texts(["x"], [{}, {}]),
        lambda: MementoVectorStore.from_texts(["x"]),
        lambda: MementoVectorStore.from_texts(
            ["x"], DeterministicFakeEmbedding(size=8), manager=manager
        ),
    ):
        with pytest.raises(InvalidInput):
            call()
    assert len(manager.list()) == 3


def test_embeddings_are_those_of_the_store(manager):
    """Of a manager, and of an embedder by itself; an empty text is a blank."""
    ours, alone = MementoEmbeddings(manager), MementoEmbeddings(HashEmbedder(256))
    assert ours.embed_documents(TEAS) == alone.embed_documents(TEAS)
    assert np.allclose(ours.embed_documents(TEAS), manager.store.embed(TEAS))
    assert ours.embed_query(TEAS[0]) == ours.embed_documents(TEAS)[0]
    assert ours.embed_documents([]) == []
    assert len(ours.embed_query("")) == 256


def test_the_model_in_the_package_is_the_default():
    """Offline: near texts are nearer than others."""
    cat, kitten, tax = np.array(MementoEmbeddings().embed_documents(["cat", "kitten", "tax"]))
    assert cat @ kitten > cat @ tax


def test_no_embedder_is_an_error(open_memory):
    """Said when it is made, not at the first search."""
    for make in (MementoVectorStore, MementoEmbeddings):
        with pytest.raises(InvalidInput, match="embedder: is None"):
            make(open_memory(embedder=None))
    with pytest.raises(InvalidInput):
        MementoEmbeddings(None)


def test_what_was_erased_stays_away_when_its_source_is_loaded_again(manager):
    """Under any id; a document that was deleted, or has another text, is stored as ever."""
    store = MementoVectorStore(manager)

    def load(text="Rami is allergic to nuts.", name="one"):
        store.add_texts([text], [{"source": "file:people.pdf"}], ids=[name])
        return [one.text for one in manager.list(source="file:people.pdf")]

    assert load() == ["Rami is allergic to nuts."]
    store.delete(["one"])
    assert load() == ["Rami is allergic to nuts."]
    manager.store.erase(["one"])
    assert load() == []
    assert load("Rami eats nuts.") == ["Rami eats nuts."]
    assert load(name="two") == ["Rami eats nuts."]


def test_an_address_of_any_length_is_an_id(manager):
    """Two that begin alike stay two; each is found, replaced and deleted by the id given."""
    store = MementoVectorStore(manager)
    one, two = (f"https://example.org/{'a' * 300}{end}" for end in "12")
    store.add_texts(["Tea is green.", "Ink is blue."], ids=[one, two])
    store.add_texts(["Tea is black."], ids=[one])
    assert [doc.page_content for doc in store.get_by_ids([one, two])] == [
        "Tea is black.",
        "Ink is blue.",
    ]
    store.delete([one])
    assert [doc.page_content for doc in store.get_by_ids([one, two])] == ["Ink is blue."]


def test_the_indexing_of_langchain_works(tmp_path):
    """It passes a batch size to every store; the second time nothing is added."""
    record_manager = InMemoryRecordManager("manuals")
    record_manager.create_schema()
    documents = [Document("The printer takes toner 117.", metadata={"source": "a.md"})]
    how = {"cleanup": "incremental", "source_id_key": "source", "key_encoder": "sha256"}
    with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as manager:
        store = MementoVectorStore(manager, scope="manuals")
        for added in (1, 0):
            assert index(documents, record_manager, store, **how)["num_added"] == added

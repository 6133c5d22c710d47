"""The storage under CrewAI's own memory, the embedding function, and ``install``."""

import asyncio
import copy
import logging
from datetime import UTC, datetime, timedelta

import chromadb
import numpy as np
import pytest

pytest.importorskip("crewai", reason="crewai is not installed: pip install 'agent-memento[crewai]'")

from chromadb.config import Settings
from crewai import Crew
from crewai.flow.flow import Flow, start
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory
from crewai.rag.embeddings.factory import build_embedder

from memento import Config
from memento.errors import (
    EmbeddingMismatch,
    InvalidInput,
    NotFound,
    ReadOnlyStore,
    StorageFailed,
    StoreClosed,
    TierUnavailable,
    UntrustedSource,
)
from memento.testing import HashEmbedder
from memento.verbs.store import Store
from memento_crewai import (
    MementoCrewMemory,
    MementoEmbeddingFunction,
    MementoStorage,
    install,
    uninstall,
)

LOG = "memento.crewai", logging.ERROR
DAY = datetime(2025, 3, 1)  # noqa: DTZ001 - CrewAI's times are naive


@pytest.fixture
def storage(manager):
    """A storage over one open store."""
    return MementoStorage(manager)


@pytest.fixture
def embed():
    """Embeds one text as the store does."""
    function = MementoEmbeddingFunction(HashEmbedder(512))
    return lambda text: function([text])[0].tolist()


def record(content, scope="/", **fields):
    """Return a record made on one day."""
    return MemoryRecord(content=content, scope=scope, created_at=DAY, **fields)


def texts(found):
    """Return the contents, in order."""
    return [one.content for one, _ in found]


def test_is_a_storage_backend(storage):
    """It has every method of the protocol, under the protocol's names."""
    assert isinstance(storage, StorageBackend)
    wanted = {name for name in vars(StorageBackend) if not name.startswith("_")}
    assert wanted <= set(dir(storage))


def test_round_trip(storage):
    """A record comes back with all its fields."""
    one = record(
        "Bo drinks tea",
        "/people/bo",
        categories=["taste"],
        metadata={"n": [1, {"a": None}]},
        importance=0.25,
        source="bo",
        private=True,
    )
    storage.save([one])
    back = storage.get_record(one.id)
    assert back.model_dump(exclude={"last_accessed"}) == one.model_dump(exclude={"last_accessed"})
    assert storage.get_record("unknown") is None


def test_search_by_vector(storage, embed):
    """Nearest first, cosines in [0, 1], found right after saving."""
    storage.save([record("Bo drinks tea"), record("Ada drinks milk"), record("zebra crossing")])
    found = storage.search(embed("Bo drinks tea"), limit=2)
    assert texts(found) == ["Bo drinks tea", "Ada drinks milk"]
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    assert 0.3 < found[1][1] < 0.9
    assert texts(storage.search(embed("Bo drinks tea"), min_score=0.9)) == ["Bo drinks tea"]
    assert storage.search(embed("Bo"), min_score=0.99) == []


def test_search_filters_before_the_limit(storage, embed):
    """Better ones outside the filter take no place."""
    storage.save([record(f"tea {n}") for n in range(50)])
    storage.save([record("tea is nice", "/a", categories=["x"], metadata={"n": 1})])
    for filters in (
        {"scope_prefix": "/a"},
        {"categories": ["x", "other"]},
        {"metadata_filter": {"n": 1}},
    ):
        assert texts(storage.search(embed("tea"), limit=1, **filters)) == ["tea is nice"]
    assert storage.search(embed("tea"), scope_prefix="/ab") == []


def test_empty_store(storage, embed):
    """Nothing stored, nothing found, nothing counted."""
    assert storage.search(embed("tea")) == []
    assert storage.count() == storage.delete() == 0
    assert storage.get_scope_info("/").model_dump() == {
        "path": "/",
        "record_count": 0,
        "categories": [],
        "oldest_record": None,
        "newest_record": None,
        "child_scopes": [],
    }


def test_listing(storage):
    """Newest first by the record's own time; scopes, categories and counts below a path."""
    for days, path in ((1, "/a/b"), (3, "/a"), (2, "/ab")):
        one = record(f"{days}", path, categories=[path[1:]])
        storage.save([one.model_copy(update={"created_at": DAY + timedelta(days=days)})])
    assert [one.content for one in storage.list_records()] == ["3", "2", "1"]
    assert [one.content for one in storage.list_records(limit=1, offset=1)] == ["2"]
    assert [one.content for one in storage.list_records("/a")] == ["3", "1"]
    assert storage.list_scopes() == ["/a", "/ab"]
    assert storage.list_scopes("/a/") == ["/a/b"]
    assert storage.list_categories("/a") == {"a": 1, "a/b": 1}
    assert storage.count("a") == 2
    info = storage.get_scope_info("/a")
    assert (info.oldest_record, info.newest_record) == (
        DAY + timedelta(days=1),
        DAY + timedelta(days=3),
    )
    assert info.child_scopes == ["/a/b"]


def test_delete_and_reset(storage):
    """Every condition given must hold; deleted ones are hidden, and may be stored again."""
    one, two = record("one", "/a", metadata={"k": True}), record("two", "/b")
    storage.save([one, two])
    assert storage.delete(older_than=DAY) == 0
    assert (
        storage.delete(older_than=(DAY + timedelta(days=1)).replace(tzinfo=UTC), scope_prefix="/b")
        == 1
    )
    assert storage.delete(record_ids=[one.id], metadata_filter={"k": False}) == 0
    storage.reset("/a")
    assert storage.count() == 0
    storage.save([one])
    assert storage.get_record(one.id).content == "one"


def test_update(storage, embed):
    """A record takes the place of its earlier self; source and privacy are not CrewAI's to drop."""
    one = record("Bo drinks tea", source="bo", private=True)
    storage.save([one])
    storage.update(record("Bo drinks milk", "/x", id=one.id, categories=["y"], importance=0.9))
    back = storage.get_record(one.id)
    assert (back.content, back.scope, back.categories) == ("Bo drinks milk", "/x", ["y"])
    assert (back.source, back.private, back.created_at) == ("bo", True, DAY)
    assert texts(storage.search(embed("Bo drinks milk"), min_score=0.99)) == ["Bo drinks milk"]
    with pytest.raises(NotFound):
        storage.update(record("x"))


def test_what_a_crew_changes_is_the_crews(open_memory):
    """Trusted like an agent; who does not trust agents is not changed, whichever way it comes."""
    memory = open_memory(config=Config(untrusted=("agent",)))
    kept = memory.add("Bo drinks tea")
    changed = record("Bo drinks rum", id=kept.id)
    for change in (
        lambda: MementoStorage(memory).update(changed),
        lambda: MementoStorage(memory).save([changed]),
        lambda: MementoCrewMemory(memory).update(kept.id, "Bo drinks rum"),
    ):
        with pytest.raises(UntrustedSource):
            change()
    assert memory.get(kept.id) == kept


def test_saving_twice(storage):
    """The same record again is harmless; another under its id takes its place."""
    one = record("one")
    storage.save([one])
    storage.save([one])
    assert len(storage.manager.changes.history(one.id)) == storage.count() == 1
    storage.save([one.model_copy(update={"content": "other"})])
    assert [kept.content for kept in storage.list_records()] == ["other"]
    assert [version.text for version in storage.manager.changes.history(one.id)] == ["one", "other"]


def test_what_was_deleted_and_saved_as_private_is_private(storage):
    """A record saved again is what it is now, not what it was."""
    one = record("the code is 7")
    storage.save([one])
    storage.delete(record_ids=[one.id])
    storage.save([one.model_copy(update={"private": True, "source": "bo"})])
    assert (storage.get_record(one.id).private, storage.get_record(one.id).source) == (True, "bo")


def test_equal_words_of_other_records_stay_apart(storage):
    """Private or open, of whatever source and scope: each record keeps its own place."""
    ones = [
        record("the code is 7", path, source=source, private=private)
        for path in ("/a", "/b")
        for source in ("bo", None)
        for private in (True, False)
    ]
    storage.save(ones)
    assert [storage.get_record(one.id).private for one in ones] == [one.private for one in ones]
    assert storage.count() == len(ones)


def test_async(storage, embed):
    """The async methods do the same."""

    async def story():
        await storage.asave([record("tea")])
        found = await storage.asearch(embed("tea"))
        return texts(found), await storage.adelete(), storage.count()

    assert asyncio.run(story()) == (["tea"], 1, 0)


def test_errors(storage, manager, open_memory, tmp_path, embed):
    """A vector of another model, a store without one, a closed store: each by its name."""
    storage.save([record("tea")])
    with pytest.raises(EmbeddingMismatch, match="3072 dimensions"):
        storage.search([0.0] * 3072)
    blind = MementoStorage(open_memory(tmp_path / "blind"))
    with pytest.raises(TierUnavailable):
        blind.search([0.0])
    with pytest.raises(InvalidInput, match="cannot embed texts"):
        install(blind.manager)
    with pytest.raises(InvalidInput, match="MemoryManager"):
        MementoStorage("folder")
    asked = embed("x")
    manager.close()  # ``test_trouble`` shows the other calls
    with pytest.raises(StoreClosed):
        storage.search(asked)


def test_what_cannot_be_embedded_is_not_nothing_found(manager, storage, embed, monkeypatch):
    """A model that fails for every text is an error of the search, not an empty answer."""

    def fail(_texts):
        raise RuntimeError("out of memory")

    asked = embed("tea")
    monkeypatch.setattr(manager._engine.embedding.loaded(), "embed", fail)
    storage.save([record("milk")])
    with pytest.raises(TierUnavailable):
        storage.search(asked)


@pytest.mark.parametrize("query", ["tea", "coffee"])
def test_one_refused_text_hides_no_other(manager, storage, embed, monkeypatch, caplog, query):
    """Records with a vector are found if they are near enough; the log names what is missing."""
    storage.save([record("tea")])
    assert manager.flush(wait=True)
    asked, model = embed(query), manager._engine.embedding.loaded()
    real = model.embed

    def pick(texts):
        if any("milk" in text for text in texts):
            raise RuntimeError("too white")
        return real(texts)

    monkeypatch.setattr(model, "embed", pick)
    storage.save([record("milk")])
    with caplog.at_level(logging.WARNING):
        found = storage.search(asked, min_score=0.9)
    assert texts(found) == (["tea"] if query == "tea" else [])
    assert "could not be searched" in caplog.text


def test_copies_share_the_store(storage):
    """CrewAI copies what its memory holds; a store cannot be copied."""
    function = MementoEmbeddingFunction(HashEmbedder(8))
    assert copy.deepcopy(storage) is storage
    assert copy.deepcopy(function) is function


class TestInstall:
    """One line under ``memory=True``."""

    @pytest.fixture(autouse=True)
    def installed(self, manager):
        """Installed for each test, undone afterwards."""
        install(manager)
        yield
        uninstall()

    def test_serves_who_named_nothing(self, manager, make_crew, tmp_path):
        """A default memory uses it; a named storage or embedder stays."""
        crew = make_crew(True)
        assert isinstance(crew, Crew)
        assert crew._memory._storage.manager is manager
        assert crew._memory._embedder(["tea"])[0].shape == (512,)
        own = Memory(storage=str(tmp_path / "lance"), embedder=lambda texts: [[1.0] for _ in texts])
        assert not isinstance(own._storage, MementoStorage)
        assert own._embedder(["x"]) == [[1.0]]

    def test_a_closed_store_is_refused(self, manager, make_crew):
        """Where it is installed, and where a memory is made of it."""
        manager.close()
        with pytest.raises(StoreClosed):
            install(manager)
        with pytest.raises(StoreClosed):
            make_crew(True)

    def test_can_be_undone(self, monkeypatch, tmp_path):
        """After ``uninstall`` CrewAI's defaults are back."""
        monkeypatch.chdir(tmp_path)
        uninstall()
        memory = Memory()
        assert not isinstance(memory._storage, MementoStorage)
        with pytest.raises(RuntimeError, match="OPENAI_API_KEY"):
            memory._embedder  # noqa: B018 - the property fails


@pytest.fixture
def door(request):
    """Makes a crew's memory over a store: CrewAI's own, installed or given by hand, or ours."""

    def make(store, llm, **options):
        if request.param == "installed":
            install(store, **options)
            return True
        if request.param == "subclass":
            return MementoCrewMemory(store, "/crew/sales", **options)
        return Memory(
            llm=llm,
            storage=MementoStorage(store, **options),
            embedder=MementoEmbeddingFunction(store),
        )

    yield make
    uninstall()


by_storage = pytest.mark.parametrize("door", ["installed", "given"], indirect=True)
by_any = pytest.mark.parametrize("door", ["installed", "given", "subclass"], indirect=True)


class TestTrouble:
    """A crew's memory over a store that fails: the typed error, never a silent no memory."""

    @by_any
    def test_closed_before_the_start(self, door, manager, make_crew, llm):
        """The crew stops at its first recall, though CrewAI's flow would go on."""
        crew = make_crew(door(manager, llm))
        manager.close()
        with pytest.raises(StoreClosed) as caught:
            crew.kickoff()
        assert caught.value.path == manager.store.root
        with pytest.raises(StoreClosed):
            asyncio.run(crew.akickoff())

    @by_any
    def test_cannot_be_written(self, door, frozen, make_crew, llm):
        """The memories of the first task are lost, so the second does not begin."""
        crew = make_crew(door(frozen, llm))
        with pytest.raises(ReadOnlyStore):
            crew.kickoff()
        assert not llm.tasks("Write an offer")

    @by_any
    def test_a_flow_that_cannot_remember(self, door, frozen, llm):
        """A flow's end waits for its saves, and so says what became of them."""
        given = door(frozen, llm)
        memory = Memory(llm=llm) if given is True else given

        class Story(Flow):
            @start()
            def learn(self):
                self.remember(["The launch is on 3 May", "The venue is the Old Mill"])

        with pytest.raises(ReadOnlyStore):
            Story(memory=memory).kickoff()

    @by_any
    def test_the_last_save_fails(self, door, manager, make_crew, llm, monkeypatch):
        """No recall follows it; the end of a strict crew says so."""
        crew = make_crew(door(manager, llm, strict=True))
        add = manager.add_many

        def failing(drafts, **options):
            if any("offer" in draft.text for draft in drafts):
                raise StorageFailed(manager.store.root, "the disk reported an error")
            return add(drafts, **options)

        monkeypatch.setattr(manager, "add_many", failing)
        with pytest.raises(StorageFailed):
            crew.kickoff()
        assert llm.tasks("Write an offer")

    @by_storage
    def test_the_search_fails(self, door, manager, make_crew, llm, failing):
        """If strict, a search that CrewAI's flow logs and passes over is an error of the recall."""
        crew = make_crew(door(manager, llm, strict=True))
        failing(Store, "nearest")
        for depth in ("shallow", "deep"):
            with pytest.raises(StorageFailed):
                crew._memory.recall("tea", depth=depth)
        with pytest.raises(StorageFailed):
            crew.kickoff()

    @by_storage
    def test_an_outage_stops_no_crew(self, door, manager, make_crew, llm, failing, caplog):
        """It goes on without memory; the log knows."""
        crew = make_crew(door(manager, llm))
        failing(manager, "add_many")
        failing(Store, "nearest")
        assert crew.kickoff().raw
        logged = [text for name, level, text in caplog.record_tuples if (name, level) == LOG]
        assert logged
        assert all("the disk reported an error" in text for text in logged)

    @by_storage
    def test_what_an_llm_made_up_stops_no_crew(self, door, manager, make_crew, llm):
        """A scope that cannot be one is no trouble of the store."""
        memory = make_crew(door(manager, llm))._memory
        with pytest.raises(InvalidInput):
            memory.recall("tea", scope="/a/../b", depth="shallow")
        assert memory.recall("tea", scope="/a/../b") == []
        assert memory.recall("tea") == []


def test_a_flow_whose_memory_is_closed_says_so(manager, llm):
    """Its calls of the memory fail with the type."""
    memory = Memory(
        llm=llm, storage=MementoStorage(manager), embedder=MementoEmbeddingFunction(manager)
    )

    class Story(Flow):
        @start()
        def tell(self):
            return self.recall("tea")

    manager.close()
    with pytest.raises(StoreClosed):
        Story(memory=memory).kickoff()


def test_what_is_private_is_consolidated_with_its_own_alone(manager, llm):
    """CrewAI has its LLM rewrite or delete what is alike: never of another source or privacy."""
    memory = Memory(
        llm=llm, storage=MementoStorage(manager), embedder=MementoEmbeddingFunction(manager)
    )
    fields = {"scope": "/", "categories": [], "importance": 0.5}
    said = [("bo", True), ("ada", True), ("bo", False), (None, True), (None, False)]
    for number, (source, private) in enumerate(said):
        text = f"the code of the safe in the cellar is {number}"
        memory.remember(text, source=source, private=private, **fields)
    assert "content: the code" not in "\n".join(llm.log)
    assert memory.storage.count() == len(said)
    memory.remember("the code of the safe in the cellar is 9", source="bo", private=True, **fields)
    assert "content: the code of the safe in the cellar is 0" in llm.log[-1]
    assert "cellar is 1" not in llm.log[-1]


def test_what_is_private_takes_no_place_of_what_is_open(manager, llm):
    """CrewAI drops others' private records after its limit; here they are not even found."""
    memory = Memory(
        llm=llm, storage=MementoStorage(manager), embedder=MementoEmbeddingFunction(manager)
    )
    storage = memory.storage
    storage.save([record(f"tea {n}", source="bo", private=True) for n in range(30)])
    storage.save([record("tea is nice and green and hot and good")])
    for depth in ("shallow", "deep"):
        (match,) = memory.recall("tea", limit=1, depth=depth)
        assert match.record.content == "tea is nice and green and hot and good"
        (own,) = memory.recall("tea 7", limit=1, depth=depth, source="bo")
        assert own.record.content == "tea 7"


class TestEmbeddingFunction:
    """The local model in both libraries."""

    def test_default_is_the_local_model(self):
        """384 dimensions, unit length, near what means the same; no key, no download."""
        tea, chai, bike = MementoEmbeddingFunction()(["a cup of tea", "some chai", "my bicycle"])
        assert tea.shape == (384,)
        assert tea.dtype == np.float32
        assert np.linalg.norm(tea) == pytest.approx(1, abs=1e-3)
        assert tea @ chai > tea @ bike

    def test_crewai_accepts_it(self):
        """As the callable of the custom provider, by class."""
        built = build_embedder(
            {"provider": "custom", "config": {"embedding_callable": MementoEmbeddingFunction}}
        )
        assert isinstance(built, MementoEmbeddingFunction)
        assert len(built(["tea"])) == 1
        assert len(built.embed_query(["tea"])[0]) == 384

    def test_chroma_accepts_it_and_finds_it_again(self, tmp_path):
        """A collection made with it is opened in another client, without naming it."""

        def client():
            return chromadb.PersistentClient(
                str(tmp_path), settings=Settings(anonymized_telemetry=False)
            )

        function = MementoEmbeddingFunction()
        made = client().create_collection("notes", embedding_function=function)
        made.add(ids=["1", "2"], documents=["a cup of tea", "my bicycle"])
        again = client().get_collection("notes", embedding_function=MementoEmbeddingFunction())
        assert again.query(query_texts=["a hot drink"], n_results=1)["ids"] == [["1"]]
        rebuilt = MementoEmbeddingFunction.build_from_config(function.get_config())
        assert isinstance(rebuilt, MementoEmbeddingFunction)
        assert "cosine" in function.supported_spaces()

    def test_refuses(self):
        """None, nonsense and empty texts."""
        for wrong in (None, "nonsense", 3):
            with pytest.raises(InvalidInput):
                MementoEmbeddingFunction(wrong)
        with pytest.raises(InvalidInput):
            MementoEmbeddingFunction(HashEmbedder(8))([""])
        with pytest.raises(InvalidInput):
            MementoEmbeddingFunction(HashEmbedder(8)).get_config()


def test_any_text_is_an_id_or_a_category(storage):
    """A long id has a short form that every method knows; an empty category is none."""
    name = "https://example.org/" + "a" * 300
    storage.save([record("tea", id=name, categories=["", "drinks", "x" * 300])])
    storage.save([record("coffee", id=f"{name}b")])
    assert storage.get_record(name).content == "tea"
    assert "drinks" in storage.get_record(name).categories
    with pytest.raises(InvalidInput):
        storage.delete(categories=[""])
    assert storage.delete(record_ids=[name]) == 1
    assert storage.get_record(name) is None
    assert storage.get_record(f"{name}b").content == "coffee"


def test_a_long_record_is_stored_in_pieces_beside_the_others(storage):
    """Nothing of the batch is lost; saved again, deleted or replaced, it is so as a whole."""
    long = "\n".join(f"Invoice {n} of the harbour was paid in cash." for n in range(1_700))
    storage.save([record(long, id="long"), record("Zebras are striped", id="short")])
    kept = [one.content for one in storage.list_records(limit=100)]
    assert "Zebras are striped" in kept
    assert "".join(sorted({*kept} - {"Zebras are striped"}, key=long.index)) == long
    storage.save([record("Invoice 900 was paid late.", id="long 2")])
    assert len(storage.list_records(limit=100)) == len(kept)
    storage.save([record("Invoices are paid in cash.", id="long")])
    storage.delete(record_ids=["long 2"])
    assert {one.content for one in storage.list_records(limit=100)} == {
        "Zebras are striped", "Invoices are paid in cash.",
    }  # fmt: skip
    storage.save([record(long, id="long")])
    assert storage.delete(record_ids=["long"]) > 1
    assert [one.content for one in storage.list_records(limit=100)] == ["Zebras are striped"]

"""A manager on a PostgreSQL server: the machine of ``test_manager_machine``, and its surface."""

from __future__ import annotations

import postgres
import pytest
import test_manager_machine
from hypothesis import settings

from memento import MemoryManager
from memento.errors import InvalidInput, StoreUnusable
from memento.ledger.opening import open_ledger


@pytest.fixture
def memory(address):
    """A manager of it, by words alone."""
    with MemoryManager(address, embedder=None) as made:
        postgres.run(address, postgres.WATCH)
        yield made


class OnServer(test_manager_machine.Manager):
    """The same steps, seeds and model on a server."""

    def place(self):
        """Return the address of an empty store, which sees to it that each job names its places."""
        address = postgres.server().address("machine")
        open_ledger(address).close()
        postgres.run(address, postgres.WATCH)
        return address

    def teardown(self):
        """Leave it empty for the next example."""
        super().teardown()
        postgres.wipe(self.root)


class TestMachine(OnServer.TestCase):
    """The stateful test; SQLite's has the same model."""

    settings = settings(test_manager_machine.TestManager.settings, max_examples=3)

    @pytest.fixture(autouse=True)
    def _derived(self, tmp_path, monkeypatch):
        if reason := postgres.missing():
            pytest.skip(reason)
        monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path))


def test_it_survives_its_manager(address):
    """What was added is there for the next manager, whose derived files are gone."""
    with MemoryManager(address, embedder=None) as memory:
        kept = memory.add("Bob moved to Berlin", key="home")
    with MemoryManager(address, embedder=None) as memory:
        assert memory.get(kept.id) == kept
        assert memory.retrieve("where did Bob move?")[0].id == kept.id


def test_two_managers_see_each_other(memory, address, tmp_path, monkeypatch):
    """As two machines would, each with derived files of its own."""
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "other"))
    with MemoryManager(f"{address}&application_name=other", embedder=None) as other:
        one = memory.add("the kettle is descaled in May")
        assert other.retrieve("kettle")[0].id == one.id
        other.forget(one.id)
        assert not memory.retrieve("kettle")


def test_erased_is_gone(memory):
    """From every answer and every table."""
    one = memory.add("the safe opens with a verse")
    memory.flush()
    memory.store.erase(one.id)
    assert not memory.retrieve("verse")
    assert all(finding.ok for finding in memory.store.doctor())


def test_memories_move_to_a_folder_and_back(memory, tmp_path):
    """What a server exports a folder imports, and what that exports is the same to the byte."""
    for number in range(5):
        memory.add(f"note {number} of the trip", tags=["trip"], metadata={"n": number})
    memory.forget(memory.list()[0].id)
    memory.store.export(tmp_path / "out")
    with MemoryManager(tmp_path / "store", embedder=None) as other:
        other.store.import_from(tmp_path / "out", trust="user")
        other.store.export(tmp_path / "back")
    ours, theirs = ((tmp_path / name).read_text().splitlines()[1:-1] for name in ("out", "back"))
    assert [line for line in ours if '"memory"' in line]
    assert ours == theirs


def test_a_backup_names_the_servers_own_tool(memory, tmp_path):
    """No file is made that nobody could restore."""
    with pytest.raises(InvalidInput, match="pg_dump"):
        memory.store.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit"])
def test_a_server_that_may_lose_what_it_acknowledged_is_refused(setting, monkeypatch, tmp_path):
    """It is said which setting, and nothing is made."""
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path))
    server = postgres.server()
    if setting == "synchronous_commit":
        address = f"{server.address('unsafe')}&options=-c%20synchronous_commit%3Doff"
        with pytest.raises(StoreUnusable, match=setting):
            MemoryManager(address, embedder=None)
    else:
        monkeypatch.setattr(psycopg.Connection, "execute", _says_off(psycopg.Connection.execute))
        with pytest.raises(StoreUnusable, match=setting):
            MemoryManager(server.address("unsafe"), embedder=None)
    assert not list(tmp_path.iterdir())


def _says_off(execute):
    def said(self, statement, *rest, **options):
        return execute(
            self, "SELECT 'off'" if statement == "SHOW fsync" else statement, *rest, **options
        )

    return said

"""Which databases are used, by which addresses, and what of an address is shown."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import postgres
import pytest

from memento import MemoryManager
from memento.agents.table import Program
from memento.cli import hook, main
from memento.errors import InvalidInput, StoreBusy, StoreUnusable

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The server of the test run; derived files go to a folder of the test."""
    if reason := postgres.missing():
        pytest.skip(reason)
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return postgres.server()


@pytest.fixture
def database(server):
    """Make databases that are dropped afterwards."""
    made = []

    def make(name, options=""):
        with psycopg.connect(server.address().split("&")[0], autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0 {options}')
        made.append(name)
        return server.address("memento", name)

    yield make
    with psycopg.connect(server.address().split("&")[0], autocommit=True) as connection:
        for name in made:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_text_is_refused(database, encoding):
    """With another encoding, texts would be damaged or refused after the first ones."""
    address = database(f"in_{encoding}", f"ENCODING '{encoding}' LOCALE 'C'")
    with pytest.raises(StoreUnusable, match=f"encoding {encoding}; memento needs a database in U"):
        MemoryManager(address, embedder=None)


def test_a_dump_of_the_schema_alone_is_refused(server, database):
    """It lacks the casts, without which nothing is embedded or erased."""
    address = database("whole")
    with MemoryManager(address, embedder=None) as memory:
        memory.add("the heron waits")
    dump = [server.bin / "pg_dump", "-h", server.folder, "-U", "memento", "whole"]
    part = subprocess.run([*dump, "-n", "memento*"], check=True, capture_output=True).stdout
    copy = database("part")
    restore = [server.bin / "psql", "-qX", "-h", server.folder, "-U", "memento", "part"]
    subprocess.run(restore, input=part, check=True, capture_output=True)
    with pytest.raises(StoreUnusable, match="dump of one schema leaves out: dump the database"):
        MemoryManager(copy, embedder=None)


def test_a_schema_in_capitals(server):
    """Its name is kept as it is, also beside one in small letters."""
    small, capital = server.address("team"), server.address("Team")
    with (
        MemoryManager(small, embedder=None) as one,
        MemoryManager(capital, embedder=None) as other,
    ):
        one.add_many([f"the heron {n}" for n in range(500)])
        other.add("the heron waits", id="abcdefgh")
        assert other._engine.ledger.size() < one._engine.ledger.size()
    postgres.fenced(small)
    with MemoryManager(f"{capital}&role=reader", embedder=None) as other:
        assert [hit.text for hit in other.retrieve("heron")] == ["the heron waits"]


def test_no_store_takes_the_second_schema_of_another(server):
    """Both have one for a view."""
    with pytest.raises(InvalidInput, match="ends in _present"):
        MemoryManager(server.address("team_present"), embedder=None)


def test_lost_connections_fail_one_call(server):
    """All those of the pool went with the server; the next call has a new one."""
    with MemoryManager(server.address("lost"), embedder=None) as memory:
        memory.add("the heron waits")
        start = Barrier(6)

        def read(_):
            return memory._engine.ledger.read(lambda _: start.wait(10))

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(read, range(6)))
        ends = (
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        with psycopg.connect(server.address().split("&")[0], autocommit=True) as connection:
            (ended,) = connection.execute(ends).fetchone()
        assert ended > 1
        failed = 0
        for _ in range(12):
            try:
                memory.list()
            except StoreBusy:
                failed += 1
        assert failed <= 1


def test_a_part_of_an_id(server):
    """The first or the last characters, as in a folder."""
    with MemoryManager(server.address("parts"), embedder=None) as memory:
        memory.add("a note", id="abcdefgh")
        memory.add("another", id="abc")
        for part in ("abcdef", "cdefgh", "abcdefgh"):
            assert memory.store.full_id(part) == "abcdefgh"


def test_an_address_without_a_host_and_with_options(server):
    """The socket's folder is an option, and so are settings with spaces."""
    address = (
        f"postgresql:///postgres?host={server.folder}&user=memento&schema=plain"
        "&options=-c%20statement_timeout%3D60s"
    )
    with MemoryManager(address, embedder=None) as memory:
        memory.add("the heron waits")
        assert [hit.text for hit in memory.retrieve("heron")] == ["the heron waits"]


def test_no_message_shows_a_password(server, capsys):
    """Nor does a command that a message names, which reaches the same store."""
    address = server.address("shown").replace("memento@", "memento:secret@")
    assert main(["add", "the heron waits", "--root", address, "--embedder", "none"]) == 0
    assert main(["stats", "--root", address, "--embedder", "none"]) == 0
    assert main(["undo", "--yes", "--root", address, "--embedder", "none"]) == 3
    told = "".join(capsys.readouterr())
    assert "secret" not in told
    assert f"{server.address('shown')}" in told


def test_agents_use_the_database(server, tmp_path, capsys, monkeypatch):
    """A hook opens it, no folder is made of its address, and no password is written down."""
    address = server.address("agents")
    with MemoryManager(address, embedder=None):
        pass
    monkeypatch.setenv("MEMENTO_EMBEDDER", "none")
    hook._here(address, {
        "namespace": "default", "embedder": "none", "agent": "claude-code",
        "event": "SessionStart", "given": {"cwd": str(tmp_path), "session_id": "s"},
    })  # fmt: skip
    assert Program.here(address).root == ("--root", address)
    spelt = address.replace("/", "%2F").replace(
        "postgresql:%2F%2Fmemento@%2F", "postgresql://memento@/"
    )
    assert Program.here(spelt).root == ("--root", spelt)
    with pytest.raises(InvalidInput, match="contains a password"):
        Program.here(address.replace("memento@", "memento:secret@"))
    assert main(["mcp", "--add-token", "desk", "--root", address]) == 2
    assert "needs a folder" in capsys.readouterr().err
    assert main(["open", "--no-browser", "--root", address]) == 2
    assert {one.name for one in tmp_path.iterdir()} <= {"cache"}
    assert json.dumps(Program.here(address).server)

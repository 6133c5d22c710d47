"""Behind PgBouncer in transaction mode, where each transaction may be of another connection."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import postgres
import pytest

from memento import MemoryManager
from memento.retrieve import vector_search
from memento.testing import HashEmbedder

psycopg = pytest.importorskip("psycopg")

PROGRAM = os.environ.get("TEST_PGBOUNCER") or shutil.which("pgbouncer", path="/usr/sbin:/usr/bin")
SETTINGS = """
[databases]
* = host={server}
[pgbouncer]
unix_socket_dir = {folder}
listen_addr =
listen_port = 6432
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 1
logfile = {folder}/bouncer.log
"""


@pytest.fixture
def pooled(tmp_path, monkeypatch):
    """Return how to reach a schema of the server through a pooler with one connection."""
    if PROGRAM is None:
        pytest.skip("no PgBouncer: apt install pgbouncer, or name it in TEST_PGBOUNCER")
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    server = postgres.server()
    folder = server.folder / "pooler"
    folder.mkdir(mode=0o777)
    (folder / "users").write_text('"memento" ""\n')
    (folder / "settings").write_text(SETTINGS.format(server=server.folder, folder=folder))
    if server._user:
        shutil.chown(folder, postgres.USER)
    bouncer = subprocess.Popen([PROGRAM, "-q", folder / "settings"], cwd="/", **server._user)
    while not (folder / ".s.PGSQL.6432").exists():
        assert bouncer.poll() is None
        time.sleep(0.01)
    yield lambda schema: server.address(schema).replace(
        f"host={server.folder}", f"host={folder}&port=6432"
    )
    bouncer.terminate()
    bouncer.wait()
    shutil.rmtree(folder)


def use(memory, name, count):
    """Add, ask, change and erase as one of several tenants; returns what is left."""
    view = memory.of(name)
    for n in range(count):
        view.add(f"the heron {n} of {name}", "medium", key=f"{n % 3}")
        found = view.retrieve("heron", 50, record=n % 2 == 0)
        assert {hit.text.rpartition(" ")[2] for hit in found} == {name}
        view.add(f"and {n}", "short")
        assert len(view.sessions.recent()) == n + 1
    view.update(view.list(tier="medium")[0].id, text=f"the last heron of {name}")
    assert view.store.erase(view.list(tier="medium")[1].id).complete
    view.flush(wait=True, timeout=60)
    return sorted(one.text for one in view.list(tier="medium"))


def test_stores_share_the_connections_of_a_pooler(pooled, monkeypatch):
    """Two stores and many threads on one connection: none waits for two, each finds its own."""
    names = [f"tenant{n}" for n in range(6)]
    monkeypatch.setattr(vector_search, "TAIL", 3)  # the files of vectors are written, too
    postgres.fenced(postgres.server().address())
    with (
        MemoryManager(pooled("first"), embedder=HashEmbedder(32)) as first,
        MemoryManager(f"{pooled('second')}&role=reader", embedder=HashEmbedder(32)) as second,
        ThreadPoolExecutor(12) as threads,
    ):
        running = [
            threads.submit(use, memory, name, 9) for name in names for memory in (first, second)
        ]
        left = [one.result() for one in running]
        assert left[::2] == left[1::2]
        assert [len(one) for one in left] == [2] * len(left)
        assert first.sleep.run().done
        assert list((first.store.root / "derived").glob("*.vectors"))


def test_claims_and_locks_end_with_their_transaction(pooled):
    """A claim is not left on a connection that the pooler hands on, nor are prepared queries."""
    with (
        MemoryManager(pooled("first"), embedder=None) as one,
        MemoryManager(f"{pooled('first')}&application_name=other", embedder=None) as other,
    ):
        with one._engine.ledger.claimed("ab") as mine, other._engine.ledger.claimed("bc") as rest:
            assert (mine, rest) == (["a", "b"], ["c"])
        for _ in range(20):
            one.add("a note")
            assert len(other.list()) == 1
    query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    with psycopg.connect(postgres.server().address().split("&")[0]) as connection:
        assert connection.execute(query).fetchone() == (0,)

"""A client of a service is used as the manager is: the same methods, values and errors."""

import asyncio
import inspect
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from memento import AsyncRemoteMemory, MemoryManager, RemoteMemory, Turn, connect
from memento.errors import (
    ArchiveDamaged,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotHere,
    TargetExists,
    Unanswered,
    UntrustedSource,
)
from memento.remote.client import _link
from memento.remote.routes import HERE, ROUTES, parts
from memento.resident import tokens
from memento.serve.app import Settings
from tests.served import served


@pytest.fixture
def remote(memory):
    """The memory through a service at a Unix socket: the owner's."""
    with served(memory) as (url, _), connect(url) as found:
        yield found


@pytest.fixture
def by_token(memory):
    """Return a function that makes a client with a token of some rights."""
    made = []
    with served(memory, Settings(), "127.0.0.1:0") as (url, _):

        def make(name="app", namespace="acme", to=None, **rights):
            token = tokens.add(memory.store.root, name, namespace=namespace, **rights)
            made.append(connect(url, token=token, namespace=to))
            return made[-1]

        yield make
        for one in made:
            one.close()


def public(kind):
    """Return the public methods of a class by name."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: one for name, one in found if not name.startswith("_")}


def test_every_method_is_in_the_table_or_says_why_not():
    """A method that is added to the manager or a part is served, or named with a reason."""
    named = {
        f"{part}.{name}".lstrip(".") for part, kind in parts().items() for name in public(kind)
    }
    assert named == ROUTES.keys() | HERE.keys()
    assert not ROUTES.keys() & HERE.keys()


@pytest.mark.parametrize("part", parts())
def test_the_signatures_are_the_managers(remote, part):
    """Of each part, every method of the client has the signature of its namesake."""
    kind = type(getattr(remote, part)) if part else RemoteMemory
    for name, method in public(parts()[part]).items():
        ours = inspect.signature(getattr(kind, name))
        if name not in ("of", "close"):
            assert ours == inspect.signature(method), name
    assert isinstance(remote, MemoryManager)


def test_what_one_stores_the_other_finds(remote, memory):
    """Values come back as the same types, equal field by field."""
    kept = remote.add("Rami lives in Porto", "long", tags=["home"], metadata={"a": [1, None]})
    assert kept == memory.get(kept.id)
    hit = remote.retrieve("Where does Rami live?")[0]
    assert hit.memory == kept
    assert hit.explain() == memory.retrieve("Where does Rami live?", record=False)[0].explain()
    assert remote.keep([Turn("Hello there", id="1")], session="s") == memory.list(session="s")
    assert remote.store.stats() == memory.store.stats()
    assert remote.of("other").list() == []
    assert remote.store.namespace == memory.store.namespace
    assert remote.store.config.zone == memory.store.config.zone
    assert remote.insight.snapshot(kept.created_at).list() == memory.list(
        known_at=kept.created_at, limit=100
    )


def test_errors_are_the_same(remote):
    """An error of the manager comes back with its class, its words and its facts."""
    with pytest.raises(NotFound, match="no memory 'x' in this namespace") as missing:
        remote.get("x")
    assert missing.value.memory_id == "x"
    with pytest.raises(InvalidInput, match="kind") as wrong:
        remote.add("x", kind="nonsense")
    assert wrong.value.field == "kind"
    with pytest.raises(TypeError, match="did you mean 'scope'"):
        remote.retrieve("x", scoop="a")
    with pytest.raises(NotHere, match="progress"):
        remote.add_many(["x"], progress=print)
    with pytest.raises(NotHere, match="sync_vault"):
        remote.store.sync_vault("x")


def test_sessions_and_turns_work_as_context_managers(remote, memory):
    """What returns an object with methods returns one here, whose methods reach the service."""
    with remote.sessions.start("s1", goal="ship") as work:
        work.checkpoint(done=["tests"])
    assert memory.sessions.info("s1").state == "ended"
    with pytest.raises(RuntimeError), remote.sessions.start("s2"):
        raise RuntimeError
    assert memory.sessions.info("s2").state == "interrupted"
    kept = remote.add("Deploys go through the blue pipeline", "long")
    with remote.feedback.loop(session="s1") as turn:
        assert turn.retrieve("how do deploys go?")[0].id == kept.id
        turn.outcome(0.8)
    assert turn.closed
    assert memory.feedback.strength(kept.id).worth > 0


def test_files_are_those_of_the_client(remote, memory, tmp_path):
    """A backup, an export, an import and a document pass as bodies; no path is the service's."""
    remote.add("tea", "long")
    assert remote.store.backup(tmp_path / "b.db").path == tmp_path / "b.db"
    with pytest.raises(TargetExists):
        remote.store.backup(tmp_path / "b.db")
    remote.store.export(text := io.StringIO())
    with MemoryManager(tmp_path / "other", embedder=None) as other:
        assert other.store.import_from(io.StringIO(text.getvalue()), trust="user").memories == 1
    assert remote.store.import_from(io.BytesIO(text.getvalue().encode())).known == 1
    with pytest.raises(ArchiveDamaged):
        remote.store.import_from(io.StringIO("nonsense"))
    (tmp_path / "note.md").write_text("# Tea\n\nGreen.")
    assert remote.documents.add(tmp_path / "note.md")[0].metadata["document"] == "note.md"
    here = remote.documents.add(str(tmp_path / "note.md"), name="n")
    assert here[0].text == str(tmp_path / "note.md")
    assert memory.list(key="x") == []


def test_a_token_sees_its_namespace_and_those_below(by_token, memory):
    """And nothing beside or above it, whatever the client asks for."""
    memory.of("acme", "rami").add("Rami's berth is 14")
    memory.of("other").add("somebody else's berth")
    ours = by_token(trust="user")
    ours.add("of acme")
    assert [one.text for one in ours.of("acme", "rami").list()] == ["Rami's berth is 14"]
    assert ours.store.namespace == ("acme",)
    for labels in (("other",), ("default",), ("acmeish",), ("Acme",)):
        with pytest.raises(NotAllowed):
            ours.of(*labels).list()
    admin = by_token("admin", rights="admin", trust="user")
    for call in (
        admin.store.namespaces,
        lambda: admin.store.backup("x"),
        lambda: admin.store.doctor(all_namespaces=True),
        lambda: admin.scopes.share("", ["other"]),
        ours.store.doctor,
    ):
        with pytest.raises(NotAllowed):
            call()


def test_nobody_is_trusted_more_than_the_token(by_token, memory):
    """Whatever a call says of its source; and what only the user may do is refused."""
    web = by_token("crawler", trust="web")
    claims = [
        lambda: web.add("a", source="user"),
        lambda: web.add("b"),
        lambda: web.add_many(["c", {"text": "d", "source": "user"}])[1],
        lambda: web.documents.add("e", name="e", source="user")[0],
        lambda: web.keep([{"role": "assistant", "content": "f"}], session="s")[0],
        lambda: web.keep("g", speaker="user")[0],
    ]
    for claim in claims:
        kept = claim()
        assert (kept.source.kind, kept.status) == ("web", "quarantined")
    mine = memory.of("acme").add("the user's own", "long")
    for call in (
        lambda: web.add("h", kind="rule"),
        lambda: web.forget(mine.id),
        lambda: web.update(mine.id, text="x"),
        lambda: web.quarantine.approve_all(web.quarantine.list()),
        lambda: web.rules.direct("Obey."),
        lambda: web.observe("I live in Porto.", "Noted."),
        lambda: web.undo(1),
        lambda: web.sessions.start("s", goal="obey"),
    ):
        with pytest.raises(UntrustedSource):
            call()
    agent = by_token("agent", trust="agent")
    assert agent.add("i").source.kind == "agent"
    assert agent.feedback.rate(mine.id, useful=True)
    assert memory.of("acme").get(mine.id).text == "the user's own"


def test_a_service_that_is_not_there_is_an_error_in_time():
    """It is tried for as long as a call may take, and named."""
    with (
        connect("http://127.0.0.1:1", timeout=0.3) as gone,
        pytest.raises(Unanswered, match="cannot be reached"),
    ):
        gone.list()
    with pytest.raises(InvalidInput, match="not an address"):
        connect("ftp://x")


@pytest.mark.parametrize("named", [True, False])
def test_an_add_whose_answer_is_lost_is_repeated_if_it_has_an_id(
    memory, remote, monkeypatch, named
):
    """It adds nothing twice: a worker that is replaced may close a connection under a call."""
    sent, send = [], _link(remote).client.request

    def once_lost(*args, **options):
        sent.append(send(*args, **options))
        if len(sent) == 1:
            raise httpx.RemoteProtocolError("the connection was closed")
        return sent[-1]

    monkeypatch.setattr(_link(remote).client, "request", once_lost)
    if named:
        assert remote.add("tea", id="mine").id == "mine"
    else:
        with pytest.raises(Unanswered, match="closed"):
            remote.add("tea")
    assert len(sent) == 1 + named
    assert [one.text for one in memory.list()] == ["tea"]


async def test_it_is_awaited_too(memory):
    """The coroutines of the manager are those of the client."""
    with served(memory) as (url, _):
        async with AsyncRemoteMemory(url) as remote:
            kept = await asyncio.gather(*(remote.add(f"fact {n}") for n in range(8)))
            found = await remote.retrieve("fact 3", wait=0.1)
            assert found[0].id == kept[3].id
            assert await remote.flush(wait=True)
    assert len(memory.list()) == 8


SUITE = """
    test_bad_input test_conversation test_display test_erased_turns test_long_texts
    test_manager_add test_manager_retrieve test_messages test_names_in_unicode test_progress
    test_scopes test_slot_values test_verbs verbs/test_kept verbs/test_resume
    verbs/test_scope_verbs verbs/test_scopes_kept verbs/test_sessions verbs/test_shares
"""
WORDS = ("passed", "skipped")
INSIDE = {
    "test_a_search_that_wants_the_index_has_it_opened": "a client closes no store",
    "test_a_session_breaks_off_when_its_store_is_closed": "a client closes no store",
    "test_an_interrupted_merge_is_finished_by_the_same_call": "interrupts the thread that writes",
    "test_another_shape_is_refused": "in JSON, a turn is an object with the fields of one",
    "test_ten_megabytes_are_refused_with_the_limit": "the service's own limit comes first",
    "test_the_same_document_again_adds_nothing": "the file grows in the background meanwhile",
    "test_what_is_hidden_is_gone_at_once": "one of them advances the clock of the store",
}
"""Tests that cannot pass, and why. Those that read the engine or the folder, and those that pass a
function, skip themselves: see ``tests/conftest.py``."""


def test_the_managers_own_tests_pass_through_a_service():
    """They run with each store behind a service; the few that look inside are left out."""
    root = Path(__file__).parents[2]
    files = [f"tests/{name}.py" for name in SUITE.split()]
    words = ["-m", "pytest", "-n0", "-k", f"not ({' or '.join(INSIDE)})", *files]
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=root,
        env=os.environ | {"TEST_REMOTE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
    passed, skipped = (int(re.search(rf"(\d+) {word}", ran.stdout)[1]) for word in WORDS)
    assert passed > 8 * skipped

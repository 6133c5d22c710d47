"""With a role in the address, each read sees the rows of one namespace alone."""

from __future__ import annotations

import postgres
import pytest

from memento import MemoryManager
from memento.errors import StoreUnusable
from memento.ledger.opening import open_ledger
from memento.ledger.rows import single

psycopg = pytest.importorskip("psycopg")

TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'memento'::regnamespace AND relkind = 'r'"
    " AND relname NOT IN ('meta', 'embedders', 'written', 'work')"
)


@pytest.fixture
def address(address):
    """The address of an empty store with a role that is bound to a namespace."""
    return postgres.fenced(address)


@pytest.fixture
def memory(address):
    """Two namespaces, each with a memory of the same words."""
    with MemoryManager(address, embedder=None) as made:
        for name in ("lina", "omar"):
            made.of(name).add(f"the heron of {name}", "long", scope="garden")
        made.flush(wait=True)
        yield made


@pytest.mark.parametrize("space", [1, 2])
def test_a_query_without_conditions_sees_one_namespace(memory, space):
    """Whatever it asks for."""
    ledger = memory._engine.ledger
    query = "SELECT string_agg(DISTINCT ns::text, ',') FROM memories"
    assert ledger.read(lambda s: single(s, query), space=space) == str(space)
    assert ledger.read(lambda s: single(s, query)) == "1,2"


@pytest.mark.usefixtures("memory")
def test_every_table_has_the_fence(address):
    """A table that is made later is fenced when the store is next opened."""
    plain = address.split("&")[0]
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("CREATE TABLE memento.later (ns bigint)")
        try:
            ledger = open_ledger(address)
            with ledger.claimed(["a text of another namespace"]):
                connection.execute("SET ROLE reader")
                assert connection.execute("SELECT * FROM memento.work").fetchall() == []
                connection.execute("RESET ROLE")
            ledger.close()
            tables = {name for (name,) in connection.execute(TABLES)}
            fenced = connection.execute("SELECT tablename FROM pg_policies").fetchall()
            assert tables == {name for (name,) in fenced}
            connection.execute("SET ROLE reader")
            for name in sorted(tables):
                found = connection.execute(f"SELECT count(*) FROM memento.{name}").fetchone()
                assert found == (0,), "a session that names no namespace sees nothing"
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("DELETE FROM memento.memories")
        finally:
            connection.execute("RESET ROLE")
            connection.execute("DROP TABLE memento.later")


def test_a_shared_scope_is_seen_and_the_fence_moves_back(memory):
    """The namespace that shares is read as such, and what follows is one's own again."""
    memory.of("omar").scopes.share("garden", "lina")
    found = memory.of("lina").retrieve("heron", 10)
    assert {hit.text for hit in found} == {"the heron of lina", "the heron of omar"}
    assert [one.text for one in memory.of("lina").list()] == ["the heron of lina"]


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ("", "has no role warden"),
        ("CREATE ROLE warden SUPERUSER", "row security does not bind"),
        ("CREATE ROLE warden BYPASSRLS", "row security does not bind"),
        ("CREATE ROLE warden IN ROLE memento", "row security does not bind"),
    ],
)
def test_a_role_that_binds_nobody_is_refused(address, made, problem):
    """Else the store would seem to have a fence."""
    with psycopg.connect(address.split("&")[0], autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS warden")
        if made:
            connection.execute(made)
        with pytest.raises(StoreUnusable, match=problem):
            open_ledger(address.replace("role=reader", "role=warden"))
        connection.execute("DROP ROLE IF EXISTS warden")


@pytest.mark.usefixtures("memory")
def test_a_user_whom_the_fence_hides_everything_from_is_refused(address):
    """With the rights of a user who does not own the tables, the store would seem to be empty."""
    plain = address.split("&")[0]
    both = "SCHEMA memento, memento_present TO guest"
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE guest LOGIN; GRANT ALL ON {both}")
        connection.execute(f"GRANT ALL ON ALL TABLES IN {both}")
        try:
            with pytest.raises(StoreUnusable, match="hides every memory from this user"):
                open_ledger(plain.replace("memento@", "guest@"))
            connection.execute("ALTER ROLE guest BYPASSRLS")
            open_ledger(plain.replace("memento@", "guest@")).close()
        finally:
            connection.execute("DROP OWNED BY guest; DROP ROLE guest")


@pytest.mark.usefixtures("memory")
def test_a_role_that_the_user_may_not_take_is_refused_at_the_start(address):
    """Not at the first read of a namespace."""
    plain = address.split("&")[0]
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("CREATE ROLE other NOLOGIN; CREATE ROLE guest LOGIN BYPASSRLS")
        both = "SCHEMA memento, memento_present TO guest"
        connection.execute(f"GRANT ALL ON {both}; GRANT ALL ON ALL TABLES IN {both}")
        try:
            with pytest.raises(StoreUnusable, match="not a member"):
                open_ledger(f"{plain.replace('memento@', 'guest@')}&role=other")
        finally:
            connection.execute("DROP OWNED BY guest; DROP ROLE guest; DROP ROLE other")

"""A store that an earlier release wrote opens, is upgraded, and has all it had."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import postgres
import pytest

from memento import MemoryManager, Status
from memento.errors import ReadOnlyStore
from memento.ledger import schema
from memento.ledger.lite import store
from memento.ledger.opening import open_ledger
from memento.ledger.pg import schema as pg_schema
from memento.testing import HashEmbedder
from memento.upkeep.backup import restore, salvage

STORES = Path(__file__).parent / "stores"
TABLES = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
PG_TABLES = """
    SELECT table_schema, table_name || '.' || column_name, data_type || collation_name
        || is_nullable || column_default, ordinal_position FROM information_schema.columns
        WHERE table_schema IN (current_schema(), current_schema() || '_present')
    UNION SELECT 'index', indexname, indexdef, 0 FROM pg_indexes
        WHERE schemaname = current_schema()
    UNION SELECT 'view', relname, reloptions::text, 0 FROM pg_class
        WHERE relkind = 'v' AND relnamespace = (current_schema() || '_present')::regnamespace
    UNION SELECT 'rule', conname, pg_get_constraintdef(oid), 0 FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace
"""
PG_VERSION = "SELECT (value).n FROM meta WHERE name = 'schema'"
TABLES_WITH_MORE = ("namespaces", "memories")
COLOUR = "colour TEXT NOT NULL DEFAULT 'blue'"


@pytest.fixture
def old(tmp_path):
    """The folder of a store that the first schema wrote."""
    root = tmp_path / "store"
    root.mkdir(mode=0o700)
    packed = (STORES / "schema-1.db.gz").read_bytes()
    (root / "ledger.db").write_bytes(gzip.decompress(packed))
    return root


@pytest.fixture
def more_columns(monkeypatch):
    """A schema whose new stores have two columns more."""
    script = schema.SCHEMA
    for table in TABLES_WITH_MORE:
        end = script.index("\n);", script.index(f"CREATE TABLE {table} ("))
        script = f"{script[:end]}, {COLOUR}{script[end:]}"
    monkeypatch.setattr(schema, "SCHEMA", script)


@pytest.fixture
def next_release(request, monkeypatch):
    """A release with that schema, and the step to it."""
    request.getfixturevalue("more_columns")
    steps = [f"ALTER TABLE {table} ADD COLUMN {COLOUR};\n" for table in TABLES_WITH_MORE]
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, "".join(steps)))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)


@pytest.fixture(params=["", "next_release"], ids=["today", "next release"])
def release(request):
    """This release, and one whose schema has changed."""
    if request.param:
        request.getfixturevalue(request.param)
    return schema.SCHEMA_VERSION


def asked(root, question):
    """Ask the file of a store."""
    with sqlite3.connect(root / "ledger.db") as file:
        found = file.execute(question).fetchall()
    file.close()
    return found


def has_all(root):
    """Look for what the old store has: texts, slots, history, namespaces, sessions and vectors."""
    with MemoryManager(root, embedder=HashEmbedder(8)) as memory:
        assert {one.id for one in memory.list(status=list(Status))} == {
            "tea", "coffee", "turn", "page", "gone",
        }  # fmt: skip
        assert memory.get("tea").superseded_by == "coffee"
        assert [state.text for state in memory.changes.history("coffee")] == [
            "Rami prefers black coffee", "Rami prefers espresso",
        ]  # fmt: skip
        assert [one.id for one in memory.quarantine.list()] == ["page"]
        assert "coffee" in {hit.id for hit in memory.retrieve("what does Rami prefer?")}
        assert memory.restore("gone").status is Status.ACTIVE
        lina = memory.of("acme", "lina")
        assert lina.get("cello").text == "Lina plays the cello"
        resumed = lina.sessions.resume("job").text
        assert "move the piano" in resumed
        assert "call Rami" in resumed
        assert memory.flush(wait=True)
        assert all(found.ok for found in memory.store.doctor())


def tables(root):
    """Return the tables and indexes of a store: a step writes the same ones with other spaces."""
    return [(*one, "".join((sql or "").split())) for *one, sql in asked(root, TABLES)]


def new_tables(tmp_path):
    """Return those of a new store."""
    open_ledger(tmp_path / "new").close()
    return tables(tmp_path / "new")


@pytest.mark.usefixtures("release")
def test_an_old_store_becomes_what_a_new_one_is(old, tmp_path):
    """Table for table and column for column: a change of ``SCHEMA`` has its step in ``STEPS``."""
    has_all(old)
    assert tables(old) == new_tables(tmp_path)


@pytest.mark.usefixtures("more_columns")
def test_a_column_without_a_step_is_seen(old, tmp_path):
    """The test above fails for it."""
    has_all(old)
    assert tables(old) != new_tables(tmp_path)


@pytest.mark.usefixtures("next_release")
def test_an_old_store_is_upgraded_with_all_it_has(old):
    """Once: the second opening finds the work done."""
    for _ in range(2):
        has_all(old)
        assert asked(old, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
        assert {colour for (colour,) in asked(old, "SELECT colour FROM memories")} == {"blue"}


@pytest.mark.usefixtures("next_release")
def test_an_old_backup_becomes_a_store_of_today(old, tmp_path):
    """Brought up to date on the way, nothing missing."""
    assert restore(old / "ledger.db", tmp_path / "copy").memories == 6
    has_all(tmp_path / "copy")
    assert asked(old, "PRAGMA user_version") == [(1,)]


@pytest.mark.usefixtures("next_release")
def test_an_old_store_that_cannot_be_written_is_refused(old, monkeypatch):
    """It would be read by columns that it lacks; the message says what to do."""

    def refuse(*_, **__):
        raise ReadOnlyStore(old, "the disk is read-only")

    monkeypatch.setattr(store.upgrade, "migrate", refuse)
    with pytest.raises(ReadOnlyStore, match="open it once where it can be written"):
        open_ledger(old)


def test_an_old_store_can_be_salvaged(old):
    """Rows are told by their pages alone, and none is lost, even if it ends before a new column."""
    with sqlite3.connect(old / "ledger.db") as file:
        file.execute("ALTER TABLE memories DROP COLUMN due_at")
    file.close()
    done = salvage(old)
    assert (done.lost, done.changed) == (0, ())
    has_all(old)


def of_version_1(file):
    """Return the script that made the tables of an old store."""
    with sqlite3.connect(file) as connection:
        query = "SELECT sql FROM sqlite_master WHERE sql NOT NULL AND NOT name GLOB ?"
        query = f"{query} AND NOT name GLOB ? ORDER BY type DESC, rowid"
        made = connection.execute(query, ("*_fts_*", "*_sqlite_migrations*")).fetchall()
    connection.close()
    return ";\n".join([*(sql for (sql,) in made), "INSERT INTO meta VALUES ('stamp', 0)"])


def test_a_server_gets_the_same_steps(old, address, release):
    """An old store there becomes what a new one is, keeps its rows, and is upgraded once."""
    place = address.replace("schema=memento", "schema={}").format
    for name in ("store_a", "store_b"):
        postgres.run(address, f"DROP SCHEMA IF EXISTS {name}, {name}_present CASCADE")
    with pytest.MonkeyPatch.context() as before:
        before.setattr(schema, "SCHEMA", of_version_1(old / "ledger.db"))
        before.setattr(schema, "SCHEMA_VERSION", 1)
        before.setattr(schema, "STEPS", ())
        open_ledger(place("store_a")).close()
    postgres.run(place("store_a"), "INSERT INTO namespaces (labels) VALUES ('[\"rami\"]')")
    for _ in range(2):
        ledger = open_ledger(place("store_a"))
        assert ledger.find_namespace(("rami",)) == 1
        ledger.close()
    open_ledger(place("store_b")).close()
    there, new = (set(postgres.found(place(name), PG_TABLES)) for name in ("store_a", "store_b"))
    versions = {postgres.found(place(name), PG_VERSION)[0] for name in ("store_a", "store_b")}
    assert versions == {(release,)}
    assert {tuple(str(one).replace("store_a", "store_b") for one in row) for row in there} == {
        tuple(map(str, row)) for row in new
    }


def test_a_step_that_makes_a_numbered_table_numbers_its_rows(monkeypatch):
    """On a server a trigger does that, also in a store that is not new."""
    monkeypatch.setattr(schema, "STEPS", ("CREATE TABLE events (event INTEGER PRIMARY KEY);\n",))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 2)
    made = [one for one in pg_schema.statements(1) if "TRIGGER" in one]
    assert made == [
        "CREATE TRIGGER numbered BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION next_event()"
    ]

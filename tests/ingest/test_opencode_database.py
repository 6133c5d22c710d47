"""The database of opencode: what was said in it, while opencode is running or not."""

from __future__ import annotations

import json
import sqlite3

import pytest

from memento.errors import InvalidInput
from memento.ingest import Format, detect, read

SCHEMA = """
CREATE TABLE `session` (`id` text PRIMARY KEY, `parent_id` text, `directory` text NOT NULL);
CREATE TABLE `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL,
    `time_created` integer NOT NULL, `data` text NOT NULL);
CREATE TABLE `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL,
    `session_id` text NOT NULL, `data` text NOT NULL);
"""
SAID = [("user", "Where is the log?", {}), ("assistant", "In build/.", {})]
ASIDE = [("user", "injected", {"synthetic": True}), ("assistant", "hidden", {"ignored": True})]


def message(db, session, number, role, parts):
    """Store a message as opencode does."""
    name = f"msg_{session}_{number}"
    data = {"role": role, "time": {"created": 1_735_700_000_000 + number}}
    db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (name, session, number, json.dumps(data)))
    for at, part in enumerate(parts):
        row = (f"prt_{session}_{number}_{at}", name, session, json.dumps(part))
        db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)


@pytest.fixture
def opened(tmp_path):
    """A database that opencode has open, with what was said in its log only."""
    db = sqlite3.connect(tmp_path / "opencode.db")
    db.executescript(f"PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; {SCHEMA}")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("INSERT INTO session VALUES ('ses_1', NULL, '/home/ann/boat')")
    db.execute("INSERT INTO session VALUES ('ses_2', 'ses_1', '/home/ann/boat')")
    for number, (role, text, more) in enumerate([*SAID, *ASIDE]):
        tool = {"type": "tool", "tool": "bash", "state": {"output": "secret"}}
        message(db, "ses_1", number, role, [{"type": "text", "text": text, **more}, tool])
    message(db, "ses_2", 0, "user", [{"type": "text", "text": "a task of a sub-agent"}])
    db.commit()
    yield tmp_path / "opencode.db"
    db.close()


def test_what_was_said_is_read_while_opencode_runs(opened):
    """Turns with their session, folder and time; no tools, no sub-agents, nothing injected."""
    before = opened.read_bytes()
    assert detect(opened) is Format.OPENCODE
    drafts = [*read(opened)]
    assert [(one.role, one.text) for one in drafts] == [(role, text) for role, text, _ in SAID]
    assert {(one.session, one.metadata["folder"]) for one in drafts} == {
        ("ses_1", "/home/ann/boat")
    }
    assert drafts[0].occurred_at.year == 2025
    assert opened.read_bytes() == before


def test_an_export_of_the_same_session_has_the_same_ids(opened, tmp_path):
    """So reading both adds nothing twice."""
    messages = [
        {
            "info": {"id": f"msg_ses_1_{number}", "role": role},
            "parts": [{"type": "text", "text": text}],
        }
        for number, (role, text, _) in enumerate(SAID)
    ]
    file = tmp_path / "export.json"
    file.write_text(json.dumps({"info": {"id": "ses_1", "directory": "/"}, "messages": messages}))
    assert [one.id for one in read(file)] == [one.id for one in read(opened)]


def test_a_torn_database_is_named(opened, tmp_path):
    """It says what to do."""
    torn = tmp_path / "torn.db"
    torn.write_bytes(opened.read_bytes()[:9000])
    with pytest.raises(InvalidInput, match="close opencode"):
        [*read(torn)]


def test_another_database_is_named(tmp_path):
    """It is known, and not read."""
    db = sqlite3.connect(tmp_path / "other.db")
    db.execute("CREATE TABLE message (id)")
    db.close()
    with pytest.raises(InvalidInput, match="SQLite database"):
        [*read(tmp_path / "other.db", "opencode")]

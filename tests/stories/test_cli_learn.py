"""Learning on the command line."""

import io
import sys


def test_a_turn_is_learnt_from_and_shown(memento):
    """Its statement is stored; the next value of the slot replaces it."""
    assert "slot user/name" in memento("observe", "--user", "My name is Priya.").out
    assert "Call me Sam." in memento("observe", "Call me Sam.").out
    (one,) = memento("list", "--key", "user/name", "--json").data["memories"]
    assert (one["text"], one["signal"]) == ("My name is Priya.", "identity")


def test_a_dry_run_says_what_would_be_replaced_and_writes_nothing(memento):
    """Class, slot, reasons, and the memory whose place it would take."""
    (rule,) = memento("rules", "direct", "Use pip", "--json").data["memories"]
    told = memento("observe", "--user", "No, use uv instead of pip", "--dry-run").out
    assert f"replaced ({rule['id']}): 'use uv instead of pip' (" in told
    assert "slot python/package-manager" in told
    assert len(memento("list", "--json").data["memories"]) == 1


def test_a_secret_is_printed_nowhere(memento):
    """Whether it is only foreseen or learnt, in words or as JSON."""
    key = "ghp_" + "A1b2C3d4E5f6" * 3
    for said in (f"My name is Priya and my token is {key}.", f"Forget my token {key}."):
        for options in (["--dry-run"], ["--dry-run", "--json"], [], ["--json"]):
            told = memento("observe", "--user", said, *options).out
            assert "A1b2C3d4" not in told
    foreseen = memento("observe", "Always use the token " + key + " for pulls.", "--dry-run").out
    assert "[redacted:github-token]" in foreseen


def test_a_dry_run_needs_no_store(memento):
    """It says what a new store would learn, and makes none."""
    told = memento("observe", "--user", "My name is Priya.", "--dry-run", "--json").data
    assert [(one["action"], one["candidate"]["key"]) for one in told["would"]] == [
        ("new", "user/name")
    ]
    assert memento("list").status != 0


def test_a_transcript_is_read_from_stdin(memento, monkeypatch):
    """Plain turns or lines of JSON; a line that is neither is refused."""
    plain = "user: My name is Priya.\nassistant: Hello!\nI am new here.\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(plain))
    assert "user/name" in memento("observe", "--session", "s").out
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"role": "user", "content": "Call me Sam."}\n'))
    assert "Call me Sam." in memento("observe", "--session", "t").out
    for wrong in ("hello\n", "{}}\n"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(wrong))
        assert memento("observe").status == 2
    assert memento("observe", "--assistant", "a").status == 2
    assert memento("observe", "one", "--user", "two").status == 2


def test_rules_are_stated(memento):
    """Locked, with a condition."""
    (rule,) = memento(
        "rules", "direct", "Be brief", "--lock", "--condition", "in chats", "--json"
    ).data["memories"]
    assert (rule["kind"], rule["lock"], rule["condition"]) == ("rule", "user", "in chats")
    assert "Be brief" in memento("rules", "direct", "Be brief", "--condition", "in letters").out

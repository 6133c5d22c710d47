"""The work of a session on the command line: begun, noted, resumed, ended."""

from __future__ import annotations


def test_a_session_from_its_start_to_its_end(memento):
    """Each command says what it did, and ``--json`` gives the values."""
    assert memento("session", "start", "s1", "--goal", "paint the door").out == "s1\n"
    said = memento(
        "session", "checkpoint", "s1", "--done", "sand", "--next", "primer", "--next", "paint"
    )
    assert said.out == "checkpoint 1 of s1\n"
    found = memento("session", "resume", "--json").data
    assert found["checkpoint"]["next"] == ["primer", "paint"]
    assert 'Done, do not repeat: "sand"' in memento("session", "resume", "s1").out
    assert "open  paint the door" in memento("session", "list", "--open").out
    assert memento("session", "end", "s1", "--summary", "The door is green").out.startswith("ended")
    assert memento("session", "end", "s1").out == "ended\n"
    assert memento("session", "list", "--ended", "--json").data["sessions"][0]["state"] == "ended"
    assert memento("session", "list", "--open").out == "nothing here\n"
    assert memento("session", "resume").out == "nothing here\n"


def test_what_cannot_be_accepted_on_the_command_line(memento):
    """The exit status 2 and one line that names the option."""
    memento("session", "start", "s1")
    for arguments in (
        ("session", "checkpoint", "s1", "--data", "[1]"),
        ("session", "checkpoint", "s1", "--data", "{"),
        ("session", "checkpoint", "s1", "--kind", "taks"),
        ("session", "end", "nobody"),
    ):
        refused = memento(*arguments)
        assert (refused.status, refused.err.count("\n")) == (2, 1)


def test_the_policy_on_the_command_line(memento):
    """Head, tail, or both; ``--explain`` says which memory is where."""
    rule = memento.add("Use tabs", "--kind", "rule")
    memento("add", "Use metric units", "--kind", "rule", "--condition", "when I cook")
    head = memento("rules", "policy", "--head").out
    assert '- "Use tabs"' in head
    tail = memento("rules", "policy", "--tail", "--for", "Now we cook soup").out
    assert '- "Use metric units"' in tail
    assert memento("rules", "policy", "--for", "Now we cook soup").out == head + tail
    assert (
        f"zone 2 (Standing instructions of the user): {rule}"
        in memento("rules", "policy", "--explain").out
    )
    assert memento("rules", "policy", "--json").data["memories"][0]["id"] == rule
    assert memento("rules", "policy", "--tail").out == "nothing here\n"
    assert memento("rules", "policy", "--head", "--tail").status == 2

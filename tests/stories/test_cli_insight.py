"""Chains, timelines, lineages, dossiers, health and open questions, as typed."""

from __future__ import annotations

QUESTION = "In which city is the office of the company of Nina Park?"


def test_a_chain_is_printed_with_its_steps(memento):
    """Both facts, the names and a JSON object."""
    memento("add", "Nina Park leads the billing team at Northwind")
    memento("add", "The office of Northwind is in Utrecht")
    said = memento("insight", "reason", QUESTION).out
    assert "northwind → The office of Northwind is in Utrecht" in said
    data = memento("insight", "reason", QUESTION, "--json").data
    assert [fact["text"] for fact in data["chains"][0]["facts"]][-1].endswith("Utrecht")
    assert memento("insight", "reason", QUESTION, "--hops", "9").status == 2


def test_the_overviews_print_lines_and_json(memento):
    """Each command has both forms, also if there is nothing to show."""
    one = memento.add("the kettle is blue")
    memento("correct", one, "the kettle is red")
    assert "the kettle is red" in memento("insight", "timeline", "kettle").out
    moments = memento("insight", "timeline", "--by", "recorded", "--json").data["moments"]
    assert [part["what"] for part in moments] == [
        "recorded", "superseded", "recorded",
    ]  # fmt: skip
    assert "until" in memento("insight", "lineage", one).out
    assert memento("insight", "lineage", one, "--json").data["memory"]["id"] == one
    assert "the kettle is red" in memento("insight", "dossier", "kettle").out
    assert memento("insight", "dossier", "kettle", "--json").data["entries"]
    assert "1 active memories: 1 fact" in memento("insight", "health").out
    assert memento("insight", "health", "--json").data["active"] == 1
    assert memento("insight", "wonder", "--json").data["questions"] == []
    assert "no gaps found" in memento("insight", "wonder").out
    assert "nothing here" in memento("insight", "timeline", "--namespace", "nobody").out
    assert memento("insight", "lineage", "nobody").status == 3

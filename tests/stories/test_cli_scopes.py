"""Scopes on the command line: named, guessed, merged, shared; memories moved up."""

from __future__ import annotations


def test_scopes_from_their_names_to_a_merge(memento):
    """Each command says what it did, and ``--json`` gives the values."""
    made = memento("scopes", "define", "p/shop", "--title", "Shop", "--alias", "web shop")
    assert made.out == "     0  p/shop  Shop  also: web shop\n"
    memento("add", "The web shop sells tea", "--scope", "p/shop")
    assert memento("scopes", "infer", "ask", "the", "web", "shop").out == "0.90  p/shop  (named)\n"
    found = memento("scopes", "infer", "ask", "--context", "folder=/src/shop", "--json").data[
        "scopes"
    ]
    assert found[0]["path"] == "p/shop"
    assert memento("scopes", "infer", "nothing").out == "nothing found\n"
    assert memento("scopes", "merge", "p/shop", "p/site").out == "1 memory moved\n"
    listed = memento("scopes", "list").out
    assert "     0  p/shop  merged into p/site  Shop  also: web shop\n" in listed
    assert "     1  p/site\n" in listed
    assert memento("scopes", "unmerge", "p/shop").out == "1 memory moved back\n"
    assert memento("scopes", "unmerge", "p/shop").status == 2
    assert memento("scopes", "infer", "x", "--context", "folder").status == 2


def test_a_scope_is_shared_and_taken_back(memento):
    """The other namespace sees it with its origin, until it does not."""
    assert memento("add", "Deploys go by night", "--scope", "ops").status == 0
    shared = memento("scopes", "share", "ops", "--with", "acme/rami")
    assert shared.out == "     1  ops  shared with acme/rami\n"
    theirs = ("--namespace", "acme/rami")
    assert memento("scopes", "list", *theirs).out == "     1  ops  shared by default\n"
    hit = memento("retrieve", "how do deploys go?", "--json", *theirs).data["hits"][0]
    assert (hit["shared"], hit["namespace"]) == (True, ["default"])
    own = memento("retrieve", "how do deploys go?", "--own", *theirs)
    assert own.out.startswith("nothing found")
    taken = memento("scopes", "unshare", "ops", "--with", "acme/rami")
    assert taken.out == "no longer shared\n"
    assert memento("scopes", "unshare", "ops", "--with", "acme/rami").out == "it was not shared\n"
    assert memento("scopes", "list", *theirs).out == "nothing here\n"
    assert memento("retrieve", "how do deploys go?", *theirs).out.startswith("nothing found")


def test_a_rule_of_several_scopes_is_moved_up(memento):
    """Listed first, moved when its id is given."""
    assert memento("add", "x").status == 0
    assert memento("scopes", "promotable").out == "nothing here\n"
    for name in ("p/a", "p/b", "p/c"):
        memento("add", "Never commit .env files", "--kind", "rule", "--scope", name)
    (group,) = memento("scopes", "promotable", "--json").data["promotable"]
    assert group["scope"] == "p"
    assert "to p:\n" in memento("scopes", "promotable").out
    one = group["memories"][0]["id"]
    assert memento("set", one, "--scope", "p").out.endswith("in p\n")
    assert memento("scopes", "promotable").out == "nothing here\n"

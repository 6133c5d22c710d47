"""Tokens: the store knows their digests alone, and each has the rights that it was made with."""

import hashlib
import json
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from memento.errors import InvalidInput, StoreUnusable
from memento.resident import tokens


def make(root, name="laptop", **more):
    """Make a token."""
    given = {"namespace": "default", "scope": "", "trust": "agent"}
    return tokens.add(root, name, **(given | more))


def test_the_file_has_no_token(tmp_path):
    """Only what cannot be turned back into one, for its owner's eyes."""
    made = make(tmp_path)
    path = tmp_path / "tokens.json"
    assert made not in path.read_text()
    assert json.loads(path.read_text())[0]["digest"] == hashlib.sha256(made.encode()).hexdigest()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_has_its_rights_until_it_is_revoked(tmp_path):
    """Any other is nobody's."""
    first = make(tmp_path)
    second = make(tmp_path, "web", namespace="acme/ada", scope="a/b", rights="read", trust="web")
    found = tokens.holder(tmp_path, second)
    assert found[2:6] == ("acme/ada", "a/b", "read", "web")
    for wrong in ("", second[:-1], second + "x", "\udcff", found.digest):
        assert tokens.holder(tmp_path, wrong) is None
    tokens.revoke(tmp_path, "web")
    assert tokens.holder(tmp_path, second) is None
    assert tokens.holder(tmp_path, first).name == "laptop"
    assert [one.name for one in tokens.listed(tmp_path)] == ["laptop"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"trust": "owner"}, "trust"),
        ({"rights": "all"}, "rights"),
        ({"scope": "../x"}, "scope"),
        ({"namespace": "a//b"}, "namespace"),
        ({"name": ""}, "name"),
        ({"name": "taken"}, "name"),
    ],
)
def test_what_no_token_can_have_is_refused(tmp_path, wrong, field):
    """What is none of the words for it, or a name that is taken."""
    make(tmp_path, "taken")
    with pytest.raises(InvalidInput) as refused:
        make(tmp_path, **wrong)
    assert field in refused.value.field
    assert len(tokens.listed(tmp_path)) == 1


def test_what_is_no_list_of_tokens_lets_nobody_in(tmp_path):
    """It is named instead."""
    assert tokens.holder(tmp_path, "x") is None
    with pytest.raises(InvalidInput):
        tokens.revoke(tmp_path, "nobody")
    (tmp_path / "tokens.json").write_text("[{}]")
    with pytest.raises(StoreUnusable):
        tokens.holder(tmp_path, "x")


def test_none_is_lost_when_several_are_made_at_once(tmp_path):
    """And so none that was revoked comes again."""
    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(lambda number: make(tmp_path, f"n{number}"), range(20)))
    assert all(tokens.holder(tmp_path, one) for one in made)

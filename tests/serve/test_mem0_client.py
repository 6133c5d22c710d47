"""The real client of mem0, against `memento serve --mem0`."""

import os

import pytest

from memento.resident import tokens
from memento.serve.app import Settings
from memento.serve.mem_zero import routes
from tests.served import served

os.environ["MEM0_TELEMETRY"] = "False"  # it is read once, when mem0 is imported
mem0 = pytest.importorskip("mem0", reason="needs mem0ai: pip install mem0ai")


@pytest.fixture
def client(memory):
    """A client whose token sees the namespace ``acme``."""
    token = tokens.add(memory.store.root, "app", namespace="acme", rights="write", trust="user")
    with served(memory, Settings(), "127.0.0.1:0", routes) as (url, _):
        opened = mem0.MemoryClient(api_key=token, host=url)
        yield opened
        opened.client.close()


def test_it_stores_finds_changes_and_deletes(client, memory):
    """Add, search, get, update, history, delete: with their answers' own fields."""
    said = [{"role": "user", "content": "I live in Porto."}]
    (added,) = client.add(said, user_id="rami")["results"]
    assert added["memory"] == "I live in Porto."
    found = client.search("Where does Rami live?", filters={"user_id": "rami"})["results"]
    assert found[0]["id"] == added["id"]
    assert client.search("Where does Rami live?", filters={"user_id": "ada"})["results"] == []
    assert client.get(added["id"])["memory"] == "I live in Porto."
    client.update(added["id"], text="I live in Oslo.")
    assert [one["new_memory"] for one in client.history(added["id"])] == [
        "I live in Porto.",
        "I live in Oslo.",
    ]
    client.delete(added["id"])
    assert client.search("Oslo", filters={"user_id": "rami"})["results"] == []
    assert memory.of("acme", "rami").list(status="forgotten")


def test_it_stores_word_for_word(client):
    """Without `infer` each message is a memory; lists come in pages."""
    words = [{"role": "user", "content": f"fact {number}"} for number in range(5)]
    client.add(words, user_id="rami", infer=False, run_id="r", metadata={"a": 1})
    listed = client.get_all(filters={"user_id": "rami"}, page=2, page_size=2)
    assert (listed["count"], [one["memory"] for one in listed["results"]]) == (
        5,
        ["fact 2", "fact 3"],
    )
    ids = [one["id"] for one in client.get_all(filters={"user_id": "rami"})["results"]]
    client.batch_update([{"memory_id": ids[0], "text": "new"}])
    client.batch_delete([{"memory_id": one} for one in ids[1:3]])
    left = client.get_all(filters={"AND": [{"user_id": "rami"}, {"run_id": "r"}]})["results"]
    assert [one["memory"] for one in left] == ["new", "fact 3", "fact 4"]
    assert client.users()["results"][0]["name"] == "rami"
    client.delete_all(user_id="rami")
    assert client.get_all(filters={"user_id": "rami"})["results"] == []


def test_users_are_deleted(client):
    """One by name, and all of them; each with what it said, and nobody else's."""
    for user in ("rami", "ada/b", "lin"):
        client.add([{"role": "user", "content": f"I am {user}"}], user_id=user, infer=False)
    client.delete_users(user_id="ada/b")
    left = {one["name"]: client.get_all(filters={"user_id": one["name"]})["count"]
            for one in client.users()["results"]}  # fmt: skip
    assert left == {"rami": 1, "ada/b": 0, "lin": 1}
    client.reset()
    assert client.get_all(filters={"user_id": "lin"})["count"] == 0


def test_what_memento_has_not_is_said(client):
    """Profiles, exports and summaries are refused, and never made up."""
    with pytest.raises(Exception, match="no equivalent"):
        client.get_summary()

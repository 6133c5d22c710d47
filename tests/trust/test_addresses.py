"""LangGraph keys and labels that hold a secret: still addresses, and on no disk."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import contextmanager

import pytest

pytest.importorskip("langgraph", reason="pip install 'agent-memento[langgraph]'")

from secret_samples import keys

from memento import Config, MemoryManager
from memento.admit.redact import Secrets, redact
from memento.errors import SecretFound
from memento_langgraph import MementoStore
from memento_langgraph._addresses import address

SAMPLES = [
    (secret, text)
    for _, secret, text in keys(random.Random(5), 2)
    if redact(text, Counter()) != text
]
LABELS = [text for _, text in SAMPLES if "." not in text]
"""LangGraph lets no label have a period."""


@pytest.fixture
def root(tmp_path):
    """Where the store lies."""
    return tmp_path / "store"


def on_disk(root, secrets):
    """Count the secrets that stand in clear in some file of a store."""
    data = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    needles = [secret.encode() for secret in secrets]
    return sum(any(needle in one for one in data) for needle in needles)


@contextmanager
def filled(root, policy):
    """Make a store whose keys are secrets, two of each format, and one whose labels are."""
    with MemoryManager(root, embedder=None, config=Config(secrets=policy)) as manager:
        store = MementoStore(manager)
        for number, (_, text) in enumerate(SAMPLES):
            store.put(("tokens",), text, {"text": str(number)})
            if policy == "redact" and text in LABELS:
                store.put(("users", text), "k", {"text": str(number)})
        yield store


def test_what_search_returns_get_finds(root):
    """Each item of a search, by its own address and by the one it was put at; none is shared."""
    with filled(root, "redact") as store:
        look_at_keys(store)


def look_at_keys(store):
    """Get, put and delete what a search returned."""
    items = store.search(("tokens",), limit=10_000)
    assert len({item.key for item in items}) == len(items) == len(SAMPLES) > 100
    for number, (item, (_, text)) in enumerate(zip(items, SAMPLES, strict=True)):
        found = store.get(item.namespace, item.key)
        assert (found.value, found.key) == ({"text": str(number)}, item.key)
        assert (store.get(("tokens",), text).value, store.get(("tokens",), text).key) == (
            found.value,
            text,
        )
    store.put(("tokens",), items[0].key, {"text": "changed"})
    assert store.get(("tokens",), SAMPLES[0][1]).value == {"text": "changed"}
    store.delete(("tokens",), items[1].key)
    store.delete(("tokens",), SAMPLES[2][1])
    assert len(store.search(("tokens",), limit=10_000)) == len(SAMPLES) - 2


def test_labels_that_are_secrets_stay_labels(root):
    """Items below them are found, searched, listed and told apart by label and by stand-in."""
    with filled(root, "redact") as store:
        look_at_labels(store)


def look_at_labels(store):
    """Get, search and list by labels of what a search returned."""
    items = store.search(("users",), limit=10_000)
    assert len({item.namespace for item in items}) == len(LABELS) > 50
    listed = store.list_namespaces(prefix=("users",), limit=10_000)
    assert set(listed) == {item.namespace for item in items}
    for item, text in list(zip(items, LABELS, strict=True))[:20]:
        assert store.get(item.namespace, "k").value == item.value
        found = store.get(("users", text), "k")
        assert (found.value, found.namespace) == (item.value, ("users", text))
        assert [one.value for one in store.search(("users", text))] == [item.value]
        assert store.list_namespaces(suffix=(text,)) == [item.namespace]


def test_no_file_holds_such_a_key_or_label(root):
    """Nothing of them is on the disk; the control, a store that allows secrets, has every key."""
    secrets = [secret for secret, _ in SAMPLES if "\n" not in secret]
    with filled(root, "redact"):
        assert on_disk(root, secrets) == 0
    assert on_disk(root, secrets) == 0
    with filled(root.with_name("control"), "allow"):
        pass
    assert on_disk(root.with_name("control"), secrets) > 0.9 * len(secrets)


def test_a_stand_in_stands_for_itself():
    """It holds no secret of any format; ordinary addresses are their own."""
    for _, text in SAMPLES:
        kept = address(text, Secrets.REDACT)
        assert kept != text == address(text, Secrets.ALLOW)
        assert address(kept, Secrets.REDACT) == kept == address(kept, Secrets.REJECT)
    for plain in ("", "food", "550e8400-e29b-41d4-a716-446655440000", "ada@example.org", "\ud800"):
        assert address(plain, Secrets.REJECT) == plain


def test_a_store_that_refuses_secrets_refuses_such_an_address(root):
    """A put is refused by type, key or label; nothing is there to be read or deleted."""
    secret = SAMPLES[0][1]
    with MemoryManager(root, embedder=None, config=Config(secrets="reject")) as manager:
        store = MementoStore(manager)
        for namespace, key in ((("a",), secret), ((secret,), "k")):
            with pytest.raises(SecretFound):
                store.put(namespace, key, {"text": "x"})
            assert store.get(namespace, key) is None
            store.delete(namespace, key)
        assert store.search(()) == store.search((secret,)) == []


def test_what_no_put_made_is_no_item(root, caplog):
    """A memory that came another way into the namespace makes no search, get or list fail."""
    with MemoryManager(root, embedder=None) as manager:
        store = MementoStore(manager)
        store.put(("a",), "k", {"text": "tea"})
        (mine,) = store.search(("a",))
        view = manager.of(*manager.store.namespace, "langgraph")
        control = "__memento__"
        for scope, metadata in (
            ("a/~", {}),
            ("a/~", {control: 7}),
            ("a/~", {control: {"key": "k", "ttl": None}}),
            ("a/~", {control: {"key": 1, "ttl": "soon"}}),
            ("a", {}),
            ("%zz%/~", {control: {"key": "k", "ttl": None}}),
        ):
            view.add(f"tea {scope} {metadata}", scope=scope, metadata=metadata)
        assert store.search(()) == [mine]
        assert [item.key for item in store.search((), query="tea")] == ["k"]
        assert store.list_namespaces() == [("a",)]
        assert "were not stored with put" in caplog.text

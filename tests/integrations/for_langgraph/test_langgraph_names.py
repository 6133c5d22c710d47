"""Namespaces and keys in several Unicode forms."""

import unicodedata

from memento import MemoryManager
from memento_langgraph import MementoStore


def test_an_item_is_one_whatever_the_form_of_its_address(tmp_path):
    """A key or label in either form leads to the same item, whose value stays as given."""
    name, apart = "Zo\u00eb", unicodedata.normalize("NFD", "Zo\u00eb")
    with MemoryManager(tmp_path, embedder=None) as memory:
        store = MementoStore(memory)
        store.put(("users", apart), apart, {"tea": apart})
        assert store.get(("users", name), name).value == {"tea": apart}
        store.put(("users", name), name, {"tea": name})
        assert [one.value for one in store.search(("users", apart))] == [{"tea": name}]

"""Namespaces and keys in several Unicode forms."""

import unicodedata

import pytest

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


@pytest.mark.parametrize("kept", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_a_filter_finds_a_value_in_either_form(tmp_path, kept, asked):
    """Names and texts of a filter match those of a value, however deep, in every operator."""
    here, there = (unicodedata.normalize(form, "Zo\u00eb") for form in (kept, asked))
    with MemoryManager(tmp_path, embedder=None) as memory:
        store = MementoStore(memory)
        store.put(("users",), "one", {here: here, "in": {here: [here, {here: 1}]}})
        for wanted in (
            {there: there},
            {there: {"$eq": there}},
            {"in": {there: [there, {there: 1}]}},
            {"in": {"$eq": {there: [there, {there: 1}]}}},
        ):
            assert len(store.search(("users",), filter=wanted)) == 1, wanted
            assert len(store.search(("users",), query="Zoe", filter=wanted)) == 1, wanted
        assert store.search(("users",), filter={there: {"$ne": there}}) == []

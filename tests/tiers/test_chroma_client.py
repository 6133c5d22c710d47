"""The client of Chroma, where no store is needed."""

import sys
from types import ModuleType

from memento.tiers import chroma


def test_a_module_that_another_thread_is_importing_has_no_clients(monkeypatch, tmp_path):
    """Two stores of a process may look for clients while one of them imports Chroma."""
    half = ModuleType("chromadb.api.shared_system_client")
    monkeypatch.setitem(sys.modules, half.__name__, half)
    chroma.refuse_if_shared(tmp_path)

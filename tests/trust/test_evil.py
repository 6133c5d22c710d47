"""No text is code, a pattern or a path, whatever parameter it is given as."""

from __future__ import annotations

import inspect

import harness_evil

from memento import MemoryManager


def test_there_are_sixty_strings_and_every_method_is_tried(tmp_path):
    """A public method or parameter added later is tried without being named here."""
    assert len(set(harness_evil.EVIL)) >= 60
    with MemoryManager(tmp_path, embedder=None) as memory:
        names = {what.split("(")[0] for what, *_ in harness_evil.calls(memory, "x")}
    public = {
        name for name, one in inspect.getmembers(MemoryManager, inspect.isfunction)
        if name[0] != "_" and len(inspect.signature(one).parameters) > 1
    }  # fmt: skip
    assert public - names <= harness_evil.LEFT_OUT

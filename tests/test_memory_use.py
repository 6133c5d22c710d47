"""The memory that a process takes does not grow with the number of different texts it is told."""

from __future__ import annotations

import sys
from functools import cache

SAID = "Query number {n} about topic{n} and thing zz{n}: where is lamp{n} on {n} May?"
WARM = 6
"""Ways of asking that may each meet a table for the first time, such as that of a language."""


def unbounded(prefix="memento"):
    """Count what each cache without a bound holds, by its name."""
    modules = [module for name, module in sys.modules.items() if name.startswith(prefix)]
    found = {id(value): value for module in modules for value in vars(module).values()
             if hasattr(value, "cache_info") and value.cache_info().maxsize is None}  # fmt: skip
    return {f"{one.__module__}.{one.__qualname__}": one.cache_info().currsize
            for one in found.values()}  # fmt: skip


@cache
def careless(text):
    """Keep every text: the null control."""
    return text


def talk(memory, numbers):
    """Say, ask and keep something that was never said before, in namespaces never used before."""
    for n in numbers:
        said = SAID.format(n=n)
        memory.observe(f"My lamp{n} is in room{n}.", "Noted.", session=f"s{n}")
        memory.of(f"user{n}").add(said, key=f"key {n}", scope=f"scope{n}", actor=f"Person{n}")
        memory.retrieve(said, record=False)
        memory.recall(said, session=f"s{n}", record=False)
        memory.prompt(said, record=False)
        careless(said)


def test_no_cache_without_a_bound_grows_with_what_is_said(memory):
    """Distinct words, names, keys, scopes and sessions leave each of them as large as it was."""
    talk(memory, range(WARM))
    memory.flush(wait=True)  # the background thread has loaded its parts
    before, control = unbounded(), unbounded(__name__)
    talk(memory, range(WARM, 3 * WARM))
    assert unbounded() == before
    assert len(before) >= 5
    assert unbounded(__name__) != control

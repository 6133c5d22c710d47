"""The benchmark of prompt caches measures what consecutive requests share."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain", reason="pip install 'agent-memento[langchain]'")

import prompt_cache


def test_what_two_texts_begin_with():
    """Up to the first difference, or the end of the shorter one."""
    assert prompt_cache.beginning("abcd", "abxd") == "ab"
    assert prompt_cache.beginning("ab", "abcd") == "ab"
    assert prompt_cache.beginning("", "a") == ""


def test_a_block_behind_the_user_s_message_leaves_the_history_as_it_is():
    """Without memory most is shared, with the block behind the user's message nearly as much."""
    without, system, user = prompt_cache.run(4)
    assert without["blocks"] == 0
    assert system["blocks"] == user["blocks"] == user["requests"] == 5
    assert system["share"] < user["share"] < without["share"]
    assert user["tokens"] == pytest.approx(system["tokens"], rel=0.02)

"""Which of two statements that conflict stands higher."""

import pytest

from memento.claims.standing import Stand, stands_higher


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        (Stand("user", None, 1, 1), Stand("agent", None, 9, 9)),
        (Stand("user", None, 1, 1), Stand("user", "assistant", 9, 9)),
        (Stand("agent", None, 1, 1), Stand("web", None, 9, 9)),
        (Stand("user", None, 2, 1), Stand("user", None, 1, 9)),
        (Stand("user", None, 1, 2), Stand("user", None, 1, 1)),
        (Stand("user", None, 1, 1, -3.0), Stand("agent", None, 9, 9, 3.0)),
        (Stand("agent", None, 1, 1, 0.0), Stand("web", None, 9, 9, 9.0)),
        (Stand("user", None, 1, 1, 0.0), Stand("user", None, 9, 9, -1.2)),
        (Stand("user", None, 9, 9, -1.0), Stand("user", None, 1, 1, 0.0)),
    ],
)
def test_trust_decides_before_belief_and_belief_before_time(higher, lower):
    """And exactly one of two stands higher."""
    assert stands_higher(higher, lower)
    assert not stands_higher(lower, higher)

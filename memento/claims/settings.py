"""The settings of the settling pass: what may supersede, and what is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

from memento.check import MAX_INTEGER, check_count, check_word
from memento.errors import InvalidInput

LONGEST = 40
"""Maximum number of words in a statement that is read."""

Supersede: TypeAlias = Literal["keys", "explicit", "updates"]


@runtime_checkable
class Judge(Protocol):
    """Compares two statements that the rules take for distinct: a model, for example."""

    def judge(self, new: str, old: str) -> tuple[str, float]:
        """Return a verdict, such as ``contradicts`` or ``distinct``, and its probability."""
        ...


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Settings for statements that conflict.

    Attributes:
        supersede: What supersedes an older memory. ``keys``: only a new value for its key.
            ``explicit``: also a statement that revokes the value in an older one, provided that
            neither says anything else, such as a reason in the older one or "today", "not just" or
            "Tom says" in the newer one. ``updates``: also any other statement that says that
            something has changed. Other conflicts are only flagged.
        pairs: Maximum number of earlier statements to compare with a new one, >= 0; 0 turns
            comparison off.
        vocabulary: Additional nouns, in lower case, mapped to the attribute they name, such as
            ``{"berth": "berth"}``: such attributes have one value at a time.
        judge: A classifier to consult about pairs that the rules consider unrelated although they
            share a value or the name of an attribute. It can only flag a pair, at a probability of
            0.8 or more.
    """

    supersede: Supersede = "explicit"
    pairs: int = 12
    vocabulary: Mapping[str, str] = field(default_factory=dict)
    judge: Judge | None = None

    def __post_init__(self) -> None:
        check_word("conflicts.supersede", self.supersede, get_args(Supersede))
        check_count("conflicts.pairs", self.pairs, least=0, most=MAX_INTEGER)
        if not _is_vocabulary(self.vocabulary):
            raise InvalidInput("conflicts.vocabulary", "must map lower-case nouns to attributes")
        if self.judge is not None and not isinstance(self.judge, Judge):
            raise InvalidInput("conflicts.judge", "has no method judge")

    @property
    def nouns(self) -> tuple[tuple[str, str], ...]:
        """The vocabulary in a form that can be a key of a cache."""
        return tuple(sorted(self.vocabulary.items()))


def _is_vocabulary(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    pairs = [*value.items()]
    return all(isinstance(word, str) and word.strip() for pair in pairs for word in pair) and all(
        noun == noun.lower() and " " not in noun for noun, _ in pairs
    )

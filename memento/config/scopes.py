"""Settings of scopes."""

from __future__ import annotations

from dataclasses import dataclass

from memento.check import check_count, check_flag, check_share


@dataclass(frozen=True, slots=True)
class ScopeConfig:
    """Settings of guesses, of promotions and of what other namespaces share.

    Attributes:
        shared: Whether ``retrieve`` and ``policy`` show what other namespaces share.
        write_at: Confidence from which ``observe`` stores in the scope that it guesses, [0, 1]; 1
            for never, as no guess is certain.
        known_by: Memories with a vector that a scope must have to be guessed by its meaning, >= 1.
        margin: How much nearer than the next scope it must be for that, in cosine, [0, 1].
        alike: Cosine from which memories of several scopes say the same, [0, 1].
        siblings: Scopes side by side that must say the same before that may be promoted, >= 2.
    """

    shared: bool = True
    write_at: float = 0.8
    known_by: int = 5
    margin: float = 0.05
    alike: float = 0.9
    siblings: int = 3

    def __post_init__(self) -> None:
        check_flag("scopes.shared", self.shared)
        check_count("scopes.known_by", self.known_by)
        check_count("scopes.siblings", self.siblings, least=2)
        for name in ("write_at", "margin", "alike"):
            check_share(f"scopes.{name}", getattr(self, name))

"""Tables whose rows carry a digest of themselves, to notice damage on the disk.

A row that is not as it was written is left out of every answer; ``doctor`` reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import Field, fields
from operator import attrgetter
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, or_replace
from memento.ledger.rows import seal_of


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=_Dataclass)


class Table(Generic[R]):
    """One table: its columns are the fields of a dataclass, in their order, and the seal.

    Args:
        name: Name of the table.
        kind: The dataclass.
        key: The columns by which a row is replaced.
        unsealed: An integer column that changes too often to be in the seal.

    Attributes:
        query: The ``SELECT`` of all columns, to which conditions can be added.
    """

    def __init__(self, name: str, kind: type[R], key: Sequence[str], unsealed: str = "") -> None:
        names = [field.name for field in fields(kind)]
        columns, holes = ", ".join([*names, "seal"]), ", ".join("?" * (len(names) + 1))
        changed = [name for name in (*names, "seal") if name not in key]
        insert = f"INSERT INTO {name} ({columns}) VALUES ({holes})"
        self._kind, self._unsealed = kind, unsealed
        self._all = attrgetter(*names)
        self._sealed = attrgetter(*[one for one in names if one != unsealed])
        self.query = f"SELECT {columns} FROM {name}"
        self._add = f"{insert} {SKIP_IF_THERE}"
        self._put = f"{insert} {or_replace(', '.join(key), *changed)}"

    def put(self, db: Session, one: R) -> None:
        """Write a row, new or changed. Inside a transaction."""
        db.execute(self._put, self.values(one))

    def add(self, db: Session, one: R) -> bool:
        """Write a row unless its key is there; tells whether it was not. Inside a transaction."""
        return db.execute(self._add, self.values(one)).rowcount > 0

    def values(self, one: R) -> tuple[Any, ...]:
        """Return the values of a row in the order of the columns, the seal last."""
        return (*self._all(one), seal_of(*self._sealed(one)))

    def whole(self, values: Sequence[Any]) -> R | None:
        """Make a row of the values of its columns; None if it is not as it was written."""
        made = self._kind(*values[:-1])
        sound = not self._unsealed or isinstance(getattr(made, self._unsealed), int)
        return made if sound and self.values(made) == tuple(values) else None

    def select(self, db: Session, rest: str = "", values: Sequence[Any] = ()) -> Iterator[R]:
        """Yield the whole rows of a ``SELECT`` that ends like this."""
        found = db.execute(f"{self.query} {rest}", tuple(values)).fetchall()
        return (one for one in map(self.whole, found) if one is not None)

    def find(self, db: Session, rest: str, values: Sequence[Any]) -> R | None:
        """Read the one row that fits; None if there is none, or if it is damaged."""
        return next(self.select(db, rest, values), None)

    def damaged(self, db: Session) -> int:
        """Count the rows that are not as they were written."""
        return sum(self.whole(values) is None for values in db.execute(self.query))

"""The settings of ``observe``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memento.check import check_flag
from memento.errors import InvalidInput

MODES = ("off", "assist", "full")
FORGETS = ("ask", "named", "all")


@dataclass(frozen=True, slots=True)
class ObserveConfig:
    """Settings of the learning from a conversation.

    Attributes:
        mode: ``off``: no language model is asked. ``assist``: the model of ``Config.llm`` sees
            messages with a statement in doubt, or with a correction of something that was not
            found. ``full``: it sees every message of the user. It only points at sentences.
        store_at: Least probability at which a statement is stored, (0, 1]. At 0.8 the detector was
            right about 95 of 100 sentences that it had not seen.
        doubt_at: Least probability at which a statement is returned as doubtful, (0, ``store_at``].
        sentences: Most sentences of a message that are read, >= 1; the rest is taken for pasted
            text.
        forget: What a request to forget does: ``ask`` only names what it would hide; ``named``
            hides at once what fills a slot that the request names; ``all`` also hides what has
            every word that it names.
        praise: Whether praise and fault of the assistant are a verdict: they close the turn
            (``loop``) of the session that was opened last, with the outcome 0.5 or -0.5 for the
            memories that it showed. Without such a turn they are only noted.
    """

    mode: Literal["off", "assist", "full"] = "off"
    store_at: float = 0.8
    doubt_at: float = 0.5
    sentences: int = 40
    forget: Literal["ask", "named", "all"] = "named"
    praise: bool = False

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, MODES)
        _one_of("forget", self.forget, FORGETS)
        _share("store_at", self.store_at, 1.0)
        _share("doubt_at", self.doubt_at, self.store_at)
        check_flag("observe.praise", self.praise)
        if type(self.sentences) is not int or self.sentences < 1:
            raise InvalidInput(
                "observe.sentences", f"must be an integer >= 1, not {self.sentences!r}"
            )


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidInput(f"observe.{name}", f"{value!r} is not one of: {', '.join(choices)}")


def _share(name: str, value: object, most: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= most:  # type: ignore[operator]
        raise InvalidInput(f"observe.{name}", f"must be in (0, {most}], not {value!r}")

"""Choose what a prompt shows of a long memory."""

from __future__ import annotations

from collections.abc import Sequence

from memento.language.words import content, terms
from memento.retrieve.passage import Near, excerpt, passage


class Relevant:
    """Shortens texts to the passages that are relevant to a query: a ``memento.policy.Cut``.

    Args:
        query: The query, in plain words.
        long: Characters from which a text is shortened, and most characters shown of it; None to
            shorten only what does not fit.
        several: The same if the query wants several memories: then more of them are shown, and less
            of each. None for ``long``.
        near: Compares windows of a text with the query by their meaning, where the words leave a
            doubt; or None.
        best: The one text for which ``near`` is used, since it takes some 25 ms.

    >>> cut = Relevant("Who plays the cello?", 20)
    >>> cut("It rained. Ada plays the cello. Bob sleeps.", None)
    '…Ada plays the cello.…'
    """

    def __init__(
        self,
        query: str,
        long: int | None,
        several: int | None = None,
        near: Near | None = None,
        best: str | None = None,
    ) -> None:
        from memento.retrieve.question import MAX_TEXT, wants_several  # noqa: PLC0415 - loads NumPy

        self._wanted = content(terms(query[:MAX_TEXT]))
        self._briefly = several is not None and wants_several(query[:MAX_TEXT])
        self._room = several if self._briefly else long
        self._near, self._best = near, best
        self._scores: dict[str, float] = {}

    def __call__(self, text: str, room: int | None) -> str:
        """Return the relevant part of a text, at most ``room`` characters of it."""
        room = self._room if room is None else room
        if room is None or len(text) <= room:
            return text
        if self._briefly:
            return passage(text, self._wanted, room)
        near = self._score if self._near is not None and text == self._best else None
        return excerpt(text, self._wanted, room, near)

    def _score(self, windows: Sequence[str]) -> list[float]:
        """Score windows; those of a text that is cut again, to less room, are known already."""
        assert self._near is not None  # noqa: S101 - see __call__
        new = [window for window in dict.fromkeys(windows) if window not in self._scores]
        if new:
            self._scores.update(zip(new, self._near(new), strict=True))
        return [self._scores[window] for window in windows]

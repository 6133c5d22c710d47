"""Tell whether words of a message are shown behind a colon, played or supposed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memento.observe.signals import Span

_OWN = frozenset(
    """about agreed always answer background bio btw change clear context convention conventions
    correction corrections decided decision decisions do fact facts future fyi goal goals heads
    info intro know mind never note notes now plan plans policies policy preference preferences
    procedure process ps record remember reminder request requests routine rule rules setup
    situation sorry steps task tasks thing things todo update way workflow choice method recipe
    verdict erinnerung hinweis jetzt korrektur merke notiz regel regeln sofort wichtig important
    maintenant rappel règle règles remarque souviens ahora corrección importante nota
    preferencia recordatorio recuerda regla reglas promemoria regola regole ricorda correção
    lembrete lembre regra regras herinnering onthoud regels 规则 记住 请记住 备注 注意 提醒
    更正 从现在起 从现在开始 重要 覚えておいて ルール メモ 注意 訂正 今後 重要""".split()  # noqa: SIM905 - words read better as one text
)
"""Words that announce a statement of the user's own."""
_BESIDE = frozenset(
    """a after again all also an and another basic be by final first for from further fun
    general here heres house in is it just keep last me memory mine more my myself new next of
    ok okay on one our ours please pls project quick repo se self small so some still the these
    this to today up us we you your yourself ab an bitte dir eine für meine mir neue noch von
    zur une ma mes pour toi nouvelle à partir de a mi mis una para ti mia una nuova per te da
    minha uma mijn een nieuwe voor""".split()  # noqa: SIM905
)
"""Words that may stand beside one of them. No name is among either, nor a word for others."""
_LEFT_OUT = re.compile("[.'\u2019]")
_LEAD_WORD = re.compile(r"[^\s,:-]+")


def is_own_lead(head: str) -> bool:
    """Return whether the words before a colon announce a statement of the user's own.

    >>> is_own_lead("One more rule"), is_own_lead("Plan B"), is_own_lead("Note from Ann")
    (True, False, False)
    """
    words = {_LEFT_OUT.sub("", word) for word in _LEAD_WORD.findall(head.casefold())}
    return words <= _OWN | _BESIDE and not words.isdisjoint(_OWN)


def _is_shown(masked: str, sentence: Span, start: int) -> bool:
    """Return whether words before a colon only show what follows, and do not state it.

    "Count the words in: never merge on a Friday" states no rule, "New rule: ..." does.

    Args:
        masked: The message after ``mask.hide``.
        sentence: The sentence.
        start: Where in it a statement starts.
    """
    head, colon, _ = masked[sentence.start : start].rpartition(":")
    return bool(colon) and not is_own_lead(head)


_PLAYED = re.compile(
    r"(?:(?:ok|okay|now|so|please|let['’]?s)[\s,]+){0,3}(?:role-?play|(?<=s )play\b"  # noqa: RUF001 - a real apostrophe
    r"|play a game|pretend|imagine|suppose|assume|act as|you(?:['’]re| are) (?:an?|the|now)\b)",  # noqa: RUF001 - as above
    re.IGNORECASE,
)
"""A sentence after which a message plays a part, or supposes something."""


def _played_from(sentences: Iterable[Span]) -> int | None:
    """Return where a message begins to play a part or suppose something, or None."""
    return next((one.end for one in sentences if _PLAYED.match(one.text)), None)


def is_stated_outright(said: Span, at: int, masked: str, sentences: Sequence[Span]) -> bool:
    """Return whether words are neither shown behind a colon nor played or supposed.

    Args:
        said: The words.
        at: Index in the message; a colon after it does not count.
        masked: The message after ``mask.hide``.
        sentences: The sentences of the message.
    """
    played = _played_from(sentences)
    whole = next((one for one in sentences if one.start <= said.start < one.end), said)
    return (played is None or said.end <= played) and not _is_shown(masked, whole, at)

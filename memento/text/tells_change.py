"""Return whether a statement says that something changed. Pure; standard library only.

"We moved to Leith", "she drums now", "the bins go out on Monday instead": of two statements about
the same thing, such a one says which of them still holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from memento.text.fast_pattern import Small
from memento.text.words import content

_LONGEST = 400  # characters; a longer text tells of much more than one change
_CHANGE = Small(
    r"""
    \b(?: now | moved? | moving | switch(?:ed|ing)? | swapped | chang(?:e[sd]?|ing) | instead
        | no\ (?:longer|more) | any\ ?more | from\ now\ on | these\ days | new
        | replac(?:e[sd]?|ing) | renamed | upgraded | back\ to | actually | correction
        | (?:has|have|['’]s|['’]ve)\ (?:left|quit|gone|retired|stopped|become|lost|shut|closed)
        | (?:took|taken|takes)\ over | takes\ the\ place | (?:gave|given)\ up | update[ds]?
        | (?:stopped|quit|started)\ \w+ing | put\ (?:\w+\ )?(?:off|back|forward) | postponed
        | brought\ forward | rescheduled | cancell?ed | (?:broke|split)\ up
        | (?:as\ of|from|since|starting)\ (?:today|tomorrow|next|this|monday|tuesday|wednesday
            |thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august
            |september|october|november|december)
        # German
        | jetzt | mittlerweile | inzwischen | ab\ (?:sofort|jetzt|heute|morgen) | statt(?:dessen)?
        | nicht\ mehr | kein\w*\ mehr | umgezogen | gewechselt | geändert | neue[nrsm]?
        | umgestiegen | verschoben | abgesagt
        # Spanish
        | ahora | ya\ no | cambi(?:ó|é|amos|ado|ada|aron) | mud(?:ó|é|amos|ado) | nuev[oa]s?
        | en\ (?:vez|lugar)\ de | a\ partir\ de | desde\ (?:hoy|ahora)
        # French
        | maintenant | désormais | ne\ \w+\ plus | n['’]\w+\ plus | déménag\w+ | chang(?:é|ée|és)
        | nouve(?:au|l|lle)s? | au\ lieu\ de | à\ partir\ de
    )\b
    # Japanese and Chinese
    | 今は | もう | 変わ[っり] | 変更 | 引っ越し | 新しい | 代わりに | 現在 | 现在 | 改[为成到]
    | 換成 | 换成 | 搬到 | 不再 | 新的
    """,  # noqa: RUF001 - real apostrophes
    re.VERBOSE,
)


_EVENT = Small(
    r"""
    \b(?: (?:went|gone|goes|going|go)\ (?:up|down) | put\ (?:\w+\ ){0,4}up\ (?:to|from|by)
        | raised | lifted | increased | lowered | reduced | doubled | tripled | halved
        | cut\ (?:\w+\ )?(?:to|by|from) | (?:dropped|risen|rose)\ (?:to|by|from)
        | since\ (?:the|my|our|his|her|last) | this\ (?:season|term|year)
        | promoted | traded | died | retired | sold | bought
    )\b
    """,
    re.VERBOSE,
)
"""Events that often change something; but "she bought a hat" takes nothing back."""
_EVENT_WORDS = frozenset(
    """went gone goes going go put raised lifted increased lowered reduced doubled tripled halved
    cut dropped risen rose since season term year promoted traded died retired sold
    bought""".split()  # noqa: SIM905 - words read better as one text
)
"""One of these is in every text that `_EVENT` matches."""
_ACTS = _EVENT_WORDS - {"since", "season", "term", "year"}
_TRIGGERS = frozenset(
    """now move moved moving switch switched switching swapped change changed changes changing
    instead longer more anymore these new replace replaced replaces replacing renamed upgraded
    back actually correction left quit gone retired stopped become lost shut closed took taken takes
    gave given update updated updates started put postponed brought rescheduled cancelled canceled
    broke split as from since starting jetzt mittlerweile inzwischen ab statt stattdessen nicht
    mehr umgezogen gewechselt neue neuen neuer neues neuem umgestiegen verschoben abgesagt ahora ya
    vez lugar partir desde nuevo nueva nuevos nuevas maintenant plus lieu""".split()  # noqa: SIM905 - words read better as one text
)
"""One of these is in every ASCII text that `_CHANGE` matches; it costs ten times as much."""


def tells_change(text: str, words: Collection[str]) -> bool:
    """Return whether a short text has a word of change.

    Args:
        text: The text.
        words: Its words, folded.

    >>> told = "No more fiddle for Ada, she drums now"
    >>> tells_change(told, told.lower().split())
    True
    """
    if len(text) > _LONGEST or (text.isascii() and _TRIGGERS.isdisjoint(words)):
        return False
    return _CHANGE.found_in(text)


def may_tell_change(text: str, words: Collection[str]) -> bool:
    """Tell whether a short text has a word of change, or of an event that often changes something.

    It may order two statements about the same thing; it is too little to replace one by the other.

    Args:
        text: The text.
        words: Its words, folded.

    >>> may_tell_change("They raised the fee to 14", "they raised the fee to 14".split())
    True
    """
    if tells_change(text, words):
        return True
    return len(text) <= _LONGEST and not _EVENT_WORDS.isdisjoint(words) and _EVENT.found_in(text)


def tells_event_of_another(newer: Sequence[str], older: Sequence[str]) -> bool:
    """Return whether two statements tell the same event, and of different things.

    "The red boat was sold for 20" takes nothing back of "The shed was sold for 90".

    Args:
        newer: Words of the later statement, folded.
        older: Words of the earlier one.

    >>> older = "the shed was sold to Ruiz for 90".split()
    >>> tells_event_of_another("the boat was sold to Ruiz for 20".split(), older)
    True
    >>> tells_event_of_another("the shed was sold after all".split(), older)
    False
    """
    at = next((at for at, word in enumerate(older) if word in _ACTS and word in newer), 0)
    things = content(older[:at])
    return bool(things) and set(things).isdisjoint(content(newer))

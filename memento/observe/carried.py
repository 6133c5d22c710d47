"""Tell whether a message may carry words that the user did not type. Pure.

A mail that is forwarded, a page, a log, a chat or a file in a message is not the user's word, and
whoever wrote it can make it look like one: close a mark, open it again, leave it out. So nothing is
decided by recognising such texts. What is recognised is the one form that has no room for them: a
short line of plain prose, all signs of which stand at or within words, and which gives nobody else
the word. In anything else nothing that steers an agent is learnt by itself: no rule, no value of a
slot, no request to forget, no correction. Of what looks like prose the rest may be learnt; of all
other messages nothing is.
"""

from __future__ import annotations

import re
from unicodedata import category, normalize

from memento.base.blocks import SHOWN
from memento.observe import cues
from memento.observe.mask import HIDDEN, OWN
from memento.observe.shown import is_own_lead

LONGEST = 600
"""Most characters of a message that is taken for typed. Of 1,367 messages to an assistant, all but
17 of those that had one line were shorter."""
MOST_READ = 8_000
"""Most characters of a message that are read; nobody types more."""
PROSE = "prose"
"""Why a message may carry something that has the form of prose in each of its lines."""

_STARTS = re.compile(
    r"(?:(?:[-*•]|\d{1,2}[.)])\s+)?(?:[^\W_]|[¿¡'’‘“„«»\"`(.…]|[^\w\s\x00-\x7f\u2000-\u206f])"  # noqa: RUF001 - real
)
"""The start of a line of prose or an item: a letter, an opening mark, or an emoji."""
_MARK = re.compile(
    r"^\W*(?:\d{1,2}[:.]\d\d\b|\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|https?://|www\.|rt\s@)"
    r"|</?[^\W\d_]|[{}|\[\]\t]|[\s~][>#$]\s|-{3,}|={3,}|\*\*|__|\s/(?:\s|$)",
    re.IGNORECASE,
)
"""A moment or an address before all words, and signs of tables, markup, code and letters."""
_SPEAKER = re.compile(
    r"\W*(?![\w'’-]+(?:\s[a-z\d'’,/+-]+){1,2}\s?:)(?P<label>[^\W_][^\s:]*(?:\s[^\s:]+){0,2})\s?[:：](?=\s|$)"  # noqa: RUF001
)
"""Up to three words before the first colon, the later ones not all in small letters: who speaks."""
_QUOTE = re.compile(r"[\"＂“”„«»「」『』]")  # noqa: RUF001 - real marks

_CJK = r"\u3040-\u30ff\u3400-\u9fff"
_LEAD = re.compile(rf"(?:^|(?<=[.!?。]))(?P<lead>[^:.!?。]{{1,60}}):(?=\s|[{_CJK}])")
_WITHIN = re.compile(
    r"""(?<=\w)\s\((?=[a-z\d])[\w\s.,:'’%+-]{1,60}\) | https?://\S+
    | (?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}
    | (?<=\w)[-'’./&+\#%@](?=\w) | (?<=\d)(?:,(?=\d)|:(?=\d\d\b)|[%$€£]) | (?<=\w)[+\#]+(?!\S)
    | (?<!\S)(?:[$€£\#+](?=\d) | [\#/.](?=[a-z]) | --?(?=[a-z]) | ['‘](?=\w))
    | (?<=\s)(?:@(?=\w)|&(?=\s))
    | (?<=\w)['’](?![\w'’])
    | (?:[:;]-?[)(DP]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]|\s){1,20}$
    """,  # noqa: RUF001 - real marks
    re.VERBOSE,
)
"""Signs at and within the words that people type, an aside in brackets, emoji behind the last."""
_LOST = re.compile(r"\s\ufffd")
"""What stands, by itself, for a character that no database can hold."""
_SIGN = re.compile(
    rf"""[^\w\s.,!?¿¡"“”„«»「」『』。、\u0300-\u036f]
    | (?<![\w\u0300-\u036f])[\u0300-\u036f]
    | [\u02b0-\u02ff\ua4d0-\ua4ff]
    | ^[.,!?] | \s[.,] | \.\.(?=\w) | (?<=\w)[¿¡]
    | (?<![{_CJK}])、 | (?<![{_CJK}]),(?=[^\W\d])(?![{_CJK}])
    | (?<=[^\s.!?。])\s\s""",
    re.VERBOSE,
)
"""Any other sign, or one in another place: it may part the words of two people."""
_AGAIN = re.compile(
    r"""(?<![\s.!?"“”„«»「」。])[\s@/&\#%+'’_-]\s*(?:From|Always|Never|Please|Use|Call|My|Forget|Don['’]t|Do|Our|No|We|Stop
    |You|Your|When|If|Whenever|Before|After|Make|Keep|Send|Delete|Answer|Reply|Write|Remember|Ab|Von
    |Immer|Nie|Niemals|Bitte|Ich|Mein|Meine|Vergiss|Nenn|Wir|Unser|Unsere|Benutze|Verwende|Antworte
    |Désormais|Toujours|Jamais|Je|Oublie|Appelle|Utilise|Nous|Notre|Siempre|Nunca|Mi|Olvida|Llámame
    |Usa|Sempre|Dimentica|Chiamami|Meu|Minha|Esquece|Altijd|Nooit|Vanaf|Mijn|Vergeet|Noem|Gebruik|Ik)\b
    | ^(?!(?i:at|by|from|until|till|before|after|around|um|ab|bis|om|vers|à|alle|às)\b)
      \S{1,40}\s\d{1,2}:\d\d\b
    | ^\d{1,3}[.)]\s
    | (?<!\s\d)(?<!\s\d\d)[.!?]\s(?!(?:Thanks|Thank\ you|Thx|Please|Ok|OK|Danke|Merci|Gracias)\W?$)
      (?:[A-ZÀ-Þ][\w'.-]{0,30},?\s?){1,4}$""",  # noqa: RUF001 - real apostrophes
    re.VERBOSE,
)
"""Where a line begins anew or ends before its end: a sentence starts inside another, a time or a
number stands before it, or a name behind it."""
_TELLS = re.compile(
    r"""(?P<own>\b(?:i|we|you)(?:['’](?:ve|d|re))?\s(?:(?:have|had|just|already|also|never|ever|once|always
      |actually|really|only|clearly|then)\s){0,3})?
    \b(?:says|(?<=\bthey\s)say|(?<=\bpeople\s)say|said|writes|wrote|asks|asked|tells|told|replies|replied|answered|stated|announced
      |mentioned|insists|insisted|demands|demanded|messaged|texted|according\sto)\b""",  # noqa: RUF001
    re.IGNORECASE | re.VERBOSE,
)
_SUPPOSED = re.compile(
    r"(?:^|[.,!?]\s)(?:\w{1,20}\s)?(?:if|when|whenever|unless|until|once)\b[^,.!?]{0,200}$",
    re.IGNORECASE,
)
"""A condition, in which a verb that tells gives nobody the word: "When a customer asks, ..."."""


def carries(text: str, masked: str, language: str = "en") -> str | None:
    r"""Name the reason for which a message may hold words that the user did not type.

    Args:
        text: A message of the user, word for word.
        masked: The message after ``mask.hide``.
        language: ISO 639-1 code of its language.

    Returns:
        None for a short line of plain prose. ``PROSE`` for prose of several lines, with any sign
        that may part the words of two people, with words that it gives to somebody else, or of more
        than 600 characters. Otherwise ``"length"`` (more than 8,000), ``"quotes"`` (a quotation
        that is not closed, or several), ``"marks"`` (a block of memories or its tag, markup, a
        table, code, a moment or an address before the words) or ``"speaker"`` (a name or a field
        before a colon, or a line that announces the lines below).

    >>> from memento.observe.mask import hide
    >>> said = ["Use tabs, never spaces.", "Bob - use tabs.", "Bob says tabs.", "Bob: tabs."]
    >>> [carries(one, hide(one)) for one in said]
    [None, 'prose', 'prose', 'speaker']
    """
    said = text.strip()
    if len(said) > MOST_READ:
        return "length"
    if SHOWN in said or HIDDEN in said or OWN.search(said):
        return "marks"
    if len(_QUOTE.findall(said)) not in (0, 2):
        return "quotes"
    lines = [line.strip() for line in masked.splitlines() if line.strip()]
    if any(line.endswith((":", "：")) and not is_own_lead(line) for line in lines[:-1]):  # noqa: RUF001
        return "speaker"
    hard = next((why for line in lines if (why := _hard(line.replace(HIDDEN, "x"), line))), None)
    if hard or len(said.splitlines()) > 1 or len(said) > LONGEST:
        return hard or PROSE
    return None if all(_is_typed(line, language) for line in lines) else PROSE


def _hard(line: str, masked: str) -> str | None:
    """Name the reason for which a line is no prose."""
    if not masked.strip(HIDDEN + " \t") or _MARK.search(line) or not _STARTS.match(line):
        return "marks"
    speaker = _SPEAKER.match(line)
    return "speaker" if speaker and not is_own_lead(speaker["label"]) else None


def _is_odd(char: str) -> bool:
    """Tell whether a sign becomes letters or other signs when it is normalised, as "℅" does."""
    usual = char.isascii() or "\uff01" <= char <= "\uff60" or char == "…"  # full-width forms
    return not usual and category(char)[0] in "PS" and normalize("NFKC", char) != char


def _is_typed(masked: str, language: str) -> bool:
    """Tell whether a line is plain prose and gives nobody else the word."""
    line = _LOST.sub("", masked.replace(HIDDEN, "x"))
    if any(map(_is_odd, set(line))):
        return False
    line = normalize("NFKC", line).strip()
    line = _LEAD.sub(lambda m: " " if is_own_lead(m["lead"]) else m[0], line).strip()
    if _SIGN.search(_WITHIN.sub("x", line)) or _AGAIN.search(line):
        return False
    if language in cues.LANGUAGES:
        return not cues.load(language).refuses["reports"].search(line)
    told = (one for one in _TELLS.finditer(line) if not one["own"])
    return all(_SUPPOSED.search(line, 0, one.start()) for one in told)

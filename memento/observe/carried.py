"""Find out whether a message may carry words that the user did not type. Pure.

A forwarded mail, a page, a log, a chat or a file in a message is not the user's word, and its
author can make it look like one: close a mark, open it again, leave it out. So nothing here relies
on recognising such texts. What is recognised is the one form that has no room for them: short plain
prose that quotes nobody else. A sentence that the user begins is their own unless somebody else
goes on in it; in other sentences signs may stand only at or within words. From any other message
nothing that steers an agent is learned by itself: no rule, no value of a slot, no request to
forget, no correction. If it looks like prose, the rest may be learned; otherwise nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from unicodedata import category, normalize

from memento.base.blocks import SHOWN
from memento.observe import cues, mask
from memento.observe.leads import is_own_lead
from memento.observe.mask import HIDDEN
from memento.observe.signals import Span
from memento.observe.split import all_sentences
from memento.observe.wording import labelled

LONGEST = 600
"""Maximum number of characters in a message that is taken for typed. Of 1,367 messages to an
assistant, all but 17 of those that had one line were shorter."""
MOST_READ = 8_000
"""Maximum number of characters in a message that are read; nobody types more."""
PROSE = "prose"
"""The reason for a message each line of which has the form of prose."""

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
"""Up to three words before the first colon, the later ones not all in lower case: who speaks."""
_QUOTE = re.compile(r"[\"＂“”„«»「」『』]")  # noqa: RUF001 - real marks

_CJK = r"\u3040-\u30ff\u3400-\u9fff"
_LEAD = re.compile(rf"(?:^|(?<=[.!?。]))(?P<lead>[^:.!?。]{{1,60}}):(?=\s|[{_CJK}])")
_ADDRESS = r"""https?://\S+ | (?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"""
_SENDS = re.compile(_ADDRESS, re.IGNORECASE | re.VERBOSE)
_WITHIN = re.compile(
    rf"""(?<=\w)\s\((?=[a-z\d])[\w\s.,:'’%+-]{{1,60}}\) | {_ADDRESS}
    | (?<=\w)[-'’./&+\#%@](?=\w) | (?<=\d)(?:,(?=\d)|:(?=\d\d\b)|[%$€£]) | (?<=\w)[+\#]+(?!\S)
    | (?<!\S)(?:[$€£\#+](?=\d) | [\#/.](?=[a-z]) | --?(?=[a-z]) | ['‘](?=\w))
    | (?<=\s)(?:@(?=\w)|&(?=\s))
    | (?<=\w)['’](?![\w'’])
    | (?:[:;]-?[)(DP]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]|\s){{1,20}}$
    """,  # noqa: RUF001 - real marks
    re.VERBOSE,
)
"""Signs at and within the words that people type, an aside in brackets, emoji behind the last."""
_LOST = re.compile(r"\s\ufffd")
"""A lone substitute for a character that no database can hold."""
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
_TELLS = r"""(?:I|We|My|Our|Ich|Wir|Meine?|Unsere?|Je|Nous|Notre|Yo|Mi|Meu|Minha|Ik|Mijn)\b"""
_ASKS = r"""(?:(?:Always|Never|Please|Pls|Use|Call\sme|Forget|Don['’]t|Do\snot|No|Only|Stop
    |You\s(?:must|should)|Avoid|Keep|Answer|Reply|Respond|Write|Remember
    |(?:From|Ab|Von|Vanaf)\s(?:now|today|jetzt|heute|nun|nu)
    |Immer|Nie|Niemals|Bitte|Vergiss|Nenn|Benutze|Verwende|Antworte|Désormais|Toujours|Jamais|Oublie
    |Appelle|Utilise|Siempre|Nunca|Olvida|Llámame|Usa|Sempre|Dimentica|Chiamami|Esquece|Altijd|Nooit
    |Vergeet|Noem|Gebruik)\b)"""  # noqa: RUF001 - real apostrophe
_START = rf"""(?:{_TELLS}|{_ASKS}|(?:From|When|If|Whenever|Before|After|Make|Do|Send|Delete|You
    |Your)\b)"""
_POLITE = r"""(?:(?:hi|hey|hello|hallo|hola|salut|bonjour|good\s(?:morning|evening|afternoon)
    |ok(?:ay)?|great|sure|please|pls|danke|merci|gracias|thanks?|thank\syou|thx|cheers|sorry|yes|no|wait|ps)
    (?:\s(?:all|there|again|everyone|so\smuch|a\slot|for\severything))?\b)"""
_OWN = re.compile(
    rf"""(?:(?:{_POLITE}|(?:oh|so|and|but|also|btw|well|by\sthe\sway)\b)\W+){{0,3}}
    (?:(?P<tells>{_TELLS})|{_ASKS})""",
    re.IGNORECASE | re.VERBOSE,
)
"""The start of a sentence in which the user tells something of their own, or asks for something."""
_COURTESY = re.compile(rf"(?:{_POLITE}[\s,.!…]*){{1,4}}", re.IGNORECASE | re.VERBOSE)
"""A greeting, thanks or assent, and nothing else; who adds a name may have signed a letter."""
_ANEW = re.compile(rf"(?:[^\w\s.!?…,]|_)\s*{_START}|(?<=[\w,])\s(?!I\b){_START}", re.VERBOSE)
"""A sentence that starts inside another one: no stop before its capital."""
_PARTED = re.compile(
    r"""[|\\\t¶] | &\#?\w+; | </ | :\s | \S\s\s
    | \b(?:this|these|below|above|following)\s*[^\w\s.,!?'’]
    | (?:\s[^\w\s.,!?'’"]\s*|[^\w\s.,!?'’"]\s+|\()(?:[A-Z][\w'-]*[\s,]*){1,4}[.!)]*$""",  # noqa: RUF001 - real
    re.VERBOSE,
)
"""What splits a sentence all the same: a mark, a sign after "this", a name at its end."""
_GOES_ON = re.compile(rf"""[^\w\s.,!?'’"]\s*{_START}""", re.IGNORECASE | re.VERBOSE)  # noqa: RUF001 - real
"""The same after a sign, in any case; counts in a sentence that only tells something."""
_SIGNED = re.compile(
    r"(?i:signed|(?:\w+ )?regards|best|yours(?: \w+)?|(?:yours )?sincerely|love),"
    r"|(?:[A-ZÀ-Þ][\w'.-]{0,30},?\s?){1,4}[.!]?$"
    r"|(?:\S{1,30}\s){0,2}\S{1,30},\s(?:[A-ZÀ-Þ][\w'.-]{0,30}\s?){1,2}[.!]?$"
)
"""A sentence that closes a letter or is a name: it tells whose the words before it are."""
_LABEL = re.compile(
    r"(?!(?:A|An|And|But|He|It|No|Not|Or|She|So|That|The|There|They)\b)"
    r"[A-ZÀ-Þ][^\s.!?]*(?:\s[^\s.!?]+){1,4}"
)
"""A few words with a capital and no stop, such as what a device puts below a mail."""
_POINTS = re.compile(
    r"""\b(?:this|these|those|the\sfollowing|as\sfollows|below|above)\b
      (?=\s*(?:[,.:;?!]|$|(?:just|came|is|was|from|to\sme|for\s(?:me|us))\b))
    | ^(?:so\s)?here(?:['’]s|\sis|\sare)\b | \b(?:got|received|found|sent)\sthis\b""",  # noqa: RUF001 - real
    re.IGNORECASE | re.VERBOSE,
)
"""Words that point to a text beside them."""
_LISTED = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s")
_AT = re.compile(
    r"(?!(?i:at|by|from|until|till|before|after|around|um|ab|bis|om|vers|à|alle|às)\b)"
    r"\S{1,40}\s\d{1,2}:\d\d\b|\d{1,3}[.)]\s"
)
"""A time or a number that stands before a line."""
_TOLD = r"""(?:says|said|writes|wrote|tells|told|replied|insists|insisted|demands|demanded|messaged
    |texted|asks|(?<!\bbe\s)(?<!\bbeen\s)(?:asked|answered|stated|announced|mentioned))\b"""
_REPORTS = re.compile(
    rf"""(?P<own>\b(?:i|we|you)(?:['’](?:ve|d|re))?\s(?:(?:have|had|just|already|also|never|ever|once|always
      |actually|really|only|clearly|then)\s){{0,3}})?
    (?:\b{_TOLD} | \b(?:was|were|is|are|be|goes|went)\s(?:all\s|just\s)?like,(?=\s)
    | \b(?:they|people)\ssay\b | \breplies\b(?=\W*(?:that\b|[,:]|(?-i:[A-Z])|{_START}))
    | (?-i:\bPer\s[A-Z])\w*,(?=\s) | (?-i:\bAs\s[A-Z])\w*\sput\sit\b
    | (?-i:\bAccording)\sto\b | \baccording\sto\b(?!\s(?-i:[A-Z]{{2}})|\sour\b))""",  # noqa: RUF001
    re.IGNORECASE | re.VERBOSE,
)
"""A verb that quotes somebody else; "replies" is one only before the words quoted."""
_BEHIND = re.compile(
    rf"""[^\w\s'’"]\s*(?:(?:he|she|they|it|(?:the|my)\s\w+|(?-i:[A-Z])\w*)\s)?\b(?:{_TOLD}|replies\b)
    | \b(?:{_TOLD}|replies\b|according\sto\b)\s(?:(?-i:[A-Z][a-z])|(?:the|my|he|she)\b)
    | \b(?:he|she|they|(?-i:[A-Z][a-z]+))\s(?:{_TOLD}|replies\b)\W*$""",  # noqa: RUF001 - real
    re.IGNORECASE | re.VERBOSE,
)
"""Such a verb after the words: "..., said Bob"."""
_SUPPOSED = re.compile(
    r"(?:^|[.,!?]\s)(?:\w{1,20}\s)?(?:if|when|whenever|unless|until|once)\b[^,.!?]{0,200}$",
    re.IGNORECASE,
)
"""A condition, in which such a verb quotes nobody: "When a customer asks, ..."."""


def carries(text: str, masked: str, language: str = "en") -> str | None:
    r"""Return why a message may hold words that the user did not type, or None.

    Args:
        text: A message of the user, word for word.
        masked: The message after ``mask.hide``.
        language: ISO 639-1 code of its language.

    Returns:
        None for a short line of plain prose. ``PROSE`` for prose of several lines (see
        ``are_own``), of more than 600 characters, that quotes somebody else, or has a sign that may
        separate the words of two people in a sentence that the user does not begin. Otherwise
        ``"length"`` (more than 8,000), ``"quotes"`` (a quotation that is not closed, or several),
        ``"marks"`` (a block of memories or its tag, markup, a table, code, a moment or an address
        before the words) or ``"speaker"`` (a name or a field before a colon, or a line that
        announces the lines below).

    >>> from memento.observe.mask import hide
    >>> said = ["Use tabs, never spaces.", "Bob - use tabs.", "Bob says tabs.", "Bob: tabs."]
    >>> [carries(one, hide(one)) for one in said]
    [None, 'prose', 'prose', 'speaker']
    """
    said = text.strip()
    if len(said) > MOST_READ:
        return "length"
    if SHOWN in said or HIDDEN in said or mask.OWN.search(said):
        return "marks"
    if len(_QUOTE.findall(said)) not in (0, 2):
        return "quotes"
    lines = [line.strip() for line in masked.splitlines() if line.strip()]
    short = len(said.splitlines()) == 1 and len(said) <= LONGEST
    rest = _without_own(masked, language) if short else None
    if rest == "":
        return None
    if any(line.endswith((":", "：")) and not is_own_lead(line) for line in lines[:-1]):  # noqa: RUF001
        return "speaker"
    hard = next((why for line in lines if (why := _hard(line.replace(HIDDEN, "x"), line))), None)
    return hard or (None if rest is not None and _is_typed(rest, language) else PROSE)


def _without_own(masked: str, language: str) -> str | None:
    """Return a line without the user's own sentences; None if one tells of another author."""
    spans = all_sentences(masked, masked)
    rest, at = "", 0
    for span in spans:
        own = _is_own(span.text, language, alone=len(spans) == 1)
        if not own and (
            (span.start > spans[0].start and _SIGNED.match(span.text))
            or (span is spans[-1] and at and _LABEL.fullmatch(span.text))
            or (len(spans) > 1 and _POINTS.search(span.text))
        ):
            return None
        rest += masked[at : span.start] + ("" if own else span.text)
        at = span.end
    rest += masked[at:]
    return rest if re.search(rf"[\w{HIDDEN}]", rest) or not spans else ""


def are_own(masked: str, sentences: Mapping[Span, bool], language: str) -> bool:
    """Return whether all sentences of several lines are the user's, and the lines are no list.

    Args:
        masked: The message after ``mask.hide``; ``carries`` finds it prose.
        sentences: Its sentences, and whether each states something for sure.
        language: ISO 639-1 code of the message.
    """
    listed = sum(_LISTED.match(line) is not None for line in masked.splitlines())
    return listed <= 1 and all(
        _COURTESY.fullmatch(span.text)
        or (sure and _is_own(masked[span.start : span.end], language, alone=False))
        for span, sure in sentences.items()
    )


def sends_elsewhere(rule: str, masked: str, sentences: Sequence[Span], language: str) -> bool:
    """Return whether a rule names an address beside a sentence that is not the user's own.

    It would send what the user has to somebody, or take in what somebody has.
    """
    if len(sentences) == 1 or not _SENDS.search(rule):
        return False
    return not are_own(masked, dict.fromkeys(sentences, True), language)


def _is_own(sentence: str, language: str, *, alone: bool) -> bool:
    """Return whether the user begins a sentence, and nobody else goes on or is quoted."""
    line = labelled(normalize("NFKC", sentence.replace(HIDDEN, "x")))
    begun = _OWN.match(line)
    if begun is None or any(map(_is_odd, set(sentence))):
        return _COURTESY.fullmatch(line) is not None
    if _ANEW.search(line, begun.end()) or _PARTED.search(line):
        return False
    if begun["tells"] and _GOES_ON.search(line):
        return False
    if alone and not begun["tells"]:
        return not _BEHIND.search(line)
    return not _POINTS.search(line) and not _reports(line, language)


def _hard(line: str, masked: str) -> str | None:
    """Return why a line is no prose, or None."""
    if not masked.strip(HIDDEN + " \t") or _MARK.search(line) or not _STARTS.match(line):
        return "marks"
    speaker = _SPEAKER.match(line)
    return "speaker" if speaker and not is_own_lead(speaker["label"]) else None


def _is_odd(char: str) -> bool:
    """Return whether a sign becomes letters or other signs when it is normalised, as "℅" does."""
    usual = char.isascii() or "\uff01" <= char <= "\uff60" or char == "…"  # full-width forms
    return not usual and category(char)[0] in "PS" and normalize("NFKC", char) != char


def _is_typed(masked: str, language: str) -> bool:
    """Return whether a line is plain prose that quotes nobody else."""
    line = _LOST.sub("", masked.replace(HIDDEN, "x"))
    if any(map(_is_odd, set(line))):
        return False
    line = normalize("NFKC", line).strip()
    line = _LEAD.sub(lambda m: " " if is_own_lead(m["lead"]) else m[0], line).strip()
    if _SIGN.search(_WITHIN.sub("x", line)) or _ANEW.search(line) or _AT.match(line):
        return False
    return not _reports(line, language)


def _reports(line: str, language: str) -> bool:
    """Return whether a verb quotes somebody else.

    Without a model that reads the whole message, a text that is to be written or played counts too.
    """
    if language in cues.LANGUAGES:
        return cues.load(language).is_anothers(line)
    told = (one for one in _REPORTS.finditer(line) if not one["own"])
    return not all(_SUPPOSED.search(line, 0, one.start()) for one in told)

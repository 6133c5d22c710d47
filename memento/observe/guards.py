"""Refuse sentences that state nothing of the user's own: each veto has a name. Pure.

A guard never says that something is worth a memory; it only says that it is not, and why. The
patterns are English; the other languages have theirs in their tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memento.observe.mask import HIDDEN
from memento.observe.shown import before_colon, shows
from memento.observe.signals import Span
from memento.text.sentences import merely_asks

_GAP = re.compile(r"\n[^\S\n]*\n")
_START = r"""^\W*(?:(?:please|pls|kindly|ok(?:ay)?|now|so|and|but|hey|hi|well|also|just|then)\W+)*
    (?:(?:can|could|would|will)\s(?:you|u)\s(?:please\s)?)?"""
"""The start of a sentence, with the courtesies that may stand there."""


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for sentences whose words stand one blank apart."""
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


_REQUEST = _compiled(
    r"""^\W*(?:(?:hey|hi|ok|okay|please|so|and|also)\W+)*(?:can|could|will|would)\s(?:you|u)\s
    (?:please\s|just\s|also\s)*
    (?: remind\sme\s(?!what|who|where|when|how|which|why|of\b)
      | forget\b | not\s(?:remember|store|save|keep) | delete | remove | erase | wipe
      | always | never | stop\s\w+ing | from\snow\son | keep\s(?:it|your|the\sanswers)
      | make\ssure )"""
)
"""A question that is a request: it may hold a rule, a todo or something to forget."""
_LASTING = _compiled(r"\b(?:from\snow\son|always|never|whenever|every\stime|in\sfuture)\b")
_FORGETS = _compiled(
    rf"""{_START}(?:(?:you\s(?:can|should)|i\s(?:want|would\slike)\syou\sto)\s)?
    (?: forget | erase | wipe | unlearn | scrub | purge
      | (?:delete|remove|clear|discard)\b.*\b
        (?:memor\w+|know|remember|told|said|saved|stored|notes?|about|my)
      | (?:do\snot|don't|never)\s(?:remember|store|save|memori[sz]e|keep|note|write|log)\b )
    | what\ i\ (?:just\ )?said\ should\ not"""
)

_THINGS = r"(?:i|we|you|my|our|it|he|she|they|there|the|this|that|these)"
_ASKING = r"(?:what|who|where|when|why|how|which|whether|if)"
_ASKS = _compiled(
    rf"""^\W*(?:(?:please|ok(?:ay)?|now|so|and|but|hey|hi|well|also|just|then)\W+)*(?:
      (?:who|whom|whose|what|where|when|why|how|which)\s
        (?: (?:is|are|was|were|do|does|did|can|could|should|would|will|shall|has|have|had|am|if)\b
          | (?:much|many|long|old|often|far|come|about|else)\b
          | \w+\s(?:is|are|was|do|does|did|should|can)\b (?!.*:) )
    | (?:what|who|where|how)'s\b
    | (?:do|does|did|is|are|am|was|were|have|has|should|shall)\s{_THINGS}\b
    | (?:can|could|would|will)\s(?:i|we|u|{_THINGS})\b
    | (?:tell|remind|show|ask)\sme\s(?:again\s)?{_ASKING}\b
    | (?:any|anyone|anybody)\s(?:idea|ideas|news|thoughts|tips|suggestions)\b
    | i(?:\sam|'m|\swas)?\swonder(?:ing)?\b
    | i(?:\swant|\swould\slike|'d\slike)\sto\sknow\b
    | (?:i\s)?(?:don't|do\snot)\s(?:know|remember|recall)\s{_ASKING}\b )"""
)
_SUPPOSES = _compiled(
    rf"""{_START}(?:
      if\b[^.?!]*\b(?:would|could|might|wouldn't|couldn't)\b | if\sonly\b
    | if\b[^.?!]*\b(?:i|you|he|she|we|they)'d\b | what\sif\b
    | hypothetically | in\stheory\b | in\san?\sideal\sworld )
    | \b(?:would|could|should|might)(?:\snot|n't)?(?:\sprobably|\snever)?\shave\s
      \w+(?:ed|en|n|t)\b
    | \b(?:would|could)'ve\b | \b(?:i|we)'d\shave\s(?:\w+ed|been|had|gone|done|taken|got)\b
    | \bif\s(?:i|we|he|she|they|it)\s(?:were|had\s\w+ed|was\s(?:a|an)\b)
    | {_START}(?:(?:imagine|suppose|supposing|pretend)\b(?!\snot\b)
        | let's\s(?:say|imagine|suppose|pretend)\b(?!\s(?:\w+day|at\s\d)))
    | \bas\sif\b | \bwould\sbe\s(?:nice|great|cool|fun|good)\sto\b"""
)
_DOUBTS = _compiled(
    r"""\b(?: maybe | perhaps | possibly | presumably | might | probably | undecided | who\sknows
    | not\ssure\s(?:yet|if|whether|about) | i(?:'?m|\sam)\snot\s(?:sure|certain|decided)
    | i\s(?:doubt|guess|suppose|assume|suspect|wish) | if\sonly | my\sguess
    | (?:i|we)\s(?:may|could)\s(?!not\b) | could\s(?:also\s)?(?:try|use|switch)
    | (?:i|we)(?:'?m|'?re|\sam|\sare)\s(?:still\s)?
      (?:thinking|considering|wondering|debating|toying)
    | thinking\s(?:about|of) | considering | don't\sknow\s(?:yet|if) | one\sday | some\s?day
    | (?:haven't|not)\s(?:yet\s)?(?:decided|made\sup) | we'll\ssee | at\ssome\spoint
    | still\s(?:discussing|deciding) | i\shope\sto | i(?:'d|\swould)\slove\sto )\b"""
)
_SAID = r"(?:said|says|thinks?|believes?|claims|claimed|wrote|mentioned|argues?|suggests?|suggested"
_SHOWN_BY = r"""(?:tool|command|function|api|server|web\s?site|web\s?page|page|site|document|docs
    |manual|script|plugin|agent|bot|model|assistant|search|query|endpoint|log|terminal|console)"""
"""Things whose words the user repeats."""
_REPORTS = _compiled(
    rf"""\baccording\sto\b
    | \b(?:he|she|they|someone|somebody|everyone|people|nobody|who)\s(?:\w+ly\s|also\s|once\s)?
      {_SAID}|thought|tells?|told|writes|recommends?|recommended|asked|asks|replied|wants?\sme)
      \b(?!\s?HIDDEN)
    | \b(?:my|our|the|his|her|their|a|some)\s(?!one\b)(?:[\w-]+\s){{1,3}}?
      {_SAID}|told\s(?:me|us)|recommends?|recommended|reads:|states)\b
      (?<!you\ said)(?<!i\ said)(?<!you\ wrote)(?<!i\ wrote)(?<!i\ mentioned)
    | (?<!\bi\ )(?<!you\ )(?<!who\ )(?<!body\ )\bsa(?:id|ys)\s
      (?:the|a|his|her|nobody|(?-i:[A-Z])\w+)\b
    | \bi\s(?:read|heard)\s(?:that|somewhere|on\sthe|in\sthe|in\san?)\b
    | \bi\ssaw\s(?:on|in)\s(?:tv|the) | \brumou?r\shas\b | \bit\sis\ssaid\b | \ballegedly\b
    | {_START}(?:the|this|that|its|your|my|our|a)\s(?:[\w-]+\s){{1,4}}?
      (?:returned|returns|outputs?|printed|prints|responded|responds|replied|replies|answered
        |answers|showed|shows|displayed|displays|reads|stated|instructs|instructed)\s?:
    | {_START}(?:(?:the|this|that|its|your|my|our|a)\s)?(?:\w+\s)?{_SHOWN_BY}(?:'s)?\s(?:
        (?:output|results?|response|reply|message|text|content)\s?: | (?:just\s)?(?:returned
        |returns|output|printed|responded|replied|answered|instructs|instructed|tells|told)\b )
    | {_START}(?:the\s)?(?:output|results?|response|reply)\s(?:of|from)\s[^:]{{1,40}}:
    | \bapparently\b | \b(?:as\sthey\ssay|the\ssaying\sgoes)\b""".replace("HIDDEN", HIDDEN)
)
_PLAYS = _compiled(
    rf"""{_START}(?:
      (?:from\snow\son\s)?(?:you\sare|you're)\s(?:now\s)?an?\s
        (?!great|real|star|genius|life|big|huge|good|bit|true|legend|gem|angel|hero)
    | (?:act|behave|speak|talk|answer|respond)\s(?:as|like)\s
        (?:if\b|(?:an?|my)\s(?!colleague|friend|expert))
    | (?:let's\s|let\sus\s)?(?:role[-\s]?play|pretend|play\s(?:a|the|as))\b
    | (?:imagine|picture|suppose|supposing|assume|assuming)\b
    | let's\s(?:say|imagine|assume|suppose|pretend)\b (?!\s(?:\w+day|at\s\d))
    | say\s(?:i|we|you)\s(?:have|am|are|had)\b
    | once\supon\sa\stime | you\swill\sbe\splaying\b
    | in\s(?:this|our|the|my)\s(?:game|story|role[-\s]?play|scenario|scene|campaign)\b
    | (?:the|my|our)\s(?:main\s)?(?:character|protagonist|hero|heroine|villain|narrator|npc)\b
    | here(?:'s|\sis)\s(?:a|the)\s(?:riddle|puzzle|scenario)\b )"""
)
_FICTION = _compiled(
    r"""^\W*in\s(?:the|this|that|a|my|our|his|her)\s(?:\w+\s)?
      (?:book|novel|film|movie|play|series|episode|chapter|story|comic|tale|poem|song|game)\b
    | ^\W*as\san?\s(?:\w+\s)?(?:user|customer|admin|administrator|visitor|buyer|shopper|manager
        |developer|editor|member|guest|player|student|owner),?\s
        i\s(?:want|can|need|would\slike|should)\b
    | ^\W*given\s(?:a|that|the|an)\b[^.]*\bwhen\b | \bso\sthat\si\s(?:can|find|do|may)\b
    | \b(?:solve|guess)\s(?:the|this|my)\s(?:puzzle|riddle)\b"""
)
_TEXTS = r"""(?:e-?mail|mail|letter|message|text|story|tale|poem|haiku|limerick|song|lyrics|speech
    |post|tweet|dialog(?:ue)?|essay|bio|biography|caption|toast|invitation|note\sto|reply|response
    |review|scene|script\swhere|blog|article|paragraph|sentence|joke|monologue|postcard|obituary
    |press\srelease|announcement|advert|ad|slogan|card|statement|memo|description|resume|cv
    |profile|summary|diary)s?"""
_DRAFTS = _compiled(
    rf"""{_START}(?:help\sme\s(?:to\s)?|i\s(?:need|want)\syou\sto\s)?(?:
      (?:write|draft|compose|create|generate|give|prepare|craft|produce|formulate|make)\s
        (?:me\s|us\s|up\s)?
        (?:an?|the|my|our|this|another|some|one|\d+|two|three|four|five|six|ten)\s
        (?:(?!about\b|that\b)[\w'-]+\s){{0,4}}?{_TEXTS}\b
    | (?:translate|proofread|paraphrase|rephrase|summari[sz]e|reword|rewrite|polish|transcribe)\b
        (?!\s(?:everything|all|every|any|anything|long|texts|whatever|code)\b)
    | (?:correct|fix|improve|check)\s(?:this|the|my|these)\s(?:\w+\s)?
        (?:text|sentences?|grammar|spelling|draft|paragraph|e-?mail|essay|letter)\b
    | (?:correct|fix|check)\sthis\b | say\s(?:this|that|in|{HIDDEN})
    | how\s(?:do|would)\s(?:you|i|we)\ssay\b
    | (?:for\s)?example\b\s?:?\s | e\.g\. | sample\s\w+: | complete\sthe\ssentence
    | generate\s\d+ | dear\s(?:sir|madam|mr|mrs|ms|dr|all|team|customer|friend|\w+,)
    | (?:q|a|question|answer|input|output|prompt|text|quote|excerpt|article|e-?mail|subject)
        \s?\d*\s?:\s
    | here\sis\s(?:the|a|an|my)\s
        (?:page|text|article|e-?mail|letter|excerpt|quote|passage|story|error|log)\b
    | (?:reply|respond)\sto\s(?:this|the|that)\b )"""
)
_PAST = _compiled(
    r"""^(?!.*\b(?:now|any\s?more|these\sdays|nowadays|today|instead)\b).*
      \b(?:i|we|he|she|they|it|there|my\s\w+)\sused\sto\b
    | \bas\s(?:a|an|little|young)\s(?:kid|child|teen|teenager|boy|girl|student|baby)\b
    | ^\W*(?:back\s)?when\s(?:i|we)\s(?:was|were)\s(?:an?|in|at|young|little|small|younger|\d)
    | \b(?:back\sin\s(?:the\s)?(?:day|school|college|\d{4})|back\sthen|in\sthe\sold\sdays
        |in\smy\s(?:twenties|youth|childhood|teens|first\sjob|old\sjob|student\sdays))\b"""
)
_MOCKS = _compiled(
    r"""^\W*(?:(?:oh|yeah|ah|well),?\s)?
      (?:great|sure|right|perfect|wow|fantastic|wonderful|lovely|brilliant|yay)[,!\s]
      .*\b(?:another|again|just\swhat|because|i\sjust\slove|everybody|everyone|of\scourse
        |as\sif|let's|what\sa\b.*,|blame|when\sthe|could\s(?:possibly\s)?go\swrong)\b
    | \bi\s(?:just|really|absolutely|so)?\s?(?:love|adore|enjoy)\s(?:it\s)?(?:when|how)\s
      (?:the|my|it|everything|people|nothing|nobody|someone)\b.*\b(?:breaks?|fails?|crash(?:es)?
        |late|down|ignored?|dies|stuck|cancel\w*|again|at\s\d)
    | \bsaid\s(?:no\s?body|no\sone)\sever\b | \bsaid\smy\scat\b | /s\s?$
    | \bwhat\scould\s(?:possibly\s)?go\swrong\b | \bjust\swhat\s(?:i|we)\sneeded\s?,
    | \bnothing\s(?:beats|like)\s(?:a\s)?(?:good\s)?(?:outage|bug|crash|queue|traffic|meeting)\b
    | \b(?:haha|lol|lmao|rofl|hehe)\b"""
)

_TASKS = _compiled(
    rf"""^[^?]*[,;.\s-]\s?(?:(?:so|and|but|also|or)\s)?
      (?: (?:can|could|would|will|should|do|does|did|is|are|was|shall|am)\s{_THINGS}\b
        | (?:what|how|which|where|when|who|why)\b | any\s(?:ideas?|tips|advice|thoughts)
        ) [^?]*\?[\W\d]*$
    | {_START}(?:(?:i\sam|i'm|we\sare|we're)\s(?:also\s|currently\s|still\s|just\s|now\s)?
        (?:(?:kinda|kind\sof|a\sbit|pretty|quite|really|feeling|so)\s)*
        (?:trying|looking|struggling|stuck|having\s(?:trouble|issues|problems|difficult\w+|a\shard)
          |wondering|curious|worried|confused|stressed|overwhelmed|concerned|aiming|unsure|hoping)\b
      | (?:i|we)\s(?:want|need)\sto\s(?:make\ssure|ensure|understand|know\b|learn)
      | (?:i|we)\sneed\s(?:some\s)?(?:help|advice|ideas|tips)\b )
      (?!.*\b(?:you\s(?:to|never|always)|allergic|i\sprefer)\b)"""
)
_KNOWN = _compiled(r"\b(?:did|do)\syou\s(?:know|remember)|\byou\sknow\s?\?|\bremember\s?\?")
"""Questions that only call for attention: what comes before them is stated."""

_CHECKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("mocks", _MOCKS),
    ("plays", _FICTION),
    ("supposes", _SUPPOSES),
    ("doubts", _DOUBTS),
    ("reports", _REPORTS),
    ("past", _PAST),
)
_FRAMES: tuple[tuple[str, re.Pattern[str]], ...] = (("plays", _PLAYS), ("drafts", _DRAFTS))


def vetoes(sentences: Sequence[Span], masked: str) -> list[str | None]:
    """Name the reason for which each sentence is not to be learned, or None.

    The reasons are ``asks``, ``supposes``, ``doubts``, ``reports``, ``plays``, ``drafts``, ``past``
    and ``mocks``. A verb that frames what follows ("write a letter that says ...", "you are a
    pirate") refuses also the sentences after it, up to an empty line.

    Args:
        sentences: Spans of the message, in order.
        masked: The message after ``mask.hide``.
    """
    found: list[str | None] = []
    frame: str | None = None
    before = 0
    for span in sentences:
        if _GAP.search(masked, before, span.start):
            frame = None
        said = " ".join(masked[span.start : span.end].split()).replace("’", "'")  # noqa: RUF001 - real
        if not _LASTING.search(before_colon(said)):
            frame = _first(_FRAMES, said) or ("drafts" if shows(said) else frame)
        found.append(frame or (None if _FORGETS.match(said) else _veto(said)))
        before = span.end
    return found


def _veto(said: str) -> str | None:
    if _REQUEST.match(said):
        return None
    if merely_asks(said) or (_ASKS.match(said) and not _LASTING.search(said)):
        return "asks"
    if _TASKS.search(said) and not _KNOWN.search(said):
        return "asks"
    return _first(_CHECKS, said)


def _first(checks: Sequence[tuple[str, re.Pattern[str]]], said: str) -> str | None:
    return next((name for name, pattern in checks if pattern.search(said)), None)

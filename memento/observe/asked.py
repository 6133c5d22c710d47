"""Read what a request to forget is about, and whether feedback praises or faults. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memento.observe import cues
from memento.observe.language import ENGLISH
from memento.text.words import META_WORDS, STOP_WORDS, words

_ASKING = """
    forget forgot forgotten delete remove erase wipe clear drop scrub bin strike scratch throw tear
    lose loose unknow unsee let go gone hold holding hang keep kept store save note noted noting
    record write written type typed file carry stick stay sit turn pop come bring mention know knew
    see seen look saw say said tell told telling ask asked asking happen happened exist retain take
    taken out off rid get got goes going make made put give gave given leave left treat pretend
    memory memories anywhere everywhere wherever whatever somewhere anything everything something
    nothing none thing things stuff bit part matter business whole story lot any head ear mouth way
    place name word line number detail figure account whose
    please pls plz kindly kindness favour favor obliged rather sooner like would could can easier
    better best glad happy mind goodness mine his hers private personal confidence yourself myself
    again ever never next time times last first other another now then already still later soon ago
    long today yesterday tomorrow tonight day days night morning evening week weeks month months
    minute hour mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday
    saturday sunday around down here there far ahead aside further also just really actually
    honestly maybe anymore ok okay hey hi well good ah oh yes no aye thanks thank yeah one want
    wanted need think thought back may might must shall whether away altogether entirely completely
    rest same such shared screen answer system side computer machine bout abt cos bc cuz tho ya ye
    ur im id ill theyre til till use used quit add nobody anybody anyone someone everyone people
    talk world size came wrote written sitting between enough else finish finished done count lying
    lie floating opened board though
    remember remembered neither as if wise doesnt concerned belong received
"""
_ENDINGS = (("s",), ("ing", "ed", "e", "y"))
_DOUBLING = ("ing", "ed")
"""Endings before which a consonant may be doubled. Source: Porter, Program 14(3), 1980, step 1b."""
_KEPT = 3
"""Minimum number of letters to keep of a word."""
_WHOLE = re.compile(
    r"\b(?:all (?:of|that)|everything|whole|anything about|what you (?:know|have)|completely|unknow"
    r"|whatever i"
    r"|(?:him|her|them) (?:out|off))\b",
    re.IGNORECASE,
)
"""Means all that was told of something, not one thing."""
_ALL = re.compile(
    r"\b(?:everything|anything|all|whatever)\b|\b(?:your|ur) (?:\w+ )?memor(?:y|ies)\b",
    re.IGNORECASE,
)
_OF_USER = re.compile(
    r"\b(?:about|of|on) me\b"
    r"|\bi(?:['’]d|['’]ve)? (?:have |had |ever )*(?:said|told|mentioned|shared|typed|wrote)\b",  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE,
)
"""Speaks of the user as such, or of all that the user said; "I just said" is the last message."""
_PERSON = re.compile(
    r"\b(?:him|her|them) (?:out|off|around|go)\b|\babout (?:him|her)\b|\b(?:see|if) (?:s?he|him"
    r"|her)\b|\b(?:his|her|their|that)(?: other)? name\b",
    re.IGNORECASE,
)
"""Somebody whom the request does not name."""
_TOLD = re.compile(
    r"\bi(?:['’]d|['’]ve)? (?:\w+ )?(?:said|told|typed|wrote|mentioned|gave|asked|repeated|put"  # noqa: RUF001 - a real apostrophe
    r"|sent|pasted)\b"
    r"|\b(?:have|['’]ve|having) (?:\w+ )?(?:said|told|typed|written|mentioned|given|asked|repeated"  # noqa: RUF001 - as above
    r"|pasted)\b|\btyping\b",
    re.IGNORECASE,
)
"""The user speaks of having told it."""
_SAY = "told|said|mentioned|shared|gave|given|typed|wrote|written|pasted|sent|confided"
_FORGET = r"(?:forget(?:ting)?|unlearn|unknow|unsee|unhear|unremember)"
_REMOVE = (
    r"(?:delet|eras|remov|wip)(?:e|ing)|(?:scrub|drop|bin|clear|discard|purge|scrap|scratch|strike"
    r"|lose|take|throw)(?:ing)?|get(?:ting)? rid of|let(?:ting)? go of"
)
_KEEP = (
    r"(?:keep|store|save|remember|retain|hold on ?to|hang on ?to|note|record"
    r"|(?:have|know)(?= (?:anything|about|what|which|that)\b)"
    r"|(?:add|put|write|enter|commit)"
    r"(?= (?:\w+ ){0,3}(?:to|in|into) (?:your |ur )?(?:memory|notes)\b))"
)
_NOT = (
    r"(?:n't|\b(?:do|does|did|wo|ca|could|should|would|must|is|are|was|were|have|has|had|need)nt)"
)
_EXCLAIMED = (
    r"oh{1,4}|ah{1,4}|aw{1,4}|u[hm]{1,4}|h?m{2,4}|hm|u{1,4}gh{1,4}|ar{1,4}gh|w?h?oops(?:ie)?|yikes|eek|ouch"
    r"|whoa|wow|phew|gosh|jee?z|damn(?: it)?|dammit|darn|crap|shit|fuck|god|omg|my god|my bad|nope"
    r"|nah|yeah|yes|hang on|hold on|one (?:sec|second|moment)|never ?mind"
    r"|(?:(?:this|that|it)(?: i|')s )?(?:just |strictly )?between (?:us|you and me)|off the record"
    r"|in confidence"
)
"""Interjections and formulas of confidence: they say nothing of what the message tells."""
_SOFT = (
    r"(?:(?:please|pls|plz|kindly|just|actually|also|now|then|so|and|but|oh?k(?:ay)?|hey|hi|no|wait"
    rf"|well|sorry|maybe|on second thoughts?|{_EXCLAIMED})\b[,.!… -]{{0,4}}){{0,9}}"
)
_OPENING = re.compile(rf"\W*{_SOFT}", re.IGNORECASE)
_YOU = (
    r"(?:(?:can|could|would|will) (?:you|u|ya)|would you (?:mind|be so kind as to)"
    r"|(?:i|we)(?:[' ]?d"
    r"| would)? ?(?:like|want|prefer|rather|sooner|appreciate)(?: it)?(?: if| that)? you"
    r"|you(?: can| could| may| should| might)) (?:please |pls |just |kindly |to )*"
)
_NOT_THIS = re.compile(
    rf"{_SOFT}(?:{_YOU})?(?:don'?t|do not|never|not(?: to)?)"
    r" (?:save|store|remember|retain|record|note|keep)(?: down)? (?:this|that|it|the following)\b"
    r"(?: (?:please|pls|one|message|down|anywhere|but|though|ok|okay)\b)*"
    r"(?:[.!?… ]*|:.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Asks not to keep what is said beside it, or after it: "Don't save this." """
_BARE_ALL = re.compile(
    rf"{_SOFT}(?:{_YOU})?(?:{_FORGET} (?:\w+ly )?everything"
    rf"|(?:{_FORGET}|{_REMOVE}) (?:all (?:of )?)?(?:your|ur) (?:whole |entire )?memor(?:y|ies))"
    r"(?:,? (?:please|pls|now|right now))*[.!? ]*",
    re.IGNORECASE,
)
"""Asks for all with no word beside; "forget everything, let us start over" is about the work."""
_BARE = re.compile(
    rf"{_SOFT}(?:{_YOU})?{_FORGET} (?:that|this)(?:,? (?:please|pls|again|now))*[.!? ]*",
    re.IGNORECASE,
)
"""Only points: "Oops forget that"; "forget it" is often said of the work."""
_BEGIN = rf"(?:^|[,;:.!?-] ){_SOFT}"
_MEMORY = re.compile(
    rf"\bi(?:'ve| have| had|'d)? (?:\w+ )?(?:{_SAY})\b"
    r"(?! (?:an?|the|her|him|them|my|all)\b)"
    r"|\byou(?:'ve| have)? (?:\w+ )?(?:remember|stored|saved|kept|noted)\b"
    r"|\b(?:what(?:ever)?|\w+thing|all)(?: that)? (?:you|u)(?:'ve| have)? (?:know|have|got)\b"
    r"|\byou(?:'ve| have)? (?:\w+ )?(?:know|have|got) (?:\w+ )?(?:about|of|on|that|wh\w+)\b"
    r"|\b(?:your|ur|yr) (?:\w+ )?(?:memory|memories|notes?|records?|files?|head|mind|storage)\b"
    r"|\b(?:that|the|this) (?:[\w']+ ){0,3}(?:thing|stuff|story|business|news)\b"
    r"|\bthat (?:bit|part) (?:about|where|when|with)\b"
    r"|\b(?:any|every)thing (?:about|on|to do with)\b"
    r"|\b(?:my|that|this) (?:last|previous) message\b",
    re.IGNORECASE,
)
"""What the agent was told or keeps, rather than the text or code at hand."""
_AT_HAND = re.compile(
    r"\b(?:from|in|of|off|out of|on) (?:the|this|that|our) (?!memor|record)\w+[.!? ]*$"
    r"|\?$",
    re.IGNORECASE,
)
"""The text or the code at hand."""
_FOR_NOW = re.compile(
    r"\bfor (?:now|a (?:moment|minute|while|bit|second))\b|\b(?:what|how) about\b", re.IGNORECASE
)
"""The turn to another subject: "Forget chapter 3, what about 2?"."""
_REQUESTS = (
    re.compile(rf"{_BEGIN}(?:(?P<you>{_YOU})(?:{_FORGET}|forgot)|{_FORGET})\b", re.IGNORECASE),
    re.compile(rf"{_BEGIN}(?:{_YOU})?(?:{_REMOVE})\b", re.IGNORECASE),
    re.compile(
        rf"{_BEGIN}(?:{_YOU})?(?:(?:i|we) )?(?:(?:don'?t|do not|never|not(?: to)?|needn'?t|stop"
        rf"|didn'?t)\b ?)(?:want you to |have to |need to |be |please )*{_KEEP}(?:ing)?\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:pretend|act|treat)\b.*\b(?:never|not|\w+n't)\b", re.IGNORECASE),
    re.compile(
        r"\b(?:can|may|should|could|must|shouldn'?t)(?: not)? (?:go|leave|stay|be)\b",
        re.IGNORECASE,
    ),
)
_OTHERS = re.compile(
    rf"""(?:{_NOT}|\bnot|\bnever|\bwithout)\ (?:\w+\ ){{0,3}}?forget(?:ting)?\b  # "don't forget"
    |(?:{_NOT}|\bnot|\bnever)\ (?:ever\ |please\ )?(?:delet|eras|remov)(?:e|ing)\b
    |(?<!you\ )(?<!u\ )(?<!as\ )\bto\ forget\b|\blet'?s?\ (?:us\ |me\ )?forget\b  # "told me to"
    |^(?:how|what|why|when|where|which|who)\ (?:\w+\ )?
      (?:do|does|did|have|has|is|are|was|were|can|could|should|will|would)\b
    |^(?:should|shall|do|does|did|is|are|was|were|have|has)\ (?:i|you|we|they|he|she|it|there)\b
    |(?:^|[,;.!?]\ )(?:(?:and|but|so)\ )?(?:totally\ |almost\ |nearly\ )?forgot\b
    |\b(?:i|we|he|she|they|it|who|one|people|everyone|nobody)(?:'?(?:ve|ll|d))?
      \ (?:[a-z']+\ ){{0,2}}?(?:forget|lose|delete|erase|remove
      |erased|deleted|removed|wiped|dropped|lost|threw|binned)\b
    |\b(?!you\b|u\b|mind\b)\w+\ (?:have\ |has\ |had\ |never\ |always\ |won'?t\ )?(?<!be\ )
      (?:forgets|forgotten|forgetting|forgot|wo?n'?t\ forget)\b
    |^you\ (?:never\ |always\ |often\ )*(?:forgot|forget)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Somebody else who forgets, a wish that nothing is forgotten, or a question."""
_KEPT_VERB = re.compile(rf"\b{_KEEP}\b", re.IGNORECASE)
_TAKEN = re.compile(
    rf"\b(?:{_FORGET}|{_REMOVE}|no|not|never|nor|nothing|nowhere|without|out|off|go|as if|like)\b"
    rf"|{_NOT}\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:that|this|it|these|those)(?= (?:please|pls|again|now|right)\b|[.,;!?]|$)"
    r"|\bwhat i(?:'ve)? just \w+|\b(?:last|previous) (?:message|thing i \w+)\b|\bi said that\b",
    re.IGNORECASE,
)
"""Only points at something, which is most often the message before."""
_NAME = re.compile(r"(?<=\w )(?<![.!?] )[A-Z]\w+|(?<=: )[A-Z]\w+")
_SPOKEN = re.compile(r"[^\W_](?:[\w'’-]*\w)?")  # noqa: RUF001 - a real apostrophe
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NO_PERSON = frozenset(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905 - a list of words reads better as text
)
_OWN = re.compile(
    r"\b(?:my|our|the)\s+(?P<thing>[\w-]+(?:\s+[\w-]+){0,2}?)"
    r"(?=\s*(?:[.,;:!?(…—]|$)|\s(?:from|in|out|please|pls|again|now|and)\b)",
    re.IGNORECASE,
)
_KEYS = {
    "address": "user/home", "home address": "user/home", "phone number": "user/phone",
    "number": "user/phone", "email address": "user/email", "e-mail": "user/email",
    "e-mail address": "user/email", "mail address": "user/email", "date of birth": "user/birthday",
    "workplace": "user/employer", "company": "user/employer", "profession": "user/job",
    "time zone": "user/timezone", "where i live": "user/home", "where i work": "user/employer",
    "how old i am": "user/age", "what i do": "user/job", "what i do for a living": "user/job",
    "what i am called": "user/name", "what i'm called": "user/name", "what my name is": "user/name",
    "when i was born": "user/birthday", "when my birthday is": "user/birthday",
}  # fmt: skip
_CLAUSES = sorted((key for key in _KEYS if key.startswith(("how", "wh"))), key=len, reverse=True)
_CLAUSE = re.compile(rf"\b(?P<thing>{'|'.join(_CLAUSES)})$", re.IGNORECASE)
"""A clause that names a slot: "Forget where I live"."""
_FAULTS = re.compile(
    r"""\b(?:useless|wrong|incorrect|bad|terrible|awful|worse|misunderst\w+|missed|nonsense|rubbish
    |unhelpful|disappoint\w+|too\ (?:long|short|verbose|complicated|vague|much)|garbage|annoying
    |still\ (?:fail\w*|broken|not|does|doesn['’]?t|wrong)|made\ it\ worse
    |not\ (?:what|helpful|right|good|it)
    |made\ (?:that|it)\ up|nope?)\b|n['’]t\s(?:help|work|what|right|answer|do|compile|fix)""",  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE | re.VERBOSE,
)


def root(word: str) -> str:
    """Return a word without its ending, so that two forms of it compare equal.

    >>> root("drinking"), root("drinks"), root("his")
    ('drink', 'drink', 'his')
    """
    for endings in _ENDINGS:
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= _KEPT:
                word = word[: -len(ending)]
                if ending in _DOUBLING and word[-1] == word[-2] and word[-1] not in "aeioulsz":
                    word = word[:-1]  # "forgetting"
                break
    return word


_UNSPACED = frozenset(("zh", "ja"))
_NO_SUBJECT = frozenset(map(root, (*STOP_WORDS, *META_WORDS, *_ASKING.split())))


def roots(text: str) -> frozenset[str]:
    """Return all words of a text without their endings."""
    return frozenset(map(root, words(text)))


def subjects(text: str, language: str = ENGLISH) -> tuple[str, ...]:
    """Return the words of a request that say what it is about, without their endings.

    Args:
        text: The request.
        language: ISO 639-1 code of its language.

    >>> subjects("can you not hang on to any of that about Davie and the card")
    ('davi', 'card')
    >>> subjects("Bitte vergiss mein Gehalt", "de")
    ('gehalt',)
    """
    table = cues.load(language) if language in cues.LANGUAGES else None
    if table is not None:
        text = table.opens.sub("", text, count=1)
    said = (one for one in words(text) if len(one) > 2 or one.isdigit())  # noqa: PLR2004 - shorter ones join words
    named = [one for one in dict.fromkeys(map(root, said)) if one not in _NO_SUBJECT]
    if table is None:
        return tuple(named)
    asking = _asking_in(text, language) | roots(" ".join(table.asking))
    named = [one for one in named if one not in asking]
    common = roots(" ".join(table.common))
    return tuple(one for one in named if one not in common) or tuple(named)  # "wo ich wohne"


def _asking_in(text: str, language: str) -> frozenset[str]:
    """Return the words of the cue that makes a text a request, without their endings.

    Those are the words without one of which it would be none. A run of signs of a script without
    spaces is no word.
    """
    asks = cues.load(language).asks_to_forget
    if language in _UNSPACED or not asks(text):
        return frozenset()
    spoken = list(_SPOKEN.finditer(text))
    rests = (f"{text[: one.start()]}{text[one.end() :]}" for one in spoken)
    return roots(
        " ".join(one[0] for one, rest in zip(spoken, rests, strict=True) if not asks(rest))
    )


def only_opens(words_before: str) -> bool:
    """Return whether words beside a request are at most an interjection or the like.

    >>> only_opens("Oh no, wait,"), only_opens("My PIN is 4821,")
    (True, False)
    """
    return not _SPOKEN.search(_OPENING.sub("", words_before, count=1))


def asks_not_to_keep(sentence: str) -> bool:
    """Return whether a sentence asks not to keep what is said beside it.

    >>> asks_not_to_keep("Please don't save this."), asks_not_to_keep("Don't save this file.")
    (True, False)
    """
    return _NOT_THIS.fullmatch(" ".join(sentence.replace("’", "'").split())) is not None  # noqa: RUF001 - a real apostrophe


def is_request(sentence: str) -> bool | None:
    """Return whether a sentence asks to forget, by its form; None if that is unclear.

    >>> is_request("Could you delete what I told you about Zosia?"), is_request("Don't forget it!")
    (True, False)
    >>> is_request("Drop the index."), is_request("I always forget the milk.")
    (None, False)
    """
    said = " ".join(sentence.replace("’", "'").split())  # noqa: RUF001 - a real apostrophe
    if (
        _OTHERS.search(said)
        or _FOR_NOW.search(said)
        or (_KEPT_VERB.search(said) and not _TAKEN.search(said))
    ):
        return False
    if asks_not_to_keep(said) or _BARE.fullmatch(said):
        return True
    of_memory = _MEMORY.search(said) is not None
    forget, *others = _REQUESTS
    if found := forget.search(said):
        polite = found["you"] or re.search(r"\b(?:please|pls|plz|kindly)\b", said, re.IGNORECASE)
        if of_memory or (polite and not _AT_HAND.search(said.rstrip("?"))):
            return True
    if of_memory and any(one.search(said) for one in others):
        return True
    return None


_JOINT = re.compile(r"[,;]? (?:but|and) |; ", re.IGNORECASE)
_FORGETS = re.compile(rf"{_SOFT}(?:{_YOU})?(?:{_FORGET}|{_REMOVE})\b", re.IGNORECASE)
_KEEPS = re.compile(rf"{_SOFT}(?:{_YOU})?(?:do )?{_KEEP}\b(?! to\b)", re.IGNORECASE)


def kept_apart(sentence: str) -> tuple[int, int] | None:
    """Return where a sentence turns from asking to forget to asking to keep, or the reverse.

    Returns:
        End of the first clause and start of the second one; None if it does not ask both.

    >>> said = "forget my salary but remember that I work at Acme"
    >>> end, start = kept_apart(said)
    >>> said[:end], said[start:]
    ('forget my salary', 'remember that I work at Acme')
    """
    pairs = ((_FORGETS, _KEEPS), (_KEEPS, _FORGETS))
    first = [second for opens, second in pairs if opens.match(sentence)]
    joints = _JOINT.finditer(sentence) if first else ()
    found = next((one for one in joints if first[0].match(sentence, one.end())), None)
    return None if found is None else found.span()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a message asks to forget.

    Attributes:
        text: The words that ask.
        rest: The rest of the message.
        words: Those of them that say what is meant, without endings.
        context: Those of the rest of the message, without endings.
        whole: Whether all that is known of it is meant, not one thing that was told.
        told: Whether the user speaks of having told it.
        points: Whether it points at something.
        of_all: Whether it names nothing, and means all: "forget everything from today".
        of_user: Whether that is all of the user: "everything you know about me".
        slots: Slots that it may name.
        names: Who may be meant by "her", the likeliest first, folded; empty if nobody is.
        language: ISO 639-1 code of its language.
    """

    text: str
    rest: str
    words: tuple[str, ...]
    context: tuple[str, ...]
    whole: bool
    told: bool
    points: bool
    of_all: bool
    of_user: bool
    slots: tuple[str, ...]
    names: tuple[str, ...]
    language: str

    @property
    def about(self) -> str:
        """Return the words that say what is meant as they were said; ``""`` if none do."""
        said = (one for one in _SPOKEN.findall(self.text) if not roots(one).isdisjoint(self.words))
        return " ".join(said)

    @property
    def is_of_somebody(self) -> bool:
        """Return whether it has a name, which is most often a person's."""
        named = (root(one.casefold()) for one in _NAME.findall(self.text))
        return any(one in self.words for one in named)

    @property
    def is_bare(self) -> bool:
        """Return whether the message has hardly more than pointing words."""
        return not self.words and self.is_short

    @property
    def is_of_itself(self) -> bool:
        """Return whether it asks not to keep what the message says beside the request."""
        beside = not only_opens(self.rest) or _SPOKEN.search(self.text.partition(":")[2])
        return asks_not_to_keep(self.text) and bool(beside)

    @property
    def is_short(self) -> bool:
        """Return whether the message hardly has a word beside those that ask."""
        return len(self.context) < 3  # noqa: PLR2004 - a sigh and a reason


def asked_of(
    message: str,
    parts: Sequence[tuple[int, int]],
    before: str | None,
    language: str = ENGLISH,
) -> Asked:
    """Read a request to forget.

    Args:
        message: The message.
        parts: Start and end of each part that asks.
        before: The assistant's turn that it answers, or None.
        language: ISO 639-1 code of its language.
    """
    text = " … ".join(message[start:end] for start, end in parts)
    rest, at = [], 0
    for start, end in (*parts, (len(message), len(message))):
        rest.append(message[at:start])
        at = max(at, end)
    names: tuple[str, ...] = ()
    if _PERSON.search(text) and before:
        last = _SENTENCE.split(before.strip())[-1]
        names = tuple(one.casefold() for one in _NAME.findall(last))
    named = subjects(text, language)
    points = _POINTS.search(text.replace("’", "'")) is not None  # noqa: RUF001 - real
    table = cues.load(language) if language in cues.LANGUAGES else None
    whole = table is not None and table.whole.search(text) is not None
    of_user = _OF_USER if table is None else table.of_user
    of_all = not (named or points) and (whole or _ALL.search(text) is not None)
    return Asked(
        text=text,
        rest=" … ".join(rest),
        words=named,
        context=subjects(" … ".join(rest), language),
        whole=whole or _WHOLE.search(text) is not None,
        told=_TOLD.search(message) is not None,
        points=points,
        of_all=of_all,
        of_user=of_all
        and (of_user.search(text) or _BARE_ALL.fullmatch(message.strip())) is not None,
        slots=keys_of(text),
        names=tuple(one for one in names if one not in _NO_PERSON),
        language=language,
    )


def keys_of(request: str) -> tuple[str, ...]:
    """Return the slots that a request may name.

    >>> keys_of("Please forget my phone number.")
    ('user/phone', 'user/phone-number', 'project/phone-number')
    """
    said = " ".join(request.replace("’", "'").split())  # noqa: RUF001 - a real apostrophe
    found = [_KEYS[one["thing"].casefold()] for one in _CLAUSE.finditer(said.rstrip(".! "))]
    for one in _OWN.finditer(f" {said}"):
        folded = one["thing"].casefold()
        slug = "-".join(re.findall(r"[\w.+#-]+", folded))
        usual = _KEYS.get(folded)
        found += [*((usual,) if usual else ()), f"user/{slug}", f"project/{slug}"]
    return tuple(dict.fromkeys(found))


def faults(feedback: str) -> bool:
    """Return whether feedback is criticism; otherwise it is praise.

    >>> faults("That didn't help at all."), faults("That worked, thanks!")
    (True, False)
    """
    return _FAULTS.search(feedback) is not None

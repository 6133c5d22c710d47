"""Split texts into words, for the full-text index and for queries. Pure; standard library only.

Indexing and searching both use this module, so that they agree: `fold` normalises a text for the
index, `columns` splits it into the columns of the full-text table, `cues` notes the features of a
text when it is written, `terms` splits a query into words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from enum import IntFlag
from itertools import compress, pairwise, product
from typing import NamedTuple

_KEPT = 3
"""Minimum number of letters that a stem keeps; an Arabic word may lose one letter down to two."""

_CYRILLIC = re.compile("[\u0400-\u04ff]{4,}")
_REFLEXIVE = ("ся", "сь")
_ROOT = 4
"""Minimum number of letters that `without_ending` keeps."""
_REFLEXIVE_FROM = 6  # letters; in a shorter word it is part of the stem
# Written as in a folded text: without the marks on short i and io.
_CYRILLIC_WRITTEN = """
    а е и о у ы ь ю я ам ах ов ев еи ем ом ои ою ею ям ях ия ие ии ию ьи ья ье ьев ьям
    иям иях иями ами ями ием
    ыи ая яя ое ее ые ого его ому ему ым им ых их ую юю ыми ими
    ть ти ет ит ют ят ут ат ешь ишь ете ите ать ять ить еть ала яла ила ела ало ило ело
    али яли или ели ает яет ают яют ует уют ла ло ли нныи нная нное нные
"""  # noqa: RUF001 - Cyrillic letters are meant
_CYRILLIC_ENDINGS = frozenset(_CYRILLIC_WRITTEN.split())

_ARABIC = re.compile("(?<![\u0600-\u06ff])[\u0621-\u064a]{3,}(?![\u0600-\u06ff])")
_MARBUTA = str.maketrans("\u0629\u0649", "\u0647\u064a")  # teh marbuta, alef maksura
# The article, alone or after a particle; "and" before it or alone. Other particles alone are kept:
# far more words begin with those letters (a book, a house).
_ARABIC_PREFIXES = re.compile(f"(?:(?:[وبكف]?ال|لل)(?=.{{{_KEPT}}})|و(?=.{{{_KEPT + 1}}})){{0,2}}")
_ARABIC_WRITTEN = "تهما تهم تكم تنا تها هما ها ان ات ون ين يه نا هم كم تي ته تك وا ه ي"  # noqa: RUF001 - Arabic letters are meant
_ARABIC_ENDINGS = frozenset(_ARABIC_WRITTEN.split())
_LONGEST = 4  # letters of an ending


def stemmed(text: str) -> str:
    """Bring the Cyrillic and Arabic words of a folded text to their stems.

    Source: the endings are a part of those of Snowball's Russian stemmer; the Arabic affixes are
    those of light10 (Larkey, Ballesteros & Connell, Light Stemming for Arabic Information
    Retrieval, 2007) and the possessive endings.

    >>> stemmed("кошками кошка"), stemmed("والمكتبة مكتبات")
    ('кошк кошк', 'مكتب مكتب')
    """
    return _ARABIC.sub(_arabic, _CYRILLIC.sub(_cyrillic, text))


def _cyrillic(found: re.Match[str]) -> str:
    word = found.group()
    if len(word) >= _REFLEXIVE_FROM and word.endswith(_REFLEXIVE):
        word = word[:-2]
    stem = _without_ending(word, _CYRILLIC_ENDINGS, _KEPT)
    return stem[:-1] if stem.endswith("нн") and len(stem) > _KEPT + 1 else stem


def _arabic(found: re.Match[str]) -> str:
    word = _ARABIC_PREFIXES.sub("", found.group().translate(_MARBUTA), count=1)
    return _without_ending(word, _ARABIC_ENDINGS, _KEPT - 1)


def _without_ending(word: str, endings: frozenset[str], least: int) -> str:
    """Drop the longest ending, keeping `_KEPT` letters; ``least`` if it is one letter."""
    for length in range(min(_LONGEST, len(word) - _KEPT), 1, -1):
        if word[-length:] in endings:
            return word[:-length]
    return word[:-1] if len(word) > least and word[-1] in endings else word


HEAD = 200
"""Characters at the start of a text that help to find its neighbours in the conversation. On
public dialogue benchmarks, 250 to 400 find no more and 120 fewer."""

SHORT = 400
"""Maximum length of a text, in characters, that is a short turn."""

# Scripts written without spaces: Han, Kana, Thai, Lao, Burmese, Khmer; and Hangul, where particles
# are joined to words, so that a word rarely has the same form in a question and in its answer.
_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3"
    "\uac00-\ud7a3"
)
# Vowel signs and other marks that are part of a word although \w does not match them.
_MARKS = (
    "\u0300-\u036f\u06d6-\u06ed\u0900-\u0963\u0970-\u0dff\u0e31-\u0e3a"
    "\u0e47-\u0e4e\u0eb1-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*")
_APART = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)) + bytes(128)
_SMALL_APART = _APART.lower()
# Characters that are not part of a word here, and marks without a letter before them. SQLite has
# other Unicode tables, and must not take them for parts of a word either.
_NO_WORD = re.compile(rf"[^\w{_MARKS}\x00-\x7f]|(?<![^\W_])(?<![{_MARKS}])(?:(?!\w)[{_MARKS}])+")
# Accents, Hebrew points, Arabic vowels and tatweel: dropped, because people rarely type them.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]"
)
_NAME = re.compile(r"(LATIN|CYRILLIC) SMALL (?:LETTER|LIGATURE) (DOTLESS )?(\S+)( WITH .+)?")


def _base_letters() -> Iterator[tuple[int, str]]:
    """Yield letters that Unicode does not decompose, and what people type for them.

    Their names tell it: L WITH STROKE is an l, DOTLESS I an i, AE an a and an e.
    """
    yield from {0xF0: "d", 0xFE: "th", 0x14B: "n", 0x259: "e"}.items()  # eth, thorn, eng, schwa
    for code in range(0xE0, 0x530):
        named = _NAME.fullmatch(unicodedata.name(chr(code), ""))
        if named is None or unicodedata.decomposition(chr(code)):
            continue
        script, dotless, base, marked = named.groups()
        if script == "CYRILLIC" and marked:
            yield code, unicodedata.lookup(f"CYRILLIC SMALL LETTER {base}")
        elif script == "LATIN" and len(base) <= 2 and (dotless or marked or len(base) == 2):  # noqa: PLR2004 - a digraph
            yield code, base.lower()


_BASE_LETTERS = dict(_base_letters())
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\ud800-\udfff]")

_STOP_WORDS = """
    a about after all also am an and any are as at be because been before being but by can could
    did do does doing for from had has have having he her hers him his how i if in into is it its
    just me more most my no nor not of on once only or other our out over own same she should so
    some such than that the their them then there these they this those to too under until up us
    very was we were what when where which while who whom why will with would you your yours
    s t don now d ll m o re ve y
    whens whos whats wheres whys hows thats theres heres im ive youre youve youll theyre theyve
    dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt cant couldnt wont wouldnt
    shouldnt mustnt neednt aint lets
    didn doesn isn aren wasn weren hasn hadn couldn wouldn shouldn mustn needn ain
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_META_WORDS = """
    mention only item items list order ordered walk brought bring aspects aspect throughout
    across conversation conversations session sessions chat chats discussion discussions discussed
    discuss talked mentioned told said summary summarize summarise comprehensive provide give
    overview tell remind different key including show complete detailed can could please earlier
    previously ever two three four five six seven eight nine ten
"""
META_WORDS = frozenset(_META_WORDS.split())
"""Words about the conversation or the form of the answer, not about its subject."""
_NO_SUBJECT = STOP_WORDS | META_WORDS


class Cue(IntFlag):
    """Features of a memory that are known when it is written, one bit each."""

    USER = 1
    """The role is ``user``."""
    ASSISTANT = 2
    """The role is ``assistant`` or any other than ``user``."""
    FIRST_PERSON = 4
    """Says I, my, we ..."""
    DIGIT = 8
    """Has a digit."""
    TIME_WORD = 16
    """Has a word about time: yesterday, May, week, 2023 ..."""
    STANDING = 32
    """A standing instruction of a person: "always ...", "from now on ..."."""
    QUESTION = 64
    """Ends with a question mark."""
    SHORT = 128
    """At most `SHORT` characters."""


_FIRST_PERSON = re.compile(r"\b(I|I'm|I've|[Mm]y|[Ww]e|[Oo]ur|me)\b")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\d{4}(?<!\w\d{4})(?!\w)")  # beginning with \b it takes three times as long
_STANDING = re.compile(
    r"^\W*(please )?(always|never|from now on|going forward|in future)\b"
    r"|\b(from now on|going forward|when(ever)? I ask"
    r"|(please|make sure to|remember to|want you to) (always|never)"
    r"|(always|never) (use|include|give|show|format|provide|mention|add|write|call|answer|reply)"
    r")\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?\uff1f\u061f]\W*$")
_STANDING_WITHIN = 600  # characters; an instruction is said at the start

_TIMES = frozenset(
    """yesterday today tonight tomorrow last next this ago week weekend month year january february
    march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday easter christmas halloween thanksgiving""".split()  # noqa: SIM905 - words read better as one text
)
# `_FIRST_PERSON` and `_STANDING` cost ten times as much and can match only with one of these words,
# and `_STANDING` in ASCII only if the word comes first or is in one of these pairs.
_SELF = frozenset(["i", "my", "we", "our", "me"])
_ORDERS = frozenset(["always", "never", "now", "forward", "future", "ask"])
_ORDER_PAIRS = frozenset({
    *(("now", "on"), ("going", "forward"), ("in", "future"), ("i", "ask")),
    *product(("please", "to"), ("always", "never")),
    *product(
        ("always", "never"),
        """use include give show format provide mention add write call answer reply""".split(),  # noqa: SIM905 - as above
    ),
})  # fmt: skip
_BITS = tuple(map(int, Cue))


def cues(text: str, role: str | None, spoken: Sequence[str] | None = None) -> int:
    """Note the features of a text once, so that no query has to read it again.

    Args:
        text: The text as given.
        role: Chat role of the speaker; a text without a role is a statement of the user.
        spoken: Its words, folded, if they are already known.

    Returns:
        The bits of `Cue` that hold.

    >>> Cue(cues("Always answer in French.", "user"))
    <Cue.USER|STANDING|SHORT: 161>
    """
    spoken = words(text) if spoken is None else spoken
    digit = _DIGIT.search(text)
    held = (
        role == "user",
        role not in {None, "user"},
        not _SELF.isdisjoint(spoken) and _FIRST_PERSON.search(text),
        digit,
        not _TIMES.isdisjoint(spoken) or (digit and _YEAR.search(text, digit.start())),
        role in {None, "user"}
        and _may_order(text, spoken)
        and _STANDING.search(text[:_STANDING_WITHIN]),
        _QUESTION.search(text[-40:]),
        len(text) <= SHORT,
    )
    return sum(compress(_BITS, held))


def _may_order(text: str, spoken: Sequence[str]) -> bool:
    """Return whether a text with these words may be a standing instruction, see `_STANDING`."""
    if _ORDERS.isdisjoint(spoken):
        return False
    if not text.isascii():  # its signs may have been folded into words
        return True
    return spoken[0] in _ORDERS or not _ORDER_PAIRS.isdisjoint(pairwise(spoken))


def fold(text: str) -> str:
    """Normalise a text for the index.

    Compatibility forms, case and accents are removed. Words in Cyrillic and Arabic script are
    reduced to their stems, see `stemmed`; the index itself does that for English. A run of a script
    without spaces becomes overlapping pairs of characters, followed by its last character alone, so
    that a query of one character finds it as a prefix. A character that SQLite cannot store becomes
    a space.

    >>> fold("Straße ÉCLAIR")
    'strasse eclair'
    >>> fold("东京塔").split()
    ['东京', '京塔', '塔']
    """
    plain = _plain(text)
    return plain if plain.isascii() else _RUN.sub(_pairs_and_last, stemmed(plain))


def words(text: str) -> list[str]:
    """List the words of a text in order, normalised as in the index.

    >>> words("Don't panic, foo_bar!")
    ['don', 't', 'panic', 'foo', 'bar']
    """
    return _small(text) if text.isascii() else _words_in(fold(text))


def terms(text: str) -> list[str]:
    """List the words of a query in order, normalised.

    Like `words`, but a run of a script without spaces gives only its pairs: the single character
    at the end of a run in the index would match the end of other runs.

    >>> terms("东京塔 in Japan")
    ['东京', '京塔', 'in', 'japan']
    """
    if text.isascii():
        return _small(text)
    plain = _plain(text)
    return _words_in(plain if plain.isascii() else _RUN.sub(_pairs, stemmed(plain)))


def is_unspaced(word: str) -> bool:
    """Return whether a word belongs to a script written without spaces, or is Hangul."""
    return bool(_RUN.match(word))


def content(of: Sequence[str]) -> list[str]:
    """Keep the words that name the subject of a query; if no word would be left, drop fewer.

    >>> content(["what", "did", "i", "say", "about", "rust"]), content(["who", "am", "i"])
    (['say', 'rust'], ['who', 'am', 'i'])
    """
    if subject := [word for word in of if word not in _NO_SUBJECT]:
        return subject
    return [word for word in of if word not in STOP_WORDS] or list(of)


def without_ending(word: str) -> str:
    """Drop the commonest endings of English from a long folded word.

    >>> [without_ending(word) for word in ("orders", "ordering", "ordered", "glass", "king")]
    ['order', 'order', 'order', 'glass', 'king']
    """
    length = len(word)
    if word[-1] == "s" and length > _ROOT and word[-2] != "s":
        return word[:-1]
    if length > _ROOT + 1 and word[-2:] == "ed":
        return word[:-2]
    return word[:-3] if length > _ROOT + 2 and word[-3:] == "ing" else word


class Columns(NamedTuple):
    """One row of the full-text table.

    Attributes:
        title: The speaker and the names of the memory.
        head: The first `HEAD` characters, folded.
        rest: The text after the head, folded.
    """

    title: str
    head: str
    rest: str

    def spoken(self) -> tuple[list[str], list[str]]:
        """List the words of the head and the words of the rest, in order."""
        return _words_in(self.head), _words_in(self.rest)

    @property
    def title_words(self) -> int:
        """Number of words in the title, >= 0."""
        return self.title.count(" ") + 1 if self.title else 0

    @property
    def words(self) -> int:
        """Number of words in all columns, >= 0."""
        return self.title_words + sum(map(len, self.spoken()))

    @property
    def head_words(self) -> int:
        """Number of words in the head, >= 0."""
        return len(self.spoken()[0])


def columns(
    text: str,
    *,
    actor: str | None = None,
    role: str | None = None,
    key: str | None = None,
    aliases: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> Columns:
    """Split a memory into the columns of the full-text table.

    Args:
        text: Text of the memory.
        actor: Who said it; None for the role.
        role: Chat role of the speaker.
        key: The slot it fills; split into words.
        aliases: Other names to find it by.
        tags: Labels.

    >>> columns("Uses vim.", actor="Ada", key="user/editor")
    Columns(title='ada user editor', head='uses vim.', rest='')
    """
    names = [name for name in (actor or role, key, *aliases, *tags) if name]
    title = " ".join([word for name in names for word in words(name)])
    head, rest = split_head(text)
    return Columns(title, fold(head), fold(rest) if rest else "")


def split_head(text: str) -> tuple[str, str]:
    """Split a text after about `HEAD` characters, between two words if possible.

    >>> split_head("short")
    ('short', '')
    """
    if len(text) <= HEAD:
        return text, ""
    cut = max(text.rfind(gap, HEAD // 2, HEAD + 1) for gap in (" ", "\n"))
    cut = cut if cut > 0 else HEAD
    return text[:cut], text[cut:]


_QUOTED = re.compile(
    r'"([^"]{2,200})"|“([^”]{2,200})”|«([^»]{2,200})»|「([^」]{2,200})」|`([^`]{2,200})`'
)
_EDGE = ".,;:!?\"'()[]{}<>\u201c\u201d\u2018\u2019«»`*"
_ALNUM = re.compile(r"[^\W_]")
_IN_WORD = re.compile(r"\w")
_INNER = re.compile(r"[^\W_][_/.:@#\\+=&-]+[^\W_]")
_AMOUNT = re.compile(
    r"[\d.,:/-]+(st|nd|rd|th|s|am|pm|k|m|b|x|h|min|km|kg|cm|mm|gb|mb|kb|px|%)?", re.IGNORECASE
)
_MIX = re.compile(r"[^\W\d_]\d|\d[^\W\d_]")
_DOTTED = re.compile(r"[^\W_]{2,}(\.[^\W_]{2,})+", re.UNICODE)
_CODED = re.compile(r"_|://|::|@.+\.|\\|^[~.]?/|/.*/|/.*\.|#\d|-.*\d|\d.*-|^@[^/]+/", re.UNICODE)
_NUMBERED = re.compile(r"#\d{2,}", re.ASCII)
_SIGNED = re.compile(r"[^\W\d_]{1,8}(?:\+{1,2}|#)|[^\W\d_]-|[+-]\d[\d.,]*%?")
_HASH = re.compile(r"(?=(?:[A-Za-z]*\d){3})[A-Za-z\d]{7,}", re.ASCII)  # three digits at least


def quoted(text: str) -> list[str]:
    """List the phrases of a query that are in quotation marks.

    >>> quoted('who said "it works on my machine"?')
    ['it works on my machine']
    """
    if text.isascii() and '"' not in text and "`" not in text:
        return []
    found = (next(filter(None, match.groups())) for match in _QUOTED.finditer(text))
    return [phrase for phrase in (part.strip() for part in found) if _ALNUM.search(phrase)]


def identifiers(text: str) -> list[str]:
    """List the tokens of a query that must match exactly.

    These are ticket numbers, names from code, paths, addresses, hashes, and letters or numbers with
    a sign (C++, A-, +5); not other amounts, times or plain dates.

    >>> identifiers("why did ticket4711 break foo_bar at 10am on 2024-05-01, see a.io/x/y?")
    ['ticket4711', 'foo_bar', 'a.io/x/y']
    """
    return [token for token in map(_trim, text.split()) if _is_identifier(token)]


def _trim(token: str) -> str:
    trimmed = token.strip(_EDGE)
    return trimmed.removesuffix("'s").removesuffix("\u2019s")


def _is_identifier(token: str) -> bool:
    if token.isalpha():  # nearly always
        return False
    if _SIGNED.fullmatch(token):
        return True
    if len(token) < 3 or len(token) > 300 or _AMOUNT.fullmatch(token):  # noqa: PLR2004 - documented bounds
        return False
    if _INNER.search(token) and (_CODED.search(token) or _DOTTED.fullmatch(token)):
        return True
    if _NUMBERED.fullmatch(token):
        return True
    mixed = len(token) > 3 and bool(_MIX.search(token))  # noqa: PLR2004 - "mp3" is a word
    return mixed and (token[0] not in "0123456789" or bool(_HASH.fullmatch(token)))


def squeeze(text: str) -> str:
    """Normalise case, accents and white space but keep punctuation, for exact comparison."""
    return " ".join(_plain(text).split())


def _words_in(folded: str) -> list[str]:
    """List the words of a folded text. ASCII uses a table, at a seventh of the pattern's cost."""
    if folded.isascii():
        return folded.encode().translate(_APART).decode().split()
    return _WORD.findall(folded)


def _small(text: str) -> list[str]:
    """List the words of an ASCII text in lower case, as `_words_in` of the folded text."""
    return text.encode().translate(_SMALL_APART).decode().split()


def holds(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase without a letter or digit right before or after it.

    >>> holds("see ticket4711.", "ticket4711"), holds("see ticket47110", "ticket4711")
    (True, False)
    """
    at = text.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        around = text[max(0, at - 1) : at] + text[end : end + 1]
        if not _IN_WORD.search(around):
            return True
        at = text.find(phrase, at + 1)
    return False


def _plain(text: str) -> str:
    if not text.isprintable():  # the cheap question first
        text = _UNSTORABLE.sub(" ", text)
    if text.isascii():
        return text.lower()
    apart = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", apart.translate(_BASE_LETTERS)))


def _pairs(run: re.Match[str]) -> str:
    found = run.group()
    if len(found) == 1:
        return f" {found} "
    return f" {' '.join(_bigrams(found))} "


def _pairs_and_last(run: re.Match[str]) -> str:
    found = run.group()
    return f" {' '.join([*_bigrams(found), found[-1]])} "


def _bigrams(run: str) -> Iterator[str]:
    return (run[i : i + 2] for i in range(len(run) - 1))


_TWO_BYTES = re.compile("[\u0080-\u07ff]")
_FOUR_BYTES = re.compile("[\U00010000-\U0010ffff]")
_ASCII_CHARS, _TWO_BYTE_CHARS = 4, 2  # characters per token
_FOUR_BYTE_TOKENS = 2  # tokens per character


def estimate(text: str) -> int:
    """Estimate the tokens of a text from the scripts it is written in, at least 1.

    Language models read bytes, so a character that takes more bytes takes more tokens: four
    characters of English are a token, two of Greek, Cyrillic or Arabic, one of Chinese, Japanese,
    Korean, Thai or Hindi, half an emoji. The estimate is rather too high than too low: newer
    tokenizers need about two thirds of it outside English.

    >>> estimate("Rami likes tea."), estimate("Рами любит чай."), estimate("ラミはお茶が好き")
    (4, 7, 8)
    """
    if text.isascii():
        return max(1, -(-len(text) // _ASCII_CHARS))
    plain = len(text.encode("ascii", "ignore"))
    two, four = len(_TWO_BYTES.findall(text)), len(_FOUR_BYTES.findall(text))
    three = len(text) - plain - two - four
    whole = plain / _ASCII_CHARS + two / _TWO_BYTE_CHARS + three + four * _FOUR_BYTE_TOKENS
    return max(1, -int(-whole // 1))


# With their inflections, because a question is not stemmed. Verbs such as "take" or "work" and
# words such as "place" are left out: in a dialogue they often are the subject.
_ENGLISH = """
    call calls called name named live lives lived happen happens happened get gets got getting
    want wants wanted use uses used using
    last first old new one ones time times day days thing things
"""
_GERMAN = """
    heisst heissen nennt genannt wohnt wohne passiert benutzt benutze
    letzte letzten letzter letztes erste ersten erster erstes alte alten alter altes neue neuen
    neuer neues zeit tag tage sache sachen ding dinge
"""
_SPANISH = """
    llama llaman vive vivo paso pasa usa uso quiere quiero ultimo ultima primero primera viejo vieja
    nuevo nueva tiempo dia dias cosa cosas vez
"""
_FRENCH = """
    appelle appelait habite passe utilise veux veut dernier derniere premier premiere vieux vieille
    nouveau nouvelle temps jour jours chose choses fois
"""
WEAK_WORDS = frozenset(f"{_ENGLISH}{_GERMAN}{_SPANISH}{_FRENCH}".split())
"""Folded words that count less beside a stronger word."""

# Found among the 1,500 most common words of the tokenizer of the default model: those that are not
# what a question is about. Verbs such as "eat" and nouns such as "house" are left out.
_EMPTY = """
    about actually again ago ahead almost alone already alright although always another answer
    anybody anyone anything anyway apparently away back bad basically became become believe best
    better big bit boring brilliant called came certain certainly check checking checks clear
    come comes coming completely continue cool correct could course crazy deal definitely
    different directly done easy either else end ended enough entire especially even eventually
    ever every everybody everyone everything exactly explain fact far fast feel feeling feels
    felt few fine finish finished first follow following found full fun funny further gave gets
    getting gimme give given gives giving glad goes going gone gonna good got gotta great guess
    guy guys half happen happened happens happy hard hear heard help helped helpful helps here
    hold honestly hope however idea ill immediately important indeed instead interesting issue
    just keep kept kidding kind kinda knew know known knows late later least leave left less let
    like likely literally little long longer look looked looking looks lot lots made make makes
    making many matter maybe mean means meant might mind missed moment more most mostly much
    must nearly need needed needs never new next nice nobody none normally nothing obviously
    often okay only open opinion other others otherwise part particular perfectly perhaps please
    point possible pretty probably problem put question quick quickly quite rather ready real
    really reason remember repeat result right sad said same saw say saying says see seem seemed
    seems seen several shall should show shown simple simply since small somebody somehow
    someone something sometimes somewhat somewhere soon sorry sort sounds start started starts
    stay still stop stuff such suddenly suppose sure take taken takes taking talk talking tell
    telling tells terrible thing things think thinking thinks though thought through till tired
    together told took totally tried true truly trust try trying turn turned understand unless
    unlike unusual upon use used useful usual usually wait waiting wanna want wanted wants way
    weird well went whatever whenever wherever whether whole whose within without wonder
    wonderful wondering word words worry worth wow wrong yeah yep yes yet zero
"""
EMPTY_WORDS = WEAK_WORDS | frozenset(_EMPTY.split())
"""Folded words that do not tell what a question is about, even together: "are you sure"."""
HOLLOW_WORDS = STOP_WORDS | META_WORDS | EMPTY_WORDS
"""All words that do not tell what a question is about."""

"""Split a text into statements worth remembering, by rules. Pure.

The text is split along its own structure and never reworded: list items (with the line that
introduces them), paragraphs (with their heading), and long paragraphs at the ends of sentences.
Questions are left out, because they would be found before their own answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memento.text.words import content, is_unspaced, words

QUESTION_MARKS = "?\uff1f\u061f"
"""Question marks: of Latin, full-width and Arabic script."""


def ends_in_question(text: str, marks: str = QUESTION_MARKS) -> bool:
    """Return whether no word comes after the last question mark of a text.

    A regular expression would take quadratic time for many question marks in a row.

    Args:
        text: Any text.
        marks: The question marks.

    >>> ends_in_question('Where is it?")'), ends_in_question("Where is it? Here.")
    (True, False)
    """
    for char in reversed(text):
        if char in marks:
            return True
        if char == "_" or char.isalnum():
            return False
    return False


_CLAUSE = re.compile(r"[,;:()–—،؛、，；：]")  # noqa: RUF001 - real commas
_OPENERS = frozenset(
    """what when where which who whom whose why how is are am was were do does did can could will
    would shall should may might must have has had if in on at for to from with since""".split()  # noqa: SIM905 - words read better as one text
)
"""First words of an English clause that asks something or states a condition."""
_COURTESIES = frozenset(
    """hi hello hey hallo hola bonjour ciao good dear thanks thank okay ok please well so yes no
    yeah sorry great sure and but oh""".split()  # noqa: SIM905 - words read better as one text
)
_OWN = re.compile(r"\W*(?:(?:and|but|so|oh|well)\b\W*)?(?:i|we|my|our)\b", re.IGNORECASE)
"""First words of an English sentence about the speaker; it may end with any mark."""
_REPORTS = re.compile(
    r"""\b(?: (?:did|have|had|has) (?:n['’]?t)? \s+ (?:i|we) (?:\s+(?:ever|already|not))?
          \s+ (?:tell|told|mention\w*|say|said) (?:\s+you)?
        | (?:did|do|are) (?:n['’]?t)? \s+ you (?:\s+(?:already|still|even|not))?
          \s+ (?:know|remember|recall|hear|heard|reali[sz]e|notice|see|aware) (?:\s+of)? )
        \s+ (?!(?:you|of|what|when|where|which|who|whom|whose|why|how|if|whether|about|any\w*
               |some\w*)\b) \w
    """,  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE | re.VERBOSE,
)
"""An English question that contains the fact it asks about: "Did I tell you that ...?"."""
_LONG = 8  # content words in one question; a question with so many also states something
_CALL = 2  # words in a clause that may be a name: "Dear Ada, what ...?"
_GREETING = 3  # words in a courtesy


def merely_asks(text: str) -> bool:
    """Return whether a text only asks and states nothing.

    Args:
        text: A turn of a conversation, in any language. Sentences without a question mark, and
            clauses before the one that asks, are statements in any language; other signs of a
            statement are read in English only.

    >>> merely_asks("Hi! What is my dog called?"), merely_asks("Is there food I should avoid?")
    (True, True)
    >>> merely_asks("My dog is called Rex. What does it eat?"), merely_asks("I like tea, you see?")
    (False, False)
    >>> merely_asks("Did I tell you that my sister moved to Oslo?")
    False
    """
    if not any(mark in text for mark in QUESTION_MARKS):
        return False
    sentences = [part for part in SENTENCE.split(text) if words(part)]
    asking = {sentence for sentence in sentences if ends_in_question(sentence)}
    return bool(asking) and not any(
        _asks_and_tells(sentence) if sentence in asking else _says(words(sentence), 1)
        for sentence in sentences
    )


def beyond(text: str, query: str) -> float:
    """Return the share of a text's words that the query does not contain, [0, 1].

    >>> round(beyond("Can you cook for my son Leo?", "Who is my son?"), 2)
    0.67
    >>> beyond("Who is my son?", "And who is my son?")
    0.0
    """
    spoken = set(content(words(text)))
    return len(spoken - set(content(words(query)))) / max(1, len(spoken))


def _asks_and_tells(question: str) -> bool:
    clauses = [words(clause) for clause in _CLAUSE.split(question)[:-1]]
    return (
        _OWN.match(question) is not None
        or _REPORTS.search(question) is not None
        or any(_says(clause, _CALL) and clause[0] not in _OPENERS for clause in clauses)
        or _size(content(words(question))) > _LONG
    )


def _says(spoken: Sequence[str], few: int) -> bool:
    """Return whether words are more than a greeting or a name of at most ``few`` words."""
    courtesy = bool(spoken) and spoken[0] in _COURTESIES and len(spoken) <= _GREETING
    return _size(spoken) > few and not courtesy


def _size(spoken: Sequence[str]) -> float:
    """Count words; in a script without spaces each character is half of a pair and counts half."""
    return sum(0.5 if is_unspaced(word) else 1 for word in spoken)


PIECE = 400
"""Maximum length of a statement, characters; about 100 tokens, so that a few fit any prompt."""

_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"#{1,6}\s++(?P<text>.*)")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦]|\d{1,3}[.)])\s++(?P<text>.*)")
SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|\n+")  # noqa: RUF001 - real stops
_WORD = re.compile(r"\w")
_COURTESY = re.compile(
    r"(?:sure|certainly|of course|absolutely|great|done|thanks|thank you)\W*"
    r"|(?:please )?(?:let me know|feel free|i hope th(?:is|at)|i'm happy to)\b[^\n]*",
    re.IGNORECASE,
)
_PREAMBLE = re.compile(
    r"(?:\w+[!,. ]+)?(?:here (?:is|are)|here's|below (?:is|are)|the following|as requested)\b.*",
    re.IGNORECASE,
)
"""A line that only introduces the lines after it."""


def statements(text: str, *, questions: bool = False) -> list[str]:
    r"""Split a text along its own structure; questions and courtesies are left out.

    Args:
        text: Any text.
        questions: Return questions also, if they have any content.

    Returns:
        Statements in order, at most ``PIECE`` characters each.

    >>> statements("# Venue\n- The Old Mill\n- seats 80\n\nAnything else?")
    ['Venue: The Old Mill', 'Venue: seats 80']
    """
    reader = _Reader()
    for line in text.splitlines():
        reader.take(line)
    reader.end()
    pieces = (piece for block in reader.blocks for piece in cut(block))
    return [piece for piece in pieces if _says_something(piece, questions=questions)]


def _closed(heading: str) -> str:
    """Drop the hashes that close a heading, but not those of a word such as "C#".

    A regular expression would take quadratic time in the number of spaces.
    """
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else heading


def cut(text: str, limit: int = PIECE) -> list[str]:
    """Cut a text at sentence ends, or between words, or anywhere if there are neither.

    Args:
        text: Any text.
        limit: Maximum length of a piece, in characters, >= 1.

    >>> cut("One. Two. Three.", limit=10)
    ['One. Two.', 'Three.']
    """
    if len(text) <= limit:
        return [text]
    units: list[str] = []
    for sentence in SENTENCE.split(text):
        units += [sentence] if len(sentence) <= limit else _words(sentence, limit)
    pieces: list[str] = []
    for unit in units:
        if pieces and len(pieces[-1]) + 1 + len(unit) <= limit:
            pieces[-1] += f" {unit}"
        elif unit:
            pieces.append(unit)
    return pieces


@dataclass(slots=True)
class _Reader:
    """Reads a text line by line and joins lines of the same paragraph or item."""

    blocks: list[str] = field(default_factory=list)
    heading: str = ""
    lead: str = ""
    lead_used: bool = True
    open: list[str] = field(default_factory=list)
    code: bool = False
    item: bool = False

    def take(self, line: str) -> None:
        if _FENCE.match(line):
            self.close()
            self.code = not self.code
        elif self.code:
            self.open.append(line)
        elif not line.strip():
            self.close()
        elif heading := _HEADING.fullmatch(line):
            self.end()
            self.heading = _closed(heading["text"].rstrip()).rstrip(":")
        elif item := _ITEM.fullmatch(line):
            self.close()
            self.item = True
            self.open.append(item["text"])
        else:
            if self.item and not line.startswith((" ", "\t")):
                self.close()
            self.open.append(line.strip())

    def close(self) -> None:
        """Finish the current paragraph or item."""
        text = ("\n" if self.code else " ").join(self.open).strip()
        item, self.open, self.item = self.item, [], False
        if not text:
            return
        if text.endswith((":", "：")) and not self.code and not item:  # noqa: RUF001 - a real colon
            self._drop_lead()
            self.lead, self.lead_used = text[:-1].strip(), False
            return
        if not item and self.lead_used:
            self.lead = ""  # a list is over
        above = self.lead or self.heading
        self.lead_used = True
        shown = above and not _PREAMBLE.fullmatch(above)
        self.blocks.append(f"{above}: {text}" if shown else text)

    def end(self) -> None:
        """Finish everything, including the list that an earlier line introduced."""
        self.close()
        self._drop_lead()

    def _drop_lead(self) -> None:
        if not self.lead_used and not _PREAMBLE.fullmatch(self.lead):
            self.blocks.append(self.lead)
        self.lead, self.lead_used = "", True


def _says_something(piece: str, *, questions: bool) -> bool:
    return (
        _WORD.search(piece) is not None
        and (questions or not merely_asks(piece))
        and not _COURTESY.fullmatch(piece)
    )


def _words(sentence: str, limit: int) -> Iterator[str]:
    for word in sentence.split():
        yield from (word[at : at + limit] for at in range(0, len(word), limit))


_VERBS = frozenset(
    """is are was were be been has have had does lives live works work uses use runs costs cost
    starts begins ends needs wants likes goes comes gets keeps kept stands stored filed leads owns
    drives plays speaks reads bought sold moved belongs contains serves opens closes arrives leaves
    carries reports cancelled canceled delayed
    ist sind bin war waren hat haben wohnt lebt liegt steht gehört arbeitet kostet beginnt leitet
    est sont suis était ont habite coûte commence dirige
    es son soy está fue tiene vive trabaja cuesta empieza
    são sou foi tem mora custa começa""".split()  # noqa: SIM905 - words read better as one text
)
"""Verbs that are rarely anything else, as `words.fold` writes them."""
_ROLES = frozenset(
    """capital ceo cto cfo director head leader lead chief manager president mayor chair chairperson
    chairman owner principal captain founder author governor minister secretary editor coach boss
    treasurer chancellor rector dean call
    hauptstadt leiter leiterin direktor direktorin chef chefin vorsitzende capitale directeur
    directrice responsable président présidente directora jefe jefa presidente presidenta diretor
    diretora chefe""".split()  # noqa: SIM905 - words read better as one text
)
_HEADS = frozenset("leads heads chairs manages directs coaches leitet dirige".split())  # noqa: SIM905 - the same
_REACH = 6


def has_verb(words: Sequence[str]) -> bool:
    """Return whether a known verb is among some words.

    >>> has_verb("the concert is delayed again".split()), has_verb(["the", "concert"])
    (True, False)
    """
    return not _VERBS.isdisjoint(words) or not _HEADS.isdisjoint(words)


def holds_role(after: Sequence[str]) -> bool:
    """Return whether words after a subject give it a role that only one holds at a time.

    >>> holds_role("is the CEO of Juniper".lower().split()), holds_role("is delayed".split())
    (True, False)
    """
    if not after:
        return False
    if after[0] in _HEADS:
        return True
    return after[0] in _VERBS and not _ROLES.isdisjoint(after[1:_REACH])

"""Read what a statement claims: its mood, and for each claim subject, attribute and value. Pure.

A text is cut into clauses, and each clause is tried against a few forms: "my A is V", "the A of S
is V", "S lives in V", "V leads S", "from O to V", "no longer O". A clause that fits none claims
nothing. The words of each form are those of the text's language, see ``vocabulary``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from memento.claims.claim_tokens import small, tokens_of
from memento.claims.claim_words import Vocabulary, common, vocabulary
from memento.claims.settings import LONGEST
from memento.claims.states import LANGUAGE, State, states_of, taken_back
from memento.claims.whole import says_more

_VALUE = 5
"""Maximum number of words in a value."""
_SUBJECT = 4
"""Maximum number of words in a subject."""
_STATE, _WORDS = 3, 2
"""Maximum number of words in a state, such as "vegan", and of a value that is not a name."""
_CHARS = 400
SELF = "self"
"""The speaker, as a subject."""
_OWN = frozenset({"replies", "home", "diet"})
"""Attributes that are the speaker's if nobody is named."""
WEAK = frozenset({"use"})
"""Attributes that may have several values unless a statement says that something changed."""

_CODE = re.compile(
    r"[<>{}=|`]|\*\*|\w\(|^\s*(?:[-*#>\[]|\d+[.)])\s|^\s{4}|\n\s*\n|https?://\S+\s*$"
)
_AGE = re.compile(r"^(?P<s>.+?) (?:am|is|bin|ist) (?P<v>\d{1,3})(?: years old| jahre alt)$")
_IS_NOT = re.compile(r"(is|am|are) not")
_SIGN = re.compile("[$€£¥₹₽₩]")
_ASKS = re.compile(r"[?\uff1f]")


@dataclass(frozen=True, slots=True)
class Claim:
    """One value of one attribute of one subject.

    Attributes:
        subject: Its words, sorted; ``SELF`` stands for the speaker.
        attribute: The attribute; None if only the value is known.
        value: Words of the value.
        holds: Whether it is asserted; else it is denied or taken back.
    """

    subject: tuple[str, ...]
    attribute: str | None
    value: tuple[str, ...]
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it was read.

    Attributes:
        words: Its words in lower case, without fillers; empty if it was not read.
        language: ISO 639-1 code.
        mood: ``says``, ``asks``, ``maybe`` (it asserts nothing) or ``past``.
        negated: Whether it has a word of negation.
        changes: Whether it says that something changed.
        several: Whether it says that there may be several values.
        headed: Whether it has a heading before a colon; then only its claims are compared.
        more: Whether it says more than its first clause.
        claims: Its claims.
        spoken: Its words and stops in lower case.
        names: Its words that have a capital letter or a digit.
        states: The present state that it claims, if it says nothing else, see ``states``.
        taken: States that it takes back.
        signs: Its signs of a currency, which are no words.
    """

    words: tuple[str, ...] = ()
    language: str = "en"
    mood: str = "says"
    negated: bool = False
    changes: bool = False
    several: bool = False
    headed: bool = False
    more: bool = False
    claims: tuple[Claim, ...] = ()
    spoken: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    states: tuple[State, ...] = ()
    taken: tuple[State, ...] = ()
    signs: frozenset[str] = frozenset()


NOTHING = Statement()
"""A text that is not read."""


def read(text: str, more: tuple[tuple[str, str], ...] = ()) -> Statement:
    """Read a text as a statement.

    Code, lists and texts of more than ``LONGEST`` words are not read.

    Args:
        text: Any text.
        more: Further nouns with their attributes, see ``Conflicts.vocabulary``.

    >>> read("I moved from Ghent to Turku last week.").claims[0].value
    ('ghent',)
    >>> read("My editor is Helix").claims
    (Claim(subject=('self',), attribute='editor', value=('helix',), holds=True),)
    """
    if len(text) > _CHARS or _CODE.search(text):
        return NOTHING
    return _read(text.strip(), more)


@lru_cache(maxsize=256)
def _read(text: str, more: tuple[tuple[str, str], ...]) -> Statement:
    raw, language = tokens_of(text)
    if not raw or len(raw) > LONGEST + 10:
        return NOTHING
    tongue = vocabulary(language, more)
    spoken = [small(token) for token in raw]
    flat = " ".join(spoken)
    fillers, stops = tongue.words["fillers"], {",", ";", ".", "=", "?"}
    words = tuple(word for word in spoken if word not in fillers and word not in stops)
    if not words or len(words) > LONGEST:
        return NOTHING
    statement = Statement(
        words=words,
        language=language,
        mood=_mood(text, flat, words, tongue),
        negated=not tongue.words["negation"].isdisjoint(words),
        changes=tongue.change.search(flat) is not None,
        several=not tongue.words["also"].isdisjoint(words),
        headed="=" in spoken and not fillers.issuperset(spoken[: spoken.index("=")]),
    )
    if statement.mood not in ("says", "past"):
        return statement
    names = frozenset(small(token) for token in raw if _is_special(token))
    reader = _Reader(tongue, names, changes=statement.changes)
    claims = tuple(reader.claims(flat))
    moved = statement.changes and {one.holds for one in claims} == {True, False}
    read_so_far = replace(
        statement,
        claims=claims,
        spoken=tuple(spoken),
        names=names,
        signs=frozenset(_SIGN.findall(text)),
        more=says_more(spoken, tongue),
        several=statement.several or reader.several,
        mood="says" if moved else statement.mood,
    )
    return _with_states(read_so_far, flat)


def _with_states(statement: Statement, flat: str) -> Statement:
    plain = statement.mood == "says" and statement.language == LANGUAGE
    if not plain or statement.headed:
        return statement
    return replace(
        statement,
        states=() if statement.negated else states_of(flat),
        taken=taken_back(flat, changes=statement.changes),
    )


def _mood(text: str, flat: str, words: Sequence[str], tongue: Vocabulary) -> str:
    if _ASKS.search(text) or (words[0] in tongue.words["question"]):
        return "asks"
    if tongue.maybe.search(flat):
        return "maybe"
    return "past" if tongue.past.search(flat) else "says"


def _has_digit(token: str) -> bool:
    return any(letter.isdigit() for letter in token)


def _is_special(token: str) -> bool:
    """Return whether a word looks like a name or a code; days and months are neither."""
    looks = token[0].isupper() or not token.isalpha()
    return looks and small(token) not in common().counts


class _Reader:
    """Reads the claims of one statement.

    Args:
        tongue: The words of its language.
        names: Its words that have a capital letter or a digit.
        changes: Whether it says that something changed.

    Attributes:
        several: Whether a value was a list of several.
    """

    def __init__(self, tongue: Vocabulary, names: frozenset[str], *, changes: bool) -> None:
        self._tongue, self._names, self._changes = tongue, names, changes
        self._last: tuple[str, ...] | None = None
        self.several = False

    def claims(self, flat: str) -> Iterator[Claim]:
        """Yield the claims of a text, sentence by sentence."""
        for sentence in re.split(r" [.;](?: |$)", flat):
            self._last = None
            yield from self._sentence(self._plain(sentence))

    def _plain(self, sentence: str) -> str:
        fillers = self._tongue.words["fillers"] - self._tongue.words["conjunctions"]
        present = self._tongue.when.sub(" ", sentence)
        return " ".join(word for word in present.split() if word not in fillers).strip(" ,")

    def _sentence(self, sentence: str) -> Iterator[Claim]:
        for pattern in self._tongue.patterns["instead"]:
            found = pattern.match(sentence)
            if found is None:
                continue
            named = found.groupdict()
            kept = f"{named['s']} {named['v']}" if "s" in named else named["v"]
            claims = [one for part in self._clauses(kept) for one in self._clause(part)]
            old = self._value(named["o"])
            if claims and old:
                yield from claims
                yield replace(claims[-1], value=old, holds=False)
                return
        for part in self._clauses(sentence):
            yield from self._clause(part)

    def _clauses(self, sentence: str) -> Iterator[str]:
        """Cut a sentence at its commas, and at conjunctions before another claim."""
        for part in re.split(r" , ", sentence):
            words, start = part.split(), 0
            for at, word in enumerate(words):
                if word in self._tongue.words["conjunctions"] and 0 < at < len(words) - 1:
                    denied = word == "but" and self._tongue.gone.search(" ".join(words[:at]))
                    if denied or self._claims_something(words[at + 1 :]):
                        yield " ".join(words[start:at])
                        start = at + 1
                    else:
                        self.several = True
            yield " ".join(words[start:])

    def _claims_something(self, words: Sequence[str]) -> bool:
        text = " ".join(words)
        has_verb = not self._tongue.words["copulas"].isdisjoint(words)
        return has_verb or bool(self._tongue.verb.match(text) or self._tongue.end.match(text))

    def _clause(self, clause: str) -> Iterator[Claim]:
        words = [word for word in clause.split() if word not in self._tongue.words["conjunctions"]]
        clause = " ".join(words)
        found = list(self._moved(clause)) or list(self._ended(clause))
        if not found and self._tongue.gone.search(clause):
            kept = self._tongue.gone.sub(" ", _IS_NOT.sub(r"\1", clause))
            plain = self._plain_form(" ".join(kept.split()))
            found = [replace(one, holds=False) for one in plain]
        elif not found:
            found = list(self._plain_form(clause))
        for claim in found:
            self._last = claim.subject
            yield claim

    def _moved(self, clause: str) -> Iterator[Claim]:
        """Read "from O to V" and "V took over S from O"."""
        if not self._changes:
            return
        for pattern in (*self._tongue.patterns["from"], *self._tongue.patterns["taken"]):
            found = pattern.match(clause)
            if found is None:
                continue
            named = found.groupdict()
            about = _moved_thing(named["s"], named.get("t") or "", self._tongue)
            subject, attribute = self._about(about, needs_noun=False) or (None, None)
            old, new = self._value(named["o"]), self._value(named["v"])
            if subject is None or not old or not new:
                continue
            if pattern in self._tongue.patterns["taken"]:
                attribute = attribute or "lead"
            attribute = attribute or self._of_value(new) or self._of_value(old)
            yield Claim(subject, attribute, old, holds=False)
            yield Claim(subject, attribute, new)
            return

    def _ended(self, clause: str) -> Iterator[Claim]:
        """Read "I sold O"."""
        found = self._tongue.end.match(f"{clause} ")
        if found is None or self._tongue.gone.search(clause):
            return
        subject, old = self._subject(found["before"]), self._value(found["after"])
        if subject and old:
            for attribute in sorted(self._tongue.ends[found["phrase"]]):
                yield Claim(subject, attribute, old, holds=False)

    def _plain_form(self, clause: str) -> Iterator[Claim]:
        for form in (self._age, self._as, self._heads, self._verb, self._copula):
            found = form(clause)
            if found is not None:
                yield found
                return

    def _age(self, clause: str) -> Claim | None:
        found = _AGE.match(clause)
        subject = self._subject(found["s"]) if found else None
        return Claim(subject, "age", (found["v"],)) if found and subject else None

    def _as(self, clause: str) -> Claim | None:
        """Read "I use V as my A", "S has a budget of V" and "V is my A"."""
        for pattern in self._tongue.patterns["as"]:
            found = pattern.match(clause)
            if found is None:
                continue
            about = self._about(f"{found['s'].removesuffix(' is')} {found['a']}", needs_noun=True)
            value = self._value(found["v"])
            if about and about[1] and value and self._fits(about[1], value):
                return Claim(*about, value)
        return None

    def _heads(self, clause: str) -> Claim | None:
        """Read "V leads S" and "S is led by V"."""
        found = self._tongue.heads.match(f"{clause} ")
        if found is not None:
            value, about = found["before"], found["after"]
        else:
            headed = self._tongue.patterns["headed"][0].match(clause)
            if headed is None:
                return None
            value, about = headed["v"], headed["s"]
        subject, name = self._subject(about), self._value(value)
        if subject is None or subject == (SELF,) or not self._is_name(name):
            return None
        return Claim(subject, "lead", name)

    def _verb(self, clause: str) -> Claim | None:
        """Read "S lives in V"."""
        found = self._tongue.verb.match(f"{clause} ")
        if found is None:
            return None
        attribute, value = self._tongue.verbs[found["phrase"]], self._value(found["after"])
        subject = self._subject(found["before"])
        if subject is None and not found["before"].strip():
            subject = (SELF,) if attribute == "replies" else self._last or self._spoken()
        if subject is None or not value:
            return None
        if attribute in ("stack", "diet") or (
            attribute in WEAK and (self._changes or subject != (SELF,))
        ):
            attribute = self._of_value(value) or attribute
        return Claim(subject, attribute, value) if self._fits(attribute, value) else None

    def _spoken(self) -> tuple[str, ...] | None:
        """Return the speaker for a language whose verbs tell the person."""
        return (SELF,) if self._tongue.name in ("es", "pt") else None

    def _copula(self, clause: str) -> Claim | None:
        """Read "my A is V", "the A of S is V", "V is the A of S" and "I am V"."""
        words = clause.split()
        copulas = self._tongue.words["copulas"]
        at = next((i for i, word in enumerate(words) if word in copulas), None)
        if at is None or at == len(words) - 1:
            return None
        left, right = " ".join(words[:at]), " ".join(words[at + 1 :])
        if at == 0:
            return self._spoken_copula(right)
        if words[at] == "=" and len(words) > at + 3 and words[at + 1] in self._tongue.words["self"]:
            right = " ".join(words[at + 3 :])
        value, about = self._value(right), self._about(left, needs_noun=True)
        if about is not None and about[1] is not None:
            return Claim(*about, value) if value and self._fits(about[1], value) else None
        return self._role(left, right) or self._state(left, value)

    def _spoken_copula(self, right: str) -> Claim | None:
        value, speaker = self._value(right), self._spoken()
        attribute = self._of_value(value) if value else None
        return Claim(speaker, attribute, value) if speaker and attribute else None

    def _role(self, left: str, right: str) -> Claim | None:
        """Read "V is the A of S" if one person at a time is that."""
        about = self._about(right, needs_noun=True)
        held = about is not None and about[1] in {*self._tongue.holders.values(), "lead"}
        name = self._value(left)
        if about is None or not held or not about[0] or not self._is_name(name):
            return None
        return Claim(*about, name)

    def _state(self, left: str, value: tuple[str, ...]) -> Claim | None:
        """Read "I am vegan" and "the standup is at 9:30"."""
        subject = self._subject(left)
        if subject is None or not value:
            return None
        attribute = self._of_value(value)
        if attribute in ("diet", "marital", "employment") and len(value) <= _STATE:
            return Claim(subject, attribute, value)
        if not self._tongue.words["events"].isdisjoint(subject):
            attribute = _moment_kind(value)
            return Claim(subject, attribute, value) if attribute else None
        return None

    def _of_value(self, value: tuple[str, ...]) -> str | None:
        return next(
            (self._tongue.values[word] for word in value if word in self._tongue.values), None
        )

    def _about(self, text: str, *, needs_noun: bool) -> tuple[tuple[str, ...], str | None] | None:
        """Read a noun phrase as subject and attribute; None if it is not one that is known."""
        tongue = self._tongue
        words = [word for word in text.split() if word not in tongue.words["auxiliaries"]]
        at = self._noun(words)
        if not words and not needs_noun:
            return (SELF,), None
        if at is None:
            subject = None if needs_noun else self._subject(" ".join(words))
            return None if subject is None else (subject, None)
        attribute = tongue.nouns.get(words[at]) or tongue.holders[words[at]]
        rest = words[:at] + words[at + 1 :]
        if not rest:
            return ((SELF,), attribute) if attribute in _OWN or not needs_noun else None
        if any(word in tongue.nouns and tongue.nouns[word] == attribute for word in rest):
            rest = [word for word in rest if tongue.nouns.get(word) != attribute]
        subject = self._subject(" ".join(rest))
        return None if subject is None else (subject, attribute)

    def _noun(self, words: Sequence[str]) -> int | None:
        """Find the noun that names the attribute: the head of the phrase."""
        tongue = self._tongue
        known = tongue.nouns.keys() | tongue.holders.keys()
        places = [at for at, word in enumerate(words) if word in known]
        of = next((at for at, word in enumerate(words) if at and word in tongue.words["of"]), None)
        before = [at for at in places if of is None or at < of]
        if not before:
            return None
        if tongue.name in ("fr", "es", "pt"):
            return before[0]
        return before[-1] if of is not None or before[-1] == len(words) - 1 else None

    def _subject(self, text: str) -> tuple[str, ...] | None:
        """Read the words of a subject; None if it is unknown or too long."""
        sets = self._tongue.words
        words = [word.removesuffix("'s") for word in text.replace("的", " ").split()]
        if not words or not sets["pronouns"].isdisjoint(words):
            return None
        if sets["kin"].isdisjoint(words) and words == [w for w in words if w in sets["self"]]:
            return (SELF,)
        mine = any(word in sets["mine"] or word in sets["self"] for word in words)
        shared = any(word in sets["shared"] for word in words)
        dropped = sets["owner"] | sets["self"] | sets["determiners"] | sets["of"] | sets["generic"]
        dropped |= sets["copulas"] | sets["auxiliaries"]
        kept = [word for word in words if word not in dropped]
        if any(word in {",", "="} for word in words) or len(kept) > _SUBJECT:
            return None
        if not kept:
            return (SELF,) if mine or shared else self._named_generic(words)
        return tuple(sorted({*kept, *([SELF] if mine else [])}))

    def _named_generic(self, words: Sequence[str]) -> tuple[str, ...] | None:
        kept = [word for word in words if word in self._tongue.words["generic"]]
        return tuple(sorted(kept)) or None

    def _value(self, text: str) -> tuple[str, ...]:
        """Read the words of a value; none if it is not one."""
        sets, text = self._tongue.words, text.strip(" ,")
        while (shorter := self._tongue.tail.sub("", text).strip(" ,")) != text:
            text = shorter
        words = text.split(" , ")[0].replace("的", " ").split()
        if not sets["pronouns"].isdisjoint(words) or not sets["negation"].isdisjoint(words):
            return ()
        if not sets["also"].isdisjoint(words) or not sets["conjunctions"].isdisjoint(words):
            self.several = True
        dropped = sets["preps"] | sets["owner"] | sets["fillers"] | sets["determiners"]
        kept = [word for word in words if word not in dropped]
        if len(kept) > 1 and kept[-1] in self._tongue.nouns and kept[-1] not in self._names:
            kept.pop()  # "the main branch"
        return tuple(kept) if len(kept) <= _VALUE else ()

    def _fits(self, attribute: str, value: tuple[str, ...]) -> bool:
        """Return whether a value is of the kind that an attribute has."""
        tables = common()
        kind = tables.kinds.get(attribute, "name")
        if kind == "mail":
            return any("@" in word for word in value)
        if kind == "number":
            return any(_has_digit(word) or word in tables.counts for word in value)
        if kind == "word":
            return len(value) <= _WORDS or self._is_name(value)
        return self._is_name(value) or self._of_value(value) == attribute

    def _is_name(self, value: tuple[str, ...]) -> bool:
        """Tell whether a value has a name: a capital letter or a digit; or anything in Chinese."""
        if not self._tongue.spaced:
            return bool(value) and value[0][0] not in "很太在不没挺"
        return any(word in self._names for word in value)


def _moved_thing(before: str, after: str, tongue: Vocabulary) -> str:
    """Return the words of the thing that changed: "the standup" of "I moved the standup"."""
    if not after.strip():
        return before
    others = tongue.words["self"] | tongue.words["fillers"] | tongue.words["auxiliaries"]
    return after if others.issuperset(before.split()) else f"{before} {after}"


def _moment_kind(value: tuple[str, ...]) -> str | None:
    """Return whether a value is a time of the day or a day."""
    text = " ".join(value)
    if re.search(r"\d[:.h]\d\d|\d ?(?:am|pm|uhr|点)|\d+h\b|^\d{1,2}$|\bnoon\b", text):
        return "time"
    return (
        "day"
        if any(word.strip("s") in common().counts or word in common().counts for word in value)
        else None
    )

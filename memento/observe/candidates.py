"""Find the statements of a user's message that may be worth a memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memento.observe import cues, mask, split
from memento.observe import language as languages
from memento.observe.asked import is_request, kept_apart
from memento.observe.carried import LONGEST, MOST_READ, PROSE, are_own, carries, sends_elsewhere
from memento.observe.leads import is_stated_outright
from memento.observe.signals import (
    DOUBT_AT,
    SENTENCES,
    STORE_AT,
    Candidate,
    Found,
    Signal,
    Span,
)
from memento.observe.slots import slot_of
from memento.observe.wording import limits_last
from memento.text.words import STOP_WORDS

if TYPE_CHECKING:
    from memento.observe.reader import Statement

RULE_DOUBT = 0.4
"""Maximum doubt about a sure rule, as a share of that about other statements."""


def find(
    text: str,
    *,
    previous: str | None = None,
    language: str | None = None,
    store_at: float = STORE_AT,
    doubt_at: float = DOUBT_AT,
    most: int = SENTENCES,
) -> Found:
    """Find what a message of a user states that may be worth a memory.

    Args:
        text: The message of a user, word for word. Text of an assistant or a tool does not
            belong here.
        previous: The assistant's turn that the message answers, if any. It is read only to
            understand the message; nothing in it is ever a candidate.
        language: ISO 639-1 code of the message, if it is known; otherwise it is recognised.
        store_at: Minimum probability of a sure candidate; a rule must be surer.
        doubt_at: Minimum probability of a candidate.
        most: Maximum number of sentences to read, >= 1.

    Raises:
        EmbedderError: If the reader's files are missing or damaged.
    """
    masked = mask.hide(text[:MOST_READ])
    spans = split.all_sentences(masked, text)
    code = language or languages.recognise(masked)
    carried = carries(text, masked, code)
    read, vetoed = spans[:most], Counter[str]()
    if code == languages.ENGLISH:
        candidates = _by_reader(text, masked[: read[-1].end] if read else "", previous)
        candidates = _by_form(candidates, read, masked, vetoed)
    elif code in cues.LANGUAGES:
        candidates = _by_cues(read, masked, code, vetoed)
    else:
        return Found(skipped=len(spans), language=code, carried=carried)
    own = [
        is_stated_outright(one.span, one.span.start, masked, read)
        and not (one.signal is Signal.RULE and sends_elsewhere(one.text, masked, read, code))
        for one in candidates
    ]
    sure = [
        is_own and one.probability >= _least(one.signal, store_at)
        for one, is_own in zip(candidates, own, strict=True)
    ]
    stated = [one.span for one, is_sure in zip(candidates, sure, strict=True) if is_sure]
    if carried == PROSE and len(text) <= LONGEST and len(text.splitlines()) > 1:
        states = {span: _is_stated(span, stated) for span in read}
        carried = None if are_own(masked, states, code) else PROSE
    return Found(
        candidates=tuple(
            replace(
                one,
                sure=carried in (None, PROSE) and is_sure,
                before="" if carried else split.before(one.span, read, masked),
                reasons=one.reasons if carried is None else (*one.reasons, f"carried: {carried}"),
            )
            for one, is_sure in zip(candidates, sure, strict=True)
            if one.probability >= doubt_at
        ),
        vetoed=vetoed,
        skipped=len(spans) - len(read),
        language=code,
        how="model" if code == languages.ENGLISH else "cues",
        carried=carried,
    )


def _by_reader(text: str, masked: str, previous: str | None) -> list[Candidate]:
    """Return what the reader finds; no feedback if there is no turn before."""
    from memento.observe.reader import Reader  # noqa: PLC0415 - importing loads numpy

    reading = Reader.load().read(masked, previous)
    if previous is None:
        reading = reading.without(Signal.FEEDBACK)
    return [
        part
        for said in reading.statements()
        for one in _read_apart(said, masked)
        for part in _parted(
            Candidate(
                Span(one.start, one.end, text[one.start : one.end]),
                one.signal,
                one.probability,
                sure=False,
                reasons=("model",),
            )
        )
    ]


def _read_apart(said: Statement, masked: str) -> Iterator[Statement]:
    """Read each half of a statement alone if one asks to forget and the other one to keep."""
    from memento.observe.reader import Reader  # noqa: PLC0415 - importing loads numpy

    turn = kept_apart(masked[said.start : said.end])
    if turn is None:
        yield said
        return
    first, second = said.start + turn[0], said.start + turn[1]
    for start, end in ((said.start, first), (second, said.end)):
        for one in Reader.load().read(masked[start:end], None).statements():
            yield replace(one, start=start + one.start, end=start + one.end)


_JOINT = re.compile(r",? and |, but |, ", re.IGNORECASE)
_SUBJECT = re.compile(r"(?P<who>I|we) (?!am\b|are\b)\w", re.IGNORECASE)
"""The subject of a sentence with a verb that others can be joined to: "I live in ... and work"."""
_OWN = re.compile(r"(?:I|we)\b|my |our ", re.IGNORECASE)
_PLACES = frozenset(
    """near close opposite beside besides behind next outside inside above below beneath under
    between across along around past beyond since without within towards toward despite unlike via
    amid among upstairs downstairs just right back""".split()  # noqa: SIM905 - words read better as one text
)
"""Prepositions and adverbs that begin no clause with a verb: "I live in Porto, near the river"."""
_OTHERWISE = dict.fromkeys((Signal.FACT, Signal.RELATION), (Signal.IDENTITY,))
"""Other classes to try for a part, as the class is that of the whole."""


def _parted(said: Candidate) -> Iterator[Candidate]:
    """Split what fills a slot from the rest of the sentence.

    When Porto in "I live in Porto and work at Acme" is replaced, Acme still holds. Two values of
    one slot stay together, as neither replaces the other: "call me Joe, my full name is Joseph".
    """
    span = said.span
    for joint in _JOINT.finditer(span.text):
        rest = Span(span.start + joint.end(), span.end, span.text[joint.end() :])
        subject = _subject_left_out(said.text, rest.text)
        if subject is None:
            continue
        words = span.text[: joint.start()]
        first = replace(said, span=Span(span.start, span.start + joint.start(), words))
        second = replace(said, span=rest, subject=subject)
        for signal in (said.signal, *_OTHERWISE.get(said.signal, ())):
            slot, other = slot_of(first.text, signal), slot_of(second.text, signal)
            if slot is not None and slot.single and (other is None or other.key != slot.key):
                yield replace(first, signal=signal)
                yield from _parted(second)
                return
    yield said


def _subject_left_out(sentence: str, rest: str) -> str | None:
    """Return the subject that the rest of a sentence shares with it.

    ``""`` if the rest has its own; None if it is no clause, or no statement without the one before.
    """
    if limits_last(rest):
        return None
    if _OWN.match(rest):
        return ""
    subject, word = _SUBJECT.match(sentence), rest.split(maxsplit=1)[0]
    is_verb = word.islower() and not word.endswith("ing")
    if subject is None or not is_verb or word in (STOP_WORDS | _PLACES) - {"am", "have"}:
        return None
    return subject["who"]


def _by_form(
    candidates: Sequence[Candidate], sentences: Sequence[Span], masked: str, vetoed: Counter[str]
) -> list[Candidate]:
    """Drop requests to forget whose form is that of none, and add a message that has the form.

    Of several sentences, another one may tell whose words they are: only the reader sees that.
    """
    found = []
    for one in candidates:
        forgets = one.signal is Signal.FORGET
        if forgets and is_request(masked[one.span.start : one.span.end]) is False:
            vetoed["no request"] += 1
        else:
            found.append(one)
    heard = any(one.signal is Signal.FORGET and one.probability >= STORE_AT for one in found)
    if len(sentences) == 1 and not heard and is_request(masked):
        said = Candidate(sentences[0], Signal.FORGET, cues.CERTAIN, sure=False, reasons=("form",))
        return [said]
    return found


def _by_cues(
    spans: Sequence[Span], masked: str, language: str, vetoed: Counter[str]
) -> list[Candidate]:
    """Return the sentences that have a cue of their language; count those that it refuses."""
    table = cues.load(language)
    found: list[Candidate] = []
    for span in spans:
        said = masked[span.start : span.end]
        refused = table.refuse(said)
        signal = table.signal(said)
        if refused is not None:
            vetoed[refused] += 1
        elif signal is not None:
            found += _parted_by_cues(span, signal, masked, language)
    return found


_JOINTS = re.compile(r",? (?:und|et|y|e|en) |, ", re.IGNORECASE)


def _parted_by_cues(span: Span, signal: Signal, masked: str, language: str) -> Iterator[Candidate]:
    """Split what fills a slot from a clause behind it that has a cue and a slot of its own."""
    table, reason = cues.load(language), f"cue:{language}:{signal}"
    for joint in _JOINTS.finditer(span.text):
        end, start = span.start + joint.start(), span.start + joint.end()
        first, rest = (
            Span(a, b, span.text[a - span.start : b - span.start])
            for a, b in ((span.start, end), (start, span.end))
        )
        also = table.signal(masked[start : span.end])
        filled = [slot_of(one.text, Signal.IDENTITY) for one in (first, rest)]
        if also is not None and all(filled) and len({one.key for one in filled if one}) > 1:
            yield Candidate(first, signal, cues.CERTAIN, sure=False, reasons=(reason,))
            yield from _parted_by_cues(rest, also, masked, language)
            return
    yield Candidate(span, signal, cues.CERTAIN, sure=False, reasons=(reason,))


def _least(signal: Signal, store_at: float) -> float:
    """Return the probability of a sure statement: higher for a rule, which steers an agent."""
    return 1 - RULE_DOUBT * (1 - store_at) if signal is Signal.RULE else store_at


def _is_stated(sentence: Span, stated: Sequence[Span]) -> bool:
    """Return whether statements make up most of a sentence."""
    shared = (min(one.end, sentence.end) - max(one.start, sentence.start) for one in stated)
    return 2 * sum(max(0, each) for each in shared) >= sentence.end - sentence.start

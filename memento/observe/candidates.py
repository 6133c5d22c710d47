"""Find the sentences of a user's message that may be worth a memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memento.observe import cues, guards, mask, split
from memento.observe import language as languages
from memento.observe.carried import LONGEST, MOST_READ, PROSE, are_own, carries
from memento.observe.signals import (
    DOUBT_AT,
    SENTENCES,
    STORE_AT,
    Candidate,
    Detection,
    Found,
    Signal,
    Span,
)
from memento.observe.told import judged_by_wording

if TYPE_CHECKING:
    from memento.protocols import Embedder


_CONTRADICTS = re.compile(
    r"""^\W*(?:no|nope|nah|wrong|incorrect|actually|not|wait|that['’]?s\s+(?:wrong|not|incorrect)
      |you\s+keep\s+\w+ing|i\s+(?:already\s+)?told\s+you)\b.*\w+\W+\w+ | \binstead\W*$""",  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE | re.VERBOSE,
)
_MARKS = re.compile(
    r"""^\W*(?:(?:and|but|so|oh|well|hey|hi|ok|okay|also)\W+)*
      (?:no|nope|nah|actually|wrong|incorrect|sorry|correction|scratch|wait|strike|not|oops|it['’]?s
        |that['’]?s|i\s+meant|i\s+mis\w+|you|ignore|forget|update|small|my\s+mistake)\b
    | \b(?:no\s+longer|any\s?more|any\s+longer|instead|stopped|switched|changed|moved|renamed
      |migrated|mistake|rather\s+than|turns?\s+out|wrong|incorrect|actually|meant|extended|outdated|backwards|mixed
      |gave\s+up|got\s+rid|told\s+you|said|misspoke|misread)\b
    | ,\s*not\s+(?!bad\b|too\b|so\b|that\b)\w+ | \bnot\b.*,\s*(?:but|it|i|we)\b""",  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE | re.VERBOSE,
)
"""Words without which a statement that answers nothing corrects nothing for sure."""
_LABEL = re.compile(
    r"\W*(?!(?:always|never|only|immer|nie|nur)\b)[^\W\d_]{1,20}\s(?:[^\W\d_]{2,5}\s)?"
    r"[^\W\d_]{3,20}\s(?-i:[A-Z])[.!]*",
    re.IGNORECASE,
)
"""A request for one of the choices at hand, by its letter: "Use plan B", "Nimm Plan B"."""
_CORRECTED = frozenset(
    {
        Signal.IDENTITY,
        Signal.FACT,
        Signal.RELATION,
        Signal.PREFERENCE,
        Signal.RULE,
        Signal.DECISION,
        Signal.PLAN,
    }
)
"""Classes of which a sentence that contradicts the turn before is a correction."""


def find(
    text: str,
    *,
    previous: str | None = None,
    embedder: Embedder | None = None,
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
            recognise feedback and corrections; nothing in it is ever a candidate.
        embedder: The model in the package (``memento.embed.onnx.default_embedder()``), or None to
            judge by n-grams alone.
        language: ISO 639-1 code of the message, if it is known; otherwise it is recognised.
        store_at: Minimum probability of a sure candidate.
        doubt_at: Minimum probability of a candidate.
        most: Maximum number of sentences to read, >= 1.

    Raises:
        InvalidInput: If ``embedder`` is not the model that the detector was trained with.
        EmbedderError: If the detector or the embedder cannot be read.
    """
    masked = mask.hide(text[:MOST_READ])
    spans = split.all_sentences(masked, text)
    code = language or languages.recognise(masked)
    carried = carries(text, masked, code)
    if code != languages.ENGLISH and code not in cues.LANGUAGES:
        return Found(skipped=len(spans), language=code, carried=carried)
    read = spans[:most]
    refused = vetoes(read, masked, code)
    kept = [span for span, reason in zip(read, refused, strict=True) if reason is None]
    judged = [
        _answering(
            judged_by_wording(one, masked[span.start : span.end], store_at, doubt_at),
            span.text,
            previous,
            code,
        )
        for one, span in zip(_judged(kept, masked, embedder, code), kept, strict=True)
    ]
    if carried == PROSE and len(text) <= LONGEST and len(text.splitlines()) > 1:
        sure = {
            span
            for span, one in zip(kept, judged, strict=True)
            if one.signal is not None and one.is_sure(store_at)
        }
        if are_own(masked, {span: span in sure for span in read}, code):
            carried = None
    return Found(
        candidates=tuple(
            Candidate(
                span,
                one.signal,
                one.probability,
                sure=carried in (None, PROSE) and one.is_sure(store_at),
                reasons=one.reasons if carried is None else (*one.reasons, f"carried: {carried}"),
            )
            for span, one in zip(kept, judged, strict=True)
            if one.signal is not None and one.probability >= doubt_at
        ),
        vetoed=Counter(reason for reason in refused if reason is not None),
        skipped=len(spans) - len(read),
        language=code,
        how="cues" if code != languages.ENGLISH else "ngrams" if embedder is None else "model",
        carried=carried,
    )


def vetoes(spans: Sequence[Span], masked: str, language: str) -> list[str | None]:
    """Name the reason for which each sentence is not to be learned, or None; see ``guards``."""
    if language == languages.ENGLISH:
        return guards.vetoes(spans, masked)
    table = cues.load(language)
    return [table.refuse(masked[span.start : span.end]) for span in spans]


def _answering(detection: Detection, said: str, previous: str | None, language: str) -> Detection:
    """Read a detection as an answer: without a turn before it, nothing is praised or faulted.

    What is called by a letter is known in its conversation alone, and makes no rule.
    """
    if detection.signal is Signal.RULE and _LABEL.fullmatch(said):
        return replace(
            detection, licensed=False, reasons=(*detection.reasons, "a choice by its letter")
        )
    if detection.signal is Signal.FEEDBACK and previous is None:
        return replace(
            detection, licensed=False, reasons=(*detection.reasons, "no turn it could be about")
        )
    unmarked = language == languages.ENGLISH and previous is None and not _MARKS.search(said)
    if detection.signal is Signal.CORRECTION and unmarked:
        return replace(
            detection, licensed=False, reasons=(*detection.reasons, "nothing says it corrects")
        )
    if previous is not None and detection.signal in _CORRECTED and _CONTRADICTS.search(said):
        return replace(
            detection,
            signal=Signal.CORRECTION,
            reasons=(*detection.reasons, f"contradicts: {detection.signal}"),
        )
    return detection


def _judged(
    spans: Sequence[Span], masked: str, embedder: Embedder | None, language: str
) -> list[Detection]:
    if not spans:
        return []
    from memento.observe.detect import Detector  # noqa: PLC0415 - importing loads numpy

    said = [masked[span.start : span.end] for span in spans]
    return Detector.load().detect(said, embedder=embedder, language=language)

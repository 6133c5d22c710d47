"""Settings of the read path, with the source of each number.

This module does not import NumPy, so that configuration is cheap to import.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

_CALIBRATED = "all-MiniLM-L6-v2"  # the model in the package, as an embedder names it


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each piece of evidence: what a memory that has it fully adds to its sum.

    Fitted together (listwise softmax, L2 1e-3) on the development halves of two public
    benchmarks, LoCoMo and BEAM, each with half of the mass, by ``benchmarks/fit_weights.py``;
    then rounded. Unit: nats of that softmax. All >= 0. Only ``calendar`` was raised afterwards,
    from 3.3 to 4.0: the words of a date are no longer looked up, so the other words of a question
    with a date earn more than they did in the fit. ``form`` was fitted with the others held fixed.

    Attributes:
        window: BM25 of the memory and its neighbours' heads, relative to the best candidate.
        cover: Share of the query's words, by rarity, in the memory and its neighbours' heads.
        session_text: BM25 of its session, relative to the best candidate.
        meaning: Cosine to the query, smoothed over neighbours, min-max over the candidates.
        own_meaning: Its own cosine to the query, min-max over the candidates.
        session_meaning: Best cosine in its session, min-max over the candidates.
        speaker: The query names one participant, who said it.
        calendar: It was said at a time that the query names, or soon after.
        said_date: Its text mentions a time that the query names.
        when: The query asks when, and it has a word about time.
        digit: The query asks how many, and it has a digit.
        first_person: It is in the first person.
        user: It is not from an assistant or tool, and the query does not ask for a summary.
        opens: It is the user's first turn of the session.
        standing: It is a standing instruction.
        form: It holds the kind of answer that the query wants: a name, a time, a number, a place, a
            negation, or it is a decision or a rule.
        answers: The turn before it is a question like this one, by cosine or shared words.
        importance: Its importance; a bounded prior, not fitted.
        reranked: The reranker's score, min-max over the memories it scored; only with a reranker.
    """

    window: float = 2.9
    cover: float = 1.2
    session_text: float = 0.9
    meaning: float = 2.8
    own_meaning: float = 0.0
    session_meaning: float = 1.5
    speaker: float = 2.5
    calendar: float = 4.0
    said_date: float = 1.3
    when: float = 1.4
    digit: float = 1.8
    first_person: float = 0.6
    user: float = 2.3
    opens: float = 1.0
    standing: float = 2.2
    form: float = 0.5
    answers: float = 1.4
    importance: float = 0.3
    reranked: float = 1.0


def _alone() -> Weights:
    return Weights(
        window=2.0,
        cover=2.2,
        meaning=3.5,
        own_meaning=0.9,
        user=3.9,
        form=2.0,
        first_person=0.3,
        standing=1.8,
    )


@dataclass(frozen=True, slots=True)
class Sure:
    """Logistic functions that give the confidence: a factor for each sign, then a constant.

    Fitted on the development halves of LoCoMo and BEAM, where half of the questions belong to
    another store than the one that is asked (``benchmarks/reliability.py --fit``), and on two
    lives, each as one store and as stores of 25 memories, to which other people's questions, small
    talk and general questions were put as well. Then rounded. The factors of cosine, cover and fit
    in ``answer`` are older and were held. The signs are those of `confidence.Signs`; the cosine is
    the one above noise, and for the share its natural logarithm is used.

    Attributes:
        hit: Cosine, cover, share, unknown, constant: chance that a hit is an answer.
        hit_by_words: Cover, share, unknown, constant: the same without vectors.
        answer: Cosine, cover, fit, unknown, constant: chance that an answer is among the hits. On
            LoCoMo and BEAM, half way between that and the chance that the question belongs to this
            store.
        answer_by_words: Cover, fit, unknown, constant: the same without vectors.
        near: Cosine, constant: chance that a hit of a search by vector alone is an answer.
        lacks: Factor of the sign of that name in all four: how much less likely an answer is if the
            kind of thing asked for is missing. From its frequency among answered questions of five
            lives (2 %) and among unanswerable ones about the same persons and things (21 %): their
            logarithmic ratio is -2.4, rounded towards 0.
        oneself: Added to the logit of the chance that an answer is among the hits, if the query
            asks about the person who asks and a note is the first hit. On ten lives the chance of
            such questions was too low: 0.49 said and 0.80 seen in stores of 30 to 60 notes, 0.59
            and 0.88 in larger ones, and of all others 0.52 and 0.48, 0.60 and 0.75. Fitted 1.5,
            rounded towards 0.
    """

    hit: tuple[float, float, float, float, float] = (5.0, 1.0, 0.9, -2.7, -0.6)
    hit_by_words: tuple[float, float, float, float] = (1.0, 1.0, -5.0, -0.5)
    answer: tuple[float, float, float, float, float] = (8.0, 3.0, 11.0, -2.0, -10.0)
    answer_by_words: tuple[float, float, float, float] = (3.6, 9.9, -3.3, -8.6)
    near: tuple[float, float] = (6.7, -5.7)
    lacks: float = -2.0
    oneself: float = 0.8


@dataclass(frozen=True, slots=True)
class RetrieveConfig:
    """Settings of search and ranking in ``retrieve``.

    Attributes:
        weights: Weight of each piece of evidence for a turn of a session.
        alone: The same for a memory outside any session, whose neighbours lend it nothing: its
            meaning counts more and a single shared word less. Fitted to two development lives of
            short notes and chats, with ``weights`` held fixed; L2 0.01 on the differences.
        arm: Candidates that each search proposes, >= 1. 30 loses 3 points of any@10 on BEAM
            500K, 400 gains none.
        terms: Most words of a query that are looked up, >= 1; the first ones are taken.
        cap: Most rows read for one word, >= 1. For a more frequent word, only the rows that also
            have a rarer word of the query are read, or else the newest rows.
        k1: BM25 saturation of repeated words, > 0 (the usual 1.2).
        b: BM25 share of length normalisation, [0, 1]. 0.5 finds more here than the usual 0.75.
        near: Weight of a word in the head of the previous or next turn; 1 for the memory itself.
        far: The same for the second previous and second next turn.
        smooth: Weight of each neighbour's vector; 1 for the memory's own. Short turns only.
        few: Hits if the caller does not give a number, >= 1.
        many: The same for a query that wants several memories; see `question.Query`. If it equals
            ``few``, such queries are treated like all others.
        passage: Characters shown of each memory if the query wants several and there is a token
            budget, >= 1; None to show as much as for other queries.
        long: Characters from which a memory is long, >= 1: in a prompt, and within a token budget,
            only its relevant passage is shown, of at most so many characters. 1,000 characters of
            English are about 250 tokens. None to show every memory whole; in a prompt with a budget
            one that does not fit is shortened even so.
        noise: Cosine below which a memory without any word of the query is not proposed, [-1, 1].
            With the default model and our English set, a question and an unrelated fact have a
            cosine of 0.07 on average, and one pair in twenty has more than 0.22; answers in quite
            different words begin at 0.12.
        kept_mb: Megabytes of outlines and vectors that the read path keeps in RAM between
            queries, for all namespaces together, >= 1. A namespace takes 8 KB, each of its
            memories 90 to 180 bytes, and 1.5 to 3 KB more if it is searched exactly. Namespaces
            used least recently are evicted first; reading one again takes 10 µs per memory.
        rerank: Candidates that a reranker scores, if there is one, >= 1.
        prompt_confidence: Least chance that an answer is among the hits for ``prompt`` and the
            adapters to show any, [0, 1]; for the default embedder, for which the confidence is
            calibrated. In four development lives 0.24 keeps 93 % of the answers found, and drops
            91 % of small talk, general questions and questions about what nobody told. In stores
            of 30 memories it keeps fewer, 88 % of four of them.
        prompt_confidence_by_words: The same without an embedder. In two development lives 0.16
            keeps 87 % of the answers found, and drops 88 % of what nothing answers.
        echo: Share of its score that a memory keeps if it only repeats the query, [0, 1].
        sure: Parameters of the confidence.
    """

    weights: Weights = field(default_factory=Weights)
    alone: Weights = field(default_factory=_alone)
    arm: int = 200
    terms: int = 32
    cap: int = 2000
    k1: float = 1.2
    b: float = 0.5
    near: float = 0.5
    far: float = 0.2
    smooth: float = 0.5
    few: int = 5
    many: int = 30
    passage: int | None = 240
    long: int | None = 1000
    noise: float = 0.2
    prompt_confidence: float = 0.24
    prompt_confidence_by_words: float = 0.16
    echo: float = 0.25
    kept_mb: int = 256
    rerank: int = 30
    sure: Sure = field(default_factory=Sure)

    def least_for(self, embedder: object) -> float:
        """Return the least confidence of hits for a prompt to show them, > 0.

        The confidence is calibrated for the default embedder and for full text alone. With another
        embedder, whose cosines lie elsewhere, only what answers nothing at all is left out.

        Args:
            embedder: Name of the embedder; None for full text alone.
        """
        if embedder is None:
            return self.prompt_confidence_by_words
        calibrated = embedder == "default" or str(embedder).startswith(_CALIBRATED)
        return self.prompt_confidence if calibrated else sys.float_info.min

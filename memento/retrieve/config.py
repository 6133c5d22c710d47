"""The numbers of the read path and where each comes from.

No NumPy here: configuration is cheap to import.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Weights:
    """What each piece of evidence adds to the score of a memory that has it in full.

    Fitted together (listwise softmax, L2 1e-3) on the development halves of two public
    benchmarks, LoCoMo and BEAM, each with half of the mass, by ``benchmarks/fit_weights.py``;
    then rounded. Unit: nats of that softmax. All >= 0.

    Attributes:
        window: BM25 of the memory and its neighbours' heads, share of the best candidate's.
        cover: Share of the query's words, by rarity, in the memory and its neighbours' heads.
        session_text: BM25 of its session, share of the best candidate's.
        meaning: Cosine to the query, smoothed over neighbours, min-max over the candidates.
        session_meaning: Best cosine in its session, min-max over the candidates.
        speaker: The one participant the query names said it.
        calendar: It was said at, or soon after, a time the query names.
        said_date: It speaks of a time the query names.
        when: The query asks when, and it has a word of time.
        digit: The query asks how many, and it has a digit.
        first_person: It speaks in the first person.
        user: No assistant or tool said it, and no summary is asked for.
        opens: The user opens the session with it.
        standing: It is a standing instruction.
        answers: The turn before it is a question like this one, by cosine or shared words.
        importance: Its importance, centred; a bounded prior, not fitted.
        reranked: The reranker's score, min-max over those it judged; if there is a reranker.
    """

    window: float = 2.9
    cover: float = 1.2
    session_text: float = 0.9
    meaning: float = 2.8
    session_meaning: float = 1.5
    speaker: float = 2.5
    calendar: float = 3.3
    said_date: float = 1.3
    when: float = 1.4
    digit: float = 1.8
    first_person: float = 0.6
    user: float = 2.3
    opens: float = 1.0
    standing: float = 2.2
    answers: float = 1.4
    importance: float = 0.3
    reranked: float = 1.0


@dataclass(frozen=True, slots=True)
class Sure:
    """Logistics behind the confidence: the factor of each sign, then a constant.

    Fitted by ``benchmarks/reliability.py --fit`` on the development halves of LoCoMo and BEAM,
    each with half of the mass, half of the questions foreign to the store they are put to; then
    rounded. The signs are those of `confidence.Signs`; of the share the natural logarithm counts.

    Attributes:
        hit: Cosine, cover, share, constant: that a hit is an answer.
        hit_by_words: Cover, share, constant: the same without vectors.
        answer: Cosine, cover, fit, constant: that an answer is among the hits. Drawn from the best
            fit of that (7.0, 2.5, 12.6) half way to the best fit of whether the question is this
            store's own, which costs 0.5 % of the likelihood.
        answer_by_words: Cover, fit, constant: the same without vectors.
        near: Cosine, constant: that a hit is an answer, of a search by vector alone.
    """

    hit: tuple[float, float, float, float] = (3.9, 1.2, 1.0, -2.2)
    hit_by_words: tuple[float, float, float] = (2.2, 1.2, -0.4)
    answer: tuple[float, float, float, float] = (8.0, 3.0, 11.0, -13.6)
    answer_by_words: tuple[float, float, float] = (3.6, 9.9, -8.6)
    near: tuple[float, float] = (6.7, -5.7)


@dataclass(frozen=True, slots=True)
class RetrieveConfig:
    """How `find` looks and judges.

    Attributes:
        weights: What each piece of evidence is worth.
        arm: Candidates each way of looking proposes, >= 1. 30 loses 3 points of any@10 on BEAM
            500K, 400 gains none.
        terms: Most words of a query that are looked up, >= 1; the first ones.
        cap: Most rows read for one word, >= 1; of a more frequent word only those that rarer
            words of the query found as well, else the newest.
        k1: BM25 saturation of repeated words, > 0 (the usual 1.2).
        b: BM25 share of length normalisation, [0, 1]. 0.5 finds better here than the usual 0.75.
        near: What a word in the head of the previous or next turn counts, of one in the memory.
        far: The same for the second previous and second next turn.
        smooth: Weight of each neighbour's vector against the memory's own 1; short turns only.
        few: Hits when the caller leaves the number open, >= 1.
        many: The same for a question that wants several memories; see `query.Query`. Equal to
            ``few``, such questions are not told apart.
        passage: Characters shown of each memory when several are wanted within a token budget,
            >= 1; None to show every memory whole.
        noise: Cosine below which a memory without any word of the query is not proposed, [-1, 1].
            The default model gives questions and facts of our English set that do not belong
            together 0.07 on average, one in twenty more than 0.22; answers in quite other words
            begin at 0.12.
        kept_mb: Megabytes of outlines and vectors that the read path keeps in RAM between
            questions, of all namespaces together, >= 1. A memory takes 90 to 180 bytes, and 1.5 to
            3 KB more where it is searched exactly. Namespaces asked least recently go first, and
            are read again when asked, 10 us a memory.
        rerank: Candidates that a reranker judges, if there is one, >= 1.
        echo: What is left of the score of a memory that only repeats the question, [0, 1].
        sure: What the confidence is read from.
    """

    weights: Weights = field(default_factory=Weights)
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
    noise: float = 0.2
    echo: float = 0.25
    kept_mb: int = 256
    rerank: int = 30
    sure: Sure = field(default_factory=Sure)

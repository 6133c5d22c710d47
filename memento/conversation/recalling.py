"""Find the memories that are relevant to the next answer in a conversation.

A follow-up such as "And the sister?" is too little to search for, and the earlier messages are too
much: they fit best the fact that answered the last question. So there are two queries: the last
message alone, and the last three messages of the user together. A memory's score is the sum of
both, each weighted by its query's confidence: "And how long is it?" alone finds whatever is long. A
message without a content word ("And where is it?") has almost no weight alone.

The assistant's words are mostly answers given already, so they are in neither query. Only for a
message that points back ("Why did they stop?") or continues ("And the rope?") does the second query
include the last answer, which may name what is meant.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from memento.check import MAX_K
from memento.conversation.turns import PlacedTurn, Recalled
from memento.errors import EmbedderError, InvalidInput, MissingExtra
from memento.ledger import vectors
from memento.ledger.filters import several
from memento.ledger.schema import SEQ_BITS
from memento.prompt import choosing, rendering
from memento.status import having
from memento.text.chatter import is_chatter
from memento.text.gist import gist
from memento.text.sentences import beyond
from memento.text.words import HOLLOW_WORDS, content, terms
from memento.text.worldly import is_worldly
from memento.types import Hit, Kind, Retrieval, Trust
from memento.views import View

LIKENESS = 0.6
"""Cosine from which two memories have something in common; unrelated ones about one client have
about 0.4, reports of the same thing in other words 0.7 and more."""
PENALTY = 0.6
"""Share of the best score that a memory loses which repeats another one fully."""

_LONGEST = 10
"""Maximum number of words; a longer message names what it is about."""
_POINTS = re.compile(
    r"\b(?:he|she|it|they|him|her|hers|his|its|their|theirs|them|those|there"
    r"|(?:that|this|the other|which) ones?)\b",
    re.IGNORECASE,
)
_FEW = 6
"""Maximum number of words in a message that only continues the last one: "and the rope?"."""
_GOES_ON = re.compile(
    r"""\W*(?: (?:and|but|or) \b (?! \s+ (?:who|what|when|where|which|whose|why|how|is|are|was|were
            |am|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must|if|i|we
            |you) \b)
        | (?:what|how) \s+ about \b )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A message that asks the previous question about another thing, such as "And the rope?"."""
TURNS = 3
"""Number of the user's messages in the second query, the last one included."""
TOGETHER = 0.5
"""Weight of the second query relative to the last message alone. With 0.7, two of 75 questions
about a new subject lost their answer from the first three."""
LEANING = 1.0
"""The same if the last message points back; from 0.7 to 1.3 the benchmarks of follow-ups find
nearly the same."""
SURER = 4.0
"""Maximum ratio of the second query's confidence to that of the last message alone, unless it
points back. Without it, a new subject ("what is 2 + 2?") would be taken for a follow-up."""
LEAST = 1e-3
"""Minimum weight of a query, so that the hits of two queries that find nothing are still
ordered."""
NEWS_SHARE = 4
"""One place of so many is for what may change one of the first two hits, if anything may."""
SPARE = 32
"""Hits retrieved per query beyond ``k``: the two queries rank them differently, and some say the
same."""
ASKED = 4
"""One of this many places is for an earlier question of the user."""
LOOK = 50
"""Earlier questions retrieved beyond ``k``; the most similar ones merely repeat the query."""
QUERY_CHARS = 2_000
"""Maximum number of characters of a message that are searched for."""
ALIKE = 0.75
"""Minimum share of common words, of the words of both, for two memories to be near-identical."""
_SECRET = secrets.token_bytes(16)
_RANKS = {Trust.USER: 0, Trust.AGENT: 1}


def spread(view: View, groups: Sequence[Sequence[Hit]], most: int) -> list[Sequence[Hit]]:
    """Order groups of equal hits so that the first ones differ.

    Args:
        view: The manager.
        groups: Groups, best first; the first hit represents its group.
        most: Number of groups to choose; those after them keep their order.

    Returns:
        The groups; in the given order if there are no vectors.

    Source: Carbonell & Goldstein, The Use of MMR, Diversity-Based Reranking, SIGIR 1998; here the
    similarity counts only above a threshold, so that different memories keep their order.
    """
    known = _vectors(view, [group[0] for group in groups])
    left, chosen = list(range(len(groups))), list[int]()
    if not known or not left:
        return list(groups)
    import numpy as np  # noqa: PLC0415 - must not load with memento

    best = max(group[0].score for group in groups)
    rows = [np.frombuffer(known.get(group[0].id, b""), np.float32) for group in groups]
    like = [0.0] * len(groups)
    while left and len(chosen) < most:
        worth = {at: groups[at][0].score - PENALTY * best * like[at] for at in left}
        taken = max(left, key=lambda at: (worth[at], -at))
        left.remove(taken)
        chosen.append(taken)
        for at in left:
            if len(rows[at]) and len(rows[at]) == len(rows[taken]):
                common = (float(rows[at] @ rows[taken]) - LIKENESS) / (1 - LIKENESS)
                like[at] = max(like[at], common)
    return [groups[at] for at in (*chosen, *left)]


def _vectors(view: View, hits: Sequence[Hit]) -> dict[str, bytes]:
    """Return the vectors of the present embedder by id, without hits of shared namespaces."""
    engine = view.engine
    try:
        model = None if engine.embedding is None or not hits else engine.embedding.known_model()
    except (EmbedderError, InvalidInput, MissingExtra):
        return {}  # ``missing`` of the answer gives the reason
    ns = engine.ledger.find_namespace(view.namespace)
    if model is None or ns is None:
        return {}
    docids = {ns << SEQ_BITS | hit.memory.seq: hit.id for hit in hits if not hit.shared}
    found = engine.ledger.read(lambda c: vectors.read(c, [*docids], model), space=ns)
    return {docids[docid]: vector for docid, vector in found.items()}


def leans(text: str) -> bool:
    """Return whether an English message points back to earlier ones or names nothing at all.

    >>> leans("and how long is it?"), leans("why?"), leans("When is Omar's birthday?")
    (True, True, False)
    >>> leans("and the rope?")
    True
    """
    size = len(text.split())
    goes_on = size <= _FEW and _GOES_ON.match(text) is not None
    return goes_on or names_nothing(text) or (size <= _LONGEST and _POINTS.search(text) is not None)


def names_nothing(text: str) -> bool:
    """Return whether no word of a message says what it is about.

    >>> names_nothing("and where is it this time?"), names_nothing("and the rope?")
    (True, False)
    """
    return HOLLOW_WORDS.issuperset(terms(text))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The arguments of ``recall``, checked.

    Attributes:
        sure: Minimum confidence, [0, 1].
        shown: Whether the model sees the turns already, so that they are left out.
        filters: Filters of ``retrieve``, without ``kind``.
    """

    k: int
    tokens: int | None
    sure: float
    shown: bool
    fold: bool
    diverse: bool
    wait: float
    filters: Mapping[str, Any]
    kinds: tuple[Kind, ...]


def recall(view: View, said: Sequence[PlacedTurn], wanted: Wanted) -> tuple[Recalled, list[str]]:
    """Find what is relevant to the user's last message; see ``MemoryManager.recall``.

    Returns:
        The answer, and the ids of the memories that its block shows.
    """
    asked = queries(said)
    if not asked:
        return Recalled(), []
    shown, ids = _shown(said if wanted.shown else (), view)
    hidden = several("without", wanted.filters.get("without") or None)
    filters = dict(wanted.filters, without=[*hidden, *ids], fold=wanted.fold)
    found = _found(view, asked, wanted, filters)
    before = _asked_before(view, asked[0], wanted, filters)
    new = [hit for hit in found if hit.text not in shown]
    groups: Sequence[Sequence[Hit]] = _told_once(new) if wanted.fold else [[hit] for hit in new]
    if wanted.diverse:
        groups = spread(view, groups, wanted.k)
    asking = [hit for hit in before if hit.text not in shown]
    room = wanted.k - min(wanted.k // ASKED, len(asking))
    told = _told([group[0] for group in groups], found.confidence, room)
    hits = (*told, *asking[: wanted.k - len(told)])
    answer = replace(found, hits=hits)
    cut = view.cut_for(answer, budget=wanted.tokens is not None)
    block = _block(view, answer, groups, wanted.tokens, cut)
    if wanted.tokens is not None:
        hits = tuple(_shortened(hit, cut) for hit in hits)
    sure = found.confidence if hits else 0.0
    return Recalled(block.text, hits, found.missing, sure, asked[0], block.shown), list(block.shown)


def _told(hits: Sequence[Hit], sure: float, k: int) -> tuple[Hit, ...]:
    """Choose at most k hits, best first; the last places of a sure answer are for news."""
    told = choosing.likely(hits, sure)[:k]
    if sure <= choosing.DOUBTED:
        return told
    news = choosing.news_of(told, hits[: choosing.AMONG])[: k // NEWS_SHARE]
    return (*told[: k - len(news)], *news)


def _shortened(hit: Hit, cut: rendering.Cut) -> Hit:
    """Return a hit; for a long text, with the passage that a prompt shows."""
    text = cut(hit.text, None)
    return hit if text == hit.text else replace(hit, passage=text)


def queries(said: Sequence[PlacedTurn]) -> list[str]:
    """Return the queries: the user's last message and, if there are more, the last few joined.

    Thanks and greetings are skipped; if the last message is one, there is no query. A question
    about the world ("Is it raining?") is searched for alone. If the last message leans on earlier
    ones, see ``leans``, the assistant's last answer is put before it.
    """
    texts = _texts(said, "user")
    if not texts or not texts[-1] or is_chatter(texts[-1]):
        return []
    earlier = [text for text in texts[:-1] if text and not is_chatter(text)][1 - TURNS :]
    last = texts[-1]
    if not earlier or is_worldly(last):
        return [last]
    answers = _texts(said, "assistant")[-1:] if leans(last) else []
    return [last, "\n".join([*earlier, *filter(None, answers), last])]


def _texts(said: Sequence[PlacedTurn], role: str) -> list[str]:
    return [one.words.strip()[:QUERY_CHARS] for one in said if one.turn.role == role]


def _shown(said: Iterable[PlacedTurn], view: View) -> tuple[set[str], list[str]]:
    """Return the texts of the turns, in pieces, and the ids of their memories."""
    texts: set[str] = set()
    ids: list[str] = []
    for one in said:
        for at, text in enumerate(one.pieces(view.config)):
            texts.add(text)
            if (name := one.piece_id(at)) is not None:
                ids.append(name)
    return texts, ids


def _found(
    view: View, asked: Sequence[str], wanted: Wanted, filters: Mapping[str, Any]
) -> Retrieval:
    """Retrieve for each query and fuse the answers; no hits below the minimum confidence."""
    kinds = [kind for kind in wanted.kinds if kind != Kind.QUESTION]
    if not kinds:
        return Retrieval(asked[-1])
    room = min(wanted.k + SPARE, MAX_K)
    alone, *rest = (
        view.retrieve(
            query, room, kind=kinds, wait=wanted.wait if not at else 0.0, record=False, **filters
        )
        for at, query in enumerate(asked)
    )
    if not rest:
        enough = alone.confidence >= wanted.sure
        return alone if enough else replace(alone, hits=(), confidence=0.0)
    together = rest[0]
    bound = 1.0 if leans(asked[0]) else SURER * alone.confidence
    chance = max(alone.confidence, min(together.confidence, bound))
    hits = fused(asked[0], alone, together) if chance >= wanted.sure else ()
    return replace(together, hits=hits, confidence=chance if hits else 0.0, missing=alone.missing)


def fused(last: str, alone: Retrieval, together: Retrieval) -> tuple[Hit, ...]:
    """Fuse two answers by the weighted mean of their scores, [0, 1], best first.

    Weights are square roots of confidences, so that a mere name ("And Bob?"), of high confidence,
    does not decide everything.
    """
    sums: dict[str, float] = {}
    best: dict[str, Hit] = {}
    first, second = (math.sqrt(max(one.confidence, LEAST)) for one in (alone, together))
    if names_nothing(last):
        first = math.sqrt(LEAST)
    weights = first, (LEANING if leans(last) else TOGETHER) * second
    for hits, weight in zip((alone, together), weights, strict=True):
        for hit in hits:
            sums[hit.id] = sums.get(hit.id, 0.0) + hit.score * weight / sum(weights)
            best.setdefault(hit.id, hit)
    ranked = sorted(best, key=lambda name: (-sums[name], -best[name].memory.seq))
    return tuple(replace(best[name], score=min(1.0, sums[name])) for name in ranked)


def _asked_before(view: View, query: str, wanted: Wanted, filters: Mapping[str, Any]) -> list[Hit]:
    """Find earlier questions that say more than the query; those that say most come first.

    Mere repetitions say little more but score highest; so what a question adds counts squared.
    """
    if Kind.QUESTION not in wanted.kinds:
        return []
    before = view.retrieve(
        query,
        min(wanted.k + LOOK, MAX_K),
        min_confidence=wanted.sure,
        kind=Kind.QUESTION,
        record=False,
        **filters,
    )
    news = {hit.id: hit.score * beyond(hit.text, query) ** 2 for hit in before}
    return sorted(
        (hit for hit in before if news[hit.id] > 0), key=lambda hit: news[hit.id], reverse=True
    )


def _told_once(hits: Iterable[Hit]) -> list[list[Hit]]:
    """Group hits that say the same, whoever said it, and move near-identical ones to the end.

    In a group, the most trusted comes first. Of near-identical groups, the newest takes the place
    of the best one, and the others come after all other groups.
    """
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(gist(hit.text), []).append(hit)
    families: list[list[list[Hit]]] = []
    for group in groups.values():
        group.sort(key=lambda hit: _RANKS.get(hit.memory.source.kind, 2))
        family = next((one for one in families if _alike(one[0][0], group[0])), None)
        if family is None:
            families.append([group])
        else:
            family.append(group)
    for family in families:
        family.sort(key=lambda group: group[0].memory.occurred_at, reverse=True)
    return [family[0] for family in families] + [
        group for family in families for group in family[1:]
    ]


def _alike(one: Hit, other: Hit) -> bool:
    """Return whether two memories are found by default and near-identical."""
    if not {one.memory.status, other.memory.status} <= {*having("found")}:
        return False  # a superseded value does not repeat the present one
    words, others = ({*content(terms(hit.text))} for hit in (one, other))
    return len(words & others) >= ALIKE * max(1, len(words | others))


def _block(
    view: View,
    found: Retrieval,
    groups: Sequence[Sequence[Hit]],
    tokens: int | None,
    cut: rendering.Cut,
) -> rendering.Block:
    """Render the hits, each with the hits of its group that have the same trust class."""
    by_first = {group[0].id: group for group in groups}
    shown = [
        same
        for hit in found
        for same in by_first.get(hit.id, (hit,))
        if same.memory.source.kind is hit.memory.source.kind
    ]
    return rendering.compose(
        shown,
        nonce=_nonce(shown),
        tokens=tokens,
        count_tokens=view.engine.count_tokens,
        cut=cut,
        zone=view.config.zone,
        query=found.query,
    )


def _nonce(hits: Iterable[Hit]) -> str:
    """Derive the nonce from what the block may show, so that equal memories give an equal block.

    No stored text can predict it: the key is random for each process, and a text that contains an
    earlier nonce changes the nonce of every block that shows it.
    """
    digest = blake2b(key=_SECRET, digest_size=8)
    for hit in hits:
        digest.update(repr((hit.id, hit.memory.version, hit.text)).encode(errors="surrogatepass"))
    return digest.hexdigest()

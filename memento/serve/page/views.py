"""The pages that read. Each calls public methods of the manager and fills a template."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from time import perf_counter
from typing import Any

from starlette.responses import Response

from memento.check import MAX_TOKENS, said_moment
from memento.errors import InvalidInput, NotFound
from memento.manager import MemoryManager
from memento.prompt.policy_values import ZONES
from memento.serve.access import counted
from memento.serve.page import graph, wording
from memento.serve.page.door import Call
from memento.types import Change, Diff, Memory, Retrieval, Status

PAGE = 30
"""Memories on a page of a list."""
MOST = 200
"""Maximum number of rows on any page."""
HITS = 10
MOST_HITS = 50
MOST_ASKED = 1_000
"""Characters of a text by which its copies are sought."""
ABOUT = 18
"""Statements about the user on the first page."""
RECENT = 24
"""What arrived last, on the first page."""
LIKELY = 0.1
"""Minimum confidence for a hit to be shown with its evidence."""
FILTERS = ("tier", "kind", "session", "scope")
COMPARED = 1_000
"""Memories of two moments that are compared: those that changed last."""
EVERYWHERE = tuple(Status)


def zone_of(call: Call) -> tzinfo:
    """Return the time zone in which the page shows moments."""
    return call.memory.store.config.zone


def moment(call: Call, name: str, *, end: bool = False) -> datetime | None:
    """Parse a moment in the URL: a day, or a day and a time, in the user's time zone.

    Args:
        call: The request.
        name: Name of the parameter.
        end: Whether a day stands for its end, though never later than now.

    Raises:
        InvalidInput: If it is not a moment.
    """
    said = call.query.get(name)
    at = said_moment(name, said, call.memory.store.clock().astimezone(zone_of(call)))
    if at is None or said is None:
        return None
    if end and len(said) == len("2026-03-01"):
        at = min(at + timedelta(days=1), call.memory.store.clock())
    return at.astimezone(UTC)


def number(call: Call, name: str, default: int, most: int) -> int:
    """Parse a number in the URL, from 0 to ``most``.

    Raises:
        InvalidInput: If it is not such a number.
    """
    said = call.query.get(name, str(default))
    if not said.isascii() or not said.isdigit() or len(said) > len(str(most)) or int(said) > most:
        raise InvalidInput(name, f"must be a number from 0 to {most}")
    return int(said)


def search(call: Call) -> Response:
    """Answer a question, or show what is known about the user and what is new."""
    question = call.query.get("q", "")
    if not question:
        asked = call.asked[::-1]
        about = _about(call.memory)
        recent = wording.entries(call.memory.list(newest_first=True, limit=RECENT))
        return call.show("home.html", about=about, recent=recent, asked=asked)
    found, took = _found(call, question)
    any_waits = header(call)["waiting"]
    waiting = call.memory.quarantine.list(newest_first=True, limit=2) if any_waits else []
    here = next((hit for hit in found if hit.id == call.query.get("m")), None) or next(
        iter(found), None
    )
    more = min(number(call, "k", HITS, MOST_HITS) + HITS, MOST_HITS)
    return call.show(
        "search.html",
        found=found,
        unlikely=next((n for n, hit in enumerate(found) if n > 1 and hit.confidence < LIKELY), 99),
        took=took,
        more=more if len(found) < more <= MOST_HITS and len(found) % HITS == 0 and found else None,
        waiting=waiting,
        scopes=scopes_of(call),
        **({} if here is None else _memory(call, here.id, found)),
    )


def _found(call: Call, question: str) -> tuple[Retrieval, float]:
    """Retrieve for the question and filters in the URL; return the answer and the seconds."""
    asked: dict[str, Any] = {name: call.query[name] for name in FILTERS if name in call.query}
    began = perf_counter()
    found = call.memory.retrieve(
        question,
        max(number(call, "k", HITS, MOST_HITS), 1),
        as_of=moment(call, "as_of", end=True),
        known_at=moment(call, "known_at", end=True),
        since=moment(call, "since"),
        include_superseded="old" in call.query,
        include_archived="old" in call.query,
        wait=0,
        record=False,
        **asked,
    )
    return found, perf_counter() - began


def _about(memory: MemoryManager) -> list[Memory]:
    """List what is known about the user: the values of their slots, then what else they said."""
    keys = [key for key in memory.store.counts("key") if key.startswith("user/")]
    slots = memory.list(key=keys[:MOST], newest_first=True, limit=ABOUT) if keys else []
    said = memory.list(
        kind=("fact", "preference", "relation"), source="user", newest_first=True, limit=2 * ABOUT
    )
    return [*slots, *(one for one in said if one.key not in keys and not one.scope)][:ABOUT]


def one(call: Call) -> Response:
    """Show a memory; after a search, why it was found."""
    question = call.query.get("q", "")
    found = _found(call, question)[0] if question else Retrieval("")
    name = call.request.path_params["id"]
    return call.show("one.html", found=found, **_memory(call, name, found))


def _memory(call: Call, name: str, found: Retrieval) -> dict[str, Any]:
    """Return the template values for the panel of a memory."""
    memory = call.memory
    this = memory.get(name)
    place = next((at for at, hit in enumerate(found) if hit.id == this.id), None)
    after = found[place + 1] if place is not None and place + 1 < len(found) else None
    links = memory.insight.related(this.id)
    with_parents = [*this.source.parents][:4]
    return {
        "this": this,
        "hit": None if place is None else found[place],
        "place": place,
        "after": after,
        "history": _history(memory, this),
        "drawn": graph.around(this, [(this.id, one) for one in links[:MOST]], most=8),
        "links": links,
        "parents": [one for name in with_parents if (one := _get(memory, name)) is not None],
        "strength": memory.feedback.strength(this.id),
        "belief": memory.feedback.belief(this.id),
        "head_memory": memory.changes.head(this.id),
    }


def _get(memory: MemoryManager, name: str) -> Memory | None:
    """Return a memory, or None if there is none."""
    with suppress(NotFound):
        return memory.get(name)
    return None


def _history(memory: MemoryManager, this: Memory) -> list[dict[str, Any]]:
    """Return the texts of a memory and of those in its chain, newest first.

    A state that differs only in its status is left out.
    """
    states = memory.changes.history(this.id, chain=True)[-MOST:]
    rows: list[dict[str, Any]] = []
    before = ""
    for state in states:
        if not rows or state.text != rows[-1]["state"].text or state.id != rows[-1]["state"].id:
            pieces = wording.compared(before, state.text) if rows else [("", state.text)]
            rows.append({"state": state, "pieces": pieces, "until": None, "ended": ""})
            before = state.text
        if state.until is not None:
            rows[-1] |= {"until": state.until, "ended": state.reason}
    for row in rows:
        of = _get(memory, row["state"].id)
        row["from"] = None if of is None else of.valid_from
        row["now"] = row["state"].text == this.text and row["state"].id == this.id
    return rows[::-1]


def timeline(call: Call) -> Response:
    """Show memories by day, as they were true and were known at two moments that are chosen."""
    known, as_of = moment(call, "known_at", end=True), moment(call, "as_of", end=True)
    skip = number(call, "skip", 0, 1_000_000)
    pinned = moment(call, "upto")
    asked: dict[str, Any] = {name: call.query[name] for name in FILTERS if name in call.query}
    rows = call.memory.list(
        order="occurred",
        newest_first=True,
        limit=PAGE + 1,
        offset=skip,
        as_of=as_of,
        known_at=known,
        until=pinned,
        **asked,
    )
    first = pinned or (rows[0].occurred_at + timedelta(microseconds=1) if rows else None)
    return call.show(
        "timeline.html",
        days=[
            (day, wording.entries(some)) for day, some in wording.days(rows[:PAGE], zone_of(call))
        ],
        next=(
            {**call.query, "skip": skip + PAGE, "upto": first.isoformat()}
            if len(rows) > PAGE and first
            else None
        ),
        began=_first_day(call),
    )


def _first_day(call: Call) -> datetime:
    """Return when the first memory was stored, the start of the slider."""
    first = call.memory.list(limit=1, status=EVERYWHERE)
    return (first[0].created_at if first else call.memory.store.clock()).astimezone(zone_of(call))


def compare(call: Call) -> Response:
    """Show what is known at one moment and not at another."""
    now = call.memory.store.clock()
    until = moment(call, "until", end=True) or now
    since = moment(call, "since") or now - timedelta(days=7)
    if since > until:
        since, until = until, since
    return call.show(
        "compare.html",
        since=since,
        until=until,
        groups=_groups(diff := call.memory.changes.diff(since, until, limit=COMPARED)),
        more=diff.more is not None,
        most=COMPARED,
        began=_first_day(call),
    )


def _groups(diff: Diff) -> list[tuple[str, int, list[tuple[Memory, list[wording.Piece]]]]]:
    """Return for each kind of difference its name, count, and memories with marked changes."""
    named = {
        "added": diff.added, "changed": diff.changed, "replaced": diff.superseded,
        "archived": diff.archived, "forgotten": diff.forgotten, "restored": diff.restored,
    }  # fmt: skip
    share = MOST // len(named)
    return [
        (
            name,
            len(some),
            [
                (after, wording.compared(after.text if before is None else before.text, after.text))
                for before, after in [*some.values()][-share:][::-1]
            ],
        )
        for name, some in named.items()
        if some
    ]


def changes(call: Call) -> Response:
    """List the changes, newest first, each with its undo."""
    before = number(call, "before", 0, 10**12)
    listed = call.memory.changes.list(limit=1_000)
    rows = [one for one in listed if not before or one.number < before][: PAGE + 1]
    return call.show(
        "changes.html",
        rows=[(one, touched(call.memory, one)) for one in rows[:PAGE]],
        next={"before": rows[PAGE - 1].number} if len(rows) > PAGE else None,
    )


def touched(memory: MemoryManager, change: Change) -> list[Memory]:
    """Return the first memories of a change that still exist, those that it added first."""
    names = (*change.added, *change.changed)[:3]
    return [one for name in names if (one := _get(memory, name)) is not None]


def copies(memory: MemoryManager, this: Memory) -> list[Memory]:
    """Return the other memories with the text of a memory, except those that the user locked."""
    said = _plain(this.text)
    found = memory.retrieve(
        this.text[:MOST_ASKED],
        MOST_HITS,
        fold=False,
        shared=False,
        include_superseded=True,
        include_archived=True,
        wait=0,
        record=False,
    )
    others = (hit.memory for hit in found if hit.id != this.id and _plain(hit.text) == said)
    return [one for one in others if one.lock != "user"]


def _plain(text: str) -> str:
    """Return a text without what does not tell two copies apart: case, spacing, the last stop."""
    return " ".join(text.casefold().split()).rstrip(".!? ")


def inbox(call: Call) -> Response:
    """Show what needs a decision of the user."""
    memory = call.memory
    skip = number(call, "skip", 0, 1_000_000)
    waiting = memory.quarantine.list(limit=PAGE + 1, offset=skip)
    sources: dict[str, list[Memory]] = {}
    for one in waiting[:PAGE]:
        sources.setdefault(one.source.uri or one.source.kind.value, []).append(one)
    replaced = {one.id: _would_replace(memory, one) for one in waiting[:PAGE]}
    return call.show(
        "inbox.html",
        sources=sources,
        replaced=replaced,
        next={"skip": skip + PAGE} if len(waiting) > PAGE else None,
        doubtful=memory.rules.doubtful(limit=PAGE),
        conflicts=memory.slots.conflicts(limit=PAGE),
        promotions=memory.scopes.promotable()[:PAGE],
        gaps=memory.insight.wonder(limit=PAGE) if "gaps" in call.query else None,
    )


def _would_replace(memory: MemoryManager, one: Memory) -> Memory | None:
    """Return the memory that a quarantined one would replace; None if there is none."""
    for link in memory.insight.related(one.id):
        if link.relation == "proposes" and link.outgoing:
            return link.memory
    return None if one.key is None else memory.value(one.key, scope=one.scope)


def rules(call: Call) -> Response:
    """Show what the current policy contains, in its order, and what it leaves out."""
    memory, scope = call.memory, call.query.get("scope", "")
    policy = memory.rules.policy(call.query.get("message"), scope=scope)
    zones = [
        (zone, title, [memory.get(one.id) for one in policy.memories if one.zone == zone][:MOST])
        for zone, title in ZONES.items()
        if zone != 10  # noqa: PLR2004 - what other namespaces share is theirs: not to be read here
    ]
    return call.show(
        "rules.html",
        policy=policy,
        zones=[one for one in zones if one[2]],
        dropped=[(one, memory.get(one.id)) for one in policy.dropped[:PAGE]],
        conflicts=[
            (one, memory.get(one.winner), memory.get(one.loser)) for one in policy.conflicts
        ],
        scopes=scopes_of(call),
    )


def links(call: Call) -> Response:
    """Show the memories within two links of one."""
    name, start = call.query.get("m"), call.query.get("q", "")
    if name is None:
        hits = call.memory.retrieve(start, HITS, wait=0, record=False) if start else Retrieval("")
        return call.show("links.html", hits=hits, this=None)
    this = call.memory.get(name)
    near = [(this.id, one) for one in call.memory.insight.related(this.id)]
    far = [
        (first.memory.id, one)
        for _, first in near[: graph.MOST]
        for one in call.memory.insight.related(first.memory.id)
    ]
    drawn = graph.around(this, [*near, *far])
    return call.show("links.html", hits=Retrieval(""), this=this, drawn=drawn, near=near[:MOST])


def sessions(call: Call) -> Response:
    """List the sessions, those of conversations included."""
    said = call.memory.store.counts("session")
    begun = call.memory.sessions.list(limit=MOST)
    known = {one.id for one in begun}
    others = [(name, said[name]) for name in reversed(said) if name and name not in known]
    return call.show("sessions.html", begun=begun, said=said, others=others[: MOST - len(begun)])


def session(call: Call) -> Response:
    """Show the turns of a session, what was learned from it, and where it stands."""
    name = call.query.get("id", "")
    memory, skip = call.memory, number(call, "skip", 0, 1_000_000)
    with suppress(InvalidInput, NotFound):
        info = memory.sessions.info(name)
        return _turns(call, name, skip, info, memory.sessions.resume(name))
    return _turns(call, name, skip, None, None)


def _turns(call: Call, name: str, skip: int, info: Any, resumed: Any) -> Response:
    rows = call.memory.list(
        session=name, newest_first=True, limit=PAGE + 1, offset=skip,
        status=("active", "superseded", "archived"),
    )  # fmt: skip
    turns, more = [*rows[:PAGE]][::-1], rows[PAGE:]
    return call.show(
        "session.html",
        name=name,
        info=info,
        resumed=resumed,
        rows=turns,
        learned=_learned(call.memory, turns),
        next={"id": name, "skip": skip + PAGE} if more else None,
    )


def _learned(memory: MemoryManager, rows: list[Memory]) -> dict[str, list[Memory]]:
    """Return what was learned from each turn; it occurred at the same time as its turn."""
    found: dict[str, list[Memory]] = {one.id: [] for one in rows}
    if rows:
        first, last = min(one.occurred_at for one in rows), max(one.occurred_at for one in rows)
        until = last + timedelta(microseconds=1)
        for one in memory.list(since=first, until=until, limit=MOST):
            for name in found.keys() & {*one.source.parents}:
                found[name].append(one)
    return found


def health(call: Call) -> Response:
    """Show the state of the store; on request, what `doctor` finds without repairing it."""
    memory, asked = call.memory, call.caller.is_owner and "check" in call.query
    return call.show(
        "health.html",
        health=memory.insight.health() if asked else None,
        counts=memory.store.counts("kind"),
        findings=memory.store.doctor(repair=False) if asked else None,
        owner=call.caller.is_owner,
    )


def playground(call: Call) -> Response:
    """Show the block that a question would put into a prompt."""
    question = call.query.get("q", "")
    tokens = max(number(call, "tokens", 800, MAX_TOKENS), 1)
    block, found = "", Retrieval("")
    if question:
        block = call.memory.prompt(question, tokens=tokens, wait=0, record=False)
        found = call.memory.retrieve(question, HITS, wait=0, record=False)
    return call.show("playground.html", block=block, found=found, tokens=tokens)


def lost(call: Call) -> Response:
    """Say that there is no such page."""
    return call.show("error.html", 404, absent="There is no such page.", again=call.url("/"))


def state(memory: MemoryManager) -> str:
    """Return a value that changes whenever anything is stored or changed."""
    newest = memory.list(newest_first=True, limit=1, status=EVERYWHERE)
    last = memory.changes.list(limit=1)
    return f"{newest[0].seq if newest else 0}.{last[0].number if last else 0}"


async def events(
    look: Callable[[], Awaitable[str]], every: float, is_gone: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    """Yield a server-sent event each time that something was stored, changed or asked.

    Args:
        look: Returns a value that changes whenever that happens.
        every: Seconds between two polls.
        is_gone: Returns whether the client has disconnected.
    """
    before = await look()
    yield f"retry: 2000\nevent: ready\ndata: {before}\n\n"
    quiet = 0.0
    while not await is_gone():
        await asyncio.sleep(every)
        now = await look()
        quiet = 0.0 if now != before else quiet + every
        if now != before:
            yield f"event: change\ndata: {now}\n\n"
        elif quiet >= 15:  # noqa: PLR2004 - seconds; a proxy closes what is silent for long
            quiet = 0.0
            yield ": still here\n\n"
        before = now


class Kept:
    """Caches counts for the header of the pages, which take long in a large store.

    A count is repeated after twenty times as long as it took, and after a change on the page.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[tuple[str, ...], str], tuple[float, Any]] = {}

    def of(self, memory: MemoryManager, name: str, count: Callable[[], Any]) -> Any:
        """Return the cached count of a name; call ``count`` if there is none or it is too old."""
        key, began = (memory.store.namespace, name), perf_counter()
        until, value = self._kept.get(key, (0.0, None))
        if began >= until:
            value, ended = count(), perf_counter()
            if len(self._kept) >= MOST:
                self._kept.clear()
            self._kept[key] = (ended + 20 * (ended - began), value)
        return value

    def forget(self) -> None:
        """Drop all cached counts, after a change."""
        self._kept.clear()


def header(call: Call) -> Mapping[str, Any]:
    """Return the values of every page's header: sizes, quarantined memories, namespaces."""
    store = call.memory.store
    stats = call.kept.of(call.memory, "stats", store.stats)
    seen = call.caller.labels
    every = call.kept.of(call.memory, f"below {seen}", partial(counted, call.memory, seen))
    return {
        "memories": stats.memories,
        "stats": stats,
        "waiting": stats.hidden.get(Status.QUARANTINED.value, 0),
        "namespaces": [*every.items()][:MOST],
    }


def scopes_of(call: Call) -> list[str]:
    """List the scopes of the namespace."""
    every = call.kept.of(call.memory, "scopes", call.memory.scopes.list)
    return [one.path for one in every if one.path][:MOST]

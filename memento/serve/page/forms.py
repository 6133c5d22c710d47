"""The forms of the page: each makes one change and returns, with a way to undo it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import RedirectResponse, Response

from memento.errors import InvalidInput, NotAllowed, NothingToUndo
from memento.learning import DECLINED
from memento.serve.page.door import Call, View, inside
from memento.serve.page.views import copies, touched
from memento.types import Memory, Status
from memento.verbs.slots import Keep
from memento.views import together

IN_RUNS = ("forget", "forget_source", "restore_source")
"""Kinds of change that one button makes in several transactions, which are undone together."""


def back(call: Call, done: int | None = None, **query: str) -> Response:
    """Redirect to the page with the form.

    Args:
        call: The request.
        done: Number of the change that was made; its toast offers to undo it.
        query: What else the address says from now on.
    """
    parts = urlsplit(inside(call.form.get("then", "/")))
    asked = {name: one for name, one in parse_qsl(parts.query) if name != "done"} | query
    if done is not None:
        asked["done"] = str(done)
    return RedirectResponse(parts.path + (f"?{urlencode(asked)}" if asked else ""), 303)


def newest(call: Call) -> int:
    """Return the number of the newest change, 0 if there is none; to be given to `after`."""
    listed = call.memory.changes.list(limit=1)
    return listed[0].number if listed else 0


def after(call: Call, before: int, *of: Memory) -> Response:
    """Go back after a change; from the page of a memory, to that of the memory it is now.

    Args:
        call: The request.
        before: Number of the newest change before it. If it recorded none since, as nothing had to
            be changed, the page has no toast: what it offered to undo would be something else.
        of: The memories that it was about; the first is the one to go to.
    """
    follow(call, of[0])
    names = {one.id for one in of}
    for change in call.memory.changes.list(limit=100):
        ids = {*change.changed, *change.added}
        if change.number > before and (not ids or not names.isdisjoint(ids)):
            return back(call, change.number)
    return back(call)


def follow(call: Call, one: Memory) -> None:
    """Have the page of a memory, if the form was on one, lead back to that of another."""
    was = call.form.get("then", "/")
    if (path := urlsplit(was).path).startswith("/m/"):
        call.form = {**call.form, "then": was.replace(path, f"/m/{one.id}", 1)}


def of_one(change: Callable[[Call, str], Memory]) -> View:
    """Return the view for a change of the memory that the URL names."""

    def view(call: Call) -> Response:
        before = newest(call)
        return after(call, before, change(call, str(call.request.path_params["id"])))

    return view


def correct(call: Call, name: str) -> Memory:
    """Correct the text of a memory; the old text stays in its history.

    If the memory was superseded, the newest memory of its chain is corrected.
    """
    return call.memory.correct(call.memory.changes.head(name).id, call.form.get("text", ""))


def bring_back(call: Call, name: str) -> Memory:
    """Make an earlier text the current one again."""
    memory, number = call.memory, call.form.get("version", "")
    states = memory.changes.history(name)
    earlier = next((one for one in states if str(one.version) == number), None)
    if earlier is None:
        raise InvalidInput("version", "this memory has no such version")
    if memory.get(name).status is Status.ARCHIVED:
        return memory.sleep.unarchive(name)
    head = memory.changes.head(name)
    if head.id == name:
        return memory.update(name, text=earlier.text)
    return memory.correct(head.id, earlier.text)


def pin(call: Call, name: str) -> Memory:
    """Pin a memory, or unpin it, as the form says."""
    return call.memory.update(name, pinned=_wanted(call))


def lock(call: Call, name: str) -> Memory:
    """Lock a memory against every change, or unlock it, as the form says."""
    return call.memory.update(name, lock="user" if _wanted(call) else None)


def _wanted(call: Call) -> bool:
    """Return the state that the button named; the page may be older than the present one."""
    wanted = call.form.get("on", "")
    if wanted not in ("0", "1"):
        raise InvalidInput("on", "must be 1 or 0")
    return wanted == "1"


def move(call: Call, name: str) -> Memory:
    """Move a memory to another tier, to another scope, or both."""
    tier, scope = call.form.get("tier", ""), call.form.get("scope", "")
    return call.memory.update(name, tier=tier, scope=scope)  # type: ignore[arg-type]  # checked there


def approve(call: Call, name: str) -> Memory:
    """Approve a memory in the version that the user has read."""
    version = call.form.get("version", "")
    if not version.isdecimal():
        raise InvalidInput("version", "must be the version that you reviewed")
    return call.memory.quarantine.approve(name, version=int(version[:9]))


def promote(call: Call, name: str) -> Memory:
    """Move a memory to a wider scope."""
    return call.memory.scopes.promote(name, call.form.get("scope", ""))


def decline(call: Call, name: str) -> Memory:
    """Mark a doubtful message as declined: nothing is learned from it."""
    turn = call.memory.get(name)
    return call.memory.update(turn.id, tags=[*turn.tags, DECLINED])


def forget_copies(call: Call) -> Response:
    """Hide the other memories that say the same as a forgotten one, as one run."""
    before, this = newest(call), call.memory.get(call.form.get("id", ""))
    memory = together(call.memory)
    hidden = [memory.forget(one.id) for one in copies(memory, this)]
    return after(call, before, this, *hidden)


def reject_source(call: Call) -> Response:
    """Hide all memories from a source."""
    before = newest(call)
    hidden = call.memory.quarantine.forget_source(call.form.get("source", ""))
    return after(call, before, *hidden) if hidden else back(call)


def resolve(call: Call) -> Response:
    """Settle which of two statements is right."""
    before, keep = newest(call), cast("Keep", call.form.get("keep", ""))
    pair = call.memory.slots.resolve(call.form.get("a", ""), call.form.get("b", ""), keep)
    return after(call, before, *pair)


def direct(call: Call) -> Response:
    """Add a rule of the user."""
    before = newest(call)
    made = call.memory.rules.direct(
        call.form.get("text", ""),
        scope=call.form.get("scope", ""),
        lock="lock" in call.form,
        condition=call.form.get("condition", "").strip() or None,
    )
    return after(call, before, *made)


def confirm(call: Call) -> Response:
    """Remember a doubtful statement."""
    wanted = call.form.get("turn", ""), call.form.get("text", "")
    doubts = call.memory.rules.doubtful(limit=1_000)
    found = next((one for one in doubts if (one.turn_id, one.text) == wanted), None)
    if found is None:
        raise InvalidInput("text", "this statement is no longer waiting for approval")
    before = newest(call)
    return after(call, before, call.memory.rules.confirm(found))


def undo(call: Call) -> Response:
    """Undo a change; on the page of a memory that it hides, go to the one that holds again."""
    number = int(said[:18]) if (said := call.form.get("change", "")).isdecimal() else 0
    listed = call.memory.changes.list(limit=1_000)
    run = next((one.run for one in listed if one.number == number and one.kind in IN_RUNS), None)
    done = call.memory.undo(number if run is None else None, run=run)
    if not done.changes:
        raise NothingToUndo(number, "the memory has changed since then, or is waiting in the inbox")
    last = done.changes[-1]
    of = {
        memory.status: memory
        for one in call.memory.changes.list(limit=100)
        if one.number == last
        for memory in touched(call.memory, one)
    }
    if Status.ACTIVE in of and not of.keys().isdisjoint((Status.FORGOTTEN, Status.SUPERSEDED)):
        follow(call, of[Status.ACTIVE])
    return back(call, last)


def tend(call: Call) -> Response:
    """Repair derived data, or embed all memories again."""
    if not call.caller.is_owner:
        raise NotAllowed(
            "this operation applies to the whole store and requires a token with admin rights"
        )
    if call.form.get("what") == "reindex":
        call.memory.store.reindex()
    else:
        call.memory.store.doctor()
    return back(call, check="1")

"""The forms of the page: each makes one change and goes back, with a way to undo it."""

from __future__ import annotations

from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import RedirectResponse, Response

from memento.errors import InvalidInput, NotAllowed, NothingToUndo
from memento.serve.page.door import Call, inside
from memento.types import Change, Memory, Status
from memento.verbs.slots import Keep

NOT_UNDONE = ("approve", "reject", "forget_source", "restore_source")
"""Changes that `undo` leaves alone; each has a way back of its own here."""


def back(call: Call, done: int | None = None, **query: str) -> Response:
    """Go back to the page that a form is on.

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


def _after(call: Call, one: Memory, *, here: bool = False) -> Response:
    """Go back after a change of one memory; ``here`` goes to that memory if its own page was it."""
    listed = call.memory.changes.list(id=one.id, limit=1)
    number = listed[0].number if listed else None
    was = call.form.get("then", "/")
    if here and urlsplit(was).path.startswith("/m/"):
        call.form = {**call.form, "then": was.replace(urlsplit(was).path, f"/m/{one.id}", 1)}
    return back(call, number)


def _id(call: Call) -> str:
    return str(call.request.path_params["id"])


def correct(call: Call) -> Response:
    """Replace what a memory says; the old text stays in its history.

    A memory that is not in force any more is corrected where it goes on: at the head of its chain.
    """
    one = call.memory.changes.head(_id(call))
    return _after(call, call.memory.correct(one.id, call.form.get("text", "")), here=True)


def bring_back(call: Call) -> Response:
    """Make an earlier text the current one again."""
    number = call.form.get("version", "")
    states = call.memory.changes.history(_id(call))
    earlier = next((one for one in states if str(one.version) == number), None)
    if earlier is None:
        raise InvalidInput("version", "this memory has no such version")
    if call.memory.get(_id(call)).status is Status.ARCHIVED:
        return _after(call, call.memory.sleep.unarchive(_id(call)))
    head = call.memory.changes.head(_id(call))
    same = head.id == _id(call)
    made = (
        call.memory.update(head.id, text=earlier.text)
        if same
        else call.memory.correct(head.id, earlier.text)
    )
    return _after(call, made, here=True)


def pin(call: Call) -> Response:
    """Pin a memory, or unpin it."""
    one = call.memory.get(_id(call))
    return _after(call, call.memory.update(one.id, pinned=not one.pinned))


def lock(call: Call) -> Response:
    """Lock a memory against every change, or unlock it."""
    one = call.memory.get(_id(call))
    return _after(call, call.memory.update(one.id, lock=None if one.lock else "user"))


def move(call: Call) -> Response:
    """Move a memory to another tier, to another scope, or both."""
    tier, scope = call.form.get("tier", ""), call.form.get("scope", "")
    one = call.memory.update(_id(call), tier=tier, scope=scope)  # type: ignore[arg-type]  # checked there
    return _after(call, one)


def forget(call: Call) -> Response:
    """Hide a memory."""
    return _after(call, call.memory.forget(_id(call)))


def restore(call: Call) -> Response:
    """Bring a forgotten memory back."""
    return _after(call, call.memory.restore(_id(call)))


def approve(call: Call) -> Response:
    """Let a memory out of quarantine, as it was read."""
    version = call.form.get("version", "")
    if not version.isdigit():
        raise InvalidInput("version", "must be the version that you read")
    return _after(call, call.memory.quarantine.approve(_id(call), version=int(version[:9])))


def reject(call: Call) -> Response:
    """Forget a memory in quarantine."""
    return _after(call, call.memory.quarantine.reject(_id(call)))


def reject_source(call: Call) -> Response:
    """Hide all that came from an address."""
    hidden = call.memory.quarantine.forget_source(call.form.get("source", ""))
    return _after(call, hidden[0]) if hidden else back(call)


def resolve(call: Call) -> Response:
    """Settle which of two statements is right."""
    keep = cast("Keep", call.form.get("keep", ""))
    one, _ = call.memory.slots.resolve(call.form.get("a", ""), call.form.get("b", ""), keep)
    return _after(call, one)


def promote(call: Call) -> Response:
    """Let a memory apply to a wider scope."""
    return _after(call, call.memory.scopes.promote(_id(call), call.form.get("scope", "")))


def direct(call: Call) -> Response:
    """Add a rule of the user."""
    made = call.memory.rules.direct(
        call.form.get("text", ""),
        scope=call.form.get("scope", ""),
        lock="lock" in call.form,
        condition=call.form.get("condition", "").strip() or None,
    )
    return _after(call, made[0])


def undo(call: Call) -> Response:
    """Undo a change. A decision about quarantine is taken back as far as it can be."""
    number = int(said) if (said := call.form.get("change", "")).isdigit() else 0
    listed = call.memory.changes.list(limit=1_000)
    change = next((one for one in listed if one.number == number), None)
    if change is None:
        raise NothingToUndo(number, "there is no such change, or it is not one of the newest 1,000")
    if change.kind in NOT_UNDONE:
        return _taken_back(call, change)
    done = call.memory.undo(number)
    return back(call, done.changes[-1] if done.changes else None)


def _taken_back(call: Call, change: Change) -> Response:
    """Take back a decision about quarantine."""
    names = (*change.changed, *change.added)
    memory = call.memory
    if change.kind == "reject":
        return _after(call, memory.restore(names[0]))
    of = memory.get(names[-1])
    if change.kind == "forget_source" and of.source.uri:
        return _after(call, memory.quarantine.restore_source(of.source.uri)[0])
    if change.kind == "restore_source" and of.source.uri:
        return _after(call, memory.quarantine.forget_source(of.source.uri)[0])
    approved = next(one for one in map(memory.get, names) if one.source.kind.value != "user")
    before = [one for one in map(memory.get, names) if one.superseded_by == approved.id]
    memory.forget(approved.id)
    if before and approved.key is not None:
        return _after(call, memory.slots.revert(approved.key, scope=approved.scope))
    return _after(call, memory.get(approved.id))


def tend(call: Call) -> Response:
    """Repair what is derived from the memories, or embed them all again."""
    if not call.caller.is_owner:
        raise NotAllowed("this is about the whole store; it needs a token with the right to admin")
    if call.form.get("what") == "reindex":
        call.memory.store.reindex()
    else:
        call.memory.store.doctor()
    return back(call, check="1")

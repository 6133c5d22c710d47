"""The forms of the page: each makes one change and goes back, with a way to undo it."""

from __future__ import annotations

from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import RedirectResponse, Response

from memento.errors import InvalidInput, NotAllowed, NothingToUndo
from memento.serve.page.door import Call, inside
from memento.types import Memory, Status
from memento.verbs.slots import Keep

DECLINED = "declined"
"""Tag of a message whose doubtful statements are not to be remembered; see `Rules.doubtful`."""

IN_RUNS = ("forget_source", "restore_source")
"""Kinds of change that one button makes in several transactions, which are undone together."""


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


def confirm(call: Call) -> Response:
    """Remember a statement that was in doubt."""
    wanted = call.form.get("turn", ""), call.form.get("text", "")
    doubts = call.memory.rules.doubtful(limit=1_000)
    found = next((one for one in doubts if (one.turn_id, one.text) == wanted), None)
    if found is None:
        raise InvalidInput("text", "this statement does not wait any more")
    return _after(call, call.memory.rules.confirm(found))


def decline(call: Call) -> Response:
    """Leave what is in doubt in a message as what was said, and no more."""
    turn = call.memory.get(_id(call))
    return _after(call, call.memory.update(turn.id, tags=[*turn.tags, DECLINED]))


def undo(call: Call) -> Response:
    """Undo a change."""
    number = int(said) if (said := call.form.get("change", "")).isdigit() else 0
    listed = call.memory.changes.list(limit=1_000)
    run = next((one.run for one in listed if one.number == number and one.kind in IN_RUNS), None)
    done = call.memory.undo(number if run is None else None, run=run)
    if not done.changes:
        raise NothingToUndo(number, "it was changed again since, or waits in the inbox")
    return back(call, done.changes[-1])


def tend(call: Call) -> Response:
    """Repair what is derived from the memories, or embed them all again."""
    if not call.caller.is_owner:
        raise NotAllowed("this is about the whole store; it needs a token with the right to admin")
    if call.form.get("what") == "reindex":
        call.memory.store.reindex()
    else:
        call.memory.store.doctor()
    return back(call, check="1")

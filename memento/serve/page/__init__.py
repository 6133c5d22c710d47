"""The web page: shows what is remembered and why it was found, and lets the user correct it.

Rendered on the server, with one stylesheet and one small script; it works without JavaScript.

door      sessions, and protection of forms
views     the pages that read
forms     the forms, each with its undo
wording   what the page says about a memory
graph     layout of linked memories
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from memento.prompt.rendering import spell_out
from memento.serve.access import caller_of
from memento.serve.app import Service
from memento.serve.page import forms, graph, views, wording
from memento.serve.page.door import HEADERS, Call, Door, form_token
from memento.types import Change, Kind, Memory, Status, Tier

READS = {
    "/": views.search, "/m/{id:path}": views.one, "/timeline": views.timeline,
    "/compare": views.compare, "/changes": views.changes, "/inbox": views.inbox,
    "/rules": views.rules, "/links": views.links, "/sessions": views.sessions,
    "/session": views.session, "/health": views.health, "/playground": views.playground,
}  # fmt: skip
CHANGES: dict[str, Callable[[Call, str], Memory]] = {
    "correct": forms.correct, "bring-back": forms.bring_back, "pin": forms.pin,
    "lock": forms.lock, "move": forms.move, "approve": forms.approve,
    "promote": forms.promote, "decline": forms.decline,
    "forget": lambda call, name: call.memory.forget(name),
    "restore": lambda call, name: call.memory.restore(name),
    "reject": lambda call, name: call.memory.quarantine.reject(name),
}  # fmt: skip
"""Changes of one memory, posted to ``/do/NAME/ID``."""
OTHERS = {
    "/undo": forms.undo, "/confirm": forms.confirm, "/resolve": forms.resolve,
    "/direct": forms.direct, "/reject-source": forms.reject_source, "/tend": forms.tend,
    "/forget-copies": forms.forget_copies,
}  # fmt: skip
STATIC = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
EVERY = 0.5
"""Seconds between two looks for changes while a page is open."""


def routes(service: Service, *, every: float = EVERY) -> list[BaseRoute]:
    """Return the routes of the page, for `memento.serve.app.application`.

    Args:
        service: The service whose store it shows.
        every: Seconds between two polls for changes.
    """
    door = Door(service, partial(_render, _templates()), views.Kept())

    async def live(request: Request) -> Response:
        if (who := door.caller(request)) is None:
            return Response(status_code=401, headers=HEADERS)
        caller, session = who
        service.room_for_stream(caller)
        watched = door.memory_of(request, caller)

        async def is_gone() -> bool:
            return service.leaving.is_set() or await request.is_disconnected()

        async def look() -> str:
            asked = service.asked(watched.store.namespace)[-1:]
            seen = await service.run(caller, "live", partial(views.state, watched), searches=False)
            return f"{seen}.{asked[0].number if asked else 0}"

        told = service.watched(
            partial(caller_of, service.memory.store.root, f"Bearer {session}"),
            views.events(look, every, is_gone),
        )
        return StreamingResponse(told, media_type="text/event-stream", headers=HEADERS)

    return [
        *(Route(f"/page/{name}", _static(name)) for name in STATIC),
        *(Route(path, door.page(view)) for path, view in READS.items()),
        *(
            Route(f"/do/{name}/{{id:path}}", door.change(forms.of_one(one)), methods=["POST"])
            for name, one in CHANGES.items()
        ),
        *(Route(path, door.change(view), methods=["POST"]) for path, view in OTHERS.items()),
        Route("/theme", door.change(door.theme), methods=["POST"]),
        Route("/enter", door.enter, methods=["POST"]),
        Route("/leave", door.change(door.leave), methods=["POST"]),
        Route("/live", live),
        _Lost("/{path:path}", door.page(views.lost)),
    ]


class _Lost(Route):
    """Any address that has no page, if a browser asks; programs get the service's own answer."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match what asks for a page; a slash at the end is left to the redirect without it."""
        sought = scope["type"] == "http" and not scope["path"].endswith("/")
        if sought and "text/html" in Request(scope).headers.get("accept", ""):
            return super().matches(scope)
        return Match.NONE, {}


@cache
def _file(name: str) -> tuple[bytes, str]:
    """Return a static file, and a digest for its URL, so that browsers can cache it."""
    data = files(__package__).joinpath(name).read_bytes()
    return data, sha256(data).hexdigest()[:12]


def _static(name: str) -> Callable[[Request], Any]:
    kept = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}

    async def endpoint(_request: Request) -> Response:
        return Response(_file(name)[0], headers=kept, media_type=STATIC[name])

    return endpoint


def _templates() -> Environment:
    """Open the templates; all values are escaped."""
    found = Environment(
        loader=PackageLoader("memento.serve.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    found.globals |= {
        "Tier": Tier, "kinds": {one.value: wording.KINDS.get(one, one.value) for one in Kind},
        "zip": zip, "asset": lambda name: f"/page/{name}?{_file(name)[1]}",
        "cut": _cut, "form_token": form_token, "ns_of": _named, "raw": _raw,
        "relation": graph.relation, "w": wording,
    }  # fmt: skip
    return found


def _shown(value: object) -> object:
    """Replace invisible characters by escapes in a text that a template shows."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return spell_out(str(value))
    return value


def _raw(text: str) -> Markup:
    """Escape only the HTML of a text, for a form field that must come back unchanged."""
    return escape(text)


def _cut(text: str, most: int) -> str:
    """Shorten a text for a list."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _named(labels: Sequence[str]) -> str:
    """Encode a namespace for a URL."""
    return quote("/".join(quote(label, safe="") for label in labels), safe="")


def _render(templates: Environment, name: str, /, *, call: Call | None, **values: Any) -> str:
    """Fill a template, with the values of the header of each page."""
    shown: dict[str, Any] = {"call": call, "theme": "", **values}
    if call is not None:
        now, zone = call.memory.store.clock(), views.zone_of(call)
        shown |= {"head": views.header(call), "done": _done(call), "now": now.astimezone(zone)}
        shown["when"] = partial(wording.moment, now=now, zone=zone)
        asked = {key: one for key, one in call.query.items() if key not in ("done", "m", "ns")}
        shown["here_query"] = lambda: dict(asked)
        shown["theme"] = call.request.cookies.get("memento-theme", "")
    return templates.get_template(name).render(shown)


def _done(call: Call) -> tuple[Change, Sequence[Memory], int] | None:
    """Return the change that led to this page, for the toast; None if none.

    With it come its memories and, if it hid one, the number of others that say the same.
    """
    said = call.query.get("done", "")
    if not said.isdigit():
        return None
    recent = call.memory.changes.list(limit=100)
    change = next((one for one in recent if str(one.number) == said), None)
    if change is None:
        return None
    of = views.touched(call.memory, change)
    hidden = change.kind == "forget" and of and of[0].status is Status.FORGOTTEN
    return change, of, len(views.copies(call.memory, of[0])) if hidden else 0

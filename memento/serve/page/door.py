"""Access to the page: one-time codes, cookies, protection of forms, headers.

A session is an ordinary token of the store that expires after twelve hours; the cookie holds it. So
it has rights, namespaces and trust, is listed with other tokens and can be revoked. The code that
``memento open`` appends to the URL is also a token, valid for two minutes and one use.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memento.base.clock import system_clock
from memento.errors import (
    InvalidInput,
    MementoError,
    NotAllowed,
    NotFound,
    TooMuch,
    Unanswered,
)
from memento.manager import MemoryManager
from memento.remote.faults import status_of
from memento.remote.routes import Rights
from memento.resident import tokens
from memento.serve import access
from memento.serve.access import Caller
from memento.serve.app import Asked, Service, headers_of
from memento.types import Trust

CODE, SESSION = "page-code-", "page-session-"
"""Prefixes of the names of code and session tokens."""
CODE_LASTS, SESSION_LASTS = timedelta(minutes=2), timedelta(hours=12)
MOST = 256 * 1024
"""Largest form without the text of a memory, bytes."""
ENCODED = 12
"""Maximum number of bytes of a character in a form, such as ``%F0%9F%8D%B5``."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, browsers hide the origin of our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "Cookie",
}

Render = Callable[..., str]
View = Callable[["Call"], Response]


def code_for(root: Path) -> str:
    """Return a new one-time code for a local browser; revoke expired codes and sessions."""
    for one in tokens.listed(root):
        ours = one.name.startswith((CODE, SESSION)) and one.expires
        if ours and datetime.fromisoformat(one.expires) <= system_clock():
            tokens.revoke(root, one.name)
    return _token(root, CODE, CODE_LASTS)


def _token(root: Path, prefix: str, lasts: timedelta) -> str:
    name = prefix + secrets.token_hex(4)
    return tokens.add(
        root, name, namespace="", rights="admin", trust=Trust.USER.value, expires_in=lasts
    )


def entered(root: Path, given: str) -> str | None:
    """Return the session token for a code or token that was entered; None if it is not valid.

    A code is revoked and gives a new session. Any other token without a scope is itself the
    session.
    """
    found = tokens.holder(root, given)
    if found is None or not found.name.startswith(CODE):
        return None if found is None or found.scope else given
    try:
        tokens.revoke(root, found.name)
    except InvalidInput:  # another request used it first
        return None
    return _token(root, SESSION, SESSION_LASTS)


def left(root: Path, session: str) -> None:
    """End a session; a token that was entered itself stays valid."""
    found = tokens.holder(root, session)
    if found is not None and found.name.startswith(SESSION):
        tokens.revoke(root, found.name)


def cookie_of(request: Request) -> str:
    """Return the name of the cookie; it has the port, as ports of a host share their cookies."""
    return f"memento-{request.url.port or 'page'}"


def form_token(session: str) -> str:
    """Return the hidden value in each form of a session, which other sites cannot know."""
    return hashlib.sha256(f"form of {session}".encode()).hexdigest()[:32]


def is_foreign(request: Request) -> bool:
    """Return whether a page of another site caused a request."""
    said = request.headers.get("sec-fetch-site")
    if said is not None:
        return said not in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and origin != f"{request.url.scheme}://{request.url.netloc}"


@dataclass(slots=True)
class Call:
    """One request for a page, with all that a view needs.

    Attributes:
        request: The request.
        caller: Who asks, with rights and trust.
        memory: The manager of the namespace that the URL names.
        render: Fills a template; see `Call.show`.
        kept: Cached counts; see `memento.serve.page.views.Kept`.
        asked: The last questions in the namespace, oldest first.
        form: The posted fields, including the form token.
        session: The token of the session.
    """

    request: Request
    caller: Caller
    memory: MemoryManager
    render: Render
    session: str
    kept: Any
    asked: Sequence[Asked] = ()
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def query(self) -> Mapping[str, str]:
        """The query parameters of the URL that are not blank."""
        return {name: one for name, one in self.request.query_params.items() if one.strip()}

    @property
    def here(self) -> str:
        """The URL of this page, to return to it, without the toast."""
        asked = {name: one for name, one in self.request.query_params.items() if name != "done"}
        return self.request.url.path + (f"?{urlencode(asked)}" if asked else "")

    @property
    def may_change(self) -> bool:
        """Whether the caller may change memories: only people should, see `Quarantine.approve`."""
        return self.caller.rights.includes(Rights.WRITE) and self.caller.trust is Trust.USER

    def url(self, path: str, **query: object) -> str:
        """Return a URL of the page, in the same namespace."""
        asked = {name: one for name, one in query.items() if one not in (None, "", False)}
        if "ns" in self.request.query_params:
            asked = {"ns": self.request.query_params["ns"], **asked}
        return quote(path) + (f"?{urlencode(asked)}" if asked else "")

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """Fill a template into a page."""
        return HTMLResponse(self.render(template, call=self, **values), status)


class Door:
    """Allows views only with a session, and changes only through a form of that session.

    Args:
        service: The service whose store the page shows.
        render: Fills a template.
        kept: Cached counts; cleared after each change.
    """

    def __init__(self, service: Service, render: Render, kept: Any) -> None:
        self._service, self._memory = service, service.memory
        self._render, self._kept = render, kept
        self._root = service.memory.store.root
        self._most = MOST + ENCODED * service.memory.store.config.limits.text_chars

    def page(self, view: View) -> Callable[[Request], Any]:
        """Return the endpoint of a view that reads."""

        async def endpoint(request: Request) -> Response:
            return await self._answer(request, view, None)

        return endpoint

    def change(self, view: View) -> Callable[[Request], Any]:
        """Return the endpoint of a form."""

        async def endpoint(request: Request) -> Response:
            try:
                form: Mapping[str, str] | TooMuch = await self._posted(request)
            except TooMuch as error:
                form = error
            return await self._answer(request, view, form)

        return endpoint

    def caller(self, request: Request) -> tuple[Caller, str] | None:
        """Return the caller and the token of the session; None without a valid session."""
        session = request.cookies.get(cookie_of(request), "")
        try:
            return self._service.entered(session), session
        except NotAllowed:
            return None

    def memory_of(self, request: Request, caller: Caller) -> MemoryManager:
        """Return the manager of the namespace that the URL names."""
        labels = access.namespace_of(caller, request.query_params.get("ns"))
        return self._memory.of(*labels)

    async def _answer(
        self, request: Request, view: View, form: Mapping[str, str] | TooMuch | None
    ) -> Response:
        called = "the page" if form is None else "the change"
        try:
            who = self.caller(request)
            if who is None:
                return _headed(await run_in_threadpool(self._ask, request))
            shown = partial(self._shown, request, view, form, *who)
            return _headed(await self._service.run(who[0], called, shown, searches=form is None))
        except (TooMuch, Unanswered) as error:
            text = self._render("error.html", call=None, error=error, again=_again(request))
            return _headed(HTMLResponse(text, status_of(error), headers_of(error)))

    def _shown(
        self,
        request: Request,
        view: View,
        form: Mapping[str, str] | TooMuch | None,
        caller: Caller,
        session: str,
    ) -> Response:
        own = self._memory.of(*access.namespace_of(caller, None))
        call = Call(request, caller, own, self._render, session, self._kept)
        try:
            call.memory = self.memory_of(request, caller)
            call.asked = self._service.asked(call.memory.store.namespace)
            if isinstance(form, TooMuch):
                raise form
            if form is not None:
                _check(request, form, call)
                call.form = form
                answer = view(call)
                self._kept.forget()
                return answer
            return view(call)
        except MementoError as error:
            gone = "This memory does not exist, or no longer exists."
            return call.show(
                "error.html",
                status_of(error),
                error=error,
                absent=gone if isinstance(error, NotFound) else "",
                again=call.url("/"),
            )

    def _ask(self, request: Request, *, wrong: bool = False) -> Response:
        """Answer with the login page: the same for every URL, so as not to reveal which exist."""
        text = self._render("login.html", call=None, wrong=wrong, then=_again(request))
        return HTMLResponse(text, 401)

    async def enter(self, request: Request) -> Response:
        """Start a session with a code or a token."""
        form = await self._posted(request)
        if is_foreign(request):
            return _headed(self._ask(request))
        session = await run_in_threadpool(entered, self._root, form.get("code", "").strip())
        if session is None:
            return _headed(self._ask(request, wrong=True))
        answer = RedirectResponse(inside(form.get("then", "/")), 303)
        answer.set_cookie(
            cookie_of(request),
            session,
            max_age=int(SESSION_LASTS.total_seconds()),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return _headed(answer)

    async def _posted(self, request: Request) -> dict[str, str]:
        """Return the fields of a posted form.

        Raises:
            TooMuch: If it is too long. It is received all the same, or the browser would not show
                the answer.
        """
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size <= self._most:
                parts.append(part)
        if size > self._most:
            raise TooMuch("body", f"this form has {size:,} bytes; the limit is {self._most:,}")
        body = b"".join(parts).decode("utf-8", "replace")
        return dict(parse_qsl(body, keep_blank_values=True))

    def theme(self, call: Call) -> Response:
        """Set the colour theme in a cookie."""
        answer = RedirectResponse(inside(call.form.get("then", "/")), 303)
        said = call.form.get("theme", "")
        name = said if said in ("dark", "light") else ""
        answer.set_cookie("memento-theme", name, max_age=31536000, samesite="strict")
        return answer

    def leave(self, call: Call) -> Response:
        """End the session."""
        left(self._root, call.session)
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(cookie_of(call.request), httponly=True, samesite="strict")
        return answer


def _again(request: Request) -> str:
    """Return where to go on after a request: the page that it asked for, if it was for one."""
    query = f"?{request.url.query}" if request.url.query else ""
    return request.url.path + query if request.method == "GET" else "/"


def _headed(answer: Response) -> Response:
    answer.headers.update(HEADERS)
    return answer


def _check(request: Request, form: Mapping[str, str], call: Call) -> None:
    """Refuse a form from another site or session, or from a caller who may not change memories."""
    right = hmac.compare_digest(form.get("form", "").encode(), form_token(call.session).encode())
    if is_foreign(request) or not right:
        raise NotAllowed(
            "this form was submitted from a different page; reload this page and try again"
        )
    if not (call.may_change or request.url.path in ("/theme", "/leave")):
        raise NotAllowed("this token allows only reading")


def inside(path: str) -> str:
    """Return a path if it stays on this site, else ``/``."""
    inside = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if inside and path.isprintable() else "/"

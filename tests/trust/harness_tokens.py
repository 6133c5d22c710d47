"""What a token and a form of the page allow, and that nobody is told what another tenant has.

Every route is read from the application, so that a new one is tried by itself; see `harness_serve`.

Alone: ``python benchmarks/trust.py --full --only tokens``.
"""

from __future__ import annotations

import random
import re
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import harness_serve as serve
from starlette.testclient import TestClient
from trust_result import TrustResult

from memento import MemoryManager
from memento.errors import NotFound
from memento.remote.routes import ROUTES, Rights
from memento.resident import tokens
from memento.serve import access
from memento.serve.app import Service
from memento.serve.page import door
from memento.types import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = {False: 400, True: 6_000}
CALLS = {False: 300, True: 6_000}
FORMS = {False: 300, True: 5_000}
OPEN = ("/livez", "/readyz", "/v1/openapi.json", "/page/", "/enter", "/v1/exports", "/v1/summary",
        "/v1/feedback", "/v2/entities/{rest", "/{path")  # fmt: skip
"""Routes that are the same for everybody."""
_VARIES = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|nobody|theirs|[0-9a-f]{12,64}"
    r"|\d{4}-\d\d-\d\d[T ][\d:.+Z]*|\d+(\.\d+)?(e-\d+)?"
)


def nobody_is_told_what_exists(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Ask for what another tenant has, and in the same words for what nobody has."""
    told = _told_apart(folder / "store", PAIRS[full], seed)

    def careless(caller: access.Caller, labels: tuple[str, ...]) -> None:
        if "nobody" in labels:
            raise NotFound("/".join(labels))
        see(caller, labels)

    see = access._see
    with patch.object(access, "_see", careless):
        control = _told_apart(folder / "control", PAIRS[False], seed)
    return TrustResult(
        name="what another tenant has",
        promise="Whoever asks for a memory, key, session or namespace of another tenant gets the"
        " same status and the same words as for one that does not exist.",
        cases=PAIRS[full],
        failures=len(told),
        control="a service that tells a namespace that does not exist from one that is not yours",
        control_failed=bool(control),
        seed=seed,
        details=tuple(told[:10]),
    )


def _told_apart(root: Path, count: int, seed: int) -> list[str]:
    rng, told = random.Random(seed), []
    with MemoryManager(root, embedder=None) as memory:
        theirs = memory.of("acme", "theirs")
        own = memory.of("evil")
        own.add("something of our own", "long", key="own", session="own")
        items = [
            {"text": f"secret {at}", "key": f"theirs/{at}", "session": f"theirs {at}"}
            for at in range(count)
        ]
        ids = [one.id for one in theirs.add_many(items)]
        given = {
            rights: tokens.add(root, rights, namespace="evil", rights=rights, trust="user")
            for rights in tokens.RIGHTS
        }
        app, others = serve._whole(Service(memory, serve._SETTINGS))
        with TestClient(app, f"http://{serve.HOST}", follow_redirects=False) as client:
            for at in range(count):
                asked = _asked(rng, others)
                token = given[rng.choice(tokens.RIGHTS)]
                wrong = f"{ids[at][:-12]}{rng.randrange(16**12):012x}"
                sides = [("theirs", ids[at]), ("nobody", wrong)]
                rng.shuffle(sides)
                first, second = (_answer(client, asked, at, *side, token) for side in sides)
                if first != second:
                    told.append(f"{asked}: {first} {second}"[:300])
    return told


def _asked(rng: random.Random, others: list[tuple[str, str]]) -> tuple[str, str, dict[str, Any]]:
    """Choose a route that names something, and how it is asked; ``@`` stands for the owner."""
    if rng.random() < 0.6:
        names = [
            name
            for name, route in ROUTES.items()
            if not route.arguments.keys().isdisjoint(_NAMING)
            and name not in ("sleep.run", "store.sync_vault")
        ]
        name = rng.choice(names)
        said: dict[str, Any] = {}
        while said.keys().isdisjoint(_NAMING):
            said = serve._arguments(rng, name, "@id")
        return "POST", ROUTES[name].path, said
    method, template = rng.choice(others)
    path = re.sub(r"\{[^}]+\}", lambda _: rng.choice(("@id", "@:@id", "user", "@")), template)
    said = {"ns": "acme/@", "m": "@id", "id": "@ 1", "q": "secret", "a": "@id",
            "b": "@id", "keep": "a", "user_id": "../@", "run_id": "@ 1", "turn": "@id",
            "version": "1", "text": "mine", "then": "/", "source": "https://a.example/@",
            "filters": {"user_id": "../@"}, "memories": [{"memory_id": "@:@id"}],
            "messages": [{"role": "user", "content": "mine"}], "query": "secret",
            "session": "@ 1"}  # fmt: skip
    return method, path, {name: one for name, one in said.items() if rng.random() < 0.6}


_NAMING = {"id", "ids", "key", "key_or_id", "session", "a", "b", "seen", "target", "supersedes",
           "related", "short", "with_namespace"}  # fmt: skip


def _answer(
    client: TestClient,
    asked: tuple[str, str, dict[str, Any]],
    at: int,
    owner: str,
    name: str,
    token: str,
) -> tuple[int, str]:
    """Ask for what somebody owns; returns the status, and the words without what always varies."""

    def filled(one: Any) -> Any:
        if isinstance(one, str):
            one = one.replace("@id", name).replace("@ 1", f"{owner} {at}").replace("@", owner)
            return {"rami/secret": f"{owner}/{at}", "talk": f"{owner} {at}"}.get(one, one)
        if isinstance(one, list):
            return [filled(each) for each in one]
        return {key: filled(each) for key, each in one.items()} if isinstance(one, dict) else one

    method, path, said = asked
    said = filled(said)
    if "with_namespace" in said:
        said["with_namespace"] = ["acme", owner]
    headers = {"Authorization": f"Bearer {token}"}
    if at % 4 == 0:
        headers[access.HEADER] = f"acme/{owner}"
    answer = _sent(client, method, filled(path), said, headers, token)
    return answer.status_code, _VARIES.sub("~", answer.text)


def _sent(
    client: TestClient, method: str, path: str, said: dict[str, Any], headers: Any, token: str
) -> Any:
    """Send a request as the API, the page or mem0's clients would."""
    if path.startswith(("/v1/", "/v2/", "/v3/")):
        return client.request(method, path, json=said, headers=headers)
    headers = headers | {"Cookie": f"memento-{serve.HOST.split(':')[1]}={token}"}
    texts = {name: one for name, one in said.items() if isinstance(one, str)}
    if method != "POST":
        return client.request(method, path, params=texts, headers=headers)
    query = {"ns": texts.pop("ns")} if "ns" in texts else {}
    form = {"form": door.form_token(token), **texts}
    return client.post(path, params=query, data=form, headers=headers)


def a_token_allows_what_it_says(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Use tokens that are no more, are nobody's, may only read, or are of an untrusted source."""
    broken = _overstepped(folder / "store", CALLS[full], seed)
    with patch.object(Rights, "includes", lambda *_: True):
        control = _overstepped(folder / "control", CALLS[False], seed)
    return TrustResult(
        name="what a token allows",
        promise="A token that was revoked, has expired, was used up or is nobody's opens nothing."
        " One with the right to read changes nothing, and what one for the web writes waits in"
        " quarantine and changes nothing of the user's.",
        cases=CALLS[full],
        failures=len(broken),
        control="a service in which every right includes all others",
        control_failed=bool(control),
        seed=seed,
        details=tuple(broken[:10]),
    )


def _overstepped(root: Path, count: int, seed: int) -> list[str]:
    rng, broken = random.Random(seed), []
    with MemoryManager(root, embedder=None) as memory:
        own = memory.of("evil")
        mine = own.add("Rami drinks tea", "long", key="rami/secret", session="talk")
        own.add("an offer", source="web")
        shut = _shut(root, rng)
        reads = tokens.add(root, "reads", namespace="evil", rights="read", trust="user")
        web = tokens.add(root, "web", namespace="evil", rights="write", trust="web")
        app, others = serve._whole(Service(memory, serve._SETTINGS))
        others = [one for one in others if not one[1].startswith(OPEN)]
        with TestClient(app, f"http://{serve.HOST}", follow_redirects=False) as client:
            for _ in range(count):
                who, token = rng.choice([*shut, ("reads", reads), ("web", web)])
                before = _state(own, of_user=who == "web")
                headers = {"Authorization": f"Bearer {token}"}
                if rng.random() < 0.6:
                    name = rng.choice([*ROUTES])
                    method, path = "POST", ROUTES[name].path
                    said = serve._arguments(rng, name, mine.id)
                    answer = client.post(path, json=said, headers=headers)
                else:
                    method, path = rng.choice(others)
                    path = re.sub(r"\{[^}]+\}", lambda _: mine.id, path)
                    said = {"text": "mine", "change": "1", "version": "1", "turn": mine.id}
                    answer = _sent(client, method, path, said, headers, token)
                if who not in ("reads", "web") and answer.status_code != 401:
                    broken.append(f"{who} {method} {path}: {answer.status_code}")
                if _state(own, of_user=who == "web") != before:
                    broken.append(f"{who} {method} {path} {said} changed something")
    return broken


def _shut(root: Path, rng: random.Random) -> list[tuple[str, str]]:
    """Make tokens that open nothing."""
    good = tokens.add(root, "good", namespace="evil", rights="admin", trust="user")
    old = tokens.add(root, "old", namespace="", rights="admin", expires_in=timedelta(0))
    gone = tokens.add(root, "gone", namespace="", rights="admin")
    tokens.revoke(root, "gone")
    code = door.code_for(root)
    door.entered(root, code)
    at = rng.randrange(len(good) - 8, len(good))
    other = "a" if good[at] != "a" else "b"
    return [
        ("expired", old), ("revoked", gone), ("used up", code), ("none", ""),
        ("hashed", sha256(good.encode()).hexdigest()),
        ("altered", good[:at] + other + good[at + 1 :]), ("cut", good[:-1]),
    ]  # fmt: skip


def _state(memory: MemoryManager, *, of_user: bool) -> Any:
    """Return all that a namespace has; of the user alone if others may add to it."""
    rows = memory.list(limit=1_000, status=None if of_user else [*Status])
    changed = [] if of_user else memory.changes.list()
    return rows, changed, memory.rules.policy().text


def no_form_of_another_site(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Send the forms of the page as a page of another site could make a browser send them."""
    broken = _forged(folder / "store", FORMS[full], seed)
    with _trusting():
        control = _forged(folder / "control", FORMS[False], seed)
    return TrustResult(
        name="forms of other sites",
        promise="No change is made by a form that is not of this session of the page: not with its"
        " cookie, from another origin, with another session's form, by a link, or as plain text.",
        cases=FORMS[full],
        failures=len(broken),
        control="a page that takes any form that has a session's cookie",
        control_failed=bool(control),
        seed=seed,
        details=tuple(broken[:10]),
    )


@contextmanager
def _trusting() -> Iterator[None]:
    with patch.object(door, "_check", lambda *_: None):
        yield


def _forged(root: Path, count: int, seed: int) -> list[str]:
    rng, broken = random.Random(seed), []
    with MemoryManager(root, embedder=None) as memory:
        mine = memory.add("Rami drinks tea", "long", key="rami/drink")
        memory.add("Rami drinks coffee", source="web", id="page")
        session, other = (door.entered(root, door.code_for(root)) or "" for _ in range(2))
        app, others = serve._whole(Service(memory, serve._SETTINGS))
        forms = [
            path for method, path in others
            if method == "POST" and not path.startswith(("/v", "/enter", "/leave", "/theme"))
        ]  # fmt: skip
        jar = {"Cookie": f"memento-{serve.HOST.split(':')[1]}={session}"}
        right = door.form_token(session)
        with TestClient(app, f"http://{serve.HOST}", follow_redirects=False) as client:
            for _ in range(count):
                path = re.sub(r"\{[^}]+\}", rng.choice((mine.id, "page")), rng.choice(forms))
                said = {"text": "mine", "change": "1", "version": "1", "tier": "short",
                        "source": "web", "form": right}  # fmt: skip
                before = _state(memory, of_user=False)
                _forge(client, rng, path, said, jar, door.form_token(other))
                if _state(memory, of_user=False) != before:
                    broken.append(f"{path} {said}")
    return broken


def _forge(
    client: TestClient,
    rng: random.Random,
    path: str,
    said: dict[str, str],
    jar: dict[str, str],
    others: str,
) -> None:
    """Send one form as it must not be taken."""
    way = rng.choice(("none", "wrong", "other", "site", "origin", "link", "plain"))
    if way in ("none", "plain"):
        del said["form"]
    if way in ("wrong", "other"):
        said["form"] = others if way == "other" else f"{rng.randrange(16**32):032x}"
    if way == "site":
        jar = jar | {"Sec-Fetch-Site": rng.choice(("cross-site", "same-site"))}
    if way == "origin":
        evil = rng.choice(("https://evil.example", "null", f"https://{serve.HOST}.evil.example"))
        jar = jar | {"Origin": evil}
    if way == "link":
        client.get(path, params=said, headers=jar)
    elif way == "plain":
        jar = jar | {"Content-Type": "text/plain"}
        client.post(path, content="&".join(f"{k}={v}" for k, v in said.items()), headers=jar)
    else:
        client.post(path, data=said, headers=jar)


HARNESSES = (nobody_is_told_what_exists, a_token_allows_what_it_says, no_form_of_another_site)

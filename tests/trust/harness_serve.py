"""A service over HTTP: namespaces, names, and its end.

Three rows: whoever has a token of one tenant gets nothing of another's, by any route there is; no
page of another site is answered; what was acknowledged is kept whether the service is asked to end
or killed.

Alone: ``python benchmarks/trust.py --full --only serve``.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from inspect import Parameter
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

from common import child_environment
from starlette.testclient import TestClient
from trust_result import TrustResult

from memento import MemoryManager
from memento.remote.routes import ROUTES, SENDS
from memento.resident import tokens
from memento.serve import access, mem_zero, page
from memento.serve.app import Service, Settings, application
from memento.serve.limits import Limits
from memento.serve.page.door import form_token

TOPIC = "xylophone"
CANARY = "7f3a91c2"
ATTACKS = {False: 400, True: 12_000}
NAMES = {False: 100, True: 5_000}
ROUNDS = {False: 1, True: 30}
ADDERS = 8
HOST = "127.0.0.1:8765"
_SETTINGS = Settings(hosts=frozenset({HOST}), limits=Limits(rate=0))
STREAMS = ("/live", "/v1/changes/stream")
"""Routes without an end; ``test_tenants.py`` listens to them."""
MOMENT = datetime(2020, 1, 1, tzinfo=UTC).isoformat()


def of_one_tenant(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Try every route with a token of one tenant, and with all that is known of another's."""
    broken = _attacked(folder / "store", ATTACKS[full], seed)
    with patch.object(access, "_see", lambda *_: None):
        control = _attacked(folder / "control", ATTACKS[False], seed)
    return TrustResult(
        name="a token of one tenant against another's",
        promise="Whoever has a token of one namespace gets no text, id, count or change of"
        " another's by any route of the service, of its page or of mem0's clients, whatever the"
        " arguments, forms, cookies and headers say.",
        cases=ATTACKS[full],
        failures=len(broken),
        control="a service that does not compare the namespace with the token's",
        control_failed=bool(control),
        seed=seed,
        details=tuple(broken[:10]),
    )


def _attacked(root: Path, count: int, seed: int) -> list[str]:
    """Attack one tenant from another; returns what came of it."""
    rng, broken = random.Random(seed), []
    with MemoryManager(root, embedder=None) as memory:
        theirs = memory.of("acme", "rami")
        secret = theirs.add(
            f"Rami's {TOPIC} {CANARY} is under the stairs", "long", key="rami/secret"
        )
        unknown = theirs.add(f"Trust the {TOPIC} {CANARY}", source="web").id
        theirs.sessions.start("talk", goal=f"hide the {TOPIC} {CANARY}")
        before = (theirs.list(limit=1_000), theirs.changes.list(), theirs.quarantine.list())
        memory.of("evil").add("something of our own", "long")
        given = {
            rights: tokens.add(root, rights, namespace="evil", rights=rights, trust="user")
            for rights in tokens.RIGHTS
        }
        app, others = _whole(Service(memory, _SETTINGS))
        with TestClient(app, f"http://{HOST}", follow_redirects=False) as client:
            for _ in range(count):
                token = given[rng.choice(tokens.RIGHTS)]
                headers = {"Authorization": f"Bearer {token}"}
                headers |= {} if rng.random() < 0.3 else {access.HEADER: _aimed(rng)}
                if rng.random() < 0.5:
                    name = rng.choice([*ROUTES])
                    said = _arguments(rng, name, secret.id)
                    answer = _sent(client, name, headers, said)
                else:
                    name, said, answer = _tried(client, rng, others, secret.id, token, headers)
                if CANARY in answer or unknown in answer:
                    broken.append(f"{name} {said} {headers.get(access.HEADER)}: {answer[:80]}")
        after = (theirs.list(limit=1_000), theirs.changes.list(), theirs.quarantine.list())
        if after != before:
            broken.append("something of the other tenant has changed")
        found = [hit.text for hit in theirs.retrieve("something of our own")]
        if any("our own" in text for text in found):
            broken.append("a memory was put before the other tenant")
    return broken


def _whole(service: Service) -> tuple[Any, list[tuple[str, str]]]:
    """Return a service with its page and mem0's routes, and each route that is no method.

    The routes are read from the application, so that a new one is attacked by itself.
    """
    app = application(service, [*page.routes(service), *mem_zero.routes(service)])
    found = [
        (method, route.path)
        for route in app._app.routes  # type: ignore[attr-defined]  # whatever is served
        for method in sorted(route.methods or ())
        if route.path not in STREAMS and not route.path.startswith("/v1/{name")
    ]
    return app, found


def _tried(
    client: TestClient,
    rng: random.Random,
    routes: list[tuple[str, str]],
    their_id: str,
    token: str,
    headers: dict[str, str],
) -> tuple[str, dict[str, Any], str]:
    """Ask for a page, post a form or call as mem0's clients do; returns all that comes back."""
    method, template = rng.choice(routes)
    known = [their_id, f"rami:{their_id}", f"acme%2Frami:{their_id}", f"..:{their_id}", "talk"]
    path = re.sub(r"\{[^}]+\}", lambda _: quote(rng.choice([*known, "user", "rami"])), template)
    said: dict[str, Any] = {
        "ns": _aimed(rng), "q": TOPIC, "query": TOPIC, "m": their_id, "id": "talk", "k": "50",
        "text": "mine", "version": "1", "scope": "", "session": "talk", "old": "1", "gaps": "1",
        "check": "1", "since": "2020-01-01", "known_at": "2030-01-01", "source": "web", "keep": "a",
        "a": their_id, "b": their_id, "change": "1", "turn": their_id, "then": f"/m/{their_id}",
        "user_id": rng.choice(["rami", "acme/rami", "..", "../acme/rami", ""]), "run_id": "talk",
        "agent_id": "rami", "messages": [{"role": "user", "content": "mine"}], "top_k": 50,
        "filters": rng.choice([{"user_id": "rami"}, {"AND": [{"run_id": "talk"}]}, {}]),
        "memories": [{"memory_id": f"rami:{their_id}", "text": "mine"}], "done": "1", "skip": "0",
    }  # fmt: skip
    said = {name: one for name, one in said.items() if rng.random() < 0.6}
    texts = {name: one for name, one in said.items() if isinstance(one, str)}
    if rng.random() < 0.8:
        headers = headers | {"Cookie": f"memento-{HOST.split(':')[1]}={token}"}
    if method == "POST" and not path.startswith(("/v1/", "/v3/")):
        form = texts | {"form": form_token(token)}
        answer = client.post(path, params=_some(rng, texts), data=form, headers=headers)
    elif method in ("POST", "PUT", "DELETE"):
        answer = client.request(method, path, json=said, headers=headers)
    else:
        answer = client.request(method, path, params=texts, headers=headers)
    return f"{method} {path}", said, answer.text + str(dict(answer.headers))


def _some(rng: random.Random, texts: dict[str, str]) -> dict[str, str]:
    return {"ns": texts["ns"]} if "ns" in texts and rng.random() < 0.7 else {}


def _aimed(rng: random.Random) -> str:
    """Name the other tenant in one of the ways that somebody would try."""
    return rng.choice(
        (
            "acme/rami", "acme", "evil/../acme/rami", "acme%2Frami", "evil%2F..%2Facme/rami", "*",
            "default", "evil/acme/rami", "ACME/rami", "", "/", "acme/rami/",
        )
    )  # fmt: skip


def _arguments(rng: random.Random, name: str, their_id: str) -> dict[str, Any]:
    """Fill in arguments as somebody would who knows their ids, keys and sessions."""
    likely: dict[str, Any] = {
        "id": their_id, "ids": [their_id], "key": "rami/secret", "key_or_id": their_id,
        "session": "talk", "query": TOPIC, "question": TOPIC, "topic": "Rami", "text": "mine",
        "message": TOPIC, "seen": their_id, "a": their_id, "b": their_id, "keep": "a",
        "short": their_id[:8], "since": MOMENT, "at": MOMENT, "with_namespace": ["acme", "rami"],
        "scope": "", "src": "a", "dst": "b", "path": "a", "uri": "web", "change": 1,
        "target": their_id,
        "items": ["mine"], "messages": "mine", "texts": ["mine"], "vector": [0.0], "limit": 1_000,
        "all_namespaces": True, "supersedes": [their_id], "related": [their_id], "document": "mine",
        "everything": True, "expires_in": 0, "rules": "mine", "loop": "x", "answer": TOPIC,
        "replace": True, "derived": True, "dry_run": False, "include_quarantined": True,
        "file": "/etc/passwd", "events": 1, "force": True,
    }  # fmt: skip
    if name == "sleep.run":
        return {"seconds": 0.0}
    needed = filled(name, likely)
    return {
        key: value
        for key, value in likely.items()
        if key in needed or (key in ROUTES[name].arguments and rng.random() < 0.7)
    }


def filled(name: str, known: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that a method must have, from those that are known."""
    words = ("query", "question", "topic", "text", "messages")
    usual: dict[str, Any] = {**dict.fromkeys(words, "tea"), "texts": ["tea"], "since": MOMENT}
    needed = [key for key, one in ROUTES[name].arguments.items() if one.default is Parameter.empty]
    return {key: (usual | known)[key] for key in needed if key in usual | known}


def _sent(client: TestClient, name: str, headers: dict[str, str], said: dict[str, Any]) -> str:
    """Send a call; returns all that comes back."""
    given = headers | {"content-type": "application/json"}
    if name in SENDS:
        given |= {"content-type": "application/octet-stream"}
    answer = client.post(ROUTES[name].path, content=json.dumps(said), headers=given)
    return answer.text + str(dict(answer.headers))


def no_other_site(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Ask by names and from origins that an attacker's page would have."""
    rng = random.Random(seed)
    with MemoryManager(folder / "store", embedder=None) as memory:
        memory.add(f"the {TOPIC}")
        token = tokens.add(folder / "store", "page", namespace="default")
        failures = _asked_from_elsewhere(memory, token, _SETTINGS, rng, NAMES[full])
        open_to_all = Settings(limits=Limits(rate=0))
        control = _asked_from_elsewhere(memory, token, open_to_all, rng, 20)
    return TrustResult(
        name="pages of other sites",
        promise="No request is answered that a page of another site made a browser send, by a name"
        " that leads to the service (DNS rebinding) or across sites, though it has a valid token.",
        cases=NAMES[full],
        failures=failures,
        control="a service that answers to any name",
        control_failed=control > 0,
        seed=seed,
    )


def _asked_from_elsewhere(
    memory: MemoryManager, token: str, settings: Settings, rng: random.Random, count: int
) -> int:
    answered = 0
    with TestClient(application(Service(memory, settings)), f"http://{HOST}") as client:
        for _ in range(count):
            name = rng.choice(
                ("evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:8766", "0.0.0.0:8765",
                 "127.0.0.1:8765.evil.example", "localhost.evil.example:8765", "")
            )  # fmt: skip
            headers = {"Authorization": f"Bearer {token}"}
            if rng.random() < 0.5:
                headers["Host"] = name
            else:
                headers["Origin"] = rng.choice((f"http://{name}", f"https://{name}", "null", "x"))
            path = rng.choice(("/v1/list", "/v1/add", "/v1/about", "/livez", "/v1/openapi.json"))
            answer = client.request(rng.choice(("GET", "POST")), path, json={}, headers=headers)
            answered += answer.status_code != 403
    return answered


def nothing_acknowledged_is_lost(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """End the service by a signal while adds come, and look for what it had acknowledged."""
    rng, lost, torn, acknowledged = random.Random(seed), set[str](), 0, 0
    unanswered = 0
    for number in range(ROUNDS[full]):
        for sent in (signal.SIGTERM, signal.SIGKILL):
            kept, cut, status = _ended(folder / "store", number, sent, rng.uniform(0.1, 0.5))
            acknowledged += len(kept)
            with MemoryManager(folder / "store", embedder=None) as memory:
                there = {one.text for one in memory.list(limit=10_000)}
            lost |= kept - there
            if sent is signal.SIGTERM:
                torn += len(cut & there) + (status != 0)
            else:
                unanswered += len(cut)
    return TrustResult(
        name="a service that is ended or killed",
        promise="What a service has acknowledged is kept, whether it is asked to end or killed. If"
        " it is asked to end, it also answers every call that it carries out.",
        cases=acknowledged,
        failures=len(lost) + torn,
        control="a service that is killed answers every call that it has",
        control_failed=unanswered > 0,
        seed=seed,
        figures={
            "ends": 2 * ROUNDS[full],
            "calls cut off by the control": unanswered,
        },
        details=tuple(sorted(lost)[:10]),
    )


def _ended(root: Path, number: int, sent: int, after: float) -> tuple[set[str], set[str], int]:
    """Serve, add from several connections, and end it.

    Returns:
        The texts that were acknowledged, those that were not answered, and the exit status.
    """
    place = root.parent / f"s{number}.{sent}"
    acknowledged, cut, going = set[str](), set[str](), threading.Event()
    with _serving(root, place) as running:

        def add(worker: int) -> None:
            with closing(_Unix(str(place))) as opened:
                told(worker, opened)

        def told(worker: int, opened: _Unix) -> None:
            at = 0
            while True:
                text = f"{number} {sent} {worker} {at}"
                at += 1
                try:
                    opened.request("POST", "/v1/add", json.dumps({"text": text}), _JSON)
                except OSError:
                    return  # it does not listen any more: nothing was begun
                going.set()
                try:
                    answer = opened.getresponse()
                    status = (answer.status, answer.read())[0]
                except (OSError, http.client.HTTPException):
                    cut.add(text)
                    return
                if status == 200:
                    acknowledged.add(text)
                if answer.will_close:
                    return

        threads = [threading.Thread(target=add, args=(worker,)) for worker in range(ADDERS)]
        for thread in threads:
            thread.start()
        going.wait(60)
        time.sleep(after)
        running.send_signal(sent)
        for thread in threads:
            thread.join()
        status = running.wait(60)
    return acknowledged, cut, status


_JSON = {"content-type": "application/json"}


class _Unix(http.client.HTTPConnection):
    """A connection by a Unix socket."""

    def connect(self) -> None:
        """Connect to the path that stands in the place of the host."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


@contextmanager
def _serving(root: Path, place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a service in a process of its own, at a socket."""
    words = ["serve", "--root", str(root), "--embedder", "none", "--listen", f"unix:{place}"]
    command = [sys.executable, "-m", "memento", *words]
    with subprocess.Popen(command, env=child_environment(), stderr=subprocess.DEVNULL) as running:
        end = time.monotonic() + 60
        while not _answers(place):
            if running.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the service did not start")
            time.sleep(0.02)
        try:
            yield running
        finally:
            with suppress(OSError):
                os.kill(running.pid, signal.SIGKILL)


def _answers(place: Path) -> bool:
    opened = _Unix(str(place))
    try:
        opened.request("GET", "/readyz")
        return opened.getresponse().status == 200
    except OSError:
        return False
    finally:
        opened.close()


HARNESSES = (of_one_tenant, no_other_site, nothing_acknowledged_is_lost)

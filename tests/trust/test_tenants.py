"""Whoever watches one namespace of a service hears nothing of another's."""

from __future__ import annotations

import asyncio

import harness_serve as serve
import pytest

from memento import MemoryManager
from memento.resident import tokens
from memento.serve import live, page
from memento.serve.app import Service, application


async def heard(app, path, token, happen, *, until):
    """Listen to a stream while something happens; returns all that it sends."""
    cookie = f"memento-{serve.HOST.split(':')[1]}={token}"
    headers = {"host": serve.HOST, "authorization": f"Bearer {token}", "cookie": cookie}
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "scheme": "http",
        "query_string": b"", "root_path": "", "http_version": "1.1", "server": ("127.0.0.1", 8765),
        "headers": [(name.encode(), one.encode()) for name, one in headers.items()],
    }  # fmt: skip
    sent, begun = [], asyncio.Event()

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message.get("body", b"").decode())
        if any(sent):
            begun.set()

    listening = asyncio.ensure_future(app(scope, receive, send))
    await asyncio.wait_for(begun.wait(), 20)
    await asyncio.sleep(0.05)
    await asyncio.to_thread(happen)
    for _ in range(200):
        await asyncio.sleep(0.01)
        if until in "".join(sent):
            break
    listening.cancel()
    return "".join(sent)


@pytest.mark.parametrize("path", serve.STREAMS)
def test_a_stream_tells_of_its_own_namespace_alone(path, tmp_path, monkeypatch):
    """Neither what others store, change and ask, nor that they do; the control hears its own."""
    monkeypatch.setattr(live, "EVERY", 0.01)
    with MemoryManager(tmp_path, embedder=None) as memory:
        token = tokens.add(tmp_path, "evil", namespace="evil", rights="read")

        def listened(label):
            """Listen as the one tenant while programs store, change and ask in a namespace."""
            service = Service(memory, serve._SETTINGS)  # one for each loop

            def lives():
                view = memory.of(label)
                view.forget(view.add(f"the secret of {label}").id)
                service._note(serve.access.OWNER, (label,), {"query": f"the secret of {label}?"})

            app = application(service, page.routes(service, every=0.01))
            return asyncio.run(heard(app, path, token, lives, until="event: change"))

        quiet = listened("acme")
        assert "event: change" not in quiet
        assert "secret" not in quiet
        assert "event: change" in listened("evil")

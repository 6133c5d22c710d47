"""What anybody can do to the service without a token is bounded."""

import resource
import socket
import time
from contextlib import closing

import pytest
from served import served

from memento.serve import connections
from memento.serve.app import Settings


@pytest.fixture
def port(memory, monkeypatch):
    """The port of a service that is quick to lose patience."""
    monkeypatch.setattr(connections, "PATIENCE", 0.5)
    monkeypatch.setattr(connections, "FETCHED", 0.5)
    with served(memory, Settings(), "127.0.0.1:0") as (url, _):
        yield int(url.rpartition(":")[2])


def opened(port):
    """Connect, for at most half a minute."""
    return closing(socket.create_connection(("127.0.0.1", port), 30))


def answered(made):
    """Read until the connection ends; returns what came."""
    came = b""
    try:
        while part := made.recv(65_536):
            came += part
    except ConnectionResetError:
        pass
    return came


def poured(made, part, most=8 << 20):
    """Send a part again and again; returns the bytes until the connection was cut."""
    sent = 0
    try:
        while sent < most:
            made.sendall(part)
            sent += len(part)
    except OSError:
        return sent
    return sent


def rest_of_head(port):
    """End a head, and the connection after its answer."""
    return f"Host: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /", b"a" * 65_536),
        (b"GET /livez HTTP/1.1\r\n", b"X-More: 1\r\n" * 6_000),
        (b"GET /livez HTTP/1.1\r\nX-Long: ", b"a" * 65_536),
    ],
    ids=["address", "many headers", "long header"],
)
def test_a_head_without_an_end_is_cut(port, begin, more):
    """Whoever sends it is cut off long before it fills the memory."""
    with opened(port) as made:
        made.sendall(begin)
        assert poured(made, more) < 8 << 20
    with opened(port) as made:
        made.sendall(b"GET /livez HTTP/1.1\r\n" + rest_of_head(port))
        assert answered(made).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "part",
    [b"", b"GET /livez HTT", b"POST /v1/add HTTP/1.1\r\nContent-Length: 9\r\n"],
    ids=["nothing", "half a line", "half a head"],
)
def test_a_request_that_does_not_come_is_not_waited_for(port, part):
    """The connection ends after its time; a part now and then does not prolong it."""
    with opened(port) as made:
        made.sendall(part)
        began = time.monotonic()
        answered(made)
        assert time.monotonic() - began < 20


def test_a_body_that_does_not_come_is_not_waited_for(port):
    """Whether the service waits for it, or has answered already."""
    head = f"POST /v1/add HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9\r\n\r\n".encode()
    with opened(port) as made:
        made.sendall(head)
        assert b"401" in answered(made)


def test_trailers_are_dropped(port):
    """Headers after a body are no way around the limit of those before it."""
    with opened(port) as made:
        made.sendall(
            f"POST /livez HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n".encode()
            + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X-More: 1\r\n" * 9 + b"\r\n"
        )  # fmt: skip
        assert answered(made).startswith(b"HTTP/1.1 ")


def test_connections_are_counted(port, monkeypatch):
    """One too many is cut at once; as soon as another ends, the next one is answered."""
    monkeypatch.setattr(connections, "MOST", 2)
    monkeypatch.setattr(connections, "PATIENCE", 20)
    with opened(port), opened(port), opened(port) as third:
        assert answered(third) == b""
    until = time.monotonic() + 20
    came = b""
    while not came and time.monotonic() < until:
        with opened(port) as made:
            made.sendall(b"GET /livez HTTP/1.1\r\n" + rest_of_head(port))
            came = answered(made)
    assert came.startswith(b"HTTP/1.1 200")


def test_an_answer_that_nobody_fetches_is_dropped(port):
    """The connection ends, and with it the answer."""
    with opened(port) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ask = f"GET /v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        assert poured(made, ask * 100, 64 << 20) < 64 << 20


def test_half_of_the_files_are_left_for_the_store(monkeypatch):
    """However few files the process may open."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))
    assert connections.most() == 50
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert connections.most() == connections.MOST

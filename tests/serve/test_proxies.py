"""What the how-to writes for nginx and Docker is run as it is written, but for ports and paths."""

import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from memento.resident import tokens
from memento.serve.app import Settings
from tests.served import served

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "how-to" / "behind-a-proxy.md").read_text(encoding="utf-8")
NAME = "memory.example.com"


def block(begins):
    """Return the block of the how-to that begins with a word."""
    (found,) = re.findall(rf"^```\w*\n({begins}.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return found


def free_port():
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        return opened.getsockname()[1]


@contextmanager
def ended(words, **how):
    """Start a program, and end it as an administrator does; it must obey in time."""
    running = subprocess.Popen(words, **how)
    try:
        yield running
    finally:
        running.terminate()
        running.wait(60)


def until(done):
    """Return the first answer of a function that is one, and no connection that was refused."""
    for _ in range(600):
        try:
            return done()
        except (OSError, subprocess.CalledProcessError):
            time.sleep(0.05)
    raise AssertionError("it never answered")


@pytest.mark.skipif(not shutil.which("nginx"), reason="needs nginx: apt install nginx")
def test_nginx_passes_calls_and_streams_on(memory, tmp_path):
    """Calls, large bodies and changes as they happen; another name than its own is refused."""
    import httpx  # noqa: PLC0415 - of the extra

    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    files = ["-keyout", "key.pem", "-out", "cert.pem", "-subj", f"/CN={NAME}"]
    made = [*openssl, *files, "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1"]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    trusted = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    port = free_port()
    settings = Settings(hosts=frozenset({NAME}))
    with served(memory, settings, "127.0.0.1:0") as (url, _):
        server = block("server").replace("127.0.0.1:8765", url.removeprefix("http://"))
        server = server.replace("listen 443", f"listen 127.0.0.1:{port}")
        folders = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        main = f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/log;"
        rest = f"events {{}}\nhttp {{ access_log off; {folders}\n{server}}}\n"
        (tmp_path / "nginx.conf").write_text(f"{main}\n{rest}")
        words = ["nginx", "-p", str(tmp_path), "-e", f"{tmp_path}/log", "-c", "nginx.conf"]
        token = tokens.add(memory.store.root, "far", namespace="default", trust="user")
        headers = {"Authorization": f"Bearer {token}", "Host": NAME}
        with (
            ended(words),
            httpx.Client(
                base_url=f"https://127.0.0.1:{port}", headers=headers, verify=trusted, timeout=60
            ) as client,
        ):
            until(lambda: _reached(client))
            with client.stream("GET", "/v1/changes/stream") as stream:
                lines = stream.iter_lines()
                next(lines)
                items = ["x" * 50_000] * 40
                kept = client.post("/v1/add_many", json={"items": items})
                assert kept.status_code == 200, kept.text
                assert any(line == "event: memory" for line in lines)
            other = client.post("/v1/list", json={}, headers={"Host": "evil.example"})
            assert other.status_code == 403
    assert len(memory.list()) == 1


def _reached(client):
    import httpx  # noqa: PLC0415 - of the extra

    try:
        assert client.get("/livez").status_code == 200
    except httpx.TransportError as error:
        raise OSError from error


def test_the_commands_of_compose_serve_and_end(tmp_path):
    """The service starts, is healthy by the check that is written, and ends at SIGTERM with 0."""
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load(block("services"))["services"]["memento"]
    docker = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", docker, re.MULTILINE)[1])
    assert entry == ["memento"]
    port = str(free_port())
    words = [one.replace("8765", port) for one in shlex.split(service["command"])]
    kind, *check = service["healthcheck"]["test"]
    assert (kind, check[0]) == ("CMD", "python")
    check = [sys.executable, *(one.replace("8765", port) for one in check[1:])]
    in_image = [sys.executable, "-m", *entry]
    environ = os.environ | {"MEMENTO_ROOT": str(tmp_path / "store")}  # as the image has it
    token = re.search(r"^ +docker compose run --rm memento (serve .*)$", TEXT, re.MULTILINE)[1]
    subprocess.run([*in_image, *shlex.split(token)], env=environ, check=True, capture_output=True)
    with ended([*in_image, *words], env=environ, stdout=subprocess.DEVNULL) as running:
        until(lambda: running.poll() or subprocess.run(check, check=True, capture_output=True))
    assert running.returncode == 0


@pytest.mark.parametrize("more", [[], ["--behind-proxy", "127.0.0.1"]], ids=["alone", "proxy"])
def test_a_socket_behind_a_proxy_needs_a_token(more, tmp_path):
    """Whoever connects there may have come from anywhere; alone, only its user can."""
    import httpx  # noqa: PLC0415 - of the extra

    place = tmp_path / "s"
    words = [sys.executable, "-m", "memento", "serve", "--root", str(tmp_path / "store")]
    words += ["--embedder", "none", "--listen", f"unix:{place}", *more]
    with ended(words, stderr=subprocess.DEVNULL):
        until(place.stat)
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(place)), timeout=60) as client:
            answer = client.post("http://memento/v1/list", json={})
    assert answer.status_code == (401 if more else 200)


def test_a_fault_is_found_in_the_log(tmp_path):
    """By the number that its caller was told; the log is what the command writes."""
    import httpx  # noqa: PLC0415 - of the extra

    place, log = tmp_path / "s", tmp_path / "log"
    broken = (
        "import memento.aio; memento.MemoryManager.list = None; from memento.cli import main;"
        " main()"
    )
    words = ["serve", "--root", str(tmp_path / "store"), "--embedder", "none"]
    command = [sys.executable, "-c", broken, *words, "--listen", f"unix:{place}"]
    with log.open("w") as told, ended(command, stderr=told):
        until(place.stat)
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(place)), timeout=60) as client:
            answer = client.post("http://memento/v1/list", json={})
    assert answer.status_code == 500
    assert f"request {answer.json()['detail'].split()[-1]} failed" in log.read_text()

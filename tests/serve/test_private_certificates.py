"""A client reaches a service whose certificate a private authority signed."""

from __future__ import annotations

import http.server
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest

from memento import connect
from memento.errors import MementoError, Unanswered

httpx = pytest.importorskip("httpx", reason="pip install 'agent-memento[serve]'")
pytest.importorskip("cryptography", reason="makes the certificate")
from cryptography import x509  # noqa: E402 - after the check
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402


@pytest.fixture
def certificate(tmp_path):
    """Write a key and a certificate that it signed for 127.0.0.1; return their files."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (tmp_path / "cert.pem").write_bytes(made.public_bytes(pem))
    plain = serialization.NoEncryption()
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )
    return tmp_path / "cert.pem", tmp_path / "key.pem"


@pytest.fixture
def address(certificate):
    """Serve over TLS; every answer is 404."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    class Nothing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        do_POST = do_GET  # noqa: N815 - its name there

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def told(address):
    """Return the error with which a client of no service ends."""
    with pytest.raises(MementoError) as caught, connect(address, token="t", timeout=1) as client:  # noqa: S106 - no password
        client.list()
    return caught.value


def test_the_authority_is_named_by_the_environment(address, certificate, monkeypatch):
    """As other programs do; without it, nothing is sent to a service that nobody vouches for."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    refused = told(address)
    assert isinstance(refused, Unanswered)
    assert "CERTIFICATE_VERIFY_FAILED" in str(refused)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert "CERTIFICATE_VERIFY_FAILED" not in str(told(address))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0].with_name("missing.pem")))
    with pytest.raises(MementoError, match="SSL_CERT_FILE"):
        connect(address, token="t")  # noqa: S106 - no password

"""Serve a store over a Unix socket in a thread, and reach it as another process would."""

import asyncio
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from memento.serve.app import Service, Settings, application
from memento.serve.running import listening, place_of, server_of

ALONE = Settings(tokens=False)


@contextmanager
def served(memory, settings=ALONE, listen=None, more=lambda _: []):
    """Serve an open store; yields the address, and the server."""
    with tempfile.TemporaryDirectory(prefix="memento-served-") as folder:
        place = place_of(listen or f"unix:{folder}/s")
        opened = listening(place)
        service = Service(memory, settings)
        server = server_of(service, application(service, more(service)))
        run = threading.Thread(target=lambda: asyncio.run(server.serve([opened])))
        run.start()
        host, port = ("", 0) if place.path else opened.getsockname()[:2]
        try:
            yield (f"unix:{Path(place.path)}" if place.path else f"http://{host}:{port}"), server
        finally:
            server.handle_exit(15, None)
            run.join()
            opened.close()

"""Before any framework is imported: no telemetry, no key, no hub, and a data folder of our own."""

import atexit
import os
import shutil
import subprocess
import tempfile

import pytest

from memento.errors import StorageFailed

os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_DISABLE_TRACKING"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
os.environ["CREWAI_STORAGE_DIR"] = "memento-tests"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(prefix="memento-crewai-")
os.environ.pop("OPENAI_API_KEY", None)
atexit.register(shutil.rmtree, os.environ["XDG_DATA_HOME"], ignore_errors=True)


@pytest.fixture
def failing(monkeypatch):
    """Return what makes verbs of an object fail as on a broken disk."""

    def fail(*_args, **_options):
        raise StorageFailed("store", "the disk reported an error")

    def make(where, *verbs):
        for verb in verbs:
            monkeypatch.setattr(where, verb, fail)

    return make


@pytest.fixture
def freeze():
    """Return what makes the folder of a closed store truly read-only until the test ends."""
    thawing = []

    def make(root):
        if os.geteuid() != 0:
            root.chmod(0o500)
            thawing.append(lambda: root.chmod(0o700))
            return
        bound = subprocess.run(["mount", "--bind", root, root], check=False)
        if bound.returncode:
            pytest.skip("mounting is not allowed here, and root may write anywhere")
        thawing.append(lambda: subprocess.run(["umount", "-l", root], check=True))
        subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)

    yield make
    for thaw in thawing:
        thaw()

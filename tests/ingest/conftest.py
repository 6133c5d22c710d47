"""Files to be ingested."""

import gzip
import json

import pytest


@pytest.fixture
def file(tmp_path):
    """Write a file, text or JSON value by its type, and return its path."""

    def write(name, content):
        path = tmp_path / name
        text = content if isinstance(content, str) else json.dumps(content)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write

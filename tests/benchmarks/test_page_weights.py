"""The benchmark of the page loads each page of a small store, and weighs it."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra serve")
import page


def test_each_page_is_weighed(tmp_path):
    """A page of links is larger than one of changes, and none is empty."""
    rows = {name: kb for name, kb, _, _ in page.measured(tmp_path / "store", 200, 1)}
    assert len(rows) == 13
    assert min(rows.values()) > 1
    assert rows["links"] > 5 * rows["changes"]

"""The data of a checkpoint at the command line."""

import pytest

from memento.cli.group_sessions import _object
from memento.errors import InvalidInput


@pytest.mark.parametrize("text", ["{", "[1]", '{"a":' * 50_000])
def test_data_that_cannot_be_read_is_a_typed_error(text):
    """Also JSON that is nested too deeply for the parser."""
    with pytest.raises(InvalidInput, match="--data"):
        _object("--data", text)

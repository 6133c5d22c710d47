"""Transcripts that the tests of ingest share, and what reading a file gives."""

import json

import pytest

from memento.errors import InvalidInput
from memento.ingest import read

MESSAGES = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "My boat is called Petrel.", "timestamp": "2024-05-01T10:00:00Z"},
    {
        "role": "assistant",
        "name": "harbour",
        "id": "m-7",
        "content": [
            {"type": "text", "text": "A fine name."},
            {"type": "image_url", "image_url": {"url": "x"}},
            {"type": "output_text", "text": "Where is she moored?"},
        ],
    },
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    {"role": "tool", "content": "berth 12"},
]
DIALOGUE = {
    "sample_id": "made-up",
    "conversation": {
        "speaker_a": "Ilse",
        "speaker_b": "Tom",
        "session_10_date_time": "12:05 am on 1 January, 2024",
        "session_10": [{"speaker": "Tom", "dia_id": "D10:1", "text": "Happy new year!"}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ilse", "dia_id": "D2:1", "text": "I planted a quince."},
            {"speaker": "Tom", "dia_id": "D2:2", "text": "Look:", "blip_caption": "a red kayak"},
        ],
    },
}


def lines(*values):
    """Write values as JSON Lines."""
    return "".join(json.dumps(value) + "\n" for value in values)


def problem(path, **options):
    """Return what reading the file is refused with, without the folder of the file."""
    with pytest.raises(InvalidInput) as caught:
        list(read(path, **options))
    return str(caught.value).replace(f"{path.parent}/", "", 1)


def ids(path, **options):
    """Return the ids of the drafts of a file."""
    return [draft.id for draft in read(path, **options)]

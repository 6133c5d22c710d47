"""Lines, values and places of a file, within bounds."""

import gzip
import json
import tracemalloc

import pytest
from ingested import problem

from memento.errors import InvalidInput
from memento.ingest import paragraphs, read, source
from memento.ingest.source import LINE_BYTES


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.jsonl",
            '{"text": "a"}\n{"text": \n',
            "a.jsonl:2: is not valid JSON (Expecting value, column",
        ),
        (
            "a.json",
            '[\n{"text": }]',
            "a.json: is not valid JSON (Expecting value, line 2, column 10)",
        ),
        ("a.jsonl", "9" * 5000, "a.jsonl:1: is not readable JSON"),
        ("a.jsonl", "[" * 100_000, "a.jsonl:1: is not readable JSON"),
        ("a.jsonl", '{"text": "a"}\n[1]', "a.jsonl:2: expected an object, found a list"),
        ("a.json", {"messages": 3}, "a.json messages: expected a list, found a number"),
        ("a.json", {"messages": [{"role": 3}]}, "a.json messages[0]: message: role must be"),
        ("a.json", [[{"role": "user", "content": 3}]], "a.json[0][0]: message.content: must be"),
        (
            "a.json",
            {"conversations": [{"value": "x"}]},
            "a.json conversations[0]: message: does not",
        ),
        (
            "a.json",
            {"session_1": [], "session_1_date_time": "May"},
            "a.json session_1_date_time: expected a time such as",
        ),
        (
            "a.json",
            {"session_1": [], "session_1_date_time": "1:00 pm on 31 February, 2023"},
            "a.json session_1_date_time: day",
        ),
        ("a.txt", "fine\n\0", "a.txt:2: contains a NUL"),
        ("no-such.txt", None, "no-such.txt: cannot be read"),
    ],
)
def test_malformed_files_are_named(file, tmp_path, name, content, said):
    """The error for a bad file is typed and says where it is bad."""
    path = tmp_path / name if content is None else file(name, content)
    assert problem(path).replace(f"{tmp_path}/", "").startswith(f"path: {said}")


def test_a_broken_byte_of_utf8_is_an_error(tmp_path):
    """A file that is UTF-8 up to a line is refused with that line; one in Latin-1 is read."""
    path = tmp_path / "latin.txt"
    path.write_bytes("café\n".encode() + "café\n".encode("latin-1"))
    assert problem(path) == "path: latin.txt:2: is not UTF-8 text"
    path.write_bytes("fine\ncafé\n".encode("latin-1"))
    assert [text for _, text in source.lines(path)] == ["fine", "café"]


def test_a_torn_archive_is_an_error(tmp_path):
    """A gzip file cut short is reported, after what could be read."""
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"one\n\ntwo\n" * 500)[:-20])
    assert "a.txt.gz" in problem(path)
    assert "cannot be read" in problem(path)


def bomb(folder, name, unit, times):
    """Write a gzip file of some hundred kB that unpacks to any number of bytes."""
    path = folder / name
    with gzip.open(path, "wb", 9) as file:
        for _ in range(times):
            file.write(unit)
    return path


def peak(path):
    """Return the bytes that reading a file takes at most, and the error that ended it."""
    tracemalloc.start()
    try:
        for _ in read(path):
            pass
    except InvalidInput as error:
        return tracemalloc.get_traced_memory()[1], str(error)
    else:
        return tracemalloc.get_traced_memory()[1], ""
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.txt.gz", "a.md.gz", "a.jsonl.gz"])
def test_a_line_without_end_is_not_read_whole(tmp_path, name):
    """One line of 100 MB in 100 kB is refused by place, within a bounded memory."""
    path = bomb(tmp_path, name, b"a" * 1_000_000, 100)
    most, problem = peak(path)
    assert problem == f"path: {path}:1: is longer than {LINE_BYTES:,} bytes; split the line"
    assert most < 4 * LINE_BYTES


@pytest.mark.parametrize("name", ["a.txt.gz", "a.md.gz"])
@pytest.mark.parametrize("start", [b"", b"```\n", b"---\n"])
def test_a_paragraph_without_end_is_not_held_whole(tmp_path, name, start, monkeypatch):
    """Nor are many lines with nothing between them, in a fence or a header: all of them come."""
    monkeypatch.setattr(paragraphs, "BLOCK_CHARS", 100_000)
    unit = b"note: " + b"all is well " * 20 + b"\n"
    path = bomb(tmp_path, name, unit * 1_000, 24)
    path.write_bytes(gzip.compress(start) + path.read_bytes())
    most, problem = peak(path)
    assert problem == ""
    assert most < 24_000 * len(unit) / 3
    assert sum(draft.text.count("note") for draft in read(path)) == 24_000


@pytest.fixture
def streamed(monkeypatch):
    """Make every document one that is too large to be parsed at once."""
    monkeypatch.setattr(source, "WHOLE_BYTES", 20)
    monkeypatch.setattr(source, "HEAD_BYTES", 60)


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_large_document_is_read_record_by_record(file, name):
    """A document too large to be held gives the same drafts, packed or not."""
    records = [{"text": f"number {n}", "metadata": {"n": n, "x": 0.5}} for n in range(50)]
    found = [(one.text, one.metadata) for one in read(file(name, records))]
    assert found == [(one["text"], one["metadata"]) for one in records]


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("broken", ['[{"text": "a"}, {"text": ', '[{"text": "a"}, {"text": }, {}]'])
def test_a_large_document_that_is_torn_is_an_error(file, broken):
    """What is not JSON further on is refused by the name of the file."""
    assert problem(file("a.json", broken + " " * 100)).startswith("path: a.json: is not valid JSON")


@pytest.mark.usefixtures("streamed")
def test_a_record_without_end_is_not_held(file, monkeypatch):
    """One record of a large document has a bound."""
    monkeypatch.setattr(source, "RECORD_BYTES", 1_000_000)
    path = file("a.json", [{"text": "a"}, {"text": "x" * 2_000_000}])
    assert problem(path) == "path: a.json: contains a record of more than 1,000,000 bytes"


def test_a_large_document_takes_the_memory_of_one_record(tmp_path, monkeypatch):
    """An array of 30 MB is read within a few."""
    monkeypatch.setattr(source, "WHOLE_BYTES", 100_000)
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": "x" * 10_000}] * 3_000))
    most, said = peak(path)
    assert (said, most < 5_000_000) == ("", True)

"""Files, folders, archives and standard input: what is in them, and what is refused."""

import gc
import io
import json
import os
import sys
import warnings
import zipfile
from pathlib import Path

import pytest

from memento.ingest import Format, survey


def told(*named, **options):
    """Return the (name, format) of what is read, and the problems of the rest."""
    found = survey(*named, **options).found
    return (
        [(one.name, one.format.value) for one in found if one.format],
        [one.problem for one in found if not one.format],
    )


def test_a_folder_is_read_without_what_is_hidden(tmp_path):
    """Files within it are read by their path, which an error names; hidden ones are skipped."""
    for name in ("a.md", "sub/b.txt", ".git/c.md", "sub/.d.md", "sub/e.png"):
        path = tmp_path / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x89PNG" if name.endswith("png") else b"A note.")
    read, left = told(tmp_path / "vault")
    assert read == [("vault/a.md", "markdown"), ("vault/sub/b.txt", "text")]
    assert left == [f"{tmp_path / 'vault/sub/e.png'}: is a PNG image: memento only stores text"]


@pytest.mark.parametrize("pattern", ["", "/**/*"])
def test_a_store_in_a_folder_is_not_read(tmp_path, pattern):
    """Not its files, its folders or what was set aside; notes of others beside those are."""
    store = ("ledger.db", "chroma.lock", "chroma/list.txt", "ledger.db.damaged.txt", "mine.md")
    for name in ("notes.md", "books/chroma/a.md", *(f"memory/{one}" for one in store)):
        path = tmp_path / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("A note.")
    read, left = told(f"{tmp_path / 'vault'}{pattern}")
    assert {Path(name).name for name, _ in read} == {"notes.md", "mine.md", "a.md"}
    assert left == []


def test_links_that_lead_out_of_a_folder_are_not_followed(tmp_path):
    """Neither a link to a file elsewhere nor one to a folder above."""
    (tmp_path / "secret.md").write_text("Mine.")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("A note.")
    (vault / "b.md").symlink_to(vault / "a.md")
    (vault / "out.md").symlink_to(tmp_path / "secret.md")
    (vault / "up").symlink_to(tmp_path)
    assert [name for name, _ in told(vault)[0]] == ["vault/a.md", "vault/b.md"]


def test_several_files_and_patterns_are_read(tmp_path):
    """Each has a report of its own, one that cannot be read as well."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("A note.")
    read, left = told(str(tmp_path / "*.md"), tmp_path / "none.txt", tmp_path / "a.md")
    assert [name for name, _ in read] == ["a.md", "b.md", "a.md"]
    assert left == [f"{tmp_path}/none.txt: cannot be read: No such file or directory"]


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        ("A note.", Format.TEXT),
        ('{"role": "user", "content": "Hi"}\n{"role": "assistant", "content": "Ho"}', Format.CHAT),
        ('[{"mapping": {}, "current_node": null}]', Format.CHATGPT),
        ("user: Hi\nassistant: Ho", Format.TRANSCRIPT),
    ],
)
def test_standard_input_is_recognised_by_its_content(monkeypatch, text, format_):
    """It has no name that would tell."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    found = survey("-", name="mine")
    assert found.found[0].format is format_
    assert len([*found.drafts(found.found[0])]) == found.found[0].count


def archive(path, **members):
    """Write an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../out.md", "leads out of the archive"),
        ("/etc/out.md", "leads out of the archive"),
        ("a/../../out.md", "leads out of the archive"),
        ("C:/out.md", "leads out of the archive"),
        ("a/" * 300 + "out.md", "folders deep"),
    ],
)
def test_a_member_by_a_dangerous_name_is_refused(tmp_path, name, said):
    """The whole archive is: whoever made it meant harm."""
    read, left = told(archive(tmp_path / "a.zip", **{"good.md": "x", name: "x"}))
    assert read == []
    assert said in left[0]


def test_what_unpacks_to_far_more_is_refused(tmp_path):
    """A member of 200 MB in 200 kB, and a link."""
    path = archive(tmp_path / "a.zip", **{"bomb.txt": b"0" * 200_000_000})
    assert "times its size" in told(path)[1][0]
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as packed:
        packed.writestr(link, "/etc/passwd")
    assert "is a link" in told(tmp_path / "b.zip")[1][0]


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    """An archive of any number of names is not gone through."""
    monkeypatch.setitem(survey.__globals__, "MEMBERS", 3)
    path = archive(tmp_path / "a.zip", **{f"{n}.md": "x" for n in range(4)})
    assert "more than 3 files" in told(path)[1][0]
    folder = tmp_path / "f"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.md").write_text("x")
    assert "more than 3 files" in told(folder)[1][0]


@pytest.mark.parametrize("cut", [10, 60, -30, -5])
def test_a_torn_archive_is_an_error(tmp_path, cut):
    """One that was not downloaded whole is named, and nothing of it is read."""
    path = archive(tmp_path / "a.zip", **{"a.md": "A note. " * 100})
    path.write_bytes(path.read_bytes()[:cut])
    read, left = told(path)
    assert (read, len(left)) == ([], 1)


def test_a_member_that_is_locked_is_an_error(tmp_path):
    """A password is asked for by nobody."""
    path = archive(tmp_path / "a.zip", **{"a.md": "A note."})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "password" in told(path)[1][0]


def test_a_word_file_is_named(tmp_path):
    """It is an archive of another kind."""
    path = archive(tmp_path / "a.docx", **{"[Content_Types].xml": "<x/>", "word/a.xml": "<x/>"})
    assert "save it as text" in told(path)[1][0]


def test_an_archive_of_notes_is_read(tmp_path):
    """One without an export in it is a folder like any other, in any way of packing."""
    path = archive(tmp_path / "a.zip", **{"n/a.md": "A.", "__MACOSX/._a.md": "x", ".x/b.md": "x"})
    assert told(path) == ([("a.zip/n/a.md", "markdown")], [])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert survey(path).found[0].count == 1


@pytest.mark.filterwarnings("error")
def test_an_archive_is_closed_with_its_survey(tmp_path):
    """It leaves no file open, whether it was read or refused."""
    survey(archive(tmp_path / "a.zip", **{"a.md": "A note.", "b.md": "Another."}))
    survey(archive(tmp_path / "b.zip", **{"../a.md": "A note."}))
    gc.collect()
    held = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    assert not [one for one in held if one.startswith(str(tmp_path))]


def test_what_lies_beside_an_export_in_a_folder_is_left_out(tmp_path):
    """A picture, a page and a list of it; a note elsewhere is read."""
    chat = tmp_path / "all" / "telegram"
    chat.mkdir(parents=True)
    one = {"id": 1, "type": "message", "date": "2024-05-01T10:00:00", "from": "A", "text": "Hi"}
    whole = {"name": "A", "type": "personal_chat", "id": 1, "messages": [one]}
    (chat / "result.json").write_text(json.dumps(whole))
    (chat / "style.css").write_text("body {}")
    (tmp_path / "all" / "note.md").write_text("A note.")
    read, left = told(tmp_path / "all")
    assert sorted(read) == [("all/note.md", "markdown"), ("all/telegram/result.json", "telegram")]
    assert left == ["1 other files of the export: pictures, pages and lists"]


def test_reading_tells_how_far_it_is(tmp_path):
    """From nothing to all bytes, in order, before anything is stored."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Hello"}\n' * 6_000)
    steps = []
    survey(path, progress=lambda done, total: steps.append((done, total)))
    size = path.stat().st_size
    assert steps[0] == (0, size)
    assert steps[-1] == (size, size)
    assert steps == sorted(steps)
    assert len(steps) > 1


def test_a_name_is_for_one_file(tmp_path):
    """Several would be one source."""
    for name in "ab":
        (tmp_path / f"{name}.md").write_text("x")
    with pytest.raises(ValueError, match="name"):
        survey(tmp_path, name="both")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_an_error(tmp_path):
    """The report says so, and the others are read."""
    (tmp_path / "a.md").write_text("x")
    (tmp_path / "b.md").write_text("x")
    (tmp_path / "a.md").chmod(0)
    assert len(told(tmp_path)[1]) == 1


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, '[{"mapping": ' + "[" * 99_999])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "conversations.json"])
def test_json_that_is_nested_too_deep_is_an_error(tmp_path, name, text):
    """It ends with an error that names the file."""
    path = tmp_path / name
    path.write_text(text)
    assert told(path)[1][0].startswith(str(path))

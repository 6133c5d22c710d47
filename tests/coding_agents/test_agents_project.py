"""The scope of a project is read from its files."""

import subprocess

import pytest

from memento.agents.project import project_scope


def repository(folder, address=None):
    """Make one as git writes it."""
    git = folder / ".git"
    git.mkdir(parents=True)
    config = "[core]\n\tbare = false\n"
    if address:
        config += f'[remote "fork"]\n\turl = x:other/one\n[remote "origin"]\n\turl = {address}\n'
        config += '\tfetch = +refs/heads/*\n[branch "main"]\n\turl = no\n'
    (git / "config").write_text(config)
    return folder


@pytest.mark.parametrize(
    ("address", "scope"),
    [
        ("https://example.org/acme/billing.git", "project/acme-billing"),
        ("git@example.org:acme/billing.git", "project/acme-billing"),
        ("ssh://git@example.org:2222/acme/billing", "project/acme-billing"),
        ("https://user:pass@example.org/Acme/Billing", "project/acme-billing"),
        ("../billing.git", "project/billing"),
        ("https://example.org/группа/проект.git", "project/группа-проект"),
    ],
)
def test_a_project_is_named_after_its_address(tmp_path, address, scope):
    """Without the host, the user and the password."""
    folder = repository(tmp_path / "copy", address)
    (folder / "src" / "deep").mkdir(parents=True)
    assert project_scope(folder) == scope
    assert project_scope(folder / "src" / "deep") == scope


def test_without_an_address_the_folder_names_it(tmp_path):
    """Nobody else has it anyway."""
    assert project_scope(repository(tmp_path / "My Notes")) == "project/my-notes"


def test_outside_a_repository_there_is_none(tmp_path):
    """Such as in a home folder."""
    assert project_scope(tmp_path) == ""


def test_a_working_tree_has_the_scope_of_its_repository(tmp_path):
    """It is another copy of the same project."""
    main = repository(tmp_path / "main", "https://example.org/acme/billing.git")
    inner = main / ".git" / "worktrees" / "b"
    inner.mkdir(parents=True)
    (inner / "commondir").write_text("../..\n")
    other = tmp_path / "b"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {inner}\n")
    assert project_scope(other) == "project/acme-billing"


def test_a_damaged_repository_is_named_after_its_folder(tmp_path):
    """Whatever its files hold."""
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / ".git").write_bytes(b"\xff\x00 gitdir")
    assert project_scope(folder) == "project/broken"


def test_git_itself_writes_what_is_read(tmp_path):
    """The real program."""
    address = "git@example.org:acme/shop.git"
    for said in (["init", "-q", "."], ["remote", "add", "origin", address]):
        subprocess.run(["git", *said], cwd=tmp_path, check=True, capture_output=True)
    assert project_scope(tmp_path) == "project/acme-shop"

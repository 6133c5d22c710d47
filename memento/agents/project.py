"""The scope of the project that an agent works in, determined from its files alone."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

LONGEST = 100
"""Maximum number of characters in a project's name."""
_MOST_BYTES = 1 << 20
_HOST = re.compile(r"^(?:\w+://)?(?:[^/@]*@)?[^/:]+(?::\d+)?[/:]")
_OTHER = re.compile(r"[^\w.]+")


def project_scope(folder: Path) -> str:
    """Return the scope of the project that a folder belongs to.

    The scope is named after the address of the repository without its host, so that all copies and
    working trees of a project share one scope; if there is no address, it is named after the
    repository's folder.

    Args:
        folder: The folder in which the agent works.

    Returns:
        The scope, such as ``project/acme-billing``; ``""`` outside a repository.
    """
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.exists():
            name = _name_in(_text(_common(git) / "config")) or place.name
            slug = _OTHER.sub("-", name).strip("-.")[:LONGEST].lower()
            return f"project/{slug}" if slug else ""
    return ""


def _common(git: Path) -> Path:
    """Find the repository itself, which a working tree's ``.git`` only points to."""
    if git.is_dir():
        return git
    inner = git.parent / _text(git).removeprefix("gitdir:").strip()
    common = _text(inner / "commondir").strip()
    return inner / common if common else inner


def _name_in(config: str) -> str:
    """Find the name of a project in git's settings; ``""`` if it has no address."""
    inside = False
    for line in map(str.strip, config.splitlines()):
        name, _, value = line.partition("=")
        if line.startswith("["):
            inside = line == '[remote "origin"]'
        elif inside and name.rstrip() == "url" and value:
            return _HOST.sub("", value.lstrip(), count=1).strip("/").removesuffix(".git")
    return ""


def _text(path: Path) -> str:
    """Read a small file, which may be foreign; ``""`` if it is not regular or not readable."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # no pipe waits
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):  # the path may come from a file
        return ""

"""What the documentation site does beyond its settings in ``mkdocs.yml``.

The pages are written to be read in the repository, so some link to files outside ``docs/``. On the
site these links lead to the repository.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<=\]\()(\.\./[^)\s#]+)")
ORDER = ("Home", "Tutorial", "How to", "Reference", "Explanation", "Decisions")
NAMED = {"Adr": "Decisions"}


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Point the links that leave ``docs/`` to the repository."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def moved(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[1]))
        outside = not path.startswith("docs/")
        return f"{config.repo_url}/blob/main/{path}" if outside else found[1]

    return LINK.sub(moved, markdown)


def on_nav(nav: Any, **_: Any) -> Any:
    """Order the sections as a reader meets them."""
    for one in nav.items:
        one.title = NAMED.get(one.title, one.title)
    nav.items.sort(key=lambda one: ORDER.index(one.title) if one.title in ORDER else 0)
    return nav

"""Files that are recognised but not read: what each is, and what to do instead."""

from __future__ import annotations

from memento.ingest.readers.common import fields, items
from memento.ingest.source import Head

_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF: convert it to text first, for example with `pdftotext FILE`"),
    (b"\x89PNG", "a PNG image: memento only stores text"),
    (b"\xff\xd8\xff", "a JPEG image: memento only stores text"),
    (b"GIF8", "a GIF image: memento only stores text"),
    (b"RIFF", "a WebP image, or an audio or video file: memento only stores text"),
    (b"SQLite format 3\0", "an SQLite database: export its contents as JSON Lines or CSV"),
    (b"PAR1", "a Parquet table: convert it to CSV"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it and specify the folder"),
    (b"Rar!", "a RAR archive: unpack it and specify the folder"),
    (b"\xfd7zXZ", "an xz archive: unpack it first"),
    (b"BZh", "a bzip2 archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive: unpack it first"),
    (b"\xd0\xcf\x11\xe0", "an old Word, Excel or Outlook file: save it as text, CSV or mbox"),
    (b"OggS", "an audio file: memento only stores text"),
    (b"ID3", "an audio file: memento only stores text"),
    (b"\x7fELF", "an executable: memento only stores text"),
    (b"{\\rtf", "an RTF document: save it as plain text or Markdown"),
)
_FIELDS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"prompt_template", "docs"}),
        "the projects of a claude.ai export, not its conversations; use conversations.json",
    ),
    (
        frozenset({"conversation_id", "share_id"}),
        "the shared links of a ChatGPT export, not its conversations; use conversations.json",
    ),
    (
        frozenset({"chatgpt_plus_user"}),
        "the account of a ChatGPT export, not its conversations; use conversations.json",
    ),
    (
        frozenset({"verified_phone_number", "full_name"}),
        "the account of a claude.ai export, not its conversations; use conversations.json",
    ),
    (
        frozenset({"header", "titleUrl", "products"}),
        "a Google Takeout activity log; it contains no conversations",
    ),
    (
        frozenset({"team_id", "profile"}),
        "the user list of a Slack export, not its messages; use the whole folder or its .zip",
    ),
    (
        frozenset({"creator", "members", "topic"}),
        "the channel list of a Slack export, not its messages; use the whole folder or its .zip",
    ),
    (
        frozenset({"guild", "channel", "messages"}),
        "a Discord export; its messages can be read with --map if there is one per line",
    ),
    (
        frozenset({"agents", "blocks"}),
        "a Letta agent; export its messages as JSON Lines with role and content",
    ),
    (
        frozenset({"mapping"}),
        "a ChatGPT export in an unknown format: its conversations are not message trees",
    ),
)


def no_text(head: Head) -> str:
    """Return what a known binary file is, and what to do; ``""`` for any other file."""
    for beginning, said in _BEGINNINGS:
        if head.data.startswith(beginning):
            return said
    if head.data[4:8] == b"ftyp":
        return "a video or audio file: memento only stores text"
    if head.data[257:262] == b"ustar":
        return "a tar archive: unpack it and specify the folder"
    return ""


def known(head: Head) -> str:
    """Return what a known file is that is not read, and what to do; ``""`` for any other file."""
    if said := no_text(head):
        return said
    if '<div class="page_wrap">' in head.text:
        return "a Telegram export in HTML; export the chats as JSON instead, and use result.json"
    first = head.first
    if isinstance(fields(next(iter(items(first.get("items"))), None)).get("safeHtmlItem"), list):
        return "a Google Takeout activity log; it contains no conversations"
    return next((said for names, said in _FIELDS if names <= first.keys()), "")

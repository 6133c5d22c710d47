"""Mail: a folder of messages as mail programs export it (mbox), or one message (``.eml``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from memento.ingest.readers.common import How, Talk
from memento.ingest.readers.pages import html_blocks
from memento.ingest.source import Head, Item
from memento.types import Draft

if TYPE_CHECKING:
    from email.message import EmailMessage

MAIL_BYTES = 16 * 1024 * 1024
"""Maximum bytes that are read of one message; attachments come last."""
_BEGIN = re.compile(rb"From \S.* \d{4}\s*+$")
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9-]*:")
_QUOTED_BY = re.compile(r".{0,200}(?:wrote|schrieb|écrit|escribió|ha scritto)\s?:?$")
_AWAY = frozenset({"spam", "trash"})


def is_mail(head: Head) -> bool:
    """Recognise mail: an mbox envelope and header fields, or the suffix of a single message."""
    first, _, rest = head.data.partition(b"\n")
    fields = rest[:100].decode("ascii", "replace") if _BEGIN.match(first) else head.text
    return bool(_FIELD.match(fields)) and (fields is not head.text or head.suffix == ".eml")


def read_mail(item: Item, how: How) -> Iterator[Draft]:
    """Read the text of each message, without quotations, attachments and signature."""
    from email import message_from_bytes, policy  # noqa: PLC0415 - slow to load, for mail only

    for data in _messages(item):
        try:
            yield from _said(message_from_bytes(data, policy=policy.default), data, how)
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
            how.note("a damaged message was skipped")  # a header field that the parser cannot read


def _messages(item: Item) -> Iterator[bytes]:
    """Yield the messages, each cut to the maximum length."""
    held: list[bytes] = []
    size, blank = 0, True
    with item.open() as stream:
        for line in iter(lambda: stream.readline(1 << 20), b""):
            if blank and _BEGIN.match(line):
                if held:
                    yield b"".join(held)
                held, size = [], 0
            elif size < MAIL_BYTES:
                held.append(line[1:] if line.startswith(b">From ") else line)
                size += len(line)
            blank = not line.strip()
    if held:
        yield b"".join(held)


def _said(mail: EmailMessage, data: bytes, how: How) -> Iterator[Draft]:
    from email.utils import parseaddr  # noqa: PLC0415 - as above

    labels = {one.strip().lower() for one in str(mail.get("X-Gmail-Labels", "")).split(",")}
    if labels & _AWAY:
        return
    name, address = parseaddr(str(mail.get("From", "")))
    subject = " ".join(str(mail.get("Subject", "")).split())
    own_id = str(mail.get("Message-ID", "")).strip() or sha256(data).hexdigest()
    before = str(mail.get("References") or mail.get("In-Reply-To") or own_id).split()
    thread = before[0] if before else own_id
    body = _written(_body(mail))
    text = f"{subject}\n\n{body}" if subject and body else body
    yield from Talk(thread, f"mail:{thread}").message(
        text,
        own_id,
        name or address or "unknown",
        mine=how.is_me(name, address),
        at=_when(mail),
        subject=subject,
    )


def _body(mail: EmailMessage) -> str:
    part = mail.get_body(("plain", "html"))
    if part is None:
        return ""
    text = str(part.get_content())
    if part.get_content_type() == "text/html":
        return "\n\n".join(block for _, block in html_blocks(text))
    return text


def _written(text: str) -> str:
    """Return what the sender wrote, without quoted lines and signature."""
    kept: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.rstrip("\n") == "-- ":
            break
        if line.startswith(">"):
            while kept and (not kept[-1].strip() or _QUOTED_BY.match(kept[-1])):
                kept.pop()
            continue
        kept.append(line.rstrip())
    return "\n".join(kept).strip()


def _when(mail: EmailMessage) -> datetime | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - as above

    try:
        at = parsedate_to_datetime(str(mail["Date"]))
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None

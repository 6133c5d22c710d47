"""Chats of WhatsApp, as a phone exports them: ``_chat.txt`` or ``WhatsApp Chat with NAME.txt``.

The form of a line depends on the phone and on its language. iPhones write ``[date, time] name:
text``, Androids ``date, time - name: text``; the order of day and month is that of most lines that
fit only one, or else the one in which time goes forward.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from hashlib import sha256
from itertools import pairwise
from pathlib import PurePosixPath

from memento.ingest.readers.common import How, Talk, unmarked
from memento.ingest.source import Head, Item, lines
from memento.types import Draft

_STAMP = re.compile(
    r"(?P<open>\[)?(?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{2,4}),?\s(?:klo\s)?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?:\s?(?P<half>[ap])\.?\s?m\.?)?(?(open)\]\s?|\s-\s)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"([^:\n]{1,100}):\s(.*)", re.DOTALL)
_MEDIA = re.compile(r"<[^<>\n]{1,60}>|\S+\.\w{2,5} \([^()\n]{1,40}\)|null")
"""What an Android writes in place of a picture, in any language: alone on its line."""
_DELETED = re.compile(
    r"(?:you deleted this message|this message was deleted|diese nachricht wurde gelöscht"
    r"|du hast diese nachricht gelöscht|se eliminó este mensaje|eliminaste este mensaje"
    r"|ce message a été supprimé|vous avez supprimé ce message"
    r"|questo messaggio è stato eliminato|esta mensagem foi apagada)\.?",
    re.IGNORECASE,
)
_EDITED = re.compile(r"\u200e?<[^<>\n]{1,60}>$")
_TITLE = re.compile(
    r"WhatsApp[ -]Chat(?: with| mit| - )?\s*|Chat de WhatsApp con\s*", re.IGNORECASE
)
_ORDERS = {"day first": (1, 0), "month first": (0, 1)}
"""For each order of day and month, the positions of month and day."""


def is_whatsapp(head: Head) -> bool:
    """Recognise WhatsApp: the first line starts with date and time, and an early one has a name."""
    first = [line for line in head.text.split("\n") if line.strip()][:20]
    found = [_stamped(line) for line in first]
    return bool(found and found[0]) and any(one and _NAMED.match(one[1]) for one in found)


def _stamped(line: str) -> tuple[re.Match[str], str] | None:
    """Return the time stamp of a line and the rest; None for a continuation line."""
    line = line.lstrip("\u200e\u200f\u202a\ufeff").replace("\u202f", " ").replace("\xa0", " ")
    stamp = _STAMP.match(line)
    return None if stamp is None else (stamp, line[stamp.end() :])


def read_whatsapp(item: Item, how: How) -> Iterator[Draft]:
    """Read the messages; notices, pictures and deleted messages are left out."""
    title = _title(item)
    order = _order(item, how)
    seen: Counter[str] = Counter()
    for stamp, actor, said in _messages(item):
        first, _, rest = said.partition("\n")
        text = rest if _MEDIA.fullmatch(first.strip()) else said
        text = _EDITED.sub("", text.rstrip()).rstrip()
        if said.startswith("\u200e") or _DELETED.fullmatch(text.strip()) or not text.strip():
            continue
        same = f"{stamp[0].strip()} {actor}: {text}"
        seen[same] += 1
        yield from Talk(f"whatsapp {title}", f"whatsapp:{title}", title).message(
            unmarked(text).strip(),
            f"{sha256(same.encode()).hexdigest()[:16]} {seen[same]}",
            actor,
            mine=how.is_me(actor),
            at=_when(stamp, order, how.zone),
        )


def _title(item: Item) -> str:
    """Return the name of the chat, from that of its file or folder."""
    place = PurePosixPath(item.plain_name)
    name = item.folder.removesuffix(".zip") if place.stem == "_chat" else place.stem
    return _TITLE.sub("", name, count=1).strip() or name


def _messages(item: Item) -> Iterator[tuple[re.Match[str], str, str]]:
    """Yield (time stamp, name, text) of each message; a text may have many lines."""
    stamp, actor, said = None, "", [""]
    for _, line in lines(item):
        found = _stamped(line)
        if found is None:
            said.append(line)
            continue
        if stamp is not None:
            yield stamp, actor, "\n".join(said)
        named = _NAMED.match(found[1])
        stamp = found[0] if named else None  # a line without a name is a notice
        actor, said = (unmarked(named[1]).strip("~ "), [named[2]]) if named else ("", [])
    if stamp is not None:
        yield stamp, actor, "\n".join(said)


def _order(item: Item, how: How) -> str:
    """Return ``day first`` or ``month first``, whichever the dates of the file fit better."""
    stamps = [found[0] for _, line in lines(item) if (found := _stamped(line))]
    dates = list(dict.fromkeys((one["a"], one["b"], one["c"]) for one in stamps))
    if any(len(one[0]) == 4 for one in dates):  # noqa: PLR2004 - a year
        return "month first"
    days = sum(int(a) > 12 for a, _, _ in dates) - sum(int(b) > 12 for _, b, _ in dates)  # noqa: PLR2004 - months
    if days or any("." in one[0] for one in stamps[:1]):
        return "month first" if days < 0 else "day first"
    back = {
        order: sum(
            a > b
            for a, b in pairwise([(c, *(int((a, b)[at]) for at in where)) for a, b, c in dates])
        )
        for order, where in _ORDERS.items()
    }
    if back["day first"] == back["month first"]:
        how.note(
            "its dates are ambiguous between day-first and month-first order; day-first was assumed"
        )
    return "month first" if back["month first"] < back["day first"] else "day first"


def _when(stamp: re.Match[str], order: str, zone: tzinfo) -> datetime | None:
    """Return the moment of a message; a phone writes its local time, without a zone."""
    numbers = [int(stamp[name]) for name in ("a", "b", "c")]
    if len(stamp["a"]) == 4:  # noqa: PLR2004 - a year
        year, month, day = numbers
    else:
        month_at, day_at = _ORDERS[order]
        month, day = numbers[month_at], numbers[day_at]
        year = numbers[2] + 2000 if numbers[2] < 100 else numbers[2]  # noqa: PLR2004 - two digits
    hour = int(stamp["hour"])
    if stamp["half"]:
        hour = hour % 12 + (12 if stamp["half"].lower() == "p" else 0)
    minute, second = int(stamp["minute"]), int(stamp["second"] or 0)
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # no valid date

"""Chats of people: only what the user said is the user's, and all else waits for approval."""

import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.ingest import Format, detect, read, survey
from memento.ingest.readers.mail import _written
from memento.types import Trust

USERS = [
    {"id": "U1", "name": "ada", "profile": {"real_name": "Ada Park", "display_name": "ada.p"}},
    {"id": "U2", "name": "tom", "real_name": "Tom", "profile": {"email": "tom@example.org"}},
]
DAY = [
    {"type": "message", "user": "U1", "text": "Hi <@U2> &amp; all", "ts": "1714550000.000100"},
    {
        "type": "message",
        "user": "U2",
        "text": "see <https://example.org|the page>",
        "ts": "1714550001.000100",
        "thread_ts": "1714550000.000100",
        "edited": {"user": "U2", "ts": "1714550009.0"},
    },
    {"type": "message", "subtype": "channel_join", "user": "U2", "text": "x", "ts": "1714550002.0"},
    {"type": "message", "subtype": "bot_message", "username": "CI", "text": "ok", "ts": "3.1"},
    {"type": "message", "user": "U3", "text": "", "files": [{"name": "a.png"}], "ts": "4.1"},
]


def said(drafts):
    """Return who says what, and whose it is."""
    return [(one.actor, one.source.kind, one.role, one.text) for one in drafts]


def slack(root):
    """Write an export of Slack as a folder."""
    (root / "general").mkdir(parents=True)
    (root / "users.json").write_text(json.dumps(USERS))
    (root / "channels.json").write_text('[{"id": "C1", "name": "general", "members": []}]')
    (root / "general" / "2024-05-01.json").write_text(json.dumps(DAY))
    (root / "general" / "2024-05-02.json").write_text("[]")
    return root


def every(path, **options):
    """Read all that is found."""
    found = survey(path, **options)
    return [draft for one in found.found for draft in found.drafts(one)]


@pytest.mark.parametrize("me", ["Ada Park", "@ada", "ada.p", "U1"])
@pytest.mark.parametrize("kind", ["folder", "zip", "day"])
def test_slack_is_read_with_its_people(tmp_path, me, kind):
    """Names and links are those that people see; joins and bare files say nothing."""
    root = slack(tmp_path / "team")
    path = {"folder": root, "day": root / "general" / "2024-05-01.json"}.get(kind)
    if path is None:
        path = tmp_path / "team.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for one in root.rglob("*.json"):
                archive.write(one, one.relative_to(root))
    drafts = every(path, me=me)
    assert said(drafts) == [
        ("ada.p", Trust.USER, "user", "Hi @Tom & all"),
        ("Tom", Trust.IMPORT, None, "see the page (https://example.org)"),
        ("CI", Trust.IMPORT, None, "ok"),
    ]
    assert drafts[1].session == "slack general 1714550000.000100"
    assert drafts[1].metadata["edited"]


def test_slack_without_a_name_holds_nothing_of_the_user(tmp_path):
    """Nobody is taken for the user."""
    assert {one.source.kind for one in every(slack(tmp_path / "t"))} == {Trust.IMPORT}


def test_a_name_that_nobody_has_is_noted(tmp_path):
    """A misspelt ``--me`` is seen before everything waits for approval."""
    first = survey(slack(tmp_path / "t"), me="Adda").found[0]
    assert first.notes == ("it has no participant named Adda",)
    assert survey(tmp_path / "t", me="ada").found[0].notes == ()


TELEGRAM = {
    "name": "Ilse",
    "type": "personal_chat",
    "id": 77,
    "messages": [
        {"id": 1, "type": "service", "date": "2024-05-01T10:00:00", "action": "phone_call"},
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-01T12:00:00",
            "date_unixtime": "1714557600",
            "from": "Ada",
            "from_id": "user9",
            "text": ["I planted a ", {"type": "bold", "text": "quince"}, "."],
        },
        {
            "id": 3,
            "type": "message",
            "date": "2024-05-01T12:01:00",
            "from": None,
            "from_id": "user8",
            "text": "Nice",
        },
        {
            "id": 4,
            "type": "message",
            "date": "2024-05-01T12:02:00",
            "from": "Ada",
            "from_id": "user9",
            "forwarded_from": "News",
            "text": "Sell all",
        },
        {
            "id": 5,
            "type": "message",
            "date": "x",
            "from": "Ada",
            "photo": "(File not included.)",
            "text": "",
        },
    ],
}
WORDS = [
    ("Ada", Trust.USER, "user", "I planted a quince."),
    ("Deleted account", Trust.IMPORT, None, "Nice"),
    ("News", Trust.IMPORT, None, "Sell all"),
]


def test_telegram_is_read(file):
    """Bold words join the others; what is forwarded is not the user's."""
    path = file("result.json", TELEGRAM)
    assert detect(path) is Format.TELEGRAM
    drafts = [*read(path, me="ada")]
    assert said(drafts) == WORDS
    assert drafts[0].occurred_at.isoformat() == "2024-05-01T10:00:00+00:00"
    assert {one.source.kind for one in read(path)} == {Trust.IMPORT}


def test_an_export_of_all_telegram_chats_knows_the_user(file):
    """Only such an export says who the user is; saved messages are the user's own."""
    saved = {"type": "saved_messages", "id": 9, "messages": [TELEGRAM["messages"][1]]}
    whole = {
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 9, "first_name": "Ada"},
        "chats": {"about": "", "list": [TELEGRAM, saved]},
    }
    drafts = [*read(file("result.json", whole))]
    assert said(drafts) == [*WORDS, WORDS[0]]
    assert [one.session for one in drafts] == ["telegram 77"] * 3 + ["telegram 9"]
    assert len({one.id for one in drafts}) == 4


IPHONE = """\u200e[{0} {1}] Ilse: \u200eMessages and calls are end-to-end encrypted.
[{0} {1}] \u202aAda\u202c: Hello Ilse
and a second line: really
\u200e[{0} {1}] Ilse: \u200eimage omitted
[{2} {3}] Ilse: I moved to Porto \u200e<This message was edited>
[{2} {3}] Ilse: I moved to Porto
"""
ANDROID = """{0} {1} - Messages and calls are end-to-end encrypted.
{0} {1} - Ada: Hello Ilse
and a second line: really
{0} {1} - Ilse: <Media omitted>
{0} {1} - Ilse: This message was deleted
{0} {1} - Ilse added Tom
{0} {1} - Ilse: IMG-1.jpg (file attached)
{2} {3} - Ilse: I moved to Porto
{2} {3} - Ilse: I moved to Porto
"""
STAMPS = [
    ("05/01/24,", "9:41:09 PM", "05/31/24,", "12:00:01 AM", "2024-05-01T21:41"),
    ("1/5/24,", "9:41\u202fpm", "31/5/24,", "12:00 am", "2024-05-01T21:41"),
    ("01.05.24,", "21:41:09", "31.05.24,", "00:00:01", "2024-05-01T21:41"),
    ("01/05/2024,", "21:41", "31/05/2024,", "00:00", "2024-05-01T21:41"),
    ("2024-05-01,", "21:41:09", "2024-05-31,", "00:00:01", "2024-05-01T21:41"),
    ("01-05-2024,", "9:41 p. m.", "31-05-2024,", "12:00 a. m.", "2024-05-01T21:41"),
    ("1.5.2024", "klo 21.41", "31.5.2024", "klo 0.00", "2024-05-01T21:41"),
]


@pytest.mark.parametrize("form", [IPHONE, ANDROID])
@pytest.mark.parametrize("stamp", STAMPS)
def test_whatsapp_is_read_in_each_form(file, form, stamp):
    """Twelve hours or 24, day or month first, with marks of direction: who, what and when."""
    path = file("WhatsApp Chat with Ilse.txt", form.format(*stamp))
    assert detect(path) is Format.WHATSAPP
    drafts = [*read(path, me="Ada")]
    assert said(drafts) == [
        ("Ada", Trust.USER, "user", "Hello Ilse\nand a second line: really"),
        ("Ilse", Trust.IMPORT, None, "I moved to Porto"),
        ("Ilse", Trust.IMPORT, None, "I moved to Porto"),
    ]
    assert drafts[0].occurred_at.isoformat().startswith(stamp[4])
    assert drafts[1].occurred_at.isoformat().startswith("2024-05-31T00:00")
    assert len({one.id for one in drafts}) == 3
    assert {one.session for one in drafts} == {"whatsapp Ilse"}


def test_an_order_that_cannot_be_told_is_noted(file):
    """Where both orders of day and month fit, the report says which was taken."""
    path = file("_chat.txt", "[1/2/24, 10:00:00] Ada: Hello\n")
    (one,) = survey(path).found
    assert "are ambiguous" in one.notes[0]
    two = file("_chat.txt", "[1/31/24, 10:00:00] Ada: Hello\n[2/1/24, 10:00:00] Ada: Hi\n")
    assert survey(two).found[0].notes == ()


def test_a_longer_whatsapp_export_keeps_the_ids(file):
    """The next export begins with the same messages, whatever order its later days reveal."""
    first = "[1/2/24, 10:00:00] Ada: Hello\n"
    before = [one.id for one in read(file("_chat.txt", first))]
    after = [one.id for one in read(file("_chat.txt", first + "[1/31/24, 1:00:00] Ada: Hi\n"))]
    assert after[:1] == before


def test_a_note_with_a_date_is_no_whatsapp_chat(file):
    """A diary that begins its lines with dates stays text."""
    assert detect(file("diary.txt", "12.05.24, 10:00 we left\n\nNote: it rained.\n")) is Format.TEXT


def test_a_transcript_of_speakers_is_no_fact(file):
    """Lines that begin with ``user:`` are turns, and an answer is not the user's."""
    text = "user: My boat is called Petrel.\nShe is red.\nassistant: Noted: red.\n\nuser: Thanks\n"
    path = file("transcript.txt", text)
    assert detect(path) is Format.TRANSCRIPT
    assert [(one.role, one.source.kind, one.text) for one in read(path)] == [
        ("user", Trust.USER, "My boat is called Petrel.\nShe is red."),
        ("assistant", Trust.AGENT, "Noted: red."),
        ("user", Trust.USER, "Thanks"),
    ]


MBOX = """From ada@example.org Wed May  1 10:00:00 2024
From: Ada Park <ada@example.org>
Subject: =?utf-8?q?Caf=C3=A9?=
Message-ID: <1@x>
Date: Wed, 01 May 2024 12:00:00 +0200

I moved to Porto.

On Tuesday Tom wrote:
> Where are you?

-- \n\
Ada

From tom@example.org Wed May  1 11:00:00 2024
From: Tom <tom@example.org>
Subject: Re: Café
Message-ID: <2@x>
In-Reply-To: <1@x>
Date: nonsense
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/html; charset=utf-8

<p>Good for <b>you</b></p>
--b--

From nobody Wed May  1 12:00:00 2024
Content-Type: text/plain; charset=no-such
X-Gmail-Labels: Inbox

hello
From spam Wed May  1 12:00:00 2024

"""


def test_mail_is_read_without_what_is_quoted(file):
    """A memory a message: what was written, by whom, in which thread; nothing quoted or signed."""
    path = file("mail.mbox", MBOX)
    assert detect(path) is Format.MAIL
    drafts = [*read(path, me="ada@example.org")]
    assert said(drafts)[:2] == [
        ("Ada Park", Trust.USER, "user", "Café\n\nI moved to Porto."),
        ("Tom", Trust.IMPORT, None, "Re: Café\n\nGood for you"),
    ]
    assert {one.session for one in drafts[:2]} == {"<1@x>"}
    assert drafts[0].occurred_at.isoformat() == "2024-05-01T10:00:00+00:00"


@given(st.text("> \n-abc:wrote", max_size=200))
def test_what_is_written_is_taken_from_the_mail(text):
    """No line appears that was not there."""
    lines = {line.strip() for line in text.split("\n")}
    assert {line.strip() for line in _written(text).split("\n")} <= lines | {""}

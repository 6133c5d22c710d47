"""Time as a way of finding: what happened then, what is planned then, what was said last time."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shelves import Shelf

NOW = datetime(2025, 4, 2, 12, tzinfo=UTC)  # a Wednesday

BUDGET = "Ruth approved the budget"
TONER = "The printer needs toner"
SINK = "The plumber mended the sink"
LAKE = "Cycled to the lake with Jonas"
BREAD = "Baked rye bread for the neighbours"
BOILER = "The boiler was inspected"
LEASE = "Signed the lease of the studio"
OPERA = "Bought two tickets for the opera"
HIRED = "It was decided to hire Tomas"
MOVED = "The server moved to Helsinki"
CAT = "Adopted a cat named Pixel"
DENTIST = "Dentist at ten"
WORKSHOP = "Workshop with the Lisbon team"
WEDDING = "Wedding of Aino in the old mill"
COFFEE = "Coffee with Mads about the boat"

DIARY = [  # day, text
    ("2024-01-21", CAT),
    ("2024-12-10", HIRED),
    ("2024-12-20", MOVED),
    ("2025-01-02", "Orders fail, what happened?"),
    ("2025-02-17", "Ines has her birthday today; she was born in 1998 and turns 27 in 2025"),
    ("2025-02-18", "My last name is spelled with two n, since the last passport"),
    ("2025-03-14", OPERA),
    ("2025-03-25", LEASE),
    ("2025-03-28", BOILER),
    ("2025-03-29", BREAD),
    ("2025-03-30", LAKE),
    ("2025-03-31", SINK),
    ("2025-04-01", BUDGET),
    ("2025-04-01", TONER),
    ("2025-04-03", DENTIST),
    ("2025-04-08", WORKSHOP),
    ("2025-05-03", WEDDING),
    ("2025-05-16", COFFEE),
]

WEEK = [LEASE, BOILER, BREAD, LAKE]
"""The events of the last week, in order."""

ONLY_TIME = [
    ("What happened yesterday?", [BUDGET, TONER]),
    ("What did I tell you yesterday?", [BUDGET, TONER]),
    ("what did I do last week", WEEK),
    ("What happened in the last three days?", [LAKE, SINK, BUDGET, TONER]),
    ("What happened three days ago?", [LAKE]),
    ("What happened in mid March?", [OPERA]),
    ("What happened in late March?", [LEASE, BOILER, BREAD, LAKE, SINK]),
    ("What did we do last weekend?", [BOILER, BREAD, LAKE]),
    ("What did I do on Monday?", [SINK]),
    ("What happened on Friday?", [BOILER]),
    ("what has happened since Monday?", [SINK, BUDGET, TONER]),
    ("What happened in December 2024?", [HIRED, MOVED]),
    ("What happened in December?", [HIRED, MOVED]),
    ("What did I say on 2025-03-14?", [OPERA]),
    ("What did I say on 14.03.2025?", [OPERA]),
    ("What did I say on 14.3.2025?", [OPERA]),
    ("What happened on 21/01/2024?", [CAT]),
    ("What happened on 01/21/2024?", [CAT]),
    ("What happened on 14 March?", [OPERA]),
    ("What happened between 10 March and 26 March?", [OPERA, LEASE]),
    ("What happened on Tuesday last week?", [LEASE]),
    ("What is on tomorrow?", [DENTIST]),
    ("What do I have next week?", [WORKSHOP]),
    ("What is planned for next Tuesday?", [WORKSHOP]),
    ("What do I have on Thursday?", [DENTIST]),
    ("What is coming up in the next ten days?", [DENTIST, WORKSHOP]),
    ("What's on 3 May?", [WEDDING]),
    ("Was ist gestern passiert?", [BUDGET, TONER]),
    ("Was habe ich letzte Woche gemacht?", WEEK),
    ("Was war im Dezember 2024 los?", [HIRED, MOVED]),
    ("Was war am 14.03.2025?", [OPERA]),
    ("Was ist seit Montag passiert?", [SINK, BUDGET, TONER]),
    ("Was war vor drei Tagen?", [LAKE]),
    ("Was haben wir letztes Wochenende gemacht?", [BOILER, BREAD, LAKE]),
    ("Was steht morgen an?", [DENTIST]),
    ("Was steht am 3. Mai an?", [WEDDING]),
    ("Que s'est-il passé hier ?", [BUDGET, TONER]),
    ("Qu'ai-je fait la semaine dernière ?", WEEK),
    ("Que s'est-il passé en décembre 2024 ?", [HIRED, MOVED]),
    ("Que s'est-il passé depuis lundi ?", [SINK, BUDGET, TONER]),
    ("Que s'est-il passé il y a trois jours ?", [LAKE]),
    ("Qu'est-ce qui est prévu la semaine prochaine ?", [WORKSHOP]),
    ("Qu'y a-t-il le 3 mai ?", [WEDDING]),
    ("¿Qué pasó ayer?", [BUDGET, TONER]),
    ("¿Qué hice la semana pasada?", WEEK),
    ("¿Qué pasó en diciembre de 2024?", [HIRED, MOVED]),
    ("¿Qué ha pasado desde el lunes?", [SINK, BUDGET, TONER]),
    ("¿Qué pasó hace tres días?", [LAKE]),
    ("¿Qué tengo mañana?", [DENTIST]),
    ("¿Qué hay el 3 de mayo?", [WEDDING]),
    ("昨日は何がありましたか", [BUDGET, TONER]),
    ("先週は何をしましたか", WEEK),
    ("2024年12月に何がありましたか", [HIRED, MOVED]),
    ("月曜日から何がありましたか", [SINK, BUDGET, TONER]),
    ("3日前に何がありましたか", [LAKE]),
    ("来週の予定は何ですか", [WORKSHOP]),
    ("5月3日の予定は何ですか", [WEDDING]),
    ("昨天发生了什么?", [BUDGET, TONER]),
    ("上周我做了什么?", WEEK),
    ("2024年12月发生了什么?", [HIRED, MOVED]),
    ("星期一以来发生了什么?", [SINK, BUDGET, TONER]),
    ("三天前发生了什么?", [LAKE]),
    ("下周有什么安排?", [WORKSHOP]),
    ("5月3日有什么安排?", [WEDDING]),
]
"""Questions that ask for a time and nothing else, and the whole answer."""

MORE = [
    ("What was decided in December 2024?", HIRED),
    ("What broke or moved in December 2024?", MOVED),
    ("What did I bake last week?", BREAD),
    ("What was mended since Monday?", SINK),
    ("What did Ruth approve yesterday?", BUDGET),
    ("Which tickets did I buy on 14.03.2025?", OPERA),
    ("Which pet did I adopt in January 2024?", CAT),
    ("Who has a wedding on 3 May?", WEDDING),
    ("Was hat Ruth gestern gemacht?", BUDGET),
    ("Qui est Jonas, avec qui j'étais au lac le week-end dernier ?", LAKE),
    ("¿Qué pasó ayer con Ruth?", BUDGET),
    ("先週 Jonas と何をしましたか", LAKE),
    ("上周 Jonas 做了什么?", LAKE),
]
"""Questions that ask for more than a time, and the first hit."""


def at(day, hour=9):
    """Give a moment of a day."""
    return datetime.fromisoformat(f"{day}T{hour:02}:00:00+00:00")


@pytest.fixture(scope="module")
def diary():
    """Half a year of somebody's notes and plans."""
    shelf = Shelf()
    for day, text in DIARY:
        shelf.add(text, at=at(day), role="user")
    return shelf


@pytest.mark.parametrize(("question", "expected"), ONLY_TIME)
def test_a_time_alone_is_answered_with_that_time(diary, question, expected):
    """Everything of the days asked for in the order of time, and nothing of other days."""
    assert diary.hits(question, now=NOW, k=None) == expected


@pytest.mark.parametrize(("question", "expected"), MORE)
def test_a_time_and_more(diary, question, expected):
    """Within the time asked about, the rest of the question decides."""
    assert diary.hits(question, now=NOW)[0] == expected


@pytest.mark.parametrize(
    ("told", "plan", "question"),
    [
        ("2025-03-31", "dentist on Thursday at 10", "What do I have on Thursday?"),
        ("2025-03-31", "call the plumber on Wednesday", "What do I have today?"),
        ("2025-02-10", "rent is due on the 1st of May", "what do I have to do on 1 May?"),
        ("2025-03-17", "the exam is in three weeks", "What's planned for 7 April?"),
        ("2025-03-02", "the passport is due on the 9th", "What did I have to do on 9 March?"),
        ("2025-03-31", "Am Donnerstag zum Zahnarzt", "Was steht am Donnerstag an?"),
    ],
)
def test_a_plan_is_found_by_the_day_it_is_due(shelf, told, plan, question):
    """A weekday in it is the next one, however long before it was made."""
    for day, text in (("2025-03-20", "Tea with Ada on Thursday"), (told, plan)):
        shelf.add(text, at=at(day), kind="plan")
    shelf.add("I like tea", at=at(told))
    assert shelf.hits(question, now=NOW) == [plan]


def test_plans_are_read_at_once(shelf):
    """However many there are, their texts take one look, and the latest are read."""
    for number in range(130):
        shelf.add(f"call customer {number} on 9 June", at=at("2025-03-01"), kind="plan")
    shelf.add("the exam is in eight weeks", at=at("2025-03-03"), kind="plan")
    assert shelf.hits("What do I have on 28 April?", now=NOW) == ["the exam is in eight weeks"]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("We play squash on Fridays", "What do we do on Friday?"),
        ("The contract ends in 2031", "What happens in 2031?"),
        ("Order A-1234/5 was sent to Ghent", "Order A-1234/5"),
    ],
)
def test_what_only_looks_like_a_time_is_looked_up_as_words(told, question, shelf):
    """If nothing is known of that time, a memory may have the words all the same."""
    shelf.add(told, at=at("2025-03-01"))
    assert shelf.hits(question, now=NOW) == [told]


def test_nothing_happened(diary):
    """A day without memories has no answer."""
    assert diary.hits("What happened on 8 March 2025?", now=NOW) == []


def test_a_longer_answer_begins_with_the_shorter_one(diary):
    """The order does not depend on how many hits are wanted."""
    every = diary.hits("What did I do last week?", now=NOW, k=10)
    assert [diary.hits("What did I do last week?", now=NOW, k=k) for k in range(5)] == [
        every[:k] for k in range(5)
    ]


def test_words_of_a_date_are_not_looked_up(diary):
    """Neither the year nor "last" finds what only has that word."""
    for question in ("What did I buy on 2025-03-14?", "What did I bake last week?"):
        diary.asked.clear()
        diary.find(question, now=NOW)
        looked_up = {match.text for match in diary.asked if hasattr(match, "text")}
        assert looked_up <= {"buy", "bake"}


def test_a_feast_is_a_word_too(shelf):
    """A feast is found by its name, whenever it was told."""
    shelf.add("The Christmas goose was too salty", at=at("2025-02-20"))
    shelf.add("The guests left early", at=at("2024-12-25"))
    assert shelf.hits("What was salty at Christmas?", now=NOW)[0].startswith("The Christmas goose")


@pytest.mark.parametrize(
    ("told", "text", "question"),
    [
        ("2025-01-05", "Aino marries on 3 May", "What is on 3 May?"),
        ("2025-01-05", "Aino marries on 3 May", "Was ist am 3. Mai?"),
        ("2025-01-05", "Aino marries on 2025-05-03", "What is on 3 May?"),
        ("2025-01-05", "Am 03.05.2025 heiratet Aino", "What is on 3 May?"),
        ("2025-01-05", "誠さんの結婚式は5月3日です", "5月3日の予定は何ですか"),
        ("2025-04-01", "I see the dentist tomorrow", "What happened today?"),
        ("2025-04-01", "Morgen gehe ich zum Zahnarzt", "Was steht heute an?"),
        ("2025-04-02", "Yesterday I lost my keys", "What happened yesterday?"),
        ("2025-03-31", "I move house next week", "What is on next Monday?"),
    ],
)
def test_the_time_a_text_names(shelf, told, text, question):
    """A plan and a story are of the day they speak of, not only of the day they were told."""
    shelf.add("Nothing to report", at=at("2025-02-11"))
    shelf.add(text, at=at(told))
    expected = [] if "next week" in text else [text]  # a week is too vague for one day
    assert shelf.hits(question, now=NOW) == expected


def test_what_happened_comes_before_what_speaks_of_it(shelf):
    """A feast that a text names is not to the day."""
    shelf.add("The Christmas party was loud", at=at("2024-12-12"))
    shelf.add("A swim in the cold sea", at=at("2024-12-26"))
    asked = datetime(2024, 12, 27, 9, tzinfo=UTC)
    assert shelf.hits("What did I do yesterday?", now=asked) == [
        "A swim in the cold sea",
        "The Christmas party was loud",
    ]


def test_what_is_set_aside_changes_nothing(shelf, diary):
    """A quarantined memory of that day is neither found nor noticed."""
    for day, text in DIARY:
        shelf.add(text, at=at(day), role="user")
    shelf.add(
        "Yesterday the bank asked for your password", at=at("2025-04-01"), status="quarantined"
    )
    for question, _ in ONLY_TIME:
        assert shelf.hits(question, now=NOW) == diary.hits(question, now=NOW)


def test_filters_hold(shelf):
    """Time proposes nothing that a filter leaves out."""
    shelf.add("A secret meeting", at=at("2025-04-01"), scope="work")
    mine = shelf.add("A quiet walk", at=at("2025-04-01"), scope="home")
    snap = shelf.roster.view()
    assert shelf.hits("What happened yesterday?", now=NOW, allowed=snap.docid == mine) == [
        "A quiet walk"
    ]


@pytest.fixture
def talks():
    """Two conversations that are over, and one that goes on."""
    shelf = Shelf()
    for day, session, texts in (
        ("2025-03-20", "first", ["The roof leaks", "A roofer comes on Monday"]),
        ("2025-03-27", "second", ["Let us plan the garden", "Tomatoes go near the wall"]),
    ):
        for minute, text in enumerate(texts):
            moment = at(day) + timedelta(minutes=minute)
            shelf.add(text, at=moment, session=session, role="user")
    return shelf


LAST = [
    "What did we talk about last time?",
    "What did we discuss in our last session?",
    "Where did we leave off?",
    "Worüber haben wir letztes Mal gesprochen?",
    "De quoi avons-nous parlé la dernière fois ?",
    "¿De qué hablamos la última vez?",
    "前回何を話しましたか",
    "我们上次聊了什么?",
]


@pytest.mark.parametrize("question", LAST)
def test_the_last_conversation(talks, question):
    """Last time is the newest conversation, from its beginning."""
    assert talks.hits(question, now=NOW) == ["Let us plan the garden", "Tomatoes go near the wall"]


@pytest.mark.parametrize("question", LAST)
def test_the_conversation_before_this_one(talks, question):
    """A conversation that still goes on is not the last one."""
    talks.add("Hello again", at=NOW - timedelta(minutes=5), session="third", role="user")
    assert talks.hits(question, now=NOW)[0] == "Let us plan the garden"


def test_last_time_and_more(talks):
    """A subject is looked for in the last conversation first."""
    talks.add("The wall is of clay", at=at("2025-03-19"), session="zeroth", role="user")
    first, *_ = talks.find("What did we say about the wall last time?", now=NOW).found
    assert talks.text_of[first.docid] in {"Let us plan the garden", "Tomatoes go near the wall"}
    assert talks.hits("Which wall is of clay?", now=NOW)[0] == "The wall is of clay"


def test_when_was_the_last_time(talks):
    """A question when something was last does not ask for the last conversation."""
    assert talks.hits("When was the last time we talked about the roof?", now=NOW)[0].endswith(
        "leaks"
    )


def test_last_time_without_conversations(diary):
    """Notes that belong to no conversation: the last day before today."""
    assert diary.hits("What did we talk about last time?", now=NOW) == [BUDGET, TONER]


@given(st.lists(st.integers(-400, 400), min_size=1, max_size=60), st.integers(1, 5))
def test_every_memory_of_the_day_and_no_other(days, count):
    """A day is answered with its memories, in any store."""
    shelf = Shelf()
    for number, away in enumerate(days * count):
        shelf.add(f"entry number{number}", at=NOW + timedelta(days=away))
    right = [f"entry number{n}" for n, away in enumerate(days * count) if away == days[0]]
    day = (NOW + timedelta(days=days[0])).date()
    assert shelf.hits(f"What happened on {day}?", now=NOW, k=400) == right


def test_meaning_decides_within_a_time(shelf):
    """A memory of the time asked about is proposed although no word and no vector is near."""
    away = np.array([0, 0, 1], np.float32)
    inside = shelf.add("Zander for supper", at=at("2025-04-01"))
    others = [shelf.add(f"plan{n}", at=at("2024-06-01")) for n in range(300)]
    near = np.array([1, 0, 0], np.float32)
    shelf.embed({inside: away} | dict.fromkeys(others, near))
    found = shelf.find("What fish did I eat yesterday?", near, now=NOW, k=400).found
    assert inside in {one.docid for one in found}
    assert next(one for one in found if one.docid == inside).ranks["time"] == 1


def test_through_the_public_door(open_memory, clock):
    """Relative dates are read from the manager's clock, and from ``as_of`` if it is given."""
    memory = open_memory()
    day = timedelta(days=1)
    memory.add("Annika phoned from Visby", occurred_at=clock() - 40 * day)
    memory.add("Ruth approved the budget", occurred_at=clock() - day)
    memory.add("Dentist at ten", occurred_at=clock() + day)
    assert [hit.text for hit in memory.retrieve("What happened yesterday?")] == [
        "Ruth approved the budget"
    ]
    assert [hit.text for hit in memory.retrieve("What is on tomorrow?")] == ["Dentist at ten"]
    past = memory.retrieve("What happened yesterday?", as_of=clock() - 39 * day)
    assert [hit.text for hit in past] == ["Annika phoned from Visby"]
    clock.advance(day)
    assert [hit.text for hit in memory.retrieve("What is on today?")] == ["Dentist at ten"]
    assert memory.retrieve("What is on today?", scope="work", within="work").hits == ()


def test_a_time_alone_is_sure(diary):
    """A memory of the time asked for answers a question that asks for nothing else."""
    found = diary.find("What happened yesterday?", now=NOW)
    assert found.confidence >= 0.8
    assert all(one.ranks["time"] == place for place, one in enumerate(found.found, start=1))

"""A request to forget hides what it means, as people ask it, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memento import Config, MemoryManager
from memento.config import ObserveConfig
from memento.embed.onnx import default_embedder
from memento.observe.asked import is_request
from memento.observe.candidates import find
from memento.observe.signals import Signal


def told(memory):
    """Return the texts of all that a later session may be shown."""
    return {one.text for one in memory.list(limit=1_000)}


@pytest.fixture
def life(memory, hearing):
    """A store of somebody who told much."""
    assert not hearing.known
    for session, said in [
        ("a", "lend me a hand, Bram is 9 weeks into rehab and i told nobody at the yard"),
        ("a", "which grease for a winch drum in salt water"),
        ("b", "Ilse and the overdraft, we fought all sunday over it"),
        ("b", "Ilse is on nights until thursday"),
        ("c", "plan the harbour fair, three stalls and a tombola"),
        ("c", "the bakery wants eleven trays by six"),
    ]:
        memory.observe(said, "All right.", session=session)
    return memory


NAMED = [
    ("don't be holding on to any of that about Ilse and the overdraft", "Ilse and the overdraft"),
    ("can you bin that bit about rehab", "lend me a hand"),
    ("I'd sooner you let the tombola go, it isn't ours to tell", "plan the harbour fair"),
    ("kindly scrub the trays from whatever you keep", "the bakery wants"),
]


@pytest.mark.parametrize(("request_", "meant"), NAMED)
def test_what_it_names_is_hidden_and_nothing_else(life, tell, request_, meant):
    """The words beside those of asking say what is meant."""
    before = told(life)
    seen = tell(request_, "forget", session="later")
    gone = before - told(life)
    assert [one.startswith(meant) for one in gone] == [True]
    assert seen.forget[0].forgotten
    assert request_ not in told(life)  # it names the thing


def test_the_whole_of_somebody_is_everything_that_names_them(life, tell):
    """Two messages speak of Ilse."""
    tell("take Ilse out, everything", "forget", session="later")
    assert not any("Ilse" in one for one in told(life))
    assert any("Bram" in one for one in told(life))


def test_a_name_that_could_be_either_is_only_named(life, tell):
    """Precision before recall: the near ones are found, not hidden."""
    before = told(life)
    (request,) = tell("lose that thing about Ilse", "forget", session="later").forget
    assert (before - told(life), request.forgotten) == (set(), ())
    assert len(request.found) == 2


def test_pointing_words_mean_the_message_before(life, tell):
    """In the same session; the one in another session stays."""
    life.observe("my pension is 1,190 a month", session="z")
    seen = tell("please don't hold on to that", "forget", session="z")
    assert "my pension is 1,190 a month" not in told(life)
    assert any("Ilse" in one for one in told(life))
    assert seen.forget[0].about == ""


def test_a_message_that_tells_and_asks_is_about_itself(life, hearing):
    """Nothing of it is learned, and the message before it stays."""
    life.observe("what opens at six near the quay", session="z")
    hearing.knows("my brother drinks again", "relation")
    hearing.knows("that stays nowhere please", "forget")
    said = "my brother drinks again so i bring no wine, that stays nowhere please"
    seen = life.observe(said, session="z")
    assert (seen.learned, said in told(life)) == ((), False)
    assert "what opens at six near the quay" in told(life)


def test_what_is_not_there_hides_nothing(life, tell):
    """It is said that nothing was found."""
    before = told(life)
    seen = tell("forget the thing about the zeppelin", "forget", session="later")
    assert before == told(life)
    assert "zeppelin" in seen.explain()


def test_it_is_undone_as_one_change(life, tell):
    """Messages and request come back."""
    before = told(life)
    seen = tell(NAMED[0][0], "forget", session="later")
    life.undo(seen.change)
    assert before <= told(life)


def test_the_statement_and_the_answer_go_too(memory, tell):
    """Whatever repeats what is meant."""
    hearing_of = "Odile is allergic to shellfish"
    tell(hearing_of, "relation", session="s", assistant="Noted: no shellfish for Odile.")
    tell("drop Odile and the shellfish please", "forget", session="t")
    assert not any("hellfish" in one for one in told(memory))


def test_names_of_the_turn_before_say_who_she_is(life, tell):
    """Whom the assistant just named is "her"; all of them go."""
    life.observe("book a table", "Should I count Ilse in?", session="z")
    tell("no, take her out of whatever you've got", "forget", session="z")
    assert not any("Ilse" in one for one in told(life))


def test_one_call_may_tell_and_then_ask(memory, hearing):
    """What an earlier message of the same call told is hidden."""
    hearing.knows("forget about the Rotterdam flat", "forget")
    said = ["the Rotterdam flat costs 900", "forget about the Rotterdam flat"]
    memory.observe(messages=[{"role": "user", "content": one} for one in said], session="s")
    assert told(memory) == set()


def test_ask_hides_nothing_and_lists_all(open_memory, hearing):
    """The host confirms."""
    memory = open_memory(config=Config(observe=ObserveConfig(forget="ask")))
    memory.observe("Bram is in rehab", session="a")
    hearing.knows("bin that bit about rehab", "forget")
    seen = memory.observe("bin that bit about rehab", session="b")
    (request,) = seen.forget
    assert request.forgotten == ()
    assert memory.forget_many(ids=[*request.found])
    assert "Bram is in rehab" not in told(memory)


NO_REQUESTS = [
    "don't forget that Ilse is on nights",
    "Ilse forgot the overdraft again",
    "I always forget the eleven trays",
    "remember that Ilse is on nights until thursday",
    "let's forget the tombola for a moment and plan the stalls",
    "how do I get rid of grease on a winch drum?",
    "You may keep what I said about Ilse.",
    "I'd love to forget the whole overdraft",
]


@pytest.mark.parametrize("said", NO_REQUESTS)
def test_what_is_no_request_hides_nothing(memory, said):
    """Somebody else forgets, nothing is to be forgotten, or the subject only changes."""
    for one in ("Ilse and the overdraft, we fought", "Ilse is on nights", "eleven trays by six"):
        memory.observe(one, session="a")
    before = told(memory)
    seen = memory.observe(said, session="b")
    assert (seen.forget, before - told(memory)) == ((), set())


BY_FORM = [
    "can you delete that bit where I talked about Ilse and the overdraft",
    "Would you mind forgetting what I said about the overdraft?",
    "pretend I never told you about Ilse and the overdraft",
    "You can forget the overdraft thing.",
]


@pytest.mark.parametrize("said", BY_FORM)
def test_a_request_is_heard_by_its_form(memory, said):
    """It is said to the agent, and is about what the agent was told."""
    for one in ("Ilse and the overdraft, we fought", "eleven trays by six"):
        memory.observe(one, session="a")
    (request,) = memory.observe(said, session="b").forget
    assert request.forgotten
    assert "Ilse and the overdraft, we fought" not in told(memory)
    assert "eleven trays by six" in told(memory)


def test_other_words_mean_it_if_nothing_else_is_as_near(open_memory):
    """No word of the request was said before."""
    memory = open_memory(embedder=default_embedder())
    for one in ("I'm pregnant, week 9.", "The lease runs out in March.", "Deploy on Tuesdays."):
        memory.observe(one, session="a")
    memory.observe("Please forget what I told you about expecting a baby.", session="b")
    assert told(memory) == {"The lease runs out in March.", "Deploy on Tuesdays."}


PERSONAL = ("I live in Ghent.", "I'm allergic to nuts.", "My wife is Ana.")
ALL_OF_ME = [
    "Forget everything you know about me.",
    "please delete all I told you",
    "wipe your memory of me, please",
    "Could you erase everything you've stored about me?",
    "forget everything from today",
    "Forget everything.",
    "please clear your memory now",
]


@pytest.mark.parametrize("request_", ALL_OF_ME)
def test_everything_of_the_user_is_all_that_the_user_told(memory, tell, request_):
    """Also what answers repeat; one undo brings it back."""
    for said in PERSONAL:
        memory.observe(said, f"Noted: {said}", session="a")
    before = told(memory)
    seen = tell(request_, "forget", session="b", assistant="Done.")
    assert told(memory) == {"Done."}
    assert seen.forget[0].found == ()
    memory.undo(seen.change)
    assert before <= told(memory)


@pytest.mark.parametrize("said", ["Clear everything.", "Forget everything, let's start over."])
def test_everything_of_the_work_at_hand_is_nothing_of_the_user(said, memory):
    """An agent that works on a task is told so of the task."""
    for one in PERSONAL:
        memory.observe(one, session="a")
    memory.observe(said, session="a")
    assert set(PERSONAL) <= told(memory)


@pytest.mark.parametrize(
    "said",
    [
        "Don't save this. My PIN is 4921.",
        "Please don't record this: my salary is 90k.",
    ],
)
def test_what_is_not_to_be_kept_is_hidden_alone(said, memory):
    """The message that asks, and nothing that was told before it."""
    for one in PERSONAL:
        memory.observe(one, session="a")
    before = told(memory)
    seen = memory.observe(said, session="a")
    assert told(memory) == before
    memory.undo(seen.change)
    assert told(memory) == {*before, said}


def test_everything_of_one_of_several_users_is_not_that_of_another(memory, tell):
    """Each is known by the name with which the messages came."""
    for who, said in zip(("ann", "bob"), PERSONAL, strict=False):
        memory.observe(said, session=who, actor=who)
    tell("forget everything you know about me", "forget", session="a", actor="ann")
    assert told(memory) == {PERSONAL[1]}


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        ("forget everything I just told you", {*PERSONAL[:2]}),
        ("forget everything from yesterday", {*PERSONAL}),
        (
            "Bram read all of the ward plans on the ferry, forget everything I told you",
            {*PERSONAL},
        ),
    ],
)
def test_all_of_something_else_is_not_all_that_the_user_told(memory, hearing, request_, left):
    """The last message, a day on which nothing was told, or a message that tells more."""
    for said in PERSONAL:
        memory.observe(said, session="a")
    hearing.knows(request_[request_.index("forget") :], "forget")
    memory.observe(request_, session="a")
    assert told(memory) >= left


def test_what_was_said_next_of_a_forgotten_person_is_reported(memory, tell):
    """It names nobody, so it is about whom the message before names."""
    for said in ("My cousin Ida moved to Graz", "she never answers", "I like tea"):
        tell(said, "relation" if "I like" not in said else "preference", session="a")
    (request,) = tell("forget everything about Ida", "forget", session="b").forget
    assert {memory.get(one).text for one in request.found} == {"she never answers"}
    assert "I like tea" in told(memory)


KEPT = [
    ("forget my salary but remember that I work at Acme", "salary", "I work at Acme"),
    ("Remember that I moved to Leeds but delete my salary", "salary", "I moved to Leeds"),
    ("please forget my salary and keep my job", "salary", None),
]


@pytest.mark.parametrize(("said", "about", "learned"), KEPT)
def test_one_sentence_may_ask_to_forget_and_to_keep(memory, said, about, learned):
    """Each half is read alone."""
    memory.observe("My salary is 4200 euros", session="a")
    memory.observe("I work at Acme", session="a")
    seen = memory.observe(said, session="b")
    assert [one.about for one in seen.forget] == [about]
    assert "My salary is 4200 euros" not in told(memory)
    assert [one.memory.text for one in seen.learned] == ([learned] if learned else [])


@pytest.mark.parametrize(
    ("request_", "told_", "about"),
    [
        (
            "Bitte vergiss mein Gehalt",
            ("Mein Gehalt ist 4200 Euro", "Ich wohne in Graz", "Ich bin allergisch gegen Nüsse"),
            "Gehalt",
        ),
        (
            "Oublie mon salaire s'il te plaît",
            ("Mon salaire est de 3000 euros", "J'habite à Lyon", "Je suis allergique aux noix"),
            "salaire",
        ),
        (
            "Por favor olvida mi salario",
            ("Mi salario es de 2000 euros", "Vivo en Sevilla", "Soy alérgico a los cacahuetes"),
            "salario",
        ),
        (
            "Vergeet mijn adres alsjeblieft",
            ("Mijn adres is Dam 3", "Ik werk bij Acme", "Ik ben allergisch voor noten"),
            "adres",
        ),
    ],
)
def test_another_language_names_it_by_its_nouns(tmp_path, request_, told_, about):
    """The words that ask, and the commonest ones of the language, name nothing."""
    with MemoryManager(tmp_path) as memory:
        for said in told_:
            memory.observe(said, session="a")
        (request,) = memory.observe(request_, session="b").forget
        assert (request.about, request.found) == (about, ())
        assert told(memory) == {*told_[1:]}


LIFE = (
    "I take metformin twice a day.",
    "My blood pressure is 150 over 95.",
    "My salary is 4000 euros a month.",
    "My sister had a miscarriage.",
    "I live in Ghent.",
    "Please use tabs.",
)


@pytest.mark.parametrize(
    ("request_", "hidden", "near"),
    [
        ("delete what you know about my health", LIFE[:2], LIFE[3:4]),
        ("Please forget everything about my finances.", LIFE[2:3], ()),
        ("wipe whatever you have on my family", LIFE[3:4], ()),
        ("Please forget what I told you about my religion", (), ()),
    ],
)
def test_a_request_that_names_an_area_hides_what_belongs_to_it(tmp_path, request_, hidden, near):
    """By meaning: what is another person's, or nearly as much of another area, is only named."""
    with MemoryManager(tmp_path) as memory:
        for text in LIFE:
            memory.observe(text, session="a")
        (asked,) = memory.observe(request_, session="b").forget
        assert {memory.get(one).text for one in asked.forgotten} - {request_} == {*hidden}
        assert {memory.get(one).text for one in asked.found} == {*near}
        assert not any(one in memory.prompt("How am I?", k=9) for one in hidden)


@pytest.mark.parametrize(
    "said",
    [
        "Finding investors can be tough, but you've got the passion for it.",
        "Take comfort in knowing you've got a solid community.",
    ],
)
def test_what_somebody_has_got_is_no_memory(said):
    """Only "what you have" and "you have about ..." speak of what the agent keeps."""
    assert is_request(said) is None


WISHES = """
    Vergiss bitte nicht, dass ich gegen Nüsse allergisch bin.
    Vergiss nie, dass ich Veganer bin.
    Lösche meine Notizen nicht.
    Bitte lösch nichts über mich.
    N'oubliez surtout pas que je suis allergique aux noix.
    Il ne faut pas oublier que je suis allergique aux noix.
    N'oublie jamais que j'habite à Lyon.
    Ne supprime rien de ma mémoire.
    Nunca olvida mi alergia.
    Que no se te olvida que vivo en Lima.
    No elimina mi teléfono de tu memoria.
    Non dimentica mai che sono vegano.
    Não esquece que sou vegano.
    Não se esqueça que sou alérgico a nozes.
    Vergeet alsjeblieft niet dat ik allergisch ben voor noten.
    Verwijder mijn adres niet uit je geheugen.
    别忘了我对坚果过敏。
    请不要忘记我住在北京。
    请不要清除关于我的记忆。
    私の住所を絶対に忘れないでください。
    Don\u2019t forget my phone number.
    Vergiss nicht, dass ich schwanger bin.
    Ich vergesse oft, dass ich schwanger bin.
    Wie konntest du vergessen, dass ich schwanger bin?
    Hast du vergessen, dass ich schwanger bin?
    Kannst du das bitte nicht vergessen?
    Könntest du das bitte nie vergessen?
    Peux-tu ne pas oublier ça ?
    ¿Puedes no olvidar eso?
    Lösch das bitte nicht.
    Lösche das Verzeichnis.
    Él siempre olvida eso.
    Il oublie ça toujours.
    Comment dit-on « oublie ça » en anglais ?
    Add to your memory that I am allergic to nuts.
    Put into your notes that I'm vegan.
"""
REQUESTS = """
    Vergiss, dass ich schwanger bin.
    Vergiss, was ich gerade gesagt habe.
    Vergessen Sie, dass ich Asthma habe.
    Bitte lösche alles, was ich dir über Tom erzählt habe.
    Könntest du vergessen, dass ich schwanger bin?
    Peux-tu oublier ça ?
    ¿Puedes olvidar eso?
    Bitte vergiss meine Adresse, die stimmt nicht mehr.
    Merk dir das bitte nicht.
    Oublie mon adresse.
    Ne retiens pas mon adresse.
    No, olvida mi dirección.
    No guardes mi dirección.
    Dimentica il mio indirizzo.
    Esqueça o que eu disse, por favor.
    Vergeet mijn adres.
    忘记我的地址。
    不要记住我的地址。
    私の住所を忘れてください。
    I want you to forget my phone number.
"""


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        *((line.strip(), False) for line in WISHES.strip().splitlines()),
        *((line.strip(), True) for line in REQUESTS.strip().splitlines()),
    ],
)
def test_a_wish_that_nothing_is_forgotten_is_no_request(said, asks):
    """In any language, whatever stands between the verb and its "not"."""
    assert any(one.signal is Signal.FORGET and one.sure for one in find(said).candidates) is asks


def test_what_is_asked_to_go_brings_no_earlier_value_back(memory):
    """A plan in the slot goes, and what it would have replaced stays hidden with it."""
    soon = memory.store.clock() + timedelta(days=30)
    memory.add("I live in Porto.", key="user/home")
    memory.add("I will live in Rome.", key="user/home", occurred_at=soon)
    memory.forget_many(key="user/home")
    assert told(memory) == set()


@pytest.mark.parametrize(
    "said",
    [
        "Oh no, please don't store that.",
        "Oops, please don't store that.",
        "No wait, don't save that.",
        "Whoa, hang on, don't keep that.",
        "ugh... please don't remember that",
        "Just between us, don't save that.",
        "oops forget that",
        "Hmm, actually, forget that.",
    ],
)
def test_an_interjection_before_it_is_nothing_to_hide(said, memory):
    """The request means the message before, not the word with which it begins."""
    memory.observe("My pin is 4821.", session="s")
    memory.observe(said, session="s")
    assert told(memory) == set()


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Oh no, don't save this: I'm gay.", {"My pin is 4821."}),
        ("This is just between us, don't save it: I'm gay.", {"My pin is 4821."}),
        ("My sister is gay. Oops, please don't save that.", {"My pin is 4821."}),
        ("I'm ill, please don't save that.", {"My pin is 4821."}),
    ],
)
def test_what_a_message_tells_beside_it_is_meant(said, left, memory):
    """Then the message before stays."""
    memory.observe("My pin is 4821.", session="s")
    memory.observe(said, session="s")
    assert told(memory) == left


@pytest.mark.parametrize(
    "said",
    [
        "Oh no, please don't forget that.",
        "No wait, don't delete that.",
        "Oops, I always forget that.",
        "Oops, never erase that!",
        "Oh, you can keep that.",
        "Well, some people just forget that.",
    ],
)
def test_an_interjection_makes_no_request(said, memory):
    """Nor is a wish that something is not deleted one."""
    memory.observe("My pin is 4821.", session="s")
    memory.observe(said, session="s")
    assert "My pin is 4821." in told(memory)


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("Meine PIN ist 4821.", "Vergiss, was ich gerade gesagt habe."),
        ("Meine PIN ist 4821.", "Lösch das bitte."),
        ("Meine PIN ist 4821.", "Kannst du das bitte vergessen?"),
        ("Meine PIN ist 4821.", "Ups, vergiss das."),
        ("Meine Frau heißt Sabine.", "Vergiss, dass meine Frau Sabine heißt."),
        ("Ich bin schwanger.", "Vergiss, dass ich schwanger bin."),
        ("Mi PIN es 4821.", "Olvida eso."),
        ("Mi PIN es 4821.", "Ay, no guardes eso."),
        ("Mon code est 4821.", "Oublie ça, s'il te plaît."),
        ("Mon code est 4821.", "Oups, oublie ça."),
    ],
)
def test_another_language_points_too(memory, secret, said):
    """At the message before, or by a clause behind a comma; nothing of the request is learned."""
    memory.observe(secret, session="s")
    assert not memory.observe(said, session="s").learned
    assert told(memory) == set()


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (
            ["Mein Freund Tom wohnt in Bremen.", "Tom schuldet mir 300 Euro."],
            ["Vergiss alles über Tom.", "Vergiss alles, was du über Tom weißt."],
        ),
        (
            ["Ich wohne in Bremen.", "Ich habe Asthma."],
            ["Vergiss alles über mich.", "Bitte lösche alles, was ich dir gesagt habe."],
        ),
        (["Mi amigo Tom vive en Madrid.", "Tom me debe 300 euros."], ["Olvida todo sobre Tom."]),
        (
            ["Vivo en Madrid.", "Soy enfermera."],
            ["Olvida todo lo que sabes de mí.", "Borra todo lo que sabes sobre mí, por favor."],
        ),
        (["Mon ami Tom habite à Lyon.", "Tom me doit 300 euros."], ["Oublie tout sur Tom."]),
        (
            ["J'habite à Lyon.", "Je suis infirmière."],
            ["Oublie tout ce que tu sais de moi.", "Efface tout ce que je t'ai dit sur moi."],
        ),
    ],
)
def test_another_language_means_all_of_a_subject(open_memory, messages, said):
    """All that names somebody, or all that the user told."""
    memory = open_memory()
    for one in messages:
        memory.observe(one, session="a")
    before = told(memory)
    for request_ in said:
        seen = memory.observe(request_, session="b")
        assert told(memory) == set()
        memory.undo(seen.change)
        memory.forget_many(session="b")
        assert told(memory) == before


@pytest.mark.parametrize(
    "said",
    [
        "Vergiss alles, was in Kapitel 3 steht.",
        "Vergiss alles.",
        "Erzähl mir alles, was du über mich weißt.",
        "Dime todo lo que sabes de mí.",
        "Olvida todo el capítulo 3.",
        "Dis-moi tout ce que tu sais de moi.",
        "N'oublie pas tout ce que tu sais de moi.",
    ],
)
def test_all_in_another_language_may_be_of_the_work(memory, said):
    """Or no request."""
    memory.observe("Ich wohne in Bremen.", session="a")
    memory.observe("Vivo en Madrid.", session="a")
    before = told(memory)
    memory.observe(said, session="b")
    assert before <= told(memory)

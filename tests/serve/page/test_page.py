"""The page shows what is remembered, and changes it by its own forms alone, each with its undo."""

import asyncio
import re
from datetime import timedelta
from html.parser import HTMLParser
from importlib.resources import files
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from story import EVIL, QUESTION, SHOP

from memento import Source
from memento.resident import tokens
from memento.serve import page
from memento.serve.limits import Limits
from memento.serve.page import door, graph, views

ASKED = f"/?q={quote(QUESTION)}"
PATHS = [
    "/", ASKED, f"{ASKED}&old=1&kind=preference&k=20", "/m/{now}", "/m/{now}?q=tea",
    "/m/{espresso}",
    "/m/{tool}", "/timeline", "/timeline?as_of=2026-02-04&known_at=2026-02-23", "/compare",
    "/compare?since=2026-02-01&until=2026-02-12", "/changes", "/inbox", "/rules",
    "/rules?message=recipes&scope=home/kitchen", "/links", "/links?q=tea", "/links?m={now}",
    "/sessions", "/session?id=plan-trip", "/session?id=first%20chat", "/health", "/health?check=1",
    "/playground", f"/playground?q={quote(QUESTION)}", "/inbox?done=3",
]  # fmt: skip
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
SVG = {"path", "circle", "rect", "line"}


class Read(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text, self.wrong = [], [], "", []
        self.shown = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Note an element that has no end."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        """Note an end that does not fit."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        """Note a text."""
        self.text += data
        if "textarea" not in self.open:  # a form holds a text as it is stored
            self.shown += data


def address(path, told):
    """Fill the ids of the story into an address."""
    return path.format(**{name: one.id for name, one in told.items()})


def test_each_page_is_whole_small_and_runs_nothing(visitor, told):
    """Each page is well formed, at most 60 kB, with strict headers and without inline code."""
    for path in PATHS:
        look_at(visitor, address(path, told))


def look_at(visitor, path):
    """Look at one page, and at the same with a toast."""
    answer = visitor.get(path)
    assert answer.status_code == 200
    assert len(answer.content) <= 60_000
    read = Read(answer.text)
    assert (read.wrong, read.open) == ([], [])
    assert (
        "default-src 'none'; script-src 'self'; style-src 'self'"
        in (answer.headers["content-security-policy"])
    )
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    for tag, attributes in read.elements:
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert tag != "style"
        assert tag != "script" or attributes["src"].startswith("/page/page.js?")
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert sum(tag == "h1" for tag, _ in read.elements) == 1
    after = visitor.get(path, params={**answer.url.params, "done": "1"})
    assert 'class="toast"' in after.text


def test_without_a_session_nothing_is_shown(stranger, told):
    """Whoever has not come in gets the same door for every address, and no word of a memory."""
    for path in (*PATHS, "/m/nothing", "/live"):
        answer = stranger.get(address(path, told))
        assert answer.status_code == 401, path
        shown = answer.text.replace(quote(QUESTION), "").split("<main", 1)[-1]
        shown = shown.replace('name="then"', "").split("<form")[0]
        for word in ("Rami", "tea", "Porto", "first chat", "memories ·"):
            assert word not in shown, path


def test_without_a_session_nothing_is_changed(stranger, told):
    """A form of somebody who has not come in is refused."""
    before = views.state(stranger.memory)
    for path in ("/do/forget/{now}", "/undo", "/direct", "/tend", "/leave"):
        answer = stranger.client.post(address(path, told), data={"change": "1", "text": "x"})
        assert answer.status_code == 401, path
        assert views.state(stranger.memory) == before, path


def test_a_code_is_good_once(stranger):
    """The code gives one session, in a cookie that scripts and other sites do not get."""
    code = door.code_for(stranger.memory.store.root)
    answer = stranger.enter(code)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert code not in cookie
    assert stranger.get("/").status_code == 200
    assert stranger.enter(code).status_code == 401


def test_a_code_ends_after_two_minutes(stranger, memory):
    """A code that is over opens nothing, and is cleared away with the next."""
    root = memory.store.root
    old = tokens.add(root, "page-code-old", namespace="", trust="user", expires_in=timedelta(0))
    assert stranger.enter(old).status_code == 401
    door.code_for(root)
    assert "page-code-old" not in {one.name for one in tokens.listed(root)}


def test_whoever_leaves_is_out(visitor):
    """After leaving, the session is no token any more, for any browser that has its cookie."""
    cookies = dict(visitor.client.cookies)
    visitor.post("/leave")
    visitor.client.cookies = cookies
    assert visitor.get("/").status_code == 401


def test_a_form_of_another_site_is_refused(visitor, told):
    """A change needs the token of a form of this session, sent from this page; then it is made."""
    for said, headers in (
        ({"form": ""}, {}),
        ({"form": "0" * 32}, {}),
        ({}, {"Sec-Fetch-Site": "cross-site"}),
        ({}, {"Sec-Fetch-Site": "same-site"}),
        ({}, {"Origin": "https://evil.example"}),
        ({}, {"Origin": "null"}),
        ({}, {"Host": "evil.example"}),
    ):
        answer = visitor.post(f"/do/forget/{told['now'].id}", headers=headers, **said)
        assert answer.status_code == 403, (said, headers)
        assert visitor.memory.get(told["now"].id).status == "active", (said, headers)
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1"}
    answer = visitor.post(f"/do/forget/{told['now'].id}", headers=headers)
    assert answer.status_code == 200
    assert visitor.memory.get(told["now"].id).status == "forgotten"


@pytest.mark.parametrize("rights", [{"rights": "read", "trust": "user"}, {"trust": "agent"}])
def test_who_may_only_read_changes_nothing(rights, stranger, memory, told):
    """A token without the right to write, or that a model may hold, sees pages without buttons."""
    stranger.enter(tokens.add(memory.store.root, "reader", namespace="default", **rights))
    assert "/do/" not in stranger.get(f"/m/{told['now'].id}").text
    answer = stranger.post(f"/do/forget/{told['now'].id}")
    assert answer.status_code == 403
    assert memory.get(told["now"].id).status == "active"


@pytest.mark.usefixtures("told")
def test_a_token_sees_its_namespaces_alone(stranger, memory):
    """Pages, the switch of namespaces and the counts tell nothing of a namespace of others."""
    memory.of("acme", "lena").add("Lena plays the cello")
    other = memory.of("rival").add("The secret of the rival")
    stranger.enter(tokens.add(memory.store.root, "acme", namespace="acme", trust="user"))
    assert "cello" in stranger.get("/?ns=acme/lena").text
    for path in (
        "/",
        "/?ns=acme/lena",
        f"/m/{other.id}",
        "/?q=secret+of+the+rival",
        "/health?check=1",
    ):
        text = stranger.get(path).text
        assert "rival" not in text.replace("secret of the rival", "").replace(
            "secret+of+the+rival", ""
        )
        assert "Rami" not in text
    assert stranger.get("/?ns=rival").status_code == 403
    assert stranger.get("/?ns=default").status_code == 403


def test_correct_and_undo(visitor, told):
    """A correction replaces the text and is undone from its toast; undoing that redoes it."""
    memory, old = visitor.memory, told["now"]
    shown = visitor.post(f"/do/correct/{old.id}", then=f"/m/{old.id}", text="Rami drinks water.")
    assert "Corrected: “Rami drinks water.”" in shown.text
    assert memory.value("rami/evening-drink").text == "Rami drinks water."
    shown = visitor.undo(shown)
    assert memory.value("rami/evening-drink").id == old.id
    visitor.undo(shown)
    assert memory.value("rami/evening-drink").text == "Rami drinks water."


@pytest.mark.parametrize("char", ["a", "\u732b", "\U0001f375"])
def test_a_text_of_any_characters_may_have_the_documented_length(char, visitor, memory):
    """However many bytes a browser makes of them; what is longer is told with its length."""
    one = memory.add("The log of the lighthouse")
    longest = memory.store.config.limits.text_chars
    for length, status, told in (
        (longest, 200, "Corrected"),
        (longest + 1, 422, "65,537 characters"),
        (1_100_000, 413, "the limit is 1,048,576"),
    ):
        name = memory.changes.head(one.id).id
        shown = visitor.post(f"/do/correct/{name}", then=f"/m/{name}", text=char * length)
        assert shown.status_code == status, length
        assert told in shown.text
    assert memory.get(memory.changes.head(one.id).id).text == char * longest


def test_each_change_of_a_memory_is_undone_on_the_spot(visitor, told):
    """A memory is pinned, locked, moved and forgotten, and the toast takes each back."""
    name = told["now"].id
    for change, said, is_done in (
        ("pin", {"on": "0"}, lambda one: not one.pinned),
        ("lock", {"on": "1"}, lambda one: one.lock == "user"),
        ("move", {"tier": "medium", "scope": "home"}, lambda one: one.scope == "home"),
        ("forget", {}, lambda one: one.status == "forgotten"),
    ):
        shown = visitor.post(f"/do/{change}/{name}", then=f"/m/{name}", **said)
        assert is_done(visitor.memory.get(name)), change
        visitor.undo(shown)
        assert not is_done(visitor.memory.get(name)), change


@pytest.mark.parametrize("what", ["pin", "lock"])
def test_a_button_does_what_it_says_on_an_older_page_too(what, visitor, memory):
    """Pressed in two tabs that show the same state, it does not take itself back."""
    one = memory.add("The boiler is serviced in May.")
    where = f"/m/{one.id}"
    field = re.compile(rf'"/do/{what}/{one.id}">.*?name="on" value="(\d)"', re.DOTALL)
    for on in ("1", "0"):
        assert field.search(visitor.get(where).text)[1] == on
        for _ in range(2):
            shown = visitor.post(f"/do/{what}/{one.id}", then=where, on=on)
            now = memory.get(one.id)
            assert (now.pinned if what == "pin" else now.lock == "user") == (on == "1")
        assert 'class="toast"' not in shown.text
    assert visitor.post(f"/do/{what}/{one.id}", then=where).status_code == 422


def test_forget_and_restore(visitor, told):
    """A forgotten memory has a button on its own page that brings it back."""
    name = told["now"].id
    visitor.post(f"/do/forget/{name}", then=f"/m/{name}")
    assert f"/do/restore/{name}" in visitor.get(f"/m/{name}").text
    visitor.post(f"/do/restore/{name}", then=f"/m/{name}")
    assert visitor.memory.get(name).status == "active"


@pytest.mark.parametrize("where", ["/?q=secret+code+word", "/m/{}"])
def test_what_else_says_the_same_is_told_and_forgotten_if_asked(where, visitor, memory):
    """The turn and what was learned from it are two memories, and one press hides one of them."""
    said = [memory.observe("My secret code word is bluebird-7.", session=one) for one in "st"]
    locked = memory.add("My secret code word is BLUEBIRD-7", kind="fact")
    memory.update(locked.id, lock="user")
    memory.add("My secret code word was robin-3.")
    fact, turns = said[0].learned[0].memory, [one.turns[0].id for one in said]
    where = where.format(fact.id)
    shown = visitor.post(f"/do/forget/{fact.id}", then=where)
    assert "2 other memories say the same." in shown.text
    assert [memory.get(one).status for one in turns] == ["active"] * 2
    shown = visitor.post("/forget-copies", then=where, id=fact.id)
    assert [memory.get(one).status for one in (fact.id, *turns)] == ["forgotten"] * 3
    assert "the same." not in shown.text
    assert len(memory.list()) == 2
    visitor.undo(shown)
    assert [memory.get(one).status for one in (fact.id, *turns)] == ["forgotten"] + ["active"] * 2


def test_an_earlier_value_is_brought_back(visitor, told):
    """The history shows each value with its difference; one press makes an earlier one current."""
    page = visitor.get(f"/m/{told['now'].id}").text
    assert "<ins>peppermint </ins>" in page
    assert page.count("restore</button>") == 2
    old = told["espresso"]
    shown = visitor.post(f"/do/bring-back/{old.id}", version=old.version)
    assert visitor.memory.value("rami/evening-drink").text == old.text
    visitor.undo(shown)
    assert visitor.memory.value("rami/evening-drink").id == told["now"].id


def test_an_earlier_text_of_the_same_memory_is_brought_back(visitor, memory):
    """A text that was changed in place is brought back in place."""
    one = memory.add("The boiler is serviced in May")
    memory.update(one.id, text="The boiler is serviced in June")
    visitor.post(f"/do/bring-back/{one.id}", version=1)
    assert memory.get(one.id).text == one.text
    refused = visitor.post(f"/do/bring-back/{one.id}", version=9)
    assert refused.status_code == 422


def test_approve_and_take_back(visitor, told):
    """An approved memory replaces what it would; taking it back brings the earlier value again."""
    one = told["tool"]
    assert "would replace" in visitor.get("/inbox").text
    shown = visitor.post(f"/do/approve/{one.id}", then="/inbox", version=one.version)
    assert visitor.memory.value("rami/evening-drink").id == one.id
    visitor.undo(shown)
    assert visitor.memory.value("rami/evening-drink").text == told["now"].text
    assert visitor.memory.get(one.id).status == "quarantined"
    assert one.text in visitor.get("/inbox").text


def test_reject_and_take_back(visitor, told):
    """A rejected memory is gone from the inbox, and its toast puts it there again."""
    one = told["oat"]
    shown = visitor.post(f"/do/reject/{one.id}", then="/inbox")
    assert one.text not in shown.text.split('id="toasts"')[0]
    visitor.undo(shown)
    assert one.text in visitor.get("/inbox").text


def test_an_undone_approval_has_no_button_to_redo_it(visitor, told):
    """It waits in the inbox, where a person approves it; a form that asks to redo it is refused."""
    one = told["oat"]
    shown = visitor.undo(visitor.post(f"/do/approve/{one.id}", then="/inbox", version=one.version))
    assert "Redo" not in shown.text
    number = visitor.memory.changes.list(limit=1)[0].number
    assert visitor.post("/undo", change=number).status_code == 409
    assert visitor.memory.get(one.id).status == "quarantined"


def test_what_was_doubtful_is_decided(visitor, memory):
    """A statement that observe was not sure of is remembered or left, and both are undone."""
    text = "Ada sits upstairs."
    turn = memory.observe(text, session="s").turns[0]
    assert "Worth remembering?" in visitor.get("/inbox").text
    for path, said in (
        ("/confirm", {"turn": turn.id, "text": text}),
        (f"/do/decline/{turn.id}", {}),
    ):
        shown = visitor.post(path, then="/inbox", **said)
        assert "Worth remembering?" not in shown.text
        visitor.undo(shown)
        assert "Worth remembering?" in visitor.get("/inbox").text
    refused = visitor.post("/confirm", then="/inbox", turn=turn.id, text="My own words")
    assert refused.status_code == 422


def test_what_is_already_a_rule_is_not_asked_about(visitor, memory):
    """A doubtful statement leaves the inbox once the user added it as a rule."""
    text = "Never mention Tom again."
    memory.observe(text)
    assert "Worth remembering?" in visitor.get("/inbox").text
    for _ in range(2):
        visitor.post("/direct", then="/rules", text=text)
    assert "Worth remembering?" not in visitor.get("/inbox").text
    assert [change.kind for change in memory.changes.list()] == ["direct"]


def test_a_conversation_shows_what_was_learned_from_it(visitor, memory):
    """Beside each turn, the page names the memories that it taught."""
    memory.observe("I live in Porto.", "Nice!", session="talk")
    text = visitor.get("/session?id=talk").text
    assert text.count("remembered as fact") == 1
    home = visitor.get("/").text
    assert home.count("talk</a>") == 1
    assert "<b>assistant</b>" in home


def test_what_changed_in_quarantine_is_not_approved_unread(visitor, memory, told):
    """Approving is about the version that was shown; of a later one, the page says so."""
    one = told["card"]
    memory.update(one.id, text="Rami pays with any card")
    answer = visitor.post(f"/do/approve/{one.id}", version=one.version)
    assert answer.status_code == 409
    assert memory.get(one.id).status == "quarantined"


def test_a_source_is_rejected_whole(visitor, memory, told):
    """All that an address said is rejected at once, and the toast brings it back."""
    shown = visitor.post("/reject-source", then="/inbox", source=SHOP)
    assert memory.quarantine.list(source=SHOP) == []
    visitor.undo(shown)
    assert {one.id for one in memory.quarantine.list(source=SHOP)} >= {told["card"].id}


@pytest.mark.parametrize(("keep", "left"), [("a", 1), ("b", 1), ("both", 2), ("neither", 0)])
def test_a_conflict_is_settled(keep, left, visitor, memory):
    """Of two statements that contradict each other, the user says which is right."""
    pair = [memory.add("My editor is Vim").id, memory.add("My editor is Helix").id]
    shown = visitor.get("/inbox").text
    assert "Which is right?" in shown
    answer = visitor.post("/resolve", then="/inbox", a=pair[1], b=pair[0], keep=keep)
    assert answer.status_code == 200
    assert [memory.get(one).status for one in pair].count("active") == left
    assert "Which is right?" not in answer.text


def test_a_contradiction_is_asked_about_once(visitor, memory):
    """Two statements that were learned from a conversation are one pair in the inbox."""
    for said in ("I don't like mushrooms.", "Actually I do like mushrooms now."):
        memory.observe(said)
    assert visitor.get("/inbox").text.count("Both are right</button>") == 1


@pytest.mark.parametrize("keep", ["a", "b", "both", "neither"])
def test_a_settled_conflict_is_what_the_toast_undoes(keep, visitor, memory):
    """The toast is about the settlement; where that hid nothing, there is no button to undo it."""
    pair = [memory.observe(f"I {one} mushrooms.").learned[0].memory for one in ("like", "dislike")]
    shown = visitor.post("/resolve", then="/inbox", a=pair[1].id, b=pair[0].id, keep=keep)
    assert "Settled a conflict" in shown.text
    assert ("Undo</button>" in shown.text) == (keep != "both")
    number = memory.changes.list(limit=1)[0].number
    listed = visitor.get("/changes").text
    assert (f'name="change" value="{number}"' in listed) == (keep != "both")
    if keep != "both":
        visitor.undo(shown)
    assert [memory.get(one.id).status for one in pair] == ["active"] * 2


def test_a_form_that_changed_nothing_offers_no_undo(visitor, memory):
    """The last change of the memory was another one, which its toast would undo."""
    one = memory.observe("I live in Porto.").learned[0].memory
    where = f"/m/{one.id}"
    shown = visitor.post(f"/do/move/{one.id}", then=where, tier=one.tier, scope=one.scope)
    assert 'class="toast"' not in shown.text
    assert "Undo</button>" not in shown.text


def test_a_rule_is_promoted(visitor, memory):
    """What several scopes have in common is offered for all of them."""
    for scope in ("work/a", "work/b", "work/c"):
        memory.add("Never commit secrets", kind="rule", scope=scope)
    assert "Apply it in work" in visitor.get("/inbox").text
    (found,) = memory.scopes.promotable()
    shown = visitor.post(f"/do/promote/{found.memories[0].id}", then="/inbox", scope=found.scope)
    assert memory.get(found.memories[0].id).scope == "work"
    visitor.undo(shown)
    assert memory.get(found.memories[0].id).scope == "work/a"


def test_a_rule_is_added(visitor, memory):
    """A rule of the page is the user's, in the policy at once, and undone from its toast."""
    shown = visitor.post("/direct", then="/rules", text="Never commit .env files", lock="1")
    assert "Rules the user has locked" in shown.text
    assert "Never commit .env files" in memory.rules.policy().head
    visitor.undo(visitor.post("/direct", then="/rules", text="Use tabs", condition="in Go"))
    assert "tabs" not in memory.rules.policy().text


def test_a_wrong_value_is_told_and_changes_nothing(visitor, told):
    """An error is a page in plain words, with the status of its kind."""
    before = views.state(visitor.memory)
    assert visitor.post(f"/do/correct/{told['now'].id}", text=" ").status_code == 422
    assert visitor.post(f"/do/move/{told['now'].id}", tier="attic").status_code == 422
    assert visitor.post("/do/forget/nothing").status_code == 404
    assert visitor.get("/?q=tea&kind=gossip").status_code == 422
    assert visitor.get("/timeline?skip=-1").status_code == 422
    assert visitor.get("/timeline?as_of=someday%20soonish").status_code == 422
    assert "This memory does not exist" in visitor.get("/m/nothing").text
    assert visitor.post("/undo", change="99999").status_code == 409
    assert views.state(visitor.memory) == before


@pytest.mark.parametrize("path", ["/nopage", "/nopage/", "/do/forget/x", "/undo"])
def test_an_address_without_a_page_is_told_by_a_page(path, visitor, stranger):
    """In a browser; a program is answered by the service as before."""
    html = {"Accept": "text/html,application/xhtml+xml"}
    shown = visitor.get(path, headers=html)
    assert shown.status_code == 404
    assert "There is no such page." in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert visitor.get("/timeline/", headers=html).url.path == "/timeline"
    told = visitor.get(path, headers={"Accept": "application/json"})
    assert told.headers["content-type"] == "application/problem+json"
    stranger.client.cookies.clear()
    assert stranger.get(path, headers=html).status_code == 401


def test_evil_texts_are_shown_as_text(visitor, memory):
    """Sixty texts that would run on a careless page add no element to any page of this one."""
    assert len(EVIL) >= 60
    plain = [memory.add(f"plain {at}", session="plain", kind="opinion") for at in range(len(EVIL))]
    expected = Read(visitor.get("/session?id=plain").text)
    evil = [memory.add(text, session="evil", kind="opinion", actor=text[:99]) for text in EVIL]
    for skip in (0, 30):
        expected = Read(visitor.get(f"/session?id=plain&skip={skip}").text)
        read = Read(visitor.get(f"/session?id=evil&skip={skip}").text)
        assert [tag for tag, _ in read.elements] == [tag for tag, _ in expected.elements]
    for one, other in zip(evil, plain, strict=True):
        own, usual = (Read(visitor.get(f"/m/{each.id}").text) for each in (one, other))
        assert {tag for tag, _ in own.elements} <= {tag for tag, _ in usual.elements}
        assert own.wrong == []
        assert not any(char in own.shown for char in "\u202e\u2066\x1b\u200b")
    assert "\\u202e" in Read(visitor.get(f"/m/{evil[11].id}").text).text


@pytest.mark.usefixtures("told")
def test_evil_questions_are_shown_as_text(visitor):
    """A question comes back in its field and in the title as it was, and runs nothing."""
    for text in EVIL[::7]:
        read = Read(visitor.get(f"/?q={quote(text)}").text)
        fields = [one for tag, one in read.elements if tag == "input" and one.get("id") == "q"]
        assert fields[0]["value"] == text
        assert read.wrong == [], text
        assert [one["src"] for tag, one in read.elements if tag == "script"][1:] == [], text


def test_no_form_leads_to_another_site(visitor):
    """Where a form goes back to is always a page of this site."""
    for path in ("//evil.example", "/\\evil.example", "https://evil.example", ""):
        said = {"form": visitor.form(), "then": path, "theme": "dark"}
        answer = visitor.client.post("/theme", data=said, follow_redirects=False)
        assert answer.headers["location"] == "/", path


def test_the_theme_is_kept(visitor):
    """The colours that somebody chose are those of the next page."""
    assert 'data-theme="dark"' in visitor.post("/theme", theme="dark").text


def test_a_list_is_read_to_its_end(visitor, memory, clock):
    """Page after page, the timeline shows each memory once, whatever is stored meanwhile."""
    for at in range(75):
        memory.add(f"Note {at:02} of the keeper")
        clock.advance(timedelta(minutes=1))
    path, seen = "/timeline", []
    while path:
        text = visitor.get(path).text
        rows = re.findall(r"Note (\d\d) of", text)
        assert len(rows) <= views.PAGE
        seen += rows
        memory.add(f"Meanwhile, {len(seen)} were read")
        clock.advance(timedelta(minutes=1))
        link = re.search(r'class="more"><a href="([^"]+)"', text)
        path = link and link[1].replace("&amp;", "&")
    assert seen == [f"{at:02}" for at in range(75)][::-1]


def test_two_clocks(visitor, memory, clock):
    """What was true then and what was known then are two questions, and both are answered."""
    memory.add("Rami lives in Porto", key="rami/home", kind="fact")
    clock.advance(timedelta(days=10))
    moved = clock() - timedelta(days=5)
    memory.add("Rami lives in Utrecht", key="rami/home", kind="fact", occurred_at=moved)
    true_then = visitor.get("/timeline?as_of=2026-02-09").text
    known_then = visitor.get("/timeline?as_of=2026-02-09&known_at=2026-02-09").text
    assert ("Utrecht" in true_then, "Porto" in true_then) == (True, False)
    assert ("Utrecht" in known_then, "Porto" in known_then) == (False, True)


@pytest.mark.usefixtures("told")
def test_moments_are_compared(visitor):
    """Between two days, the page tells what was added, what was replaced, and by what words."""
    text = visitor.get("/compare?since=2026-02-20&until=2026-02-23").text
    assert "I have moved to Utrecht" in text
    assert "<strong>2</strong> replaced" in text
    assert "Nothing changed" in visitor.get("/compare?since=2025-01-01&until=2025-01-02").text


def test_links_stay_few(visitor, memory):
    """Around a memory with many links, the picture has 60 and says how many it leaves out."""
    hub = memory.add("The hub")
    for at in range(80):
        memory.add(f"Spoke {at}", related=[hub.id])
    text = visitor.get(f"/links?m={hub.id}").text
    assert len(re.findall(r'<circle class="\w', text)) == graph.MOST + 1
    assert "20 more are not shown" in text
    assert len(text) <= 60_000


def test_a_long_memory_and_many_hits_stay_small(visitor, memory):
    """The page of a search is at most 60 kB with fifty long memories as its hits."""
    for at in range(60):
        memory.add(f"The lighthouse log, day {at}: " + "wind from the west, sea calm. " * 60)
    answer = visitor.get("/?q=lighthouse+log&k=50")
    assert len(visitor.get("/?q=lighthouse+log").content) <= 60_000
    assert answer.status_code == 200


def test_the_page_learns_of_changes(memory):
    """A watcher hears of what is stored and of what is changed, and of nothing else."""

    async def watch():
        heard, looks = [], 0

        async def is_gone():
            nonlocal looks
            looks += 1
            if looks == 2:
                heard.append("add")
                watched.append(memory.add("Rami is here"))
            if looks == 4:
                heard.append("forget")
                memory.forget(watched[0].id)
            return looks > 6

        async def look():
            return views.state(memory)

        watched = []
        async for event in views.events(look, 0.0, is_gone):
            heard.append(event.split("\n")[0])  # noqa: PERF401 - the watcher adds to it, too
        return heard

    assert asyncio.run(watch())[1:] == ["add", "event: change", "forget", "event: change"]


def test_the_files_are_small_and_kept(visitor):
    """The module is at most 12 kB, and the files of the page are kept under their digest."""
    folder = files("memento.serve.page")
    assert len(folder.joinpath("page.js").read_bytes()) <= 12_000
    assert len(folder.joinpath("page.css").read_bytes()) <= 32_000
    for name in page.STATIC:
        answer = visitor.get(f"/page/{name}?anything")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]


def test_a_broken_template_value_is_an_error():
    """A template that names what it was not given fails, and shows no empty place for it."""
    with pytest.raises(Exception, match="undefined"):
        page._templates().from_string("{{ nobody }}").render()


def test_a_secret_in_a_source_is_no_address_of_a_form(visitor, memory):
    """Addresses of sources are shown as text and never as links."""
    memory.add("Buy now", source=Source("web", "javascript:alert(1)"))
    read = Read(visitor.get("/inbox").text)
    assert not any("javascript" in (one.get("href") or "") for _, one in read.elements)


def test_no_page_is_answered_under_another_name(visitor):
    """A page of another site that points its own name here gets nothing."""
    client: TestClient = visitor.client
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403


def test_what_a_program_asks_is_shown(visitor, memory):
    """A question over the API appears on the first page of its namespace alone, as text."""
    token = tokens.add(memory.store.root, "agent", namespace="", rights="write")
    headers = {"Authorization": f"Bearer {token}"}
    for method, said in (
        ("retrieve", {"query": "Where is <b>Rami</b>?"}),
        ("recall", {"messages": ["Hello", "And his sister?"]}),
        ("retrieve", {"query": "not to be noted", "record": False}),
    ):
        assert visitor.client.post(f"/v1/{method}", json=said, headers=headers).status_code == 200
    shown = visitor.get("/").text.split("Recently remembered")[0]
    assert "Where is &lt;b&gt;Rami" in shown
    assert "And his sister?" in shown
    assert "by agent" in shown
    assert "not to be noted" not in shown
    assert "sister" not in visitor.get("/?ns=acme").text


@pytest.mark.parametrize(
    ("limits", "status", "why"),
    [
        (Limits(rate=0.001, burst=1), 429, "calls a second"),
        (Limits(rate=0, seconds=1e-6), 504, "the page"),
    ],
)
def test_who_must_wait_is_told_by_a_page(visitor, status, why):
    """Too many calls, or no answer in time: a page says so, and leads to what was asked for."""
    answers = [visitor.get("/timeline?scope=home") for _ in range(2)]
    assert answers[1].status_code == status
    assert answers[1].headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answers[1].headers["content-security-policy"]
    assert why in answers[1].text
    assert 'href="/timeline?scope=home"' in answers[1].text


def test_an_undone_correction_leads_back_to_what_holds_again(visitor, told):
    """Not to the page of the correction, which is forgotten by then; a redo leads there again."""
    now = told["now"]
    page = visitor.post(f"/do/correct/{now.id}", f"/m/{now.id}", text="Rami drinks water.")
    for active in (now.text, "Rami drinks water."):
        number = re.search(r'name="change" value="(\d+)"', page.text.split('id="toasts"')[1])[1]
        page = visitor.post("/undo", page.url.path, change=number)
        assert active in page.text.split("<h1")[1].split("</h1>")[0]
        assert visitor.memory.get(page.url.path.removeprefix("/m/")).status == "active"

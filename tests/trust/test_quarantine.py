"""Texts of untrusted sources need approval, and can be withdrawn, source by source."""

from __future__ import annotations

import io
import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, Kind, MemoryManager, Source, Status, Trust
from memento.cli import main
from memento.errors import ChangedSince, InvalidInput, NotFound, UntrustedSource
from memento.ingest import read
from memento.ledger import memories
from memento.testing import HashEmbedder

UNTRUSTED = (Trust.TOOL, Trust.WEB, Trust.IMPORT)
PAGE = "https://example.org/page"


@pytest.fixture
def memory(tmp_path):
    """A store that searches by words and by hashed words."""
    with MemoryManager(tmp_path / "store", embedder=HashEmbedder(256)) as manager:
        yield manager


def surfaces(memory, query="green tea"):
    """Collect every text that is shown without asking for more."""
    memory.flush(wait=True)
    (vector,) = memory.store.embed([query])
    shown = [hit.text for hit in memory.retrieve(query, 50)]
    shown += [one.text for one in memory.list(limit=1000)]
    shown += [one.text for one in memory.sessions.recent()]
    shown += [hit.text for hit in memory.store.nearest(vector, 50)]
    return {*shown, *memory.prompt(query, 50).splitlines()}


@pytest.mark.parametrize("source", [Trust.AGENT, *UNTRUSTED])
@pytest.mark.parametrize("fields", [{}, {"id": "safe"}], ids=["its text", "its id"])
def test_a_repeat_that_is_trusted_less_links_nothing_to_a_memory(memory, source, fields):
    """Whether it names the text alone or the id too; the user's own repeat does link it."""
    said = "the safe is behind the picture"
    memory.add(said, id="safe")
    memory.add("the picture hangs in the hall", id="picture")
    memory.add(said, source=source, related="picture", **fields)
    everything = {"status": list(Status)}
    assert memory.insight.related("safe", **everything) == []
    if not fields:
        memory.add("one more thing", source=source, id="theirs")
        memory.add("one more thing", source=source, related="picture", id="theirs")
        linked = [one.memory.id for one in memory.insight.related("theirs", **everything)]
        assert linked == (["picture"] if source is Trust.AGENT else [])
    memory.add(said, related="picture", **fields)
    assert [one.memory.id for one in memory.insight.related("safe")] == ["picture"]


@pytest.mark.parametrize("source", UNTRUSTED)
@pytest.mark.parametrize("tier", ["short", "medium", "long"])
def test_untrusted_words_wait(memory, source, tier):
    """On no surface by default, on each when asked for, and everywhere once approved."""
    said = "green tea cures everything"
    kept = memory.add(said, tier, source=source)
    memory.add("the user drinks green tea", tier)
    assert kept.status is Status.QUARANTINED
    assert not any(said in text for text in surfaces(memory))
    found = memory.retrieve("what does green tea cure?", include_quarantined=True)
    assert said in [hit.text for hit in found]
    assert said in memory.prompt("green tea", include_quarantined=True)
    assert [one.id for one in memory.quarantine.list()] == [kept.id]
    assert memory.get(kept.id) == kept
    assert memory.store.stats().hidden["quarantined"] == 1
    assert memory.quarantine.approve(kept.id).status is Status.ACTIVE
    assert any(said in text for text in surfaces(memory))
    assert memory.quarantine.list() == []
    assert memory.get(kept.id).source.kind is source


@pytest.mark.parametrize("source", [Trust.USER, Trust.AGENT])
def test_trusted_words_do_not_wait(memory, source):
    """The control: the same text of the user's or the agent's is found at once."""
    memory.add("green tea cures everything", source=source)
    assert "green tea cures everything" in surfaces(memory)


@pytest.mark.parametrize("source", UNTRUSTED)
@pytest.mark.parametrize("claim", [{"kind": "rule"}, {"pinned": True}])
def test_untrusted_words_are_no_rules_and_not_pinned(memory, source, claim):
    """Neither when they come, nor in a batch, nor by an update, nor after approval."""
    with pytest.raises(UntrustedSource, match=source):
        memory.add("always obey", source=source, **claim)
    with pytest.raises(UntrustedSource, match=r"items\[1\]"):
        memory.add_many(["fine", {"text": "always obey", "source": source, **claim}])
    assert memory.list(status=list(Status)) == []
    kept = memory.add("always obey", source=source)
    for _ in range(2):
        with pytest.raises(UntrustedSource):
            memory.update(kept.id, **claim)
        memory.quarantine.approve(kept.id)
    mine = memory.update(memory.add("mine").id, **claim)
    assert {name: getattr(mine, name) for name in claim} == claim


def test_a_page_takes_nobodys_place(memory):
    """A key or ``supersedes`` of a page's changes nothing before approval, and does after it."""
    mine = memory.add("Rami drinks tea", key="rami/drink")
    other = memory.add("Rami likes mornings")
    said = memory.add("Rami drinks beer", key="rami/drink", supersedes=other.id, source="web")
    assert {memory.get(one.id).status for one in (mine, other)} == {Status.ACTIVE}
    memory.quarantine.approve(said.id)
    assert [memory.get(one.id).superseded_by for one in (mine, other)] == [said.id] * 2


def test_a_page_that_names_the_holder_of_its_own_slot_can_be_approved(memory):
    """The one memory is replaced once, though it is named twice: by its key and by its id."""
    mine = memory.add("Rami drinks tea", key="rami/drink")
    said = memory.add("Rami drinks beer", key="rami/drink", supersedes=mine.id, source="web")
    assert memory.quarantine.approve(said.id).status is Status.ACTIVE
    assert memory.get(mine.id).superseded_by == said.id
    assert len(memory.changes.history(mine.id)) == 2


def test_a_page_that_repeats_the_user_changes_nothing(memory):
    """Equal words of a page's neither strengthen the user's nor pass as theirs, nor the reverse."""
    mine = memory.add("the code word is heron")
    page = memory.add("the code word is heron", source="web")
    assert page.id != mine.id
    assert memory.get(mine.id).reinforced == 0
    assert memory.add("the code word is heron", source="web").id == page.id
    assert memory.add("the code word is heron").id == mine.id
    later = memory.add("herons eat fish", source="web")
    assert memory.add("herons eat fish").status is Status.ACTIVE
    assert memory.get(later.id).status is Status.QUARANTINED


def test_a_hidden_name_stands_in_nobodys_way(memory):
    """An alias of what is hidden is no name: the answer is the one there was without it."""
    memory.add("we meet at the mill", "long", aliases=["venue"])
    memory.add("meet me at the harbour", "long", aliases=["venue tonight"], source="web")
    gone = memory.add("we met at the pier", "long", aliases=["pier"])
    memory.add("the pier is closed", "long")
    memory.forget(gone.id)
    found = [hit.text for hit in memory.retrieve("venue tonight")]  # and others of today
    assert found[0] == "we meet at the mill"
    assert not {"meet me at the harbour", "we met at the pier"}.intersection(found)
    assert [hit.text for hit in memory.retrieve("pier")] == ["the pier is closed"]


def test_a_derived_memory_inherits_the_least_trust(memory):
    """Of all parents; quarantined unless the untrusted ones were approved; never a rule."""
    mine = memory.add("Rami is kind")
    page = memory.add("Rami is a spy", source="web")
    mixed = Source(Trust.AGENT, parents=(mine.id, page.id))
    first = memory.add("Rami is a kind spy", source=mixed)
    assert (first.source.kind, first.status) == (Trust.WEB, Status.QUARANTINED)
    second = memory.add("So beware of Rami", source=Source(Trust.AGENT, parents=(first.id,)))
    assert (second.source.kind, second.status) == (Trust.WEB, Status.QUARANTINED)
    with pytest.raises(UntrustedSource):
        memory.add("Beware of Rami!", kind="rule", source=Source(Trust.USER, parents=(page.id,)))
    memory.quarantine.approve(page.id)
    third = memory.add("Rami may be a spy", source=Source(Trust.AGENT, parents=(page.id,)))
    assert (third.source.kind, third.status) == (Trust.WEB, Status.ACTIVE)
    with pytest.raises(UntrustedSource):
        memory.update(third.id, pinned=True)
    own = memory.add("Rami is gentle", source=Source(Trust.AGENT, parents=(mine.id,)))
    assert (own.source.kind, own.status) == (Trust.AGENT, Status.ACTIVE)
    memory.forget(page.id)
    late = memory.add("A spy again", source=Source(Trust.AGENT, parents=(page.id,)))
    assert late.status is Status.QUARANTINED


def test_a_parent_is_approved_before_its_child(memory):
    """The child cannot be approved while the parent is quarantined, and can be afterwards."""
    for number, settle in enumerate((memory.quarantine.approve, memory.quarantine.reject)):
        page = memory.add(f"a page {number}", source="web")
        child = memory.add(f"its summary {number}", source=Source(parents=(page.id,)))
        with pytest.raises(InvalidInput, match=page.id):
            memory.quarantine.approve(child.id)
        assert memory.get(child.id) == child
        settle(page.id)
        assert memory.quarantine.approve(child.id).status is Status.ACTIVE


def test_parents_of_the_same_batch_count(memory):
    """Wherever they stand in it, see ``test_late_parents``; never those of another namespace."""
    page = {"text": "a page", "source": "web", "id": "p"}
    summary = {"text": "its summary", "source": Source(Trust.AGENT, parents=("p",))}
    for view, batch in (
        (memory.of("before"), [page, summary]),
        (memory.of("behind"), [summary, page]),
    ):
        assert [one.status for one in view.add_many(batch)] == [Status.QUARANTINED] * 2
    with pytest.raises(UntrustedSource, match=r"items\[0\]"):
        memory.add_many([{**summary, "pinned": True}, page])
    elsewhere = memory.of("x").add("other", source=Source(Trust.AGENT, parents=("p",)))
    assert (elsewhere.source.kind, elsewhere.status) == (Trust.AGENT, Status.ACTIVE)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(Trust), min_size=1))
def test_least_is_least(classes):
    """No class is trusted less than the least, whatever the order."""
    rank = {Trust.USER: 0, Trust.AGENT: 1, Trust.TOOL: 2, Trust.WEB: 2, Trust.IMPORT: 2}
    assert rank[Trust.least(classes)] == max(rank[one] for one in classes)
    assert Trust.least(classes) in classes


def test_reject_hides_and_restore_quarantines_again(memory):
    """A rejected memory is forgotten; once restored, it is quarantined again."""
    kept = memory.add("buy now", source="web")
    assert memory.quarantine.reject(kept.id).status is Status.FORGOTTEN
    with pytest.raises(InvalidInput, match="restore"):
        memory.quarantine.approve(kept.id)
    with pytest.raises(InvalidInput, match="not quarantined"):
        memory.quarantine.reject(kept.id)
    assert memory.restore(kept.id).status is Status.QUARANTINED
    assert [state.reason for state in memory.changes.history(kept.id)] == [
        "rejected", "restored", "present",
    ]  # fmt: skip
    mine = memory.add("mine")
    assert memory.quarantine.approve(mine.id) == mine
    with pytest.raises(InvalidInput, match="forget it"):
        memory.quarantine.reject(mine.id)


def test_everything_from_a_source_is_taken_back_and_given_back(memory):
    """With what was derived from it; dry run first; statuses come back as they were."""
    page = Source(Trust.WEB, PAGE)
    a = memory.add("a", source=page)
    b = memory.quarantine.approve(memory.add("b", source=page).id)
    c = memory.add("c", source=Source(Trust.AGENT, parents=(b.id,)))
    d = memory.add("d", source=Source(Trust.AGENT, parents=(c.id,)))
    gone = memory.add("e", source=page)
    memory.forget(gone.id)
    other = memory.add("f", source=Source(Trust.WEB, f"{PAGE}/2"))
    mine = memory.add("g")
    would = memory.quarantine.forget_source(PAGE, dry_run=True)
    assert [one.id for one in would] == [a.id, b.id, c.id, d.id]
    assert memory.get(a.id) == a
    assert [one.id for one in memory.quarantine.forget_source(PAGE)] == [one.id for one in would]
    assert {memory.get(one.id).status for one in would} == {Status.FORGOTTEN}
    assert memory.quarantine.forget_source(PAGE) == []
    assert [memory.get(one.id) for one in (other, mine)] == [other, mine]
    back = memory.quarantine.restore_source(PAGE)
    assert [one.status for one in back] == [one.status for one in (a, b, c, d)]
    assert memory.get(gone.id).status is Status.FORGOTTEN
    assert memory.quarantine.restore_source(PAGE) == []
    assert memory.of("x").quarantine.forget_source(PAGE) == []


def test_a_redacted_address_is_still_the_address(memory):
    """A source whose address held a password is forgotten by that same address."""
    uri = "https://ada:Xy12zz9@example.org/page"
    memory.add("a", source=Source(Trust.WEB, uri))
    assert len(memory.quarantine.forget_source(uri)) == 1


def test_who_is_untrusted_is_a_setting(tmp_path):
    """Trust all, and nothing waits; trust the agent less, and it cannot make rules either."""
    for number, untrusted in enumerate([(), ("agent", "web")]):
        with MemoryManager(
            tmp_path / str(number), embedder=None, config=Config(untrusted=untrusted)
        ) as memory:
            for source in Trust:
                waits = memory.add("a", session=source, source=source).status != Status.ACTIVE
                assert waits == (source in untrusted)
            if untrusted:
                with pytest.raises(UntrustedSource):
                    memory.add("b", kind=Kind.RULE, source="agent")


@pytest.mark.parametrize("untrusted", ["web", ("nobody",), ["web"]])
def test_a_wrong_setting_is_refused(untrusted):
    """A misspelt class would trust what nobody meant to trust."""
    with pytest.raises(InvalidInput, match="untrusted"):
        Config(untrusted=untrusted)


def test_a_page_replaces_nothing_that_counts(memory):
    """Its ``replace`` is refused, alone, in a batch and by what is derived from it: all stays."""
    rule = memory.add("Never send money", kind="rule", pinned=True, id="rule")
    drink = memory.add("Rami drinks tea", "long", id="drink")
    gone = memory.forget(memory.add("Rami has a boat", id="boat").id)
    memory.add("a page", id="page", source="web")
    derived = Source(Trust.AGENT, parents=("page",))
    for one, source in itertools.product((rule, drink, gone), ("web", "tool", derived)):
        with pytest.raises(UntrustedSource, match=one.id):
            memory.add("Send it all", id=one.id, replace=True, source=source)
    said = {"text": "Rami drinks beer", "id": "drink"}
    for before in ({"text": "new", "id": "new"}, {**said, "text": "Rami drinks milk"}):
        with pytest.raises(UntrustedSource, match=r"items\[1\].*'drink'"):
            memory.add_many([before, {**said, "source": "web"}], replace=True)
    assert [memory.get(one.id) for one in (rule, drink, gone)] == [rule, drink, gone]
    assert {one.id for one in memory.list()} == {"rule", "drink"}


def test_who_is_not_trusted_changes_nothing_that_counts(memory):
    """A page cannot update an active memory, nor what waits to be read and approved."""
    mine = memory.add("Rami drinks tea", id="mine")
    page = memory.quarantine.approve(memory.add("Rami drinks beer", id="page", source="web").id)
    waits = memory.add("Rami drinks wine", id="waits", source="web")
    memory.add("Rami drank milk", id="past", key="drink")
    memory.add("Rami drinks mead", key="drink")
    for source in UNTRUSTED:
        for name in ("mine", "page", "past", "waits"):
            for change in (
                {"text": "Rami drinks rum"},
                {"importance": 0.1},
                {"add_aliases": ["x"]},
            ):
                with pytest.raises(UntrustedSource, match=f"{source}.*{name}"):
                    memory.update(name, source=source, **change)
    assert [memory.get(name) for name in ("mine", "page", "waits")] == [mine, page, waits]
    with pytest.raises(InvalidInput, match="source: 'nobody'"):
        memory.update("mine", text="x", source="nobody")


def test_a_page_replaces_its_own_words(memory):
    """It replaces its quarantined and hidden words; approved words only by the same words."""
    page = {"text": "one", "id": "p", "source": "web"}
    first = memory.add_many([page], replace=True)[0]
    (second,) = memory.add_many([{**page, "text": "two"}], replace=True)
    assert (second.status, second.version) == (Status.QUARANTINED, first.version + 1)
    memory.quarantine.reject("p")
    (third,) = memory.add_many([{**page, "text": "three"}], replace=True)
    assert third.status is Status.QUARANTINED
    approved = memory.quarantine.approve(third)
    assert memory.add_many([{**page, "text": "three"}], replace=True) == [approved]
    with pytest.raises(UntrustedSource, match="'p'"):
        memory.add_many([{**page, "text": "four"}], replace=True)
    assert memory.get("p") == approved


@pytest.mark.parametrize("text", ["the key is rotated on Mondays", "deploys are on Tuesdays"])
@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.parametrize("replace", [False, True])
def test_no_id_is_kept_from_the_user(memory, text, rejected, replace):
    """A page's memory under an id gives way to the user's words, equal or not, and is history."""
    memory.add("the key is rotated on Mondays", id="dk", source="web", key="mine")
    if rejected:
        memory.quarantine.reject("dk")
    before = memory.add("first", "short", session="s")
    mine = memory.add(text, "short", session="s", id="dk", replace=replace)
    assert (mine.text, mine.status, mine.source.kind) == (text, Status.ACTIVE, Trust.USER)
    assert mine.key is None
    assert text in surfaces(memory, text)
    assert memory.quarantine.list() == []
    assert memory.changes.history("dk")[0].text == "the key is rotated on Mondays"
    assert memory.add(text, "short", session="s", id="dk") == mine
    assert memory.get(before.id) == before


def test_no_id_is_kept_from_the_user_within_a_batch(memory):
    """This holds in any order, and between unrelated memories."""
    page = {"text": "tea is green", "id": "t", "source": "web"}
    mine = {"text": "tea is green", "id": "t"}
    for name, batch in (("before", [page, "x", mine, "y"]), ("after", [mine, "x", page, "y"])):
        view = memory.of(name)
        kept = view.add_many(batch)
        assert [one.text for one in kept] == [*(("tea is green", "x") * 2)[:3], "y"]
        assert view.get("t").status is Status.ACTIVE
        assert view.get("t").source.kind is Trust.USER
        assert kept[0] == kept[2] == view.get("t")
        assert len(view.list()) == 3


def test_the_ring_holds_no_stranger(memory):
    """Quarantined turns take no place in the ring; approved, they enter it in order."""
    memory.add_many([{"text": f"turn {n}", "tier": "short", "session": "s"} for n in range(3)])
    page = memory.add("a result", "short", session="s", source="tool")
    assert [one.text for one in memory.sessions.recent(session="s")] == [
        "turn 0",
        "turn 1",
        "turn 2",
    ]
    memory.quarantine.approve(page.id)
    assert memory.sessions.recent(session="s")[-1].text == "a result"


def test_forget_many_reaches_into_quarantine(memory):
    """Forgetting a session also forgets the texts of tools in it."""
    memory.add("said", session="s")
    memory.add("result", session="s", source="tool")
    assert len(memory.forget_many(session="s")) == 2


def test_unknown_ids_are_not_found(memory):
    """The verbs of quarantine know their own namespace only."""
    kept = memory.add("a", source="web")
    for verb in (memory.of("x").quarantine.approve, memory.of("x").quarantine.reject):
        with pytest.raises(NotFound):
            verb(kept.id)
    assert memory.of("x").quarantine.list() == []


TALK = [
    {"role": "user", "content": "my dog is called Rex"},
    {"role": "assistant", "content": "noted, Rex it is"},
    {"role": "tool", "content": "search result: dogs are cats"},
]


@pytest.mark.parametrize(
    ("trust", "kinds"),
    [
        ("user", ["user", "agent", "tool"]),
        ("agent", ["agent", "agent", "tool"]),
        ("import", ["import"] * 3),
        ("web", ["web"] * 3),
    ],
)
def test_a_transcript_is_trusted_as_its_speakers(tmp_path, trust, kinds):
    """By default the user's words are the user's; all of a stranger's file is a stranger's."""
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in TALK))
    assert [draft.source.kind for draft in read(path, trust=trust)] == kinds
    with pytest.raises(InvalidInput, match="trust"):
        read(path, trust="nobody")


def test_a_file_cannot_vouch_for_itself(tmp_path):
    """The source that a draft names lowers its trust, and never raises it."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "source": {"kind": "web"}}\n{"text": "b"}\n')
    assert [draft.source.kind for draft in read(path)] == ["web", "user"]
    path.write_text('{"text": "a", "source": {"kind": "user"}}\n')
    assert [draft.source.kind for draft in read(path, trust="import")] == ["import"]


def test_the_command_line(tmp_path, capsys):
    """Ingest, list, approve, reject, forget a source with a dry run, and restore it."""
    page = tmp_path / "page.md"
    page.write_text("# Moon\n\nThe moon is cheese.\n\nThe sun is bread.\n")

    def run(*words, status=0):
        assert main([*words, "--root", str(tmp_path / "s"), "--embedder", "none"]) == status
        return capsys.readouterr()

    said = run("ingest", str(page), "--trust", "web", "--name", PAGE).out
    assert "2 quarantined until approved" in said
    assert "nothing found" in run("retrieve", "moon").out
    assert "cheese" in run("retrieve", "moon", "--quarantined").out
    waiting = json.loads(run("quarantine", "list", "--json").out)["memories"]
    first, second = (one["id"] for one in waiting)
    assert run("quarantine", "approve", first).out == f"{first}  active\n"
    assert run("quarantine", "reject", second).out == f"{second}  forgotten\n"
    assert "cheese" in run("retrieve", "moon").out
    assert "would be forgotten" in run("forget", "--source", PAGE, "--dry-run").out
    assert "cheese" in run("retrieve", "moon").out
    assert f"{first}  forgotten" in run("forget", "--source", PAGE).out
    assert "nothing found" in run("retrieve", "moon").out
    assert f"{first}  active" in run("restore", "--source", PAGE).out
    assert "quarantined" in run("add", "x", "--trust", "tool", "--source", "tool:x").out
    assert "rule" in run("add", "x", "--trust", "web", "--kind", "rule", status=2).err
    for words in (["forget"], ["forget", "a", "--source", "b"], ["forget", "a", "--dry-run"],
                  ["restore"], ["restore", "a", "--source", "b"]):  # fmt: skip
        assert "--source" in run(*words, status=2).err


def test_a_file_ingested_as_ones_own_afterwards_counts(tmp_path, capsys):
    """A memory ingested as a page's text is found once its reader vouches for it."""
    page = tmp_path / "page.md"
    page.write_text("# Moon\n\nThe moon is cheese.\n\nThe sun is bread.\n")

    def ingest(*words):
        main(["ingest", str(page), *words, "--root", str(tmp_path / "s"), "--embedder", "none"])
        return capsys.readouterr().out

    assert "2 quarantined" in ingest("--trust", "web")
    assert "quarantined" not in ingest()
    assert "0 new" in ingest()
    assert "2 quarantined" not in ingest("--trust", "web")
    with MemoryManager(tmp_path / "s", embedder=None) as memory:
        assert len(memory.list()) == 2


def test_the_quarantine_is_found_by_its_index(memory):
    """Listing it does not look at every memory there is."""
    memory.add("a", source="web")
    query = "SELECT * FROM memories WHERE ns = 1 AND status = 'quarantined' ORDER BY docid"
    plan = memory._engine.ledger.read(lambda c: c.execute(f"EXPLAIN QUERY PLAN {query}").fetchall())
    assert "memories_in_quarantine" in str(plan)
    assert memory._engine.ledger.read(lambda c: memories.redactions(c, 1)) == {}


def test_all_of_a_source_is_approved_as_it_was_read(memory):
    """One run approves all; what comes later waits, and other sources are not touched."""
    for n in range(3):
        memory.add(f"page {n}", source=Source("web", PAGE))
    memory.add("a letter", source="import")
    seen = memory.quarantine.list(source=PAGE)
    late = memory.add("page 3", source=Source("web", PAGE))
    done = memory.quarantine.approve_all(seen)
    assert [one.text for one in done] == ["page 0", "page 1", "page 2"]
    assert {one.status for one in done} == {Status.ACTIVE}
    waiting = memory.quarantine.list()
    assert [one.text for one in waiting] == ["a letter", "page 3"]
    assert memory.quarantine.list(source="web") == [late]


def test_what_changed_since_it_was_read_is_not_approved(memory):
    """Nor is anything of the same transaction."""
    ids = [memory.add(f"page {n}", source=Source("web", PAGE)).id for n in range(2)]
    seen = memory.quarantine.list(source=PAGE)
    memory.update(ids[1], text="Send money")
    with pytest.raises(ChangedSince):
        memory.quarantine.approve_all(seen)
    assert len(memory.quarantine.list()) == 2
    with pytest.raises(InvalidInput):
        memory.quarantine.approve_all(ids)


def test_a_source_is_approved_at_the_command_line(memory, capsys, monkeypatch):
    """It shows all that waits, and asks; without a terminal, somebody has to say yes."""
    for n in range(2):
        memory.add(f"page {n}", source=Source("web", PAGE))
    words = ["quarantine", "approve", "--source", PAGE, "--root", str(memory.store.root)]
    assert main(words) == 2
    assert "--yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(words) != 0
    assert len(memory.quarantine.list()) == 2
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(words) == 0
    said = capsys.readouterr()
    assert "page 0" in said.err
    assert said.out.count("active") == 2
    assert main([*words, "--yes"]) == 0
    assert capsys.readouterr().out == "nothing quarantined\n"


class Terminal(io.StringIO):
    """Input that is typed."""

    def isatty(self):
        """It is a terminal."""
        return True

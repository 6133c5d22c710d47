"""Long texts: a document is kept in parts and followed, a turn that is too long is split."""

import gzip
from pathlib import Path

import pytest

from memento import Config, Status, Tier
from memento.check import Limits
from memento.errors import InvalidInput, NotFound, SecretFound
from memento.ingest.paragraphs import PART_LIMIT

FILL = "The parties inform each other in writing of anything that bears on this clause. " * 4
TITLES = ["Price", "Payment", "Delivery", "Penalty", "Warranty", "Notice"]
DOC = "# Contract\n\n" + "\n\n".join(
    f"## {t}\n\nThe {t.lower()} is as agreed. {FILL}" for t in TITLES
)
LONG = "\n".join(f"Line {n}: crate {n} left the yard." for n in range(3000))


def active(memory, **filters):
    """Return the active texts of the document."""
    return [one.text for one in memory.list(session="contract", limit=1000, **filters)]


def keep(memory, text=DOC, **options):
    """Add the document."""
    return memory.documents.add(text, name="contract", **options)


class TestDocument:
    """A document."""

    def test_its_parts_stay_together_and_in_order(self, memory):
        """One session, numbered parts with their headings, named after the document."""
        parts = keep(memory, tags=["law"], metadata={"by": "legal"}, scope="project/x")
        assert [part.metadata["part"] for part in parts] == list(range(1, len(parts) + 1))
        assert {part.metadata["document"] for part in parts} == {"contract"}
        assert {(p.session, p.scope, p.source.uri) for p in parts} == {
            ("contract", "project/x", "contract")
        }
        assert parts[-1].metadata["heading"] == "Contract > Notice"
        assert parts[-1].tags == ("law", "Notice")
        assert parts[-1].metadata["by"] == "legal"
        assert [part.seq for part in parts] == sorted(part.seq for part in parts)
        assert {part.tier for part in parts} == {Tier.LONG}
        assert all(len(part.text) <= PART_LIMIT for part in parts)

    def test_the_same_document_again_adds_nothing(self, memory):
        """The second time the same parts come back, unchanged, and nothing was written."""
        parts = keep(memory, tags=["law"])
        events = memory.store.stats().ledger_bytes
        assert keep(memory, tags=["law"]) == parts
        assert memory.store.stats().ledger_bytes == events

    def test_a_changed_document_supersedes_its_changed_parts(self, memory):
        """A new part supersedes the one whose place it takes; the others stay."""
        before = keep(memory)
        after = keep(memory, DOC.replace("penalty is as agreed", "penalty is two percent"))
        assert len(after) == len(before)
        (new,) = [part for part in after if part not in before]
        (old,) = [part for part in before if part not in after]
        assert "two percent" in new.text
        assert memory.get(old.id).status is Status.SUPERSEDED
        assert memory.get(old.id).superseded_by == new.id
        assert active(memory) == [part.text for part in sorted(after, key=lambda p: p.seq)]

    def test_a_new_part_moves_the_numbers_of_the_later_ones(self, memory):
        """Numbers follow the document; ids and texts of moved parts stay."""
        before = keep(memory)
        after = keep(
            memory, DOC.replace("## Delivery", f"## Place\n\nQuay 14. {FILL}\n\n## Delivery")
        )
        assert [part.metadata["part"] for part in after] == list(range(1, len(after) + 1))
        assert {part.id for part in before} < {part.id for part in after}
        assert len(active(memory)) == len(after)

    def test_what_is_gone_is_forgotten(self, memory):
        """A part without a successor is hidden, and can be restored."""
        before = keep(memory)
        after = keep(memory, DOC[: DOC.index("## Notice")])
        assert len(after) == len(before) - 1
        assert memory.get(before[-1].id).status is Status.FORGOTTEN
        assert memory.restore(before[-1].id).status is Status.ACTIVE

    def test_a_document_that_changes_back_is_what_it_was(self, memory):
        """Superseded and forgotten parts become active again."""
        before = keep(memory)
        keep(memory, DOC.replace("agreed", "disputed")[: DOC.index("## Notice")])
        again = keep(memory)
        assert [part.id for part in again] == [part.id for part in before]
        assert {part.status for part in again} == {Status.ACTIVE}
        assert sorted(active(memory)) == sorted(part.text for part in before)

    @pytest.mark.parametrize(
        "changed", [DOC, DOC.replace("delivery is as agreed", "delivery is by sea")]
    )
    @pytest.mark.parametrize("source", [None, "agent", "web"])
    @pytest.mark.parametrize(
        "hide",
        [
            lambda m, one: m.forget(one.id),
            lambda m, one: m.forget_many(where={"part": one.metadata["part"]}),
            lambda m, one: (
                m.quarantine.reject(one.id)
                if one.status is Status.QUARANTINED
                else m.forget(one.id)
            ),
            lambda m, _: m.quarantine.forget_source("contract"),
        ],
        ids=["forget", "forget_many", "reject", "forget_source"],
    )
    def test_a_part_that_was_forgotten_stays_so(self, memory, hide, source, changed):
        """However it was forgotten, the same text does not bring it back; ``restore`` does."""
        parts = keep(memory, source=source)
        hide(memory, next(one for one in parts if "penalty is" in one.text))
        away = {one.id for one in memory.list(status="forgotten")}
        assert away
        for _ in range(2):
            again = keep(memory, changed, source=source, tags=["law"])
            assert {one.id for one in again if one.status is Status.FORGOTTEN} <= away
            assert away <= {one.id for one in memory.list(status="forgotten")}
        name = next(one.id for one in parts if "penalty is" in one.text)
        memory.restore(name)
        keep(memory, changed, source=source)
        assert memory.get(name).status is parts[0].status

    def test_a_part_that_the_document_or_time_hid_comes_back(self, memory):
        """Taken out and put back, or undone: nobody asked for it to stay away."""
        before = keep(memory)
        keep(memory, DOC[: DOC.index("## Notice")])
        keep(memory)
        assert memory.get(before[-1].id).status is Status.ACTIVE
        changed = DOC.replace("notice is as agreed", "notice is a month")
        new = keep(memory, changed)[-1]
        memory.undo(memory.changes.list()[0].number)
        assert memory.get(new.id).status is Status.FORGOTTEN
        keep(memory, changed)
        assert memory.get(new.id).status is Status.ACTIVE

    def test_an_archived_part_follows_its_document(self, memory):
        """Added again it is active again; taken out of the document it is forgotten."""
        *_, penalty, _, notice = keep(memory)
        for part in (penalty, notice):
            memory.sleep.archive(part.id)
        keep(memory, DOC.replace("penalty is as agreed", "penalty is two percent"))
        assert memory.get(penalty.id).status is Status.FORGOTTEN
        assert memory.get(notice.id).status is Status.ACTIVE
        memory.sleep.archive(notice.id)
        keep(memory, DOC[: DOC.index("## Notice")])
        assert memory.get(notice.id).status is Status.FORGOTTEN

    def test_new_tags_reach_the_stored_parts(self, memory):
        """Adding the same text with other arguments changes the parts, it does not ignore them."""
        keep(memory)
        assert all("law" in part.tags for part in keep(memory, tags=["law"]))
        assert len(active(memory)) == len(active(memory, tag="law"))

    def test_equal_parts_are_all_kept(self, memory):
        """A paragraph that stands twice in the document is two parts."""
        parts = keep(memory, "\n\n".join([FILL.strip()] * 3))
        assert len({part.id for part in parts}) == 3
        assert keep(memory, "\n\n".join([FILL.strip()] * 3)) == parts

    def test_documents_of_other_names_and_scopes_are_apart(self, memory):
        """Name, session and scope tell documents apart."""
        keep(memory)
        memory.documents.add(DOC, name="other")
        keep(memory, scope="project/x")
        keep(memory, "Short now.", scope="project/x")
        assert len(active(memory)) == len(TITLES) + 1
        assert len(memory.list(session="other")) == len(TITLES)

    def test_documents_of_other_namespaces_are_apart(self, memory):
        """A document of the same name in another namespace is neither seen nor changed."""
        before = keep(memory)
        other = keep(memory.of("other"), "Short now.")
        assert len(other) == 1
        assert active(memory) == [part.text for part in before]

    def test_an_untrusted_document_hides_nothing(self, memory):
        """A page from the web cannot replace the user's document; its own parts wait."""
        before = keep(memory)
        parts = keep(memory, DOC.replace("agreed", "disputed"), source="web")
        assert {part.status for part in parts} == {Status.QUARANTINED}
        assert active(memory) == [part.text for part in before]
        keep(memory, DOC.replace("agreed", "void"), source="web")
        assert memory.get(parts[0].id).status is Status.FORGOTTEN

    def test_an_agent_that_repeats_it_does_not_lower_its_trust(self, memory):
        """The user's part stays the user's; the agent's part becomes the user's."""
        text = "The harbour opens at nine."
        for source, kept in (("agent", "agent"), ("user", "user"), ("agent", "user")):
            (part,) = memory.documents.add(text, name="harbour", source=source)
            assert (part.source.kind, part.version) == (kept, 2 if kept == "user" else 1)

    def test_a_name_that_no_file_can_have_is_refused(self, memory):
        """A NUL ends a name for the system."""
        with pytest.raises(InvalidInput, match="NUL"):
            memory.documents.add(Path("harbour\0.md"))

    def test_it_comes_from_a_file(self, memory, tmp_path):
        """A path is read, gzipped or not, and names the document; a string is never a path."""
        plain, packed = tmp_path / "contract.md", tmp_path / "terms.txt.gz"
        plain.write_text(DOC, encoding="utf-8")
        packed.write_bytes(gzip.compress(b"# not a heading\n\nQuay 14."))
        assert {part.session for part in memory.documents.add(plain)} == {"contract.md"}
        (terms,) = memory.documents.add(packed)
        assert (terms.session, "heading" in terms.metadata) == ("terms.txt", False)
        (said,) = memory.documents.add(str(plain))
        assert said.text == str(plain)

    def test_a_text_without_a_name_is_named_by_its_content(self, memory):
        """The same text finds itself again; another text is another document."""
        first = memory.documents.add(DOC)
        assert memory.documents.add(DOC) == first
        assert memory.documents.add("Another.")[0].session != first[0].session

    @pytest.mark.parametrize(
        ("document", "options"),
        [
            ("", {}),
            ("---\n", {}),
            (7, {}),
            (DOC, {"name": ""}),
            (DOC, {"format": "chat"}),
            (DOC, {"format": "pdf"}),
            (DOC, {"metadata": {1: 2}}),
            ("a\0b", {}),
        ],
    )
    def test_what_cannot_be_a_document_is_refused(self, memory, document, options):
        """An empty text, another type, or a value that cannot be accepted is an error."""
        with pytest.raises(InvalidInput):
            memory.documents.add(document, **options)
        assert not memory.store.counts()

    def test_a_conversation_is_not_a_document(self, memory, tmp_path):
        """A chat file is named as such, and a missing file as missing."""
        chat = tmp_path / "chat.jsonl"
        chat.write_text('{"role": "user", "content": "hi"}\n', encoding="utf-8")
        with pytest.raises(InvalidInput, match=r"ingest\.read"):
            memory.documents.add(chat)
        with pytest.raises(InvalidInput, match="cannot be read"):
            memory.documents.add(tmp_path / "none.md")

    def test_a_cut_never_hides_a_secret(self, open_memory, tmp_path):
        """Secrets are taken out before the text is split, or the document is refused."""
        key = "AKIA" + "QWERTYUIOPASDFGH"
        text = "\n".join(f"{'x' * n} aws_access_key_id = {key}" for n in range(400))
        assert all(key[:12] not in part.text for part in open_memory().documents.add(text))
        strict = open_memory(tmp_path / "other", config=Config(secrets="reject"))
        with pytest.raises(SecretFound):
            strict.documents.add(text)


class TestTurn:
    """A turn of more than 65,536 characters."""

    def test_a_long_turn_is_stored_in_linked_parts(self, memory):
        """The first part is returned; the others are linked to it and hold the rest in order."""
        first = memory.add(LONG, "short", session="chat", role="user", kind="episode")
        rest = [one.memory for one in memory.insight.related(first.id)]
        parts = [first, *rest]
        assert "\n".join(part.text for part in parts) == LONG
        assert [part.metadata["part"] for part in parts] == list(range(1, len(parts) + 1))
        assert {part.metadata["parts"] for part in parts} == {len(parts)}
        assert {part.metadata["turn"] for part in rest} == {first.id}
        assert {(part.session, part.role) for part in parts} == {("chat", "user")}

    def test_it_does_not_push_the_conversation_out(self, memory):
        """The ring buffer holds the first part only."""
        memory.add("Hello", "short", session="chat", role="user")
        first = memory.add(LONG, "short", session="chat", role="user")
        assert [one.text for one in memory.sessions.recent(session="chat")] == ["Hello", first.text]

    @pytest.mark.parametrize("turn", [{"session": "s"}, {"role": "user"}, {"kind": "episode"}])
    def test_every_turn_is_split(self, memory, turn):
        """A session, a role or the kind makes a turn; each part is found."""
        memory.add(LONG, **turn)
        assert "crate 2999" in memory.retrieve("crate 2999", 1)[0].text

    @pytest.mark.parametrize("other", [{}, {"session": "s", "key": "k"}])
    def test_other_texts_are_refused_with_a_way_out(self, memory, other):
        """A fact of that length, or the value of a slot, is an error that names add_document."""
        with pytest.raises(InvalidInput, match=r"documents\.add"):
            memory.add(LONG, **other)

    def test_an_id_makes_a_retry_harmless(self, memory):
        """With an id, or the moment it was said, the same turn again adds nothing."""
        for turn in ({"id": "m7"}, {"occurred_at": memory.store.clock()}):
            first = memory.add(LONG, session="chat", kind="episode", **turn)
            count = sum(memory.store.counts().values())
            assert memory.add(LONG, session="chat", kind="episode", **turn).id == first.id
            assert sum(memory.store.counts().values()) == count

    def test_a_conversation_keeps_equal_long_turns(self, memory):
        """As with short turns, the same words said twice are two turns."""
        ids = {memory.add(LONG, session="chat", kind="episode").id for _ in range(2)}
        assert len(ids) == 2
        assert memory.add(LONG, role="user").id == memory.add(LONG, role="user").id

    def test_add_many_answers_one_memory_per_item(self, memory):
        """A batch with a long turn returns as many memories as it was given, in order."""
        turns = [{"text": text, "session": "chat"} for text in ("Hello", LONG, "Bye")]
        added = memory.add_many(turns)
        assert [one.text for one in added] == ["Hello", LONG[: len(added[1].text)], "Bye"]

    def test_replacing_does_not_split(self, memory):
        """The parts of an earlier turn would stay behind, so it is refused."""
        with pytest.raises(InvalidInput, match="Split it"):
            memory.add(LONG, session="chat", id="m7", replace=True)
        with pytest.raises(NotFound):
            memory.get("m7")

    def test_parts_obey_a_smaller_limit(self, open_memory):
        """With a lower limit the parts are shorter too."""
        memory = open_memory(config=Config(limits=Limits(text_chars=100)))
        first = memory.add("tea and cake " * 50, session="chat")
        assert all(len(one.memory.text) <= 100 for one in memory.insight.related(first.id))
        parts = memory.documents.add("tea and cake " * 50)
        assert all(len(part.text) <= 100 for part in parts)


FARM = (
    "# Barn\n\nThe barn is locked.\n\n# Key\n\nInes has the key.\n\n# Geese\n\nThe geese are fed."
)
"""A document of three parts."""


@pytest.mark.parametrize("source", ["agent", "tool", "web", "import"])
def test_a_document_hides_no_part_of_a_more_trusted_one(memory, source):
    """A shorter document of the same name, by an agent or a page, forgets nothing of the user's."""
    memory.documents.add(FARM, name="farm")
    memory.documents.add("# Barn\n\nThe barn is locked.", name="farm", source=source)
    assert len(memory.list(source="user")) == 3
    assert memory.list(status="forgotten") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda memory, part: memory.correct(part.id, "The key is with Bob."),
        lambda memory, part: memory.update(part.id, text="The key is with Bob."),
        lambda memory, part: memory.update(part.id, scope="private"),
        lambda memory, part: memory.update(part.id, tags=["mine"]),
        lambda memory, part: memory.update(
            memory.update(part.id, text="Bob has it.").id, pinned=True
        ),
        lambda memory, part: memory.correct(memory.correct(part.id, "x y").id, "The key is gone."),
    ],
    ids=["corrected", "reworded", "moved", "tagged", "reworded and pinned", "corrected twice"],
)
def test_what_the_user_changed_in_a_document_stays(memory, change):
    """Reading the unchanged document again takes nothing back."""
    parts = memory.documents.add(FARM, name="farm")
    change(memory, parts[1])
    before = [(one.text, one.scope, one.tags, one.status) for one in _all(memory)]
    memory.documents.add(FARM, name="farm")
    assert [(one.text, one.scope, one.tags, one.status) for one in _all(memory)] == before


def _all(memory):
    return memory.list(status=["active", "superseded", "archived", "forgotten"])

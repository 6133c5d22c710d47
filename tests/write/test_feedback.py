"""Verdicts through the public verbs: what they change, what they never change, how they go."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from beside import read_sql, write_sql

from memento import Config, MemoryManager, Retrieval, Strength
from memento.dynamics import fold
from memento.dynamics.settings import Dynamics
from memento.errors import InvalidInput, NotFound
from memento.ledger import memories, strength_fold, usage_events
from memento.types import Event

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture
def three(memory):
    """A store with three memories about tea."""
    for name in ("green", "black", "mint"):
        memory.add(f"Rami keeps {name} tea in the kitchen", "medium", id=name)
    return memory


def rows(memory):
    """Return all rows of the table, by row id."""
    query = f"SELECT docid, stale, {strength_fold._COLUMNS} FROM dynamics ORDER BY docid"
    return read_sql(memory, query)


def folded(memory):
    """Fold all that came into the log; returns the rows."""
    memory.flush()
    memory._engine.background.fold_events()
    return rows(memory)


def said(memory, *ids):
    """Return all that is told of some memories."""
    return [(memory.feedback.belief(one), memory.feedback.strength(one)) for one in ids]


def event_of(memory, name, at=-1):
    """Return the number of a verdict on a memory."""
    return memory.feedback.belief(name).evidence[at].event


class TestFeedback:
    """``feedback`` on ids, hits and answers."""

    def test_a_wrong_memory_is_believed_less(self, three):
        """And the others as before."""
        (found,) = three.feedback.rate("green", verdict="wrong", note="It is in the cellar")
        assert (found.id, found.prior) == ("green", 0.8)
        assert found.mean == pytest.approx(4 / 7)
        (evidence,) = found.evidence
        assert (evidence.verdict, evidence.source, evidence.note, evidence.retracted) == (
            "wrong", "user", "It is in the cellar", False,
        )  # fmt: skip
        assert three.feedback.belief("green") == found
        assert three.feedback.belief("black").mean == 0.8
        assert three.feedback.strength("green").worth == pytest.approx(-0.2)

    def test_an_answer_that_helped(self, three):
        """Its first three hits were used, each by its rank."""
        found = three.retrieve("Where is the tea?")
        assert len(three.feedback.rate(found, useful=True)) == 3
        worths = [three.feedback.strength(hit.id).worth for hit in found]
        assert worths == pytest.approx([0.1, 0.1 * 2 / 3, 0.05])
        assert all(three.feedback.strength(hit.id).uses > 0.9 for hit in found)

    def test_an_answer_that_did_not_help(self, three):
        """Nothing is believed less for it."""
        found = three.retrieve("Where is the tea?")
        for one in three.feedback.rate(found, useful=False):
            assert one.mean == 0.8
            assert three.feedback.strength(one.id).worth < 0

    def test_hits_and_ids_may_be_mixed(self, three):
        """The order of the answer is that of the question, and a repeat is one."""
        hit = three.retrieve("green tea", k=1)[0]
        found = three.feedback.rate(["mint", hit, "mint"], verdict="confirmed")
        assert [one.id for one in found] == ["mint", "green"]

    def test_the_same_verdict_within_an_hour_is_one(self, three, clock):
        """Another source, another verdict or another hour is another."""
        for _ in range(3):
            three.feedback.rate("green", verdict="used")
        three.feedback.rate("green", verdict="used", source="agent")
        three.feedback.rate("green", verdict="confirmed")
        clock.advance(HOUR)
        three.feedback.rate("green", verdict="used")
        assert len(three.feedback.belief("green").evidence) == 4

    @pytest.mark.parametrize("source", ["tool", "web", "import"])
    def test_verdicts_of_strangers_are_kept_without_effect(self, three, source, clock):
        """A thousand of them move nothing."""
        before = three.feedback.strength("green")
        for _ in range(20):
            clock.advance(HOUR)
            three.feedback.rate("green", verdict="confirmed", source=source)
        assert len(three.feedback.belief("green").evidence) == 20
        assert three.feedback.belief("green").mean == 0.8
        assert three.feedback.strength("green").uses == before.uses == 0
        assert folded(three) == []

    def test_a_quarantined_memory_feels_nothing(self, memory, clock):
        """No verdict is taken on it, being shown is nothing, and approving starts from zero."""
        page = memory.add("The museum opens at nine", source="web", id="page")
        with pytest.raises(InvalidInput, match="quarantined"):
            memory.feedback.rate(page.id, verdict="confirmed")
        found = memory.retrieve("museum", include_quarantined=True)
        assert memory.feedback.rate(found, useful=True) == []
        assert folded(memory) == []
        clock.advance(DAY)
        memory.quarantine.approve("page")
        assert folded(memory) == []
        assert memory.feedback.strength("page").uses == 0
        assert memory.feedback.belief("page").prior == 0.5
        memory.feedback.rate("page", verdict="confirmed")
        assert memory.feedback.belief("page").mean == pytest.approx(2 / 3)

    def test_a_forgotten_memory_is_not_judged(self, three):
        """By name it is an error; in an answer it is passed over."""
        found = three.retrieve("Where is the tea?")
        three.forget("green")
        with pytest.raises(InvalidInput, match="restore"):
            three.feedback.rate("green", useful=True)
        assert "green" not in {one.id for one in three.feedback.rate(found, useful=True)}

    def test_a_memory_that_is_not_there(self, three):
        """By name it is not found, and nothing else of the call is written."""
        with pytest.raises(NotFound):
            three.feedback.rate(["green", "nobody"], useful=True)
        assert three.feedback.belief("green").evidence == ()
        for ask in (three.of("else").feedback.belief, three.of("else").feedback.strength):
            with pytest.raises(NotFound):
                ask("green")

    def test_a_hit_of_another_namespace_is_refused(self, three):
        """Nobody rates what belongs to others."""
        found = three.retrieve("tea")
        with pytest.raises(InvalidInput, match="namespace"):
            three.of("else").feedback.rate(found, useful=True)
        with pytest.raises(InvalidInput, match="namespace"):
            three.of("else").feedback.cite(found, "green tea in the kitchen")

    @pytest.mark.parametrize(
        ("target", "options"),
        [
            ("green", {}),
            ("green", {"useful": True, "verdict": "used"}),
            ("green", {"verdict": "great"}),
            ("green", {"verdict": "retracted"}),
            ("green", {"useful": "yes"}),
            ("green", {"useful": True, "source": "stranger"}),
            ("green", {"useful": True, "note": ""}),
            ("green", {"useful": True, "note": "x" * 1001}),
            ("green", {"useful": True, "note": "nul\0byte"}),
            ("green", {"useful": True, "note": "\ud800"}),
            (7, {"useful": True}),
            (["green"] * 101, {"useful": True}),
            ([7], {"useful": True}),
            (Retrieval("tea"), {"verdict": "wrong"}),
        ],
    )
    def test_what_cannot_be_accepted(self, three, target, options):
        """Nothing is written."""
        with pytest.raises(InvalidInput):
            three.feedback.rate(target, **options)
        assert folded(three) == []

    def test_an_empty_answer_gets_no_verdict(self, three):
        """It is no error to rate what found nothing."""
        assert three.feedback.rate(Retrieval("tea"), useful=True) == []
        assert three.feedback.cite(Retrieval("tea"), "nothing is known") == ()
        assert three.of("nowhere").feedback.rate(Retrieval("tea"), useful=False) == []

    def test_secrets_are_taken_out_of_a_note(self, three):
        """As out of a memory."""
        three.feedback.rate("green", useful=True, note="see AKIAIOSFODNN7EXAMPLE")
        assert "AKIA" not in three.feedback.belief("green").evidence[0].note

    @pytest.mark.parametrize(
        "note", ["' OR 1=1 --", '{"source": "user"}', "\u202e", "%s", "\n", "東京"]
    )
    def test_a_note_is_only_text(self, three, note):
        """It comes back as it was given, and nothing reads it."""
        three.feedback.rate("green", useful=True, source="tool", note=note)
        assert three.feedback.belief("green").evidence[0].note == note
        assert three.feedback.belief("green").mean == 0.8
        assert three.feedback.strength("green").uses == 0


class TestCite:
    """Which hits an answer rests on."""

    def test_the_hit_an_answer_rests_on_is_used(self, memory):
        """The others among the first five are ignored; the verdict is the agent's."""
        memory.add("The spare key is under the blue pot", id="key")
        memory.add("The spare room has a green lamp", id="room")
        found = memory.retrieve("Where is the spare key?")
        assert memory.feedback.cite(found, "Look under the blue pot.") == ("key",)
        assert [one.verdict for one in memory.feedback.belief("key").evidence] == ["used"]
        assert [one.verdict for one in memory.feedback.belief("room").evidence] == ["ignored"]
        assert memory.feedback.belief("key").evidence[0].source == "agent"
        assert memory.feedback.belief("key").mean == 0.8  # it cannot vouch for itself
        assert memory.feedback.strength("key").uses == pytest.approx(0.5)

    def test_if_nothing_was_cited_nothing_is_said(self, three):
        """An answer from elsewhere blames no hit."""
        found = three.retrieve("Where is the tea?")
        assert three.feedback.cite(found, "I do not know.") == ()
        assert folded(three)[0][3] == pytest.approx(0.1)  # shown, and no more
        assert three.feedback.belief("green").evidence == ()

    @pytest.mark.parametrize("wrong", [("x", "y"), (Retrieval("q"), 7)])
    def test_what_cannot_be_accepted(self, three, wrong):
        """Neither an id nor a number."""
        with pytest.raises(InvalidInput):
            three.feedback.cite(*wrong)


class TestRetract:
    """Verdicts that are taken back."""

    def test_everything_is_as_if_it_had_never_been_given(self, three):
        """Bit for bit, whatever came before, between and after."""
        other = three.of("other")
        for name in ("green", "black"):
            other.add(f"Rami keeps {name} tea in the kitchen", "medium", id=name)
        for each, blamed in ((three, True), (other, False)):
            each.feedback.rate("green", verdict="used")
            if blamed:
                each.feedback.rate("green", verdict="harmful")
            each.feedback.rate("green", verdict="confirmed", source="agent")
        event = event_of(three, "green", 1)
        assert three.feedback.belief("green").mean < 0.5
        assert three.feedback.retract(event=event) == 1
        one, two = three.feedback.belief("green"), other.feedback.belief("green")
        assert (one.supporting, one.opposing) == (two.supporting, two.opposing)
        assert three.feedback.strength("green") == other.feedback.strength("green")
        assert [each.retracted for each in one.evidence] == [False, True, False]
        (mine, theirs) = (row[1:] for row in folded(three))
        assert mine == theirs

    def test_all_of_one_source_at_once(self, three, clock):
        """Those of the others stay, and the second time there are none left."""
        for name in ("green", "black", "mint"):
            three.feedback.rate(name, verdict="wrong", source="agent")
            three.feedback.rate(name, verdict="used")
        clock.advance(DAY)
        assert three.feedback.retract(source="agent") == 3
        assert three.feedback.retract(source="agent") == 0
        assert [three.feedback.belief(name).opposing for name in ("green", "black")] == [1.0, 1.0]
        assert three.feedback.strength("mint").uses == 1.0

    def test_a_verdict_is_taken_back_once(self, three):
        """And may be given again afterwards, at once."""
        three.feedback.rate("green", verdict="wrong")
        event = event_of(three, "green")
        assert [three.feedback.retract(event=event), three.feedback.retract(event=event)] == [1, 0]
        assert three.feedback.belief("green").mean == 0.8

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"event": 1, "source": "user"},
            {"event": "1"},
            {"event": 0},
            {"event": 99},
            {"event": 1 << 63},
            {"source": "me"},
        ],
    )
    def test_what_cannot_be_accepted(self, three, options):
        """Neither both nor none, and no event that is not a verdict of this namespace."""
        with pytest.raises(InvalidInput):
            three.feedback.retract(**options)

    def test_not_those_of_another_namespace(self, three):
        """Its numbers tell nothing there."""
        three.feedback.rate("green", verdict="wrong")
        with pytest.raises(InvalidInput):
            three.of("else").feedback.retract(event=event_of(three, "green"))
        assert three.of("else").feedback.retract(source="user") == 0


class TestDerived:
    """The rows come from the log, and nothing else depends on them."""

    def story(self, memory, clock):
        """Tell a long one."""
        for day in range(6):
            clock.advance(DAY)
            found = memory.retrieve("Where is the tea?")
            memory.feedback.rate(found, useful=day % 2 == 0)
            memory.feedback.rate(
                "mint", verdict="wrong" if day == 3 else "confirmed", source="agent"
            )
            memory.add("Rami keeps green tea in the kitchen", "medium")
        memory.feedback.retract(event=event_of(memory, "mint", 2))
        clock.advance(DAY)

    def test_dropped_and_folded_again_they_are_equal(self, three, clock):
        """Bit for bit, with bites of any size."""
        self.story(three, clock)
        before, told = folded(three), said(three, "green", "black", "mint")
        assert len(before) == 3
        ledger, settings = three._engine.ledger, three.store.config.dynamics
        for most in (1, 3, 500):
            ledger.write(strength_fold.drop_rows)
            assert said(three, "green", "black", "mint") == told
            while ledger.write(lambda c, most=most: strength_fold.catch_up(c, settings, most)):
                assert said(three, "green", "black", "mint") == told
            assert folded(three) == before
        ledger.write(strength_fold.forget_all)
        assert folded(three) == before

    def test_other_settings_fold_the_log_again(self, three, clock, open_memory):
        """Each process sees what its own say, whatever another one folded."""
        self.story(three, clock)
        before, told = folded(three), said(three, "green", "mint")
        other = open_memory(config=Config(dynamics=Dynamics(agent=1.0)))
        assert said(other, "green", "mint") != told
        theirs = folded(other)
        assert theirs != before
        assert said(three, "green", "mint") == told
        assert folded(three) == theirs  # or the two would fold for ever
        three.feedback.rate("green", verdict="used")
        told = said(three, "green", "mint")
        other.feedback.rate("black", verdict="used")
        folded(other)
        assert said(three, "green", "mint") == told

    def test_a_memory_that_changes_is_folded_again(self, three):
        """Its first stability depends on its kind and importance."""
        three.feedback.rate("green", useful=True)
        before = folded(three)
        three.update("green", kind="rule")
        changed = three.feedback.strength("green")
        assert changed.stability > 3000
        after = folded(three)
        assert after != before
        assert three.feedback.strength("green") == changed
        three.update("green", kind="fact")
        assert folded(three) == before

    def test_doctor_finds_a_row_that_was_changed(self, three, clock):
        """And makes it again."""
        self.story(three, clock)
        before = folded(three)
        write_sql(three, "UPDATE dynamics SET worth = 1")
        changed = folded(three)
        (found,) = [one for one in three.store.doctor(repair=False) if one.check == "dynamics"]
        assert (found.ok, folded(three)) == (False, changed)
        (found,) = [one for one in three.store.doctor() if one.check == "dynamics"]
        assert (found.ok, found.repaired) == (True, True)
        assert folded(three) == before

    def test_a_garbled_event_is_skipped(self, three):
        """One that is not as it was written changes nothing."""
        three.feedback.rate("green", verdict="wrong")
        write_sql(three, "UPDATE events SET kind = 'confirmed' WHERE kind = 'wrong'")
        three._engine.ledger.write(strength_fold.drop_rows)
        assert folded(three) == []
        assert three.feedback.belief("green").evidence == ()

    def test_an_id_that_is_a_word_of_ours(self, three):
        """Erasing it takes nothing from the verdicts on others."""
        three.add("A memory with an odd name", id="user")
        three.feedback.rate("green", verdict="wrong")
        three.store.erase(ids=["user"])
        three._engine.ledger.write(strength_fold.drop_rows)
        assert three.feedback.belief("green").opposing == 3.0

    def test_an_export_carries_the_verdicts(self, three, clock, open_memory, tmp_path):
        """Imported as one's own they say the same; retracted ones stay retracted."""
        self.story(three, clock)
        three.flush()
        file = io.BytesIO()
        three.store.export(file)
        other = open_memory(tmp_path / "other")
        other.store.import_from(io.BytesIO(file.getvalue()), trust="user")
        for name in ("green", "black", "mint"):
            one, two = three.feedback.belief(name), other.feedback.belief(name)
            assert (one.supporting, one.opposing) == (two.supporting, two.opposing)
            assert [x.retracted for x in one.evidence] == [x.retracted for x in two.evidence]
            assert three.feedback.strength(name) == other.feedback.strength(name)

    def test_of_a_strangers_export_no_verdict_is_taken(self, three, open_memory, tmp_path):
        """The writer of the file cannot vouch for it."""
        three.feedback.rate("green", verdict="confirmed")
        file = io.BytesIO()
        three.store.export(file)
        other = open_memory(tmp_path / "other")
        other.store.import_from(io.BytesIO(file.getvalue()), trust="import")
        other.quarantine.approve("green")
        assert other.feedback.belief("green").evidence == ()

    def test_a_store_set_back_knows_only_earlier_verdicts(self, three, clock, tmp_path):
        """`restore --at` drops what came later."""
        three.feedback.rate("green", verdict="confirmed")
        told, moment = folded(three), clock()
        clock.advance(DAY)
        three.feedback.rate("green", verdict="harmful")
        three.store.backup(tmp_path / "kept.db")
        from memento.upkeep.backup import restore  # noqa: PLC0415 - only this test needs it

        restore(tmp_path / "kept.db", tmp_path / "back", at=moment)
        with MemoryManager(tmp_path / "back", embedder=None, clock=clock) as back:
            assert folded(back) == told


class TestNothingElse:
    """Feedback changes nothing else."""

    def test_reading_writes_nothing(self, three):
        """Asking for belief and strength leaves the file as it was."""
        three.feedback.rate("green", useful=True)
        three.flush(wait=True)  # what follows a verdict is written later
        version = three._engine.ledger.moment()
        count = "SELECT count(*) FROM events"
        events = read_sql(three, count)[0]
        said(three, "green", "black")
        assert three._engine.ledger.moment() == version
        assert read_sql(three, count)[0] == events

    def test_no_score_and_no_confidence_changes(self, three):
        """Verdicts move memories; the scores stay with the places."""
        before = three.retrieve("Where is the tea?", record=False)
        three.feedback.rate("green", verdict="harmful")
        three.feedback.rate("mint", verdict="confirmed")
        after = three.retrieve("Where is the tea?", record=False)
        assert [hit.score for hit in after] == [hit.score for hit in before]
        assert {hit.id: hit.confidence for hit in after} == {
            hit.id: hit.confidence for hit in before
        }
        assert [hit.id for hit in after].index("green") > [hit.id for hit in after].index("mint")
        assert three.prompt("Where is the tea?")

    def test_a_memory_of_its_own_time(self, three, clock):
        """A year in which nobody used the store is no forgetting."""
        three.feedback.rate("green", useful=True)
        before = three.feedback.strength("green")
        clock.advance(365 * DAY)
        later = three.feedback.strength("green")
        assert later.retention == before.retention == 1.0
        assert isinstance(later, Strength)
        assert later.use < before.use

    def test_a_read_only_store_can_be_asked(self, three, open_memory):
        """Dynamics that were folded, and others that were not."""
        three.feedback.rate("green", useful=True)
        told = said(three, "green", "mint")
        three.close()
        for file in three.store.root.iterdir():
            file.chmod(0o400)
        three.store.root.chmod(0o500)
        try:
            assert said(open_memory(), "green", "mint") == told
        finally:
            three.store.root.chmod(0o700)
            for file in three.store.root.iterdir():
                file.chmod(0o600)


def test_a_verdict_does_not_read_all_that_came_before(memory, clock, monkeypatch):
    """To know a repeat, it reads the verdicts of the last hour and no earlier ones."""
    kept = memory.add("The office opens at nine")
    for _ in range(20):
        memory.feedback.rate(kept.id, verdict="confirmed")
        clock.advance(timedelta(hours=2))
    read, lately = [], usage_events.told_lately

    def noting(*given):
        read.append(lately(*given))
        return read[-1]

    monkeypatch.setattr(usage_events, "told_lately", noting)
    memory.feedback.rate(kept.id, verdict="confirmed")
    memory.feedback.rate(kept.id, verdict="confirmed")
    assert [len(one) for one in read] == [0, 1]


def test_a_question_in_between_only_delays_the_fold(three):
    """The fold gives way to it, and is taken up again in the next quiet moment."""
    three.retrieve("Where is the tea?")
    background = three._engine.background
    background.accesses.log()
    with background.traffic.query():
        assert background.tidy() is False
        assert rows(three) == []
    assert background.tidy() is True
    assert len(rows(three)) == 3


class TestNotFoldedYet:
    """The belief in a memory, and its strength, before the log is folded."""

    @pytest.fixture
    def three(self, three):
        """The same, and nothing is folded in the background: a question is in flight."""
        with three._engine.background.traffic.query():
            yield three

    @staticmethod
    def uses(memory, clock, *names):
        """Write to the log that memories were found now."""
        engine = memory._engine
        at, ids = engine.now(), {"ids": list(names)}
        engine.ledger.write(lambda c: memories.record(c, 1, at, Event.RETRIEVED, None, ids))
        clock.advance(HOUR)

    @staticmethod
    def is_as_folded(memory):
        """Tell whether the same is said before and after everything is folded."""
        before, more = said(memory, "green", "black", "mint"), True
        while more:
            more = memory._engine.ledger.write(lambda c: strength_fold.catch_up(c, Dynamics()))
        return before == said(memory, "green", "black", "mint")

    def test_of_each_day_one_event_is_read(self, three, clock, monkeypatch):
        """However many came about other memories."""
        for _ in range(3):
            for _ in range(10):
                self.uses(three, clock, "green")
            clock.advance(10 * DAY)
        checked, is_changed = [], usage_events.is_changed

        def noting(*given):
            checked.append(given)
            return is_changed(*given)

        monkeypatch.setattr(usage_events, "is_changed", noting)
        three.feedback.strength("black")
        days = {at // fold.DAY for _, at, *_ in checked}
        assert len(checked) == len(days) <= 6
        assert self.is_as_folded(three)

    def test_a_garbled_event_is_no_day_of_use(self, three, clock):
        """The next sound one of that day is."""
        for names in (("green",), ("black", "mint"), ("green",)):
            clock.advance(DAY)
            self.uses(three, clock, *names)
            self.uses(three, clock, *names)
        garble = "UPDATE events SET detail = '{}' WHERE event % 3 = 1"
        write_sql(three, garble)
        assert self.is_as_folded(three)

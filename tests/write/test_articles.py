"""Articles: they quote their sources, add to them, and never outlive what they quote."""

from datetime import timedelta

import beside
import pytest

from memento import Config
from memento.config import Articles, Sleep
from memento.sleep import articles, run
from memento.testing import HashEmbedder

EVERY = ["active", "superseded", "archived", "forgotten", "quarantined"]
GARDEN = (
    "The garden of Anna has an old apple tree",
    "Anna waters the garden every Monday",
    "A fox came into the garden last night",
    "The garden fence was painted green by Paul",
    "Anna sold 12 kg of apples from the garden",
)
DAY = timedelta(days=1)
CANARY = "zqxfoxword"


def grow(memory, clock, texts=GARDEN, **fields):
    """Add statements about one topic, one a day: g0, g1 ..."""
    for at, text in enumerate(texts):
        clock.advance(DAY)
        memory.add(text, id=f"g{at}", **fields)


def written(memory, **options):
    """Let articles be written; return those that are active."""
    memory.sleep.run(steps=["articles"], **options)
    return memory.list(kind="article")


def state(memory):
    """Return all that a sleep may change."""
    return beside.content(memory, "memories", "versions", "links", "events", "changes")


def test_an_article_quotes_its_sources_and_names_them(memory, clock):
    """Word for word and dated, in the order of time; the sources stay as they were."""
    grow(memory, clock)
    before = [memory.get(f"g{at}") for at in range(5)]
    (article,) = written(memory)
    lines = article.text.splitlines()
    assert lines == [f"2025-01-0{at + 2}: {text}" for at, text in enumerate(GARDEN)]
    assert article.source.parents == ("g0", "g1", "g2", "g3", "g4")
    assert (article.kind, article.tier, article.source.kind) == ("article", "long", "user")
    assert [memory.get(f"g{at}") for at in range(5)] == before


def test_nobody_asked_so_none_is_written(memory, clock):
    """The usual sleep of the usual settings has no such step; the settings can say so."""
    grow(memory, clock)
    assert "articles" not in memory.sleep.run().steps
    assert memory.list(kind="article") == []
    assert "articles" in run.usual(Config(articles=Articles("extractive")))


def test_vectors_tell_what_is_of_one_topic(open_memory, clock, monkeypatch):
    """Statements that share a word and are far apart in meaning make no article."""
    texts = [f"The garden of Anna has an old {what}" for what in ("tree", "gate", "wall", "pond")]
    for near, count in ((0.3, 1), (0.99, 0)):
        monkeypatch.setattr(articles, "NEAR", near)
        folder = open_memory().store.root.parent / str(near)
        memory = open_memory(folder, embedder=HashEmbedder(256))
        grow(memory, clock, texts)
        assert memory.flush(wait=True, timeout=30)
        assert len(written(memory)) == count


def test_a_second_sleep_changes_nothing(memory, clock):
    """The same sources give no second article and no second text."""
    grow(memory, clock)
    written(memory)
    before = state(memory)
    clock.advance(DAY)
    tick_again = memory.sleep.run(steps=["articles"])
    assert (tick_again.steps["articles"].changed, tick_again.run) == (0, None)
    assert dict(tick_again.steps["articles"].skipped) == {"as they are": 1}
    assert state(memory) == before


def test_a_dry_run_writes_nothing(memory, clock):
    """It says how many articles would be written."""
    grow(memory, clock)
    before = state(memory)
    assert memory.sleep.run(steps=["articles"], dry_run=True).steps["articles"].changed == 1
    assert state(memory) == before


def test_undo_takes_an_article_back_for_good(memory, clock):
    """The next sleep respects it; undoing the undoing brings the article again."""
    grow(memory, clock)
    found = memory.sleep.run(steps=["articles"])
    undone = memory.undo(run=found.run)
    assert memory.list(kind="article") == []
    assert written(memory) == []
    memory.undo(undone.changes[0])
    assert len(memory.list(kind="article")) == 1


CHANGES = {
    "forget": lambda m: m.forget("g2"),
    "update": lambda m: m.update("g2", text="A badger came into the garden last night"),
    "correct": lambda m: m.correct("g2", "A badger came into the garden last night"),
    "archive": lambda m: m.sleep.archive("g2"),
    "supersede": lambda m: m.add("No animal was there", supersedes="g2"),
    "end": lambda m: m.update("g2", valid_until=m.store.clock() + DAY),
    "expiry": lambda m: m.update("g2", expires_in=60.0),
    "scope": lambda m: m.update("g2", scope="private"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_article_falls_with_what_it_quotes(memory, clock, name):
    """In the change itself, so that undoing the change brings the article back."""
    grow(memory, clock)
    (article,) = written(memory)
    CHANGES[name](memory)
    assert memory.list(kind="article") == []
    assert memory.changes.history(article.id)[0].reason == "withdrawn"
    number = memory.changes.list(id=article.id)[0].number
    memory.undo(number)
    assert [one.text for one in memory.list(kind="article")] == [article.text]


@pytest.mark.parametrize("name", ["forget", "archive", "supersede", "end", "scope"])
def test_it_is_written_again_from_what_is_left(memory, clock, name):
    """Under its id, without the source that went; the earlier text is in its history."""
    grow(memory, clock)
    (article,) = written(memory)
    CHANGES[name](memory)
    (again,) = written(memory)
    assert again.id == article.id
    assert "fox" not in again.text
    assert again.source.parents == ("g0", "g1", "g3", "g4")
    assert article.text in [state.text for state in memory.changes.history(article.id)]
    assert written(memory) == [again]


def test_without_enough_sources_none_is_left(memory, clock):
    """Of three statements no article is written; the old one stays hidden."""
    grow(memory, clock, GARDEN[:4])
    assert written(memory)
    memory.forget("g1")
    assert written(memory) == []
    memory.restore("g1")
    (again,) = written(memory)
    assert len(again.source.parents) == 4


def test_an_end_that_no_change_set_is_seen_by_the_next_sleep(memory, clock):
    """``touch`` gives a source an end and makes no change; then the article goes as well."""
    grow(memory, clock, GARDEN[:4])
    written(memory)
    memory.store.touch("g1", expires_in=60.0)
    assert written(memory) == []


def test_new_statements_wait_until_the_article_is_asked_for(memory, clock):
    """A text that nobody reads is not written again."""
    grow(memory, clock)
    (article,) = written(memory)
    clock.advance(DAY)
    memory.add("The garden gate squeaks since Anna painted it", id="g5")
    assert written(memory) == [article]
    memory.retrieve(article.text, 10)
    memory.flush(wait=True, timeout=30)
    (again,) = written(memory)
    assert (again.id, again.version) == (article.id, article.version + 1)
    assert "squeaks" in again.text


ODD = {
    "rule": {"kind": "rule"},
    "question": {"kind": "question"},
    "pinned": {"pinned": True},
    "scope": {"scope": "work"},
    "end": {"expires_in": 3600.0},
    "web": {"source": "web"},
}


@pytest.mark.parametrize("name", ODD)
def test_some_memories_are_never_quoted(memory, clock, name):
    """Rules, questions, what is pinned or ends, other scopes, and what is quarantined."""
    grow(memory, clock)
    memory.add(f"The {CANARY} of Anna stands in the garden", id="odd", **ODD[name])
    (article,) = written(memory)
    assert CANARY not in article.text
    assert "odd" not in article.source.parents


def test_what_was_approved_is_not_quoted_either(memory, clock):
    """An article would take the words of a web page out of their place."""
    grow(memory, clock)
    memory.add(f"The {CANARY} of Anna stands in the garden", id="odd", source="web")
    memory.quarantine.approve("odd")
    (article,) = written(memory)
    assert CANARY not in article.text


def test_namespaces_have_their_own_articles(open_memory, memory, clock):
    """Two statements here and two there make none."""
    other = open_memory(namespace="other")
    grow(memory, clock, GARDEN[:2])
    grow(other, clock, GARDEN[2:4])
    assert written(memory) == written(other) == []


def test_an_article_is_trusted_as_its_least_trusted_source(memory, clock):
    """One statement of the agent makes it the agent's."""
    grow(memory, clock)
    memory.add("The garden shed of Anna is empty", source="agent")
    (article,) = written(memory)
    assert article.source.kind == "agent"


@pytest.mark.parametrize("derived", [True, False])
@pytest.mark.parametrize("rewritten", [True, False])
def test_an_erased_source_leaves_no_word_in_articles(memory, clock, derived, rewritten):
    """Not in the present text nor in an earlier one, whatever ``derived`` says."""
    grow(memory, clock, [*GARDEN, f"The {CANARY} of Anna stands in the garden"])
    (article,) = written(memory)
    if rewritten:
        memory.forget("g5")
        (again,) = written(memory)
        assert CANARY not in again.text
    receipt = memory.store.erase("g5", derived=derived)
    assert article.id in receipt.derived
    assert memory.list(kind="article", status=EVERY) == []
    assert CANARY.encode() not in beside.written(memory.store.root)
    (fresh,) = written(memory)
    assert fresh.source.parents == ("g0", "g1", "g2", "g3", "g4")


def test_the_first_text_holds_the_word_that_is_erased_above(memory, clock):
    """The null control: before the erasure the word is in the files."""
    grow(memory, clock, [*GARDEN, f"The {CANARY} of Anna stands in the garden"])
    (article,) = written(memory)
    assert CANARY in article.text
    assert CANARY.encode() in beside.written(memory.store.root)


def test_a_locked_article_stays_as_it_is(memory, clock):
    """Neither a change of a source nor a sleep touches it."""
    grow(memory, clock)
    (article,) = written(memory)
    memory.update(article.id, pinned=True)
    memory.forget("g2")
    assert [one.text for one in written(memory)] == [article.text]


def test_many_topics_in_small_bites_end_the_same(open_memory, tmp_path):
    """Cut after every article, by two sleepers in turn, the result is that of one sleep."""
    topics = ("garden", "boat", "piano", "cellar")
    ends = []
    for name, size in (("whole", 200), ("cut", 1)):
        config = Config(sleep=Sleep(bite=size, lease=0))
        made = [open_memory(tmp_path / name, config=config) for _ in range(2)]
        for topic in topics:
            for at, text in enumerate(GARDEN):
                made[0].add(text.replace("garden", topic), id=f"{topic}{at}", scope=topic)
        for turn in range(8 if name == "cut" else 0):
            made[turn % 2].sleep.run(steps=["articles"], rows=1)
        ends.append([(one.id, one.text) for one in written(made[0])])
    assert ends[0] == ends[1]
    assert len(ends[0]) == 4


def test_a_sleep_that_dies_is_gone_on_with(open_memory, monkeypatch):
    """The article that was written stays, the rest follows, none is written twice."""
    memory = open_memory(config=Config(sleep=Sleep(bite=1, lease=0)))
    for topic in ("garden", "boat"):
        for at, text in enumerate(GARDEN):
            memory.add(text.replace("garden", topic), id=f"{topic}{at}", scope=topic)
    bite, done = run.Sleeper._bite, []

    def dying(self, job, **last):
        if done:
            raise KeyboardInterrupt
        done.append(bite(self, job, **last))
        return done[0]

    monkeypatch.setattr(run.Sleeper, "_bite", dying)
    with pytest.raises(KeyboardInterrupt):
        memory.sleep.run(steps=["articles"])
    assert len(memory.list(kind="article")) == 1
    monkeypatch.setattr(run.Sleeper, "_bite", bite)
    assert len(written(memory)) == 2
    assert len(memory.list(kind="article", status=EVERY)) == 2


def test_an_answer_has_an_article_or_what_it_quotes(memory, clock):
    """A source stands before the article; a question that wants several gets the article."""
    grow(memory, clock)
    (article,) = written(memory)
    one = memory.retrieve("Who painted the garden fence?", 10, record=False)
    assert article.id not in [hit.id for hit in one]
    question = "Which things happened in the garden?"
    several = memory.retrieve(question, record=False)
    assert [hit.id for hit in several] == [article.id]
    assert set(several[0].folded) == {"g0", "g1", "g2", "g3", "g4"}
    block = memory.prompt(question, min_confidence=0.0)
    assert block.count("old apple tree") == 1
    apart = memory.retrieve(question, 10, record=False, fold=False)
    assert len(apart) == 6


def test_an_article_is_as_sure_as_its_best_source(memory, clock):
    """It says the same, so a prompt does not leave it out where it would show the source."""
    grow(memory, clock)
    question = "Which kg of apples were sold from the garden?"
    written(memory)
    [hit] = memory.retrieve(question, None, record=False)
    apart = memory.retrieve(question, 10, record=False, fold=False)
    assert hit.memory.kind == "article"
    assert hit.confidence == max(one.confidence for one in apart)
    assert hit.score == apart[0].score


def test_a_filtered_answer_can_hold_the_article(memory, clock):
    """An article whose sources the filters leave out stands for itself."""
    grow(memory, clock)
    (article,) = written(memory)
    found = memory.retrieve("garden fence", kind="article", record=False)
    assert [hit.id for hit in found] == [article.id]


def test_exports_carry_articles(open_memory, memory, clock, tmp_path):
    """Imported with their sources they are as before, and no second one is written."""
    grow(memory, clock)
    (article,) = written(memory)
    memory.store.export(tmp_path / "export.jsonl")
    other = open_memory(tmp_path / "other")
    other.store.import_from(tmp_path / "export.jsonl", trust="user")
    assert [(one.id, one.text) for one in written(other)] == [(article.id, article.text)]
    other.forget("g2")
    assert other.list(kind="article") == []


PROBES = {
    "FEWEST": (4, 6),
    "LARGEST": (4, 40),
    "CHARS": (200, 1200),
    "OVERLAP": (0.15, 0.9),
}


@pytest.mark.parametrize("name", PROBES)
def test_every_constant_acts(open_memory, clock, tmp_path, monkeypatch, name):
    """The same statements give another article, or none, with another value."""
    seen = []
    for value in PROBES[name]:
        monkeypatch.setattr(articles, name, value)
        memory = open_memory(tmp_path / str(value))
        grow(memory, clock)
        seen.append([one.text[11:] for one in written(memory)])
    assert seen[0] != seen[1]

"""The promises of ``contract``: durable, in order, one snapshot, exact values.

The fifth is in ``test_engine_words``. The sixth is for an engine whose connection can be lost while
it commits; SQLite is in the process, and the harnesses of ``tests/trust`` kill that.
"""

from __future__ import annotations

import math
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.errors import InvalidInput, NotFound, StoreClosed, StoreError
from memento.ledger import memories, namespaces, past
from memento.ledger.opening import backup_tool, folder_of, open_ledger, salvage_tool, swap
from memento.ledger.predicate import Filters
from memento.ledger.rows import docid_of, docid_range
from memento.types import Event
from memento.write import remember

SCOPES = ["", "a", "a/b", "a/b/c", "ab", "a0", "a-b", "a.b", "A", "é", "é/x"]
TEXTS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=30
).filter(str.strip)


class TestWrite:
    """A write is durable when it returns, and undoes itself alone."""

    def test_another_sees_it_at_once(self, bench, opened):
        """When ``write`` returns, the next process that opens the store finds the change."""
        row = bench.one("kept")
        other = opened()
        assert other.read(lambda s: memories.by_id(s, bench.ns, row.id)).text == "kept"

    def test_it_outlives_its_ledger(self, bench, opened):
        """A written row is there when the store is opened again."""
        row = bench.one("kept")
        bench.ledger.close()
        assert opened().read(lambda s: memories.by_id(s, bench.ns, row.id)).text == "kept"

    def test_it_returns_what_the_job_returned(self, ledger):
        """The job's result is the result."""
        assert ledger.write(lambda _: 41 + 1) == 42

    def test_its_error_is_the_callers(self, ledger):
        """The job's exception reaches its own caller as it is."""
        with pytest.raises(ZeroDivisionError):
            ledger.write(lambda _: 1 / 0)

    def test_a_job_that_fails_leaves_nothing(self, bench):
        """A job that fails leaves neither its rows nor its revision."""
        before = bench.read(memories.latest_rev)

        def job(session):
            remember.insert_or_fold(bench.work(session), [bench.entry("gone")])
            raise LookupError

        with pytest.raises(LookupError):
            bench.ledger.write(job)
        assert bench.read(memories.select, Filters(bench.now)) == []
        assert bench.read(memories.latest_rev) == before

    def test_a_job_that_fails_undoes_itself_alone(self, bench):
        """Of many jobs that come together those that succeed are kept, whatever others do."""
        barrier = threading.Barrier(12)
        failed = []

        def work(number):
            entry = bench.entry(f"note {number}", id=f"id-{number}")

            def job(session):
                remember.insert_or_fold(bench.work(session), [entry])
                if number % 3 == 0:
                    raise LookupError(number)

            barrier.wait()
            try:
                bench.ledger.write(job)
            except LookupError as error:
                failed.append(error.args[0])

        run_all(work, 12)
        kept = {row.id for row in bench.read(memories.select, Filters(bench.now))}
        assert sorted(failed) == [0, 3, 6, 9]
        assert kept == {f"id-{n}" for n in range(12) if n % 3}

    def test_jobs_of_a_namespace_come_one_after_another(self, bench):
        """A job that reads and then writes is never overtaken in between."""
        row = bench.one("count", metadata={})

        def count(session):
            now = memories.by_id(session, bench.ns, row.id)
            memories.overwrite(session, now, {"reinforced": now.reinforced + 1})

        run_all(lambda _: [bench.ledger.write(count) for _ in range(10)], 6)
        assert bench.read(memories.by_id, row.id).reinforced == 60

    def test_so_they_do_when_two_have_the_store_open(self, bench, opened):
        """The same holds between two that opened the store by themselves."""
        row, ledgers = bench.one("count"), [bench.ledger, opened()]

        def count(session):
            now = memories.by_id(session, bench.ns, row.id)
            memories.overwrite(session, now, {"reinforced": now.reinforced + 1})

        run_all(lambda n: [ledgers[n % 2].write(count) for _ in range(8)], 4)
        assert bench.read(memories.by_id, row.id).reinforced == 32

    def test_inside_it_reads_what_it_wrote(self, bench):
        """A job sees its own changes."""

        def job(session):
            remember.insert_or_fold(bench.work(session), [bench.entry("mine", id="x")])
            return memories.by_id(session, bench.ns, "x").text

        assert bench.ledger.write(job) == "mine"

    def test_a_job_is_in_a_transaction(self, ledger):
        """The session says so; the job neither begins nor ends one."""
        assert ledger.write(lambda s: s.in_transaction)
        assert ledger.read(lambda s: s.in_transaction)

    @pytest.mark.parametrize("use", ["read", "write"])
    def test_after_close_there_is_nothing(self, ledger, use):
        """A closed ledger says that it is closed."""
        ledger.close()
        assert ledger.closed
        with pytest.raises(StoreClosed):
            getattr(ledger, use)(lambda _: None)

    def test_closing_twice_is_closing(self, ledger):
        """``close`` may be called again."""
        ledger.close()
        ledger.close()


class TestRevisions:
    """They appear in order and without gaps to every reader."""

    def test_each_change_takes_the_next_one(self, bench):
        """Rows that come, and rows that change, count on by one."""
        first, second = bench.add("a", "b")
        revs = [first.rev, second.rev]
        for number in range(3):
            row = bench.ledger.write(
                lambda s, n=number: memories.overwrite(s, first, {"reinforced": n})
            )
            revs.append(row.rev)
        assert revs == [1, 2, 3, 4, 5]
        assert bench.read(memories.latest_rev) == 5

    def test_namespaces_count_apart(self, bench):
        """One namespace's changes are no revision of another."""
        other = bench.of("other")
        bench.add("a", "b", "c")
        assert other.one("d").rev == 1

    def test_a_failed_job_leaves_no_gap(self, bench):
        """The revision of an undone change is taken by the next one."""
        bench.one("a")
        with pytest.raises(NotFound):
            bench.one("b", supersedes="nobody")
        assert bench.one("c").rev == 2

    def test_whoever_saw_one_has_seen_all_before_it(self, bench, opened):
        """Readers that follow by revision while others write miss nothing and see nothing twice."""
        reader, done, seen = opened(), threading.Event(), []

        def follow():
            rev = 0
            while not (done.is_set() and rev == reader.read(latest)):
                rows = reader.read(lambda s, r=rev: past.changes_since(s, bench.ns, r, limit=9))
                seen.extend(row.rev for row in rows)
                rev = max([rev, *(row.rev for row in rows)])

        def latest(session):
            return memories.latest_rev(session, bench.ns)

        following = threading.Thread(target=follow)
        following.start()
        run_all(lambda n: [bench.one(f"note {n} {m}") for m in range(15)], 4)
        done.set()
        following.join(60)
        assert seen == list(range(1, 61))


class TestRead:
    """A read is one snapshot."""

    def test_what_commits_meanwhile_is_not_seen(self, bench, opened):
        """A job sees the moment of its first look to its end."""
        writer = opened()
        bench.one("before", id="a")

        def job(session):
            first = memories.latest_rev(session, bench.ns)
            writer.write(lambda s: remember.insert_or_fold(bench.work(s), [bench.entry("after")]))
            return first, memories.latest_rev(session, bench.ns)

        assert bench.ledger.read(job) == (1, 1)
        assert bench.read(memories.latest_rev) == 2

    def test_nor_in_the_full_text(self, bench, opened):
        """Rows and full text are of the same moment."""
        from memento.ledger.match import Word  # noqa: PLC0415 - of this test alone

        writer = opened()
        bench.one("a heron")

        def job(session):
            memories.latest_rev(session, bench.ns)
            writer.write(lambda s: s.words.catch_up(bench.ns))
            (found,) = session.words.postings(bench.ns, [Word("heron")], 5)
            return found.tolist()

        assert bench.ledger.read(job) == []
        assert bench.find(Word("heron")) == [1]

    def test_readers_hold_up_no_writer(self, bench, opened):
        """A job that reads for long lets others commit."""
        writer = opened()

        def job(_session):
            return writer.write(lambda _: "written")

        assert bench.ledger.read(job) == "written"

    def test_it_writes_nothing(self, bench):
        """A job that would change something is refused, and nothing is changed."""
        bench.one("a")
        with pytest.raises(StoreError):
            bench.read(lambda s, ns: memories.record(s, ns, bench.now, Event.RETRIEVED, None))
        assert bench.ledger.read(lambda s: s.execute("SELECT count(*) FROM events").fetchone()) == (
            0,
        )

    def test_the_moment_tells_of_others(self, bench, opened):
        """It changes when another one wrote, and not by itself."""
        other = opened()
        before = bench.ledger.moment()
        assert bench.ledger.moment() == before
        other.write(lambda s: namespaces.number(s, ("new",)))
        assert bench.ledger.moment() != before


class TestAhead:
    """What is announced changes no answer."""

    def test_an_answer_is_of_its_time(self, bench):
        """What changed since it was announced, or asked, is in it."""
        bench.one("before", id="a")
        ask = lambda s: memories.latest_rev(s, bench.ns)  # noqa: E731 - asked often

        def job(session):
            session.ahead(ask, ask, lambda s: memories.docids_of(s, bench.ns, "ab"))
            found = [memories.by_id(session, bench.ns, "a").text, ask(session)]
            remember.insert_or_fold(bench.work(session), [bench.entry("after", id="b")])
            return [*found, ask(session), len(memories.docids_of(session, bench.ns, "ab"))]

        assert bench.ledger.write(job) == ["before", 1, 2, 2]

    def test_what_nobody_asks_is_no_harm(self, bench):
        """Nor is what asks nothing."""
        bench.one("before", id="a")

        def job(session):
            session.ahead(lambda _: None, lambda s: memories.docids_of(s, bench.ns, "a"))
            return memories.latest_rev(session, bench.ns)

        assert [bench.ledger.read(job), bench.ledger.write(job)] == [1, 1]


class TestValues:
    """Values read are equal to values written, to the bit, and compare the same everywhere."""

    @settings(max_examples=25)
    @given(text=TEXTS)
    def test_text_comes_back(self, bench, text):
        """Any text without NUL comes back as it was."""
        row = bench.one(text)
        assert bench.read(memories.by_id, row.id).text == text

    @settings(max_examples=25)
    @given(numbers=st.lists(st.floats(0, 1), min_size=1, max_size=5))
    def test_floats_are_eight_bytes(self, bench, numbers):
        """An importance comes back bit for bit."""
        rows = bench.add(
            *(
                {"text": f"n{at}", "importance": value, "session": f"{at} {value!r}"}
                for at, value in enumerate(numbers)
            )
        )
        back = [bench.read(memories.by_id, row.id).importance for row in rows]
        assert [math.copysign(1, one) for one in back] == [math.copysign(1, n) for n in numbers]
        assert back == numbers

    @pytest.mark.parametrize("moment", [-62_000_000_000_000_000, -1, 0, 1, 253_000_000_000_000_001])
    def test_times_are_whole_microseconds(self, bench, moment):
        """Any moment comes back to the microsecond."""
        row = bench.one("then", occurred_at=moment)
        assert bench.read(memories.by_id, row.id).occurred_at == moment

    def test_bytes_come_back(self, bench):
        """Hashes and checksums are bytes, zero bytes among them."""
        row = bench.one("hash")
        bench.ledger.write(lambda s: memories.overwrite(s, row, {"content_hash": b"\0\xff" * 8}))
        assert bench.read(memories.by_id, row.id).content_hash == b"\0\xff" * 8

    def test_text_is_ordered_by_code_points(self, bench):
        """Statistics are in the order of code points, whatever the locale."""
        names = ["a", "B", "b", "A", "é", "z", "Z", "猫", "\U0001f600", "ﬀ", "a b", "a-b", "0", "_"]
        for name in names:
            bench.one("x", session=name)
        found = bench.read(memories.tally, Filters(bench.now), "session")
        assert list(found) == sorted(names)

    @settings(max_examples=20)
    @given(paths=st.sets(st.sampled_from(SCOPES), min_size=1), within=st.sampled_from(SCOPES[1:]))
    def test_a_scope_is_a_range(self, bench, paths, within):
        """The paths below a path are found as a range of text, segment by segment."""
        found = bench.of("scopes", within, *sorted(paths))
        if not found.read(memories.latest_rev):
            found.add(*({"text": "x", "scope": path, "session": path or None} for path in paths))
        rows = found.read(memories.select, Filters(found.now, within=(within,)))
        below = {path for path in paths if path == within or path.startswith(f"{within}/")}
        assert {row.scope for row in rows} == below

    def test_case_matters_in_ids_and_scopes(self, bench):
        """Text equals only itself."""
        bench.add({"text": "a", "id": "ID", "scope": "A"}, {"text": "b", "id": "id", "scope": "a"})
        assert bench.read(memories.by_id, "ID").text == "a"
        found = bench.read(memories.select, Filters(bench.now, within=("a",)))
        assert [row.id for row in found] == ["id"]

    def test_row_ids_carry_the_namespace(self, bench):
        """A row id is the number of the namespace and the row's place in it."""
        rows = bench.of("second").add("a", "b")
        ns = rows[0].ns
        assert [row.docid for row in rows] == [docid_of(ns, 1), docid_of(ns, 2)]
        assert docid_range(ns)[0] == ns << 40


class TestNamespaces:
    """Namespaces have numbers and labels."""

    def test_a_number_is_given_once(self, bench):
        """The same labels have the same number, others another."""
        assert bench.of("default").ns == bench.ns
        assert bench.of("other").ns != bench.ns

    def test_labels_come_back(self, bench):
        """Whatever is in them."""
        labels = ("a/b", 'c "d"', "é", "猫")
        assert bench.ledger.labels(bench.of(*labels).ns) == labels

    @pytest.mark.parametrize("labels", [("a", "b"), ("ab",), ("a/b",), ("A", "b"), ("a", "b ")])
    def test_like_labels_are_others(self, bench, labels):
        """Labels equal only themselves."""
        assert bench.of("a,b").ns != bench.of(*labels).ns

    def test_one_unknown_is_none(self, ledger):
        """Asking for a namespace makes none."""
        assert ledger.find_namespace(("nobody",)) is None
        assert ledger.find_namespace(("nobody",)) is None

    def test_one_made_elsewhere_is_found(self, bench, opened):
        """Once another made it, it is known."""
        other = opened()
        ns = bench.of("new").ns
        assert other.find_namespace(("new",)) == ns

    def test_each_is_listed(self, bench):
        """Numbers and labels, in order of number."""
        other = bench.of("x", "y")
        listed = bench.ledger.read(namespaces.every)
        assert listed == [(bench.ns, ("default",)), (other.ns, ("x", "y"))]

    def test_none_is_wrong(self, bench):
        """Each written row matches its checksum."""
        bench.of("x", "y").one("a")
        assert bench.ledger.read(namespaces.wrong) == []

    @pytest.mark.parametrize("labels", ['["stolen"]', "[]", "no labels"])
    def test_changed_labels_are_wrong(self, bench, labels):
        """Labels that are not as they were written would hand memories to another."""
        other = bench.of("x")
        bench.ledger.write(
            lambda s: s.execute("UPDATE namespaces SET labels = ? WHERE ns = ?", (labels, other.ns))
        )
        (said,) = bench.ledger.read(namespaces.wrong)
        assert str(other.ns) in said

    def test_a_number_can_be_taken_over(self, bench):
        """As a salvage does, with the labels as JSON."""
        bench.ledger.write(lambda s: namespaces.take_over(s, 77, '["of old"]'))
        assert bench.ledger.labels(77) == ("of old",)
        assert bench.ledger.read(namespaces.wrong) == []


class TestOpening:
    """The way in: addresses, and what is said of a ledger."""

    @pytest.mark.parametrize(
        "address", ["postgresql://host/db", "postgres://host/db", "PostgreSQL:/host"]
    )
    def test_a_server_is_refused_by_name(self, address):
        """Where only a folder will do, the address of a server is a clear error, and makes none."""
        with pytest.raises(InvalidInput, match="PostgreSQL") as caught:
            folder_of(address)
        assert caught.value.field == "root"

    def test_a_folder_of_that_name_is_a_folder(self, tmp_path):
        """Only what begins like the address of a server is one."""
        assert folder_of("postgresql") == folder_of(folder_of("postgresql"))
        open_ledger(tmp_path / "postgresql").close()

    def test_it_names_its_library(self, ledger):
        """A name, and a version with digits."""
        name, said = ledger.library
        assert name
        assert any(letter.isdigit() for letter in said)


@pytest.mark.parametrize("address", ["lite"], indirect=True)
class TestFiles:
    """The tools for an engine whose ledger is a file; a server has tools of its own."""

    def test_it_says_where_it_is(self, bench, address):
        """Root and path are absolute, the path inside the root."""
        assert bench.ledger.root == folder_of(address).absolute()
        assert bench.ledger.path.parent == bench.ledger.root

    def test_a_copy_holds_what_was_there(self, bench, tmp_path):
        """A backup in one file, checked, knows its moment and how many it holds."""
        bench.add("a", "b")
        target = tmp_path / "copy"
        target.touch()
        tool = backup_tool()
        tool.copy(bench.ledger.path, target, bench.now)
        found = tool.inspect(target)
        assert (found.memories, found.taken_at) == (2, bench.now)

    def test_a_copy_becomes_a_ledger(self, bench, tmp_path):
        """Fetched and settled it opens, and can be set back to any moment."""
        bench.one("a", id="a")
        bench.now += 10
        bench.one("b", id="b")
        root = tmp_path / "again"
        root.mkdir()
        target = root / bench.ledger.path.name
        tool = backup_tool()
        target.touch()
        tool.fetch(bench.ledger.path, target)
        tool.settle(target)
        assert tool.set_back_to(target, bench.now - 5, reread=lambda *_: None) == 1
        again = open_ledger(root)
        try:
            assert again.read(lambda s: memories.by_id(s, bench.ns, "a")).text == "a"
        finally:
            again.close()

    def test_what_is_whole_can_be_salvaged(self, bench, tmp_path):
        """Every whole memory is found and makes a new ledger."""
        rows = bench.add("a", "b")
        bench.ledger.close()
        tool = salvage_tool()
        found = tool.find(bench.ledger.path)
        assert set(found.memories) == {row.docid for row in rows}
        assert not found.lost
        root = tmp_path / "salvaged"
        root.mkdir()
        (root / bench.ledger.path.name).touch()
        tool.write(found, root / bench.ledger.path.name)
        again = open_ledger(root)
        try:
            assert again.read(lambda s: memories.by_id(s, bench.ns, rows[1].id)).text == "b"
        finally:
            again.close()

    def test_two_stores_change_places(self, bench):
        """The new one is at its place, the old one beside it."""
        bench.one("old")
        bench.ledger.close()
        built, aside = swap(bench.ledger.root, lambda path: path.write_bytes(b"new"))
        assert built == 3
        assert bench.ledger.path.read_bytes() == b"new"
        assert (aside / bench.ledger.path.name).stat().st_size > 3


def run_all(work, count):
    """Run a function with 0, 1 ... in as many threads, and wait for them."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)

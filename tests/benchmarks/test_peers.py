"""memento beside other memories: the protocol, the runs, the tables and the chart, with fakes."""

import argparse
import json
import sys
import xml.etree.ElementTree as ET

import peers
import peers_adapters
import peers_page
import peers_setup
import pytest
from peers_setup import PEERS, Child, Peer, PeerFailed

from memento.errors import EmbedderError

FAKE = """
import sys
sys.path.insert(0, {benchmarks!r})
import peers_child

class Fake:
    def version(self): return "1.2"
    def open(self, folder, now): self.kept = {{}}
    def add(self, item):
        print("adding, says the peer")
        if {poison!r} and {poison!r} in item["id"]: raise RuntimeError("indigestible")
        self.kept[item["id"]] = item["text"]
    def add_many(self, items):
        for item in items: self.add(item)
    def settle(self): pass
    def retrieve(self, query, k):
        if "?!" in query: raise ValueError("what?")
        words = set(query.split())
        rank = lambda name: -len(words & set(self.kept[name].split()))
        return sorted(self.kept, key=rank)[:k]
    def count(self): return len(self.kept)
    def close(self): pass

peers_child.ADAPTERS["fake"] = Fake
sys.argv[1:] = ["fake"]
peers_child.main()
"""


def fake(folder, poison=""):
    """Write a script that serves a memory in RAM; return the command that runs it."""
    script = folder / f"fake{poison}.py"
    benchmarks = str(peers_setup.CHILD.parent)
    script.write_text(FAKE.format(benchmarks=benchmarks, poison=poison), encoding="utf-8")
    return [sys.executable, str(script)]


class Kitchen(peers.Kitchen):
    """Starts fakes: the peer named ``sick`` cannot stomach what is stored in the first round."""

    def start(self, peer, prefix=(), *, embeds=True):
        """Start a fake; it embeds nothing in either case."""
        assert embeds in {True, False}
        if peer.name == "absent":
            raise PeerFailed("does not install: no such thing")
        command = fake(self.folder(), poison="round" if peer.name == "sick" else "")
        return Child([*prefix, *command])


@pytest.fixture
def kitchen(tmp_path):
    """Return a kitchen of fakes."""
    return Kitchen(tmp_path / "cache", tmp_path)


@pytest.fixture
def child(tmp_path):
    """Return a fake that has been opened."""
    with Child(fake(tmp_path)) as opened:
        opened.ask("open", folder=str(tmp_path))
        yield opened


def peer(name):
    """Return a peer of that name."""
    return Peer(name, name.title(), (), "no settings")


def texts(*words):
    """Return items to store."""
    return [{"id": f"i{n}", "text": text} for n, text in enumerate(words)]


# --- the protocol


@pytest.mark.parametrize("bulk", [True, False])
def test_what_was_added_is_found(child, bulk):
    """Ids come back best first, and every call is timed, one by one or together."""
    added = child.ask("add", items=texts("red fox", "blue fox", "blue whale"), bulk=bulk)
    assert len(added["wall"]) == (1 if bulk else 3)
    asked = child.ask("retrieve", queries=["blue whale", "red"], k=2)
    assert asked["found"] == [["i2", "i1"], ["i0", "i1"]]
    assert len(asked["wall"]) == 2
    assert asked["raised"] == []
    state = child.ask("state")
    assert (state["count"], state["version"]) == (3, "1.2")
    assert state["rss_mb"] > 1


def test_a_query_that_raises_finds_nothing_and_is_told(child):
    """The other queries are answered."""
    child.ask("add", items=texts("red fox"), bulk=True)
    asked = child.ask("retrieve", queries=["huh?!", "red"], k=2)
    assert asked["found"] == [[], ["i0"]]
    assert asked["raised"] == ["ValueError: what?"]


def test_an_unknown_request_is_refused(child):
    """The peer answers with an error and goes on."""
    with pytest.raises(PeerFailed, match="the protocol has no 'dance'"):
        child.ask("dance")
    assert child.ask("state")["count"] == 0


def test_a_peer_that_dies_leaves_its_last_words():
    """The reason is what it wrote last, and its status."""
    command = [sys.executable, "-c", "raise SystemExit('no licence')"]
    with Child(command) as child, pytest.raises(PeerFailed, match="status 1: no licence"):
        child.ask("state")


def test_a_peer_that_never_answers_is_ended():
    """After its limit a request fails, and the process is gone."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with Child(command, limit=0.01) as child, pytest.raises(PeerFailed, match="status -9"):
        child.ask("state")


def test_vectors_kept_in_a_file_are_the_same(tmp_path, monkeypatch):
    """Two peers share the vectors that one of them embedded; they equal the embedder's."""
    made = peers_adapters.embed(["red fox", "blue whale"])
    monkeypatch.setenv("PEERS_VECTORS", str(tmp_path / "vectors.db"))
    assert peers_adapters.embed(["red fox"]) == made[:1]
    with monkeypatch.context() as patch:
        model = peers_adapters.default_embedder()._model
        patch.setattr(model, "_folder", tmp_path / "gone")
        patch.setattr(model, "_loaded", {})
        assert peers_adapters.embed(["red fox"]) == made[:1]
        with pytest.raises(EmbedderError):
            peers_adapters.embed(["blue whale"])
    assert peers_adapters.embed(["blue whale", "red fox"]) == made[::-1]


# --- environments


def test_an_environment_is_made_once(tmp_path, monkeypatch):
    """A second call makes nothing; a change of requirements makes it again."""
    ran = []
    monkeypatch.setattr(
        peers_setup, "run", lambda command: ran.append(command) or place.mkdir(exist_ok=True)
    )
    place = tmp_path / "x"
    for requirement in ("a==1", "a==1", "a==2"):
        python = peers_setup.environment(Peer("x", "X", (requirement,), ""), tmp_path)
    assert python == place / "bin" / "python"
    installed = [command[-len(peers_setup.EMBEDDING) - 1] for command in ran if "pip" in command]
    assert installed == ["a==1", "a==2"]


def test_a_peer_sees_nothing_of_its_user(tmp_path, monkeypatch):
    """No key and no setting gets through, its home is a new one, and telemetry is off."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("MEMENTO_ROOT", "elsewhere")
    seen = peers_setup.surroundings(PEERS[0], tmp_path)
    assert "secret" not in seen.values()
    assert not any(name.startswith("MEMENTO_") for name in seen)
    assert (seen["HOME"], seen["MEM0_TELEMETRY"]) == (str(tmp_path), "False")
    assert seen["HF_HUB_OFFLINE"] == "1"


# --- runs


def test_the_race_measures_everybody_and_drops_who_fails(kitchen):
    """One that fails on the way, or does not install, is a reason; the others go on."""
    options = argparse.Namespace(size=5, rounds=2)
    names = ("memento", "sick", "absent", "other")
    results = peers.speed([peer(name) for name in names], kitchen, options)
    assert results["absent"] == {"failed": "does not install: no such thing"}
    assert "add: RuntimeError: indigestible" in results["sick"]["failed"]
    for name in ("memento", "other"):
        result = results[name]
        assert {len(result[measure]) for measure in peers.PER_ROUND} == {2}
        everything = peers.WARM_UP + 5 + 3 * peers.CALLS
        assert (result["acknowledged"], result["after_kill"]) == (everything, 0)
        assert result["fsyncs"] in {0, None}
    assert results["memento"]["run"] == results["other"]["run"]


def test_recall_asks_every_question_and_scores_the_answers(kitchen):
    """A memory that finds shared words finds most of our own sets; a raised query is a miss."""
    dataset = peers.own_sets()
    result = peers.recall(dataset, peer("memento"), kitchen, 15)
    assert 0.3 < result["all"]["any@10"]["mean"] <= 1
    assert result["version"] == "1.2"
    assert result["raised"] == ""


def test_recall_of_a_peer_that_fails_is_the_reason(kitchen):
    """It is a row all the same."""
    failed = peers.recall(peers.own_sets(), peer("absent"), kitchen, 1)
    assert failed == {"failed": "does not install: no such thing"}


def test_every_question_of_our_own_sets_can_be_answered():
    """The texts hold every answer, and no two texts have one id."""
    for conversation in peers.own_sets().conversations:
        ids = [peers.item(draft)["id"] for draft in conversation.drafts]
        assert len(set(ids)) == len(ids)
        assert all(query.turns <= set(ids) for query in conversation.queries)
        assert conversation.queries


def test_results_are_kept_and_added_to(tmp_path, monkeypatch, capsys):
    """A second run with another peer leaves the first one's results, and the page shows both."""
    monkeypatch.setattr(peers, "Kitchen", Kitchen)
    base = ["--results", str(tmp_path / "r.json"), "--cache", str(tmp_path), "--limit", "2"]
    peers.main([*base, "--parts", "recall", "--peers", "memento"])
    peers.main([*base, "--parts", "recall", "--peers", "mem0", "--page", str(tmp_path / "page")])
    known = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert list(known["recall"]["own sets"]["peers"]) == ["memento", "mem0"]
    page = (tmp_path / "page" / "peers.md").read_text(encoding="utf-8")
    assert "| mem0, infer=False |" in page
    assert "<svg" in (tmp_path / "page" / "peers.svg").read_text(encoding="utf-8")
    assert "not measured in one run" in capsys.readouterr().out


# --- the page


def speed_result(factor, run="r1"):
    """Return a result of the speed part, slower by a factor."""
    rounds = {name: [factor * n for n in (1.0, 2.0, 3.0)] for name in peers.PER_ROUND}
    rest = {"fill_per_s": 100, "rss_mb": 200, "disk_mb": 3.21, "fsyncs": 1.0, "version": "9"}
    return {**rounds, **rest, "acknowledged": 1043, "after_kill": 1043, "run": run, "raised": ""}


def recall_result(mean):
    """Return a result of the recall part."""
    measures = {name: {"mean": mean, "low": 0, "high": 1} for name in peers_page.RECALL_MEASURES}
    return {"all": measures, "version": "9", "raised": ""}


@pytest.fixture
def results():
    """Return results in which one peer failed, one lost everything and one refused queries."""
    raised = "3 of 9 queries raised, such as ValueError: <b>"
    return {
        "speed": {
            "size": 1000,
            "rounds": 3,
            "machine": {"python": "3.11", "cpus": 2, "machine": "x"},
            "peers": {
                "memento": speed_result(1),
                "langchain-chroma": {**speed_result(4), "raised": raised},
                "mem0": {"failed": "does not install: <gone> & away"},
                "langgraph-memory": {**speed_result(2), "after_kill": 0, "fsyncs": None},
            },
        },
        "recall": {
            "LoCoMo": {
                "stores": 5,
                "texts": 2000,
                "questions": 700,
                "peers": {"memento": recall_result(0.9), "mem0": recall_result(0.5)},
            }
        },
    }


def test_a_peer_that_failed_is_a_row_with_the_reason(results):
    """It has as many cells as the others, and stands where it would have stood."""
    headers, rows = peers_page.speed_rows(results)
    assert {len(row) for row in rows} == {len(headers)}
    assert rows[3][:3] == ["mem0, infer=False", "does not install: <gone> & away", ""]
    assert rows[2][-2:] == ["not counted", "0 of 1,043"]
    assert rows[0][-1] == "all"


def test_ratios_are_those_of_the_rounds_of_one_run(results):
    """Adding counts how often faster, finding what share; without a common run there is none."""
    adding, finding, mem0 = peers_page.figures(results)
    assert (adding.value, adding.verdict) == (4, "MISSED")
    assert (finding.value, finding.verdict) == (0.25, "aim")
    assert (mem0.value, mem0.verdict) == (None, "-")
    results["speed"]["peers"]["langchain-chroma"]["run"] = "another"
    assert peers_page.figures(results)[0].value is None


def test_the_page_is_filled_in_place(results):
    """Only the text between the marks is replaced; filling twice changes nothing."""
    page = "Before.\n<!-- machine -->\nold\n<!-- /machine -->\nAfter."
    texts = {"machine": peers_page.parts(results)["machine"]}
    once = peers_page.filled(page, texts)
    assert "old" not in once
    assert once.startswith("Before.")
    assert once.endswith("After.")
    assert "Python 3.11 on 2 cores" in once
    assert peers_page.filled(once, texts) == once
    with pytest.raises(ValueError, match="no place <!-- speed -->"):
        peers_page.filled(page, {"speed": ""})


def test_the_documentation_has_every_place_and_the_chart(results):
    """The page in docs can be filled, and shows the picture beside it."""
    page = peers_page.PAGE.read_text(encoding="utf-8")
    assert peers_page.filled(page, peers_page.parts(results))
    assert "](peers.svg)" in page
    ET.parse(peers_page.PAGE.with_suffix(".svg"))  # noqa: S314 - our own file

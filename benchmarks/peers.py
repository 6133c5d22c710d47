"""memento beside other memories: the same texts, the same embedder, only the memory differs.

    python benchmarks/peers.py [FILE ...] [--peers NAME ...] [--parts speed recall]
                               [--cache FOLDER] [--results FILE] [--page FOLDER]

Each peer gets an environment of its own, made by pip and kept in --cache, and runs in a process of
its own that speaks the protocol of peers_child.py. After the installation nothing needs the
network. A peer that does not install, or fails, is a row with the reason.

    speed    a store of 1,000 made-up texts; the peers take turns, 20 calls each, and who is first
             changes every round; then a kill -9, and fsyncs counted by strace where there is one
    recall   every conversation of every FILE in a store of its own, all its questions asked; FILE
             is LoCoMo, BEAM or LongMemEval (see dialogues.py), which you bring yourself; without
             one, the sets of this project in benchmarks/sets

Results are kept in --results and added to by the next run, so that peers and parts can be measured
one by one. --page writes the tables into FOLDER/peers.md and the chart to FOLDER/peers.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from common import FIGURE_HEADERS, median, table
from common import environment as machine
from corpus import Corpus
from dialogues import ADVERSARIAL, Conversation, Dataset, Query, load
from metrics import score, summary
from peers_page import figures, recall_rows, recall_title, speed_rows, write_page
from peers_setup import PEERS, Child, Peer, PeerFailed, environment, started

from memento.types import Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peers_adapters import Item

SETS = Path(__file__).with_name("sets")
SIZE = 1_000
ROUNDS = 7
CALLS = 20
"""Calls of each peer a round."""
ASKED = 10
"""Hits asked for where time counts."""
DEPTH = 20
"""Hits asked for where it counts what is found."""
WARM_UP = 3
PER_ROUND = ("add", "adds_per_s", "add_cpu", "retrieve", "retrieve_cpu")
"""Figures of every round, in milliseconds except ``adds_per_s``."""
TITLES = {"locomo": "LoCoMo", "beam": "BEAM", "longmemeval": "LongMemEval"}


# --- texts


def made_up(corpus: Corpus, n: int, mark: str) -> list[Item]:
    """Return n texts to store."""
    return [{"id": f"{mark}-{i}", "text": text} for i, text in enumerate(corpus.texts(n))]


def item(draft: Draft) -> Item:
    """Return what the protocol says of a turn."""
    at = draft.occurred_at
    return {
        "id": str(draft.metadata["turn"]),
        "text": draft.text,
        "actor": draft.actor,
        "role": draft.role,
        "session": draft.session,
        "at": at.isoformat() if at else None,
    }


def own_sets() -> Dataset:
    """Return the sets of this project that can be asked of any memory: languages, corrections."""
    languages = json.loads((SETS / "languages.json").read_text(encoding="utf-8"))
    facts = {
        f"{code}-{n}": (one["name"], *pair)
        for code, one in languages.items()
        for n, pair in enumerate(one["pairs"])
    }
    lines = (SETS / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = {f"pair-{n}": json.loads(line) for n, line in enumerate(lines)}
    corrections = [
        (f"{name}-{age}", pair[age]) for age in ("older", "newer") for name, pair in pairs.items()
    ]
    return Dataset(
        "own sets",
        (
            Conversation(
                "languages",
                tuple(plain(name, fact) for name, (_, fact, _) in facts.items()),
                tuple(asked(name, text, "languages") for name, (_, _, text) in facts.items()),
            ),
            Conversation(
                "corrections",
                tuple(plain(name, text) for name, text in corrections),
                tuple(
                    asked(f"{name}-newer", pair["question"], "corrections")
                    for name, pair in pairs.items()
                ),
            ),
        ),
    )


def plain(name: str, text: str) -> Draft:
    """Return a fact without a speaker."""
    return Draft(text, metadata={"turn": name})


def asked(name: str, text: str, category: str) -> Query:
    """Return a question that one fact answers."""
    return Query(name, text, category, frozenset([name]), frozenset())


# --- starting


class Kitchen:
    """Where peers are started: their environments, and a folder for all they write.

    Args:
        cache: Folder of the environments.
        root: Folder for everything else; the caller removes it.
    """

    def __init__(self, cache: Path, root: Path) -> None:
        self._cache = cache
        self._root = root
        self._count = 0

    def start(self, peer: Peer, prefix: Sequence[str] = (), *, embeds: bool = True) -> Child:
        """Start a peer, installed if need be.

        Args:
            peer: Which.
            prefix: What to start it under.
            embeds: Whether it embeds every text itself, or reads what another peer embedded.

        Raises:
            PeerFailed: If it does not install.
        """
        python = environment(peer, self._cache)
        vectors = None if embeds else self._cache / "vectors.db"
        return started(peer, python, self.folder(), prefix=prefix, vectors=vectors)

    def folder(self) -> Path:
        """Return a new empty folder."""
        self._count += 1
        folder = self._root / str(self._count)
        folder.mkdir()
        return folder


def megabytes(folder: Path) -> float:
    """Return the size of all files in a folder, MB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


# --- speed


class Runner:
    """A peer under way in the speed part, with what was measured of it so far.

    Args:
        peer: Which.
        kitchen: Starts it.
    """

    def __init__(self, peer: Peer, kitchen: Kitchen) -> None:
        self.peer = peer
        self.result: dict[str, Any] = {name: [] for name in PER_ROUND}
        self.raised: list[str] = []
        self._kitchen = kitchen
        self._folder = kitchen.folder()
        self.child = kitchen.start(peer)

    def fill(self, size: int) -> None:
        """Store texts in bulk and wait until all are found; the first few warm up."""
        say(f"{self.peer.title}: filling")
        self.child.ask("open", folder=str(self._folder))
        self.child.ask("add", items=made_up(Corpus(3), WARM_UP, "warm"), bulk=True)
        self.child.ask("retrieve", queries=Corpus(3).questions(WARM_UP), k=ASKED)
        done = self.child.ask("add", items=made_up(Corpus(1), size, "text"), bulk=True)
        settled = self.child.ask("settle")
        self.result["fill_per_s"] = size / (sum(done["wall"]) + sum(settled["wall"]))

    def add(self, items: Sequence[Item]) -> None:
        """Add texts one by one, then wait for what goes on in the background: its CPU counts."""
        done = self.child.ask("add", items=items, bulk=False)
        settled = self.child.ask("settle")
        self.result["add"].append(1e3 * median(done["wall"]))
        self.result["adds_per_s"].append(len(items) / sum(done["wall"]))
        self.result["add_cpu"].append(1e3 * (done["cpu"] + settled["cpu"]) / len(items))

    def retrieve(self, queries: Sequence[str]) -> None:
        """Put questions."""
        done = self.child.ask("retrieve", queries=queries, k=ASKED)
        self.raised += refused(done, len(queries))
        self.result["retrieve"].append(1e3 * median(done["wall"]))
        self.result["retrieve_cpu"].append(1e3 * done["cpu"] / len(queries))

    def finish(self) -> None:
        """Look at what it takes, then end it in the middle of work and see what is left."""
        state = self.child.ask("state")
        self.result |= {"version": state["version"], "rss_mb": state["rss_mb"]}
        self.result["raised"] = remark(self.raised, CALLS * len(self.result["retrieve"]))
        self.result["disk_mb"] = megabytes(self._folder)
        self.child.ask("add", items=made_up(Corpus(5), CALLS, "kill"), bulk=False)
        self.child.end()
        self.child = self._kitchen.start(self.peer)
        self.child.ask("open", folder=str(self._folder))
        self.result["acknowledged"] = state["count"] + CALLS
        self.result["after_kill"] = self.child.ask("state")["count"]

    def fsyncs(self) -> None:
        """Count the fsyncs of an add in a process and a store of their own, all threads."""
        self.result["fsyncs"] = None
        if shutil.which("strace") is None:
            return
        log = self._kitchen.folder() / "log"
        trace = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(log)]
        try:
            with self._kitchen.start(self.peer, trace) as child:
                child.ask("open", folder=str(self._kitchen.folder()))
                child.ask("add", items=made_up(Corpus(3), WARM_UP, "warm"), bulk=False)
                child.ask("settle")
                before = synced(log)
                child.ask("add", items=made_up(Corpus(6), CALLS, "sync"), bulk=False)
                self.result["fsyncs"] = (synced(log) - before) / CALLS
        except PeerFailed as error:  # where tracing is not allowed; all else worked before
            say(f"{self.peer.title}: fsyncs not counted: {error}")


def refused(done: dict[str, Any], asked_for: int) -> list[str]:
    """Return what was raised.

    Raises:
        PeerFailed: If every query raised.
    """
    raised: list[str] = done["raised"]
    if len(raised) == asked_for:
        raise PeerFailed(f"every query raised, the first: {raised[0]}")
    return raised


def remark(raised: Sequence[str], asked_for: int) -> str:
    """Say how many queries raised, and how; empty if none."""
    return f"{len(raised)} of {asked_for} queries raised, such as {raised[0]}" if raised else ""


def synced(log: Path) -> int:
    """Return how many calls of fsync and fdatasync strace has written down."""
    return len(re.findall(r"f(?:data)?sync\(", log.read_text(encoding="utf-8")))


class Race:
    """Peers that take turns. One that fails drops out with its reason; the others go on.

    Args:
        peers: Who takes part.
        kitchen: Starts them.
    """

    def __init__(self, peers: Sequence[Peer], kitchen: Kitchen) -> None:
        self._kitchen = kitchen
        self._failed: dict[str, str] = {}
        self._runners: list[Runner] = []
        self.each(lambda peer: self._runners.append(Runner(peer, kitchen)), peers)

    def each(self, step: Callable[[Any], None], among: Sequence[Any] | None = None) -> None:
        """Have everybody who is still in take a step."""
        for one in self._runners if among is None else among:
            peer = one.peer if isinstance(one, Runner) else one
            if peer.name not in self._failed:
                try:
                    step(one)
                except PeerFailed as error:
                    self._failed[peer.name] = str(error)
                    say(f"{peer.title}: {error}")

    def turns(self, n: int) -> list[Runner]:
        """Return everybody, another one first every round."""
        first = n % max(1, len(self._runners))
        return [*self._runners[first:], *self._runners[:first]]

    def results(self) -> dict[str, dict[str, Any]]:
        """Return what was measured of each, or why nothing was."""
        run = uuid4().hex
        measured = {runner.peer.name: {**runner.result, "run": run} for runner in self._runners}
        return measured | {name: {"failed": reason} for name, reason in self._failed.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for runner in self._runners:
            runner.child.end()


def speed(peers: Sequence[Peer], kitchen: Kitchen, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the speed of peers in one run; return a result, or why there is none, for each."""
    with Race(peers, kitchen) as race:
        race.each(lambda runner: runner.fill(options.size))
        texts, questions = Corpus(2), new_questions(options.rounds * CALLS)
        for n in range(options.rounds):
            say(f"round {n + 1} of {options.rounds}")
            items, queries = made_up(texts, CALLS, f"round{n}"), questions[n * CALLS :][:CALLS]
            race.each(partial(Runner.add, items=items), race.turns(n))
            race.each(partial(Runner.retrieve, queries=queries), race.turns(n))
        race.each(Runner.finish)
        race.each(Runner.fsyncs)
    return race.results()


def new_questions(n: int) -> list[str]:
    """Return n questions, none twice: a memory may keep the vector of what it was asked before."""
    corpus = Corpus(77)
    known: dict[str, None] = {}
    while len(known) < n:
        known |= dict.fromkeys(corpus.questions(1))
    return list(known)


# --- recall


def recall(dataset: Dataset, peer: Peer, kitchen: Kitchen, limit: int | None) -> dict[str, Any]:
    """Have a peer keep the conversations and answer the questions; return what it found."""
    scores: list[dict[str, float]] = []
    raised: list[str] = []
    try:
        with kitchen.start(peer, embeds=False) as child:
            for conversation in dataset.conversations:
                queries = questions_of(conversation)[:limit]
                done = asked_of(child, conversation, queries, kitchen.folder())
                for query, found in zip(queries, done["found"], strict=True):
                    scores.append(score(found, query.turns))
                raised += done["raised"]
                version = child.ask("state")["version"]
                child.ask("close")
            refused({"raised": raised}, len(scores))
    except PeerFailed as error:
        return {"failed": str(error)}
    return {
        "all": summary(scores),
        "version": version,
        "raised": remark(raised, len(scores)),
    }


def questions_of(conversation: Conversation) -> list[Query]:
    """Return the questions that a turn answers."""
    return [query for query in conversation.queries if query.category != ADVERSARIAL]


def asked_of(
    child: Child, conversation: Conversation, queries: Sequence[Query], folder: Path
) -> dict[str, Any]:
    """Have a conversation kept in a fresh store and put the questions to it."""
    now = conversation.now.isoformat() if conversation.now else None
    child.ask("open", folder=str(folder), now=now)
    child.ask("add", items=[item(draft) for draft in conversation.drafts], bulk=True)
    child.ask("settle")
    child.ask("retrieve", queries=["warm up"], k=1)
    done = child.ask("retrieve", queries=[query.text for query in queries], k=DEPTH)
    if (kept := child.ask("state")["count"]) != len(conversation.drafts):
        say(f"  {conversation.id}: keeps {kept} of {len(conversation.drafts)} texts")
    return done


def title(dataset: Dataset) -> str:
    """Return the name of a benchmark as people write it."""
    return TITLES.get(dataset.name, dataset.name)


# --- results


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the requested parts, and add them to the known results."""
    known: dict[str, Any] = {"speed": {}, "recall": {}}
    if options.results.exists():
        known = json.loads(options.results.read_text(encoding="utf-8"))
    chosen = [peer for peer in PEERS if not options.peers or peer.name in options.peers]
    with TemporaryDirectory(prefix="memento-peers-", ignore_cleanup_errors=True) as root:
        kitchen = Kitchen(options.cache, Path(root))
        if "speed" in options.parts:
            measured = speed([peer for peer in chosen if peer.speed], kitchen, options)
            known["speed"] = {
                "size": options.size,
                "rounds": options.rounds,
                "machine": machine(),
                "peers": {**known["speed"].get("peers", {}), **measured},
            }
            keep(known, options.results)
        if "recall" in options.parts:
            for dataset in [load(file) for file in options.files] or [own_sets()]:
                row = known["recall"].setdefault(title(dataset), {"peers": {}})
                row |= {
                    "stores": len(dataset.conversations),
                    "texts": sum(len(one.drafts) for one in dataset.conversations),
                    "questions": sum(
                        len(questions_of(one)[: options.limit]) for one in dataset.conversations
                    ),
                }
                for peer in chosen:
                    say(f"{title(dataset)}: {peer.title}")
                    row["peers"][peer.name] = recall(dataset, peer, kitchen, options.limit)
                    keep(known, options.results)
    return known


def keep(known: dict[str, Any], results: Path) -> None:
    """Write what is known so far, so that a failure later loses none of it."""
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr, flush=True)


def default_cache() -> Path:
    """Return the folder in the user's cache where the environments are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "memento-peers"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", type=Path, help="LoCoMo, BEAM or LongMemEval")
    parser.add_argument("--peers", nargs="+", choices=names, help="only these")
    parser.add_argument(
        "--parts", nargs="*", choices=("speed", "recall"), default=["speed", "recall"]
    )
    parser.add_argument("--size", type=int, default=SIZE, help="texts in the store, for speed")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds, for speed")
    parser.add_argument("--limit", type=int, help="only so many questions a conversation")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="environments are here")
    parser.add_argument("--results", type=Path, default=Path("results/peers.json"))
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="write page and chart there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, keep, and write the page."""
    options = parsed(arguments)
    known = measure(options)
    for name, dataset in known["recall"].items():
        print(recall_title(name, dataset), table(*recall_rows(dataset)), sep="\n\n", end="\n\n")
    print(table(*speed_rows(known)), end="\n\n")
    if held := figures(known):
        print(table(FIGURE_HEADERS, [figure.cells() for figure in held]))
    if options.page:
        write_page(options.page, known)


if __name__ == "__main__":
    main()

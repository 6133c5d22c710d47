"""``memento demo``: the main job on a real conversation, in one minute and offline.

story  what is remembered and asked: ``NOTES``, ``QUESTIONS``, and ``CHANGED``, which gets a new
       answer
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from memento import MemoryManager, ingest
from memento.base.display import plain
from memento.cli.demo import story
from memento.cli.local import moment
from memento.cli.tables import STYLES, console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from memento.types import Hit, Memory, Retrieval


SAID = (
    ("Please use tabs.", "Tabs it is."),
    ("No, use spaces.", "Spaces from now on."),
    ("I live in Utrecht.", "Noted."),
)
"""Messages of a user, and the answers of the assistant."""
Say = Callable[[str], None]


def learn(memory: MemoryManager, say: Say) -> None:
    """Observe a conversation: a rule, its correction and a fact; then show the policy."""
    for user, assistant in SAID:
        seen = memory.observe(user, assistant, session="monday")
        for one in seen.learned:
            before = [memory.get(old).text for old in one.replaced]
            instead = f', instead of "{before[0]}"' if before else ""
            say(f'user: "{user}" -> {one.memory.kind} {one.memory.key}{instead}')
    told = [memory.text for memory in memory.rules.policy().memories]
    say(f"policy for the next session: {_quoted(told)}")
    (old, new) = (value.memory for value in memory.slots.history("style/indent"))
    say(f'history of style/indent: "{old.text}" ({old.status}), "{new.text}" ({new.status})')


def _quoted(texts: list[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


NAMESPACE = "demo"
WAYS = {"text": "words", "meaning": "meaning", "time": "time", "name": "name", "exact": "spelling"}
"""Names of the searches in the output of the demo."""
LEARNS = "Learn from a conversation"
"""Title of the last scene."""


def run(root: Path | None = None) -> None:
    """Remember, ask, correct, close and reopen, showing each step on stdout.

    Args:
        root: The store folder; None for a temporary one. In your own folder the demo uses a
            separate namespace, and a second run adds nothing.
    """
    out = console()
    out.print(Text("memento demo: two friends, an old wooden boat, and an agent that remembers"))
    with _folder(root) as folder:
        with MemoryManager(folder, namespace=NAMESPACE) as memory:
            adding = _remember(out, memory)
            heading(out, "Ask")
            line(out, "Each answer shows its tier, speaker, date and score, and how it ranked in")
            line(out, "each search: by words, meaning, exact spelling or name.")
            asking = [ask(out, memory, question.text) for question in story.QUESTIONS]
            change(out, memory)
            count = memory.store.stats().memories
        _reopen(out, folder, count)
    heading(out, LEARNS)
    with (
        TemporaryDirectory(prefix="memento-demo-") as apart,
        MemoryManager(apart, namespace=NAMESPACE) as memory,
    ):
        learn(memory, lambda text: line(out, text))
    heading(out, "Timing")
    line(
        out,
        f"{_ms(median(adding))} for a durable add, {_ms(median(asking))} for an answer (medians)",
    )
    _try_next(out, root)


@contextmanager
def _folder(root: Path | None) -> Iterator[Path]:
    if root is not None:
        yield root
        return
    with TemporaryDirectory(prefix="memento-demo-") as folder:
        yield Path(folder)


def _remember(out: Console, memory: MemoryManager) -> list[float]:
    """Add the conversation and the notes; return the duration of each ``add``, in seconds."""
    heading(out, "Remember")
    began = perf_counter()
    turns = memory.add_many(ingest.read(story.CONVERSATION))
    took = perf_counter() - began
    line(
        out,
        f"{len(turns)} turns from 4 conversations in one transaction, {_ms(took)}: {_tiers(turns)}",
    )
    notes: list[Memory] = []
    seconds = []
    for draft in (*story.NOTES, story.BEFORE):
        began = perf_counter()
        notes += memory.add_many([draft])
        seconds.append(perf_counter() - began)
    line(out, f"{len(notes)} notes, facts and rules, added one at a time: {_tiers(notes)}")
    began = perf_counter()
    memory.flush(wait=True)
    line(out, f"indexed for semantic search in {perf_counter() - began:.1f} s; no add had to wait")
    return seconds


def ask(out: Console, memory: MemoryManager, question: str) -> float:
    """Ask one question and show the best answer; return the duration in seconds."""
    found = memory.retrieve(question, k=3)
    _show(out, found)
    return found.took["total"]


def change(out: Console, memory: MemoryManager) -> None:
    """Replace a fact, then show the new answer and the statement it replaced."""
    heading(out, "A fact changes")
    memory.add_many([story.AFTER])
    memory.flush(wait=True)
    _show(out, memory.retrieve(story.CHANGED.text, k=3))
    (before,) = memory.list(status="superseded")
    line(out, f"It replaced this statement, which stays in the history ({_day(before)}):")
    _quote(out, before.text, "dim")


def _reopen(out: Console, folder: Path, count: int) -> None:
    heading(out, "Close and reopen")
    began = perf_counter()
    with MemoryManager(folder, namespace=NAMESPACE) as memory:
        same = memory.store.stats().memories
        opened = perf_counter() - began
        line(out, f"{same} of {count} memories are back after {_ms(opened)}")
        _show(out, memory.retrieve(story.QUESTIONS[1].text, k=3))


def _try_next(out: Console, root: Path | None) -> None:
    heading(out, "Next steps")
    folder = root or "demo_memory"
    if root is None:
        line(out, f"memento demo --root {folder}")
    line(out, f'memento retrieve "which berth do they have?" --root {folder} --namespace demo')
    line(out, 'memento add "I take my coffee black" --tier long')
    line(out, "memento ingest YOUR_CHAT.json")
    line(out, "memento --help")


def _show(out: Console, found: Retrieval) -> None:
    """Show a question, its best answer and the source of that."""
    out.print()
    out.print(Padding(Text(found.query, "bold"), (0, 0, 0, 2), expand=False))
    if not found:
        line(out, "nothing found")
        return
    best = found[0]
    _quote(out, best.text, STYLES[best.tier])
    origin = Text(f"{best.tier} tier", STYLES[best.tier])
    origin.append(
        f" | {_speaker(best.memory)} {_day(best.memory)} | score {best.score:.2f} | {_why(best)}",
        "dim",
    )
    out.print(Padding(origin, (0, 0, 0, 4), expand=False))


def heading(out: Console, text: str) -> None:
    """Print the title of a scene."""
    out.print()
    out.print(Text(text, "bold underline"))


def line(out: Console, text: str) -> None:
    """Print one indented line."""
    out.print(Padding(Text(text), (0, 0, 0, 2), expand=False))


def _quote(out: Console, text: str, style: str) -> None:
    out.print(Padding(Text(f'"{plain(text)}"', style), (0, 0, 0, 4), expand=False))


def _why(hit: Hit) -> str:
    """Return which searches found a hit, and at which rank."""
    ranks = sorted(hit.ranks.items(), key=lambda item: (item[1], item[0]))
    return ", ".join(f"{WAYS.get(way, way)} #{rank}" for way, rank in ranks)


def _speaker(memory: Memory) -> str:
    return memory.actor or "noted"


def _day(memory: Memory) -> str:
    return moment(memory.occurred_at)[:10]


def _tiers(memories: Iterable[Memory]) -> str:
    counts = Counter(memory.tier.value for memory in memories)
    return ", ".join(f"{counts[tier]} {tier}" for tier in STYLES if counts[tier])


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"

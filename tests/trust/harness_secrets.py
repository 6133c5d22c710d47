"""Keys pasted into a conversation do not reach the disk; ordinary text is left alone.

Keys are made as their issuers describe them, not from our patterns, and each shape of each kind has
to be caught: a mean over all kinds would not show one of which none is. The quick form makes a few
keys of each shape, the full one many; both look at 5,000 ordinary sentences.

Alone: ``python benchmarks/trust.py --full --only secrets``.
"""

from __future__ import annotations

import io
import random
import re
import timeit
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib.util import find_spec
from pathlib import Path

from secret_samples import disguised, keys, leaks, sentences, shapes
from trust_result import TrustResult

from memento import Config, MemoryManager, Source, Turn, ingest
from memento.admit.redact import redact
from memento.check import MAX_NAME
from memento.errors import SecretFound
from memento.frameworks import AgentMemory, Transcript

SENTENCES = 5_000
LEAST_CAUGHT, MOST_ALARMS = 0.95, 0.01
LEAST_OF_EACH = 0.9
"""Share of the keys of one shape that must be caught."""
_RUN = re.compile(r"[\w/+-]*\d[\w/+-]{15,}|[\w/+-]{15,}\d[\w/+-]*")

Taker = Callable[[str], str]
Sample = tuple[str, str, str]
"""Kind, what must not stay, text."""


def by_format(text: str) -> str:
    """Take secrets out as memento does."""
    return redact(text, Counter())


def by_nothing(text: str) -> str:
    """Be the control for what is caught: take out nothing."""
    return text


def by_length(text: str) -> str:
    """Be the control for false alarms: take whatever is long and has a digit for a secret."""
    return _RUN.sub("[redacted]", text)


def missed(take: Taker, samples: list[Sample]) -> list[tuple[str, str]]:
    """List what still gives its secret away: (kind, text)."""
    return [(kind, text) for kind, secret, text in samples if leaks(secret, take(text))]


def shares(take: Taker, samples: list[Sample]) -> dict[str, float]:
    """Return the share of each shape that is caught, the least first."""
    made = Counter(kind for kind, _, _ in samples)
    stayed = Counter(kind for kind, _ in missed(take, samples))
    caught = {kind: 1 - stayed[kind] / count for kind, count in made.items()}
    return dict(sorted(caught.items(), key=lambda one: (one[1], one[0])))


def alarms(take: Taker, texts: list[str]) -> list[str]:
    """List the ordinary texts that were changed."""
    return [text for text in texts if take(text) != text]


TALK = """
    Rami moved the meeting about the quarterly report to Friday, because Lea is in Oslo until then;
    she asked (as always) for the numbers of the north, which nobody has looked at since May. I said
    that the garden fence can wait. We drink green tea now, it is cheaper: 300 grams last longer
    than a month. The gluten-free cake was a success, so my sister wants the recipe, and the
    landlord wants to know when the heating was repaired.
"""


def microseconds(more: str = "") -> float:
    """Measure what an ordinary text of 100 words costs, the best of some rounds."""
    text, rounds = " ".join([*(TALK * 2).split()[:100], more]), 1_000
    best = min(timeit.repeat(lambda: redact(text, Counter()), number=rounds, repeat=15))
    return round(best / rounds * 1e6, 1)


def keys_are_caught(_folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Count made-up keys that stay, shape by shape, and ordinary sentences that are changed."""
    rng = random.Random(seed)
    each = 200 if full else 20
    samples, ordinary = shapes(rng, each), sentences(rng, SENTENCES)
    hidden = disguised(rng, each)
    stayed, changed = missed(by_format, samples), alarms(by_format, ordinary)
    caught, alarmed = 1 - len(stayed) / len(samples), len(changed) / len(ordinary)
    of_each, of_hidden = shares(by_format, samples), shares(by_format, hidden)
    low = [f"{kind}: {share:.0%}" for kind, share in of_each.items() if share < LEAST_OF_EACH]
    low += [f"{kind}, disguised: {share:.0%}" for kind, share in of_hidden.items()
            if share < LEAST_OF_EACH]  # fmt: skip
    failures = len(low) + int(caught < LEAST_CAUGHT) + int(alarmed > MOST_ALARMS)
    worst, worst_hidden = next(iter(of_each.items())), next(iter(of_hidden.items()))
    return TrustResult(
        name="secrets in added texts",
        promise=f"At least {LEAST_OF_EACH:.0%} of the keys in each listed format, and"
        f" {LEAST_CAUGHT:.0%} of all keys, are removed before anything is stored; at most"
        f" {MOST_ALARMS:.0%} of ordinary sentences are changed.",
        cases=len(samples) + len(hidden) + len(ordinary),
        failures=failures,
        control="removing nothing; removing everything that is long and contains a digit",
        control_failed=(
            max(shares(by_nothing, samples).values()) < LEAST_OF_EACH
            and len(alarms(by_length, ordinary)) / len(ordinary) > MOST_ALARMS
        ),
        seed=seed,
        figures={
            "key formats": len({kind.partition("/")[0] for kind in of_each}),
            "key shapes": len(of_each),
            "keys caught": f"{caught:.2%} of {len(samples):,}",
            "worst shape": f"{worst[0]}: {worst[1]:.1%}",
            "worst shape with an invisible character": f"{worst_hidden[0]}: {worst_hidden[1]:.1%}",
            "ordinary sentences changed": f"{alarmed:.2%} of {len(ordinary):,}",
            "µs for an ordinary text of 100 words": microseconds(),
            "µs for such a text with an address": microseconds(
                "https://example.org/docs/install/linux"
            ),
        },
        details=(*low[:10], *(f"{kind}: {text[:120]!r}" for kind, text in stayed[:10])),
    )


def nothing_reaches_the_disk(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Add keys by every field, then look for their bytes in every file of the store."""
    rng = random.Random(seed)
    samples = keys(rng, 10 if full else 1)
    found = _stored(folder / "store", samples, "redact", full=full)
    control = _stored(folder / "control", samples, "allow", full=full)
    caught = {secret for _, secret, text in samples if not leaks(secret, by_format(text))}
    failures = [secret for secret in found if secret in caught]
    return TrustResult(
        name="secrets in the store's files",
        promise="No file contains a key that was removed: neither the ledger, the log, the"
        " snapshot nor Chroma's files.",
        cases=len(samples),
        failures=len(failures),
        control="a store with secrets='allow'",
        control_failed=bool(control),
        seed=seed,
        figures={"control: secrets in the files": len(control)},
        details=tuple(sorted(failures))[:10],
    )


def _stored(root: Path, samples: list[Sample], policy: str, *, full: bool) -> set[str]:
    """Keep texts by every way in; return the secrets that some file holds."""
    from memento.testing import HashEmbedder  # noqa: PLC0415 - needs NumPy

    config = Config(secrets=policy)
    with MemoryManager(root, config=config, embedder=HashEmbedder()) as memory:
        for at, (_, _, text) in enumerate(samples):
            memory.add(f"a {at} {text}", ("short", "medium", "long")[at % 3])
            _by_fields(memory, at, text)
            _by_changes(memory, at, text)
            if full or at % 4 == 0:  # CrewAI takes a tenth of a second for each
                _by_adapters(memory, at, text)
        _by_files(memory, root.with_name(f"{root.name} files"), samples)
        memory.flush(wait=True)
    files = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    return {
        secret
        for _, secret, _ in samples
        if any(secret.replace("\r\n", "\\r\\n").encode()[:60] in data for data in files)
    }


def _by_fields(memory: MemoryManager, at: int, text: str) -> None:
    """Add by every field that takes a text, a name or an address; ids and paths are addresses."""
    metadata = {"said": {"all": [text], text: 1}}
    memory.add_many([{"text": f"b {at}", "metadata": metadata}])
    if len(text) > MAX_NAME:
        return
    source = Source("agent", uri=text, model=text)
    memory.add(f"c {at}", tags=[text], aliases=[text], actor=text, role=text, source=source)
    with suppress(SecretFound):  # refused, since two slots would become one
        memory.add(f"d {at}", key=text)


def _by_changes(memory: MemoryManager, at: int, text: str) -> None:
    """Let what was clean be changed, and be replaced."""
    name = [text] if len(text) <= MAX_NAME else []
    kept = memory.add(f"to be changed {at}", "long")
    memory.update(kept.id, text=text, metadata={"x": text}, tags=name, add_aliases=name)
    memory.add(f"to be replaced {at}", id=f"r{at}")
    memory.add(f"{text} {at}", id=f"r{at}", metadata={"x": [text]}, tags=name, replace=True)


def _by_files(memory: MemoryManager, folder: Path, samples: list[Sample]) -> None:
    """Take in a stranger's export and notes, as ``memento import`` and ``ingest`` do."""
    folder.mkdir()
    with MemoryManager(folder / "theirs", config=Config(secrets="allow"), embedder=None) as theirs:
        for at, (_, _, text) in enumerate(samples):
            theirs.add(f"e {at} {text}", metadata={"x": text, text: at})
            _by_changes(theirs, at, text)
        theirs.store.export(folder / "theirs.jsonl")
    memory.of("imported").store.import_from(folder / "theirs.jsonl", trust="agent")
    notes = "\n\n".join(f"Note {at}: {text}" for at, (_, _, text) in enumerate(samples))
    (folder / "notes.md").write_text(notes, encoding="utf-8")
    drafts = ingest.read(folder / "notes.md")
    memory.of("ingested").add_many([*drafts])


def _by_adapters(memory: MemoryManager, at: int, text: str) -> None:
    """Add by the adapters whose frameworks are installed, and by what the others share."""
    call = {"type": "function_call", "arguments": text, text: {"at": [at, text]}}
    talk = Transcript(AgentMemory(memory.of("frameworks")), "s", "items")
    talk.add([(Turn("", "assistant"), call), (Turn(text), {"role": "user", "content": text})])
    if find_spec("langchain_core"):
        from langchain_core.messages import AIMessage  # noqa: PLC0415 - only where installed

        from memento_langchain import MementoChatMessageHistory  # noqa: PLC0415 - as above

        call = {"name": "f", "args": {"token": text, text: 1}, "id": f"c{at}"}
        history = MementoChatMessageHistory("s", memory.of("langchain"))
        history.add_messages([AIMessage(f"x {text}", tool_calls=[call])])
    if find_spec("langgraph"):
        from memento_langgraph import MementoStore  # noqa: PLC0415 - only where installed

        MementoStore(memory.of("langgraph")).put(("u",), f"k{at}", {"text": text, text: "x"})
    if find_spec("crewai"):
        _by_crew(memory.of("crewai"), text)


def _by_crew(memory: MemoryManager, text: str) -> None:
    """Add as CrewAI does, without the boxes it prints and what its import warns of."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from memento_crewai import MementoCrewMemory  # noqa: PLC0415 - only where installed

        crew = MementoCrewMemory(memory)
        crew.remember(f"x {text}", metadata={"a": text, text: "b"})


HARNESSES = (keys_are_caught, nothing_reaches_the_disk)

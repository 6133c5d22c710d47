"""Keys pasted into a conversation do not reach the disk; ordinary text is left alone.

The quick form makes a few keys of each format, the full one many; both look at 5,000 ordinary
sentences. Alone: ``python benchmarks/trust.py --full --only secrets``.
"""

from __future__ import annotations

import random
import re
import timeit
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from secret_samples import keys, leaks, sentences
from trust_result import TrustResult

from memento import Config, MemoryManager
from memento.observe.redact import redact

SENTENCES = 5_000
LEAST_CAUGHT, MOST_ALARMS = 0.95, 0.01
_RUN = re.compile(r"[\w/+-]*\d[\w/+-]{15,}|[\w/+-]{15,}\d[\w/+-]*")

Taker = Callable[[str], str]


def by_format(text: str) -> str:
    """Take secrets out as memento does."""
    return redact(text, Counter())


def by_nothing(text: str) -> str:
    """Be the control for what is caught: take out nothing."""
    return text


def by_length(text: str) -> str:
    """Be the control for false alarms: take whatever is long and has a digit for a secret."""
    return _RUN.sub("[redacted]", text)


def missed(take: Taker, samples: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """List what still gives its secret away: (kind, text)."""
    return [(kind, text) for kind, secret, text in samples if leaks(secret, take(text))]


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
    """Count made-up keys that stay, and ordinary sentences that are changed."""
    rng = random.Random(seed)
    samples, ordinary = keys(rng, 200 if full else 20), sentences(rng, SENTENCES)
    stayed, changed = missed(by_format, samples), alarms(by_format, ordinary)
    caught, alarmed = 1 - len(stayed) / len(samples), len(changed) / len(ordinary)
    failures = int(caught < LEAST_CAUGHT) + int(alarmed > MOST_ALARMS)
    return TrustResult(
        name="secrets in what is to be remembered",
        promise=f"Of the listed formats at least {LEAST_CAUGHT:.0%} of keys are taken out before "
        f"anything is stored; at most {MOST_ALARMS:.0%} of ordinary sentences are changed.",
        cases=len(samples) + len(ordinary),
        failures=failures,
        control="taking out nothing; and taking out all that is long and has a digit",
        control_failed=(
            len(missed(by_nothing, samples)) / len(samples) > 1 - LEAST_CAUGHT
            and len(alarms(by_length, ordinary)) / len(ordinary) > MOST_ALARMS
        ),
        seed=seed,
        figures={
            "kinds of keys": len({kind for kind, _, _ in samples}),
            "keys caught": f"{caught:.2%} of {len(samples):,}",
            "ordinary sentences changed": f"{alarmed:.2%} of {len(ordinary):,}",
            "µs for an ordinary text of 100 words": microseconds(),
            "µs with an address in it": microseconds("https://example.org/docs/install/linux"),
        },
        details=tuple(f"{kind}: {text[:120]!r}" for kind, text in stayed[:10]),
    )


def nothing_reaches_the_disk(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Add keys by every field, then look for their bytes in every file of the store."""
    rng = random.Random(seed)
    samples = keys(rng, 20 if full else 2)
    found = _stored(folder / "store", samples, "redact")
    control = _stored(folder / "control", samples, "allow")
    caught = {secret for _, secret, text in samples if not leaks(secret, by_format(text))}
    failures = [secret for secret in found if secret in caught]
    return TrustResult(
        name="secrets in the files of a store",
        promise="A key that was taken out is in no file: ledger, log, snapshot or Chroma's.",
        cases=len(samples),
        failures=len(failures),
        control="a store with secrets='allow'",
        control_failed=bool(control),
        seed=seed,
        figures={"secrets in the files of the control": len(control)},
        details=tuple(sorted(failures))[:10],
    )


def _stored(root: Path, samples: list[tuple[str, str, str]], policy: str) -> set[str]:
    """Keep texts by every way in; return the secrets that some file holds."""
    from memento.testing import HashEmbedder  # noqa: PLC0415 - needs NumPy

    with MemoryManager(root, config=Config(secrets=policy), embedder=HashEmbedder()) as memory:
        for at, (_, _, text) in enumerate(samples):
            memory.add(f"a {at} {text}", ("short", "medium", "long")[at % 3])
        memory.add_many([{"text": f"b {at}", "metadata": {"said": {"all": [text]}}}
                         for at, (_, _, text) in enumerate(samples)])  # fmt: skip
        kept = memory.add("to be changed", "long")
        for _, _, text in samples:
            memory.update(kept.id, text=text)
        memory.flush(wait=True)
    files = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    return {
        secret
        for _, secret, _ in samples
        if any(secret.replace("\r\n", "\\r\\n").encode()[:60] in data for data in files)
    }


HARNESSES = (keys_are_caught, nothing_reaches_the_disk)

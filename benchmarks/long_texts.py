"""Long texts in a prompt: is the answer shown, and does the block stay within its budget?

    python benchmarks/long_texts.py [--no-embedder] [--paste CHARACTERS] [--json OUT]

Everything is invented (`sets/contract.json`). ``before`` renders as memento did before it had
passages: a memory is shown whole or not at all, and four characters are a token. The cases:

    contract       25 kB as one memory, 24 questions, 500 tokens
    document       the same, split by ``add_document``
    middle         55,786 characters, the answer in the middle, 500 and 1,000 tokens
    paste          a turn of 370 kB in a chat, 24 questions, the default budget
    small          one short note, 65 and 50 tokens
    Japanese       forty notes in Japanese, 300 tokens
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import environment, table, write_json

from memento import Config, MemoryManager
from memento.config import RetrieveConfig
from memento.errors import InvalidInput
from memento.prompt import new_nonce, render
from memento.retrieve.answer import within
from memento.text.words import estimate

SET = Path(__file__).parent / "sets" / "contract.json"
BUDGET = 500
MIDDLE = 55_786
PASTE = 370_000
DEFAULT_BUDGET = 1_500


@dataclass(frozen=True, slots=True)
class Case:
    """The result of one case.

    Attributes:
        name: What was done.
        shown: Questions whose block shows the answer.
        asked: Questions.
        largest: Tokens of the largest block, by the estimate that knows scripts.
        budget: The budget, or None.
        seconds: CPU seconds per prompt.
    """

    name: str
    shown: int
    asked: int
    largest: int
    budget: int | None
    seconds: float


Ask = Callable[[MemoryManager, str, int | None], str]
"""Makes the block for a question within a budget."""


def contract() -> tuple[str, list[tuple[str, str]]]:
    """Return a contract of about 25 kB in Markdown, and (question, answer) pairs."""
    given = json.loads(SET.read_text(encoding="utf-8"))
    clauses, filler = given["clauses"], given["boilerplate"]
    lines = ["# Supply agreement", ""]
    for number, (title, rule, *_) in enumerate(clauses, start=1):
        around = [filler[(number + n) % len(filler)] for n in range(len(filler))]
        before, after = " ".join(around[:3]), " ".join(around[3:])
        lines += [f"## {number}. {title}", "", f"{before} {rule} {after}", ""]
    return "\n".join(lines), [(question, answer) for _, _, question, answer in clauses]


def middle() -> tuple[str, str, str]:
    """Return a text of 55,786 characters, a question, and the answer in its middle."""
    answer = "Fatima Zahra, extension 4417"
    said = f"The escalation contact for the Rotterdam plant is {answer}."
    weeks = (
        f"In week {n} the Rotterdam plant shipped {3 * n} pallets and nobody was hurt."
        for n in range(10_000)
    )
    half = (MIDDLE - len(said)) // 2
    before = " ".join(_up_to(weeks, half))[: half - 1]
    after = " ".join(_up_to(weeks, half + 200))
    text = f"{before} {said} {after}"[:MIDDLE]
    return text, "Who is the escalation contact for the Rotterdam plant?", answer


def paste(size: int) -> tuple[str, list[tuple[str, str]]]:
    """Return a long log with the contract's rules strewn in, and (question, answer) pairs."""
    given = json.loads(SET.read_text(encoding="utf-8"))["clauses"]
    step = size // len(given)
    text = ""
    for number, (_, rule, *_) in enumerate(given):
        log = (
            f"2025-03-{1 + n % 28:02} {n % 24:02}:00 worker {n % 7} wrote batch {n * 31 % 9973} ok"
            for n in range(number * 10_000, (number + 1) * 10_000)
        )
        text += "\n".join([*_up_to(log, step - len(rule)), rule, ""])
    return text, [(question, answer) for _, _, question, answer in given]


def _up_to(texts: Iterator[str], size: int) -> Iterator[str]:
    while size > 0:
        text = next(texts)
        size -= len(text) + 1
        yield text


def before(memory: MemoryManager, question: str, tokens: int | None) -> str:
    """Make a block as it was made before there were passages of single answers."""

    def four_characters(text: str) -> int:
        return max(1, -(-len(text) // 4))

    found = memory.retrieve(question, None, tokens=tokens, count_tokens=four_characters)
    if not found:
        return ""
    opening, notice, *records, closing = render(found, nonce=new_nonce()).split("\n")
    frame = four_characters(f"{opening}\n{notice}\n{closing}")
    left = None if tokens is None else max(0, tokens - frame)
    kept = within(records, len(records), left, lambda line: four_characters(f"{line}\n"))
    return "\n".join((opening, notice, *kept, closing)) if kept else ""


def after(memory: MemoryManager, question: str, tokens: int | None) -> str:
    """Make a block as it is made now."""
    return memory.prompt(question, tokens=tokens)


def judged(
    name: str,
    memory: MemoryManager,
    pairs: Sequence[tuple[str, str]],
    ask: Ask,
    budget: int | None,
) -> Case:
    """Ask every question and look for its answer in the block."""
    began = time.process_time()
    blocks = [ask(memory, question, budget) for question, _ in pairs]
    seconds = (time.process_time() - began) / len(pairs)
    shown = sum(answer in block for block, (_, answer) in zip(blocks, pairs, strict=True))
    largest = max(estimate(block) if block else 0 for block in blocks)
    return Case(name, shown, len(pairs), largest, budget, seconds)


@dataclass(frozen=True, slots=True)
class Stores:
    """Opens stores for the two ways.

    Attributes:
        root: Folder for them.
        embedder: Their embedder.
    """

    root: Path
    embedder: str | None

    def opened(self, name: str, *, whole: bool) -> MemoryManager:
        """Open an empty store; ``whole`` for one that never shortens a memory."""
        config = Config()
        if whole:
            config = replace(config, retrieve=replace(RetrieveConfig(), long=None, passage=None))
        folder = self.root / f"{name}-{'before' if whole else 'after'}"
        return MemoryManager(folder, embedder=self.embedder, config=config)


def of_contract(stores: Stores) -> Iterator[Case]:
    """Ask about a contract that is one memory, and about one that was split."""
    text, pairs = contract()
    for ask in (before, after):
        with stores.opened("contract", whole=ask is before) as memory:
            memory.add(text)
            memory.flush(wait=True)
            yield judged(f"contract, one memory, {ask.__name__}", memory, pairs, ask, BUDGET)
    with stores.opened("document", whole=False) as memory:
        memory.documents.add(text, name="contract")
        memory.flush(wait=True)
        yield judged("contract, add_document, after", memory, pairs, after, BUDGET)


def of_middle(stores: Stores) -> Iterator[Case]:
    """Ask for what stands in the middle of a long memory, beside a short one about the place."""
    text, question, answer = middle()
    for ask in (before, after):
        with stores.opened("middle", whole=ask is before) as memory:
            memory.add_many([text, "The Rotterdam office has a nice canteen"])
            memory.flush(wait=True)
            for budget in (500, 1000, None):
                name = f"middle of {len(text):,} characters, {ask.__name__}"
                yield judged(name, memory, [(question, answer)], ask, budget)


def of_paste(stores: Stores, size: int) -> Iterator[Case]:
    """Ask about a turn that is too long for one memory."""
    text, pairs = paste(size)
    with stores.opened("paste", whole=False) as memory:
        try:
            memory.add(text)
        except InvalidInput:
            yield Case(f"paste of {len(text):,}, before: refused", 0, len(pairs), 0, None, 0.0)
        memory.add(text, "short", session="chat", role="user", kind="episode")
        memory.flush(wait=True)
        for budget in (DEFAULT_BUDGET, BUDGET):
            yield judged(f"paste of {len(text):,}, after", memory, pairs, after, budget)


def of_small(stores: Stores) -> Iterator[Case]:
    """Ask within very few tokens, and in a script that takes a token per character."""
    tea = "\u30e9\u30df\u306f\u6bce\u671d\u7dd1\u8336\u3092\u98f2\u307f\u307e\u3059"
    for ask in (before, after):
        with stores.opened("small", whole=ask is before) as memory:
            memory.add("Lea is allergic to nuts and to strawberries")
            for budget in (65, 50):
                pairs = [("What is Lea allergic to?", "nuts")]
                yield judged(f"small note, {ask.__name__}", memory, pairs, ask, budget)
        with stores.opened("japanese", whole=ask is before) as memory:
            names = [chr(0x4E00 + 97 * number) * 6 for number in range(40)]
            memory.add_many([f"{tea}\u3002{name}\u3082{tea}" * 2 for name in names])
            yield judged(f"Japanese, {ask.__name__}", memory, [(f"{tea}\u304b", tea)], ask, 300)


def line(case: Case) -> list[str]:
    """Write one case as a row of the table."""
    budget = "none" if case.budget is None else f"{case.budget:,}"
    over = " !" if case.budget is not None and case.largest > case.budget else ""
    return [
        case.name,
        budget,
        f"{case.shown}/{case.asked}",
        f"{case.largest:,}{over}",
        f"{case.seconds * 1000:.1f}",
    ]


def main() -> None:
    """Run every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-embedder", action="store_true", help="words alone")
    parser.add_argument("--paste", type=int, default=PASTE, help="characters of the paste")
    parser.add_argument("--json", type=Path, help="also write the result there")
    options = parser.parse_args()
    cases: list[Case] = []
    with TemporaryDirectory() as root:
        stores = Stores(Path(root), None if options.no_embedder else "default")
        for group in (
            of_contract(stores),
            of_middle(stores),
            of_paste(stores, options.paste),
            of_small(stores),
        ):
            cases += group
    headers = ("case", "budget", "answer shown", "largest block, tokens", "ms CPU")
    print(table(headers, [line(case) for case in cases]))
    result: dict[str, Any] = {"environment": environment(), "cases": cases}
    write_json(options.json, result)


if __name__ == "__main__":
    main()

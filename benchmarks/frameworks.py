"""One scripted conversation with an agent of each framework: what memory finds, and what it costs.

Uses the drivers of ``tests/integrations/for_every``, one for each framework that is installed, with
their fake models. A user tells ten facts in one session, then asks for each in a session of its
own: first of the framework alone, with what memory it has that needs neither a model nor a service,
then with memento. The same questions of a user who told nothing show what memory adds to a request.
Frameworks that cannot share an environment are measured one after the other; the rows add up in the
page.

    python benchmarks/frameworks.py                                   a table
    python benchmarks/frameworks.py --page docs/explanation/frameworks.md
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(HERE), str(HERE / "integrations"), str(HERE / "tests/integrations/for_every")]

import driver as contract  # noqa: E402

from memento import MemoryManager  # noqa: E402

FACTS = {
    "I am allergic to nuts.": ("What should the caterer know about my allergy?", "nuts"),
    "My daughter is called Ines.": ("What is the name of my daughter?", "Ines"),
    "I work as a piano tuner.": ("What do I do for a living?", "piano tuner"),
    "My car is a green Volvo.": ("What colour is my car?", "green Volvo"),
    "I live in Oslo.": ("In which city do I live?", "Oslo"),
    "My dentist is Dr Okafor.": ("Who is my dentist?", "Okafor"),
    "I always fly from Torp.": ("Which airport do I fly from?", "Torp"),
    "I take my tea without sugar.": ("How do I take my tea?", "without sugar"),
    "Our wedding was on 3 May 2014.": ("When was our wedding?", "3 May 2014"),
    "My office is on floor seven.": ("On which floor is my office?", "floor seven"),
}
BEGIN, END = "<!-- benchmarks/frameworks.py -->\n", "<!-- end -->"
HEAD = (
    "| framework | found alone | found with memento | tokens added alone | tokens added"
    " | calls alone | calls |\n|---|---:|---:|---:|---:|---:|---:|\n"
)


def measure(name: str) -> str:
    """Play the conversation without memento and with it; return a row of the table."""
    with tempfile.TemporaryDirectory() as folder, MemoryManager(folder) as manager:
        cells = zip(played(name, None), played(name, manager), strict=True)
        return (
            " | ".join([f"| {name.replace('_', ' ')}", *(cell for both in cells for cell in both)])
            + " |"
        )


def played(name: str, manager: MemoryManager | None) -> list[str]:
    """Play the conversation.

    Returns:
        Facts found, tokens that memory adds to a question, and calls of the model in 20 turns.
    """
    brain, module = contract.Brain(), contract.load(name)
    agent = module.Driver(manager, brain)
    for fact in FACTS:
        contract.say(agent, brain, fact, user="ann", session="facts")
    if manager:
        contract.view(manager, "ann", getattr(module, "LABELS", ())).flush(wait=True)
    found = added = 0
    for at, (question, answer) in enumerate(FACTS.values()):
        sizes = []
        for user in ("ann", "bob"):
            contract.say(agent, brain, question, user=user, session=f"q{at}")
            sizes.append(tokens(brain.shown()))
            found += user == "ann" and answer in brain.shown()
        added += sizes[0] - sizes[1]
    calls = len(brain.requests) - len(FACTS)  # those of the user who told nothing aside
    return [f"{found} of {len(FACTS)}", str(round(added / len(FACTS))), str(calls)]


def tokens(text: str) -> int:
    """Estimate the tokens of a text: one for four characters."""
    return round(len(text) / 4)


def rows_of(page: Path | None) -> dict[str, str]:
    """Return the rows that a page has, by framework."""
    text = page.read_text(encoding="utf-8") if page else ""
    lines = text.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]
    return {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}


def main() -> None:
    """Measure what is installed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, help="write the rows into this page")
    page = parser.parse_args().page
    warnings.simplefilter("ignore")
    rows = rows_of(page)
    for name in contract.modules():
        try:
            contract.load(name)
        except ImportError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        rows[name.replace("_", " ")] = measure(name)
        print(rows[name.replace("_", " ")], flush=True)
    if page:
        text = page.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        table = HEAD + "".join(f"{rows[name]}\n" for name in sorted(rows))
        page.write_text(before + BEGIN + table + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()

"""How much of a prompt is read from a provider's prompt cache, with memory and without?

    python benchmarks/prompt_cache.py [--turns N] [--json OUT]

A conversation of twenty turns with a LangChain agent whose model is a fake: it answers from a list
and writes down what it is sent. Each fourth turn calls a tool, so it makes two requests. The store
holds a hundred facts from before, and each question finds some of them. Providers that cache
prompts by themselves read the part of a request that is the same as the beginning of the one before
from the cache, so this part is measured, between each two consecutive requests.

    prompt tokens   of all requests together
    shared prefix   share of these tokens that are at the beginning of the request before as well
    cost            prompt tokens if those from the cache cost a tenth, against no memory

The system prompt, the messages and the block are counted, as one text per request; the definitions
of the tools, which come first and never change, are not. Tokens are counted by the tokenizer of the
default embedder.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import cycle, pairwise, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import table, write_json
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from memento import MemoryManager
from memento_langchain import MementoMiddleware

TURNS = 20
TOOL_EVERY = 4
CACHED = 0.1
"""Price of a token from the cache, as a share of the price of another."""
PLACES = (None, "system", "user")
SYSTEM = " ".join(
    f"Rule {n}: answer in short sentences, name your sources, and ask if something is unclear."
    for n in range(20)
)
THINGS = (
    "boiler",
    "bike",
    "garden",
    "insurance",
    "piano",
    "car",
    "passport",
    "oven",
    "cellar",
    "dog",
)
SAYS = ("was checked by", "belongs to", "was paid for by", "is looked after by")
PEOPLE = ("Ada", "Bo", "Cleo", "Dan", "Eve")


class Noting(GenericFakeChatModel):
    """A model that writes down the requests."""

    requests: list[str] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **options: Any) -> Noting:  # noqa: ARG002 - it answers from a list
        """Take the tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Any:
        said = (f"{one.type}: {one.text}{getattr(one, 'tool_calls', '')}" for one in messages)
        self.requests.append("\n".join(said))
        return super()._generate(messages, *args, **options)


@tool
def look_up(thing: str) -> str:
    """Look something up."""
    return f"The record of the {thing}: " + "checked, in order, nothing to be done. " * 10


def answers(turns: int) -> list[AIMessage]:
    """Return what the model says in each request."""
    said = []
    for turn in range(turns):
        thing = THINGS[turn % len(THINGS)]
        if turn % TOOL_EVERY == TOOL_EVERY - 1:
            call = {"name": "look_up", "args": {"thing": thing}, "id": f"c{turn}"}
            said.append(AIMessage("", tool_calls=[{**call, "type": "tool_call"}]))
        said.append(
            AIMessage(f"Answer {turn} about the {thing}. " + "It is as you were told. " * 12)
        )
    return said


def requests(memory: MemoryManager, place: str | None, turns: int) -> list[str]:
    """Hold the conversation and return the requests."""
    model = Noting(messages=cycle(answers(turns)))
    middleware = [] if place is None else [MementoMiddleware(memory, place=place)]  # type: ignore[arg-type]  # as the command line has it
    agent = create_agent(
        model,
        [look_up],
        system_prompt=SYSTEM,
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )
    for turn in range(turns):
        text = f"Question {turn}: who looked after the {THINGS[turn % len(THINGS)]}, and when?"
        agent.invoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": str(place)}}
        )
    return model.requests


def beginning(one: str, other: str) -> str:
    """Return what two texts begin with."""
    same = (a == b for a, b in zip(one, other, strict=False))
    return one[: len(list(takewhile(bool, same)))]


def measured(memory: MemoryManager, place: str | None, turns: int) -> dict[str, Any]:
    """Measure one place."""
    seen = requests(memory, place, turns)
    count = memory._engine.count_tokens
    total = sum(count(one) for one in seen)
    shared = sum(count(beginning(*pair)) for pair in pairwise(seen))
    return {
        "place": place or "no memory",
        "requests": len(seen),
        "tokens": total,
        "shared": shared,
        "share": shared / total,
        "cost": total - (1 - CACHED) * shared,
        "blocks": sum("<memories-" in one for one in seen),
    }


def told(memory: MemoryManager) -> None:
    """Fill a store."""
    memory.add_many(
        {"text": f"The {thing} {says} {PEOPLE[(at + n) % 5]} in {2000 + 3 * at}", "tier": "long"}
        for at, thing in enumerate(THINGS)
        for n, says in enumerate(SAYS)
    )  # fmt: skip
    memory.add_many(
        {"text": f"Note {n}: {PEOPLE[n % 5]} likes tea of sort {n}", "tier": "long"}
        for n in range(60)
    )
    memory.flush(wait=True)


def run(turns: int) -> list[dict[str, Any]]:
    """Measure each place, each with a store of its own."""
    results = []
    for place in PLACES:
        with TemporaryDirectory(prefix="memento-cache-") as root, MemoryManager(root) as memory:
            told(memory)
            results.append(measured(memory, place, turns))
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    results = run(options.turns)
    first = results[0]["cost"]
    rows = [
        [
            one["place"],
            f"{one['requests']}, {one['blocks']} with a block",
            f"{one['tokens']:,}",
            f"{100 * one['share']:.0f} %",
            f"{one['cost']:,.0f} ({one['cost'] / first:.1f} x)",
        ]
        for one in results
    ]
    print(table(["place", "requests", "prompt tokens", "shared prefix", "cost"], rows))
    write_json(options.json, {"turns": options.turns, "places": results})


if __name__ == "__main__":
    main()

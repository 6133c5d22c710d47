"""Commands that say how good memories were, and what that and their uses add up to."""

from __future__ import annotations

from typing import Annotated

import typer

from memento.cli.options import HERE, AsJson, EmbedderName, Ids, Namespace, Root, examples, option
from memento.cli.output import print_json
from memento.cli.store import open_store
from memento.errors import InvalidInput
from memento.types import Event

app = typer.Typer()


@app.command(
    epilog=examples(
        "memento feedback 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --useful",
        'memento feedback 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --wrong --note "It moved"',
    )
)
def feedback(
    ids: Ids,
    *,
    useful: Annotated[bool, option("--useful", help="It helped.")] = False,
    useless: Annotated[bool, option("--useless", help="It was shown and did not help.")] = False,
    right: Annotated[bool, option("--right", help="It is right.")] = False,
    wrong: Annotated[bool, option("--wrong", help="It is wrong.")] = False,
    note: Annotated[str | None, option("--note", help="Why; kept with the verdict.")] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Say whether memories helped, or whether they are right or wrong."""
    said = {
        Event.USED: useful,
        Event.IGNORED: useless,
        Event.CONFIRMED: right,
        Event.WRONG: wrong,
    }
    chosen = [verdict for verdict, given in said.items() if given]
    if len(chosen) != 1:
        raise InvalidInput("verdict", "give one of --useful, --useless, --right, --wrong")
    with open_store(root, namespace, embedder) as memory:
        names = [memory.full_id(one) for one in ids]
        found = memory.feedback(names, verdict=chosen[0], note=note)
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(
            f"{one.id}  {chosen[0]}, believed to {one.mean:.0%} (before any: {one.prior:.0%})"
        )


@app.command(epilog=examples("memento strength 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def strength(
    id: Annotated[  # noqa: A002 - the field's own name
        str, typer.Argument(metavar="ID", help="Id of the memory, or a part of it.")
    ],
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show how much a memory was used, how far it is believed, and every verdict on it."""
    with open_store(root, namespace, embedder) as memory:
        name = memory.full_id(id)
        found, belief = memory.strength(name), memory.belief(name)
    if as_json:
        print_json({"strength": found, "belief": belief})
        return
    last = "never" if found.used_at is None else f"{found.used_at:%Y-%m-%d %H:%M}"
    for name, value in (
        ("uses", f"{found.uses:.4g}, last {last}"),
        ("use", f"{found.use:+.2f} nats"),
        ("belief", f"{belief.mean:.0%} (before any verdict {belief.prior:.0%})"),
        ("worth", f"{found.worth:+.2f}"),
        ("retention", f"{found.retention:.0%}, stability {found.stability:.0f} active days"),
        ("strength", f"short {found.short:.2f}, long {found.long:.2f}"),
    ):
        typer.echo(f"{name:10} {value}")
    for one in belief.evidence:
        gone = "  (retracted)" if one.retracted else ""
        typer.echo(f"  {one.at:%Y-%m-%d %H:%M}  {one.verdict} by {one.source}{gone}")

"""Commands that learn from what the user says."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Namespace,
    Root,
    Session,
    examples,
    option,
)
from memento.cli.output import masked, print_json, print_masked
from memento.cli.store import open_store
from memento.display import one_line
from memento.errors import InvalidInput
from memento.layout import LEDGER
from memento.messages import is_one
from memento.observe.values import Foresight

app = typer.Typer()


@app.command(
    epilog=examples(
        'memento observe --user "No, use uv instead of pip" --dry-run',
        'memento observe --user "I live in Porto" --assistant "Noted." --session monday',
        "memento observe --session standup < transcript.txt",
    )
)
def observe(
    text: Annotated[
        str | None, typer.Argument(help="Message of the user, as --user.", show_default=False)
    ] = None,
    *,
    user: Annotated[str | None, option("--user", help="Message of the user.")] = None,
    assistant: Annotated[
        str | None, option("--assistant", help="Answer of the assistant to it.")
    ] = None,
    session: Session = None,
    scope: Annotated[str, option("--scope", help="Where it takes place.")] = "",
    mode: Annotated[
        str | None, option("--mode", help="off, assist or full: MEMENTO_LLM_MODEL names the model.")
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Only show what would be learnt, and why.")
    ] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Keep a turn of a conversation and learn from what the user states in it.

    With --mode assist or full a language model points at further sentences of the user; a dry run
    shows what is learnt without it.

    Without a message it reads a transcript: lines of JSON with role and content, or lines that
    begin with "user:" or "assistant:".
    """
    if text is not None and user is not None:
        raise InvalidInput("--user", "is given once, or as the argument")
    user = text if user is None else user
    if user is None and assistant is not None:
        raise InvalidInput("--assistant", "is given with a message of the user")
    turns = _transcript(sys.stdin.read()) if user is None else [{"role": "user", "content": user}]
    if dry_run:
        found = _foreseen(turns, session, scope, (root, namespace, embedder))
        _show_foresights(found, as_json=as_json)
        return
    with open_store(root, namespace, embedder, make=True) as memory:
        if user is None:
            seen = memory.observe(messages=turns, session=session, scope=scope, mode=mode)
        else:
            seen = memory.observe(user, assistant, session=session, scope=scope, mode=mode)
    if as_json:
        print_masked(seen)
    else:
        typer.echo(one_line_each(masked(seen.explain())))


@app.command(epilog=examples("memento usage", "memento usage --since 2026-01-01 --json"))
def usage(
    *,
    since: Annotated[
        datetime | None, option("--since", help="First day (UTC).", formats=["%Y-%m-%d"])
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
) -> None:
    """Show how much language models were used, and what is left of the day."""
    first = None if since is None else since.replace(tzinfo=UTC)
    with open_store(root, namespace, "none") as memory:
        used = memory.usage(first)
    if as_json:
        print_json(used)
        return
    for name, one in [*used.models.items(), ("all", used.total)]:
        typer.echo(
            f"{one_line(name)}: {one.calls} requests, {one.tokens_in} tokens sent, "
            f"{one.tokens_out} received, {one.failures} failures, {one.seconds:.1f} s"
        )
    typer.echo(f"left today: {used.calls_left} requests, {used.tokens_left} tokens")


@app.command(
    epilog=examples(
        'memento direct "Never commit .env files" --lock',
        'memento direct "Answer in German" --scope project/alpha',
    )
)
def direct(
    rules: Annotated[list[str], typer.Argument(metavar="RULE...", help="Rules, each in quotes.")],
    *,
    scope: Annotated[str, option("--scope", help="Where they apply.")] = "",
    lock: Annotated[bool, option("--lock", help="Nothing but the user changes them.")] = False,
    condition: Annotated[
        str | None, option("--condition", help="When they apply, in words.")
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """State rules outright: each is stored as given."""
    with open_store(root, namespace, embedder, make=True) as memory:
        made = memory.direct(rules, scope=scope, lock=lock, condition=condition)
    if as_json:
        print_json(made)
    else:
        for one in made:
            typer.echo(f"{one.id}  {one_line(one.text)}")


def _foreseen(
    turns: list[dict[str, Any]], session: str | None, scope: str, store: tuple[Path, str, str]
) -> list[Foresight]:
    """Say what a store would learn; without a store, what a new one would."""
    root, namespace, embedder = store
    with TemporaryDirectory() as empty:
        there = (root / LEDGER).exists()
        with open_store(root if there else Path(empty), namespace, embedder, make=True) as memory:
            return memory.foresee(turns, session=session, scope=scope)


def _show_foresights(found: list[Foresight], *, as_json: bool) -> None:
    if as_json:
        print_masked(found)
        return
    for one in found:
        said = one.candidate
        slot = f", slot {said.key}" if said.key else ""
        others = f" ({', '.join(one.others)})" if one.others else ""
        typer.echo(f"{one.action}{others}: {one_line(masked(said.text))}")
        typer.echo(
            f"    {said.signal} {said.confidence:.2f}{slot}: {one_line(', '.join(said.reasons))}"
        )
    if not found:
        typer.echo("nothing to learn")


def one_line_each(text: str) -> str:
    """Make each line safe for a terminal."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def _transcript(text: str) -> list[dict[str, Any]]:
    """Read a transcript: JSON lines, or speakers before a colon.

    Raises:
        InvalidInput: If a line is neither.
    """
    turns: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            turns.append(_message(line, number))
            continue
        speaker, colon, said = line.partition(":")
        if colon and is_one({"role": speaker}):
            turns.append({"role": speaker, "content": said.strip()})
        elif turns and isinstance(turns[-1].get("content"), str):
            turns[-1]["content"] += f"\n{line}"
        else:
            raise InvalidInput(f"line {number}", 'begins with neither "user:" nor "assistant:"')
    return turns


def _message(line: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"line {number}", "is not JSON") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"line {number}", "is not a JSON object")
    return found

"""An agent of the OpenAI Agents SDK that remembers a user across sessions and restarts.

Shows ``MementoSession``, the conversation, and ``MementoRecall``, what is remembered: Ada says
something on Monday; on Friday the store is opened again, as tomorrow's process would, and the model
is told of it. Another user's agent is not. The model here is a table, so that the example runs
offline. Needs ``pip install ".[openai-agents]"``.

Prints:

    ada: I am allergic to nuts, and I live in Oslo.
    ada: What should the caterer know about my allergy?
    recalled: I am allergic to nuts, and I live in Oslo.
    bob: What should the caterer know about my allergy?
    Monday's session: ['I am allergic to nuts, and I live in Oslo.', 'Noted.']
"""

import asyncio
import json
from tempfile import TemporaryDirectory
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memento import MemoryManager
from memento_openai_agents import MementoRecall, MementoSession

set_tracing_disabled(disabled=True)


class Table(Model):
    """Use a real one instead: leave ``model=`` out and set OPENAI_API_KEY."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
        """Print what is recalled, and answer."""
        del system_instructions
        for line in str(input[-1]["content"]).splitlines():
            if line.startswith("{"):
                print("recalled:", json.loads(line)["text"])
        text = ResponseOutputText(type="output_text", text="Noted.", annotations=[])
        said = ResponseOutputMessage(
            id="1", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not used here."""
        raise NotImplementedError


def namespace(user: str) -> tuple[str, str]:
    """Return where the memories of a user are; the context of each run is the user's name."""
    return "acme", user


async def say(root: str, user: str, session: str, text: str) -> None:
    """Run one turn of a new agent over the store."""
    print(f"{user}:", text)
    with MemoryManager(root) as manager:
        await Runner.run(
            Agent(name="Helper", model=Table()),
            text,
            context=user,
            session=MementoSession(session, manager, namespace=namespace),
            run_config=RunConfig(
                call_model_input_filter=MementoRecall(manager, k=1, namespace=namespace)
            ),
        )
        manager.flush(wait=True)  # before the end, wait until the turn is embedded


async def main(root: str) -> None:
    """Let two users talk, in three sessions."""
    question = "What should the caterer know about my allergy?"
    await say(root, "ada", "monday", "I am allergic to nuts, and I live in Oslo.")
    await say(root, "ada", "friday", question)
    await say(root, "bob", "friday", question)
    with MemoryManager(root) as manager:
        monday = manager.of("acme", "ada").list(session="monday")
        print("Monday's session:", [one.text for one in monday])


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    asyncio.run(main(folder))

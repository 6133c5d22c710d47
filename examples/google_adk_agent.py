"""An agent of Google's ADK that remembers a user across sessions and restarts, without a cloud.

Shows ``MementoMemoryService``: the store is opened anew for each turn, as in another process, and
Friday's model is told what was said on Monday. The model here is a table, so that the example runs
offline. Needs ``pip install ".[google-adk]"``.

Prints:

    Ada: I am allergic to nuts, and I live in Oslo.
    Ada: What should the caterer know about my allergy?
    recalled: user: I am allergic to nuts, and I live in Oslo.
"""

import asyncio
from tempfile import TemporaryDirectory
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from memento import MemoryManager
from memento_google_adk import MementoMemoryService, MementoPreloadTool


class Table(BaseLlm):
    """Use the name of a real one instead, such as ``"gemini-flash-latest"``."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: ARG002
        """Show what is recalled, and answer."""
        for line in llm_request.contents[-2:][0].parts[0].text.splitlines():
            if line.startswith("user: "):
                print("recalled:", line)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Noted.")]))


async def keep(callback_context: Any) -> None:
    """Store the session: ADK does not by itself."""
    await callback_context.add_session_to_memory()


async def say(root: str, session: str, text: str) -> None:
    """Run one turn of a new agent over the store."""
    print("Ada:", text)
    with MemoryManager(root) as manager:
        agent = LlmAgent(
            name="helper",
            model=Table(model="table"),
            tools=[MementoPreloadTool()],
            after_agent_callback=keep,
        )
        runner = Runner(
            app_name="acme",
            agent=agent,
            session_service=InMemorySessionService(),
            memory_service=MementoMemoryService(manager, k=1),
            auto_create_session=True,
        )
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="ada", session_id=session, new_message=message):
            pass
        manager.of("acme", "ada").flush(wait=True)  # before the end, wait until it is embedded


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    asyncio.run(say(folder, "monday", "I am allergic to nuts, and I live in Oslo."))
    asyncio.run(say(folder, "friday", "What should the caterer know about my allergy?"))

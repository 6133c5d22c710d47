"""Google ADK: a runner with the memory service, and a callback that stores each session."""

from __future__ import annotations

import asyncio
from typing import Any

from driver import CALL, ORGANISATION
from google.adk.agents import LlmAgent
from google.adk.memory import InMemoryMemoryService
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from memento_google_adk import MementoMemoryService, MementoPreloadTool


class Fake(BaseLlm):
    """Asks the brain."""

    brain: Any

    async def generate_content_async(self, llm_request, stream=False):  # noqa: ARG002
        """Ask the brain."""
        request = [("system", llm_request.config.system_instruction)]
        for content in llm_request.contents:
            for part in content.parts:
                if part.function_response:
                    request.append(("tool", part.function_response.response["result"]))
                elif part.text:
                    request.append(({"model": "assistant"}.get(content.role, "user"), part.text))
        answer = self.brain(request)
        call = types.Part(function_call=types.FunctionCall(name="read_page", args={}))
        said = call if answer == CALL else types.Part(text=answer)
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


async def keep(callback_context):
    """Store the session: ADK does not by itself."""
    await callback_context.add_session_to_memory()


class Driver:
    """An app of one agent."""

    def __init__(self, manager, brain):
        def read_page() -> str:
            """Read the page."""
            return brain.page

        agent = LlmAgent(
            name="helper",
            model=Fake(model="fake", brain=brain),
            instruction="You help.",
            tools=[MementoPreloadTool() if manager else PreloadMemoryTool(), read_page],
            after_agent_callback=keep,
        )
        self._runner = Runner(
            app_name=ORGANISATION,
            agent=agent,
            session_service=InMemorySessionService(),
            memory_service=MementoMemoryService(manager) if manager else InMemoryMemoryService(),
            auto_create_session=True,
        )

    def say(self, text, *, user, session):
        """Run the agent for a user's message."""
        message = types.Content(role="user", parts=[types.Part(text=text)])

        async def turn():
            answer = ""
            events = self._runner.run_async(user_id=user, session_id=session, new_message=message)
            async for event in events:
                if event.is_final_response() and event.content:
                    answer = event.content.parts[0].text
            return answer

        return asyncio.run(turn())

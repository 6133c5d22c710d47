"""CrewAI: a crew of one agent and one task for each turn. It keeps results, not questions."""

from __future__ import annotations

from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool
from driver import CALL, view

from memento_crewai import MementoCrewMemory

CREWS = "CrewAI keeps the results of tasks: each task has a prompt of its own, not a conversation"
LACKS = {
    "test_calls_of_tools_stay_in_the_conversation": CREWS,
    "test_each_turn_is_kept_once_and_as_it_was_said": CREWS,
    "test_a_run_that_failed_goes_on_and_each_turn_is_kept_once": CREWS,
    "test_the_prefix_of_the_prompt_stays": CREWS,
}


class Fake(BaseLLM):
    """Asks the brain."""

    brain: Any

    def call(self, messages, *_args, **_kwargs):
        """Ask the brain, and answer in the form of CrewAI's prompts."""
        said = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        answer = self.brain([(one["role"], one["content"]) for one in said])
        if answer == CALL:
            return "Thought: I have to read\nAction: read_page\nAction Input: {}"
        return f"Thought: I know\nFinal Answer: {answer}"

    def supports_function_calling(self):
        """Say no: tools are asked for in text."""
        return False

    def get_context_window_size(self):
        """Return room enough."""
        return 1_000_000

    def get_input_tokens_count(self, messages, *_args, **_kwargs):
        """Return a guess."""
        return len(str(messages)) // 4


class Driver:
    """Crews over the memory of each user."""

    def __init__(self, manager, brain):
        brain.echoes = True
        self._manager = manager
        self._llm = Fake(model="fake", brain=brain)

        @tool("read_page")
        def read_page() -> str:
            """Read the page."""
            return brain.page

        self._tools = [read_page]

    def say(self, text, *, user, session):  # noqa: ARG002 - a kickoff is a session
        """Give the crew a task."""
        memory = self._manager and MementoCrewMemory(view(self._manager, user), "/crew")
        agent = Agent(role="Helper", goal="help", backstory="old hand", llm=self._llm)
        agent.tools = self._tools
        task = Task(description=text, expected_output="an answer", agent=agent)
        return Crew(agents=[agent], tasks=[task], memory=memory or False).kickoff().raw

"""A crew that remembers: one agent learns a fact, another one and tomorrow's crew know it.

Shows ``MementoCrewMemory`` as ``Crew(memory=...)``: two agents whose tasks share only memory,
then a second crew over the same store, as a new process would open it. The LLM here is a table,
so that the example runs offline; memento itself calls no LLM. Needs ``pip install ".[crewai]"``.

Prints:

    Scout  was told nothing
    Writer was told "The client is called Acme and its budget is 40,000 euros."
    Lawyer was told "The client is called Acme and its budget is 40,000 euros."
    calls of the LLM: 3
"""

import os
import re
from tempfile import TemporaryDirectory
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"  # CrewAI's; memento has none
os.environ["CREWAI_DISABLE_TRACKING"] = "true"
os.environ["OTEL_SDK_DISABLED"] = "true"

from crewai import Agent, BaseLLM, Crew, Task

from memento import MemoryManager
from memento_crewai import MementoCrewMemory

FACT = "The client is called Acme and its budget is 40,000 euros."
JOBS = {
    "Scout": "Find out who the client is and the budget",
    "Writer": "Write an offer to the client within the budget",
    "Lawyer": "Check whether the client may pay the budget in two parts",
}
prompts: list[str] = []


class Table(BaseLLM):
    """Use a real one instead, such as ``LLM(model="openai/...")`` or ``"ollama/..."``."""

    def call(self, messages: Any, *_args: Any, **_kwargs: Any) -> str:
        """Write the prompt down and answer."""
        prompts.append(messages[-1]["content"])
        return f"Final Answer: {FACT if JOBS['Scout'] in prompts[-1] else 'Done.'}"

    def supports_function_calling(self) -> bool:
        """Say no: tools are asked for in text."""
        return False

    def get_input_tokens_count(self, messages: Any, *_args: Any, **_kwargs: Any) -> int:
        """Return a guess."""
        return len(str(messages)) // 4


def run(root: str, *roles: str) -> None:
    """Run a crew with one agent per role, and print what memory told each agent."""
    llm = Table(model="table")
    agents = [Agent(role=role, goal="help", backstory="An old hand.", llm=llm) for role in roles]
    tasks = [  # context=[]: results are not passed on, only remembered
        Task(description=JOBS[agent.role], expected_output="text", agent=agent, context=[])
        for agent in agents
    ]
    with MemoryManager(root) as manager:
        memory = MementoCrewMemory(manager, "/crew/sales")
        Crew(agents=[*agents], tasks=tasks, memory=memory).kickoff()
    for role, prompt in zip(roles, prompts[-len(roles) :], strict=True):
        told = re.findall(r"^- \(score=[^)]+\) (.*)$", prompt, re.MULTILINE)
        print(f"{role:<6} was told {', '.join(told) or 'nothing'}")


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    run(folder, "Scout", "Writer")
    run(folder, "Lawyer")  # the next day
    print("calls of the LLM:", len(prompts))

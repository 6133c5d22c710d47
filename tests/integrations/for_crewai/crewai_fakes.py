"""An LLM that is a table."""

from typing import Any

from crewai import BaseLLM

FACT = "The client is called Acme and its budget is 40,000 euros."
OFFER = "The offer is ready and signed by nobody yet."
ANSWERS = {"Find out who": FACT, "Write an offer": OFFER}


class FakeLLM(BaseLLM):
    """Answers by the current task; ``log`` holds every prompt, in order, as one text each."""

    log: Any
    lock: Any
    actions: Any = ()
    """(what the prompt must hold, what to answer) to be tried first, each used once."""

    def call(self, messages, *_args, **_kwargs):
        """Write the prompt down and answer."""
        prompt = messages if isinstance(messages, str) else _joined(messages)
        with self.lock:
            self.log.append(prompt)
            for step in self.actions:
                if step[0] in prompt:
                    self.actions.remove(step)
                    return step[1]
        task = prompt.rpartition("Current Task:")[2]
        known = [answer for asked, answer in ANSWERS.items() if asked in task]
        return f"Thought: I now know the final answer\nFinal Answer: {(known or ['Done.'])[0]}"

    async def acall(self, messages, *args, **kwargs):
        """Do the same."""
        return self.call(messages, *args, **kwargs)

    def supports_function_calling(self):
        """Say no: tools are asked for in text."""
        return False

    def get_context_window_size(self):
        """Return room enough."""
        return 100_000

    def get_input_tokens_count(self, messages, *_args, **_kwargs):
        """Return a guess."""
        return len(str(messages)) // 4

    def tasks(self, asked):
        """Return the prompts in which an agent was given a task."""
        with self.lock:
            return [prompt for prompt in self.log if f"Current Task: {asked}" in prompt]


def _joined(messages):
    return "\n".join(str(message["content"]) for message in messages)

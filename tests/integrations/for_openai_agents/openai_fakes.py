"""A model of the SDK's own kind that says what it is told to."""

from __future__ import annotations

from agents import Model, ModelResponse, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)


class Scripted(Model):
    """Answers in turn: a text, or a tuple for a call (name, arguments); then "Noted."."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.seen = []

    async def get_response(self, system_instructions, input, *args, **options):  # noqa: A002, ARG002
        """Note the request, and answer."""
        self.seen.append((system_instructions, input))
        answer = self._answers.pop(0) if self._answers else "Noted."
        if isinstance(answer, tuple):
            name, arguments = answer
            called = {"name": name, "call_id": f"c{len(self.seen)}", "arguments": arguments}
            output = ResponseFunctionToolCall(type="function_call", **called)
        else:
            text = ResponseOutputText(type="output_text", text=answer, annotations=[])
            output = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args, **options):
        """Not used here."""
        raise NotImplementedError

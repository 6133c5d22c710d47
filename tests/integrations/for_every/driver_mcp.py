"""MCP: an agent that keeps what it is told by the tool ``remember``, and asks by ``recall``."""

from __future__ import annotations

import io
import json

from driver import CALL, view

from memento_mcp import Doors, serve_stdio

AGENT = "the conversation and the prompt are the agent's own: the server adds nothing to them"
CHOICE = "over MCP the model chooses what to store; no turn is stored by itself"
LACKS = {
    "test_calls_of_tools_stay_in_the_conversation": AGENT,
    "test_each_turn_is_kept_once_and_as_it_was_said": CHOICE,
    "test_a_run_that_failed_goes_on_and_each_turn_is_kept_once": CHOICE,
    "test_a_conversation_holds_no_block": "what a tool returns is part of the agent's conversation",
    "test_the_prefix_of_the_prompt_stays": AGENT,
}
"""What the agent's loop, and not the server, decides."""


class Driver:
    """The loop of an agent whose model looks up first and stores what it was told."""

    def __init__(self, manager, brain):
        self._manager, self._brain = manager, brain

    def say(self, text, *, user, session):
        """Recall, ask the model, remember."""
        if self._manager is None:
            return self._brain([("system", "You help."), ("user", text)])
        doors = Doors(view(self._manager, user), session=session)
        known = self._call(doors, "recall", query=text[:1_000])
        request = [("system", "You help."), ("user", text), ("tool", known)]
        answer = self._brain(request)
        if answer == CALL:
            answer = self._brain([*request, ("tool", self._brain.page)])
        for at in range(0, len(text), 3_000):
            self._call(doors, "remember", text=text[at : at + 3_000])
        return answer

    def _call(self, doors, name, **arguments):
        """Call a tool over the wire, as a client does."""
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        out = io.BytesIO()
        serve_stdio(doors, stdin=io.BytesIO(json.dumps(request).encode() + b"\n"), stdout=out)
        return json.loads(out.getvalue())["result"]["content"][0]["text"]

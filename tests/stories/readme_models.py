"""The language models that the README calls yours: fakes, so that its examples run offline."""

# ruff: noqa: ARG002, PLC0415 - signatures are the frameworks' own; each is imported if it is there

import os
import warnings
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any


def models() -> dict[str, Any]:
    """Make ``model`` for LangChain and ``llm`` for CrewAI, as far as these are installed."""
    made: dict[str, Any] = {}
    if find_spec("langchain"):
        made["model"] = chat_model()
    if find_spec("crewai"):
        made["llm"] = crew_model()
    return made


def chat_model() -> Any:
    """Make a chat model that says "Noted." and accepts tools."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Noted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    return Noted(messages=(AIMessage("Noted.") for _ in cycle([1])))


def crew_model() -> Any:
    """Make an LLM that ends every task of a crew with the same answer."""
    for name in ("CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING", "OTEL_SDK_DISABLED"):
        os.environ.setdefault(name, "true")
    os.environ.setdefault("XDG_DATA_HOME", str(Path.cwd()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from crewai import BaseLLM

        import memento_crewai  # noqa: F401 - switches CrewAI's telemetry off

    class Scout(BaseLLM):
        def call(self, messages, *args, **kwargs):
            return "Final Answer: The client is called Acme and its budget is 40,000 euros."

        def supports_function_calling(self):
            return False

        def get_input_tokens_count(self, messages, *args, **kwargs):
            return 1

    return Scout(model="scout")

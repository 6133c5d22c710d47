"""Language models: one provider, and the the limits of its use.

A model is optional. It never writes to the store: it answers a ``Task``, and the code that asked
checks the reply. Nothing is loaded here before a model is asked.
"""

from memento.llm.pydantic_ai import PydanticAI

__all__ = ["PydanticAI"]

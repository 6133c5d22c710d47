"""Language models: one provider, and the limits of its use.

A model is optional. It never writes to the store: it answers a ``Task``, and the calling code
checks the reply. Client libraries are loaded when a model is first used.
"""

from memento.llm.pydantic_ai import PydanticAI

__all__ = ["PydanticAI"]

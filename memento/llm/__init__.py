"""Language models: one provider, and the limits of its use.

asking       whether a task fits the day's limits, and what every failure becomes: ``REASONS``
pydantic_ai  the provider: what is sent again, ``RETRIED``, and how the reply's form is asked for
apart        how a reply is awaited, so that the process can end without it

A model is optional. It never writes to the store: it answers a ``Task``, and the calling code
checks the reply. Client libraries are loaded when a model is first used.
"""

from memento.llm.pydantic_ai import PydanticAI

__all__ = ["PydanticAI"]

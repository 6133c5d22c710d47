"""The one provider: models of OpenAI, Anthropic, local servers and others, through pydantic-ai.

Every call has its own event loop, thread and connections and closes them, so that it works within a
running event loop and in a forked child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from memento.check import type_name
from memento.embed.checked import address_of
from memento.errors import InvalidInput, MissingExtra, SynthesisFailed
from memento.llm.apart import apart
from memento.protocols import Reply, Task

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RunUsage

Output = Literal["native", "tool", "prompted"]
OUTPUTS = ("native", "tool", "prompted")
RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
"""HTTP statuses after which a request is sent again, while there are attempts."""
AGAIN = "(Your last reply could not be read. Reply with the JSON object alone.)"
WAIT = 0.5
"""Seconds before the second request; doubled for each one after."""


class PydanticAI:
    """Calls a model by name, through the client libraries that come with pydantic-ai.

    Args:
        model: ``provider:name``, such as ``openai:gpt-5-mini`` or ``anthropic:claude-haiku-4-5``.
            For ``openai``, the server's chat completions API is used.
        base_url: Address of the server, if it is not the provider's own. If ``model`` does not
            specify a provider, the server must be compatible with OpenAI, such as Ollama, vLLM,
            llama.cpp or LM Studio.
        api_key: The API key. None to read the provider's variable, such as ``OPENAI_API_KEY``; your
            own server may not require one.
        timeout: Maximum duration of a request in seconds, > 0.
        output: How to make the reply match the schema:
            ``native`` (the server's JSON schema mode), ``tool`` (a function call) or ``prompted``
            (instructions only).

    Attributes:
        name: The model, and the server unless it is the provider's own. It does not contain the
            key.

    Raises:
        MissingExtra: If pydantic-ai or the provider's library is not installed.
        InvalidInput: If an argument is invalid, or no key is set.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        output: Output = "native",
    ) -> None:
        if output not in OUTPUTS:
            raise InvalidInput("output", f"{output!r} is not one of: {', '.join(OUTPUTS)}")
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise InvalidInput("timeout", f"must be a number above 0, not {timeout!r:.60}")
        if not isinstance(base_url, str | None):
            raise InvalidInput("base_url", f"must be a string, not {type_name(base_url)}")
        self._base_url = None if base_url is None else address_of(base_url)
        self._model = _full_name(model, with_server=base_url is not None)
        self._api_key = api_key
        self._timeout = timeout
        self._output = output
        self.name = model if self._base_url is None else f"{model}@{self._base_url}"
        self._made()  # so that a missing package or key is reported now

    def __repr__(self) -> str:
        return f"PydanticAI({self.name!r})"

    def complete(self, task: Task) -> Reply:
        """Send a task to the model; see ``memento.protocols.Synthesizer``.

        Raises:
            SynthesisFailed: If the server cannot be reached, rejects the request, does not respond
                in time, or returns something other than a JSON object.
        """
        import asyncio  # noqa: PLC0415 - costs as much as the rest of memento

        return apart(lambda: asyncio.run(self._complete(task))).result()

    async def _complete(self, task: Task) -> Reply:
        """Send requests until a reply is valid, no retry makes sense, or attempts run out."""
        import asyncio  # noqa: PLC0415

        from pydantic_ai.usage import RunUsage  # noqa: PLC0415 - an extra

        used, failed, words = RunUsage(), None, task.data
        for calls in range(1, task.attempts + 1):
            if failed is not None and failed.reason != "invalid":
                await asyncio.sleep(WAIT * 2 ** (calls - 2))
            try:
                value = await self._ask(task, words, used)
            except _errors() as error:
                failed, again = _told(error)
                failed.calls = calls
                if not again:
                    break
                words = f"{task.data}\n{AGAIN}" if failed.reason == "invalid" else words
            else:
                return Reply(value, self.name, used.input_tokens, used.output_tokens, calls)
        assert failed is not None  # noqa: S101 - at least one request was sent
        failed.args = (f"{self.name}: {failed}",)
        failed.tokens_in, failed.tokens_out = used.input_tokens, used.output_tokens
        raise failed from None  # the cause may quote the key, or the texts that were sent

    async def _ask(self, task: Task, words: str, used: RunUsage) -> Any:
        """Send one request."""
        from pydantic_ai import Agent, StructuredDict  # noqa: PLC0415 - an extra
        from pydantic_ai.usage import UsageLimits  # noqa: PLC0415

        wanted = StructuredDict(dict(task.schema), name=task.name)
        agent = Agent(
            self._made(),
            output_type=_output(self._output, wanted, task.name),
            instructions=task.instructions,
            retries=0,
            model_settings={"max_tokens": task.max_tokens, "timeout": self._timeout},
        )
        limits = UsageLimits(request_limit=used.requests + 1)
        async with agent:
            done = await agent.run(words, usage=used, usage_limits=limits)
        return done.output

    def _made(self) -> Model:
        """Make the model with its own connections; they are opened at the first request."""
        try:
            from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - an extra
            from pydantic_ai.models import infer_model  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("llm", "pydantic-ai-slim") from error
        try:
            return infer_model(self._model, self._provider)
        except ImportError as error:
            library = self._model.partition(":")[0]
            raise MissingExtra("llm", f"pydantic-ai-slim[{library}]") from error
        except (UserError, ValueError, TypeError) as error:
            raise InvalidInput("model", f"{self._model!r} cannot be used: {error}") from None

    def _provider(self, name: str) -> Any:
        from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415 - an extra

        given = {"base_url": self._base_url, "api_key": self._key()}
        kind = infer_provider_class(name)
        provider = kind(**{name: value for name, value in given.items() if value is not None})
        client: Any = getattr(provider, "client", None)
        if hasattr(client, "max_retries"):
            client.max_retries = 0  # each request is counted here
        return provider

    def _key(self) -> str | None:
        """Return the key; a custom server without one gets a placeholder, not OpenAI's key."""
        if self._api_key is None and self._base_url is not None:
            return "none"
        return self._api_key


def _full_name(model: object, *, with_server: bool) -> str:
    """Return the name of a model in the form that pydantic-ai takes."""
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput("model", f"must be the name of a model, not {model!r}")
    provider, colon, name = model.partition(":")
    if with_server and provider not in ("openai", "anthropic"):
        return f"openai-chat:{model}"  # such as "qwen3:8b" of Ollama
    if not colon or not name:
        raise InvalidInput(
            "model", f"{model!r} requires a provider prefix, such as openai:gpt-5-mini"
        )
    return f"openai-chat:{name}" if provider == "openai" else model


def _output(mode: Output, wanted: type[Any], name: str) -> Any:
    from pydantic_ai import NativeOutput, PromptedOutput, ToolOutput  # noqa: PLC0415 - an extra

    if mode == "native":
        return NativeOutput(wanted)
    return ToolOutput(wanted, name=name) if mode == "tool" else PromptedOutput(wanted)


def _errors() -> tuple[type[Exception], ...]:
    """Return the types of error that a request may raise."""
    from pydantic_ai.exceptions import AgentRunError, UserError  # noqa: PLC0415 - an extra

    cannot_be_sent = UnicodeError  # its message has the key
    return AgentRunError, UserError, OSError, TimeoutError, cannot_be_sent


def _told(error: Exception) -> tuple[SynthesisFailed, bool]:
    """Return the failure for an error, without the server's text, and whether to retry."""
    from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior  # noqa: PLC0415 - an extra

    if isinstance(error, ModelHTTPError):
        status = error.status_code
        problem = f"HTTP {status}; check the API key, model name and address"
        return SynthesisFailed("refused", problem), status in RETRIED
    if isinstance(error, UnexpectedModelBehavior):
        return SynthesisFailed("invalid", "the reply is not the requested JSON"), True
    if isinstance(error, ModelAPIError | OSError):
        late = isinstance(error, TimeoutError) or "timed out" in str(error).lower()
        if late:
            return SynthesisFailed("timeout", "the request timed out"), True
        return SynthesisFailed("unreachable", "the server cannot be reached"), True
    return SynthesisFailed("error", type(error).__name__), False

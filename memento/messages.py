"""Read the speaker and the text of a message of a chat API or a framework. Pure.

All messages are read here. One that is not in these tables is refused or not taken for the user's:
with a guessed speaker it could become a memory of the user, and text in an unknown place would be
lost silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import normalize

from memento.base.scopes import short_form
from memento.check import MAX_NAME, short_name, shown, type_name
from memento.errors import InvalidInput
from memento.types import Trust


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_USERS = _names("user human enduser")
_ASSISTANTS = _names("assistant ai model gpt chatgpt bot chatbot")
_OTHERS = _names("agent system developer platform instruction instructions systemprompt")
_TOOLS = _names(
    """tool tools toolresult tooloutput toolresponse toolreturn function functionresult
    functionoutput functionresponse observation ipython"""
)
"""Names of speakers in the formats of chat APIs and models."""
_ENUM = "role_"
"""Prefix of A2A's role names."""
ROLE_FIELDS = ("role", "role_type", "type", "sender", "author", "from", "speaker")
"""Where messages name who speaks. A role may be any name, as agents have names; in the others an
unknown name may be that of a person or the type of an event, and says nothing."""
_NAMED = ("role", "value", "type")
"""Fields with the name, in an object that describes the speaker."""
WORD_FIELDS = (
    "parts", "content", "text", "output", "value", "message", "refusal", "contents", "blocks",
)  # fmt: skip
"""Fields with the text of a message; several often have the same text."""
_WRAPPED = ("data", "kwargs", "message")
"""Where LangChain's dumps, and answers and exports of chats, have the message itself."""
_DEEPEST = 8

_SPOKEN = _names(
    """text input_text output_text user_prompt multimodal_text text_content audio_transcription"""
)
"""Types of text blocks, including ChatGPT's and Pydantic AI's."""
_ATTACHED = _names(
    """image image_url image_file input_image output_image image_asset_pointer audio audio_url
    input_audio output_audio audio_asset_pointer video video_url
    real_time_user_audio_video_asset_pointer file input_file file_url uploaded_file document
    document_url binary media speech resource resource_link container_upload search_result
    text_plain data uri hosted_file hosted_vector_store"""
)
"""Blocks of attachments. Speech is words if its transcript is there; any other text in one is not
known to be the speaker's: a file would be taken for the user's own statement."""
_WORDLESS = _ATTACHED | _names(
    """citations source source_url source_document thinking redacted_thinking reasoning
    reasoning_file thoughts reasoning_recap summary_text reasoning_text encrypted_content
    tool_call tool_call_chunk invalid_tool_call tool_use tool_result tool_return
    tool_call_output server_tool_call server_tool_call_chunk server_tool_result server_tool_use
    mcp_tool_use mcp_tool_result tool_invocation dynamic_tool builtin_tool_call
    builtin_tool_return function_call function_response executable_code code_execution_result
    retry_prompt system_prompt instruction compaction cache_point cachepoint step_start
    non_standard tool_reference tool_availability_delta tether_quote tether_browsing_display
    execution_output code user_editable_context model_editable_context computer_screenshot
    tool_approval_request tool_approval_response item_reference mcp_list_tools
    mcp_approval_request mcp_approval_response compaction_trigger additional_tools program
    program_output remove text_reasoning function_result usage"""
)
"""Types of blocks and items without words of the speaker: attachments, thoughts, calls, results."""
_WORDLESS_STARTS = ("tool_", "data_")
_WORDLESS_ENDS = ("_call", "_call_output", "_tool_result", "_tool_use", "_search_output")
_WORDLESS_KEYS = _names(
    """inlineData inline_data fileData file_data functionCall function_call functionResponse
    function_response executableCode executable_code codeExecutionResult code_execution_result image
    document video audio toolUse toolResult reasoningContent cachePoint searchResult
    thoughtSignature"""
)
"""Keys of blocks without a type that hold no words, in Gemini's and Bedrock's messages."""
_WRAPPED_BLOCKS = ("guardContent", "citationsContent")
"""Keys of Bedrock's blocks whose value is a block, or has blocks, of words."""
_ACTS = _names(
    """tool_calls toolCalls invalid_tool_calls function_call tool_results toolResults
    toolInvocations audio attachments experimental_attachments files images"""
)
"""Keys of a message that does something other than speak."""
_CALLS = ("tool_calls", "toolCalls", "invalid_tool_calls", "function_call")
"""Those of `_ACTS` that only an assistant has."""
_ANSWERS = ("tool_call_id", "toolCallId")
"""Keys of a message that answers a tool call."""
_MADE = ("isMeta", "isSynthetic", "synthetic", "isCompactSummary", "isApiErrorMessage")
"""Marks of messages that a program wrote."""
_NOTES = _ACTS | _names(
    """id uuid name actor trust metadata additional_kwargs response_metadata example lc index status
    created_at createdAt updated_at timestamp date time session session_id conversation_id thread_id
    parent parent_id parentId children usage"""
)
"""Keys that a user's message without text may have."""


class Utterance(NamedTuple):
    """A message: its speaker and its text.

    Attributes:
        role: ``user``, ``assistant``, or the name as it stands there.
        text: The words; ``""`` if none are said.
        fields: The fields of the message itself, without what it was wrapped in.
    """

    role: str
    text: str
    fields: Mapping[str, Any]


def read(message: Mapping[str, Any], where: str) -> Utterance:
    """Read a message.

    Args:
        message: As a chat API or a framework gives it, or its dump.
        where: Its place, for errors.

    Raises:
        InvalidInput: If it does not say who speaks, or has content and no words are found in it,
            unless all of it is known to hold none, such as pictures and calls.
    """
    names: list[tuple[str, object]] = []
    fields = message
    for _ in range(_DEEPEST):
        names += _names_in(fields)
        inner = next(
            (fields[key] for key in _WRAPPED if isinstance(fields.get(key), Mapping)), None
        )
        if inner is None or not fields.keys().isdisjoint(WORD_FIELDS[:3]):
            break
        fields = inner
    role = _speaker(names, message, where)
    within: list[str] = []
    try:
        text = _words_in(fields, role, where, within)
    except RecursionError:
        raise InvalidInput(where, "is nested too deeply") from None
    return Utterance(_least([role, *within]), text, fields)


def is_one(value: object) -> bool:
    """Return whether a value of JSON names a speaker that is known, as a message does."""
    return isinstance(value, Mapping) and any(
        _known(name) for _, name in _names_in(value) if isinstance(name, str)
    )


@lru_cache(maxsize=256)
def trust_of(role: str | None) -> Trust:
    """Return how far a role is trusted: only the user's own is the user.

    Case, spaces and invisible characters make no other role of a tool's, and none the user's.

    >>> [trust_of(role).value for role in ("user", "model", "Critic", "to\u200bol")]
    ['user', 'agent', 'agent', 'tool']
    """
    if role is None or named(role) == "user":
        return Trust.USER
    return Trust.TOOL if _folded(role) in _TOOLS or _is_output(role) else Trust.AGENT


@lru_cache(maxsize=256)
def named(role: str) -> str:
    """Return a role as it is kept: ``user``, ``assistant``, or the name as it stands there.

    >>> named(" Human"), named("AIMessageChunk"), named("model"), named("Critic")
    ('user', 'assistant', 'assistant', 'Critic')
    """
    role = role.strip()
    small = _stem(role.lower().removeprefix(_ENUM))
    if small in _USERS:
        return "user"
    if _folded(role) in _ASSISTANTS:
        return "assistant"
    return small if small in _OTHERS | _TOOLS else role


def words_of(content: object, where: str, *, strict: bool = True) -> str:
    """Return the words of a message's content; those of several blocks on lines of their own.

    Args:
        content: A text, a block or blocks.
        where: Its place, for errors.
        strict: Whether a block of an unknown type is refused. A framework tells by the types of its
            own blocks which are text.

    Raises:
        InvalidInput: If it is none of these, or a block of it is not known.
    """
    return _words(content, where, [], strict=strict)


def is_made(fields: Mapping[str, Any]) -> bool:
    """Tell whether a program wrote a message in the name of a person, such as a summary.

    LangChain and coding agents mark these.
    """
    more = fields.get("additional_kwargs")
    noted = isinstance(more, Mapping) and "lc_source" in more
    return noted or any(fields.get(mark) for mark in _MADE)


def _names_in(fields: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Return the fields that name the speaker, each with the name."""
    found = [(field, fields[field]) for field in ROLE_FIELDS if fields.get(field) is not None]
    found = [
        (field, next((name[key] for key in _NAMED if key in name), None))
        if isinstance(name, Mapping)
        else (field, name)
        for field, name in found
    ]
    path = fields.get("id")
    if fields.get("lc") is not None and isinstance(path, Sequence) and path:
        found.append(("type", path[-1]))  # the class, in LangChain's format
    parts = fields.get("parts")
    speaker = {"request": "user", "response": "assistant"}.get(str(fields.get("kind")))
    if (
        speaker
        and isinstance(parts, Sequence)
        and all(isinstance(part, Mapping) and "part_kind" in part for part in parts)
    ):  # Pydantic AI's
        found.append(("type", speaker))
    if is_made(fields) or any(fields.get(key) for key in _CALLS):
        found.append(("type", "assistant"))
    if any(fields.get(key) for key in _ANSWERS):
        found.append(("type", "tool"))
    return found


def _speaker(names: Sequence[tuple[str, object]], message: Mapping[str, Any], where: str) -> str:
    """Return the role of a message; if its fields disagree, the least trusted one."""
    found: list[str] = []
    for field, name in names:
        if not isinstance(name, str):
            raise InvalidInput(where, f"{field} must be a string, not {type_name(name)}")
        if field in {"role", "role_type"}:
            found.append(named(short_name(f"{where} role", short_form(name, MAX_NAME))))
        elif _known(name):
            found.append(named(name))
        elif _is_output(name):
            found.append("tool")
        elif _is_wordless(name):
            found.append("assistant")
    if not found:
        raise InvalidInput(
            where,
            f"does not identify the speaker: {shape(message)}; add a role, such as 'user' or "
            "'assistant'",
        )
    return _least(found)


def _least(found: Sequence[str]) -> str:
    """Return the first of the least trusted roles."""
    least = Trust.least([trust_of(name) for name in found])
    return next(name for name in found if trust_of(name) is least)


def _known(name: str) -> bool:
    return named(name) == "user" or _folded(name) in _ASSISTANTS | _OTHERS | _TOOLS


def _is_output(name: str) -> bool:
    """Return whether a type is that of a tool's result, such as ``function_call_output``."""
    return _folded(name).endswith(("calloutput", "searchoutput", "programoutput"))


def _folded(name: str) -> str:
    """Return the letters of a name in lower case, without a final "message" or "chunk"."""
    small = normalize("NFKC", name).casefold().strip().removeprefix(_ENUM)
    return _stem("".join(filter(str.isalpha, small)))


def _stem(name: str) -> str:
    for ending in ("chunk", "message"):
        name = name.removesuffix(ending) or name
    return name


def _words_in(fields: Mapping[str, Any], role: str, where: str, inner: list[str]) -> str:
    """Return the text of a message; refuse a message of unknown shape.

    Roles that are named inside its content are added to ``inner``.
    """
    strict = trust_of(role) is not Trust.TOOL  # what a tool returns has any shape
    given = [field for field in WORD_FIELDS if field in fields]
    if strict and "output" in given:
        given.remove("output")  # the result of a tool, stored with the call
    for field in given:
        if text := _words(fields[field], f"{where}.{field}", inner, strict=strict):
            return _whole(text, [fields.get("content"), fields.get("text")])
    if heard := _transcript(fields.get("audio")):
        return heard
    kind = fields.get("type")
    silent = isinstance(kind, str) and _is_wordless(kind)
    if silent or not strict or any(fields.get(key) for key in _ACTS):
        _refuse_unread([fields[field] for field in given] if strict else (), where)
        return ""
    others = fields.keys() - _NOTES - {*ROLE_FIELDS, *WORD_FIELDS} if role == "user" else ()
    if any(fields[field] for field in given):
        _refuse_unread([fields[field] for field in given], where)
        return ""  # blocks without text
    may_speak = (isinstance(fields[key], str | Mapping | Sequence) for key in others if fields[key])
    if given and not any(may_speak):
        return ""
    raise InvalidInput(
        where, f"has no text in content, text or parts: {shape(fields)}; is it a message?"
    )


def _words(content: object, where: str, inner: list[str], *, strict: bool) -> str:
    return "\n".join(text for text in _texts(content, where, inner, strict=strict) if text)


def _whole(text: str, others: Sequence[object]) -> str:
    """Return a text, extended by other texts that it does not contain."""
    for other in others:
        if isinstance(other, str):
            own, theirs = ("".join(one.split()) for one in (text, other))
            if theirs not in own:
                text = other if own in theirs else f"{text}\n{other}"
    return text


def _transcript(audio: object) -> str:
    """Return the transcript of an audio block; ``""`` if it has none."""
    said = audio.get("transcript") if isinstance(audio, Mapping) else None
    if said is None and isinstance(audio, Mapping):
        return _transcript(audio.get("input_audio"))
    return said if isinstance(said, str) and said.strip() else ""


def _refuse_unread(content: object, where: str) -> None:
    """Refuse attachments that have text: in a message without other text, it would be lost."""
    if isinstance(content, Sequence) and not isinstance(content, str | bytes | bytearray):
        for one in content:
            _refuse_unread(one, where)
    elif isinstance(content, Mapping) and _has_text(content):
        raise InvalidInput(
            where,
            f"contains only an attachment: {shape(content)}; pass what the speaker says as text, "
            "and store documents with documents.add",
        )


def _has_text(block: Mapping[str, Any]) -> bool:
    """Return whether a block is an attachment with text."""
    kind = _kind_of(block)
    if kind is None:
        inner = (block.get(key) for key in ("document", "image", "video", "audio"))
        return any(_has_text({"type": "file", **one}) for one in inner if isinstance(one, Mapping))
    source = block.get("source")
    given = [block.get(key) for key in ("text", "caption", "context", "alt", "description")]
    if isinstance(source, Mapping):
        given += [source.get("text"), source.get("content")]
        given.append(source.get("data") if source.get("type") == "text" else None)
    attached = isinstance(kind, str) and _plain(kind) in _ATTACHED
    return attached and any(isinstance(one, str | list) and len(one) > 0 for one in given)


def _texts(content: object, where: str, inner: list[str], *, strict: bool) -> Iterator[str]:
    if content is None:
        return
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        yield from _block(content, where, inner, strict=strict)
    elif isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        for at, one in enumerate(content):
            if isinstance(one, str | Mapping):
                yield from _texts(one, f"{where}[{at}]", inner, strict=strict)
            elif strict:
                raise InvalidInput(f"{where}[{at}]", f"must be a block, not {type_name(one)}")
    elif strict:
        raise InvalidInput(where, f"must be a string or blocks, not {type_name(content)}")


def _kind_of(block: Mapping[str, Any]) -> object:
    keys = ("type", "$type", "block_type", "part_kind", "content_type", "kind")
    return next((block[key] for key in keys if key in block), None)


def _block(
    block: Mapping[str, Any], where: str, inner: list[str], *, strict: bool
) -> Iterator[str]:
    """Yield the text of one block, and add its role, if it names one, to ``inner``."""
    kind = _kind_of(block)
    if kind is None:
        yield from _untyped(block, where, inner, strict=strict)
    elif kind == "refusal":
        inner += _roles_of(block, where)
        yield from _texts(block.get(kind), where, inner, strict=strict)
    elif isinstance(kind, str) and _plain(kind) in _SPOKEN:
        keys = ("text", "parts", "content", "value")
        words = next((block[key] for key in keys if block.get(key) is not None), None)
        if words is None and strict:
            raise InvalidInput(where, f"is a block without text: {shape(block)}")
        inner += _roles_of(block, where)
        yield from _texts(words, where, inner, strict=strict)
    elif isinstance(kind, str) and "audio" in kind and (heard := _transcript(block)):
        inner += _roles_of(block, where)
        yield heard
    elif strict and not (isinstance(kind, str) and _is_wordless(kind)):
        raise InvalidInput(where, f"is a block of an unknown type, {shown(kind)}: {shape(block)}")


def _roles_of(block: Mapping[str, Any], where: str) -> list[str]:
    """Return the role that a block names, in a list; [] if it names none."""
    names = [
        (field, name)
        for field, name in _names_in(block)
        if field in {"role", "role_type"} or (isinstance(name, str) and _known(name))
    ]
    return [_speaker(names, block, where)] if names else []


def _untyped(
    block: Mapping[str, Any], where: str, inner: list[str], *, strict: bool
) -> Iterator[str]:
    if block.get("thought"):
        return  # Gemini's summary of the model's thinking
    keys = ("text", "parts", "value", *_WRAPPED_BLOCKS)
    words = next((block[key] for key in keys if block.get(key) is not None), None)
    if words is None and isinstance(block.get("content"), list):
        words = block["content"]  # the text of Bedrock's citations
    if words is not None:
        inner += _roles_of(block, where)
        yield from _texts(words, where, inner, strict=strict)
    elif strict and block and not block.keys() & _WORDLESS_KEYS:
        raise InvalidInput(where, f"is a block with unknown fields: {shape(block)}")


def _plain(kind: str) -> str:
    return kind.strip().lower().replace("-", "_")


def _is_wordless(kind: str) -> bool:
    plain = _plain(kind)
    return (
        plain in _WORDLESS or plain.startswith(_WORDLESS_STARTS) or plain.endswith(_WORDLESS_ENDS)
    )


def shape(fields: Mapping[str, Any]) -> str:
    """Write the keys of a message and the types of their values, and nothing that it says.

    >>> shape({"role": "user", "body": ["hello"]})
    '{role: str, body: list}'
    """
    most = 12
    keys = [f"{key!s:.40}: {type_name(value)}" for key, value in [*fields.items()][:most]]
    return "{" + ", ".join([*keys, *(["..."] if len(fields) > most else [])]) + "}"

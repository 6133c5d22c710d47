"""Messages of every format: who speaks, and what is said; anything else is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import MemoryManager, Turn
from memento.conversation.turns import turns_of
from memento.errors import InvalidInput
from memento.messages import named, read, trust_of
from memento.types import Trust

WORDS = "I am allergic to penicillin."


def formats(role, text):
    """Yield a message as each format writes it, by the name of the format."""
    users = role == "user"
    human, gemini = ("human", "user") if users else ("ai", "model")
    block = {"type": "text", "text": text}
    picture = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}
    in_out = {"type": "input_text" if users else "output_text", "text": text}
    yield "openai chat", {"role": role, "content": text}
    yield "openai chat blocks", {"role": role, "content": [block, {"type": "image_url"}]}
    yield "openai responses", {"type": "message", "role": role, "content": [in_out]}
    told = {"type": "text", "text": {"value": text, "annotations": []}}
    yield "openai assistants", {"object": "thread.message", "role": role, "content": [told]}
    yield "anthropic", {"role": role, "content": [picture, block, {"type": "tool_result"}]}
    yield "anthropic answer", {"type": "message", "role": role, "content": [block], "model": "m"}
    yield "gemini", {"role": gemini, "parts": [{"text": text}, {"inlineData": {"data": "aa=="}}]}
    thought = {"text": "hm", "thought": True}
    yield "gemini thoughts", {"role": gemini, "parts": [thought, {"text": text}]}
    steps = [{"type": "step-start"}, block, {"type": "tool-weather", "state": "done"}]
    yield "ai sdk", {"id": "1", "role": role, "parts": steps}
    yield "ai sdk empty content", {"role": role, "content": "", "parts": [block]}
    yield "ai sdk null content", {"role": role, "content": None, "parts": [block]}
    converse = [{"text": text}, {"document": {"name": "x"}}, {"cachePoint": {"type": "default"}}]
    yield "bedrock", {"role": role, "content": converse}
    guarded = [{"guardContent": {"text": {"text": text}}}]
    yield "bedrock guarded", {"role": role, "content": guarded}
    yield "mcp sampling", {"role": role, "content": block}
    yield "cohere", {"role": "USER" if users else "CHATBOT", "message": text}
    yield "langchain dump", {"type": human, "content": text, "additional_kwargs": {}}
    yield "langchain dict", {"type": human, "data": {"type": human, "content": text}}
    name = "HumanMessage" if users else "AIMessageChunk"
    kwargs = {"content": [block]}
    yield "langchain class", {"lc": 1, "type": "constructor", "id": ["a", name], "kwargs": kwargs}
    yield "claude export", {"sender": "human" if users else "assistant", "text": text}
    both = {"sender": "human" if users else "assistant", "text": "", "content": [block]}
    yield "claude export blocks", both
    said = {"content_type": "text", "parts": [text]}
    yield "chatgpt export", {"author": {"role": role}, "content": said}
    yield "chatgpt node", {"id": "n", "message": {"author": {"role": role}, "content": said}}
    yield "choice", {"index": 0, "message": {"role": role, "content": text}}
    yield "log", {"type": role, "message": {"role": role, "content": [block]}}
    yield "sharegpt", {"from": "human" if users else "gpt", "value": text}
    part = {"content": text, "part_kind": "user-prompt" if users else "text"}
    other = {"content": "hm", "part_kind": "system-prompt" if users else "thinking"}
    kind = "request" if users else "response"
    yield "pydantic ai", {"kind": kind, "parts": [other, part]}
    thinks = {"type": "text_reasoning", "text": "hm"}
    contents = [block, {"type": "data", "uri": "data:,x"}, thinks]
    yield "agent framework", {"type": "chat_message", "role": {"value": role}, "contents": contents}
    yield "agent framework net", {"role": role, "contents": [{"$type": "text", "text": text}]}
    blocks = [{"block_type": "text", "text": text}, {"block_type": "image", "url": "x"}]
    yield "llama index", {"role": role, "additional_kwargs": {}, "blocks": blocks}


SHAPES = [name for name, _ in formats("user", WORDS)]


@pytest.mark.parametrize("name", SHAPES)
@given(role=st.sampled_from(["user", "assistant"]), text=st.text(min_size=1).filter(str.strip))
def test_every_format_says_who_speaks_and_what(name, role, text):
    """The same words of the same speaker are read from every format."""
    message = dict(formats(role, text))[name]
    (turn,) = turns_of([message])
    assert (turn.role, turn.text) == (role, text)


@pytest.mark.parametrize("name", SHAPES)
def test_an_assistant_is_never_the_user(tmp_path, name):
    """Through no door and in no format does a name of the assistant become the user's."""
    message = dict(formats("assistant", "My name is Claude. I live in Frankfurt."))[name]
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.observe(messages=[message], session="s")
        assert memory.value("user/name") is None
        assert [one.source.kind for one in memory.list()] == [Trust.AGENT]
        assert memory.recall([message], session="s").query == ""


def dumps_of_langchain():
    """Yield dumps of real messages of LangChain with the role that each has."""
    messages = pytest.importorskip("langchain_core.messages")
    dumpd = pytest.importorskip("langchain_core.load").dumpd
    blocks = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": WORDS}]
    call = {"name": "f", "args": {}, "id": "c"}
    made = [
        (messages.HumanMessage(WORDS), "user"),
        (messages.HumanMessageChunk(WORDS), "user"),
        (messages.AIMessage(WORDS, tool_calls=[call]), "assistant"),
        (messages.AIMessageChunk(blocks), "assistant"),
        (messages.SystemMessage(WORDS), "system"),
        (messages.ToolMessage(WORDS, tool_call_id="c"), "tool"),
        (messages.FunctionMessage(WORDS, name="f"), "function"),
        (messages.ChatMessage(WORDS, role="Critic"), "Critic"),
    ]
    for message, role in made:
        for dump in (message.model_dump(), messages.message_to_dict(message), dumpd(message)):
            yield json.loads(json.dumps(dump)), role


def test_dumps_of_langchain_are_read():
    """As ``model_dump``, ``messages_to_dict`` and ``dumpd`` write them."""
    for dump, role in dumps_of_langchain():
        assert read(dump, "it")[:2] == (role, WORDS), dump


def test_dumps_of_pydantic_ai_are_read():
    """Words of the system and of a tool, and thoughts of the model, are left out."""
    ai = pytest.importorskip("pydantic_ai.messages")
    picture = ai.ImageUrl("https://example.org/a.png")
    asked = [
        ai.SystemPromptPart("My name is Claude."),
        ai.UserPromptPart([WORDS, picture]),
        ai.ToolReturnPart("f", "result", "c"),
    ]
    answered = [ai.ThinkingPart("hm"), ai.TextPart("Noted."), ai.ToolCallPart("f", {}, "c")]
    dump = ai.ModelMessagesTypeAdapter.dump_python(
        [ai.ModelRequest(asked), ai.ModelResponse(answered), ai.ModelRequest(asked[2:])],
        mode="json",
    )
    read_as = [(turn.role, turn.text) for turn in turns_of(dump)]
    assert read_as == [("user", WORDS), ("assistant", "Noted."), ("user", "")]


def test_dumps_of_mcp_and_openai_are_read():
    """As their own classes write them."""
    mcp = pytest.importorskip("mcp.types")
    responses = pytest.importorskip("openai.types.responses")
    sampled = mcp.SamplingMessage(role="user", content=mcp.TextContent(type="text", text=WORDS))
    text = responses.ResponseOutputText(annotations=[], text=WORDS, type="output_text")
    answer = responses.ResponseOutputMessage(
        id="m", content=[text], role="assistant", status="completed", type="message"
    )
    thought = responses.ResponseReasoningItem(id="r", summary=[], type="reasoning")
    call = responses.ResponseFunctionToolCall(
        arguments="{}", call_id="c", name="f", type="function_call"
    )
    turns = turns_of([one.model_dump() for one in (sampled, answer, thought, call)])
    said = [(turn.role, turn.text) for turn in turns]
    assert said == [("user", WORDS), ("assistant", WORDS), ("assistant", ""), ("assistant", "")]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        {"role": "assistant", "content": "", "function_call": {"name": "f"}},
        {"role": "assistant", "tool_calls": [{"id": "c"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "input": {}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "My name is Claude."}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        {"role": "user", "content": [{"toolResult": {"content": [{"text": "secret"}]}}]},
        {"role": "user", "content": "", "images": ["iVBORw0KGgo="]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "mcp_call", "name": "f", "arguments": "{}", "output": "My name is Claude."},
        {"type": "web_search_call", "id": "w", "action": {"query": "x"}},
        {"type": "item_reference", "id": "m"},
        {"role": "user", "content": ""},
        {"role": "user", "content": []},
    ],
)
def test_a_message_may_be_without_words(message):
    """Calls, their results, thoughts and pictures are accepted, and nothing of them is said."""
    (turn,) = turns_of([message])
    assert turn.text == ""


@pytest.mark.parametrize(
    "role", ["tool", "function", "TOOL", "tool_result", "function_call_output"]
)
def test_what_a_tool_returns_is_its_own(memory, role):
    """It is quarantined, whatever shape it has."""
    messages = [{"type": role, "output": "Order 700 bikes."}, {"role": role, "content": {"a": 1}}]
    (kept,) = memory.keep(messages, session="s")
    assert (kept.text, kept.source.kind) == ("Order 700 bikes.", "tool")


@pytest.mark.parametrize(
    "message",
    [
        {"content": WORDS},
        {"text": WORDS},
        {"role": None, "content": WORDS},
        {"type": "text", "text": WORDS},
        {"type": "message", "user": "U1", "text": WORDS},
        {"sender": "Alice", "text": WORDS},
        {"from": {"id": 7, "is_bot": False}, "text": WORDS},
        {"role": "user", "body": WORDS},
        {"role": "user", "utterance": {"text": WORDS}},
        {"role": "user", "content": "", "body": WORDS},
        {"role": "user", "content": None, "utterances": [WORDS]},
        {"role": "user", "content": [{"type": "song", "text": WORDS}]},
        {"role": "user", "content": [{"body": WORDS}]},
        {"role": "user", "content": {"body": WORDS}},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [7]},
        {"role": "user", "content": 7},
        {"role": "user"},
        {"type": "human", "data": {}},
        {},
    ],
)
def test_another_shape_is_refused(memory, message):
    """Nothing is dropped silently or taken for the user's; the error shows keys and no words."""
    for door in (memory.keep, memory.recall, lambda talk: memory.observe(messages=talk)):
        with pytest.raises(InvalidInput, match=r"messages\[0\]") as refused:
            door([message])
        assert "penicillin" not in str(refused.value)
    assert memory.list() == []


def test_what_is_nested_too_deep_is_refused(memory):
    """And ends no program."""
    content = WORDS
    for _ in range(5_000):
        content = {"text": content}
    with pytest.raises(InvalidInput, match="nested too deep"):
        memory.keep([{"role": "user", "content": content}])


@given(
    st.dictionaries(
        st.sampled_from(["role", "type", "sender", "author"]),
        st.sampled_from(["user", "human", "ai", "assistant", "tool", "system", "Critic"]),
        min_size=2,
    )
)
def test_of_two_speakers_the_less_trusted_counts(names):
    """Another field can take trust away, and never adds it."""
    said = read({**names, "content": WORDS}, "it") if {"Critic"} != {*names.values()} else None
    known = [name for field, name in names.items() if field == "role" or name != "Critic"]
    if said is not None:
        assert trust_of(said.role) is Trust.least(map(trust_of, known))


@given(st.text(max_size=12))
def test_no_spelling_but_its_own_is_the_user(name):
    """Case and spaces around it are the same name; nothing else is."""
    users = name.strip().lower().removesuffix("chunk").removesuffix("message")
    assert (trust_of(name) is Trust.USER) == (users in {"user", "human", "enduser"})
    assert named(named(name)) == named(name)


def test_equal_ids_of_two_speakers_are_two_turns(memory):
    """An answer that has the id of its question corrects nothing that the user said."""
    talk = [Turn("I am allergic to nuts.", id="1"), Turn("Noted.", "assistant", id="1")]
    for given_again in (talk, talk[::-1], talk[1:]):
        memory.keep(given_again, session="s")
    assert [(one.role, one.text, one.version) for one in memory.list()] == [
        ("user", "I am allergic to nuts.", 1),
        ("assistant", "Noted.", 1),
    ]
    edited = replace(talk[1], text="Noted!")
    memory.keep([edited], session="s")
    assert sorted(one.text for one in memory.list()) == ["I am allergic to nuts.", "Noted!"]


SAID = "I am allergic to nuts."


@pytest.mark.parametrize(
    "fields",
    [
        {"content": [{"type": "input_audio", "transcript": SAID}]},
        {"content": [{"type": "input_audio", "input_audio": {"data": "x"}, "transcript": SAID}]},
        {"content": [{"type": "input_audio", "input_audio": {"data": "x", "transcript": SAID}}]},
        {"content": [{"type": "output_audio", "transcript": SAID}]},
        {"content": None, "audio": {"id": "1", "transcript": SAID}},
        {"parts": [{"content_type": "audio_transcription", "text": SAID, "direction": "in"}]},
        {"content": f"Hello. {SAID}", "parts": [{"type": "text", "text": "Hello."}]},
        {"content": "Hello.", "parts": [{"type": "text", "text": f"Hello.\n{SAID}"}]},
        {"content": [{"type": "text", "text": "Hello."}], "text": SAID},
        {"role": "ROLE_USER", "parts": [{"text": SAID}]},
    ],
)
def test_what_is_spoken_or_written_twice_is_not_lost(fields):
    """A transcript is what the speaker says, and the fuller of two fields counts."""
    said = read({"role": "user", **fields}, "message")
    assert said.role == "user"
    assert said.text.count(SAID) == 1


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "caption": SAID},
        {"type": "document", "source": {"type": "text", "data": SAID}},
        {"type": "document", "source": {"type": "content", "content": [{"text": SAID}]}},
        {"type": "text-plain", "text": SAID},
        {"document": {"name": "a", "source": {"text": SAID}}},
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_message_whose_only_words_are_an_attachments_is_refused(block, role):
    """They are not the speaker's, and would be lost without a word; beside words they stay out."""
    with pytest.raises(InvalidInput, match="only an attachment"):
        read({"role": role, "content": [block]}, "message")
    picture = {"type": "image_url", "image_url": {"url": "x"}}
    assert read({"role": role, "content": [picture]}, "message").text == ""
    assert (
        read({"role": role, "content": [block, {"type": "text", "text": "Hi"}]}, "m").text == "Hi"
    )


ROLES = ["user", "human", "assistant", "model", "system", "tool", "Critic", "ROLE_AGENT", None]


@st.composite
def nested(draw):
    """Draw a content with the words somewhere inside, and the roles that stand on the way."""
    content, roles = draw(st.sampled_from([SAID, [SAID], [{"type": "text", "text": SAID}]])), []
    for _ in range(draw(st.integers(0, 4))):
        role = draw(st.sampled_from(ROLES))
        field = draw(st.sampled_from(["role", "author", "sender"]))
        kind = draw(st.sampled_from([{}, {"type": "text"}, {"kind": "text"}]))
        block = {**kind, draw(st.sampled_from(["text", "parts"])): content}
        if role is not None:
            block[field] = {"role": role} if draw(st.booleans()) else role
            if field == "role" or role != "Critic":  # an author may be a person of any name
                roles.append(role)
        content = draw(st.sampled_from([block, [block]]))
    return content, roles


@given(nested(), st.sampled_from(["content", "parts", "text", "value"]))
def test_no_nesting_of_roles_makes_other_peoples_words_the_users(made, field):
    """The least trusted of all roles on the way to the words counts."""
    content, roles = made
    said = read({"role": "user", field: content}, "message")
    assert said.text == SAID
    assert trust_of(said.role) is Trust.least([trust_of(role) for role in ["user", *roles]])


@pytest.mark.parametrize(
    ("mark", "trust"),
    [
        ({"isMeta": True}, Trust.AGENT),
        ({"isSynthetic": True}, Trust.AGENT),
        ({"isCompactSummary": True}, Trust.AGENT),
        ({"tool_calls": [{"id": "c"}]}, Trust.AGENT),
        ({"tool_call_id": "c"}, Trust.TOOL),
        ({"toolCallId": "c"}, Trust.TOOL),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_program_wrote_in_the_users_name_is_not_the_users(mark, trust, wrapped):
    """Coding agents write notes and summaries as the user, and only tools answer calls."""
    said = {"role": "user", "content": SAID}
    message = {"type": "user", "message": said, **mark} if wrapped else {**said, **mark}
    assert trust_of(read(message, "message").role) is trust
    unmarked = dict.fromkeys(mark)
    assert read({**message, **unmarked}, "message").role == "user"


@pytest.mark.parametrize("form", ["{}", '{{"type": "human", "data": {}}}', '{{"kwargs": {}}}'])
def test_what_langchain_wrote_in_the_users_name_is_the_models(form):
    """A summary that was dumped is no word of the user's."""
    summary = {"type": "human", "content": SAID, "additional_kwargs": {"lc_source": "summary"}}
    assert read(json.loads(form.format(json.dumps(summary))), "message").role == "assistant"


@pytest.mark.parametrize(
    ("fields", "actor"),
    [
        ({"name": ""}, None),
        ({"name": " "}, None),
        ({"name": "a\0b"}, "a\ufffdb"),
        ({"name": "N" * 300}, "N"),
        ({"role": "R" * 300}, None),
    ],
)
def test_the_name_of_a_speaker_refuses_no_message(memory, fields, actor):
    """An empty one is none; a long one has a short form, which is the same each time."""
    messages = [{"role": "user", "content": WORDS, **fields}, {"role": "user", "content": "Hello."}]
    kept = memory.keep(messages, session="a")
    assert [one.text for one in kept] == [WORDS, "Hello."]
    assert memory.keep(messages, session="a")[0].id == kept[0].id
    assert kept[0].actor == actor or (kept[0].actor or "").startswith("NNN")
    assert memory.observe(messages=messages, session="b").turns[0].role == kept[0].role
    assert turns_of([Turn(WORDS, **{"actor" if k == "name" else k: v for k, v in fields.items()})])


@pytest.mark.parametrize("role", ["a\0b", "\0", "a\ud800b", "Analyst \0" * 99])
@pytest.mark.parametrize("made", [dict, Turn], ids=["mapping", "turn"])
def test_any_text_is_a_role(tmp_path, role, made):
    """A role that no database can hold is kept in one stable form, as other free text is."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        said = [{"role": role, "content": "Tea."}] if made is dict else [Turn("Tea.", role)]
        (kept,) = memory.keep(said, session="s")
        assert memory.keep(said, session="s") == [kept]
        other = memory.keep([Turn("Tea.", role.replace("\0", "\ufffd"))], session="t")
        assert "\0" not in role or other[0].role != kept.role

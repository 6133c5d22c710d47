"""Transcripts of coding agents: what was typed and answered, in files that are still written."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingested import lines

from memento.ingest import Format, detect, read
from memento.ingest.readers.common import spoken

CLAUDE_CODE = [
    {"type": "summary", "summary": "Boats", "leafUuid": "x"},
    {"type": "user", "uuid": "0", "sessionId": "s1", "isMeta": True, "message": {"content": "no"}},
    {
        "type": "user",
        "uuid": "1",
        "sessionId": "s1",
        "cwd": "/home/ada/shop",
        "timestamp": "2026-11-01T10:00:00.000Z",
        "message": {"role": "user", "content": "Use uv <system-reminder>no</system-reminder>"},
    },
    {
        "type": "assistant",
        "uuid": "2",
        "sessionId": "s1",
        "cwd": "/home/ada/shop",
        "message": {
            "content": [
                {"type": "thinking", "thinking": "no"},
                {"type": "text", "text": "Done."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "no"}},
            ]
        },
    },
    {
        "type": "user",
        "uuid": "3",
        "sessionId": "s1",
        "message": {"content": [{"type": "tool_result", "content": "no"}]},
    },
    {
        "type": "user",
        "uuid": "4",
        "sessionId": "s1",
        "isSidechain": True,
        "message": {"content": "no"},
    },
    {"type": "attachment", "uuid": "5", "sessionId": "s1", "attachment": {"text": "no"}},
]
CODEX = [
    {
        "type": "session_meta",
        "timestamp": "t",
        "payload": {"id": "s1", "cwd": "/home/ada/shop", "instructions": "no"},
    },
    {
        "type": "response_item",
        "timestamp": "2026-11-01T10:00:00Z",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>no"}],
            "internal_chat_message_metadata_passthrough": {"content_item_kinds": ["hooks.x"]},
        },
    },
    {
        "type": "response_item",
        "timestamp": "2026-11-01T10:00:00Z",
        "payload": {
            "type": "message",
            "id": "1",
            "role": "user",
            "content": [{"type": "input_text", "text": "Use uv"}],
            "internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.text"]},
        },
    },
    {"type": "response_item", "payload": {"type": "reasoning", "summary": [{"text": "no"}]}},
    {"type": "response_item", "payload": {"type": "message", "role": "developer", "content": "no"}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done."}],
        },
    },
    {"type": "event_msg", "payload": {"type": "user_message", "message": "no"}},
]
GEMINI = [
    {"sessionId": "s1", "projectHash": "h", "startTime": "t", "kind": "main"},
    {"id": "1", "type": "user", "content": "Use uv<hook_context>no</hook_context>"},
    {"id": "2", "type": "gemini", "content": "Do"},
    {"$set": {"messages": [{"id": "2", "type": "gemini", "content": [{"text": "Done."}]}]}},
    {"id": "3", "type": "info", "content": "no"},
]
WHOLE = {**GEMINI[0], "messages": [GEMINI[1], {**GEMINI[2], "content": "Done."}]}
COPILOT = [
    {
        "type": "session.start",
        "id": "0",
        "data": {"sessionId": "s1", "context": {"cwd": "/home/ada/shop"}},
    },
    {"type": "user.message", "id": "1", "data": {"content": "Use uv", "transformedContent": "no"}},
    {"type": "tool.execution_start", "id": "2", "data": {"toolName": "no"}},
    {"type": "assistant.message", "id": "3", "data": {"content": "Done.", "toolRequests": []}},
    {"type": "assistant.message", "id": "4", "data": {"content": ""}},
]
OPENCODE = {
    "info": {"id": "s1", "directory": "/home/ada/shop", "title": "Boats", "time": {"created": 1}},
    "messages": [
        {
            "info": {"id": "1", "role": "user", "time": {"created": 1761991200000}},
            "parts": [
                {"type": "text", "text": "Use uv"},
                {"type": "text", "text": "no", "synthetic": True},
            ],
        },
        {
            "info": {"id": "2", "role": "assistant"},
            "parts": [
                {"type": "reasoning", "text": "no"},
                {"type": "tool", "state": {"output": "no"}},
                {"type": "text", "text": "Done."},
            ],
        },
    ],
}
LOGS = {"claude-code": CLAUDE_CODE, "codex": CODEX, "gemini": GEMINI, "copilot": COPILOT}
SAID = [("user", "user", "Use uv"), ("assistant", "agent", "Done.")]


def said(drafts):
    """Return who said what, and whose it is."""
    return [(one.role, one.source.kind.value, one.text) for one in drafts]


@pytest.mark.parametrize("agent", LOGS)
def test_only_what_was_said_is_read(file, agent):
    """No call, result, thought, reminder or sub-agent becomes anybody's word."""
    path = file("session.jsonl", lines(*LOGS[agent]))
    assert detect(path) == agent
    drafts = [*read(path)]
    assert said(drafts) == SAID
    assert {(one.session, one.source.uri) for one in drafts} == {("s1", f"{agent}:s1")}


@pytest.mark.parametrize(
    ("name", "value", "format_"),
    [
        ("session.json", OPENCODE, Format.OPENCODE),
        ("session.json", WHOLE, Format.GEMINI),
    ],
)
def test_a_session_in_one_document_is_read(file, name, value, format_):
    """Some agents keep a session as one JSON document."""
    path = file(name, value)
    assert detect(path) is format_
    assert said(read(path)) == SAID


def test_an_older_codex_log_is_read(file):
    """Its lines have no payload, and tags around what the agent put in."""

    def old(role, kind, text):
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    put_in = "<environment_context>no</environment_context>"
    log = [
        {"id": "s1", "timestamp": "t", "instructions": None},
        old("user", "input_text", put_in),
        old("user", "input_text", "Use uv"),
        {"record_type": "state"},
        old("assistant", "output_text", "Done."),
    ]
    assert said(read(file("rollout.jsonl", lines(*log)))) == SAID


@pytest.mark.parametrize("agent", LOGS)
@settings(max_examples=30)
@given(share=st.floats(0, 1))
def test_a_log_torn_anywhere_gives_whole_turns(tmp_path_factory, agent, share):
    """Cut at any byte, it gives the turns before the cut and no half of one."""
    data = lines(*LOGS[agent]).encode()
    path = tmp_path_factory.mktemp("torn") / "session.jsonl"
    path.write_bytes(data[: int(len(data) * share)])
    turns = said(read(path, agent))
    assert turns == SAID[: len(turns)] or turns == [SAID[0], ("assistant", "agent", "Do")]


def test_a_log_that_went_on_keeps_the_ids(file):
    """Reading it again later adds only what came since."""
    before = [one.id for one in read(file("s.jsonl", lines(*CODEX[:4])), "codex")]
    after = [one.id for one in read(file("s.jsonl", lines(*CODEX)), "codex")]
    assert (len(before), after[:1]) == (1, before)


def test_what_is_private_is_never_read(file):
    """What the user marked as private stays where it is."""
    one = {"uuid": "1", "sessionId": "s", "type": "user"}
    text = "My key is <private>no\nno</private> here"
    path = file("s.jsonl", lines({**one, "message": {"content": text}}))
    assert [draft.text for draft in read(path)] == ["My key is  here"]
    assert json.loads(path.read_text())["message"]["content"] == text


MARKS = ["<private>", "</private>", "<command-name>", "</command-name>", "a", " ", "<", "\n"]


@given(st.lists(st.sampled_from(MARKS), max_size=14).map("".join))
def test_what_an_agent_put_in_is_taken_out(text):
    """From each mark to the next end of the same kind; a mark without an end stays."""
    between = re.compile(r"<(private|command-name)>.*?</\1>", re.DOTALL)
    assert spoken(text) == between.sub("", text).strip()
